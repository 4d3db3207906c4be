//! User-visible output: help, errors, exit codes, reports. Runs the built binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn linerate(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("RUST_BACKTRACE");
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A results fixture of another crate, copied to a temporary folder.
fn results() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("run.json");
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../results/tests/fixtures/run.json"
    );
    std::fs::copy(fixture, &path).expect("copied");
    (dir, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn impossible_timing_entries_are_reported_and_a_file_without_entries_is_rejected() {
    let dir = tempfile::tempdir().expect("a folder");
    let log = dir.path().join("chip.log");
    let entry = |name: &str, value: i64| {
        format!("{name} = {{ value = {value}, kind = \"measured\", source = \"chip\" }}\n")
    };
    let table = ["[cpu]\n", &entry("mul", 2), &entry("mret", -1)].concat();
    std::fs::write(&log, table).expect("written");
    let output = linerate(&["timing", text(&log)]);
    let printed = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        printed.starts_with("timing entry cpu.mret cannot be -1: "),
        "{printed}"
    );
    std::fs::write(&log, "").expect("written");
    let (code, error) = fails(&["timing", text(&log)]);
    assert_eq!(code, 2);
    assert!(error.ends_with("it has no usable timing entry"), "{error}");
}

/// Exit code and stderr, which must be a single line; stdout must be empty.
fn fails(args: &[&str]) -> (i32, String) {
    let output = linerate(args);
    let text = stderr(&output);
    assert!(
        output.stdout.is_empty(),
        "{args:?} printed results: {}",
        stdout(&output)
    );
    assert!(!text.contains("panicked"), "{args:?}: {text}");
    assert_eq!(
        text.trim_end().lines().count(),
        1,
        "{args:?}: one sentence, not\n{text}"
    );
    (
        output.status.code().expect("an exit code"),
        text.trim_end().to_owned(),
    )
}

#[test]
fn help_shows_the_commands_with_examples() {
    insta::assert_snapshot!("help", stdout(&linerate(&["--help"])));
    insta::assert_snapshot!("help_run", stdout(&linerate(&["run", "--help"])));
    insta::assert_snapshot!("help_sim", stdout(&linerate(&["sim", "--help"])));
    insta::assert_snapshot!("help_report", stdout(&linerate(&["report", "--help"])));
    insta::assert_snapshot!("help_serve", stdout(&linerate(&["serve", "--help"])));
    insta::assert_snapshot!("help_blast", stdout(&linerate(&["blast", "--help"])));
}

#[test]
fn without_a_command_there_is_help_and_exit_code_2() {
    let output = linerate(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("Usage: linerate <COMMAND>"));
}

#[test]
fn boards_are_listed() {
    insta::assert_snapshot!("boards", stdout(&linerate(&["boards"])));
}

#[test]
fn schema_is_json() {
    let output = linerate(&["schema"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("\"goodput_bytes_per_s_p50\""));
}

#[test]
fn completions_are_generated_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = linerate(&["completions", shell]);
        assert!(
            output.status.success() && stdout(&output).contains("linerate"),
            "{shell}"
        );
    }
}

