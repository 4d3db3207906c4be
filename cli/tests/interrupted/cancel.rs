//! Ctrl-C: what was measured is reported, and what is missing.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::command::{Server, firmware, linerate};

/// A short measurement, then one of minutes.
const SCENARIO: &str = r#"schema = 1
name = "long"
board = "esp32c6-bitbang"
record = { pcapng = false, vcd_ms = 0 }

[[run]]
variant = "line-rate"
ping = { count = 10 }
http_get = { bytes = [3_000_000], requests = 100 }
"#;

/// Presses Ctrl-C when `command` has printed a line with `result`; checks its end, and that all formats have `parts`.
fn cancel(mut command: Command, out: &Path, result: &str, parts: &[&str]) {
    let mut child = command
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let has_measured = lines.any(|line| line.contains(result));
    let pid = child.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &pid]).status();
    let rest: Vec<String> = lines.collect();
    let status = child.wait().expect("a child");
    assert!(has_measured && interrupted.is_ok_and(|status| status.success()));
    assert_eq!(status.code(), Some(130), "{rest:?}");
    let prints = |part: &str| rest.iter().any(|line| line.contains(part));
    assert!(
        prints("report: ") && prints("cancelled: the results are incomplete"),
        "{rest:?}"
    );
    for name in ["run.json", "report.md", "report.html", "junit.xml"] {
        let text = std::fs::read_to_string(out.join(name)).expect(name);
        for part in parts {
            assert!(text.contains(part), "{name}: {part}: {text}");
        }
    }
    let run = std::fs::read_to_string(out.join("run.json")).expect("readable");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(
        run["failures"],
        serde_json::Value::Null,
        "cancelled, not failed"
    );
    assert!(
        run["results"]
            .as_array()
            .is_some_and(|results| !results.is_empty())
    );
}

#[test]
fn ctrl_c_in_a_scenario_reports_what_was_measured() {
    let Some(firmware) = firmware() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let scenario = dir.path().join("long.toml");
    std::fs::write(&scenario, SCENARIO).expect("written");
    let mut command = linerate();
    command
        .arg("run")
        .arg(&scenario)
        .args(["--threads", "1", "--elf-dir"]);
    command.arg(firmware);
    let out = dir.path().join("out");
    let parts = ["http_get-line-rate", "cancelled by the user"];
    cancel(command, &out, "10 of 10 answered", &parts);
}

#[test]
fn ctrl_c_in_a_sweep_reports_what_was_measured() {
    let server = Server::start();
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = linerate();
    command.args([
        "sweep",
        &format!("iperf3://127.0.0.1:{}", server.port),
        "load",
    ]);
    command.args(["--forward", "--from", "500k", "--to", "1M", "--steps", "60"]);
    command.args(["-t", "1", "--settle", "0"]);
    let out = dir.path().join("out");
    let parts = ["the rest of load sweep", "cancelled by the user"];
    cancel(command, &out, "500 kbit/s", &parts);
}
