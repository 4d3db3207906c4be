//! `linerate regs show` with every board emulated by QEMU, and with other gdb servers.
#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A process that ends with the test.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn regs() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.arg("regs").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        println!("skipped: {program} is not installed");
        let must = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
        assert!(!must, "{program} is not installed");
    }
    is_there
}

/// Boards that can be started here, and the folder of their firmware.
fn boards() -> Option<(Vec<String>, PathBuf)> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let all = linerate_bench::board::all().into_iter();
    // Linux has no firmware here.
    let all = all.filter(linerate_bench::board::Board::has_firmware);
    let here = all.filter(|board| board.qemu.as_ref().is_some_and(|it| has(&it.program)));
    let names = here.map(|board| board.name).collect();
    Some((names, Path::new(&folder).parent()?.to_owned()))
}

/// Expected values of a board after driver initialization: register, field (empty: all), value.
fn known(board: &str) -> &'static [(&'static str, &'static str, u64)] {
    match board {
        "qemu-sabrelite" => &[
            ("ENET.RCR", "FCE", 1),
            ("ENET.RCR", "MAX_FL", 1524),
            ("MII.ANAR", "PAUSE", 1),
            ("MII.ANAR", "ASM_DIR", 1),
            ("MII.BMSR", "LINK_UP", 1),
        ],
        "qemu-mps2-an385" => &[
            ("CSR.ID_REV", "CHIP_ID", 0x118),
            ("MAC.MAC_CR", "RXEN", 1),
            ("MII.ANAR", "PAUSE", 1),
        ],
        "qemu-riscv32-virt" => &[
            ("MMIO.MagicValue", "", 0x7472_6976),
            ("MMIO.DeviceID", "ID", 1),
            ("MMIO.Status", "DRIVER_OK", 1),
            ("FEATURES.WORD0", "MAC", 1),
            ("NET.mac0", "", 2),
        ],
        "qemu-versatilepb" => &[
            ("BANK3.REV", "CHIP", 9),
            ("BANK0.RCR", "RXEN", 1),
            ("BANK0.TCR", "TXENA", 1),
        ],
        other => panic!("no expected values for {other}"),
    }
}

#[test]
fn every_board_shows_its_driver_s_settings_and_continues_to_run() {
    let Some((boards, elfs)) = boards() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    for board in boards {
        let show = |args: &[&str]| {
            let mut show = regs();
            show.args(["show", &format!("qemu://{board}"), "--timeout", "60"]);
            run(show.args(args).arg("--elf-dir").arg(&elfs))
        };
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let json = stdout(&show(&["--json"]));
        let values: Vec<Value> = serde_json::from_str(&json).expect("JSON");
        for (register, field, expected) in known(&board) {
            let value = values.iter().find(|value| value["register"] == *register);
            let value = value.unwrap_or_else(|| panic!("{board} shows no {register}"));
            let fields = value["fields"].as_array().expect("fields");
            let found = fields.iter().find(|it| it["name"] == *field);
            let actual = found.unwrap_or(value)["value"].as_u64();
            assert_eq!(actual, Some(*expected), "{board}: {register}.{field}");
        }
        // Two machines in the same state: both output formats agree, and all registers are known.
        let (json, devregs) = (
            file("json", &json),
            file("devregs", &stdout(&show(&["--devregs"]))),
        );
        let same = run(regs().arg("diff").args([json, devregs]));
        assert_eq!(stderr(&same), "", "{board}");
        let same = stdout(&same);
        assert!(
            same.ends_with(" equal\n") && !same.contains("only in"),
            "{board}: {same}"
        );

        let moved = show(&["--then", "transfer"]);
        assert!(stdout(&moved).ends_with(" equal\n"), "{board}");
        assert!(
            stderr(&moved).contains("moved 1000000 octets each way over TCP"),
            "{board}"
        );
    }
}

#[test]
fn flow_control_is_printed_with_the_negotiated_result() {
    let Some((boards, elfs)) = boards() else {
        return;
    };
    if !boards.iter().any(|board| board == "qemu-sabrelite") {
        return;
    }
    let mut show = regs();
    show.args(["show", "qemu://qemu-sabrelite", "RCR", "ANAR", "anlpar"]);
    let text = stdout(&run(show.arg("--elf-dir").arg(elfs)));
    let flow_control = "      5  FCE                   1  Flow control: ";
    assert!(
        text.starts_with("ENET.RCR = 0x05f4") && text.contains(flow_control),
        "{text}"
    );
    let last = "flow control: ENET.RCR.FCE is 1, advertised PAUSE 1 ASM_DIR 1, the partner's PAUSE 1 \
                ASM_DIR 1: pause frames are negotiated in both directions\n";
    assert!(text.ends_with(last), "{text}");
}

