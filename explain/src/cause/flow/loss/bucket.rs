//! Losses that depend on how much passed before: a policer, or a queue that is too short.

use super::dispersion::{self, Arrivals};
use super::queue::POLICER_ADVICE;
use super::{Losses, NEARLY_FULL, RING_SEGMENTS};
use crate::cause::flow::evenness;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::repeats::episodes;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::{Limit, LossBucket};
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::BTreeMap;

/// Losses depend on what passed before if they are separated from other segments with this probability.
const MIN_SEPARATION: f64 = 0.9;
/// Of so many losses, a lower probability is no chance either: clocks of hosts and adapters jitter.
const MANY_LOSSES: usize = 100;
const SEPARATION_OF_MANY: f64 = 0.85;
/// A queue delays segments by this share of its level at least; a policer does not.
pub(super) const MIN_DELAY_SHARE: f64 = 0.25;
/// Before a queue overflows, segments wait as long as all of it takes; one in ten waits at least this share of that.
const MIN_WAIT_SHARE: f64 = 0.25;
/// From this loss rate on, a window that each loss halves has room for fewer than nine segments (Mathis et al. 1997: the square
/// root of 3 / (2 * rate)): a queue that holds more, together with its path, loses fewer.
pub(super) const MIN_EXCESS_RATE: f64 = 0.02;
/// A bucket that holds more than so many times what is in flight is not what a window overflows.
const MOST_FLIGHTS: f64 = 2.0;
/// A sender keeps to a rate if it exceeds the goodput by this factor at most.
const MAX_KEPT: f64 = 1.15;
/// So many events show the rate of a policer above which the sender is on average, too.
const MIN_EVENTS_ABOVE: u64 = 8;
/// A path that holds so many times more than a queue needs a longer one, whosever it is.
const LONG_PATH: f64 = 8.0;
/// What passes fills a queue that overflows again and again so many times.
const MIN_FILLED: f64 = 4.0;
/// Rings of receivers and queues of ports hold fewer.
const MIN_DEEP_SEGMENTS: f64 = 16.0;
/// A rate is that of the bucket if a higher one puts this share of the pairs of a lost and another segment into the wrong
/// order, and so many times as many.
const MIN_ADVANTAGE: f64 = 0.03;
const ADVANTAGE_FACTOR: f64 = 4.0;
/// The delay of a queue that is longer than this cannot be mistaken for the work of hosts.
const LONG_QUEUE_NS: f64 = 2e7;
/// A receiver takes up to so long for a segment, whatever waits before it.
const HOST_NS: u64 = 400_000;
/// A sender that waits for its timer for a larger share of the time sends single bursts.
const MAX_TIMEOUT_SHARE: f64 = 0.9;

/// A bucket lets segments pass while it drops others; of those in rows that it would have interrupted, fewer are chance.
const MOST_CUT: f64 = 0.5;

/// A shallow bucket puts so many times fewer pairs of a lost and another segment into the wrong order.
const SHALLOW_FACTOR: f64 = 2.0;

/// The evidence that no faster rate fits as well.
pub(super) const ONE_RATE: &str = "has_one_rate";

const LIMITS: &[Limit] = &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight];

/// Losses that depend on what passed before: a policer, or a queue that is too short.
pub(super) fn bucket(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    let fitted = Fitted::of(facts, losses)?;
    if fitted.exceeds_flights() {
        return None;
    }
    let mut figures = figures.clone();
    fitted.add_figures(&mut figures);
    if fitted.is_policed() {
        Some(fitted.policer(waits, figures))
    } else {
        fitted.queue(waits, figures)
    }
}

/// True if a deep bucket fits worse than one of a segment or two that is empty again soon: a receiver loses what comes close behind
/// others, and what it loses keeps its sender to a rate.
pub(super) fn is_of_shallow(bucket: &LossBucket) -> bool {
    let [wrong, wrong_of_shallow] =
        [bucket.separation, bucket.separation_of_shallow].map(|it| 1.0 - it);
    bucket.depth_bytes > RING_SEGMENTS * bucket.segment_bytes
        && wrong_of_shallow * SHALLOW_FACTOR < wrong
}

