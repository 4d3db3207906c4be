//! A connection's limits in chronological order, in bounded memory.

use serde::Serialize;

use super::limit::{Limit, Shares};

/// Maximum number of spans.
const MAX_SPANS: usize = 256;
/// Bits of a packed span for the limit; those above are its duration in nanoseconds.
const LIMIT_BITS: u32 = 4;
const _: () = assert!(Limit::ALL.len() <= 1 << LIMIT_BITS);

/// An interval of a connection with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LimitSpan {
    /// Start in nanoseconds.
    pub start_ns: u64,
    /// End; the next span starts here.
    pub end_ns: u64,
    /// Limit of the connection's speed; of merged spans, the one with the most time.
    pub limit: Limit,
}

/// Consecutive spans, and the exact sum for each limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    shares: Shares,
    spans: Vec<Span>,
    /// Spans shorter than this were merged with their neighbours.
    grain_ns: u64,
}

/// Duration and limit in eight bytes, since there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span(u64);

impl Span {
    #[inline]
    const fn new(ns: u64, limit: Limit) -> Self {
        Self(ns << LIMIT_BITS | limit as u64)
    }

    #[inline]
    const fn ns(self) -> u64 {
        self.0 >> LIMIT_BITS
    }

    #[inline]
    const fn limit(self) -> Limit {
        Limit::ALL[(self.0 & ((1 << LIMIT_BITS) - 1)) as usize]
    }

    /// True if it has this limit.
    #[inline]
    const fn has_limit(self, limit: Limit) -> bool {
        self.0 & ((1 << LIMIT_BITS) - 1) == limit as u64
    }

    /// Extended by `ns`.
    #[inline]
    const fn extended_by(self, ns: u64) -> Self {
        Self(self.0 + (ns << LIMIT_BITS))
    }
}

impl Timeline {
    /// Appends a span.
    #[inline]
    pub(crate) fn push(&mut self, limit: Limit, ns: u64) {
        if ns == 0 {
            return;
        }
        self.shares[limit as usize] += ns;
        match self.spans.last_mut() {
            Some(last) if last.has_limit(limit) => *last = last.extended_by(ns),
            _ => self.push_other(Span::new(ns, limit)),
        }
    }

    #[inline(never)]
    fn push_other(&mut self, span: Span) {
        if self.spans.len() == MAX_SPANS {
            self.coarsen();
        }
        push_merged(&mut self.spans, span);
    }

    /// Nanoseconds by limit, exact.
    pub(crate) fn shares(&self) -> Shares {
        self.shares
    }

    /// The spans, starting at `start_ns`.
    pub(crate) fn spans(&self, start_ns: u64) -> Vec<LimitSpan> {
        let mut end_ns = start_ns;
        let spans = self.spans.iter().map(|span| {
            let start_ns = end_ns;
            end_ns += span.ns();
            LimitSpan {
                start_ns,
                end_ns,
                limit: span.limit(),
            }
        });
        spans.collect()
    }

    /// Spans shorter than this were merged; 0 if none were.
    pub(crate) fn grain_ns(&self) -> u64 {
        self.grain_ns
    }

    /// Merges short spans until half of the capacity is free.
    #[cold]
    fn coarsen(&mut self) {
        let total_ns: u64 = self.spans.iter().map(|span| span.ns()).sum();
        let mut grain_ns = self.grain_ns.max(total_ns / MAX_SPANS as u64 + 1);
        loop {
            let spans = merge_short(&self.spans, grain_ns);
            if spans.len() <= MAX_SPANS / 2 {
                self.spans.clear();
                self.spans.extend(spans);
                self.grain_ns = grain_ns;
                return;
            }
            grain_ns *= 2;
        }
    }
}

/// Merges neighbours shorter than `grain_ns` into one with the limit that took the most time.
fn merge_short(spans: &[Span], grain_ns: u64) -> Vec<Span> {
    let mut coarse = Vec::new();
    let mut group = Shares::default();
    for span in spans {
        let group_ns: u64 = group.iter().sum();
        if span.ns() >= grain_ns || group_ns >= grain_ns {
            push_group(&mut coarse, &mut group);
        }
        group[span.limit() as usize] += span.ns();
    }
    push_group(&mut coarse, &mut group);
    coarse
}

fn push_group(coarse: &mut Vec<Span>, group: &mut Shares) {
    let group = std::mem::take(group);
    let most = Limit::ALL
        .into_iter()
        .max_by_key(|limit| group[*limit as usize]);
    let ns = group.iter().sum();
    if let Some(limit) = most.filter(|_| ns > 0) {
        push_merged(coarse, Span::new(ns, limit));
    }
}

fn push_merged(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if last.has_limit(span.limit()) => *last = last.extended_by(span.ns()),
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_span() {
        let mut timeline = Timeline::default();
        timeline.push(Limit::Handshake, 5);
        timeline.push(Limit::PathRate, 0);
        timeline.push(Limit::Handshake, 2);
        timeline.push(Limit::Tail, 1);
        let span = |start_ns, end_ns, limit| LimitSpan {
            start_ns,
            end_ns,
            limit,
        };
        assert_eq!(
            timeline.spans(10),
            [span(10, 17, Limit::Handshake), span(17, 18, Limit::Tail)]
        );
        assert_eq!(timeline.grain_ns(), 0);
    }

    #[test]
    fn too_many_spans_are_merged_and_long_ones_stay() {
        let mut timeline = Timeline::default();
        let mut total_ns = 0;
        for round in 0..100_000_u64 {
            let limit = Limit::ALL[round as usize % 2];
            timeline.push(limit, 1_000 + round % 7);
            total_ns += 1_000 + round % 7;
            if round == 50_000 {
                timeline.push(Limit::Timeout, 900_000_000);
                total_ns += 900_000_000;
            }
        }
        let spans = timeline.spans(0);
        assert!((1..=MAX_SPANS).contains(&spans.len()), "{}", spans.len());
        assert!(
            spans
                .windows(2)
                .all(|pair| pair[0].end_ns == pair[1].start_ns)
        );
        assert_eq!(spans.last().expect("some").end_ns, total_ns);
        assert_eq!(timeline.shares().iter().sum::<u64>(), total_ns);
        let stall = spans.iter().find(|span| span.limit == Limit::Timeout);
        let stall = stall.expect("longer than any grain");
        assert_eq!(stall.end_ns - stall.start_ns, 900_000_000);
        assert!(timeline.grain_ns() > 0);
    }
}
