//! A station whose late answers come at the ticks of a clock of its own: it sleeps, and wakes up at each beacon (IEEE 802.11 clause
//! 11.2.3), or its driver is asked at intervals.

use super::exchange::{sent_ns, serving_end};
use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Wait, percentile};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// By chance, times are all near the ticks of some clock once in 10,000: an eighth of them is near each, and some hundred are tried.
const MIN_LATE: usize = 7;
/// A host's scheduling takes less.
const MIN_LATE_NS: u64 = 15_000_000;
/// Ticks of clocks that stations sleep by: shorter ones are those of schedulers, and nobody sleeps longer between two of them.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 40_000_000..=600_000_000;
/// Times are near a tick if this part of the period lies between them.
const NEAR_DIVISOR: u64 = 16;
/// The usual interval of beacons, 100 time units of 1,024 us (IEEE 802.11, `dot11BeaconPeriod`), and so many at most between two at which
/// stations wake up.
const BEACON_NS: u64 = 102_400_000;
const MOST_BEACONS: u64 = 3;
/// Divisors of the shortest distance between late answers that are tried as its period.
const MOST_PERIODS: u64 = 8;
/// One late answer in so many may have waited for something else, too. Each one can be chosen, which so many others outweigh.
const EXCEPTION_DIVISOR: usize = 8;
const FURTHER_LATE: usize = 2;
/// At most one late answer in so many is acknowledged before.
const AWAKE_DIVISOR: usize = 8;
/// One message in so many more than requests is none that waited for one.
const UNASKED_DIVISOR: usize = 4;
/// Answers come at ticks of their own if their distances to these vary so many times less than the waits for them: those at the ticks of
/// whoever asks vary as much.
const EVEN_FACTOR: u64 = 4;
/// A smaller share of the time in which answers are awaited is not worth a finding: between two requests, nobody waits.
const MIN_SHARE: f64 = 0.1;

/// Late answers of an end.
struct LateAnswers {
    /// The waits, with the time beyond the round trip.
    late: Vec<(Wait, u64)>,
    period_ns: u64,
}

impl LateAnswers {
    /// Those of `end`, if they come at the ticks of a clock.
    fn of(facts: &FlowFacts<'_>, end: End) -> Option<Self> {
        let waits = &facts.model.turns.waits[end as usize];
        let least_ns = waits.iter().map(|it| it.ns).min()?;
        // A stack that is awake acknowledges the request sooner than its program answers.
        let is_silent = |it: &Wait| it.acked_ns.is_some_and(|ns| ns + MIN_LATE_NS > it.ns);
        let late: Vec<(Wait, u64)> = waits
            .iter()
            .filter(|it| !it.has_loss && is_silent(it))
            .map(|it| (*it, it.ns - least_ns))
            .filter(|(_, ns)| *ns >= MIN_LATE_NS)
            .collect();
        let (period_ns, late) = at_ticks(&late)?;
        // Where all take as long, they come at the ticks of whoever asks.
        let spread_ns = spread(late.iter().map(|(_, ns)| *ns))?;
        let first_ns = late.first().map(end_ns)?;
        let phases = late
            .iter()
            .map(|it| (end_ns(it) - first_ns + period_ns / 2) % period_ns);
        let is_own_clock = spread_ns >= MIN_LATE_NS && spread_ns >= EVEN_FACTOR * spread(phases)?;
        let is_spread = spread_ns >= period_ns / 4 || is_own_clock;
        // A stack that acknowledges some requests long before they are answered is awake.
        let awake = waits.iter().filter(|it| {
            it.ns - least_ns >= MIN_LATE_NS && it.acked_ns.is_some() && !is_silent(it)
        });
        let is_asleep = awake.count() * AWAKE_DIVISOR <= late.len();
        (is_spread && is_asleep).then_some(Self { late, period_ns })
    }

    fn total_ns(&self) -> u64 {
        self.late.iter().map(|(_, ns)| ns).sum()
    }
}

