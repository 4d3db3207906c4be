//! Counting and capturing.

use std::time::Duration;

use linerate_agent::Instant;
use linerate_agent::frame::{ETHERTYPE, Mac, Receiver};
use linerate_ring::{Frame, Receive};

use super::{Captured, Counted};
use crate::load::LoadError;
use crate::load::gaps::Gaps;
use crate::load::pace::Clock;

/// The ring's size, mebioctets.
const RING: usize = 64;
/// How long is gone on after the end, where more and more comes.
const LONGEST_DRAIN: Duration = Duration::from_millis(500);
/// How long is slept at most before a look whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// Counts the frames of `stream` that arrive at `interface` for `own` or for a group, until `at_most` has
/// passed or `stop` says so. `ready` is called as soon as none is missed any more.
///
/// # Errors
/// The interface is missing or down, or this user may not.
pub fn count(
    interface: &str,
    own: Mac,
    stream: u8,
    at_most: Duration,
    ready: impl FnOnce(),
    stop: &dyn Fn() -> bool,
) -> Result<Counted, LoadError> {
    let mut ring = Receive::open(interface, Some(ETHERTYPE), RING)?;
    ready();
    let mut receiver = Receiver::new(own, stream);
    let mut gaps = Gaps::new(None);
    drain(&mut ring, at_most, stop, |frame| {
        let arrived = receiver.received(frame.octets, Instant::from_ns(frame.at_ns));
        if arrived.is_some() {
            gaps.at(frame.at_ns);
        }
    })?;
    let sequence = &receiver.sink.sequence;
    Ok(Counted {
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

/// Notes when the frames that are wanted arrive at `interface`, and how far their gaps are from those of
/// `per_s`, until `at_most` has passed or `stop` says so. `ready` is called as soon as none is missed any more.
///
/// # Errors
/// The interface is missing or down, or this user may not.
pub fn capture(
    interface: &str,
    per_s: Option<u64>,
    at_most: Duration,
    mut is_wanted: impl FnMut(&[u8]) -> bool,
    ready: impl FnOnce(),
    stop: &dyn Fn() -> bool,
) -> Result<Captured, LoadError> {
    let mut ring = Receive::open(interface, None, RING)?;
    ready();
    let mut gaps = Gaps::new(per_s);
    let mut frames = 0;
    drain(&mut ring, at_most, stop, |frame| {
        if is_wanted(frame.octets) {
            frames += 1;
            gaps.at(frame.at_ns);
        }
    })?;
    Ok(Captured {
        frames,
        host_drops: ring.statistics()?.dropped,
        gaps,
    })
}

/// Gives each frame to `each` until `at_most` has passed or `stop` says so, and then those that had come by
/// then: until there is none, or the traffic does not end.
fn drain(
    ring: &mut Receive,
    at_most: Duration,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(Frame<'_>),
) -> Result<(), LoadError> {
    let clock = Clock::start();
    let mut over_ns = None;
    loop {
        let now = clock.now_ns();
        if over_ns.is_none() && (u128::from(now) > at_most.as_nanos() || stop()) {
            over_ns = Some(now);
        }
        let idle = ring.take(&mut each).is_none() && !ring.wait(LOOK)?;
        if let Some(over_ns) = over_ns
            && (idle || u128::from(now - over_ns) > LONGEST_DRAIN.as_nanos())
        {
            return Ok(());
        }
    }
}
