//! `linerate regs` as a user runs it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const FIXTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../regs/decode/tests/fixtures/registers/"
);

fn regs(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .arg("regs")
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // The command does not read if it rejects its arguments.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn fixture(name: &str) -> String {
    format!("{FIXTURES}{name}")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Error message of a run that must fail with exit code 2 and without results.
fn fails(args: &[&str], input: &str) -> String {
    let output = regs(args, input);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    stderr(&output).trim_end().to_owned()
}

#[test]
fn help_describes_every_subcommand() {
    for (name, args) in [
        ("help_regs", &["--help"][..]),
        ("help_regs_decode", &["decode", "--help"]),
        ("help_regs_diff", &["diff", "--help"]),
        ("help_regs_list", &["list", "--help"]),
        ("help_regs_show", &["show", "--help"]),
    ] {
        insta::assert_snapshot!(name, stdout(&regs(args, "")));
    }
}

#[test]
fn a_value_on_stdin_is_decoded() {
    let text = stdout(&regs(
        &["decode", "-"],
        "ENET_RCR:0x02188084\t=0x05ee0264\n",
    ));
    assert!(
        text.starts_with("ENET.RCR = 0x05ee0264  Receive control"),
        "{text}"
    );
    let flow_control = "      5  FCE                   1  Flow control: ";
    assert!(text.contains(flow_control), "{text}");
}

#[test]
fn the_bit_that_enabled_flow_control_is_named() {
    let (before, after) = (fixture("imx6-before.txt"), fixture("imx6-after.txt"));
    let text = stdout(&regs(&["diff", &before, &after], ""));
    assert!(
        text.contains("      5  FCE              0 -> 1  Flow control"),
        "{text}"
    );
    assert!(
        text.contains("     10  PAUSE            0 -> 1  Pause"),
        "{text}"
    );
    assert!(text.ends_with("2 changed, 3 equal\n"), "{text}");
    let before_on_stdin = std::fs::read_to_string(&before).expect("text");
    assert_eq!(
        stdout(&regs(&["diff", "-", &after], &before_on_stdin)),
        text
    );
}

#[test]
fn json_output_is_complete() {
    let json = |args: &[&str], input| -> serde_json::Value {
        serde_json::from_str(&stdout(&regs(args, input))).expect("JSON")
    };
    let values = json(&["decode", "-", "--json"], "ENET_RCR 0x05ee0264");
    assert_eq!(values[0]["register"], "ENET.RCR");
    let fields = values[0]["fields"].as_array().expect("fields");
    let fce = fields
        .iter()
        .find(|field| field["name"] == "FCE")
        .expect("FCE");
    assert_eq!(
        (fce["low"].as_u64(), fce["value"].as_u64()),
        (Some(5), Some(1))
    );
    let (before, after) = (fixture("imx6-before.txt"), fixture("imx6-after.txt"));
    let diff = json(&["diff", &before, &after, "--json"], "");
    assert_eq!(diff["changed"][1]["fields"][0]["name"], "FCE");
    let maps = json(&["list", "--json"], "");
    assert_eq!(maps.as_array().map(Vec::len), Some(8));
    let register = json(&["list", "imx6", "RCR", "--json"], "");
    assert_eq!(register["blocks"][0]["registers"][0]["offset"], 0x84);
}

#[test]
fn errors_name_file_line_and_remedy() {
    assert_eq!(
        fails(&["decode", "-"], "\nRCR 1\n"),
        "error: stdin:2: imx6 and lan91c111 have a register RCR: select one with --chip"
    );
    assert_eq!(
        fails(&["decode", "-", "--chip", "mii"], "BMCR 11140"),
        "error: stdin:1: MII.BMCR has 16 bits, too few for 0x11140"
    );
    let empty = fails(&["decode", "-"], "nothing\n");
    assert!(
        empty.starts_with("error: stdin: it has no register value."),
        "{empty}"
    );
    assert!(fails(&["decode", "missing.txt"], "").contains("cannot read missing.txt"));
    assert!(fails(&["list", "imx5"], "").ends_with("(did you mean `imx6`?)"));
    assert_eq!(
        fails(&["list", "imx6", "RXR"], ""),
        "error: imx6 has no block or register `RXR`; `linerate regs list imx6` lists its contents"
    );
    let twice = fails(&["diff", "-", "-"], "");
    assert_eq!(twice, "error: only one of the dumps can come from stdin");
    let base = fails(&["decode", "-", "--base", "here"], "");
    assert!(
        base.contains("expected a hexadecimal address such as 0x02188000"),
        "{base}"
    );
}

#[test]
fn unknown_registers_are_noted_and_known_ones_decoded() {
    let output = regs(&["decode", "-"], "ENET_RDAR 01000000\nENET_RXR 1\n");
    assert!(stdout(&output).starts_with("ENET.RDAR = 0x01000000"));
    assert_eq!(stderr(&output), "stdin:2: imx6 has no register ENET_RXR\n");
}

#[test]
fn other_chips_come_from_files() {
    let svd = fixture("small.svd");
    let output = regs(&["decode", "-", "--svd", &svd], "EMAC1_CTRL 2\n");
    let text = stdout(&output);
    assert!(
        text.contains("    2:1  MODE             1 RMII  Kind of interface"),
        "{text}"
    );
    assert!(stderr(&output).ends_with(": skipped 2 registers wider than 32 bits\n"));
    let listed = stdout(&regs(&["list", "--svd", &svd, "ctrl"], ""));
    assert!(listed.contains("EMAC0 at 0x40020000"), "{listed}");

    let dir = tempfile::tempdir().expect("a folder");
    let map = dir.path().join("own.regs");
    let path = map.to_str().expect("text");
    std::fs::write(
        &map,
        "map own My MAC\nblock MAC 1000\n0 CR 0\n 0 EN Enabled\n",
    )
    .expect("written");
    let text = stdout(&regs(&["decode", "-", "--map", path], "0x1000 1\n"));
    assert_eq!(
        text,
        "MAC.CR = 0x00000001  [own]\n      0  EN                    1  Enabled\n"
    );
    std::fs::write(&map, "map own My MAC\nblock MAC 1000\n0 CR\n").expect("written");
    let fault = fails(&["list", "--map", path], "");
    assert!(
        fault.ends_with("own.regs:3: a register needs an offset, a name and its value after reset"),
        "{fault}"
    );
    std::fs::write(&map, "block MAC 1000\n0 CR 0\n").expect("written");
    let fault = fails(&["list", "--map", path], "");
    assert!(
        fault.ends_with("needs a line `map NAME TITLE` before its first block"),
        "{fault}"
    );
    let no_svd = fails(&["list", "--svd", path], "");
    assert!(no_svd.contains("own.regs is not an SVD file: "), "{no_svd}");
}
