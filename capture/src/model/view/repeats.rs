//! What looks like a retransmission: repeated in vain, or overtaken.

use super::{DirectionView, MAX_LOOK_BACK};
use crate::tcp::PacketClass;
use foldhash::{HashMap, HashSet};

/// A shorter path cannot be distinguished from the time that hosts take.
const MIN_PATH_NS: u64 = 1_500_000;
/// What comes again later is repeated by a timer (RFC 6298 section 2.4, less the resolution of Linux's timers).
const MAX_AGAIN_NS: u64 = 190_000_000;
/// A round trip of so many ticks of a clock ends in a later one, however the ticks lie.
const MIN_TICKS: f64 = 2.0;
/// Gaps that something may fill, the last ones.
const MOST_GAPS: usize = 64;

/// A gap in the sequence numbers that were captured.
struct Gap {
    /// First octet.
    start: u64,
    /// When the segment behind it came, and its time stamp.
    since_ns: u64,
    stamp: u32,
}

impl DirectionView {
    /// Reclassifies retransmissions that time shows to be none: an acknowledgment sooner than `to_receiver_ns` answers the
    /// first transmission (RFC 3522, by time), and what fills a gap sooner than `to_sender_ns` was overtaken.
    pub(in crate::model) fn reclassify(&mut self, to_receiver_ns: u64, to_sender_ns: u64) {
        // The numbers of the packets show their order without this.
        if !self.is_numbered {
            self.reclassify_overtaken();
        }
        let acks = &self.acks;
        let mut highest = 0;
        let mut repeated = HashSet::default();
        // No sender repeats anything in the tick in which it sent what lies behind a gap: it hears of the gap a round trip later.
        let shows_tick = self
            .stamp_step_ns()
            .is_some_and(|step_ns| step_ns * MIN_TICKS <= (to_receiver_ns + to_sender_ns) as f64);
        let mut gaps: Vec<Gap> = Vec::new();
        for sent in &mut self.sent {
            if sent.start > highest && highest > 0 {
                gaps.push(Gap {
                    start: highest,
                    since_ns: sent.time_ns,
                    stamp: sent.timestamp,
                });
            }
            highest = highest.max(sent.end);
            let is_fast = sent.class == PacketClass::FastRetransmission;
            let is_candidate = matches!(
                sent.class,
                PacketClass::FastRetransmission | PacketClass::TimeoutRetransmission
            );
            if !is_candidate {
                continue;
            }
            let is_first = repeated.insert(sent.start);
            let mut recent = gaps.iter().rev().take(MOST_GAPS);
            let gap = recent.find(|gap| gap.start <= sent.start);
            let was_overtaken = !self.is_numbered
                && gap.is_some_and(|gap| {
                    let is_soon = to_sender_ns >= MIN_PATH_NS
                        && sent.time_ns - gap.since_ns < to_sender_ns / 4 * 3;
                    is_soon || shows_tick && sent.timestamp == gap.stamp
                });
            let at = acks.partition_point(|ack| ack.time_ns < sent.time_ns);
            let answer = acks[at..]
                .iter()
                .take(MAX_LOOK_BACK)
                .find(|ack| ack.ack >= sent.end);
            let is_answered_soon = answer.is_some_and(|ack| {
                to_receiver_ns >= MIN_PATH_NS && ack.time_ns - sent.time_ns < to_receiver_ns / 4 * 3
            });
            if was_overtaken {
                sent.class = PacketClass::Reordered;
            } else if is_answered_soon {
                sent.class = PacketClass::SpuriousRetransmission;
                // Where something arrived behind a gap, the acknowledgment of what precedes it came twice. Without that, or once
                // more, the sender repeats what it need not.
                let before = acks[..at].iter().rev().take(MAX_LOOK_BACK);
                let reports = before.filter(|ack| ack.ack == sent.start).take(2);
                self.needless_fast += u64::from(is_fast && is_first && reports.count() == 2);
            }
        }
    }

    /// The time by which the clock of the sender's stamps advances: milliseconds may come from one that advances by ten of them.
    fn stamp_step_ns(&self) -> Option<f64> {
        let pairs = self.sent.windows(2);
        let steps = pairs.map(|pair| pair[1].timestamp.wrapping_sub(pair[0].timestamp) as i32);
        let step = steps.map(i32::unsigned_abs).fold(0, greatest_divisor);
        (step > 0).then_some(self.tick_ns()? * f64::from(step))
    }

    /// What fills a gap and then comes again was overtaken: the second copy is the retransmission that the duplicate ACKs
    /// requested.
    fn reclassify_overtaken(&mut self) {
        // Where what came again needlessly was captured first. Most segments do not come again.
        let again = self
            .sent
            .iter()
            .filter(|it| it.class == PacketClass::SpuriousRetransmission);
        let mut captured: HashMap<u64, Option<(usize, u64)>> =
            again.map(|it| (it.start, None)).collect();
        let mut overtaken = Vec::new();
        for (at, sent) in self.sent.iter().enumerate() {
            match captured.get_mut(&sent.start) {
                None => {}
                Some(first @ None) => *first = Some((at, sent.time_ns)),
                Some(Some((first, first_ns))) => {
                    let is_again = sent.class == PacketClass::SpuriousRetransmission
                        && self.sent[*first].class == PacketClass::FastRetransmission
                        && sent.time_ns - *first_ns < MAX_AGAIN_NS;
                    if is_again {
                        overtaken.push(*first);
                    }
                }
            }
        }
        for at in overtaken {
            self.sent[at].class = PacketClass::Reordered;
        }
    }
}

/// The greatest common divisor.
fn greatest_divisor(one: u32, other: u32) -> u32 {
    match other {
        0 => one,
        _ => greatest_divisor(other, one % other),
    }
}
