//! Duplex mismatch: one end of a link transmits at any time, and the other one takes that for collisions.
//!
//! The end in half duplex defers to the frame that it receives, and transmits right after it (IEEE 802.3 clause 4.2.3.2).
//! The other end does not defer: its next frame begins at the same time and is damaged. A frame of the end in half duplex
//! that is hit after its first 512 bits is lost, too (late collision). So frames of both directions are lost, but only
//! while the other direction is busy: an exchange of single frames loses nothing.

use super::lost_acks::{MIN_TIMEOUT_NS, are_timeouts_longer_than_path, repeated_in_vain};
use super::{Losses, MIN_COST, SIGNIFICANCE, fills_path};
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Acknowledgment, DirectionView, Limit, Transmission};
use linerate_capture::tcp::{PacketClass, poisson_at_most};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// Fewer losses may be chance.
const MIN_LOSSES: u64 = 6;
/// Losses depend on the other direction if they are this much more frequent while it is busy.
const MIN_RATIO: f64 = 5.0;
/// Losses for each one that follows an acknowledgment closely, at most: those behind other gaps are not counted there.
const MAX_OTHER_LOSSES: u64 = 6;
/// Mismatches occur at 10 and 100 Mbit/s: 1000BASE-T always negotiates (IEEE 802.3 clause 40.5.1).
const MAX_BYTES_PER_S: f64 = 100e6 / 8.0;
/// Losses of one direction, while the other one is busy and while it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contrast {
    busy: Count,
    quiet: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    lost: u64,
    sent: u64,
}

impl Count {
    fn rate(self) -> f64 {
        stats::ratio(self.lost as f64, self.sent as f64)
    }

    /// "3 of 40".
    fn text(self) -> String {
        format!(
            "{} of {}",
            format::count(self.lost),
            format::count(self.sent)
        )
    }
}

impl Contrast {
    fn add(&mut self, is_busy: bool, is_lost: bool) {
        let count = if is_busy {
            &mut self.busy
        } else {
            &mut self.quiet
        };
        count.lost += u64::from(is_lost);
        count.sent += 1;
    }

    /// True if chance does not explain that so few are lost while the other direction is quiet.
    fn is_clear(&self) -> bool {
        let all = Count {
            lost: self.busy.lost + self.quiet.lost,
            sent: self.busy.sent + self.quiet.sent,
        };
        self.busy.lost >= MIN_LOSSES
            && self.busy.rate() >= MIN_RATIO * self.quiet.rate()
            && poisson_at_most(self.quiet.lost, all.rate() * self.quiet.sent as f64) < SIGNIFICANCE
    }
}

/// Frames of both directions destroy each other.
pub(super) fn duplex_mismatch(facts: &FlowFacts<'_>) -> Option<Rule> {
    let limits: &[Limit] = &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight];
    let share: f64 = limits.iter().map(|limit| facts.share(*limit)).sum();
    let is_slow = facts.fastest().is_none_or(|rate| rate < MAX_BYTES_PER_S);
    // What is destroyed has to be sent again: no transfer keeps the rate of its path then.
    let is_full = fills_path(facts, &Losses::of(facts));
    if facts.class == FlowClass::Short || share < MIN_COST || !is_slow || is_full {
        return None;
    }
    let repeated_acks = lost_acks(facts);
    let deferred = after_deferral(facts);
    let unanswered = unanswered(facts);
    let deferred_lost = deferred.busy.lost + deferred.quiet.lost;
    let explains_losses = deferred_lost * MAX_OTHER_LOSSES >= facts.model.view.lost();
    let (contrast, observed, confidence) = if deferred.is_clear() && explains_losses {
        let observed = format!(
            "{} segments were lost that followed an acknowledgment which {} had to hold back while it received, but \
             only {} others",
            deferred.busy.text(),
            facts.receiver,
            deferred.quiet.text(),
        );
        // Late collisions destroy acknowledgments, too.
        let is_mutual = repeated_acks.busy.lost + repeated_acks.quiet.lost > 0;
        (deferred, observed, if is_mutual { 0.8 } else { 0.6 })
    } else if repeated_acks.is_clear() {
        let observed = format!(
            "The acknowledgments for {} new segments of {} were lost, but only {} of those for segments that it \
             repeated, with nothing behind them on the link",
            repeated_acks.busy.text(),
            facts.sender,
            repeated_acks.quiet.text(),
        );
        (repeated_acks, observed, 0.7)
    } else if unanswered.is_clear() {
        let observed = format!(
            "{} flights of several segments had no answer, not even to their first segment, but only {} single segments",
            unanswered.busy.text(),
            unanswered.quiet.text(),
        );
        (unanswered, observed, 0.7)
    } else {
        return None;
    };
    Some(Rule {
        share: share.min(1.0),
        cause: Cause::DuplexMismatch,
        confidence,
        summary: format!("{observed}: frames of the two directions destroy each other."),
        evidence: evidence([
            ("lost_while_busy", contrast.busy.lost as f64),
            ("sent_while_busy", contrast.busy.sent as f64),
            ("lost_while_quiet", contrast.quiet.lost as f64),
            ("sent_while_quiet", contrast.quiet.sent as f64),
        ]),
        advice: "Read the duplex setting at both ends of each link (ethtool; PHY registers 0, 1, 4 and 5), and let both \
                 negotiate: an end with a fixed setting leaves the other one in half duplex. The counters decide: late \
                 collisions at the end in half duplex, FCS errors at the other one (ethtool -S). A radio or bus that \
                 cannot transmit and receive at once loses frames in the same way."
            .to_owned(),
        limits,
        has_gain: true,
    })
}

