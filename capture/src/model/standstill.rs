//! Times in which the receiver acknowledges nothing, although it must, and afterwards all that was sent before: it stood
//! still, or the path held everything back.

use super::round_trip::percentile;
use super::view::DirectionView;

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
/// Two segments are acknowledged at once (RFC 9293 section 3.8.6.3).
const OWED_SEGMENTS: u64 = 2;

/// The standstills of the receiver.
pub(super) fn standstills(view: &DirectionView) -> Vec<Standstill> {
    let full = u64::from(view.full_segment());
    let silences = silences(view, OWED_SEGMENTS * full);
    if silences.len() < MIN_ACKS {
        return Vec::new();
    }
    let times: Vec<u64> = silences.iter().map(|it| it.time.ns()).collect();
    let usual_ns = percentile(times, 90).unwrap_or(u64::MAX);
    let least_ns = MIN_NS.max(usual_ns.saturating_mul(MIN_FACTOR));
    let is_long = |it: &Silence| it.time.ns() >= least_ns && it.has_arrived(view);
    let long: Vec<Silence> = silences.into_iter().filter(is_long).collect();
    let between = long.windows(2).map(|pair| pair[1].acked - pair[0].acked);
    let between = percentile(between.collect(), 50).unwrap_or(u64::MAX);
    let open = percentile(long.iter().map(|it| it.sent - it.acked).collect(), 50);
    if open.is_none_or(|open| between < MIN_FLIGHTS * open) {
        return Vec::new();
    }
    long.into_iter().map(|it| it.time).collect()
}

/// A time in which the receiver owes an acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Silence {
    time: Standstill,
    /// After the highest octet acknowledged, and sent, before its end.
    acked: u64,
    sent: u64,
}

/// The times from which the receiver owes an acknowledgment for `owed` octets until it comes.
fn silences(view: &DirectionView, owed: u64) -> Vec<Silence> {
    let mut sent = view.sent.iter().peekable();
    let (mut highest, mut acked) = (0, None::<u64>);
    let mut since_ns = None;
    let mut silences = Vec::new();
    for ack in &view.acks {
        while let Some(it) = sent.next_if(|it| it.time_ns <= ack.time_ns) {
            highest = highest.max(it.end);
            if since_ns.is_none() && acked.is_some_and(|acked| highest >= acked + owed) {
                since_ns = Some(it.time_ns);
            }
        }
        if let Some((start_ns, acked)) = since_ns.zip(acked)
            && ack.ack > acked
        {
            let end_ns = ack.time_ns;
            silences.push(Silence {
                time: Standstill { start_ns, end_ns },
                acked,
                sent: highest,
            });
        }
        let now = acked.map_or(ack.ack, |acked| acked.max(ack.ack));
        acked = Some(now);
        since_ns = (highest >= now + owed).then_some(ack.time_ns);
    }
    silences
}

impl Silence {
    /// True if all that was sent before its end is acknowledged afterwards without being repeated. Where a timeout repeated
    /// the first of it, that segment may have been lost, and what followed it been kept.
    fn has_arrived(&self, view: &DirectionView) -> bool {
        let Standstill { start_ns, end_ns } = self.time;
        let first = view.acks.partition_point(|ack| ack.time_ns < end_ns);
        let covering = view.acks[first..].iter().find(|ack| ack.ack >= self.sent);
        let Some(covered_ns) = covering.map(|ack| ack.time_ns) else {
            return false;
        };
        let from = view.sent.partition_point(|it| it.time_ns <= start_ns);
        let until = view.sent.partition_point(|it| it.time_ns <= covered_ns);
        let mut until = view.sent[from..until].iter();
        !until.any(|it| it.is_retransmission() && it.start < self.sent)
    }
}
