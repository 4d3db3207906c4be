//! The receiver's window.

use super::class::FlowClass;
use super::crumbs::crumbs;
use super::facts::FlowFacts;
use super::flight::ConstantFlight;
use super::in_steps::Steps;
use super::own_queue::{always_waits, grows_with_flight};
use super::rate;
use super::rhythm::Rhythm;
use super::rule::Rule;
use super::silly_window::{silly_at_edges, silly_window};
use super::unread::{UNREAD, Unread, reads_slowly};
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span, WindowScale, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.15;
/// A window closed for longer is a stall of the reading program, not its pace.
const STALL_NS: u64 = 30_000_000;
/// A window that is closed so often is no accident.
const MIN_CLOSES: u64 = 5;
/// What arrives behind a lost segment closes a small window, too, until the segment comes again.
const MIN_CLOSED: f64 = 0.01;
/// A program that reads slowly leaves the window closed for this part of the time at least in which it is full.
const CLOSED_DIVISOR: f64 = 20.0;
/// Fewer are no rhythm.
const MIN_STALLS: usize = 3;
/// One or two stalls stand out if so many windows pass for each.
const WINDOWS_OF_FEW: u64 = 4;
/// Between two closings, a program that reads in steps takes what its buffer holds: common stacks grant a half of it as a
/// window (Linux: `tcp_adv_win_scale`). One that reads all that arrives until it stops takes more than that.
const WINDOWS_OF_BUFFER: u64 = 2;
/// Between stalls, the rate is at least the fastest one by this factor.
const MAX_SLOWED: f64 = 2.0;
/// A window that stays below a third of the largest one is what unread data leaves of the buffer.
const SHRUNK: u64 = 3;
/// Fewer waits for a small window are no habit.
const MIN_SHRUNK: usize = 20;
/// A smaller buffer holds little unread data.
const MIN_BUFFER_SEGMENTS: u64 = 4;
/// The evidence that a program does not read for some time, and reads all that arrives between these times.
pub(super) const STALLS: &str = "stalls";
/// Largest window without scaling (RFC 9293 section 3.1).
const UNSCALED: u32 = 65_535;

pub(super) fn receive_window(facts: &FlowFacts<'_>) -> Option<Rule> {
    if let Some(rule) = crumbs(facts) {
        return Some(rule);
    }
    let at_edges = silly_at_edges(facts);
    if let Some(rule) = at_edges.and_then(|share| silly_window(facts, share)) {
        return Some(rule);
    }
    let closed = facts.share(Limit::ClosedWindow);
    let full = facts.share(Limit::ReceiveWindow) + always_full(facts);
    // A receiver that closes its window again and again acknowledges late because it reads late.
    let closes = facts.stats().zero_windows >= MIN_CLOSES && closed >= MIN_CLOSED;
    let shrunk = shrunk_window(facts);
    let unread = Unread::of(facts);
    let shown = unread.filter(Unread::is_shown);
    let late = if closes || shrunk.is_some() || shown.is_some() {
        facts.share(Limit::LateAck)
    } else {
        0.0
    };
    // What paces itself to the rate of a reader rarely fills the window that its unread data leaves.
    if let Some(window) = shrunk.filter(|_| closed + full < MIN_SHARE && is_path_full(facts)) {
        let share = full + late + facts.share(Limit::PathRate);
        return Some(Rule {
            share,
            limits: &[Limit::PathRate, Limit::ReceiveWindow, Limit::LateAck],
            ..slow_reader(facts, window)
        });
    }
    if closed + full + late < MIN_SHARE || facts.class == FlowClass::Short && closed == 0.0 {
        return None;
    }
    // What arrives meanwhile may close a small window now and then: it waits for a processor, and no program.
    let is_reader = closed >= full / CLOSED_DIVISOR || shrunk.is_some() || shown.is_some();
    if closes && is_reader || closed >= MIN_SHARE / 2.0 && facts.stats().zero_windows > 0 {
        return Some(closed_window(facts, closed, full + late));
    }
    if let Some(rule) = silly_window(facts, full) {
        return Some(rule);
    }
    // No unread data shows in the window.
    let is_read = shrunk.is_none() && shown.is_none();
    // What fills a path, or is merged by drivers, is acknowledged without such waits.
    if is_read
        && !rate::is_full(facts)
        && let Some(steps) = Steps::of(facts)
    {
        return Some(steps.slow_reader(facts, full + late));
    }
    // A full path shows the same data in flight, and its queue hides how old acknowledgments are at the sender.
    let is_inferred = matches!(facts.model.scale, WindowScale::Inferred(_));
    if is_inferred && (rate::is_full(facts) || rate::is_steady(facts)) {
        return None;
    }
    // A window that is full because a link passes what is in it one after the other only lengthens the queue.
    if rate::is_served_continuously(facts) || grows_with_flight(facts, facts.model.largest_window())
    {
        return None;
    }
    // A larger window would not arrive sooner where something before the receiver, or the receiver, always has segments to pass.
    if is_read && always_waits(facts, facts.model.largest_window()) {
        return None;
    }
    Some(match (shrunk, shown) {
        (Some(window), _) => Rule {
            share: full + late,
            ..slow_reader(facts, window)
        },
        (None, Some(unread)) => unread.slow_reader(facts, full + late),
        (None, None) => {
            let mut rule = small_window(facts, full);
            if let Some(unread) = unread {
                rule.evidence.insert(UNREAD.to_owned(), unread.share);
            }
            rule
        }
    })
}