#[test]
fn a_report_is_written_next_to_its_results() {
    let (dir, path) = results();
    let output = linerate(&["report", text(&path)]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with(
        "The windowed firmware downloads 100 kB at 5.24 Mbit/s (655 kB/s), 55% of line rate"
    ));
    let file = dir.path().join("report.html");
    let page = std::fs::read_to_string(&file).expect("a page");
    // Also if the results are named by their folder.
    std::fs::remove_file(&file).expect("removed");
    let output = linerate(&["report", text(dir.path())]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(file.exists());
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    let again = linerate(&[
        "report",
        text(&path),
        "--out",
        text(&dir.path().join("x/y.html")),
    ]);
    assert!(again.status.success());
    assert_eq!(
        std::fs::read_to_string(dir.path().join("x/y.html")).expect("a page"),
        page
    );
}

#[test]
fn summary_and_fidelity_go_to_stdout() {
    let (dir, path) = results();
    let summary = linerate(&["report", text(&path), "--markdown"]);
    assert!(stdout(&summary).starts_with("# A bit-banged 10BASE-T interface"));
    assert!(!dir.path().join("report.html").exists());
    let fidelity = linerate(&["fidelity", text(&path)]);
    assert!(stdout(&fidelity).starts_with("# Fidelity: published beside predicted"));
}

#[test]
fn invalid_results_are_named() {
    let (dir, path) = results();
    let (code, message) = fails(&["report", text(&dir.path().join("none.json"))]);
    assert_eq!(code, 2);
    assert!(
        message.starts_with("error: cannot read ") && message.contains("none.json: "),
        "{message}"
    );

    std::fs::write(&path, "{\"schema\": 1,\n  \"scenario\": 3}").expect("written");
    let (code, message) = fails(&["report", text(&path)]);
    assert_eq!(code, 2);
    assert!(
        message.contains("run.json contains no linerate results: line 2, column 15: "),
        "{message}"
    );
}

#[test]
fn invalid_scenarios_are_named_by_file_line_and_field() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("wrong.toml");
    std::fs::write(
        &path,
        "schema = 1\nname = \"x\"\nbord = \"esp32c6-bitbang\"\n",
    )
    .expect("written");
    let (code, message) = fails(&["run", text(&path)]);
    assert_eq!(code, 2);
    assert!(
        message.contains("wrong.toml:3:1: unknown field `bord`"),
        "{message}"
    );
    assert!(message.ends_with("(did you mean `board`?)"), "{message}");

    std::fs::write(&path, [0xFF, 0xFE]).expect("written");
    let (code, message) = fails(&["run", text(&path)]);
    assert_eq!(code, 2);
    assert!(
        message.contains("wrong.toml: ") && message.contains("UTF-8"),
        "{message}"
    );

    let (code, message) = fails(&["run", text(dir.path())]);
    assert_eq!(code, 2, "{message}");
}

#[test]
fn a_missing_firmware_error_names_the_command_that_builds_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/niccle.toml");
    let out = dir.path().join("out");
    let (code, message) = fails(&[
        "run",
        scenario,
        "--elf-dir",
        text(dir.path()),
        "--out",
        text(&out),
    ]);
    assert_eq!(code, 2);
    assert!(
        message.ends_with("`cargo xtask firmware ping isr-all --board esp32c6-bitbang` builds it"),
        "{message}"
    );
    assert!(!out.exists());
}

