//! `linerate regs show`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::board::{self, Board};
use linerate_bench::endpoint::Options;
use linerate_bench::registers::{self as devices, Device};
use linerate_regs_decode::live::{self, Memory, ReadRequest, Readout};
use linerate_regs_decode::{self, Error, MII, Map, decode, diff, flow_control};

use super::{UserMap, named};
use crate::args::{RegsShow, ResumeUntil};
use crate::failure::Failure;
use crate::output;

pub fn run(args: &RegsShow) -> Result<(), Failure> {
    let own = UserMap::read(&args.place.maps)?;
    let named = args.board.as_deref().map(board::find).transpose();
    let named = named.map_err(|error| anyhow!(error))?;
    let options = Options {
        timeout: Duration::from_secs(args.timeout),
        elf_dir: args.elf_dir.clone(),
        ..Options::default()
    };
    let mut device = devices::open(&args.target, &options)?;
    let maps = own.maps();
    let board = named.as_ref().or(device.board());
    let wanted = read_request(args, &own, &maps, board)?;
    let wanted = ReadRequest {
        indirect: args.indirect || device.is_writable(),
        ..wanted
    };
    let before = read_registers(device.as_mut(), &wanted)?;
    note(&before);
    let Some(then) = &args.then else {
        return print_values(args, &before);
    };
    resume(device.as_mut(), then)?;
    let after = read_registers(device.as_mut(), &wanted)?;
    let diff = diff::compare(&before.values, &after.values);
    if args.json {
        return output::json(&diff);
    }
    output::print(&diff.text())
}

/// Registers to read: of the given chip, else of the board's.
fn read_request<'a>(
    args: &'a RegsShow,
    own: &'a UserMap,
    maps: &[Map<'a>],
    board: Option<&Board>,
) -> Result<ReadRequest<'a>, Failure> {
    let place = &args.place;
    let of_board = board.map(|board| &board.registers);
    let chip = place.chip.as_deref().or(own.name());
    let Some(chip) = chip.or(of_board.map(|it| it.map.as_str())) else {
        let what = "unknown chip: give --chip (see `linerate regs list`) or --board (see `linerate boards`)";
        return Err(anyhow!(what).into());
    };
    let map = named(maps, chip)?;
    let of_board = of_board.filter(|it| it.map == map.name());
    Ok(ReadRequest {
        map,
        phys: MII,
        block: place.block.as_deref(),
        base: place.base.or(of_board.and_then(|it| it.base)),
        names: &args.names,
        indirect: args.indirect,
        side_effects: args.side_effects,
    })
}

/// Reads registers while the device is halted.
fn read_registers(device: &mut dyn Device, wanted: &ReadRequest) -> Result<Readout, Failure> {
    let mut seen = Ok(Readout::default());
    device.with_memory(&mut |memory: &mut dyn Memory| seen = live::read(memory, wanted))?;
    seen.map_err(|error| match error {
        linerate_regs_decode::Error::Lost(_) => {
            Failure::Target(anyhow!("{}: {error}", device.name()))
        }
        error => Failure::Input(anyhow!(error)),
    })
}

fn note(seen: &Readout) {
    for note in seen.notes() {
        message!("{note}");
    }
}

fn print_values(args: &RegsShow, seen: &Readout) -> Result<(), Failure> {
    if seen.values.is_empty() {
        return Err(anyhow!(Error::Empty.in_file(&args.target)).into());
    }
    if args.json {
        return output::json(&seen.values);
    }
    if args.devregs {
        return output::print(&live::devregs(&seen.values));
    }
    let mut text = decode::text(&seen.values);
    text.extend(flow_control::summary(&seen.values));
    output::print(&text)
}

/// Resumes the device until then.
fn resume(device: &mut dyn Device, until: &ResumeUntil) -> Result<(), Failure> {
    match until {
        ResumeUntil::Transfer => message!("moved {}", device.transfer()?),
        ResumeUntil::Seconds(span) => device.run_for(*span)?,
        ResumeUntil::Command(command) => device.execute(command)?,
        ResumeUntil::Enter => {
            message!("press Enter to read again");
            let read = std::io::stdin().read_line(&mut String::new());
            read.map_err(|error| anyhow!("cannot read stdin: {error}"))?;
        }
    }
    Ok(())
}