/// A bucket that fits the losses, and what else the capture shows of it.
struct Fitted<'a> {
    facts: &'a FlowFacts<'a>,
    losses: &'a Losses,
    bucket: LossBucket,
    arrivals: Arrivals,
    /// Median and 90th percentile of the time in a queue.
    wait_ns: Option<(u64, u64)>,
    /// Delay of the segments that met a high level, as a share of that level; 0 if unknown.
    delay_share: f64,
    /// Octets in flight at most.
    most: u64,
}

impl<'a> Fitted<'a> {
    /// `None` if no bucket separates the lost segments from the others.
    fn of(facts: &'a FlowFacts<'a>, losses: &'a Losses) -> Option<Self> {
        let samples = if facts.model.is_near_receiver() {
            facts.model.to_sender.samples()
        } else {
            facts.model.to_receiver.samples()
        };
        let bucket = LossBucket::of(&facts.model.view, samples)?;
        let arrivals = Arrivals::of(facts, bucket.bytes_per_s);
        // Where neither waits nor arrivals show the bucket, many losses by chance look like those of one: each ends the growth of a window.
        let is_seen = bucket.delay_share.is_some() || arrivals == Arrivals::AsSent;
        let is_many = bucket.lost >= MANY_LOSSES && is_seen;
        let least = if is_many {
            SEPARATION_OF_MANY
        } else {
            MIN_SEPARATION
        };
        // While it drops what exceeds its rate, a bucket lets pass the rest.
        let is_cut = bucket.cut_share >= MOST_CUT;
        (bucket.separation >= least && !is_cut && !is_of_shallow(&bucket)).then(|| Self {
            facts,
            losses,
            bucket,
            arrivals,
            wait_ns: facts.model.queue_ns.filter(|_| facts.model.is_queued),
            // Noise makes it negative.
            delay_share: bucket.delay_share.unwrap_or(0.0).max(0.0),
            most: facts.model.flights().into_iter().max().unwrap_or(0),
        })
    }

    /// Its depth in segments.
    fn segments(&self) -> f64 {
        (self.bucket.depth_bytes / self.bucket.segment_bytes).round()
    }

    /// Time that all of it takes to pass.
    fn drain_ns(&self) -> f64 {
        self.bucket.depth_bytes * 1e9 / self.bucket.bytes_per_s
    }

    /// True if it holds no more than the ring of a receiver.
    fn is_ring(&self) -> bool {
        self.bucket.depth_bytes <= RING_SEGMENTS * self.bucket.segment_bytes
    }

    /// True if the transfer uses nearly all of its rate.
    fn is_nearly_full(&self) -> bool {
        self.facts.goodput() >= NEARLY_FULL * self.bucket.bytes_per_s
    }

    fn is_frequent(&self) -> bool {
        self.losses.rate() >= MIN_EXCESS_RATE
    }

    /// True if the sender is not waiting for its timer nearly all the time: then it sends single bursts, and keeps to no rate.
    fn keeps_sending(&self) -> bool {
        self.losses.timeout < MAX_TIMEOUT_SHARE
    }

    /// True if a bucket of several flights loses little. A policer with such a bucket fills up again while the window grows: then several
    /// segments are lost.
    fn exceeds_flights(&self) -> bool {
        !self.is_frequent()
            && self.bucket.depth_bytes > MOST_FLIGHTS * self.most as f64
            && self.delay_share < MIN_DELAY_SHARE
    }

    /// True if another rate with this separation fits much worse.
    fn is_worse(&self, separation: f64) -> bool {
        let (wrong, wrong_of_other) = (1.0 - self.bucket.separation, 1.0 - separation);
        wrong_of_other >= MIN_ADVANTAGE.max(ADVANTAGE_FACTOR * wrong)
    }