/// Share of the time in which the data in flight waits for acknowledgments, if it is the whole window in each round trip:
/// near the receiver, the time at which the sender sees an acknowledgment is an estimate.
fn always_full(facts: &FlowFacts<'_>) -> f64 {
    let window = facts.model.largest_window();
    let is_window = |it: &ConstantFlight| it.bytes <= window && it.bytes + facts.full > window;
    let knows_window = facts.model.scale.shift().is_some();
    match ConstantFlight::of(facts).filter(is_window) {
        Some(flight) if knows_window => flight.limited_share(facts),
        _ => 0.0,
    }
}

fn closed_window(facts: &FlowFacts<'_>, closed: f64, full: f64) -> Rule {
    let is_stall = |span: &&Span| span.limit == Limit::ClosedWindow && span.ns() >= STALL_NS;
    let stalls: Vec<Span> = facts.model.spans.iter().filter(is_stall).copied().collect();
    let stalled_ns: u64 = stalls.iter().map(Span::ns).sum();
    let rhythm = Rhythm::of_stalls(&stalls);
    let mut figures = evidence([
        ("closed_window_share", closed),
        ("receive_window_share", full),
        ("zero_windows", facts.stats().zero_windows as f64),
        ("read_bytes_per_s", facts.goodput()),
        ("most_window_bytes", facts.model.largest_window() as f64),
    ]);
    // Between stalls a program reads all that arrives; a slow one takes no more than a buffer until the next closing.
    let reading = facts.goodput() / (1.0 - facts.share_of(stalled_ns)).max(0.1);
    let per_stall = facts.bytes() / stalls.len().max(1) as u64;
    let windows = if stalls.len() >= MIN_STALLS {
        2
    } else {
        WINDOWS_OF_FEW
    };
    let is_stalling = !stalls.is_empty()
        && per_stall >= windows * facts.model.largest_window()
        && per_closing(facts).is_none_or(|it| {
            it > WINDOWS_OF_BUFFER * facts.model.largest_window() + facts.full
        })
        && facts.share_of(stalled_ns) >= 0.6 * closed
        && facts.share_of(stalled_ns) < 0.9
        // A program that reads all else leaves the window open between its stalls, or the path sets the rate meanwhile.
        && (full <= closed || facts.fastest().is_none_or(|rate| rate <= MAX_SLOWED * reading));
    if is_stalling && (rhythm.is_some() || stalls.len() < MIN_STALLS) {
        let mean_ns = stalled_ns / stalls.len() as u64;
        figures.insert(STALLS.to_owned(), stalls.len() as f64);
        figures.insert("stall_ns_mean".to_owned(), mean_ns as f64);
        let interval = rhythm.map_or(String::new(), |rhythm| {
            figures.insert("period_ns".to_owned(), rhythm.period_ns as f64);
            let regularly = if rhythm.is_regular { ", regularly" } else { "" };
            format!(", every {}{regularly}", format::time(rhythm.period_ns))
        });
        let stopped = match stalls.len() {
            1 => format!("once, for {}", format::time(mean_ns)),
            many => format!(
                "{} for {} on average",
                format::times(many as u64),
                format::time(mean_ns)
            ),
        };
        return Rule {
            share: closed + full,
            // Its stack answers meanwhile.
            cause: Cause::ReceiverReadsSlowly,
            confidence: if rhythm.is_some() { 0.85 } else { 0.7 },
            summary: format!(
                "{} closes its window {stopped}{interval}: its program does not read meanwhile.",
                facts.receiver,
            ),
            evidence: figures,
            advice: "Find what runs at these times on the receiver (a flash erase, a timer, a display, a scan): give \
                     the network a higher priority, split the work, or buffer as much as arrives during it."
                .to_owned(),
            limits: &[Limit::ClosedWindow, Limit::ReceiveWindow, Limit::LateAck],
            has_gain: true,
        };
    }
    reads_slowly(
        closed + full,
        0.9,
        format!(
            "{} closes its window {} and keeps it closed for {} of the time: its program reads {}, less than arrives.",
            facts.receiver,
            format::counted(facts.stats().zero_windows, "time"),
            format::percent(closed),
            format::rate(facts.goodput()),
        ),
        figures,
    )
}

