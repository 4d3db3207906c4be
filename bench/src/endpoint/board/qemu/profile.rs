//! A board whose instructions are counted during network traffic.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use linerate_agent::frame::MAX_LEN;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_results::record::Direction;
use linerate_sim::peer::host;
use serde_json::Value;

use super::{QEMU, start};
use crate::endpoint::board::runner::tcp_of;
use crate::endpoint::board::runner::{BoardTarget, PROGRAM, find};
use crate::endpoint::board::session::{BoardSession, START_TIMEOUT};
use crate::endpoint::{
    Amount, Datagrams, Frames, NoMonitor, Options, Stream, TargetError, Trial, Url,
};
use crate::profile::counts::Counts;
use crate::profile::symbols::Symbols;
use crate::profile::{Profile, ProfileRequest, Workload};

/// The plugin's file, in the folder of the firmware.
const PLUGIN: &str = "liblinerate_qemu_plugin.so";
/// The program without a network.
const NULL: &str = "null";
/// The variant in C, over lwIP.
const IN_C: &str = "lwip";
/// Octets of payload that fill a frame of UDP.
const DATAGRAM: u16 = 1_472;
/// Frames to the board within this time are delivered together. The board is mostly faster than the host, so
/// frames are held back this long: a round of its main loop finds as many frames as on a fully loaded line,
/// however busy the host is.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// Time for frames still in transit at the end of a trial.
const AFTERWARDS: Duration = Duration::from_millis(50);

/// Runs a board, with every instruction counted.
///
/// # Errors
/// [`TargetError`] if the board is unknown, a prerequisite is missing, or it failed.
pub fn run(request: &ProfileRequest, options: &Options) -> Result<Profile, TargetError> {
    let target = target(request, options)?;
    let failed = |what: String| crate::endpoint::Target::failure(&target, what);
    let program = if request.null { NULL } else { PROGRAM };
    let image = target.image_of(program)?;
    let symbols = Symbols::read(&image.elf).map_err(failed)?;
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|error| failed(format!("no temporary folder: {error}")))?;
    let counts = Counts::new(&folder.path().join("counts"), &symbols);
    let cannot_count =
        |error: std::io::Error| failed(format!("instructions cannot be counted: {error}"));
    let counts = counts.map_err(cannot_count)?;
    let plugin = plugin(&options.elf_dir).map_err(failed)?;
    let further = [
        // A second of its time is 10^9 instructions.
        "-icount".to_owned(),
        "shift=0".to_owned(),
        "-plugin".to_owned(),
        format!("{},{}", plugin.display(), counts.arguments()),
        "-object".to_owned(),
        format!(
            "filter-buffer,id=f0,netdev=n0,queue=tx,interval={}",
            BATCH_INTERVAL.as_micros()
        ),
    ];
    let trial = trial(request);
    let board = start(&target, &image.elf, tcp_of(&trial), &further)?;
    let monitor = board.emulator.monitor();
    let mut session = BoardSession::begin(
        Box::new(board),
        crate::endpoint::Target::name(&target),
        START_TIMEOUT,
    )?;
    let read = || {
        let read = monitor.with_stopped(|| counts.read()).map_err(failed)?;
        read.map_err(cannot_count)
    };

    let before = read()?;
    if request.null {
        without_network(request.direction, target.timeout, &mut session)?;
    } else {
        run_workload(&target, &trial, request, &mut session)?;
    }
    session.run_for(AFTERWARDS)?;
    let after = read()?;
    // It had counted none before.
    let ledger: BTreeMap<String, Value> = session.query("counters", "counters")?;
    let of = |counter: Counter| ledger.get(counter.name()).and_then(Value::as_u64);
    let [received, sent] = [Counter::RxFrames, Counter::TxFrames].map(|it| of(it).unwrap_or(0));
    let frames = match request.direction {
        Direction::FromDevice => (sent, received),
        Direction::ToDevice | Direction::Both => (received, sent),
    };
    if frames.0 == 0 {
        return Err(failed("it has counted no frame".to_owned()));
    }
    let (board, variant) = (&target.board.name, &target.board.firmware.default_variant);
    let locations = counts.between(&before, &after);
    Ok(Profile::new(request, board, variant, frames, locations))
}

