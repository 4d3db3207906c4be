//! A killed sweep: its results so far are in the report.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that ends with the test.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // SIGKILL on Unix.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn linerate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Complete lines in the file, without its header.
fn results_in(trials: &Path) -> usize {
    let text = std::fs::read_to_string(trials).unwrap_or_default();
    text.matches('\n').count().saturating_sub(1)
}

#[test]
fn the_finished_points_of_a_killed_sweep_are_in_the_report() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let mut command = linerate();
    command
        .args(["serve", &format!("iperf3:{port}"), "--seconds", "120"])
        .stderr(Stdio::piped());
    let mut server = Owned(command.spawn().expect("it starts"));
    let messages = BufReader::new(server.0.stderr.take().expect("a pipe"));
    let listens = messages
        .lines()
        .map_while(Result::ok)
        .any(|line| line.starts_with("iperf3 on "));
    assert!(listens);

    let dir = tempfile::tempdir().expect("a folder");
    let mut command = linerate();
    command
        .args(["sweep", &format!("iperf3://127.0.0.1:{port}"), "load"])
        .args(["--forward", "--from", "1M", "--to", "20M", "--steps", "40"])
        .args(["-t", "1", "--settle", "0", "--out"])
        .arg(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let sweep = Owned(command.spawn().expect("it starts"));
    let trials = dir.path().join("trials.ndjson");
    let deadline = Instant::now() + Duration::from_secs(90);
    while results_in(&trials) < 2 {
        assert!(Instant::now() < deadline, "no results");
        std::thread::yield_now();
    }
    drop(sweep);

    let measured = results_in(&trials);
    let report = linerate()
        .args(["report", "--markdown"])
        .arg(&trials)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(report.status.success(), "{report:?}");
    // A row for each point, besides the table header.
    let rows = text
        .lines()
        .filter(|line| line.contains("Mbit/s") && line.starts_with('|'));
    assert!(rows.count() >= measured, "{measured} results, but\n{text}");
}
