//! User-visible output of `linerate relay`. Runs the built binary.
#![cfg(target_os = "linux")]

use linerate_host::relay::rig;
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
    let report: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["forward"]["impairment"]["spare"], 1000);
    assert_eq!(report["forward"]["lost_random_frames"], 0);
    // ARP and the two pings, and frames of the operating system.
    let frames = report["backward"]["frames_out"].as_u64();
    assert!(frames >= Some(3), "{report}");
    assert!(!namespace_exists(&left) && !namespace_exists(&right));
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

#[test]
fn help_shows_namespaces_and_every_setting() {
    insta::assert_snapshot!("help_relay", text(&relay(&["--help"]).stdout));
}