/// Runs the test of the program without a network in this direction: to the device unless it is stopped
/// first.
fn without_network(
    direction: Direction,
    timeout: Duration,
    session: &mut BoardSession,
) -> Result<(), TargetError> {
    if direction == Direction::FromDevice {
        session.query::<Value>("device stop", "device")?;
    }
    session.type_command("device start");
    // Nobody answers its final datagram, which it sends ten times.
    session.timeout = timeout;
    session.read_event::<Value>("served").map(|_| ())
}

fn target(request: &ProfileRequest, options: &Options) -> Result<BoardTarget, TargetError> {
    let url = Url::parse(&request.target)?;
    let wrong = |what: String| TargetError::Url {
        url: request.target.clone(),
        what,
    };
    if url.scheme != "qemu" {
        let what = "instructions can be counted of boards in QEMU only: qemu://BOARD";
        return Err(wrong(what.to_owned()));
    }
    if request.null && request.program != Workload::Udp {
        return Err(wrong("without its network it supports only udp".to_owned()));
    }
    let mut target = find(&url, options, QEMU)?;
    if !target.board.has_firmware() {
        let what = "it runs Linux, whose symbols are unknown; boards with firmware can be profiled";
        return Err(wrong(what.to_owned()));
    }
    if let Some(variant) = &request.variant {
        let firmware = &mut target.board.firmware;
        let mut known = firmware.variants.clone();
        known.extend(firmware.lwip.map(|_| IN_C.to_owned()));
        if !known.contains(variant) {
            let known = known.join(", ");
            return Err(wrong(format!("its variants are {known}, not {variant}")));
        }
        firmware.default_variant.clone_from(variant);
    }
    Ok(target)
}

fn plugin(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(PLUGIN);
    path.canonicalize().map_err(|_| {
        format!(
            "there is no plugin {}: `cargo xtask firmware --board BOARD` builds it with the firmware",
            path.display()
        )
    })
}

/// The trial of a workload. Frames from the device have none: they are started by a console
/// command.
fn trial(request: &ProfileRequest) -> Trial {
    let (direction, amount) = (request.direction, Amount::Octets(request.octets));
    match request.program {
        Workload::Tcp => Trial::Stream(Stream::of(direction, amount)),
        Workload::Udp => Trial::Datagrams(Datagrams {
            direction,
            amount,
            payload_octets: DATAGRAM,
            payload_bits_per_s: 0,
        }),
        Workload::Frames => Trial::Frames(Frames {
            octets: (MAX_LEN + fcs::LEN) as u16,
            count: frames(request),
            interval_ns: 0.0,
            reflected: false,
        }),
    }
}

/// Number of raw frames for the requested octets.
const fn frames(request: &ProfileRequest) -> u64 {
    request.octets.div_ceil(MAX_LEN as u64)
}

fn run_workload(
    target: &BoardTarget,
    trial: &Trial,
    request: &ProfileRequest,
    session: &mut BoardSession,
) -> Result<(), TargetError> {
    match trial {
        Trial::Frames(_) if request.direction == Direction::FromDevice => {
            let to = MacAddress(host::Config::default().mac.0);
            session.type_command(&format!("blast {} {MAX_LEN} {to}", frames(request)));
            session.timeout = target.timeout;
            session.read_event::<Value>("blasted").map(|_| ())
        }
        Trial::Frames(request) => target.frames(request, session, &mut NoMonitor).map(|_| ()),
        _ => {
            let mut transfer = target.start_transfer(trial, session)?;
            session.run_until(&mut NoMonitor, |session| transfer.poll_done(session))?;
            transfer.finish(session).map(|_| ())
        }
    }
}