#[test]
fn unknown_names_are_reported_with_the_known_ones() {
    let (code, message) = fails(&["sim", "esp32c6-bitbng"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("(did you mean `esp32c6-bitbang`?)"),
        "{message}"
    );
    let (code, message) = fails(&["sim", "esp32c6-bitbang", "--program", "http-get"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("no program `http-get` (did you mean `http_get`?); it has arp_request, "),
        "{message}"
    );
    let (code, message) = fails(&["sim", "esp32c6-bitbang", "--variant", "fast"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("it has isr-all, isr-ram, main-thread, "),
        "{message}"
    );
}

#[test]
fn an_invalid_firmware_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("text.elf");
    std::fs::write(&path, "this is no ELF").expect("written");
    let (code, message) = fails(&["sim", "esp32c6-bitbang", "--elf", text(&path)]);
    assert_eq!(code, 2);
    assert!(
        message.ends_with("text.elf: the firmware cannot be run: not an ELF file"),
        "{message}"
    );
    let (code, message) = fails(&[
        "sim",
        "esp32c6-bitbang",
        "--elf",
        text(&dir.path().join("none.elf")),
    ]);
    assert_eq!(code, 2);
    assert!(
        message.contains("cannot read ") && message.contains("none.elf"),
        "{message}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_missing_tap_interface_error_names_the_commands_that_create_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("text.elf");
    std::fs::write(&path, "this is no ELF").expect("written");
    let (code, message) = fails(&[
        "sim",
        "esp32c6-bitbang",
        "--elf",
        text(&path),
        "--tap",
        "nosuchif0",
    ]);
    assert_eq!(code, 2);
    assert!(
        message.contains("there is no interface nosuchif0; create it with: sudo ip tuntap add"),
        "{message}"
    );
}

/// Without a reader, stdout and stderr are pipes that nobody reads.
#[test]
fn output_that_nobody_reads_changes_no_exit_code() {
    let (_dir, run) = results();
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out");
    let commands: [&[&str]; 8] = [
        &["boards"],
        &["schema"],
        &["serve", "echo", "--seconds", "0"],
        &["report", text(&run)],
        &["compare", text(&run), text(&run)],
        &["explain", text(&run)],
        &["run", "no-such-scenario.toml"],
        &[
            "test",
            "iperf3://127.0.0.1:1",
            "--timeout",
            "1",
            "--out",
            text(&out),
        ],
    ];
    for command in commands {
        let closed = || {
            let (_, writer) = std::io::pipe().expect("a pipe");
            writer
        };
        let status = Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(command)
            .stdout(closed())
            .stderr(closed())
            .status();
        let with_readers = linerate(command).status.code();
        assert_eq!(status.expect("it runs").code(), with_readers, "{command:?}");
    }
    assert!(out.join("report.html").exists());
}

#[test]
fn an_unknown_protocol_is_named_with_the_most_similar() {
    let output = linerate(&["serve", "iperf4"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains("unknown protocol `iperf4` (did you mean `iperf"),
        "{text}"
    );
}

#[test]
fn a_port_in_use_is_an_input_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let output = linerate(&["serve", &format!("http:{port}"), "--seconds", "5"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("cannot listen on TCP 127.0.0.1:{port}: ")),
        "{text}"
    );
}

#[test]
fn reachable_clients_are_printed_first() {
    let output = linerate(&["serve", "stamp:0", "--seconds", "0"]);
    assert_eq!(output.status.code(), Some(2), "port 0 is invalid");
    let output = linerate(&["serve", "echo", "--seconds", "0"]);
    let text = stderr(&output);
    assert!(text.starts_with("serving this host only"), "{text}");
    assert!(!text.contains("no UDP on request"), "{text}");
}

#[test]
fn udp_on_request_to_other_hosts_must_be_enabled() {
    let open = ["serve", "echo", "--seconds", "0", "--bind", "0.0.0.0"];
    let text = stderr(&linerate(&open));
    assert!(text.contains("; no UDP on request"), "{text}");
    let text = stderr(&linerate(&[&open[..], &["--udp-on-request"]].concat()));
    assert!(!text.contains("no UDP on request"), "{text}");
}

#[test]
fn degraded_results_exit_with_1_and_are_named() {
    let (dir, before) = results();
    let same = linerate(&["compare", text(&before), text(&before)]);
    assert!(same.status.success(), "{}", stderr(&same));
    assert!(stdout(&same).starts_with("All "), "{}", stdout(&same));
    let after = dir.path().join("after.json");
    let mut run: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&before).expect("read")).expect("JSON");
    let goodput = run["results"]
        .as_array_mut()
        .expect("results")
        .iter_mut()
        .find_map(|result| result["metrics"].get_mut("goodput_bytes_per_s_p50"))
        .expect("a download");
    *goodput = serde_json::json!(1.0);
    std::fs::write(&after, run.to_string()).expect("written");
    let worse = linerate(&["compare", text(&before), text(&after)]);
    assert_eq!(worse.status.code(), Some(1));
    assert!(
        stderr(&worse).contains("goodput_bytes_per_s_p50 was"),
        "{}",
        stderr(&worse)
    );
    let limit = "goodput_bytes_per_s_p50=100%";
    let allowed = linerate(&["compare", text(&before), text(&after), "--metric", limit]);
    assert!(allowed.status.success(), "{}", stderr(&allowed));
    let (code, error) = fails(&["compare", text(&before), "missing.json"]);
    assert!(
        code == 2 && error.contains("cannot read missing.json"),
        "{error}"
    );
}

#[test]
fn an_invalid_target_is_explained() {
    let (code, error) = fails(&["test", "192.0.2.7"]);
    assert!(code == 2 && error.contains("iperf2://192.0.2.7"), "{error}");
    let (code, error) = fails(&["test", "ipref3://192.0.2.7"]);
    assert!(
        code == 2 && error.contains("is iperf3:// meant?"),
        "{error}"
    );
}

#[test]
fn blast_requires_a_named_interface() {
    // Errors of clap include the usage, in several lines.
    let rejected = |args: &[&str], part: &str| {
        let output = linerate(args);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part), "{error}");
    };
    rejected(&["blast"], "<IFACE>");
    rejected(&["blast", "lo", "--mac", "2:0"], "02:00:00:00:00:07");
    rejected(&["blast", "lo", "--rate", "0"], "or max");
    let output = linerate(&["blast", "lr-none0", "--seconds", "1"]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    // A missing privilege is reported first; on other systems than Linux raw frames are unsupported.
    let named = error.contains("lr-none0") || error.contains("Linux only");
    assert!(named, "{error}");
}

