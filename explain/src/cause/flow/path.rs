//! The network between the ends: standing queues, small segments.

use super::ack_path::ack_path_full;
use super::class::FlowClass;
use super::facts::FlowFacts;
use super::rate;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;

/// A longer wait in one direction is too much for a conversation (ITU-T G.114 section 4).
const BLOATED_NS: u64 = 150_000_000;
/// Up to this, a conversation bears it (the limit of the same recommendation for the planning of networks): what a full path is expected to
/// hold, and no reason.
const BEARABLE_NS: f64 = 4e8;
/// No path takes longer without a queue: over a geostationary satellite and back, it is 0.6 s (RFC 2488 section 2).
const NO_PATH_NS: u64 = 1_000_000_000;
/// A smaller MSS than this is not that of Ethernet, less tunnels and options.
const SMALL_MSS: u64 = 1_100;
/// Headers that cost a smaller share of a full path are no reason to look for another MSS: 536 octets (RFC 9293 section 3.7.1)
/// cost 8%.
const MIN_HEADER_COST: f64 = 0.1;
/// Even the slowest firmware measured here takes 1 ms for a frame (`isr-all`): at less than half of this rate, no host is the
/// reason for what waits.
const FEW_SEGMENTS_PER_S: f64 = 500.0;
/// MSS of Ethernet (RFC 6691): a smaller window admits no such segment.
const ETHERNET_MSS: u64 = 1_460;

pub(super) fn bufferbloat(facts: &FlowFacts<'_>) -> Option<Rule> {
    let (queue_ns, longest_ns) = facts.model.queue_ns?;
    let base_ns = facts.model.base_rtt_ns()?;
    if ack_path_full(facts).is_some() {
        return None;
    }
    // Only segments in flight can wait in a queue.
    let could_queue = u64::from(facts.stats().max_in_flight) >= 8 * facts.full
        || facts
            .model
            .to_sender
            .queue_ns(50)
            .is_some_and(|ns| ns >= BLOATED_NS);
    if facts.class != FlowClass::Bulk
        || !facts.model.is_queued
        || !could_queue
        || queue_ns < BLOATED_NS
        || queue_ns < 3 * base_ns && longest_ns < NO_PATH_NS
    {
        return None;
    }
    let rate = facts.goodput();
    let needed = (rate * (base_ns as f64 + 5e6) / 1e9) as u64;
    let needed = needed.max(4 * facts.full);
    let most = u64::from(facts.stats().max_in_flight);
    let mut figures = evidence([
        ("queue_ns_p50", queue_ns as f64),
        ("base_rtt_ns", base_ns as f64),
    ]);
    // Near the receiver, the capture does not show what is in flight before it.
    let enough = if needed < most {
        figures.insert("needed_in_flight_bytes".to_owned(), needed as f64);
        figures.insert("most_in_flight_bytes".to_owned(), most as f64);
        format!(": {} fill this path", format::bytes(needed))
    } else {
        String::new()
    };
    Some(Rule {
        share: facts.share(Limit::PathRate).max(bloated_share(facts)),
        cause: Cause::Bufferbloat,
        confidence: 0.85,
        summary: format!(
            "Segments wait {} (median) in a queue on the path, where an empty path takes {}: everything else on this link \
             waits as long.",
            format::time(queue_ns),
            format::time(base_ns),
        ),
        evidence: figures,
        advice: format!(
            "The rate stays the same with less in flight{enough}. Limit the queue at the slowest link (a shorter transmit \
             ring, tc fq_codel or cake), or the receiver's window.",
        ),
        // It costs other traffic, not this transfer.
        limits: &[Limit::PathRate],
        has_gain: false,
    })
}

/// True for a queue of a full path that a conversation bears: the sentence about the path states it.
pub(super) fn is_bearable(rule: &Rule) -> bool {
    let waits_ns = rule.evidence.get("queue_ns_p50");
    rule.cause == Cause::Bufferbloat && waits_ns.is_some_and(|ns| *ns < BEARABLE_NS)
}