/// Octets that usually pass from one closing of the window to the next.
fn per_closing(facts: &FlowFacts<'_>) -> Option<u64> {
    let acks = facts.model.view.acks.windows(2);
    let closings = acks.filter(|pair| pair[0].window > 0 && pair[1].window == 0);
    let closings: Vec<u64> = closings.map(|pair| pair[1].ack).collect();
    // Acknowledgments may be captured out of order.
    let steps = closings
        .windows(2)
        .filter_map(|pair| pair[1].checked_sub(pair[0]))
        .filter(|octets| *octets > 0);
    percentile(steps.collect(), 50)
}

/// A window that stays far below the largest one granted.
#[derive(Clone, Copy, Debug)]
struct ShrunkWindow {
    /// Three of four acknowledgments grant this much or less, or those that the sender waited for.
    usual: u64,
    largest: u64,
}

/// The window, if it stays far below the largest one granted: the buffer is full of what the program has not read.
fn shrunk_window(facts: &FlowFacts<'_>) -> Option<ShrunkWindow> {
    usually_shrunk(facts).or_else(|| filled_shrunk(facts))
}

/// The same, if it is so small for most of the time for which the sender has filled it: a program that reads in steps opens it in between.
fn filled_shrunk(facts: &FlowFacts<'_>) -> Option<ShrunkWindow> {
    let model = &facts.model;
    let shift = model.scale.shift()?;
    let mut full = model
        .spans
        .iter()
        .filter(|span| span.limit == Limit::ReceiveWindow)
        .peekable();
    let (mut largest, mut usual, mut count) = (0, 0, 0);
    let (mut all_ns, mut shrunk_ns) = (0, 0);
    for pair in model.view.acks.windows(2) {
        let granted = u64::from(pair[0].window) << shift;
        largest = granted.max(largest);
        let (start_ns, end_ns) = (pair[0].time_ns, pair[1].time_ns);
        while full.next_if(|span| span.end_ns <= start_ns).is_some() {}
        let Some(span) = full.peek() else {
            break;
        };
        let full_ns = end_ns
            .min(span.end_ns)
            .saturating_sub(start_ns.max(span.start_ns));
        all_ns += full_ns;
        if full_ns > 0 && granted * SHRUNK <= largest {
            shrunk_ns += full_ns;
            count += 1;
            usual = granted.max(usual);
        }
    }
    let is_usual = count >= MIN_SHRUNK && shrunk_ns * 2 >= all_ns;
    (is_usual && largest >= MIN_BUFFER_SEGMENTS * facts.full)
        .then_some(ShrunkWindow { usual, largest })
}

fn usually_shrunk(facts: &FlowFacts<'_>) -> Option<ShrunkWindow> {
    let model = &facts.model;
    let shift = model.scale.shift()?;
    let late = &model.view.acks[model.view.acks.len() / 4..];
    let windows: Vec<u64> = late
        .iter()
        .map(|ack| u64::from(ack.window) << shift)
        .collect();
    let usual = percentile(windows, 75)?;
    let largest = model.largest_window();
    if usual * SHRUNK > largest || largest < MIN_BUFFER_SEGMENTS * facts.full || late.len() < 20 {
        return None;
    }
    Some(ShrunkWindow { usual, largest })
}

