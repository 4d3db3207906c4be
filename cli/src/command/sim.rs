//! `linerate sim`.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, anyhow};
use linerate_bench::board::{self, Board};
use linerate_bench::firmware::{self, Image};
use linerate_bench::machine::{self, LinkPartnerStatus, MachineConfig, MachineError, RunArtifacts};
use linerate_bench::scenario::{Duplex, Environment, Partner, Peer, Record};
use linerate_bench::{answers, measure, tap};
use linerate_results::format;

use super::stop_on_ctrl_c;
use crate::args;
use crate::failure::Failure;
use crate::input::{self, MAX_CONTENT};
use crate::output;

pub fn run(args: &args::Sim) -> Result<(), Failure> {
    let board = board::find_simulated(&args.board).map_err(anyhow::Error::new)?;
    let config = config(args, board)?;
    let stopped = stop_on_ctrl_c()?;
    let stop = || stopped.load(Ordering::Relaxed);
    let mut console = |line: &str| {
        // If stdout is closed, the board continues to run for its peers.
        let _ = output::print(&format!("{line}\n"));
    };
    let named = |error: MachineError| named(error, args.elf.as_deref());
    let artifacts = if let Some(interface) = &args.tap {
        let machine = machine::open_on_tap(&config, interface).map_err(named)?;
        message!("{} on {interface}; press Ctrl-C to stop", config.name);
        let limit = args.seconds.map(Duration::from_secs);
        let finished = tap::serve(machine, limit, &stop, &mut console)?;
        if !finished.slipped.is_zero() {
            message!(
                "the simulation was too slow for real time: it fell behind by {} of {}",
                format::time(finished.slipped.as_nanos() as u64),
                format::time(finished.virtual_ns + finished.slipped.as_nanos() as u64),
            );
        }
        finished.artifacts
    } else {
        let machine = machine::open(&config).map_err(named)?;
        measure::follow(machine, args.seconds, &stop, &mut console)?
    };
    for warning in &artifacts.warnings {
        message!("note: {warning}");
    }
    // Those of the board's own programs are known to be irrelevant.
    if args.elf.is_some() && !artifacts.plain_registers.is_empty() {
        message!(
            "note: {} registers without behaviour here hold what the program wrote: {}",
            artifacts.plain_registers.len(),
            artifacts.plain_registers.join(", ")
        );
    }
    if let (false, Some(end)) = (args.partner.is_empty(), &artifacts.link) {
        print_link(end);
    }
    write(&artifacts, args)
}

fn config(args: &args::Sim, board: Board) -> Result<MachineConfig, Failure> {
    let image = if let Some(path) = &args.elf {
        let name = path
            .file_stem()
            .map_or_else(|| "firmware".into(), |stem| stem.to_string_lossy());
        let elf = input::read(path, MAX_CONTENT)?;
        let name = name.into_owned();
        Image { name, elf }
    } else {
        let firmware = &board.firmware;
        let variant = args.variant.as_ref().unwrap_or(&firmware.default_variant);
        known("program", &args.program, firmware.programs.keys())?;
        known("variant", variant, &firmware.variants)?;
        firmware::find(&args.elf_dir, &board.name, &args.program, variant)
            .map_err(anyhow::Error::new)?
    };
    Ok(MachineConfig {
        boot: args.boot.clone(),
        environment: environment(args)?,
        timing: super::timing_table(args.timing.as_deref())?,
        record: Record {
            pcapng: args.pcap.is_some(),
            vcd_ms: if args.vcd.is_some() { args.vcd_ms } else { 0 },
            profile: args.profile.is_some(),
        },
        ..MachineConfig::new(board, image, args.seed)
    })
}

fn environment(args: &args::Sim) -> anyhow::Result<Environment> {
    let negotiates = !args.partner.is_empty();
    let partner = if negotiates {
        args::partner(&args.partner).context(
            "--partner: `nlp` and `none` cannot be combined, and `remote-fault` requires an advertised ability",
        )?
    } else {
        Partner::default()
    };
    let duplex = match args.duplex {
        Some(duplex) => duplex.into(),
        None if negotiates => Duplex::Auto,
        None => Duplex::Half,
    };
    let mut answers: Vec<_> = args
        .file
        .iter()
        .map(|file| answers::of_file(file))
        .collect::<Result<_, _>>()?;
    if let Some(script) = &args.answers {
        answers.extend(answers::read(script)?);
    }
    Ok(Environment {
        duplex,
        partner,
        peer: Peer {
            http_server: args.peer,
            answers,
            ..Peer::default()
        },
        ..Environment::default()
    })
}

/// Prints state and counters of the link partner.
fn print_link(end: &LinkPartnerStatus) {
    let link = if end.up {
        format!("up, {} duplex ({})", end.duplex, end.resolution)
    } else {
        "down".to_owned()
    };
    message!(
        "link partner: {link}; {} frames sent, {} received, {} collisions, {} frames held back while \
         the link was down",
        format::count(end.frames_sent),
        format::count(end.frames_received),
        format::count(end.collisions),
        format::count(end.frames_withheld),
    );
}

/// Adds the file name to a firmware error.
fn named(error: MachineError, file: Option<&Path>) -> Failure {
    match (file, &error) {
        (Some(file), MachineError::Firmware(_)) => anyhow::Error::new(error)
            .context(file.display().to_string())
            .into(),
        _ => error.into(),
    }
}

fn known<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let near = linerate_host::nearest(name, known.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    Err(anyhow!(
        "the board has no {what} `{name}`{hint}; it has {}",
        known.join(", ")
    ))
}

/// Writes the requested recordings.
fn write(artifacts: &RunArtifacts, args: &args::Sim) -> Result<(), Failure> {
    for (extension, content) in &artifacts.files {
        let beside = |extension| {
            let table = args.profile.as_deref()?;
            Some(table.with_extension(extension))
        };
        let path: Option<PathBuf> = match *extension {
            "pcapng" => args.pcap.clone(),
            "vcd" => args.vcd.clone(),
            // The table keeps its name unless another recording uses it.
            "profile.txt" => args.profile.clone().map(|table| {
                let taken = table
                    .extension()
                    .is_some_and(|e| e == "svg" || e == "folded");
                if taken {
                    table.with_extension("txt")
                } else {
                    table
                }
            }),
            "folded" => beside("folded"),
            "flame.svg" => beside("svg"),
            _ => None,
        };
        if let Some(path) = path {
            output::write(&path, content)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{args, environment};
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        sim: args::Sim,
    }

    #[test]
    fn the_peer_of_anybody_s_firmware_has_the_address_that_is_given() {
        let peer = |options: &[&str]| {
            let line = ["sim", "esp32c6-bitbang"].iter().chain(options);
            let sim = Line::parse_from(line).sim;
            environment(&sim).expect("an environment").peer.http_server
        };
        assert_eq!(peer(&[]), None);
        let given = peer(&["--peer", "10.0.0.1:8080"]);
        assert_eq!(given, "10.0.0.1:8080".parse().ok());
    }
}
