//! A board whose instructions are counted during network traffic.

use std::sync::Arc;

use super::counted::{self, Readings};
use super::qemu::{self, QEMU};
use super::runner::{BoardTarget, PROGRAM, find};
use super::session::{BoardSession, START_TIMEOUT};
use super::sim::{self, SIMULATOR};
use crate::endpoint::{Options, Target as _, TargetError, Trial, Url};
use crate::firmware::{self, Image};
use crate::machine::Identity;
use crate::profile::ProfileRequest;
use crate::profile::counts::{Count, SimulatedCounts};
use crate::profile::symbols::Symbols;
use linerate_results::record::{Direction, InstructionProfile, Workload};

/// The program without a network.
const NULL: &str = "null";
/// The variant in C, over lwIP.
const IN_C: &str = "lwip";
/// Rate of datagrams to a simulated board, which loses those that arrive faster than it works: less than each of them
/// receives.
const SIMULATED_BITS_PER_S: u64 = 10_000_000;

/// Runs a board, with every instruction counted. Returns the profile and what was run.
///
/// # Errors
/// [`TargetError`] if the board is unknown, a prerequisite is missing, or it failed.
pub fn run(
    request: &ProfileRequest,
    options: &Options,
) -> Result<(InstructionProfile, Identity), TargetError> {
    let target = target(request, options)?;
    let program = if request.null { NULL } else { PROGRAM };
    let image = target.image_of(program)?;
    let identity = Identity {
        images: [(image.name.clone(), firmware::sha256(&image.elf))].into(),
        ..target.identity().unwrap_or_default()
    };
    if !target.runner.is_simulated {
        let trial = counted::trial(request, 0);
        let profile = qemu::profile::run(request, options, &target, &image, &trial)?;
        return Ok((profile, identity));
    }
    let rate = match request.direction {
        Direction::ToDevice => SIMULATED_BITS_PER_S,
        Direction::FromDevice | Direction::Both => 0,
    };
    let profile = simulated(request, &target, image, &counted::trial(request, rate))?;
    Ok((profile, identity))
}

/// Runs `image` on a simulated board, with every instruction counted.
fn simulated(
    request: &ProfileRequest,
    target: &BoardTarget,
    image: Image,
    trial: &Trial,
) -> Result<InstructionProfile, TargetError> {
    let symbols = Symbols::read(&image.elf).map_err(|what| target.failure(what))?;
    let counts = Arc::new(SimulatedCounts::new(&symbols));
    let board = sim::switch_on_counted(target, image, trial, Some(Arc::clone(&counts)))?;
    let session = BoardSession::begin(board, target.name(), START_TIMEOUT)?;
    let read = || Ok(counts.read());
    let between = |from: &[Count], to: &[Count]| counts.between(from, to);
    let readings = Readings {
        read: &read,
        between: &between,
    };
    counted::measure(request, target, trial, session, &readings)
}

fn target(request: &ProfileRequest, options: &Options) -> Result<BoardTarget, TargetError> {
    let url = Url::parse(&request.target)?;
    let wrong = |what: String| TargetError::Url {
        url: request.target.clone(),
        what,
    };
    let runner = match url.scheme.as_str() {
        "qemu" => QEMU,
        "sim" => SIMULATOR,
        _ => {
            let what = "instructions can be counted of emulated and simulated boards only: qemu://BOARD, sim://BOARD";
            return Err(wrong(what.to_owned()));
        }
    };
    if request.null && (request.program != Workload::Udp || runner.is_simulated) {
        return Err(wrong(
            "without its network it supports only udp, in QEMU".to_owned(),
        ));
    }
    let mut target = find(&url, options, runner)?;
    if runner.is_simulated && target.board.soft_soc.is_none() {
        return Err(wrong(
            "instructions of simulated boards can be counted of those with a soft SoC only; \
             `linerate sim --profile` shows the cycles of the others"
                .to_owned(),
        ));
    }
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
