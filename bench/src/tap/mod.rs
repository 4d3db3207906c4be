//! A simulated board on a network interface of this host: real programs communicate with the
//! firmware.
//!
//! The far end of the simulated cable is a TAP interface; virtual time follows the wall clock
//! ([`Pacer`]). This is the only place where a simulated board depends on the clock, so results are
//! not reproducible.

mod pace;

pub use pace::{Pace, Pacer};

use std::time::{Duration, Instant};

use crate::machine::{Event, Machine, MachineError, RunArtifacts};
use crate::measure::DeviceEvent;

/// Result of a run on a TAP interface.
#[derive(Clone, Debug)]
pub struct TapRun {
    /// Virtual time that passed.
    pub virtual_ns: u64,
    /// Wall-clock time by which virtual time fell behind permanently, because the simulation could
    /// not keep up.
    pub slipped: Duration,
    /// The machine's artifacts.
    pub artifacts: RunArtifacts,
}

/// Runs `machine` at the pace of the wall clock until its program reports that it is done, `limit`
/// has passed or `stop` returns true. Every line of its console is passed to `console`.
///
/// # Errors
/// [`MachineError`] if the machine cannot continue.
pub fn serve(
    mut machine: Box<dyn Machine>,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
    console: &mut dyn FnMut(&str),
) -> Result<TapRun, MachineError> {
    let started = Instant::now();
    let mut pacer = Pacer::new();
    let mut done = false;
    while !done && !stop() {
        let elapsed = started.elapsed();
        if limit.is_some_and(|limit| elapsed >= limit) {
            break;
        }
        match pacer.next(elapsed.as_nanos() as u64, machine.now_ns()) {
            Pace::Sleep { ns } => std::thread::sleep(Duration::from_nanos(ns)),
            Pace::Run { until_ns } => machine.advance(until_ns, &mut |event| {
                if let Event::Console { line, .. } = event {
                    done |= matches!(DeviceEvent::parse(&line), Some(Ok(DeviceEvent::Done)));
                    console(&line);
                }
            })?,
        }
    }
    let virtual_ns = machine.now_ns();
    let artifacts = machine.finish(&mut |_| {});
    Ok(TapRun {
        virtual_ns,
        slipped: Duration::from_nanos(pacer.slipped_ns()),
        artifacts,
    })
}
