//! `cargo xtask test emulated`: stock Linux programs against the drivers of `nic`, on boards that QEMU
//! emulates.

use super::board::{Device, Namespace, TAP};
use super::{BOOT, agent, missing};
use crate::board::{self, Board, Qemu};
use crate::steps::Outcome;
use crate::{firmware, sh};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The boards' address, built into their firmware, and this machine's.
const DEVICE: &str = "10.0.0.2";
const HOST: &str = "10.0.0.1/24";
/// What a file has that goes each way.
const FILE: u64 = 100_000_000;
/// What each of iperf and its like moves: UDP at a rate that any machine can do takes its time.
const COUNTED: u64 = 100_000;
const PROGRAM: &str = "bench_agent";
/// The variant that is there to be flooded.
const FLOODED: &str = "interrupt_per_frame";

/// The step.
///
/// # Errors
/// Names the board that lost a ping, changed a file, or counted otherwise than the other end.
pub fn run(log: &Path) -> Result<Outcome> {
    if let Some(missing) = missing() {
        return Ok(Outcome::Skipped(missing));
    }
    let mut passed = Vec::new();
    for name in board::all() {
        let board = board::read(&name)?;
        let Some(qemu) = &board.qemu else { continue };
        if !sh::has(&qemu.program) {
            return Ok(Outcome::Skipped(format!(
                "{name} needs {}: apt-get install qemu-system-misc qemu-system-arm or cargo xtask setup",
                qemu.program
            )));
        }
        let mut variants = board.variants.clone();
        variants.retain(|it| it != FLOODED);
        let elfs = firmware::build(&board, &[PROGRAM.to_owned()], &variants, Some(log))?;
        for elf in elfs {
            let told = one(&board, qemu, &elf);
            passed.push(told.with_context(|| firmware::relative(&elf))?);
        }
    }
    Ok(Outcome::Done(passed.join("; ")))
}

/// A firmware of a board.
fn one(board: &Board, qemu: &Qemu, elf: &Path) -> Result<String> {
    let namespace = match Namespace::with_address(&format!("-{}", board.name), HOST) {
        Ok(namespace) => namespace,
        Err(error) => bail!("this machine lets no namespace or TAP device be made: {error:#}"),
    };
    let mut emulator = namespace.exec(&qemu.program);
    let mac = |argument: &String| argument.replace("{mac}", "02:00:00:00:00:02");
    emulator
        .args(&qemu.arguments)
        .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
        .args([
            "-netdev",
            &format!("tap,id=n0,ifname={TAP},script=no,downscript=no"),
        ])
        .args(qemu.device.iter().map(mac))
        .arg("-kernel")
        .arg(elf);
    let mut device = Device::spawn(&namespace, &mut emulator)?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
    let mut ping = namespace.exec("ping");
    ping.args(["-q", "-c", "1000", "-i", "0.002", "-w", "60", DEVICE]);
    let text = sh::read(&mut ping).with_context(|| device.last_words())?;
    if !text.contains(" 1000 received") {
        bail!("pings were lost:\n{text}");
    }
    agent::all(&namespace, &mut device, DEVICE, COUNTED)?;
    agent::curl(&namespace, &mut device, DEVICE, FILE)?;
    Ok(format!(
        "{}: 1000 of 1000 pings, {FILE} bytes each way with equal checksums",
        board.name
    ))
}
