//! Losses by their place: in bursts, alone, at random.

use super::bucket::MIN_EXCESS_RATE;
use super::slow_start;
use super::{Losses, MIN_COST, MIN_LOSSES};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::repeats::episodes;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::Limit;
use linerate_capture::tcp::BURST_POSITIONS;
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Segments in flight from which several may be lost in one round trip, and still be repaired without a timeout.
const MIN_FLIGHT: u64 = 7;
/// No window is advised in smaller segments.
const MIN_ADVISED_SEGMENT: u64 = 200;
/// Fewer segments behind others show no pattern.
const MIN_FOLLOWERS: u64 = 8;

/// True if most bursts lose their second segment: there is one buffer.
pub(super) fn loses_the_second(facts: &FlowFacts<'_>) -> bool {
    facts.loses_the_second()
}

/// Without SACK only one loss is repaired in a round trip (RFC 6675 section 1).
pub(super) fn no_sack(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    let connection = facts.connection();
    let [sender, receiver] = [facts.model.data_sender, facts.model.data_sender.other()];
    // Known from both SYNs only.
    let both_known =
        connection.window_shift(sender).is_some() && connection.window_shift(receiver).is_some();
    let offered = [sender, receiver].map(|end| connection.sack_permitted(end));
    // With little in flight, nothing could be selected.
    let is_little = u64::from(facts.stats().max_in_flight) < MIN_FLIGHT * facts.full;
    // Reports are visible without the SYNs, or if options were not captured.
    let lacks_sack = if both_known {
        offered != [true, true]
    } else {
        facts.model.view.is_selective() == Some(false)
    };
    // A receiver that keeps nothing behind a gap has nothing to report.
    let keeps_nothing = facts.model.keeps_behind_gap == Some(false);
    if !lacks_sack || keeps_nothing || is_little || losses.repair() < MIN_COST {
        return None;
    }
    let lacking = match offered {
        _ if !both_known => format!("in no acknowledgment of {}", facts.receiver),
        [true, false] => format!("not offered by {}", facts.receiver),
        [false, true] => format!("not offered by {}", facts.sender),
        _ => format!("not offered by {} and {}", facts.sender, facts.receiver),
    };
    Some(Rule {
        share: losses.cost(),
        cause: Cause::NoSack,
        confidence: 0.7,
        summary: format!(
            "{} of {} segments were lost, and without selective acknowledgments ({lacking}) the sender \
             repairs one in a round trip, or waits for its timer. {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
        ),
        evidence: figures.clone(),
        advice: "Enable SACK at both ends (lwIP: LWIP_TCP_SACK_OUT; Linux: net.ipv4.tcp_sack), and find the loss itself."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: false,
    })
}

/// Segments of a flight behind its first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Followers {
    pub(super) arrived: u64,
    pub(super) missing: u64,
}

impl Followers {
    /// Near the receiver: of the segments that followed others, those that arrived and those that are missing.
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let model = &facts.model;
        let flight_ns = model.to_sender.base_ns()? / 4 * 3;
        if !model.is_near_receiver() {
            return None;
        }
        let mut own = Self::default();
        let mut sent = model.view.sent.iter().filter(|it| it.len > 0);
        let first = sent.next()?;
        let (mut highest, mut last_ns) = (first.end, first.time_ns);
        for sent in sent {
            own.missing += u64::from(sent.start > highest);
            let is_next = sent.start == highest;
            own.arrived += u64::from(is_next && sent.time_ns - last_ns < flight_ns);
            highest = highest.max(sent.end);
            last_ns = sent.time_ns;
        }
        Some(own)
    }

    /// True if hardly any of them arrive: the first of a flight keeps the receiver busy.
    pub(super) fn are_lost(self) -> bool {
        self.missing >= MIN_FOLLOWERS && self.arrived * 3 <= self.missing
    }
}

pub(super) fn bursts(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    followers: Option<Followers>,
    waits: &str,
    mut figures: BTreeMap<String, f64>,
) -> Rule {
    let spacing = &facts.stats().spacing;
    let rates = [
        ("back_to_back_loss_rate", spacing.back_to_back),
        ("isolated_loss_rate", spacing.isolated),
    ];
    figures.extend(rates.map(|(name, of)| (name.to_owned(), of.rate())));
    let (sent, lost) = (
        &facts.stats().sent_by_position,
        &facts.stats().lost_by_position,
    );
    let is_half_lost =
        |at: &usize| sent[*at] >= 4 && lost[*at] >= MIN_LOSSES && lost[*at] * 2 >= sent[*at];
    let fits = match followers {
        Some(_) => Some(1),
        None => (1..BURST_POSITIONS).find(is_half_lost),
    };
    let mut advice = "Make the receiver accept a frame while it processes the previous one: more receive buffers and a \
                      shorter receive interrupt."
        .to_owned();
    if let Some(fits) = fits.filter(|_| facts.full >= MIN_ADVISED_SEGMENT) {
        figures.insert("room_segments".to_owned(), fits as f64);
        let segments = if fits == 1 { "segment" } else { "segments" };
        let _ = write!(
            advice,
            " Until then, advertise a window no larger than its queue: here {fits} {segments} of {} B.",
            format::count(facts.full)
        );
    }
    if let Some(Followers { arrived, missing }) = followers {
        figures.insert("missing_followers".to_owned(), missing as f64);
        figures.insert("arrived_followers".to_owned(), arrived as f64);
    }
    let observed = match followers {
        Some(Followers { arrived, missing }) => format!(
            "{} segments are missing right behind others, where {} arrived.",
            format::count(missing),
            match arrived {
                0 => "none".to_owned(),
                arrived => format!("only {}", format::count(arrived)),
            },
        ),
        None => format!(
            "{} of the segments right after other packets are lost, but only {} of isolated ones.",
            format::percent(spacing.back_to_back.rate()),
            format::percent(spacing.isolated.rate()),
        ),
    };
    Rule {
        share: losses.cost(),
        cause: Cause::LossInBursts,
        confidence: if followers.is_none() && spacing.excess_ratio() >= 2.0 {
            0.9
        } else {
            0.75
        },
        summary: format!("{observed} {waits}"),
        evidence: figures,
        advice,
        limits: if losses.withheld > 0.0 {
            &[
                Limit::Timeout,
                Limit::FastRecovery,
                Limit::InFlight,
                Limit::LateAck,
            ]
        } else {
            &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight]
        },
        has_gain: true,
    }
}

