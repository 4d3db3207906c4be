//! Faults in the file operations of a command: a library in C, loaded before the system's (`fault.c`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// What happens to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// SIGKILL at this file operation, from 1; in the middle of a write.
    Kill(usize),
    /// SIGKILL after this time.
    KillAfter(Duration),
    /// The disk is full from this operation on.
    Full(usize),
    /// This operation alone has no space.
    FullOnce(usize),
}

impl Fault {
    pub const fn is_kill(self) -> bool {
        matches!(self, Self::Kill(_) | Self::KillAfter(_))
    }
}

/// The library, built by the system's compiler; `None` without one.
pub struct Library {
    path: PathBuf,
}

/// A command that ended.
pub struct Finished {
    pub output: Output,
    /// Its file operations below the folder, in order: `write /trials.ndjson`. The last one was not completed after a
    /// kill.
    pub operations: Vec<String>,
    /// An operation had no space.
    pub had_no_space: bool,
}

impl Library {
    /// Builds it once: while the file is written, commands of other tests would run without it.
    pub fn get() -> Option<&'static Self> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        LIBRARY.get_or_init(Self::build).as_ref()
    }

    fn build() -> Option<Self> {
        let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        let Some(compiler) = ["cc", "gcc", "clang"].into_iter().find(works) else {
            assert!(
                std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
                "no C compiler: apt-get install gcc"
            );
            eprintln!("skipped: no C compiler (apt-get install gcc)");
            return None;
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interrupted/fault.c");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault.so");
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o"])
            .arg(&path)
            .arg(source)
            .arg("-ldl")
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        Some(Self { path })
    }

    /// Runs `command`, whose results go to `folder`, with a clock that begins at `clock`, seconds since 1970.
    pub fn run(&self, mut command: Command, folder: &Path, fault: Fault, clock: u64) -> Finished {
        let log = folder.with_extension("operations");
        let _ = std::fs::remove_file(&log);
        let at = |kind: &str, number: usize| {
            [
                ("FAULT_KIND", kind.to_owned()),
                ("FAULT_AT", number.to_string()),
            ]
        };
        let settings = match fault {
            Fault::None => Vec::new(),
            Fault::Kill(number) => at("kill", number).to_vec(),
            Fault::Full(number) => at("full", number).to_vec(),
            Fault::FullOnce(number) => at("once", number).to_vec(),
            Fault::KillAfter(span) => vec![("FAULT_AFTER_US", span.as_micros().to_string())],
        };
        let output = command
            .env("LD_PRELOAD", &self.path)
            .env("FAULT_FOLDER", folder)
            .env("FAULT_LOG", &log)
            .env("FAULT_CLOCK", clock.to_string())
            .envs(settings)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        let (faults, operations): (Vec<&str>, Vec<&str>) =
            log.lines().partition(|line| *line == "fault");
        Finished {
            output,
            operations: operations.into_iter().map(str::to_owned).collect(),
            had_no_space: !faults.is_empty(),
        }
    }
}

impl Finished {
    /// The operations that were completed, at least.
    pub fn completed(&self, fault: Fault) -> impl Iterator<Item = &str> {
        let count = match fault {
            Fault::None => self.operations.len(),
            // Of a time it is unknown whether it struck during the last one.
            Fault::KillAfter(_) | Fault::Kill(_) => self.operations.len().saturating_sub(1),
            Fault::Full(at) | Fault::FullOnce(at) => at - 1,
        };
        self.operations.iter().take(count).map(String::as_str)
    }

    /// True if this operation was attempted.
    pub fn has_reached(&self, wanted: &str) -> bool {
        self.operations.iter().any(|operation| operation == wanted)
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}
