//! A receiver that acknowledges at once until its buffer is full, and a window at a time then: its stack is not slow, its program reads in
//! steps, and what arrives between them waits.

use super::facts::FlowFacts;
use super::rule::Rule;
use super::unread::reads_slowly;
use crate::cause::scored::evidence;
use linerate_capture::model::percentile;
use linerate_results::format;

/// Acknowledgments before the buffer is full: the first flight of most hosts (RFC 6928) has ten segments.
const FIRST: usize = 8;
/// So many of them show a host that acknowledges as segments arrive.
const MIN_PROMPT: usize = 6;
/// A receiver acknowledges every second full segment at least (RFC 9293 section 3.8.6.3).
const PROMPT_SEGMENTS: u64 = 2;
/// An acknowledgment that waits for the program covers more than merging drivers and delayed acknowledgments account for together.
const MIN_SEGMENTS: u64 = 2 * PROMPT_SEGMENTS;
/// Fewer later ones are no habit.
const MIN_LATER: usize = 20;
/// Most of what the sender may have in flight.
const OF_WINDOW: f64 = 0.6;
/// The round trip is longer by this factor than that of the handshake.
const HELD_FACTOR: u64 = 2;
/// Drivers merge what arrives within a millisecond; a radio sends aggregates of 5.5 ms at most (IEEE 802.11, `aPPDUMaxTime`).
const MIN_HELD_NS: u64 = 10_000_000;

/// What is acknowledged at a time once the buffer is full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    octets: u64,
    base_ns: u64,
    round_trip_ns: u64,
}

impl Steps {
    /// `None` if the receiver always acknowledges a part of the window, or a whole one from the beginning on, or without a wait.
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let model = &facts.model;
        let shift = model.scale.shift().filter(|_| !facts.begins_late())?;
        let pairs = model.view.acks.windows(2);
        // Octets that an acknowledgment covers, and the window that it grants.
        let steps: Vec<(u64, u64)> = pairs
            .map(|pair| {
                let octets = pair[1].ack.saturating_sub(pair[0].ack);
                (octets, u64::from(pair[1].window) << shift)
            })
            .filter(|(octets, _)| *octets > 0)
            .collect();
        let (first, others) = steps.split_at_checked(FIRST)?;
        // Those of a dialogue before the transfer show nothing.
        let is_prompt = |(octets, _): &&(u64, u64)| {
            (facts.full..=PROMPT_SEGMENTS * facts.full).contains(octets)
        };
        let later = &others[others.len() / 4..];
        if first.iter().filter(is_prompt).count() < MIN_PROMPT || later.len() < MIN_LATER {
            return None;
        }
        let octets = percentile(later.iter().map(|it| it.0).collect(), 50)?;
        let window = percentile(later.iter().map(|it| it.1).collect(), 50)?;
        let (base_ns, round_trip_ns) = (model.base_rtt_ns()?, model.round_trip_ns()?);
        let is_held = octets >= MIN_SEGMENTS * facts.full
            && octets as f64 >= OF_WINDOW * window as f64
            && round_trip_ns >= (HELD_FACTOR * base_ns).max(base_ns + MIN_HELD_NS);
        is_held.then_some(Self {
            octets,
            base_ns,
            round_trip_ns,
        })
    }

    pub(super) fn slow_reader(self, facts: &FlowFacts<'_>, share: f64) -> Rule {
        reads_slowly(
            share,
            0.8,
            format!(
                "{} acknowledges segments as they arrive at first, and then {} at a time, which takes the round trip from {} to {}: what \
                 arrived waits for its program, which reads {}.",
                facts.receiver,
                format::bytes(self.octets),
                format::time(self.base_ns),
                format::time(self.round_trip_ns),
                format::rate(facts.goodput()),
            ),
            evidence([
                ("limited_share", share.min(1.0)),
                ("acknowledged_bytes_p50", self.octets as f64),
                ("base_rtt_ns", self.base_ns as f64),
                ("rtt_ns", self.round_trip_ns as f64),
                ("most_window_bytes", facts.model.largest_window() as f64),
                ("read_bytes_per_s", facts.goodput()),
            ]),
        )
    }
}
