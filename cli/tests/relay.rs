//! User-visible output of `linerate relay`, and of `linerate blast` from one of its ends. Runs the built binary.
#![cfg(target_os = "linux")]

use linerate_host::relay::rig;
use linerate_results::record::Run;
use std::path::Path;
use std::process::{Command, Output};

fn relay(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command
        .arg("relay")
        .args(args)
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn invalid_arguments_are_reported_in_one_sentence() {
    for (args, expected) in [
        (
            &["tap0", "tap1", "--both", "los=1%"][..],
            "error: --both: unknown setting `los` (did you mean `loss`?); settings are ",
        ),
        (
            &[
                "tap0",
                "tap1",
                "--both",
                "delay=1ms",
                "--backward",
                "jitter=2ms",
            ],
            "error: --backward: `jitter` cannot be 2ms: the maximum is the delay",
        ),
        (
            &["tap0", "tap0"],
            "error: both ends are tap0: use two different interfaces",
        ),
        (
            &["tap0@linerate-none", "tap1"],
            "error: there is no network namespace linerate-none (`ip netns` lists them); create it with",
        ),
        (
            &["--namespaces", "one"],
            "error: --namespaces requires two different names: --namespaces left,right",
        ),
        (
            &["--namespaces", "a/b,c"],
            "error: `a/b` is not a valid name for a network namespace: ",
        ),
    ] {
        let output = relay(args);
        let error = text(&output.stderr);
        assert!(error.starts_with(expected), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(output.status.code(), Some(2), "{error}");
    }
}

/// Unique names for `--namespaces`; `None`, with a message, if none can be created.
fn names(test: &str) -> Option<[String; 2]> {
    if let Some(why) = rig::unavailable() {
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "no relay: {why}"
        );
        eprintln!("skipped: tests of the relay require root: {why}");
        return None;
    }
    let id = std::process::id();
    Some(["l", "r"].map(|end| format!("linerate-{test}-{id}-{end}")))
}

fn namespace_exists(name: &str) -> bool {
    Path::new("/run/netns").join(name).exists()
}

#[test]
fn a_command_runs_in_the_first_namespace_and_the_report_follows() {
    let Some([left, right]) = names("command") else {
        return;
    };
    let names = format!("{left},{right}");
    let output = relay(&[
        "--namespaces",
        &names,
        "--forward",
        "spare=1000,loss=100%",
        "--json",
        "-",
        "--",
        "ping",
        "-c",
        "2",
        "-i",
        "0.01",
        "10.0.0.2",
    ]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    let (ping, json) = printed.split_at(printed.find('{').expect("JSON"));
    assert!(ping.contains(" 2 received"), "{ping}");
    let run = Run::from_json(json).expect("results");
    let ends = format!("eth0@{left} eth0@{right}");
    assert_eq!(run.provenance.target, ends);
    let relayed = run.relays().next().expect("a relay");
    assert_eq!(relayed.params.forward, "spare=1000,loss=100%");
    let metrics = &relayed.metrics;
    assert_eq!(metrics.forward.counts.lost_random_frames, 0);
    // ARP and the two pings, and frames of the operating system.
    assert!(metrics.backward.counts.frames_out >= 3, "{json}");
    let notes = &relayed.params.setting.notes;
    let printed = text(&output.stderr).contains("note: this host was too slow: ");
    assert_eq!(
        (notes.len() == 1, printed),
        (!metrics.is_exact(), !metrics.is_exact())
    );
    assert!(!namespace_exists(&left) && !namespace_exists(&right));
}

#[test]
fn what_the_relay_records_in_a_folder_is_reported_and_exported() {
    let Some([left, right]) = names("folder") else {
        return;
    };
    let names = format!("{left},{right}");
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().to_str().expect("UTF-8");
    let settings = ["--namespaces", &names, "--both", "delay=1ms", "--out", out];
    let output = relay(&[&settings[..], &["--", "ping", "-c", "1", "10.0.0.2"]].concat());
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    let (_, printed) = printed
        .split_once("forward (delay=1ms): ")
        .expect("a report");
    let (frames, _) = printed.split_once(" frames received (").expect("a count");
    let reported = linerate(&["report", out, "--markdown"]);
    let expected = format!("relay: forward {frames} frames received");
    assert!(reported.contains(&expected), "{expected}: {reported}");
    let page = std::fs::read_to_string(dir.path().join("report.html")).expect("a report");
    let expected = format!("forward (delay=1ms): {frames} frames received");
    assert!(page.contains(&expected), "{expected}: {page}");
    let exported = std::fs::read_to_string(dir.path().join("results.prom")).expect("an export");
    assert!(
        exported.contains("linerate_relay_forward_frames_in{"),
        "{exported}"
    );
}

#[test]
fn a_failed_command_fails_the_relay_and_existing_namespaces_are_kept() {
    let Some([left, right]) = names("failure") else {
        return;
    };
    let names = format!("{left},{right}");
    let output = relay(&["--namespaces", &names, "--", "false"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(
        error.contains("error: false exited with exit status: 1"),
        "{error}"
    );
    assert!(text(&output.stdout).starts_with("forward (no impairment): "));

    let made = Command::new("ip").args(["netns", "add", &right]).status();
    assert!(made.expect("ip runs").success());
    let output = relay(&["--namespaces", &names, "--seconds", "0"]);
    let error = text(&output.stderr);
    let was_left_alone = namespace_exists(&right);
    let removed = Command::new("ip")
        .args(["netns", "delete", &right])
        .status();
    assert!(removed.expect("ip runs").success());
    assert!(was_left_alone && !namespace_exists(&left));
    assert_eq!(output.status.code(), Some(2), "{error}");
    let expected = format!("error: network namespace {right} already exists: ");
    assert!(error.starts_with(&expected), "{error}");
}

/// The output of a command on results.
fn linerate(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    let output = command.args(args).output().expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_blast_is_recorded_as_every_measurement() {
    let Some([left, right]) = names("blast") else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (json, out) = (dir.path().join("blast.json"), dir.path().join("out"));
    let (json, out) = (json.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let names = format!("{left},{right}");
    let blast = [env!("CARGO_BIN_EXE_linerate"), "blast", rig::INTERFACE];
    let options = ["--mac", "02:00:00:00:00:07", "--rate", "500", "--seconds"];
    let written = ["1", "--json", json, "--out", out];
    let relayed = ["--namespaces", &names, "--"];
    let output = relay(&[&relayed[..], &blast, &options, &written].concat());
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    assert!(printed.contains(" frames/s of 500 requested"), "{printed}");

    let run = std::fs::read_to_string(json).expect("written");
    let run = Run::from_json(&run).expect("results");
    assert_eq!(run.provenance.target, "raw://eth0/02:00:00:00:00:07");
    let blast = run.blasts().next().expect("a blast");
    assert_eq!(blast.params.frame_octets, 64);
    let metrics = &blast.metrics;
    assert_eq!(metrics.sent_frames + metrics.missing_frames, 500);
    let counters = blast.observation.interface_counters.expect("counters");
    assert!(counters.sent_frames >= metrics.sent_frames);
    // The same run, from the folder.
    let compared = linerate(&["compare", json, out]);
    assert!(compared.contains(" figures are unchanged."), "{compared}");
    let report = linerate(&["report", out, "--markdown"]);
    assert!(report.contains(" frames/s of 500 requested"), "{report}");
    let exported = Path::new(out).join("results.csv");
    let exported = std::fs::read_to_string(exported).expect("an export");
    assert!(exported.contains(",frames_per_s,"), "{exported}");
}

#[test]
fn help_shows_namespaces_and_every_setting() {
    insta::assert_snapshot!("help_relay", text(&relay(&["--help"]).stdout));
}
