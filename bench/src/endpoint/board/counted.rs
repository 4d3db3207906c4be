//! Network traffic of a board whose instructions are counted.

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_agent::frame::MAX_LEN;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_results::record::{Direction, InstructionProfile, Workload};
use linerate_sim::peer::host;
use serde_json::Value;

use super::runner::BoardTarget;
use super::session::BoardSession;
use crate::endpoint::{
    Amount, Datagrams, Frames, NoMonitor, Stream, Target as _, TargetError, Trial,
};
use crate::profile::counts::Count;
use crate::profile::symbols::Location;
use crate::profile::{self, ProfileRequest};

/// Octets of payload that fill a frame of UDP.
const DATAGRAM: u16 = 1_472;
/// Time for frames still in transit at the end of a trial.
const AFTERWARDS: Duration = Duration::from_millis(50);

/// Counts with their locations.
type Located = Vec<(Location, Count)>;

/// Access to the counts of a board.
pub(super) struct Readings<'a> {
    /// Reads them.
    pub(super) read: &'a dyn Fn() -> Result<Vec<Count>, TargetError>,
    /// Differences of two readings.
    pub(super) between: &'a dyn Fn(&[Count], &[Count]) -> Located,
}

/// Runs the workload on a board that is switched on.
pub(super) fn measure(
    request: &ProfileRequest,
    target: &BoardTarget,
    trial: &Trial,
    mut session: BoardSession,
    readings: &Readings<'_>,
) -> Result<InstructionProfile, TargetError> {
    let before = (readings.read)()?;
    if request.null {
        without_network(request.direction, target.timeout, &mut session)?;
    } else {
        run_workload(target, trial, request, &mut session)?;
    }
    session.run_for(AFTERWARDS)?;
    let after = (readings.read)()?;
    // It had counted none before.
    let ledger: BTreeMap<String, Value> = session.query("counters", "counters")?;
    let of = |counter: Counter| ledger.get(counter.name()).and_then(Value::as_u64);
    let [received, sent] = [Counter::RxFrames, Counter::TxFrames].map(|it| of(it).unwrap_or(0));
    let frames = match request.direction {
        Direction::FromDevice => (sent, received),
        Direction::ToDevice | Direction::Both => (received, sent),
    };
    if frames.0 == 0 {
        return Err(target.failure("it has counted no frame".to_owned()));
    }
    let (board, variant) = (&target.board.name, &target.board.firmware.default_variant);
    let locations = (readings.between)(&before, &after);
    Ok(profile::total(request, board, variant, frames, locations))
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

/// The trial of a workload. Frames from the device have none: they are started by a console
/// command. `datagram_bits_per_s`: 0 for as many as possible.
pub(super) fn trial(request: &ProfileRequest, datagram_bits_per_s: u64) -> Trial {
    let (direction, amount) = (request.direction, Amount::Octets(request.octets));
    match request.program {
        Workload::Tcp => Trial::Stream(Stream::of(direction, amount)),
        Workload::Udp => Trial::Datagrams(Datagrams {
            direction,
            amount,
            payload_octets: DATAGRAM,
            payload_bits_per_s: datagram_bits_per_s,
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
