//! A newcomer measures a byte link with two commands: `linerate serve pty://` and `linerate test pty://PATH`.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// `linerate serve pty://`, ended with the test.
struct Peer {
    child: Child,
    /// The other end.
    url: String,
}

impl Peer {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(["serve", "pty://", "--seconds", "60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("linerate");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        let url = url.trim().to_owned();
        Self { child, url }
    }

    /// `linerate test` of its other end.
    fn test(&self, arguments: &[&str]) -> Output {
        let folder = tempfile::tempdir().expect("a folder");
        Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(["test", &self.url, "--timeout", "5", "--out"])
            .arg(folder.path())
            .args(arguments)
            .output()
            .expect("linerate")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn is_my_serial_link_any_good_has_an_answer_and_an_exit_code() {
    let peer = Peer::start();
    assert!(peer.url.starts_with("pty:///dev/pts/"), "{}", peer.url);
    // Any machine is faster than 10 bit/s, and none than 1 Tbit/s.
    let good = peer.test(&["-t", "1", "--require", "10", "--p99", "60s"]);
    let (answer, notes) = (text(&good.stdout), text(&good.stderr));
    assert_eq!(good.status.code(), Some(0), "{answer}{notes}");
    assert!(answer.contains("Good enough: yes"), "{answer}");
    for part in [
        "goodput to the device: ",
        "goodput from the device: ",
        "round trips without load: ",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert!(!answer.contains("TCP"), "a byte link has no TCP: {answer}");
    let bad = peer.test(&["-n", "20k", "-R", "--require", "1000G"]);
    assert_eq!(bad.status.code(), Some(1), "{}", text(&bad.stderr));
    assert!(
        text(&bad.stdout).contains("Good enough: no"),
        "{}",
        text(&bad.stdout)
    );
    assert!(
        text(&bad.stderr).contains("not met: goodput from the device"),
        "{}",
        text(&bad.stderr)
    );
}

#[test]
fn the_python_package_measures_the_same_device() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/python");
    if Command::new("python3").arg("--version").output().is_err() {
        let how = "the Python package needs python3: apt-get install python3";
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "{how}"
        );
        eprintln!("skipped: {how}");
        return;
    }
    let peer = Peer::start();
    let path = peer.url.strip_prefix("pty://").expect("a path");
    let output = Command::new("python3")
        .arg(python.join("linerate_measure.py"))
        .args([path, "--seconds", "0.3", "--json"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["device"]["name"], "linerate serve");
    for direction in ["to_device", "from_device"] {
        assert!(
            result[direction]["messages"].as_u64() > Some(10),
            "{result}"
        );
        assert_eq!(result[direction]["missing"], 0, "{result}");
    }
    assert_eq!(result["round_trips"]["lost"], 0, "{result}");
}
