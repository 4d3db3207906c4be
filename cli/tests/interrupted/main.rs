//! `run`, `sweep` and `test` that are killed, or whose disk is full, at any moment: `report` gives what was measured or
//! states what is missing, never an earlier run as the last one, and the folder can be used again. The same after
//! Ctrl-C.
#![cfg(target_os = "linux")]

mod cancel;
mod command;
mod fault;
mod folder;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use command::{Measuring, Server};
use fault::{Fault, Library};
use folder::{EARLIER, Folder, LATER, count_results};

/// Commands at the same time: `sweep` and `test` mostly wait.
const PARALLEL: usize = 8;
/// Kills at a time instead of an operation, for each command.
const KILLS_AFTER: u32 = 10;
/// After one moment of so many, the command runs once more in the same folder.
const NEXT_RUN: usize = 4;
/// Without `LINERATE_LONG`, one moment of so many is tried, of `run`, which computes all the time, fewer. The numbers are
/// odd, so that kills and full disks alternate.
const SHARE: usize = 11;
const SHARE_OF_RUN: usize = 23;
/// Sizes of the small disk, KiB: up to what a test needs.
const DISKS: std::ops::RangeInclusive<usize> = 8..=248;
/// Distance of these sizes, and with `LINERATE_LONG`.
const DISK_STEP: usize = 40;
const LONG_DISK_STEP: usize = 8;

fn is_long() -> bool {
    std::env::var_os("LINERATE_LONG").is_some()
}

/// A command without a fault: the moments at which it can be interrupted.
struct Undisturbed {
    measuring: Measuring,
    /// Folder with the results.
    folder: tempfile::TempDir,
    results: usize,
    operations: usize,
    span: Duration,
}