/// Near the receiver: segments missing behind others, after an acknowledgment that was sent while the one before arrived,
/// so that an end in half duplex had to defer it.
fn after_deferral(facts: &FlowFacts<'_>) -> Contrast {
    let mut contrast = Contrast::default();
    let Some(rate) = facts.fastest() else {
        return contrast;
    };
    let frame_ns = (facts.full as f64 * 1e9 / rate) as u64;
    let view = &facts.model.view;
    let mut acks = view.acks.iter().peekable();
    let (mut highest, mut acked) = (0_u64, 0_u64);
    // First octet of the last gap.
    let mut gap: Option<u64> = None;
    let mut last_ns = 0;
    let mut is_deferred = false;
    for sent in view.sent.iter().filter(|it| it.len > 0) {
        let mut is_acked = false;
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            is_acked = true;
            acked = ack.ack.max(acked);
        }
        let gap_ns = sent.time_ns - last_ns;
        // With a gap before, a receiver acknowledges each segment (RFC 5681 section 4.2), lost ones behind it or not.
        let has_gap = gap.is_some_and(|start| acked <= start);
        if highest > 0 && !has_gap && sent.end > highest && gap_ns <= 4 * frame_ns {
            let is_missing = sent.start > highest && !is_overtaken(view, highest);
            contrast.add(is_deferred, is_missing);
        }
        if sent.start > highest {
            gap = Some(highest);
        }
        // Received right behind the one before: it was on the link when the acknowledgment was sent.
        is_deferred = is_acked && gap_ns <= frame_ns / 2 * 3;
        highest = highest.max(sent.end);
        last_ns = sent.time_ns;
    }
    contrast
}

/// True if the segment that begins at `start` arrived late, without being lost.
fn is_overtaken(view: &DirectionView, start: u64) -> bool {
    let mut overtaken = view
        .sent
        .iter()
        .filter(|it| it.class == PacketClass::Reordered);
    overtaken.any(|it| it.start == start)
}

/// Near the receiver: acknowledgments that did not arrive, because the sender repeated the segment after a timeout. New
/// segments may have others behind them; after a timeout the sender repeats one alone (RFC 5681 section 3.1).
fn lost_acks(facts: &FlowFacts<'_>) -> Contrast {
    let mut contrast = Contrast::default();
    if !are_timeouts_longer_than_path(facts) || !facts.model.is_near_receiver() {
        return contrast;
    }
    for (sent, is_in_vain) in repeated_in_vain(facts) {
        contrast.add(!sent.is_retransmission(), is_in_vain);
    }
    contrast
}

/// Near the sender: flights without any answer before the retransmission timer expired, if they had several segments, and
/// if they had one. An end that loses segments behind others still answers the first of them.
fn unanswered(facts: &FlowFacts<'_>) -> Contrast {
    let mut contrast = Contrast::default();
    if !are_timeouts_longer_than_path(facts) {
        return contrast;
    }
    let view = &facts.model.view;
    let mut acks = view.acks.iter().peekable();
    let mut flight = Flight::default();
    for sent in view.sent.iter().filter(|it| it.len > 0) {
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            flight.answer(ack, &mut contrast);
        }
        flight.send(sent, &mut contrast);
    }
    contrast
}

/// Segments sent while nothing else was on the way.
#[derive(Debug, Default)]
struct Flight {
    segments: u64,
    end: u64,
    is_answered: bool,
    is_over: bool,
    last_ns: u64,
}

impl Flight {
    fn answer(&mut self, ack: &Acknowledgment, contrast: &mut Contrast) {
        if self.segments > 0 && !self.is_answered {
            contrast.add(self.segments > 1, false);
        }
        self.is_answered = true;
        self.is_over |= ack.ack >= self.end;
    }

    fn send(&mut self, sent: &Transmission, contrast: &mut Contrast) {
        let is_repeated =
            sent.is_retransmission() && sent.time_ns.saturating_sub(self.last_ns) >= MIN_TIMEOUT_NS;
        if is_repeated && self.segments > 0 && !self.is_answered {
            contrast.add(self.segments > 1, true);
        }
        if is_repeated || self.is_over {
            *self = Self::default();
        }
        self.segments += 1;
        self.end = self.end.max(sent.end);
        self.last_ns = sent.time_ns;
    }
}
