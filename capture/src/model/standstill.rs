//! Times in which the receiver acknowledges nothing, although it must, and afterwards all that was sent before: it stood
//! still, or the path held everything back.
//!
//! A sender whose timer expires meanwhile repeats the first segment. That looks like a loss, except that a receiver which
//! misses a segment acknowledges each later one at once (RFC 5681 section 4.2), and the repeated one, too: one that stood
//! still does neither, and then acknowledges more than was repeated.

use super::round_trip::percentile;
use super::view::{Acknowledgment, DirectionView, Transmission};
use crate::tcp::PacketClass;
use std::collections::{BTreeMap, BTreeSet};

/// A silence of the receiver with data to acknowledge, without a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Time from which the receiver owes an acknowledgment.
    pub start_ns: u64,
    /// Time of the acknowledgment.
    pub end_ns: u64,
}

impl Standstill {
    /// Its duration.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// A shorter silence may be a delayed acknowledgment (40 ms in common stacks) or the work of a host.
const MIN_NS: u64 = 60_000_000;
/// A silence is longer than this multiple of what nine in ten acknowledgments take: the path accounts for those.
const MIN_FACTOR: u64 = 5;
/// With fewer acknowledgments, none is an exception.
const MIN_ACKS: usize = 24;
/// Between two silences, so many times as much passes as is outstanding during one; less is a habit of the receiver, or
/// a buffer that its program takes at a time.
const MIN_FLIGHTS: u64 = 4;
/// A receiver that acknowledges this many times in between, at once, has no such habit: then less passes.
const MIN_BETWEEN: u64 = 16;
const FEW_FLIGHTS: u64 = 2;
/// Two segments are acknowledged at once (RFC 9293 section 3.8.6.3).
const OWED_SEGMENTS: u64 = 2;
/// An acknowledgment that comes later than this multiple of what nine in ten take, and this time (a tick of a timer), after
/// a repeated segment is not the answer to it.
const PROMPT_FACTOR: u64 = 2;
const PROMPT_NS: u64 = 5_000_000;
/// Acknowledgments that are searched at most, which bounds the time for any capture.
const MAX_LOOK_BACK: usize = 512;

/// The standstills of the receiver. What the sender repeats in one, because its timer expires, is marked as spurious.
/// `path_ns` is the shortest round trip to the receiver, `round_trip_ns` what nine in ten of them take.
pub(super) fn standstills(
    view: &mut DirectionView,
    path_ns: u64,
    round_trip_ns: u64,
) -> Vec<Standstill> {
    let long = find(view, path_ns, round_trip_ns);
    for silence in long.iter().filter(|it| it.keeps_all) {
        silence.excuse(view, round_trip_ns);
    }
    long.into_iter().map(|it| it.time).collect()
}

/// The silences that are standstills.
fn find(view: &DirectionView, path_ns: u64, round_trip_ns: u64) -> Vec<Silence> {
    let full = u64::from(view.full_segment());
    let mut silences = silences(view, OWED_SEGMENTS * full);
    if silences.len() < MIN_ACKS {
        return Vec::new();
    }
    let times: Vec<u64> = silences.iter().map(|it| it.time.ns()).collect();
    let usual_ns = percentile(times, 90).unwrap_or(u64::MAX);
    let least_ns = MIN_NS.max(usual_ns.saturating_mul(MIN_FACTOR));
    // A receiver that acknowledges each n-th segment holds back its acknowledgment of fewer until its timer expires.
    let steps = percentile(silences.iter().map(|it| it.step).collect(), 90).unwrap_or(0);
    let prompt_ns = PROMPT_NS + PROMPT_FACTOR * usual_ns.max(round_trip_ns);
    // Whatever the receiver does, an acknowledgment takes as long as the path.
    for it in &mut silences {
        let due_ns = it.owed_ns + path_ns;
        it.time.start_ns = it.time.start_ns.max(due_ns).min(it.time.end_ns);
    }
    let numbered = silences.into_iter().enumerate();
    let long = numbered.filter(|(_, it)| it.time.ns() >= least_ns && it.sent - it.acked >= steps);
    let (places, long): (Vec<usize>, Vec<Silence>) = long
        .map(|(place, it)| (place, it.judged(view, prompt_ns)))
        .filter(|(_, it)| it.keeps_all || it.is_answered_late(view, prompt_ns))
        .unzip();
    let between = long.windows(2).map(|pair| pair[1].acked - pair[0].acked);
    let between = percentile(between.collect(), 50).unwrap_or(u64::MAX);
    let answers = places.windows(2).map(|pair| (pair[1] - pair[0] - 1) as u64);
    let answers = percentile(answers.collect(), 50).unwrap_or(u64::MAX);
    let open = percentile(long.iter().map(|it| it.sent - it.acked).collect(), 50);
    let flights = if answers >= MIN_BETWEEN {
        FEW_FLIGHTS
    } else {
        MIN_FLIGHTS
    };
    let is_habit = |open: u64| between < flights * open;
    if open.is_none_or(is_habit) {
        return Vec::new();
    }
    long
}

/// A time in which the receiver owes an acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Silence {
    time: Standstill,
    /// When the last segment was sent for which it owes one.
    owed_ns: u64,
    /// After the highest octet acknowledged, and sent, before its end.
    acked: u64,
    sent: u64,
    /// Octets that the acknowledgment adds.
    step: u64,
    /// True if nothing that was sent before its end is lost.
    keeps_all: bool,
}

