//! `cargo xtask test emulated` and `cargo xtask test lwip`: stock Linux programs against the drivers of `nic`, on boards
//! that QEMU emulates, below smoltcp and below `lwIP`.

use super::agent::Bench;
use super::board::{Device, Namespace};
use super::{BOOT, missing};
use crate::board::{self, Board, Qemu};
use crate::firmware::lwip;
use crate::steps::Outcome;
use crate::{concurrent, firmware, sh};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Addresses of the boards, built into their firmware, and of the host.
const DEVICE: &str = "10.0.0.2";
const HOST: &str = "10.0.0.1/24";
/// Size of the file transferred in each direction, octets.
const FILE: u64 = 100_000_000;
/// Octets that each test of iperf, iperf3 and curl transfers: few, because UDP is slow
/// at a rate that any machine can keep.
const COUNTED: u64 = 100_000;
/// Octets of each test of lwIP's own iperf server.
const LWIPERF: u64 = 4_000_000;
const PROGRAM: &str = "bench_agent";
/// The variant for floods, which is not tested here.
const FLOODED: &str = "interrupt_per_frame";

/// Runs the step.
///
/// # Errors
/// A ping is lost, a file arrives changed, or counts differ; the error names the board.
pub fn run(log: &Path) -> Result<Outcome> {
    if let Some(missing) = missing() {
        return Ok(Outcome::Skipped(missing));
    }
    let mut boards = Vec::new();
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
        boards.push((board, elfs));
    }
    let cases: Vec<Case> = boards
        .iter()
        .filter_map(|(board, elfs)| Some((board, board.qemu.as_ref()?, elfs)))
        .flat_map(|(board, qemu, elfs)| elfs.iter().map(move |elf| Case { board, qemu, elf }))
        .collect();
    check_each(&cases, check).map(Outcome::Done)
}

/// Runs the step `lwip`: the variant in C of each board whose compiler is installed.
///
/// # Errors
/// As [`run`].
pub fn run_lwip(log: &Path) -> Result<Outcome> {
    if let Some(missing) = missing() {
        return Ok(Outcome::Skipped(missing));
    }
    let mut boards = Vec::new();
    let mut skipped = Vec::new();
    for name in board::all() {
        let board = board::read(&name)?;
        let Some(qemu) = board.qemu.as_ref().filter(|_| board.lwip.is_some()) else {
            continue;
        };
        if let Some(missing) = lwip::missing(&board) {
            skipped.push(missing);
        } else if sh::has(&qemu.program) {
            boards.push(board);
        } else {
            skipped.push(format!(
                "lwIP on {name} needs {}: cargo xtask setup",
                qemu.program
            ));
        }
    }
    let elfs = firmware::build_lwip(&boards.iter().collect::<Vec<_>>(), Some(log))?;
    let cases: Vec<Case> = boards
        .iter()
        .zip(&elfs)
        .filter_map(|(board, elf)| {
            let qemu = board.qemu.as_ref()?;
            Some(Case { board, qemu, elf })
        })
        .collect();
    let passed = check_each(&cases, check_lwip)?;
    if skipped.is_empty() {
        return Ok(Outcome::Done(passed));
    }
    for missing in &skipped {
        println!("skipped: {missing}");
    }
    skipped.extend((!passed.is_empty()).then_some(passed));
    Ok(Outcome::Skipped(skipped.join("; ")))
}

/// Tests all firmware. A board and the programs that test it keep one core busy.
fn check_each(cases: &[Case], check: fn(&Case) -> Result<String>) -> Result<String> {
    let passed: Result<Vec<String>> = concurrent::map(cases, concurrent::cores(), |case| {
        check(case).with_context(|| firmware::relative(case.elf))
    })
    .into_iter()
    .collect();
    Ok(passed?.join("; "))
}

/// A firmware of an emulated board.
struct Case<'a> {
    board: &'a Board,
    qemu: &'a Qemu,
    elf: &'a Path,
}

/// Tests a firmware of a board.
fn check(case: &Case) -> Result<String> {
    let (namespace, mut device) = start(case)?;
    Bench::new(&namespace, &mut device, DEVICE, COUNTED).all()?;
    Bench::new(&namespace, &mut device, DEVICE, FILE).curl()?;
    Ok(passed(case))
}

/// Tests a firmware with lwIP, and the iperf server of lwIP itself.
fn check_lwip(case: &Case) -> Result<String> {
    let (namespace, mut device) = start(case)?;
    Bench::new(&namespace, &mut device, DEVICE, COUNTED).all()?;
    Bench::new(&namespace, &mut device, DEVICE, LWIPERF).lwiperf()?;
    Bench::new(&namespace, &mut device, DEVICE, FILE).curl()?;
    Ok(passed(case))
}

fn passed(case: &Case) -> String {
    format!(
        "{}: 1000 of 1000 pings, {FILE} bytes in each direction with equal checksums",
        case.board.name
    )
}

/// Starts a firmware and pings it.
fn start(case: &Case) -> Result<(Namespace, Device)> {
    let Case { board, qemu, elf } = *case;
    let variant = elf.file_stem().unwrap_or_default().display();
    let namespace = match Namespace::with_address(&format!("-{}-{variant}", board.name), HOST) {
        Ok(namespace) => namespace,
        Err(error) => bail!("cannot create a network namespace with a TAP device: {error:#}"),
    };
    let mut device = Device::emulated(&namespace, qemu, elf, &[])?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
    let mut ping = namespace.exec("ping");
    ping.args(["-q", "-c", "1000", "-i", "0.002", "-w", "60", DEVICE]);
    let text = sh::read(&mut ping).with_context(|| device.recent_output())?;
    if !text.contains(" 1000 received") {
        bail!("pings were lost:\n{text}");
    }
    Ok((namespace, device))
}
