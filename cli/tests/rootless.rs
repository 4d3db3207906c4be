//! Emulated boards are measured without privileges and leave nothing behind, even if linerate is killed.
#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Unprivileged user `nobody`.
const NOBODY: u32 = 65_534;

/// World-accessible folder with linerate, firmware and all output.
struct Place {
    folder: TempDir,
    user: u32,
}

impl Place {
    /// Creates the folder with the firmware of `board`.
    fn with(board: &str, elfs: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["", "tmp", "elf", "out"] {
            let folder = root.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("rights");
        }
        // Other users may not read the build folder.
        fs::copy(env!("CARGO_BIN_EXE_linerate"), root.join("linerate")).expect("a copy");
        let to = root.join("elf").join(board);
        fs::create_dir(&to).expect("a folder");
        for elf in fs::read_dir(elfs.join(board)).expect("firmware").flatten() {
            if elf
                .file_name()
                .to_string_lossy()
                .starts_with("bench_agent-")
            {
                fs::copy(elf.path(), to.join(elf.file_name())).expect("a copy");
            }
        }
        let own = fs::metadata("/proc/self").expect("proc").uid();
        let user = if own == 0 { NOBODY } else { own };
        Self { folder, user }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// linerate as `user`.
    fn linerate(&self) -> Command {
        let linerate = self.path("linerate");
        let is_other = self.user == NOBODY;
        let mut command = Command::new(if is_other {
            Path::new("setpriv")
        } else {
            &linerate
        });
        if is_other {
            let user = NOBODY.to_string();
            command.args([
                "--reuid",
                &user,
                "--regid",
                &user,
                "--clear-groups",
                "--no-new-privs",
            ]);
            command
                .args(["--inh-caps=-all", "--bounding-set=-all"])
                .arg(&linerate);
        }
        command
            .current_dir(self.path("out"))
            .env("HOME", self.path("out"));
        command.env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        command
    }

    fn test(&self, board: &str, amount: [&str; 2]) -> Command {
        let mut test = self.linerate();
        test.args(["test", &format!("qemu://{board}"), "--forward"])
            .args(amount);
        test.args(["--timeout", "60", "--out", "results", "--elf-dir"]);
        test.arg(self.path("elf"));
        test
    }

    /// Command lines of processes that mention this folder.
    fn processes(&self) -> Vec<String> {
        let place = self.folder.path().to_string_lossy().into_owned();
        let all = fs::read_dir("/proc").expect("proc").flatten();
        let lines = all.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(&place))
            .collect()
    }
}

/// Boards that can be started here, and the folder of their firmware.
fn boards() -> Option<(Vec<String>, PathBuf)> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&path).any(|at| at.join(program).is_file());
    let mut names = Vec::new();
    for board in linerate_bench::board::all() {
        // Linux has no firmware here.
        let Some(qemu) = board.qemu.as_ref().filter(|_| board.has_firmware()) else {
            continue;
        };
        match [qemu.program.as_str(), "setpriv"]
            .into_iter()
            .find(|it| !has(it))
        {
            None => names.push(board.name),
            Some(missing) => {
                println!("skipped: {} needs {missing}", board.name);
                let must = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
                assert!(!must, "{missing} is not installed");
            }
        }
    }
    Some((names, Path::new(&folder).parent()?.to_owned()))
}

#[test]
fn every_board_is_measured_without_privileges_and_nothing_remains() {
    let Some((boards, elfs)) = boards() else {
        return;
    };
    for board in boards {
        let place = Place::with(&board, &elfs);
        let output = place
            .test(&board, ["-n", "100k"])
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{board}: {errors}");
        let results = place.path("out/results/run.json");
        let owner = fs::metadata(&results).expect("results").uid();
        assert_eq!(owner, place.user, "{board}: owner of the results");
        let text = fs::read_to_string(results).expect("text");
        assert!(text.contains("100000"), "{board}: {text}");
        assert_eq!(place.processes(), [""; 0], "{board}");
        let left = fs::read_dir(place.path("tmp")).expect("a folder").count();
        assert_eq!(left, 0, "{board}: temporary files are left");
    }
}

#[test]
fn an_emulator_ends_when_linerate_is_killed() {
    let Some((boards, elfs)) = boards() else {
        return;
    };
    let deadline = Instant::now() + Duration::from_mins(2);
    for board in boards {
        let place = Place::with(&board, &elfs);
        let mut test = place.test(&board, ["-t", "600"]);
        test.stdout(Stdio::null()).stderr(Stdio::null());
        let mut linerate = test.spawn().expect("it starts");
        let emulates = |line: &String| line.starts_with("qemu-system-");
        while !place.processes().iter().any(emulates) {
            assert!(Instant::now() < deadline, "{board} is not started");
            std::thread::yield_now();
        }
        // SIGKILL: linerate cannot clean up.
        linerate.kill().expect("killed");
        linerate.wait().expect("it has ended");
        while !place.processes().is_empty() {
            let left = place.processes();
            assert!(Instant::now() < deadline, "{board}: {left:?} still running");
            std::thread::yield_now();
        }
    }
}