/// The times from which the receiver owes an acknowledgment for `owed` octets until it comes.
fn silences(view: &DirectionView, owed: u64) -> Vec<Silence> {
    let mut sent = view.sent.iter().peekable();
    let mut owing = view.sent.iter().peekable();
    let (mut highest, mut acked) = (0, None::<u64>);
    let mut since_ns = None;
    let mut silences = Vec::new();
    for ack in &view.acks {
        while let Some(it) = sent.next_if(|it| it.number < ack.number) {
            highest = highest.max(it.end);
            if since_ns.is_none() && acked.is_some_and(|acked| highest >= acked + owed) {
                since_ns = Some(it.time_ns);
            }
        }
        if let Some((start_ns, acked)) = since_ns.zip(acked)
            && ack.ack > acked
        {
            let end_ns = ack.time_ns;
            while owing.next_if(|it| it.end < acked + owed).is_some() {}
            silences.push(Silence {
                time: Standstill { start_ns, end_ns },
                owed_ns: owing.peek().map_or(start_ns, |it| it.time_ns),
                acked,
                sent: highest,
                step: ack.ack - acked,
                keeps_all: false,
            });
        }
        let now = acked.map_or(ack.ack, |acked| acked.max(ack.ack));
        acked = Some(now);
        since_ns = (highest >= now + owed).then_some(ack.time_ns);
    }
    silences
}

impl Silence {
    fn judged(self, view: &DirectionView, prompt_ns: u64) -> Self {
        Self {
            keeps_all: self.has_arrived(view) || self.outlasts_repetition(view, prompt_ns),
            ..self
        }
    }

    /// True if all that was sent before its end is acknowledged afterwards without being repeated.
    fn has_arrived(&self, view: &DirectionView) -> bool {
        let Some(covered_ns) = self.covered_ns(view) else {
            return false;
        };
        let mut until = view.sent[self.sent_until(view, covered_ns)].iter();
        !until.any(|it| it.is_retransmission() && it.start < self.sent)
    }

