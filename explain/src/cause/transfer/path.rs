//! Limits of the path, seen from either end: its rate, and losses.

use super::figures::Figures;
use super::line::{Packets, TOLERANCE};
use crate::cause::scored::evidence;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding};
use linerate_results::stats;

/// A queue that is never empty delivers evenly: its rate varies by less than this. A transfer with losses, or
/// behind a busy processor, varies more.
const EVEN: f64 = 0.06;
/// A path shared with acknowledgments or other traffic varies by less than this.
const SHARED: f64 = 0.15;
/// Fewer losses are part of a full queue's normal working, or of a single event.
const MIN_LOSSES: f64 = 3.0;
const MIN_LOSS: f64 = 0.001;
/// The constant of the rate of TCP by its loss (Mathis et al., 1997): MSS / RTT × C / √p. C is 0.9 with delayed
/// acknowledgments to 1.3 without; CUBIC exceeds it by up to two.
const MATHIS: f64 = 1.22;
/// From this multiple of that rate on, losses are not spread at random: several fall on each reduction of the
/// window.
const CLUSTERED: f64 = 1.7;
/// Up to this multiple of it they are.
const SCATTERED: f64 = 1.7;
/// Relative standard deviation of Reno's rate over one loss: its window grows from a half to the whole (0.19 of the mean),
/// and losses at random follow each other irregularly.
const SPREAD: f64 = 0.4;
/// A rate that is capped varies by less than this share of the spread expected, one that losses at random limit by more.
const CAPPED: f64 = 0.4;
const UNEVEN: f64 = 0.5;

/// True if the rate does not vary.
pub(super) fn is_even(figures: &Figures) -> bool {
    figures.variation.is_some_and(|it| it <= EVEN)
}

/// A full path: data wait in a queue that delivers at an even rate.
pub(super) fn rate(figures: &Figures) -> Option<Finding> {
    let variation = figures.variation?;
    if !figures.is_queued() || variation > SHARED {
        return None;
    }
    let (evenness, confidence) = if is_even(figures) {
        ("is even", 0.85)
    } else {
        ("varies little", 0.7)
    };
    let (rtt, min) = (figures.rtt_ns?, figures.min_rtt_ns?);
    let (rate, queued) = (figures.steady_rate, figures.queued()?);
    let packets = Packets::tcp(figures.mss, figures.has_timestamps);
    let standard = packets.standard_line(rate);
    let kind = match standard {
        Some(line) => format!(
            "This is the line rate of {} Ethernet, less its framing.",
            format::bits(line)
        ),
        None => packets.beside_standard_line(rate),
    };
    let losses = if figures.lost_segments > 0.0 {
        format!(
            " The {} losses are the normal working of a full queue.",
            format::count(figures.lost_segments as u64)
        )
    } else {
        String::new()
    };
    let mut figures_of = evidence([
        ("path_bytes_per_s", rate),
        ("rtt_ns", rtt),
        ("min_rtt_ns", min),
        ("queued_bytes", queued),
        ("variation", variation),
    ]);
    if let Some(line) = standard {
        figures_of.insert("standard_bits_per_s".to_owned(), line);
    }
    Some(Finding {
        cause: Cause::PathRate,
        confidence: if standard.is_some() {
            0.95
        } else {
            confidence
        },
        summary: format!(
            "The path is full at {}: the rate {evenness}, and the round trip is {} instead of {}, as {} wait in a \
             queue. {kind}{losses}",
            format::rate(rate),
            time(rtt),
            time(min),
            format::bytes(queued as u64),
        ),
        evidence: figures_of,
        advice: match standard {
            Some(_) => "A faster link is the only way to a higher rate.".to_owned(),
            None => "Look for the element with this rate: a shaper, a switch port, a radio link, the device's \
                     processor. `linerate sweep` shows whether UDP saturates at the same rate."
                .to_owned(),
        },
    })
}

/// Figures of losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    pub(super) segments: f64,
    pub(super) share: f64,
    /// True if the number is estimated from segments that arrived out of order.
    pub(super) is_estimated: bool,
}

impl Losses {
    /// True if there are enough to limit a transfer.
    pub(super) fn matter(&self) -> bool {
        self.segments >= MIN_LOSSES && self.share >= MIN_LOSS
    }
}

/// Result of judging losses without a queue.
pub(super) enum LossKind {
    /// A cause.
    Named(Finding),
    /// The figures do not decide.
    Unknown(String),
}

