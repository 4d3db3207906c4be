//! Rings, queues and FIFOs: wrap-around, full, and overrun.

use std::time::Duration;

use linerate_agent::frame::{Receiver, TEST_HEADER_LEN};
use linerate_ether::frame::MacAddress;
use serde::Deserialize;

use super::{MAX_LEN, SHORT};
use crate::conformance::CaseFailure;
use crate::conformance::exchange::{Exchange, Listener, TestFrame, own};
use crate::conformance::rig::{Rig, ensure};

/// Rounds of a ring.
const ROUNDS: usize = 4;
/// Frames that an emulated model does not accept within this time are held back until there is
/// room.
const HOLD_BACK_TIME: Duration = Duration::from_millis(250);
/// The stream of the board's own frames, and their lengths.
const BLAST: u8 = 0;
const BLAST_LENGTHS: [usize; 3] = [SHORT, SHORT + 1, MAX_LEN];

/// Lengths that differ from frame to frame.
fn mixed(count: usize) -> impl Iterator<Item = TestFrame> + Send {
    let lengths = (SHORT..=MAX_LEN).step_by(97).cycle();
    lengths.take(count).map(TestFrame::of)
}

pub(super) fn wrap(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    // One more than a multiple of its length, so that the next round begins at another slot.
    let frames = ROUNDS * rig.burst().max(SHORT) + 1;
    Ok(rig.exchange_by(1, mixed(frames))? + rig.exchange(mixed(frames))?)
}

pub(super) fn bursts(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let longest = rig.burst();
    let mut frames = 0;
    for octets in [SHORT, 300, MAX_LEN] {
        let mut burst = 1;
        while burst < 2 * longest {
            let burst_now = burst.min(longest);
            for _ in 0..ROUNDS {
                // The whole burst is in transit before the first frame comes back, with no other
                // after it.
                frames += rig.exchange((0..burst_now).map(move |_| TestFrame::of(octets)))?;
            }
            burst *= 2;
        }
    }
    Ok(frames)
}

/// Total number of frames, and those lost while the device was held.
fn overrun(rig: &mut Rig<'_>) -> Result<(u64, u64), CaseFailure> {
    #[derive(Deserialize)]
    struct Hold {}

    let frames = ROUNDS * rig.burst().max(SHORT) + TEST_HEADER_LEN;
    let Hold {} = rig.session.query("hold on", "hold")?;
    let handle = rig.session.start(Exchange::new(mixed(frames), frames))?;
    let timeout = HOLD_BACK_TIME.min(rig.session.timeout);
    rig.wait(handle, timeout, |it| it.sent >= frames as u64)?;
    let Hold {} = rig.session.query("hold off", "hold")?;
    let lose = |it: &mut Exchange| it.may_lose = true;
    rig.session.with(handle, lose)?;
    rig.until(handle, Exchange::is_complete)?;
    let done = rig.finish(handle)?;
    let after = rig.exchange(mixed(frames))?;
    Ok((done.sent + after, done.lost))
}

pub(super) fn exhaustion(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    overrun(rig).map(|(frames, _)| frames)
}

pub(super) fn overrun_count(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let before = rig.overflow_count()?;
    let (frames, lost) = overrun(rig)?;
    let counted = rig.overflow_count()? - before;
    ensure(lost == counted, || {
        format!("of {frames} frames {lost} were lost, {counted} counted")
    })?;
    Ok(frames)
}

pub(super) fn transmit_full(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    #[derive(Deserialize)]
    struct Blasted {
        frames: u64,
    }

    let count = (ROUNDS * rig.burst()).max(1_000) as u64;
    let to = MacAddress(own());
    let mut frames = 0;
    for octets in BLAST_LENGTHS {
        let listener = Listener(Receiver::new(own(), BLAST));
        let handle = rig.session.start(listener)?;
        let counts: Blasted = rig
            .session
            .query(&format!("blast {count} {octets} {to}"), "blasted")?;
        let timeout = rig.session.timeout;
        let came = |it: &Listener| it.0.sink.sequence.received() + it.0.altered;
        rig.wait_for(handle, timeout, |it| came(it) >= count, came)?;
        let Listener(Receiver { sink, altered, .. }) = rig.session.stop(handle)?;
        let sequence = &sink.sequence;
        let [lost, disorder, doubles] = [
            sequence.lost(Some(count)),
            sequence.out_of_order(),
            sequence.duplicates(),
        ];
        let is_whole = sink.octets == count * octets as u64;
        let is_all = [counts.frames, sequence.received()] == [count; 2] && is_whole;
        ensure(
            is_all && [lost, disorder, doubles, altered] == [0; 4],
            || {
                format!(
                    "of {count} frames of {octets} octets the device sent {}, {} arrived with {} octets, {lost} were lost, \
                 {disorder} out of order, {doubles} twice, {altered} altered",
                    counts.frames,
                    sequence.received(),
                    sink.octets
                )
            },
        )?;
        frames += count;
    }
    Ok(frames)
}