    /// True if segments were repeated in it, and the acknowledgment that ends it answers none of them: it comes too late
    /// for that, covers more, or two segments that it would have acknowledged at once, and nothing acknowledged what
    /// followed a lost segment.
    fn outlasts_repetition(&self, view: &DirectionView, prompt_ns: u64) -> bool {
        let Standstill { start_ns, end_ns } = self.time;
        let during = &view.sent[self.sent_until(view, end_ns)];
        let repeated = || during.iter().filter(|it| it.is_retransmission());
        let Some(last_ns) = repeated().map(|it| it.time_ns).max() else {
            return false;
        };
        let octets: BTreeMap<u64, u64> = repeated().map(|it| (it.start, it.end)).collect();
        let repeated_octets: u64 = octets.iter().map(|(start, end)| end - start).sum();
        // All of a small window may be repeated: its end by a tail loss probe (RFC 8985 section 7), its start by the timer.
        let is_owed = self.step >= OWED_SEGMENTS * u64::from(view.full_segment());
        let first = view.acks.partition_point(|ack| ack.time_ns < end_ns);
        // What was sent before is still under way for a while; a window that its program opens lets more be sent.
        let new = during.iter().filter(|it| !it.is_retransmission());
        let last_new_ns = new.map(|it| it.time_ns).max().unwrap_or(start_ns);
        let silent_ns = last_new_ns.max(start_ns) + prompt_ns;
        let is_answer = |ack: &Acknowledgment| ack.time_ns > silent_ns && ack.time_ns < end_ns;
        let has_answers = view.acks[..first]
            .iter()
            .rev()
            .take(MAX_LOOK_BACK)
            .any(is_answer);
        end_ns - last_ns > prompt_ns
            && (self.step > repeated_octets || is_owed && octets.len() >= 2)
            && !has_answers
    }

    /// True if it ends, when nothing was sent for a while, with the acknowledgment of segments that were sent before, and only once: a
    /// link that was cut brings none by itself. Others may be lost meanwhile, where a queue before the receiver is full.
    fn is_answered_late(&self, view: &DirectionView, prompt_ns: u64) -> bool {
        let Standstill { start_ns, end_ns } = self.time;
        let place = |ns: u64| view.acks.partition_point(|ack| ack.time_ns < ns);
        let until_ns = end_ns + prompt_ns;
        let soon = view.acks[place(end_ns)..place(until_ns)].iter();
        let acked = soon.map(|ack| ack.ack).max().unwrap_or(0);
        let meanwhile = view.sent[self.sent_until(view, until_ns)].iter();
        let repeated = meanwhile.filter(|it| it.is_retransmission());
        let repeated: BTreeSet<u64> = repeated.map(|it| it.start).collect();
        let before = view.sent.partition_point(|it| it.time_ns < start_ns);
        let before = view.sent[..before].iter().rev().take(MAX_LOOK_BACK);
        let kept = before.filter(|it| {
            it.start >= self.acked && it.end <= acked && !repeated.contains(&it.start)
        });
        let kept: u64 = kept.map(|it| u64::from(it.len)).sum();
        let last = view.sent.partition_point(|it| it.time_ns <= end_ns);
        let is_released = view.sent[..last]
            .last()
            .is_none_or(|it| it.time_ns + prompt_ns >= end_ns);
        kept >= OWED_SEGMENTS * u64::from(view.full_segment()) && !is_released
    }

    /// Marks what the sender repeats although it arrived: the receiver only acknowledged it late.
    fn excuse(&self, view: &mut DirectionView, round_trip_ns: u64) {
        let Some(covered_ns) = self.covered_ns(view) else {
            return;
        };
        let repeated = self.sent_until(view, covered_ns + round_trip_ns);
        for it in &mut view.sent[repeated] {
            if it.is_retransmission() && it.start < self.sent {
                it.class = PacketClass::SpuriousRetransmission;
            }
        }
    }

    /// Time at which all that was sent before its end is acknowledged.
    fn covered_ns(&self, view: &DirectionView) -> Option<u64> {
        let first = view
            .acks
            .partition_point(|ack| ack.time_ns < self.time.end_ns);
        let covering = view.acks[first..].iter().find(|ack| ack.ack >= self.sent);
        covering.map(|ack| ack.time_ns)
    }

    /// Places of what was sent after its start.
    fn sent_until(&self, view: &DirectionView, until_ns: u64) -> std::ops::Range<usize> {
        let place = |ns: u64| {
            view.sent
                .partition_point(|it: &Transmission| it.time_ns <= ns)
        };
        place(self.time.start_ns)..place(until_ns)
    }
}