/// Each command reads so much of it and no more.
#[cfg(unix)]
#[test]
fn files_without_end_are_refused_with_a_sentence() {
    let (_dir, results) = results();
    let results = text(&results);
    let endless = "/dev/zero";
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/niccle.toml");
    let answers = tempfile::tempdir().expect("a folder");
    let script = answers.path().join("answers.toml");
    let answer = format!("[[answer]]\npath = \"/a\"\nfile = \"{endless}\"\n");
    std::fs::write(&script, answer).expect("written");
    let file = format!("/a={endless}");
    for args in [
        &["run", endless] as &[&str],
        &["sensitivity", endless],
        &["run", scenario, "--timing", endless],
        &["timing", endless],
        &["report", endless],
        &["compare", endless, results],
        &["compare", results, endless],
        &["explain", endless],
        &["test", "http://127.0.0.1:9/", "--baseline", endless],
        &["sim", "esp32c6-bitbang", "--elf", endless],
        &[
            "sim",
            "esp32c6-bitbang",
            "--elf",
            results,
            "--answers",
            text(&script),
        ],
        &["sim", "esp32c6-bitbang", "--elf", results, "--file", &file],
        &["regs", "decode", endless],
        &["regs", "diff", endless, endless],
        &["regs", "list", "--svd", endless],
        &["regs", "list", "--map", endless],
    ] {
        let (code, error) = fails(args);
        assert_eq!(code, 2, "{args:?}: {error}");
        assert!(error.contains(endless), "{args:?}: {error}");
    }
}

/// A device or a pipe has no end: files that a user names are read with a bound. In 4 GB of addresses, so that a command
/// that reads on does not take this machine's memory.
#[cfg(target_os = "linux")]
#[test]
fn a_file_without_end_is_refused_wherever_one_is_named() {
    for command in [
        "run /dev/zero",
        "run ../scenarios/niccle.toml --timing /dev/zero",
        "sim esp32c6-bitbang --elf /dev/zero",
        "timing /dev/zero",
        "sensitivity /dev/zero",
        "regs decode /dev/zero",
    ] {
        let script = format!("ulimit -v 4000000; exec \"$0\" {command}");
        let output = Command::new("timeout")
            .args(["60", "sh", "-c", &script, env!("CARGO_BIN_EXE_linerate")])
            .output()
            .expect("sh runs");
        let error = stderr(&output);
        assert!(
            error.contains("/dev/zero: it is longer than "),
            "{command}: {error}"
        );
        assert_eq!(output.status.code(), Some(2), "{command}: {error}");
    }
}

#[test]
fn a_folder_that_could_not_be_written_is_not_named_as_that_of_the_results() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("written");
    // Nobody listens there any more.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("iperf2://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let cases = [(dir.path().join("out"), 3), (file.join("out"), 2)];
    for (out, code) in cases {
        let output = linerate(&["test", &url, "-t", "1", "--out", text(&out)]);
        let is_named = stderr(&output).contains("results so far are in");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(is_named, out.exists(), "{}", stderr(&output));
    }
}