/// The period at whose ticks late answers come, and those of them that do: there are few exceptions.
fn at_ticks(late: &[(Wait, u64)]) -> Option<(u64, Vec<(Wait, u64)>)> {
    let distances = late
        .windows(2)
        .map(|pair| end_ns(&pair[1]) - end_ns(&pair[0]));
    let long: Vec<u64> = distances.filter(|ns| ns >= PERIODS_NS.start()).collect();
    // The shortest may be that of an exception, and so may the first time.
    let shortest = [0, 10].map(|percent| percentile(long.clone(), percent));
    // Multiples of a period fit as well.
    let parts_of = |ns: u64| (1..=MOST_PERIODS).rev().map(move |parts| ns / parts);
    let periods = shortest.into_iter().flatten().flat_map(parts_of);
    let periods = (1..=MOST_BEACONS)
        .map(|beacons| beacons * BEACON_NS)
        .chain(periods);
    let mut periods = periods.filter(|ns| PERIODS_NS.contains(ns));
    periods.find_map(|ns| {
        let mut rests = (0..=late.len() / EXCEPTION_DIVISOR).take(2);
        rests.find_map(|first| {
            let (period_ns, fitting) = fitted(&late[first..], ns)?;
            let exceptions = late.len() - fitting.len();
            let are_few = exceptions * EXCEPTION_DIVISOR <= late.len();
            let is_chance = fitting.len() < MIN_LATE + FURTHER_LATE * exceptions;
            (are_few && !is_chance).then_some((period_ns, fitting))
        })
    })
}

/// Within what the middle eight of ten times differ.
fn spread(times_ns: impl Iterator<Item = u64>) -> Option<u64> {
    let times_ns: Vec<u64> = times_ns.collect();
    Some(percentile(times_ns.clone(), 90)? - percentile(times_ns, 10)?)
}

fn end_ns((wait, _): &(Wait, u64)) -> u64 {
    wait.start_ns + wait.ns
}

/// The period near `period_ns` of which the ends of waits are multiples apart, and those that end at the next one.
fn fitted(late: &[(Wait, u64)], period_ns: u64) -> Option<(u64, Vec<(Wait, u64)>)> {
    let mut period = period_ns as f64;
    let first_ns = end_ns(late.first()?);
    let mut fitting = Vec::new();
    for it in late {
        let distance_ns = (end_ns(it) - first_ns) as f64;
        let ticks = (distance_ns / period).round();
        let near_ns = period / NEAR_DIVISOR as f64;
        if (distance_ns - ticks * period).abs() > near_ns || it.1 as f64 > period + near_ns {
            continue;
        }
        fitting.push(*it);
        // What is further away shows the period more exactly.
        if ticks > 0.0 {
            period = distance_ns / ticks;
        }
    }
    Some((period as u64, fitting))
}

/// True if an end sends many more messages than the other end: its program has a clock, and does not wait for requests.
fn sends_more_than_asked(facts: &FlowFacts<'_>, end: End) -> bool {
    let asked = facts.model.turns.waits[end as usize].len();
    let times: Vec<u64> = sent_ns(facts, end).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let messages = 1 + gaps.filter(|ns| *ns >= MIN_LATE_NS).count();
    messages * UNASKED_DIVISOR >= asked * (UNASKED_DIVISOR + 1)
}

/// An end that answers late only at the ticks of a clock.
pub(super) fn at_beacons(facts: &FlowFacts<'_>) -> Option<Rule> {
    // Whoever asks does so when it likes.
    let end = serving_end(facts)?;
    let answers = LateAnswers::of(facts, end)?;
    if sends_more_than_asked(facts, end) {
        return None;
    }
    let share = facts.share_of(answers.total_ns());
    let waits = facts.model.turns.waits[end as usize].iter();
    let awaited_ns: u64 = waits.map(|it| it.ns).sum();
    let late_share = stats::ratio(answers.total_ns() as f64, awaited_ns as f64);
    let name = facts.flow.ends[end as usize].0;
    let number = |it: Option<&(Wait, u64)>| it.map_or(0.0, |(wait, _)| f64::from(wait.number));
    let late = || answers.late.iter();
    let longest_ns = late().map(|(_, ns)| *ns).max().unwrap_or(0);
    (late_share >= MIN_SHARE).then(|| Rule {
        share,
        cause: Cause::WakeUpLatency,
        confidence: 0.65,
        summary: format!(
            "{name} answers {} of {} times up to {} late, at multiples of {}; this takes {} of the time for which its answers are awaited: \
             it sleeps, and wakes up at that interval.",
            format::count(answers.late.len() as u64),
            format::count(facts.model.turns.waits[end as usize].len() as u64),
            format::time(longest_ns),
            format::time(answers.period_ns),
            format::percent(late_share),
        ),
        evidence: evidence([
            ("late_answers", answers.late.len() as f64),
            ("answers", facts.model.turns.waits[end as usize].len() as f64),
            ("late_ns_max", longest_ns as f64),
            ("late_share", late_share),
            ("period_ns", answers.period_ns as f64),
            ("constant_silence", 1.0),
            ("first_packet", number(answers.late.first())),
            ("last_packet", number(answers.late.last())),
        ]),
        advice: "Look for power saving at that end: a sleeping radio (esp_wifi_set_ps, a listen interval), a driver that is asked at \
                 an interval."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::LateAck],
        has_gain: false,
    })
}
