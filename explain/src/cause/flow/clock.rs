//! Clocks of programs: what is sent at the ticks of a timer of its own comes no sooner, however fast the rest is.
//!
//! Work, and a sleep after it, add up: each is longer than the interval that was asked for, and the times drift away from its
//! ticks. Those of a clock do not, whatever delays some of them.

use super::facts::FlowFacts;
use super::media::picture_intervals_ns;
use super::pacing::{LEAST_MTU_PAYLOAD, OPTIONS};
use linerate_capture::model::{Transmission, percentile};

/// Fewer times show no clock.
const MIN_TICKS: usize = 8;
/// Intervals that people choose are multiples of [`STEP_NS`] from here on, and below those of pictures and sound.
const MIN_ROUND_NS: u64 = 100_000_000;
const STEP_NS: u64 = 50_000_000;
/// The usual interval differs from the chosen one by a smaller part.
const NEAR: f64 = 1.0 / 16.0;
/// A program that sleeps is woken later than this (Linux: 50 us, prctl(2), `PR_SET_TIMERSLACK`), and has worked before.
const LATE_NS: u64 = 40_000;
/// Most times are within this part of the period around a tick; by chance, a quarter of all would be.
const NEAR_DIVISOR: u64 = 8;
/// The parts of which the first and the last are compared.
const PARTS: usize = 3;

/// True if these times are at the ticks of a clock, nearly each of which has one.
pub(super) fn are_ticks(times: &[u64]) -> bool {
    let intervals = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual_ns = percentile(intervals, 50).unwrap_or(0);
    times.len() >= MIN_TICKS && chosen_ns(usual_ns).any(|period_ns| stay_in_phase(times, period_ns))
}

/// The intervals near `usual_ns` that somebody chooses.
fn chosen_ns(usual_ns: u64) -> impl Iterator<Item = f64> {
    let round_ns = (usual_ns + STEP_NS / 2) / STEP_NS * STEP_NS;
    let round_ns = Some(round_ns).filter(|ns| *ns >= MIN_ROUND_NS);
    let all = round_ns
        .map(|ns| ns as f64)
        .into_iter()
        .chain(picture_intervals_ns());
    all.filter(move |ns| (usual_ns as f64 / ns - 1.0).abs() <= NEAR)
}

/// True if `times` stay near the ticks of this period from the first to the last.
fn stay_in_phase(times: &[u64], period_ns: f64) -> bool {
    let first_ns = times[0];
    let ticks = |ns: u64| ((ns - first_ns) as f64 / period_ns).round();
    // Distance from the tick, from half a period before it: no less than 0.
    let phase = |ns: u64| (ns - first_ns) as f64 - (ticks(ns) - 0.5) * period_ns;
    let phases: Vec<u64> = times.iter().map(|ns| phase(*ns) as u64).collect();
    let middle = |phases: &[u64]| percentile(phases.to_vec(), 50).unwrap_or(0);
    let usual_ns = middle(&phases);
    let near_ns = period_ns as u64 / NEAR_DIVISOR;
    let near = phases.iter().filter(|ns| ns.abs_diff(usual_ns) <= near_ns);
    let part = times.len() / PARTS;
    let (first, last) = (&phases[..part], &phases[phases.len() - part..]);
    let drift_ns = middle(first).abs_diff(middle(last));
    let all = ticks(times[times.len() - 1]);
    let between = all * (PARTS - 1) as f64 / PARTS as f64;
    near.count() * 4 >= times.len() * 3
        && all <= times.len() as f64 * 1.25
        && drift_ns as f64 <= between * LATE_NS as f64
}

/// True if what the sender's program writes begins at the ticks of a clock.
pub(super) fn is_clocked(facts: &FlowFacts<'_>) -> bool {
    let room = facts.mss().unwrap_or(LEAST_MTU_PAYLOAD);
    let ends_write = |it: &Transmission| {
        let len = u64::from(it.len);
        it.is_pushed && (len < facts.full || len + OPTIONS <= room)
    };
    let sent = facts.model.view.sent.iter();
    let new: Vec<&Transmission> = sent
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .collect();
    let pairs = new.windows(2).filter(|pair| ends_write(pair[0]));
    let first = new.first().map(|it| it.time_ns);
    let begins = first.into_iter().chain(pairs.map(|pair| pair[1].time_ns));
    are_ticks(&begins.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Times `period_ns` apart, each later by up to 3 ms, as by chance.
    fn late_by_chance(period_ns: u64) -> Vec<u64> {
        let late = |at: u64| at * 7 % 11 * 3 * MS / 10;
        (0..30).map(|at| at * period_ns + late(at)).collect()
    }

    #[test]
    fn delays_do_not_add_up_at_the_ticks_of_a_clock() {
        assert!(are_ticks(&late_by_chance(250 * MS)));
        assert!(are_ticks(&late_by_chance(40 * MS)), "pictures");
        // A program that sleeps for 250 ms after each of its writes.
        assert!(!are_ticks(&late_by_chance(250 * MS + 90_000)));
    }

    #[test]
    fn an_interval_that_nobody_chooses_is_no_clock() {
        assert!(!are_ticks(&late_by_chance(62 * MS)));
        assert!(!are_ticks(&late_by_chance(227 * MS)));
    }

    #[test]
    fn few_times_or_rare_ones_are_no_clock() {
        assert!(!are_ticks(&late_by_chance(250 * MS)[..7]));
        let each_second = late_by_chance(250 * MS).into_iter();
        let mut rare: Vec<u64> = each_second.step_by(2).collect();
        rare.extend((1..40).map(|at| 10_000 * MS + at * 250 * MS));
        assert!(are_ticks(&rare[15..]));
        let mut gaps = late_by_chance(250 * MS);
        gaps.retain(|ns| ns / (250 * MS) % 4 != 3 && ns / (250 * MS) % 7 != 2);
        assert!(!are_ticks(&gaps), "{gaps:?}");
    }
}
