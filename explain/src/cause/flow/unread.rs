//! A window that falls as data arrives and opens later: what is acknowledged waits for the receiver's program.

use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Acknowledgment;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::{BTreeMap, VecDeque};

/// Evidence: the share of the acknowledged octets that waited.
pub(super) const UNREAD: &str = "unread_share";
/// What opens again within this part of the round trip hardly costs time: stacks that acknowledge before the program reads
/// (lwIP: `tcp_recved`).
const PART_OF_ROUND_TRIP: u64 = 4;
/// Nor does the time in which a host wakes up the program.
const WAKE_UP_NS: u64 = 1_000_000;
/// Fewer are the end of a transfer, or one estimate of a receiver that accounts for its buffers (Linux: `rcv_ssthresh`).
const MIN_FALLS: usize = 5;
/// Less is left by rounding and by the estimate of the overhead (of receivers that read at once: up to 0.03).
const MIN_UNREAD: f64 = 0.05;
/// Several times what rounding and estimates leave.
const SHOWN: f64 = 0.1;

/// Falls of the window that last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    /// Their octets, as a share of those acknowledged.
    pub(super) share: f64,
    falls: usize,
}

impl Unread {
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let acks = &facts.model.view.acks;
        let part_ns = facts.model.base_rtt_ns().unwrap_or(0) / PART_OF_ROUND_TRIP;
        let granted = granted_within(acks, part_ns.max(WAKE_UP_NS));
        let shift = facts.model.scale.least();
        let late = &acks[acks.len() / 4..];
        let largest = late.iter().map(|ack| ack.window).max()?;
        let (mut falls, mut unread, mut acked) = (0, 0, 0);
        for (pair, granted) in acks.windows(2).zip(granted.windows(2)) {
            let advance = pair[1].ack.saturating_sub(pair[0].ack);
            let fall = u64::from(granted[0].saturating_sub(granted[1])) << shift;
            acked += advance;
            // What a window takes back without new data is no data. A program that is woken up late leaves some segments at times, a
            // slow one most of the buffer.
            if advance > 0 && fall > 0 && granted[1] <= largest / 2 {
                falls += 1;
                unread += fall;
            }
        }
        let share = stats::ratio(unread as f64, acked as f64).min(1.0);
        (falls >= MIN_FALLS && share >= MIN_UNREAD).then_some(Self { share, falls })
    }

    /// True if so much waits that the program's pace is the limit.
    pub(super) fn is_shown(&self) -> bool {
        self.share >= SHOWN
    }

    pub(super) fn slow_reader(self, facts: &FlowFacts<'_>, share: f64) -> Rule {
        reads_slowly(
            share,
            0.8,
            format!(
                "{}'s window falls {} as data arrives, by {} of what is acknowledged in all, and opens again later: \
                 what arrived waits for its program, which reads {}.",
                facts.receiver,
                format::times(self.falls as u64),
                format::percent(self.share),
                format::rate(facts.goodput()),
            ),
            evidence([
                ("receive_window_share", facts.share(Limit::ReceiveWindow)),
                (UNREAD, self.share),
                ("window_falls", self.falls as f64),
                ("most_window_bytes", facts.model.largest_window() as f64),
                ("read_bytes_per_s", facts.goodput()),
            ]),
        )
    }
}

/// The rule of a program that reads slowly, which explains this share of the time.
pub(super) fn reads_slowly(
    share: f64,
    confidence: f64,
    summary: String,
    evidence: BTreeMap<String, f64>,
) -> Rule {
    Rule {
        share,
        cause: Cause::ReceiverReadsSlowly,
        confidence,
        summary,
        evidence,
        advice: "Read more often and in larger blocks, or spend less time on each block; a larger window only delays the problem."
            .to_owned(),
        limits: &[Limit::ClosedWindow, Limit::ReceiveWindow, Limit::LateAck],
        has_gain: true,
    }
}

/// The largest window, unscaled, that each acknowledgment or one within `later_ns` after it grants.
fn granted_within(acks: &[Acknowledgment], later_ns: u64) -> Vec<u16> {
    // The larger ones that come later, in the order of time.
    let mut later: VecDeque<(u64, u16)> = VecDeque::new();
    let mut granted: Vec<u16> = Vec::with_capacity(acks.len());
    for ack in acks.iter().rev() {
        while later.front().is_some_and(|it| it.1 <= ack.window) {
            later.pop_front();
        }
        later.push_front((ack.time_ns, ack.window));
        while later.back().is_some_and(|it| it.0 > ack.time_ns + later_ns) {
            later.pop_back();
        }
        granted.push(later.back().map_or(ack.window, |it| it.1));
    }
    granted.reverse();
    granted
}
