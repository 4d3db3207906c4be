//! A simulated board on a network interface of this machine: real programs talk to the firmware.
//!
//! The far end of the simulated cable is a TAP interface; virtual time is held to the
//! wall clock ([`Pacer`]). This is the only place where a simulated board depends on the clock, so
//! what comes out is not the same twice.

mod pace;

pub use pace::{Pace, Pacer};

use std::time::{Duration, Instant};

use crate::machine::{Event, Machine, MachineError, RunArtifacts};
use crate::measure::DeviceEvent;

/// How it went.
#[derive(Clone, Debug)]
pub struct TapRun {
    /// Virtual time that passed.
    pub virtual_ns: u64,
    /// Wall-clock time by which virtual time fell behind for good, because the simulation could
    /// not keep up.
    pub slipped: Duration,
    /// What the machine leaves.
    pub artifacts: RunArtifacts,
}

/// Runs `machine` at the pace of the wall clock until its program says that it is done, `limit` has
/// passed or `stop` says so. Every line on its console goes to `console`.
///
/// # Errors
/// [`MachineError`] when the machine cannot go on.
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