impl Undisturbed {
    /// Runs the command in a new folder, and once more in the same for its operations there.
    fn new(measuring: Measuring, library: &Library, server: &Server) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let run = |out: &Path, clock| {
            let command = measuring.command(server, folder.path(), out);
            let finished = library.run(command, out, Fault::None, clock);
            let code = finished.output.status.code();
            assert_eq!(code, Some(measuring.code()), "{}", finished.stderr());
            finished.operations.len()
        };
        run(&out, EARLIER);
        let again = folder.path().join("again");
        copy(&out, &again);
        let began = Instant::now();
        let operations = run(&again, LATER);
        Self {
            measuring,
            results: count_results(&out),
            operations,
            span: began.elapsed(),
            folder,
        }
    }

    /// A kill and a full disk at each operation, and kills at random times.
    fn moments(&self) -> Vec<Fault> {
        let operations = 1..=self.operations;
        let for_good = operations
            .clone()
            .flat_map(|at| [Fault::Kill(at), Fault::Full(at)]);
        let once = operations.map(Fault::FullOnce);
        let mut random = 0x9e37_79b9_u64;
        let times = (0..KILLS_AFTER).map(|_| {
            // Marsaglia's xorshift.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            Fault::KillAfter(self.span.mul_f64(random as f64 / u64::MAX as f64))
        });
        let share = match self.measuring {
            _ if is_long() => 1,
            Measuring::Run => SHARE_OF_RUN,
            Measuring::Sweep | Measuring::Test => SHARE,
        };
        let all = for_good.chain(once).chain(times);
        all.step_by(share).collect()
    }

    /// Interrupts the command in a copy of the folder; returns what is wrong then.
    fn interrupt(
        &self,
        fault: Fault,
        has_next: bool,
        library: &Library,
        server: &Server,
    ) -> Result<(), String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = dir.path().join("out");
        copy(&self.folder.path().join("out"), &path);
        let folder = Folder {
            path: &path,
            measuring: self.measuring,
            results: self.results,
        };
        let run = |fault, clock| {
            let command = self.measuring.command(server, dir.path(), &path);
            library.run(command, &path, fault, clock)
        };
        let finished = run(fault, LATER);
        folder.check(&finished, fault).map_err(|what| {
            let last = finished.operations.last().map_or("", String::as_str);
            format!("{what}\nlast operation: {last}\n{}", finished.stderr())
        })?;
        if has_next {
            folder.check_next(&run(Fault::None, LATER + 3_600))?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    for entry in std::fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// Interrupts the command at all its moments.
fn interrupt_everywhere(measuring: Measuring, parallel: usize) {
    let Some(library) = Library::get() else {
        return;
    };
    let undisturbed = Undisturbed::new(measuring, library, &Server::start());
    let moments = undisturbed.moments();
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..parallel {
            scope.spawn(|| {
                let server = Server::start();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(fault) = moments.get(at).copied() else {
                        break;
                    };
                    let has_next = at.is_multiple_of(NEXT_RUN);
                    let outcome = undisturbed.interrupt(fault, has_next, library, &server);
                    if let Err(what) = outcome {
                        let mut faults = faults.lock().expect("no panic");
                        faults.push(format!("{fault:?}: {what}"));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    println!("{measuring:?}: {} moments", moments.len());
    assert!(
        faults.is_empty(),
        "{measuring:?}: {} of {} moments:\n{}",
        faults.len(),
        moments.len(),
        faults.join("\n\n")
    );
}

/// Runs `test` with a file system of so many KiB in the place of its folder; returns its exit code and what it printed
/// on stderr. The files are copied to `kept`.
fn test_on_a_small_disk(kib: usize, server: &Server, kept: &Path) -> Option<(i32, String)> {
    const SCRIPT: &str = r#"mount -t tmpfs -o size="$1k" tmpfs "$2" || exit 99
        shift; out=$1; kept=$2; shift 2
        "$@" > "$kept.printed"; code=$?
        cp -a "$out/." "$kept"; exit $code"#;
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out");
    std::fs::create_dir(&out).expect("made");
    std::fs::create_dir(kept).expect("made");
    let measuring = Measuring::Test.command(server, dir.path(), &out);
    let mut command = std::process::Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]);
    command.arg(kib.to_string()).arg(&out).arg(kept);
    command
        .arg(measuring.get_program())
        .args(measuring.get_args());
    let output = command.env("NO_COLOR", "1").output().ok()?;
    let code = output.status.code().filter(|code| *code != 99)?;
    Some((code, String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn on_a_disk_that_is_too_small_a_test_leaves_what_fits() {
    let server = Server::start();
    let dir = tempfile::tempdir().expect("a folder");
    let mut codes = Vec::new();
    let step = if is_long() { LONG_DISK_STEP } else { DISK_STEP };
    for kib in DISKS.step_by(step) {
        let kept = dir.path().join(kib.to_string());
        let Some((code, stderr)) = test_on_a_small_disk(kib, &server, &kept) else {
            eprintln!("skipped: no file system of one's own (unshare --map-root-user --mount)");
            return;
        };
        let report = folder::report_markdown(&kept);
        let [printed, complained] =
            [&report.stdout, &report.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
        let context = format!("{kib} KiB: {stderr}{printed}{complained}");
        assert!(
            code == 0 || stderr.contains("No space left on device"),
            "{context}"
        );
        let is_complete = kept.join("run.json").exists();
        let is_stated = ["did not finish", " has no results", "Not measured: "]
            .iter()
            .any(|part| complained.contains(part) || printed.contains(part));
        assert_eq!(
            is_complete && count_results(&kept) == 3,
            !is_stated,
            "{context}"
        );
        codes.push(code);
    }
    assert_eq!((codes[0], codes.last()), (2, Some(&0)), "{codes:?}");
}

#[test]
fn a_scenario_can_be_interrupted_at_any_moment() {
    if command::firmware().is_none() {
        eprintln!("skipped: no firmware (cargo xtask firmware, LINERATE_FIRMWARE)");
        return;
    }
    interrupt_everywhere(Measuring::Run, 2);
}

#[test]
fn a_sweep_can_be_interrupted_at_any_moment() {
    interrupt_everywhere(Measuring::Sweep, PARALLEL);
}

#[test]
fn a_test_can_be_interrupted_at_any_moment() {
    interrupt_everywhere(Measuring::Test, PARALLEL);
}