    /// True if no faster rate fits as well.
    fn has_one_rate(&self) -> bool {
        self.bucket.delay_share.is_some()
            && self.is_nearly_full()
            && self.is_worse(self.bucket.separation_of_faster)
    }

    /// True if what waits in a queue would show, and does not. A ring that is emptied sooner than round trips show loses the same segments
    /// at any faster rate. Where such a rate does not fit, what waits in a queue is seen: by its round trips or, near the receiver, by
    /// arrivals at the rate of its link.
    fn is_no_queue(&self) -> bool {
        let before_receiver_ns = self.facts.model.to_receiver.queue_ns(90).unwrap_or(0);
        let shows_queue = match self.arrivals {
            Arrivals::AsSent => before_receiver_ns < HOST_NS,
            _ => self.bucket.delay_share.is_some(),
        };
        shows_queue && self.is_worse(self.bucket.separation_of_unseen)
    }

    /// True if the excess is dropped while the sender goes on at the rate. What waits in a queue is in flight, so a queue clocks its
    /// sender: once it is full, a round trip loses one segment more than it has room for. A policer does not, so all that exceeds its rate
    /// is lost until the sender has slowed down.
    fn drops_at_rate(&self) -> bool {
        let is_excess = self.is_ring()
            && self.is_frequent()
            && !self.facts.model.is_near_receiver()
            && self.bucket.delay_share.is_some();
        // Bursts that overflow a ring at intervals are even, too, but any faster rate fits them.
        let is_even = || evenness::is_even_despite_many_losses(self.facts);
        self.is_nearly_full() && self.keeps_sending() && (is_excess || is_even())
    }

    /// True if the sender is hardly faster than the rate.
    fn keeps_rate(&self) -> bool {
        self.bucket.bytes_per_s <= MAX_KEPT * self.facts.goodput()
    }

    /// True if the rate is that of the bucket. Bursts that overflow a few buffers do not show at which rate these become free: any rate
    /// above the average fits. Only a sender that keeps to the rate shows it.
    fn shows_rate(&self) -> bool {
        // Without round trips, that nothing waits is unknown, and a ring loses the same segments.
        let is_unseen =
            self.is_ring() && self.bucket.delay_share.is_none() && self.wait_ns.is_none();
        // A few events fit a bucket of some depth whose rate the sender does not keep, whatever lost their segments.
        let is_repeated = episodes(self.facts) >= MIN_EVENTS_ABOVE
            && self.bucket.depth_bytes >= MIN_DEEP_SEGMENTS * self.bucket.segment_bytes;
        let is_shown = !self.is_ring() && is_repeated || self.has_one_rate() || self.is_no_queue();
        !is_unseen && self.keeps_rate() || is_shown && self.keeps_sending() || self.drops_at_rate()
    }

    /// What a queue holds leaves it at the rate of its link; what a policer lets pass keeps the distance at which it was sent.
    fn is_spaced(&self) -> bool {
        self.arrivals == Arrivals::Spaced
            || dispersion::is_of_link(self.facts, self.bucket.bytes_per_s)
    }

    fn is_policed(&self) -> bool {
        // Where the delay of a level is known, what waits elsewhere does not matter.
        let wait_ns = self.wait_ns.filter(|_| self.bucket.delay_share.is_none());
        let wait_share = wait_ns.map_or(0.0, |(_, p90)| p90 as f64 / self.drain_ns());
        self.delay_share < MIN_DELAY_SHARE
            && wait_share < MIN_WAIT_SHARE
            && self.shows_rate()
            && !self.is_spaced()
            && !(self.is_ring() && self.facts.model.is_near_receiver())
    }

    fn add_figures(&self, figures: &mut BTreeMap<String, f64>) {
        let bucket = &self.bucket;
        figures.insert("separation".to_owned(), bucket.separation);
        figures.insert("bucket_bytes".to_owned(), bucket.depth_bytes);
        figures.insert("bucket_bytes_per_s".to_owned(), bucket.bytes_per_s);
        figures.insert("bucket_segments".to_owned(), self.segments());
        // What a link spaces has waited for it, although no round trip shows how long.
        if bucket.delay_share.is_some() || self.arrivals != Arrivals::Spaced {
            figures.insert("delay_by_level".to_owned(), self.delay_share);
        }
        if self.has_one_rate() {
            figures.insert(ONE_RATE.to_owned(), 1.0);
        }
    }