/// Losses although no queue is full: at random, or by a policer.
pub(super) fn losses(figures: &Figures, losses: Losses) -> Option<LossKind> {
    if !losses.matter() || figures.is_queued() {
        return None;
    }
    let (rtt, min) = (figures.rtt_ns?, figures.min_rtt_ns?);
    let each = figures.steady_rate / figures.connections.max(1) as f64;
    // Multiple of the rate that losses at random permit.
    let permitted = MATHIS * figures.mss * 1e9 / rtt / losses.share.sqrt();
    let multiple = stats::ratio(each, permitted);
    let counted = format!(
        "{}{} of {} segments were lost ({}) while the round trip stayed at {} (shortest {})",
        if losses.is_estimated { "about " } else { "" },
        format::count(losses.segments as u64),
        format::count(total(figures) as u64),
        format::percent(losses.share),
        time(rtt),
        time(min),
    );
    let facts = || {
        evidence([
            ("lost_segments", losses.segments),
            ("loss_ratio", losses.share),
            ("rtt_ns", rtt),
            ("min_rtt_ns", min),
            ("rate_bytes_per_s", figures.steady_rate),
            ("rate_permitted_by_loss_bytes_per_s", permitted),
            ("variation", figures.variation.unwrap_or(0.0)),
        ])
    };
    // At random, an interval has so many losses, and the rates of intervals differ accordingly.
    let in_interval = losses.share * each / figures.mss.max(1.0) * figures.interval_ns / 1e9;
    let expected = SPREAD / in_interval.max(1.0).sqrt();
    let ratio = figures.variation.map(|it| it / expected);
    let is_capped = ratio.is_some_and(|it| it <= CAPPED);
    let is_uneven = ratio.is_some_and(|it| it >= UNEVEN);
    // A sender that does not reduce its window at a loss, or an unknown one, gives no rate for a loss.
    let is_loss_based = figures.is_loss_based == Some(true);
    // Losses in groups cost less than as many at random: the rate is higher, and even.
    if is_capped || (is_even(figures) && multiple >= CLUSTERED) {
        return Some(LossKind::Named(Finding {
            cause: Cause::Policed,
            confidence: if is_loss_based { 0.85 } else { 0.65 },
            summary: format!(
                "{counted}, and yet the rate stays at {}: something on the path drops what exceeds this rate, instead of \
                 delaying it.",
                format::rate(figures.steady_rate),
            ),
            evidence: facts(),
            advice: "Shape instead of policing, or send at the policer's rate: a queue of one round trip avoids the \
                     losses. A capture (--capture) shows the rate at which drops begin."
                .to_owned(),
        }));
    }
    if is_uneven && (multiple <= SCATTERED || !is_loss_based) {
        return Some(LossKind::Named(Finding {
            cause: Cause::RandomLoss,
            confidence: if is_loss_based { 0.85 } else { 0.6 },
            summary: format!(
                "{counted}: no queue was full. {} It reached {}.",
                match figures.is_loss_based {
                    Some(false) => "Most senders take each loss for congestion; this machine's slows down less.",
                    _ => "TCP takes each loss for congestion and slows down.",
                },
                format::rate(each),
            ),
            evidence: facts(),
            advice: "Find where frames are lost: cable and connectors, error counters of both ends (ethtool -S), the \
                     duplex setting, the device's receive ring. `linerate sweep` shows whether the loss depends on \
                     the load."
                .to_owned(),
        }));
    }
    Some(LossKind::Unknown(format!(
        "{counted}: either losses at random, or a policer; --capture shows whether they come in groups"
    )))
}

fn total(figures: &Figures) -> f64 {
    match figures.direction {
        Direction::FromDevice => figures.received_segments,
        _ => figures.sent_segments,
    }
}

/// The transfer fills the line of this machine.
pub(super) fn at_line_rate(
    figures: &Figures,
    max_rate: f64,
    is_nominal: bool,
    line: &str,
) -> Option<Finding> {
    let rate = figures.steady_rate.max(figures.rate);
    let share = stats::ratio(rate, max_rate);
    if !(1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&share) {
        return None;
    }
    Some(Finding {
        cause: Cause::AtLineRate,
        confidence: if is_nominal { 0.9 } else { 0.98 },
        summary: format!(
            "The transfer runs at line rate: {} is {} of {}, the highest rate of TCP on {line}.",
            format::rate(rate),
            format::percent(share),
            format::bit_rate(max_rate),
        ),
        evidence: evidence([
            ("rate_bytes_per_s", rate),
            ("line_goodput_bytes_per_s", max_rate),
        ]),
        advice: "No change needed: only a faster line gives more.".to_owned(),
    })
}

/// A time of a fraction of a nanosecond is rounded.
pub(super) fn time(ns: f64) -> String {
    format::time(ns.round() as u64)
}
