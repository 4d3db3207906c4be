//! The round trip to the sender, where nothing but its use of the window shows it.

use super::round_trip::percentile;
use super::view::{DirectionView, Transmission};
use super::window::{FILLED_DIVISOR, Fill, MAX_SHIFT};

/// Time from the acknowledgments that admit segments to these segments, where it is nearly the same for most: then the
/// window is always full, and this is the round trip to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EdgeDelay {
    /// 10th percentile, nanoseconds.
    pub(super) short_ns: u64,
    /// Median.
    pub(super) median_ns: u64,
}

/// Fewer delays show nothing.
const MIN_DELAYS: usize = 32;
/// A shorter delay cannot be distinguished from the time that hosts take.
const MIN_DELAY_NS: u64 = 1_000_000;
/// Fewer bursts show no pauses.
const MIN_BURSTS: usize = 4;
/// A pause is longer than this part of the round trip, and than twice the usual gap.
const PAUSE_DIVISOR: u64 = 16;

impl EdgeDelay {
    /// The delay with the window scale of the handshake, or else the least one that is possible.
    pub(super) fn of(view: &DirectionView, handshake: Option<u8>) -> Option<Self> {
        let is_possible = |shift: &u8| Fill::of(view, *shift, 0).exceeded == 0;
        let shift = handshake.or_else(|| (0..MAX_SHIFT).find(is_possible))?;
        let delays = delays_ns(view, shift);
        if delays.len() < MIN_DELAYS || is_in_step(view) {
            return None;
        }
        let of = |percent| percentile(delays.clone(), percent);
        let (short_ns, median_ns, p75_ns) = (of(10)?, of(50)?, of(75)?);
        let is_steady = median_ns >= MIN_DELAY_NS && p75_ns - short_ns <= median_ns / 3;
        // A pattern that repeats after less than a window has the same delay to any earlier repetition.
        let window = view.acks.iter().map(|ack| u64::from(ack.window) << shift);
        let gaps = view.sent.windows(2);
        let gaps = gaps.map(|pair| pair[1].time_ns - pair[0].time_ns);
        let pause_ns = (2 * percentile(gaps.collect(), 50)?).max(median_ns / PAUSE_DIVISOR);
        let (bursts, writes) = bursts(view, pause_ns);
        let fill = Fill::of(view, shift, short_ns);
        // A window stops a sender at full segments, or exactly at its end; a program's write ends with a part of one.
        if writes.saturating_sub(fill.exact) * 2 >= bursts.len() {
            return None;
        }
        // Each burst ends because the window is full.
        let is_filled =
            fill.filled * 2 >= bursts.len() || fill.filled * FILLED_DIVISOR >= view.sent.len();
        let window = window.max().unwrap_or(0);
        let count = bursts.len();
        let typical = typical_bytes(bursts);
        // Without pauses, segments may follow any acknowledgment: with the handshake, the round trip decides.
        let is_apart = handshake.is_some() || count >= MIN_BURSTS && typical <= window / 2 * 3;
        let is_whole = typical >= window / 2 && is_apart;
        (is_steady && is_whole && is_filled).then_some(Self {
            short_ns,
            median_ns,
        })
    }
}

/// The delay of the first segment that each acknowledgment admits: it does not wait for others.
fn delays_ns(view: &DirectionView, shift: u8) -> Vec<u64> {
    let mut edges: Vec<(u64, u64)> = Vec::new();
    for ack in &view.acks {
        let right = ack.ack + (u64::from(ack.window) << shift);
        if edges.last().is_none_or(|(_, last)| *last < right) {
            edges.push((ack.time_ns, right));
        }
    }
    let mut delays: Vec<u64> = Vec::new();
    let mut last = 0;
    for sent in view.sent.iter().filter(|it| !it.is_retransmission()) {
        let at = edges.partition_point(|(_, right)| *right < sent.end);
        if at == last {
            continue;
        }
        last = at;
        if let Some((admitted_ns, _)) = edges.get(at) {
            delays.push(sent.time_ns.saturating_sub(*admitted_ns));
        }
    }
    delays
}

/// Octets between pauses longer than `pause_ns`, and how many of these bursts end with a pushed part of a segment.
fn bursts(view: &DirectionView, pause_ns: u64) -> (Vec<u64>, usize) {
    let full = view.full_segment();
    let is_write = |it: &Transmission| it.is_pushed && it.len < full;
    let mut bursts: Vec<u64> = Vec::new();
    let mut writes = 0;
    let mut last: Option<&Transmission> = None;
    for sent in &view.sent {
        match (bursts.last_mut(), last) {
            (Some(burst), Some(last)) if sent.time_ns - last.time_ns <= pause_ns => {
                *burst += u64::from(sent.len);
            }
            _ => {
                bursts.push(sent.len.into());
                writes += usize::from(last.is_some_and(is_write));
            }
        }
        last = Some(sent);
    }
    (bursts, writes)
}

/// Half of all octets are in bursts of at least this many.
fn typical_bytes(mut bursts: Vec<u64>) -> u64 {
    bursts.sort_unstable();
    let total: u64 = bursts.iter().sum();
    let mut sum = 0;
    let median = bursts.into_iter().find(|burst| {
        sum += burst;
        sum * 2 >= total
    });
    median.unwrap_or(0)
}

/// True if segments follow acknowledgments one by one, evenly: each is more likely to be released by the last one than by
/// an earlier one that happens to admit it.
fn is_in_step(view: &DirectionView) -> bool {
    let full = u64::from(view.full_segment());
    let mut acks = view.acks.iter().peekable();
    let mut last: Option<(u64, u64)> = None;
    let mut delays: Vec<u64> = Vec::new();
    for sent in view.sent.iter().filter(|it| !it.is_retransmission()) {
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            last = Some((ack.time_ns, ack.ack));
        }
        let Some((time_ns, acked)) = last else {
            continue;
        };
        // FIN takes a sequence number, too.
        if sent.end > acked + full + 1 {
            return false;
        }
        delays.push(sent.time_ns - time_ns);
    }
    let of = |percent| percentile(delays.clone(), percent);
    let (Some(p10), Some(p50), Some(p90)) = (of(10), of(50), of(90)) else {
        return false;
    };
    p10 * 2 >= p50 && p90 <= p50 * 2
}
