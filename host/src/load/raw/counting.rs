//! Counting and capturing.

use std::time::Duration;

use linerate_agent::Instant;
use linerate_agent::frame::{ETHERTYPE, Mac, Receiver};
use linerate_ring::{Frame, ReceiveRing};

use super::{CaptureReport, CountReport};
use crate::load::LoadError;
use crate::load::gaps::Gaps;
use crate::load::pace::Clock;

/// Ring size, MiB.
const RING_MIB: usize = 64;
/// Maximum time to drain the ring after the end, if traffic continues.
const MAX_DRAIN: Duration = Duration::from_millis(500);
/// Interval between checks of the stop condition.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Counts the frames of `stream` received on `interface` for `own` or a group address, until `max_duration` has
/// passed or `stop` returns true. `ready` is called once the capture has started.
///
/// # Errors
/// The interface is missing or down, or the user lacks the privilege.
pub fn count(
    interface: &str,
    own: Mac,
    stream: u8,
    max_duration: Duration,
    ready: impl FnOnce(),
    stop: &dyn Fn() -> bool,
) -> Result<CountReport, LoadError> {
    let mut ring = ReceiveRing::open(interface, Some(ETHERTYPE), RING_MIB)?;
    ready();
    let mut receiver = Receiver::new(own, stream);
    let mut gaps = Gaps::new(None);
    drain(&mut ring, max_duration, stop, |frame| {
        let arrived = receiver.received(frame.octets, Instant::from_ns(frame.at_ns));
        if arrived.is_some() {
            gaps.record(frame.at_ns);
        }
    })?;
    let sequence = &receiver.sink.sequence;
    Ok(CountReport {
        frames: sequence.received(),
        octets: receiver.sink.octets,
        span_ns: receiver.sink.span().as_nanos() as u64,
        lost_frames: sequence.lost(None),
        out_of_order_frames: sequence.out_of_order(),
        repeated_frames: sequence.duplicates(),
        stale_frames: sequence.stale(),
        altered_frames: receiver.altered,
        host_drops: ring.statistics()?.dropped,
        gaps: gaps.summary(),
    })
}

/// Records the arrival times of matching frames on `interface` and the deviations of their gaps from `per_s`,
/// until `max_duration` has passed or `stop` returns true. `ready` is called once the capture has started.
///
/// # Errors
/// The interface is missing or down, or the user lacks the privilege.
pub fn capture(
    interface: &str,
    per_s: Option<u64>,
    max_duration: Duration,
    mut matches: impl FnMut(&[u8]) -> bool,
    ready: impl FnOnce(),
    stop: &dyn Fn() -> bool,
) -> Result<CaptureReport, LoadError> {
    let mut ring = ReceiveRing::open(interface, None, RING_MIB)?;
    ready();
    let mut gaps = Gaps::new(per_s);
    let mut frames = 0;
    drain(&mut ring, max_duration, stop, |frame| {
        if matches(frame.octets) {
            frames += 1;
            gaps.record(frame.at_ns);
        }
    })?;
    Ok(CaptureReport {
        frames,
        host_drops: ring.statistics()?.dropped,
        gaps,
    })
}

/// Passes each frame to `each` until `max_duration` has passed or `stop` returns true, then those already received:
/// until none is left, or [`MAX_DRAIN`] has passed.
fn drain(
    ring: &mut ReceiveRing,
    max_duration: Duration,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(Frame<'_>),
) -> Result<(), LoadError> {
    let clock = Clock::start();
    let mut over_ns = None;
    loop {
        let now = clock.now_ns();
        if over_ns.is_none() && (u128::from(now) > max_duration.as_nanos() || stop()) {
            over_ns = Some(now);
        }
        let idle = ring.take(&mut each).is_none() && !ring.wait(STOP_CHECK_INTERVAL)?;
        if let Some(over_ns) = over_ns
            && (idle || u128::from(now - over_ns) > MAX_DRAIN.as_nanos())
        {
            return Ok(());
        }
    }
}