    /// "3 of 40 segments were lost, nearly all of them when ..."
    fn lost_text(&self) -> String {
        format!(
            "{} of {} segments were lost, nearly all of them when more than {} had passed above {}",
            format::count(self.losses.lost),
            format::count(self.losses.segments),
            format::bytes(self.bucket.depth_bytes.round() as u64),
            format::rate(self.bucket.bytes_per_s),
        )
    }

    fn policer(&self, waits: &str, figures: BTreeMap<String, f64>) -> Rule {
        let before = if self.wait_ns.is_some() {
            "they wait no longer before that than others"
        } else {
            "nothing waits in a queue before"
        };
        let is_even_only = self.drops_at_rate() && !self.has_one_rate() && !self.keeps_rate();
        let lost = self.lost_text();
        Rule {
            share: self.losses.cost(),
            cause: Cause::Policed,
            confidence: if is_even_only { 0.65 } else { 0.85 },
            summary: format!("{lost}; {before}: the excess is dropped at once. {waits}"),
            evidence: figures,
            advice: POLICER_ADVICE.to_owned(),
            limits: LIMITS,
            has_gain: false,
        }
    }

    /// True if a queue of this depth would lose other segments.
    fn is_implausible(&self) -> bool {
        let model = &self.facts.model;
        let longest_ns = model.to_receiver.queue_ns(99);
        let longest_ns = longest_ns.filter(|_| !model.is_near_receiver());
        let is_longer = self.drain_ns() >= LONG_QUEUE_NS
            && longest_ns.is_some_and(|ns| (ns * 2) as f64 <= self.drain_ns());
        let depth = self.bucket.depth_bytes;
        // A few events fit a level that hardly ever falls.
        let is_seldom_full = depth * MIN_FILLED > self.facts.bytes() as f64;
        depth > self.most as f64 || is_longer || is_seldom_full
    }

    /// True if the path is so short, or shows so little of the queue, that any queue of some segments would do, if the sender never had
    /// more in flight.
    fn is_of_short_path(&self) -> bool {
        let depth = self.bucket.depth_bytes;
        let base_ns = self.facts.model.base_rtt_ns();
        let path_bytes = base_ns.map(|ns| ns as f64 * self.bucket.bytes_per_s / 1e9);
        let is_short = path_bytes.map_or(self.arrivals != Arrivals::Spaced, |it| it < depth / 2.0);
        let is_long = path_bytes.is_some_and(|it| it >= LONG_PATH * depth);
        is_short || self.delay_share < MIN_DELAY_SHARE && !self.is_spaced() && !is_long
    }

    fn queue(&self, waits: &str, figures: BTreeMap<String, f64>) -> Option<Rule> {
        if self.is_implausible() {
            return None;
        }
        let is_short_path = self.is_of_short_path();
        // Losses of other kinds fit a small bucket, too: of the answers that rest on one, fewer are right.
        let is_doubtful = is_short_path || self.delay_share < MIN_DELAY_SHARE;
        Some(Rule {
            share: self.losses.cost(),
            cause: if is_short_path {
                Cause::QueueOverflow
            } else {
                Cause::ShallowQueue
            },
            confidence: if is_doubtful { 0.65 } else { 0.8 },
            summary: format!(
                "{}: a queue of about {} before {} overflows. {waits}",
                self.lost_text(),
                format::counted(self.segments() as u64, "segment"),
                self.facts.receiver,
            ),
            evidence: figures,
            advice: "Give that queue (receive descriptors and buffers, a switch port, tc limit) room for the window, or \
                     advertise a smaller window."
                .to_owned(),
            limits: LIMITS,
            has_gain: true,
        })
    }
}