pub(super) fn stalls(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: BTreeMap<String, f64>,
) -> Rule {
    let spans = facts.model.spans.iter();
    let waits_for_timer = spans.filter(|span| span.limit == Limit::Timeout).count() as u64;
    let stall_ns = facts.model.time_ns(Limit::Timeout) / waits_for_timer.max(1);
    let keeps_nothing = facts.model.keeps_behind_gap == Some(false);
    let (reason, advice) = if keeps_nothing {
        (
            format!(
                "{} keeps nothing behind them, so {} repeats that, too, a segment in a round trip or after a timeout",
                facts.receiver, facts.sender
            ),
            format!(
                "Find the loss itself (a wait for the timer takes {} here), and let the receiver keep what arrives out of \
                 order (lwIP: TCP_QUEUE_OOSEQ); without memory for that, advertise a window of a few segments.",
                format::time(stall_ns)
            ),
        )
    } else {
        let mut advice = format!(
            "Find the loss itself (a stall takes {} here), and enable selective acknowledgments at both ends.",
            format::time(stall_ns),
        );
        // With one buffer, more in flight is lost.
        if !loses_the_second(facts) {
            advice +=
                " Fast retransmit needs three later segments in flight (RFC 5681 section 3.2).";
        }
        (
            format!(
                "only the retransmission timer of {} repairs them: too little is in flight for fast retransmit, or {} does \
                 not request it",
                facts.sender, facts.receiver
            ),
            advice,
        )
    };
    Rule {
        share: losses.repair(),
        cause: Cause::RetransmissionStalls,
        confidence: 0.85,
        summary: format!(
            "{} of {} segments were lost, and {reason}. {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
        ),
        evidence: figures,
        advice,
        limits: &[Limit::Timeout, Limit::FastRecovery],
        has_gain: true,
    }
}

/// Losses meet the longest waits, although no rate or number of segments in flight tells which are lost: other traffic shares the
/// queue, or the time that a receiver takes for a frame varies.
fn overflow_of_full_queue(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: BTreeMap<String, f64>,
) -> Rule {
    Rule {
        share: losses.cost(),
        cause: Cause::ShallowQueue,
        confidence: 0.65,
        summary: format!(
            "{} of {} segments ({}) were lost, and those right before them are among the segments that waited longest: a queue \
             before {} overflows. {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
            format::percent(losses.rate()),
            facts.receiver,
        ),
        evidence: figures,
        advice: "Give that queue (receive descriptors and buffers, a switch port, tc limit) room for the window, or advertise a \
                 smaller window."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: true,
    }
}

pub(super) fn random(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    mut figures: BTreeMap<String, f64>,
) -> Rule {
    // Losses of one episode have one reason, however many they are.
    let few = losses.lost < 8 || episodes(facts) < MIN_LOSSES;
    if few && slow_start::has_all(facts) {
        return slow_start::overflow(facts, losses, None, waits, figures);
    }
    let met = facts.model.waits_at_losses();
    if losses.rate() < MIN_EXCESS_RATE && met.are_of_full_queue() {
        figures.insert("longer_waits_share".to_owned(), met.longer);
        return overflow_of_full_queue(facts, losses, waits, figures);
    }
    Rule {
        share: losses.cost(),
        cause: Cause::RandomLoss,
        confidence: if few { 0.6 } else { 0.8 },
        summary: format!(
            "{} of {} segments ({}) were lost, {}. {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
            format::percent(losses.rate()),
            if few {
                "in too few places to show a pattern".to_owned()
            } else {
                format!("regardless of their distance and of the data in flight of {}", facts.sender)
            },
        ),
        evidence: figures,
        advice: "Check the error counters of both adapters (ethtool -S), the cable and the duplex setting."
            .to_owned(),
        limits: if losses.withheld > 0.0 {
            &[
                Limit::Timeout,
                Limit::FastRecovery,
                Limit::InFlight,
                Limit::LateAck,
            ]
        } else {
            &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight]
        },
        has_gain: true,
    }
}
