//! `linerate regs show`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::board::{self, Board};
use linerate_bench::endpoint::Options;
use linerate_bench::registers::{self as devices, Device};
use linerate_regs_decode::live::{self, Memory, Seen, Wanted};
use linerate_regs_decode::{self, Error, MII, Map, decode, diff, flow};

use super::{Own, json, named};
use crate::args::{RegsShow, Then};
use crate::failure::Failure;
use crate::output;

pub fn run(args: &RegsShow) -> Result<(), Failure> {
    let own = Own::read(&args.place.maps)?;
    let named = args.board.as_deref().map(board::find).transpose();
    let named = named.map_err(|error| anyhow!(error))?;
    let options = Options {
        patience: Duration::from_secs(args.patience),
        elf_dir: args.elf_dir.clone(),
        ..Options::default()
    };
    let mut device = devices::open(&args.target, &options)?;
    let maps = own.maps();
    let board = named.as_ref().or(device.board());
    let wanted = wanted(args, &own, &maps, board)?;
    let wanted = Wanted {
        indirect: args.indirect || device.is_writable(),
        ..wanted
    };
    let before = look(device.as_mut(), &wanted)?;
    note(&before);
    let Some(then) = args.then else {
        return tell(args, &before);
    };
    pass(device.as_mut(), then)?;
    let after = look(device.as_mut(), &wanted)?;
    let diff = diff::compare(&before.values, &after.values);
    if args.json {
        return json(&diff);
    }
    output::print(&diff.text())
}

/// What is to be read: of the chip that was named, else of the board's.
fn wanted<'a>(
    args: &'a RegsShow,
    own: &'a Own,
    maps: &[Map<'a>],
    board: Option<&Board>,
) -> Result<Wanted<'a>, Failure> {
    let place = &args.place;
    let of_board = board.map(|board| &board.registers);
    let chip = place.chip.as_deref().or(own.name());
    let Some(chip) = chip.or(of_board.map(|it| it.map.as_str())) else {
        let what = "which registers? Say --chip (linerate regs list), or --board (linerate boards)";
        return Err(anyhow!(what).into());
    };
    let map = named(maps, chip)?;
    let of_board = of_board.filter(|it| it.map == map.name());
    Ok(Wanted {
        map,
        phys: MII,
        block: place.block.as_deref(),
        base: place.base.or(of_board.and_then(|it| it.base)),
        names: &args.names,
        indirect: args.indirect,
        side_effects: args.side_effects,
    })
}

/// Reads it while the device stands still.
fn look(device: &mut dyn Device, wanted: &Wanted) -> Result<Seen, Failure> {
    let mut seen = Ok(Seen::default());
    device.with_memory(&mut |memory: &mut dyn Memory| seen = live::read(memory, wanted))?;
    seen.map_err(|error| match error {
        linerate_regs_decode::Error::Lost(_) => {
            Failure::Target(anyhow!("{}: {error}", device.name()))
        }
        error => Failure::Input(anyhow!(error)),
    })
}

fn note(seen: &Seen) {
    for note in seen.notes() {
        eprintln!("{note}");
    }
}

fn tell(args: &RegsShow, seen: &Seen) -> Result<(), Failure> {
    if seen.values.is_empty() {
        return Err(anyhow!(Error::Empty.of(&args.target)).into());
    }
    if args.json {
        return json(&seen.values);
    }
    if args.devregs {
        return output::print(&live::devregs(&seen.values));
    }
    let mut text = decode::text(&seen.values);
    text.extend(flow::control(&seen.values));
    output::print(&text)
}

/// Lets the device run.
fn pass(device: &mut dyn Device, then: Then) -> Result<(), Failure> {
    match then {
        Then::Transfer => eprintln!("moved {}", device.transfer()?),
        Then::Seconds(span) => device.run_for(span)?,
        Then::Enter => {
            eprintln!("Enter: look again");
            let read = std::io::stdin().read_line(&mut String::new());
            read.map_err(|error| anyhow!("cannot read stdin: {error}"))?;
        }
    }
    Ok(())
}