/// True if segments pass at a steady rate: that of the path, or of the program that reads them.
fn is_path_full(facts: &FlowFacts<'_>) -> bool {
    facts.class == FlowClass::Bulk && rate::is_full(facts)
}

fn slow_reader(facts: &FlowFacts<'_>, window: ShrunkWindow) -> Rule {
    let ShrunkWindow { usual, largest } = window;
    let full = facts.share(Limit::ReceiveWindow);
    let filled = if full >= MIN_SHARE {
        format!(
            ", and {} has filled it for {} of the time",
            facts.sender,
            format::percent(full)
        )
    } else {
        String::new()
    };
    reads_slowly(
        full,
        0.8,
        format!(
            "{}'s window stays at {} or less for most of the time, where {} were granted before{filled}: what arrived waits \
             for its program, which reads {}.",
            facts.receiver,
            format::bytes(usual),
            format::bytes(largest),
            format::rate(facts.goodput()),
        ),
        evidence([
            ("receive_window_share", full),
            ("window_bytes_p75", usual as f64),
            ("most_window_bytes", largest as f64),
            ("read_bytes_per_s", facts.goodput()),
        ]),
    )
}

fn small_window(facts: &FlowFacts<'_>, full: f64) -> Rule {
    let window = facts.model.largest_window().max(1);
    let bound = facts.model.round_trip_ns().map(|rtt_ns| {
        let bytes_per_s = stats::ratio(window as f64 * 1e9, rtt_ns as f64);
        (rtt_ns, bytes_per_s)
    });
    // Without the handshake, a field at its largest value: the receiver has room for more, which a scale would show.
    let is_unscaled = match facts.model.scale {
        WindowScale::Inferred(0) => window == u64::from(UNSCALED),
        _ => {
            facts.connection().is_window_scaled() == Some(false)
                && window > u64::from(UNSCALED) / 4 * 3
        }
    };
    let mut figures = evidence([
        ("receive_window_share", full),
        ("most_window_bytes", window as f64),
    ]);
    // A window that is not always full allows more than what passed; one that allows less is not the whole window.
    let plausible = facts.goodput() * 0.9..=facts.goodput() / full.max(MIN_SHARE) * 3.0;
    let allows = match bound.filter(|(_, bytes_per_s)| plausible.contains(bytes_per_s)) {
        Some((rtt_ns, bytes_per_s)) => {
            figures.insert("rtt_ns".to_owned(), rtt_ns as f64);
            figures.insert("window_limit_bytes_per_s".to_owned(), bytes_per_s);
            format!(
                ": {} at a round trip of {} allow {}",
                format::bytes(window),
                format::time(rtt_ns),
                format::rate(bytes_per_s)
            )
        }
        None => format!(" of {}", format::bytes(window)),
    };
    let is_inferred = matches!(facts.model.scale, WindowScale::Inferred(_));
    let note = if is_inferred {
        " (The options of the handshake are not in the capture; the scale of the window follows from the data in flight.)"
    } else {
        ""
    };
    Rule {
        share: full,
        cause: if is_unscaled {
            Cause::NoWindowScaling
        } else {
            Cause::ReceiveWindow
        },
        confidence: if is_inferred { 0.7 } else { 0.9 },
        summary: format!(
            "For {} of the time {} has filled {}'s window{allows}.{note}",
            format::percent(full),
            facts.sender,
            facts.receiver,
        ),
        evidence: figures,
        advice: if is_unscaled {
            "Enable window scaling (RFC 7323) at both ends, and a receive buffer of the rate times the round trip."
                .to_owned()
        } else {
            "Enlarge the receive buffer to the required rate times the round trip, and the receive queue with it: the \
             queue must hold a whole window."
                .to_owned()
        },
        limits: if full > facts.share(Limit::ReceiveWindow) {
            &[Limit::ReceiveWindow, Limit::InFlight, Limit::SlowStart]
        } else {
            &[Limit::ReceiveWindow]
        },
        has_gain: true,
    }
}