/// Share of the time in which what the sender sends waits for longer than a conversation bears. The rate of a radio changes, so that its
/// fastest one shows little of that.
fn bloated_share(facts: &FlowFacts<'_>) -> f64 {
    let trips = &facts.model.to_receiver;
    let Some(base_ns) = trips.base_ns().filter(|_| !facts.model.is_near_receiver()) else {
        return 0.0;
    };
    let samples = trips.samples().iter();
    let bloated = samples.filter(|(_, ns)| *ns >= base_ns + BLOATED_NS);
    // Several wait at once.
    let (mut waited_ns, mut until_ns) = (0, 0);
    for (acked_ns, ns) in bloated {
        waited_ns += acked_ns.saturating_sub(until_ns.max(acked_ns - ns));
        until_ns = until_ns.max(*acked_ns);
    }
    facts.share_of(waited_ns)
}

/// A maximum segment size below that of Ethernet: more headers and more work for each octet.
pub(super) fn small_mss(facts: &FlowFacts<'_>) -> Option<Rule> {
    let announced = facts.mss();
    let sent = facts.model.view.sent.iter().filter(|it| it.len > 0);
    let (mut all, mut full, mut pushed) = (0_u64, 0_u64, 0_u64);
    for it in sent {
        all += 1;
        pushed += u64::from(it.is_pushed);
        full += u64::from(u64::from(it.len) == facts.full);
    }
    // A sender that limits its segments to half of a small window (RFC 9293 section 3.8.6.2.1) fills that.
    let largest_window = facts.model.largest_window();
    if largest_window < ETHERNET_MSS || announced.is_none() && largest_window <= 2 * facts.full {
        return None;
    }
    // Nearly all segments are of one size: without the handshake, or where a router clamps the MSS behind the capture point,
    // that is what the path permits.
    let is_uniform = full * 10 >= all * 9 && largest_window >= 4 * facts.full;
    let clamped = announced.filter(|mss| facts.full + 40 < *mss && is_uniform);
    let mss = match clamped {
        Some(_) => facts.full,
        None => announced.unwrap_or(facts.full),
    };
    let is_limit = full * 10 >= all * 8 && facts.full + 40 >= mss;
    // Without the MSS of the handshake and without PSH, only segments with others in flight are known to be parts of more.
    let alone = facts.sent_alone().into_iter().filter(|alone| *alone);
    let may_be_writes = (announced.is_none() || clamped.is_some())
        && facts.hides_writes()
        && alone.count() as u64 * 2 > all;
    if facts.class != FlowClass::Bulk
        || may_be_writes
        || mss > SMALL_MSS
        || !is_limit
        || all < 50
        || pushed * 2 >= all
    {
        return None;
    }
    let efficiency = |payload: f64| payload / (payload + 78.0);
    let mut figures = evidence([
        ("mss_bytes", mss as f64),
        ("full_segments", full as f64),
        ("segments_factor", 1460.0 / mss as f64),
    ]);
    if let Some(announced) = clamped {
        figures.insert("announced_mss_bytes".to_owned(), announced as f64);
    }
    let share = (1.0 - efficiency(mss as f64) / efficiency(1460.0)).max(0.05);
    // Where a slow path is full, hosts have time for more segments: only the headers cost anything.
    let is_slow = facts.goodput() < FEW_SEGMENTS_PER_S * mss as f64;
    let is_full = rate::is_full(facts) || rate::is_steady(facts);
    if is_full && is_slow && share < MIN_HEADER_COST {
        return None;
    }
    Some(Rule {
        share,
        cause: Cause::SmallMss,
        confidence: match (announced, clamped) {
            (Some(_), None) => 0.85,
            _ => 0.65,
        },
        summary: format!(
            "Segments carry {} octets at most, where {}: {:.1} times as many segments, acknowledgments, headers and \
             interrupts.",
            format::count(mss),
            match clamped {
                Some(announced) => format!(
                    "{} offers to take {}",
                    facts.receiver,
                    format::count(announced)
                ),
                None => "Ethernet permits 1,460".to_owned(),
            },
            1460.0 / mss as f64,
        ),
        evidence: figures,
        advice: match clamped {
            Some(_) => {
                "Look for the MSS or MTU that the sender uses, and for a router between the ends that rewrites the MSS \
                 option (iptables TCPMSS, nftables maxseg): compare the SYNs of captures at both ends."
            }
            None => {
                "Raise the MSS to 1,460 (lwIP: TCP_MSS, default 536), and the buffers with it, unless a link on the path \
                 has a smaller MTU."
            }
        }
        .to_owned(),
        limits: &[],
        has_gain: false,
    })
}
