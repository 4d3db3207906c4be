//! Pictures and sound: blocks at a constant interval, whose source chose their rate.

use super::facts::FlowFacts;
use super::pacing::{IDLE_NS, MIN_SEGMENTS};
use linerate_capture::model::{Limit, percentile};
use linerate_results::stats;

/// Fewer blocks show no rate of pictures.
const MIN_PICTURES: usize = 10;
/// Fewer sizes do not show that they vary.
const MIN_VARYING: usize = MIN_SEGMENTS - MIN_SEGMENTS / 4;
/// A shorter silence may be the sending host's work.
const MIN_SILENCE_NS: u64 = 2_000_000;
/// Pictures per second of cameras (ITU-R BT.2020 table 2, also divided by 1.001).
const PICTURES_PER_S: [f64; 5] = [24.0, 25.0, 30.0, 50.0, 60.0];
/// A camera with less to deliver takes each n-th picture of its sensor, up to this one.
const MOST_SKIPPED: u32 = 6;
/// A program that waits after each block needs longer than its wait by more than this, even for small blocks.
const PICTURE_TOLERANCE: f64 = 0.001;

/// True if the sender has nothing to send for a while again and again, and what it sends next begins at a constant interval
/// and varies: pictures or sound, each of which may take several round trips.
pub(super) fn is_timed_media(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    let silences = model
        .spans
        .iter()
        .filter(|it| it.limit == Limit::SenderIdle && it.ns() >= MIN_SILENCE_NS);
    let starts: Vec<u64> = silences.map(|it| it.end_ns).collect();
    let mut new = model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission())
        .peekable();
    let mut sizes: Vec<u64> = Vec::new();
    for pair in starts.windows(2) {
        while new.next_if(|it| it.time_ns < pair[0]).is_some() {}
        let mut bytes = 0;
        while let Some(it) = new.next_if(|it| it.time_ns < pair[1]) {
            bytes += u64::from(it.len);
        }
        sizes.push(bytes);
    }
    let intervals = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    sizes.len() >= MIN_SEGMENTS && is_media_like(intervals, sizes)
}

/// True for blocks at a constant interval, of varying size or at a rate of pictures: their source chose the rate.
pub(super) fn is_media(facts: &FlowFacts<'_>) -> bool {
    blocks(facts).is_some_and(|(intervals, sizes)| {
        let is_long = sizes.len() >= MIN_VARYING;
        // Few blocks are media by their rate only.
        is_media_like(intervals, if is_long { sizes } else { Vec::new() })
    })
}

/// True for blocks at a rate of pictures.
pub(super) fn is_picture_stream(facts: &FlowFacts<'_>) -> bool {
    blocks(facts).is_some_and(|(intervals, _)| {
        has_picture_rate(&intervals) && is_media_like(intervals, Vec::new())
    })
}

/// Intervals and sizes of blocks that the sender sends with silences between them.
fn blocks(facts: &FlowFacts<'_>) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    let mut last_ns = 0;
    for sent in facts
        .model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission() && it.len > 0)
    {
        match blocks.last_mut() {
            Some((_, bytes)) if sent.time_ns - last_ns < IDLE_NS => *bytes += u64::from(sent.len),
            _ => blocks.push((sent.time_ns, u64::from(sent.len))),
        }
        last_ns = sent.time_ns;
    }
    if blocks.len() < MIN_PICTURES {
        return None;
    }
    // In slow start a block takes several round trips, and looks like several.
    let blocks = if blocks.len() >= MIN_SEGMENTS {
        &blocks[blocks.len() / 4..]
    } else {
        &blocks
    };
    let intervals: Vec<u64> = blocks
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    let sizes = blocks.iter().map(|(_, bytes)| *bytes).collect();
    Some((intervals, sizes))
}

fn is_media_like(intervals: Vec<u64>, sizes: Vec<u64>) -> bool {
    let spread = |values: Vec<u64>| {
        let of = |percent| percentile(values.clone(), percent).unwrap_or(0) as f64;
        stats::ratio(of(85) - of(15), of(50))
    };
    let has_picture_rate = has_picture_rate(&intervals);
    spread(intervals) <= 0.1 && (spread(sizes) >= 0.1 || has_picture_rate)
}

/// True if these are the intervals of pictures: on average, exactly that of a standard rate.
fn has_picture_rate(intervals: &[u64]) -> bool {
    let usual_ns = percentile(intervals.to_vec(), 50).unwrap_or(0);
    // At the beginning, a picture may take several round trips, and look like several.
    let usual = intervals
        .iter()
        .filter(|ns| ns.abs_diff(usual_ns) <= usual_ns / 8);
    let (count, sum_ns) = usual.fold((0_u64, 0), |(count, sum), ns| (count + 1, sum + ns));
    let mean_ns = stats::ratio(sum_ns as f64, count as f64);
    let is_near = |ns: f64| (mean_ns / ns - 1.0).abs() <= PICTURE_TOLERANCE;
    picture_intervals_ns().any(|ns| is_near(ns) || is_near(ns * 1.001))
}

/// Intervals of pictures at standard rates, nanoseconds.
pub(super) fn picture_intervals_ns() -> impl Iterator<Item = f64> {
    let each = (1..=MOST_SKIPPED).map(f64::from);
    each.flat_map(|each| PICTURES_PER_S.map(|per_s| each * 1e9 / per_s))
}