/// QEMU's Sabre Lite halted before its first instruction, started manually.
const ARGUMENTS: [&str; 10] = [
    "-M",
    "sabrelite",
    "-S",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "none",
    "-gdb",
];

#[test]
fn any_gdb_server_can_be_used() {
    if !has("qemu-system-arm") {
        return;
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(ARGUMENTS).arg(format!("tcp:{address}"));
    let _qemu = Owned(qemu.stdin(Stdio::null()).spawn().expect("it starts"));
    let url = format!("gdb://{address}");
    let show = |args: &[&str]| run(regs().args(["show", &url, "--chip", "imx6"]).args(args));
    let deadline = Instant::now() + Duration::from_mins(1);
    while stderr(&show(&["RCR"])).contains("no gdb server at") {
        assert!(Instant::now() < deadline, "QEMU does not listen");
    }
    // The value after reset: no driver has run.
    assert_eq!(
        stdout(&show(&["RCR", "--devregs"])),
        "ENET_RCR:0x02188084\t=0x05ee0001\n"
    );
    let whole = show(&["--devregs"]);
    assert!(stdout(&whole).lines().count() > 90);
    assert_eq!(
        stderr(&whole),
        "not read: MII, KSZ9021: other registers are written for it, and put back (--indirect)\n"
    );
    let no_clock = stderr(&show(&["ANAR", "--indirect"]));
    assert!(
        no_clock.contains("MDIO has no clock (ENET.MSCR.MII_SPEED is 0)"),
        "{no_clock}"
    );
    assert_eq!(
        stdout(&show(&["RCR", "--then", "0"])),
        "0 changed, 1 equal\n"
    );
    let transfer = show(&["RCR", "--then", "transfer"]);
    assert_eq!(transfer.status.code(), Some(2));
    assert!(
        stderr(&transfer).contains("--then enter"),
        "{}",
        stderr(&transfer)
    );
}

#[test]
fn a_device_behind_probe_rs_is_read_twice() {
    if !has("qemu-system-arm") {
        return;
    }
    // A stand-in for probe-rs that starts QEMU at the given address.
    let dir = tempfile::tempdir().expect("a folder");
    let asked = dir.path().join("asked");
    let script = format!(
        "#!/bin/sh\necho \"$1 $2 $4 $5\" >> {}\nexec qemu-system-arm {} tcp:$3\n",
        asked.display(),
        ARGUMENTS.join(" ")
    );
    let program = dir.path().join("probe-rs");
    std::fs::write(&program, script).expect("written");
    let mut executable = Command::new("chmod");
    assert!(
        executable
            .arg("+x")
            .arg(&program)
            .status()
            .expect("chmod")
            .success()
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(dir.path().to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("a path");
    let mut show = regs();
    show.args(["show", "probe://MIMX6Q", "--board", "qemu-sabrelite", "RCR"]);
    let output = run(show
        .args(["--then", "enter", "--timeout", "60"])
        .env("PATH", path));
    assert_eq!(stdout(&output), "0 changed, 1 equal\n");
    let asked = std::fs::read_to_string(asked).expect("text");
    assert_eq!(
        asked,
        "gdb --gdb-connection-string --chip MIMX6Q\n".repeat(2)
    );
}

#[test]
fn a_missing_probe_rs_is_reported() {
    let mut show = regs();
    show.args([
        "show",
        "probe://STM32F407VG",
        "--chip",
        "lan9118",
        "--base",
        "60000000",
    ]);
    let output = run(show.env("PATH", ""));
    assert_eq!(output.status.code(), Some(3));
    let error = stderr(&output);
    assert!(
        error.contains("STM32F407VG on the debug probe: probe-rs is not installed"),
        "{error}"
    );
}

#[test]
fn invalid_arguments_are_explained() {
    let fails = |args: &[&str]| {
        let output = run(regs().arg("show").args(args));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        stderr(&output).trim_end().to_owned()
    };
    assert_eq!(
        fails(&["gdb://localhost:1"]),
        "error: unknown chip: give --chip (see `linerate regs list`) or --board (see `linerate boards`)"
    );
    assert!(fails(&["gdb://localhost:1", "--chip", "imx5"]).ends_with("(did you mean `imx6`?)"));
    assert!(fails(&["gdb://localhost:1", "--board", "z80"]).contains("there is no board `z80`"));
    assert!(fails(&["sim://esp32c6-bitbang"]).contains("gdb://HOST:PORT"));
    assert!(fails(&["gdb://h:1", "--then", "now"]).contains("`enter`, `type COMMAND` or seconds"));
}
