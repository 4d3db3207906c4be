//! Where a connection was captured: the round trips from the capture point to each end.

use super::view::DirectionView;
use crate::tcp::PacketClass;
use linerate_results::stats;

/// Packets that are searched at most, which bounds the time for any capture.
const MAX_LOOK_BACK: usize = 512;
/// Data flows as long as its gaps are no longer than this, or half of a round trip.
const FLOWING_NS: u64 = 8_000_000;

/// Round trips from the capture point to one end and back, over time.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    /// Times of the answers, and round trips.
    samples: Vec<(u64, u64)>,
    base_ns: Option<u64>,
}

impl RoundTrips {
    /// Of these samples, times of the answers and round trips, and the round trip of the handshake.
    pub(super) fn from_samples(samples: Vec<(u64, u64)>, handshake_ns: Option<u64>) -> Self {
        let least = samples.iter().map(|(_, ns)| *ns).min();
        Self {
            base_ns: least.into_iter().chain(handshake_ns).min(),
            samples,
        }
    }

    /// To the receiver: from a segment sent once to the acknowledgment that covers it first; of several, from the last.
    pub fn to_receiver(view: &DirectionView, handshake_ns: Option<u64>) -> Self {
        let mut samples = Vec::new();
        let mut next = 0;
        let mut highest_ack = 0;
        // A segment below this end may have been sent twice.
        let mut ambiguous_below = 0;
        for ack in &view.acks {
            let mut newest = None;
            while let Some(sent) = view.sent.get(next).filter(|it| it.number < ack.number) {
                if sent.class != PacketClass::NewData {
                    let highest = view.sent[..next]
                        .iter()
                        .rev()
                        .take(64)
                        .map(|it| it.end)
                        .max();
                    ambiguous_below = ambiguous_below.max(highest.unwrap_or(sent.end));
                }
                next += 1;
            }
            if ack.ack > highest_ack {
                let sent = view.sent[..next].iter().rev().take(MAX_LOOK_BACK);
                for sent in sent {
                    if sent.end <= ack.ack && sent.class == PacketClass::NewData {
                        newest = Some(sent);
                        break;
                    }
                    if sent.end <= highest_ack {
                        break;
                    }
                }
                if let Some(sent) = newest
                    && sent.end > highest_ack
                    && sent.end > ambiguous_below
                {
                    samples.push((ack.time_ns, ack.time_ns.saturating_sub(sent.time_ns)));
                }
                highest_ack = ack.ack;
            }
        }
        Self::from_samples(samples, handshake_ns)
    }

    /// To the sender: from an acknowledgment to the first data that echoes its timestamp (RFC 7323 section 4.1).
    /// Without timestamps only the handshake shows it.
    pub fn to_sender(view: &DirectionView, handshake_ns: Option<u64>) -> Self {
        let mut samples = Vec::new();
        let mut least_ns = handshake_ns;
        let mut firsts: Vec<(u32, u64)> = Vec::new();
        let mut acks = view.acks.iter().peekable();
        let mut last_echo = 0;
        let mut before_ns = 0;
        let most_ns = handshake_ns.unwrap_or(0) / 2;
        for sent in &view.sent {
            // After a silence, the sender waited for its program, not for the path.
            let is_flowing = sent.time_ns - before_ns <= FLOWING_NS.max(most_ns);
            before_ns = sent.time_ns;
            while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
                let is_newer =
                    |(last, _): &(u32, u64)| ack.timestamp.wrapping_sub(*last) as i32 > 0;
                if ack.timestamp != 0 && firsts.last().is_none_or(is_newer) {
                    firsts.push((ack.timestamp, ack.time_ns));
                }
            }
            if sent.echo == last_echo || sent.echo == 0 {
                continue;
            }
            last_echo = sent.echo;
            let found = firsts
                .binary_search_by(|(value, _)| (value.wrapping_sub(sent.echo) as i32).cmp(&0));
            if let Ok(at) = found {
                let ns = sent.time_ns.saturating_sub(firsts[at].1);
                least_ns = Some(least_ns.map_or(ns, |least_ns| least_ns.min(ns)));
                if is_flowing {
                    samples.push((sent.time_ns, ns));
                }
            }
        }
        // A silence may be the program's: its end shows more than the round trip.
        let least_ns = if samples.is_empty() {
            handshake_ns
        } else {
            least_ns
        };
        Self::from_samples(samples, least_ns)
    }

    /// The shortest one.
    pub fn base_ns(&self) -> Option<u64> {
        self.base_ns
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.samples.len()
    }

    /// Percentile 0 to 100 of the samples.
    pub fn percentile(&self, percent: usize) -> Option<u64> {
        percentile(self.samples.iter().map(|(_, ns)| *ns).collect(), percent)
    }

    /// Percentile 0 to 100 of the time by which samples exceed the shortest one: the time in queues.
    pub fn queue_ns(&self, percent: usize) -> Option<u64> {
        Some(self.percentile(percent)? - self.base_ns?)
    }

    /// The samples: times of the answers, and round trips.
    pub fn samples(&self) -> &[(u64, u64)] {
        &self.samples
    }
}

/// Percentile 0 to 100 of `values`, by nearest rank.
pub fn percentile(values: Vec<u64>, percent: usize) -> Option<u64> {
    stats::percentile_of(values, percent as f64)
}
