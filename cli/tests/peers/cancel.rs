//! Ctrl-C.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::behaviour::Step::{Forever, Read};
use super::behaviour::{Behaviour, FAILED};
use super::peer::Peer;

const SENDER: Behaviour = Behaviour::tcp(
    "sends without end",
    "",
    &[&[Read(60), Forever(&[0; 1_000], 1)]],
    FAILED,
    "",
);

#[cfg(unix)]
#[test]
fn ctrl_c_reports_what_was_measured_and_exits_with_130() {
    let folder = tempfile::tempdir().expect("a folder");
    let (peer, stop) = (Peer::new(), AtomicBool::new(false));
    let code = std::thread::scope(|scope| {
        scope.spawn(|| peer.run(&SENDER, &stop));
        let mut child = Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(["test", &format!("iperf2://127.0.0.1:{}", peer.port)])
            .args(["-R", "-t", "600", "-i", "0.1", "--out"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let stderr = child.stderr.take().expect("piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        // It has measured for an interval.
        let measures = lines.any(|line| line.contains(" s  "));
        let pid = child.id().to_string();
        let interrupted = Command::new("kill").args(["-INT", &pid]).status();
        assert!(measures && interrupted.is_ok_and(|status| status.success()));
        let printed: Vec<String> = lines.collect();
        let status = child.wait().expect("a child");
        stop.store(true, Ordering::Relaxed);
        assert!(
            printed.iter().any(|line| line.contains("cancelled")),
            "{printed:?}"
        );
        status.code()
    });
    assert_eq!(code, Some(130));
    for name in [
        "run.json",
        "report.md",
        "report.html",
        "junit.xml",
        "results.csv",
    ] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(text.contains("cancelled by the user"), "{name}: {text}");
    }
    let run = std::fs::read_to_string(folder.path().join("run.json")).expect("run.json");
    assert!(run.contains("\"is_cut\": true"), "{run}");
}
