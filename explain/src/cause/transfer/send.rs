//! Limits of a transfer that this machine sends, from the sender's side of its sockets.

use super::Limit;
use super::figures::Figures;
use super::path::{self, LossKind, Losses, time};
use crate::cause::scored::evidence;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};

/// From this share of the time on, a state of the socket is the limit.
const MAIN_SHARE: f64 = 0.5;
/// Share of the time from which on a state of the socket occurs regularly.
const SOME_SHARE: f64 = 0.1;
/// Share of the window in flight from which on it is full: it holds whole segments.
const FILLED: f64 = 0.8;
/// With a smaller median window than this share of the largest one, the receiver does not empty its buffer.
const SHRUNK: f64 = 0.5;
/// An acknowledgment that comes this much later than the shortest round trip waited for the timer of delayed
/// acknowledgments (RFC 9293 section 3.8.6.3: below 500 ms; 40 to 250 ms are usual).
const DELAYED_NS: f64 = 30e6;
/// A transfer of fewer round trips may end in slow start.
const SHORT_ROUND_TRIPS: f64 = 30.0;
/// The sender's program is the limit if the socket has data for a smaller share of the time.
const IDLE_SHARE: f64 = 0.7;

/// The limit of a transfer to the device.
pub(super) fn limit(figures: &Figures) -> Limit {
    let losses = Losses {
        segments: figures.lost_segments,
        share: figures.loss(),
        is_estimated: false,
    };
    if let Some(finding) = path::rate(figures) {
        // A window larger than the path needs fills the queue and is no limit.
        return Limit::Known(finding);
    }
    if figures.window_limited >= MAIN_SHARE || fills_window(figures) {
        return window(figures);
    }
    match path::losses(figures, losses) {
        Some(LossKind::Named(finding)) => return Limit::Known(finding),
        Some(LossKind::Unknown(why)) => return Limit::Unknown(why),
        None => {}
    }
    if figures.buffer_limited >= MAIN_SHARE {
        return Limit::Known(buffer(figures));
    }
    if let Some(finding) = slow_start(figures) {
        return Limit::Known(finding);
    }
    if figures.busy > 0.0 && figures.busy < IDLE_SHARE {
        return Limit::Known(idle(figures));
    }
    Limit::Unknown(unknown(figures))
}

/// True if the window stopped the sender at times, and as much is in flight as it holds: a sender that paces its
/// segments (BBR, fq) waits for its own clock in between.
fn fills_window(figures: &Figures) -> bool {
    let (Some(window), Some(in_flight)) = (figures.window, figures.in_flight()) else {
        return false;
    };
    let is_filled = (FILLED..=1.25).contains(&(in_flight / window.max(1.0)));
    figures.window_limited >= SOME_SHARE && is_filled && !figures.is_queued()
}

/// The receiver's window stopped the sender most of the time.
fn window(figures: &Figures) -> Limit {
    let (Some(rtt), Some(min)) = (figures.rtt_ns, figures.min_rtt_ns) else {
        return Limit::Unknown(unknown(figures));
    };
    let share = figures.window_limited;
    let (rate, mss) = (figures.steady_rate, figures.mss.max(1.0));
    let limited = format!(
        "the device's window stopped the sender for {} of the time",
        format::percent(share)
    );
    let mut facts = evidence([
        ("window_limited_share", share),
        ("rtt_ns", rtt),
        ("min_rtt_ns", min),
        ("rate_bytes_per_s", rate),
    ]);
    let window = figures.window.unwrap_or(0.0);
    if let Some(window) = figures.window {
        facts.insert("window_bytes".to_owned(), window);
    }
    if figures.window.is_some() && window < mss * 2.0 && rtt - min >= DELAYED_NS {
        return Limit::Known(Finding {
            cause: Cause::LateAcks,
            confidence: 0.8,
            summary: format!(
                "The device acknowledges {} after the shortest round trip of {}: its window of {} holds less than two \
                 segments, and it delays the acknowledgment of one; {limited}.",
                time(rtt - min),
                time(min),
                format::bytes(window as u64),
            ),
            evidence: facts,
            advice: "Enlarge the device's receive window to at least two segments (lwIP: TCP_WND), or let it \
                     acknowledge each segment."
                .to_owned(),
        });
    }
    let median = figures.median_window.unwrap_or(window);
    if figures.window.is_some() && window >= 4.0 * mss && median < window * SHRUNK {
        return Limit::Known(Finding {
            cause: Cause::ReceiverReadsSlowly,
            confidence: 0.8,
            summary: format!(
                "The device's program reads more slowly than data arrive: of its window of {}, {} remain free in the \
                 median; {limited}. It reads {}.",
                format::bytes(window as u64),
                format::bytes(median as u64),
                format::rate(rate),
            ),
            evidence: facts,
            advice: "Profile the receiving program: its reads, copies and storage. A larger window changes nothing."
                .to_owned(),
        });
    }
    if figures.is_queued() {
        return Limit::Unknown(format!(
            "{limited}, but the round trip grew from {} to {}, so a larger window would wait in a queue: of the path, or \
             in front of the device's processor; `linerate sweep` or a capture at the device decides",
            time(min),
            time(rtt),
        ));
    }
    // What one connection has in flight at this rate and round trip cannot exceed the window by much.
    let product = figures.in_flight().unwrap_or(0.0);
    // At the end of a transfer that stands still, the rate is 0.
    let agrees = product >= 1.0 && (figures.window.is_none() || product <= window * 1.25);
    let granted = match figures.window {
        Some(window) => format!(
            "The device's receive window of {} limits the rate: ",
            format::bytes(window as u64)
        ),
        None => "The device's receive window limits the rate: ".to_owned(),
    };
    let product = if agrees {
        format!(
            "; {} at a round trip of {} are {} in flight",
            format::rate(rate / figures.connections.max(1) as f64),
            time(rtt),
            format::bytes(product as u64)
        )
    } else {
        String::new()
    };
    let scaling = if (65_000.0..=65_535.0).contains(&window) {
        " Without window scaling (RFC 7323) it cannot exceed 65,535 B."
    } else {
        ""
    };
    Limit::Known(Finding {
        cause: Cause::ReceiveWindow,
        confidence: if share >= 0.8 { 0.95 } else { 0.85 },
        summary: format!("{granted}{limited}{product}.{scaling}"),
        evidence: facts,
        advice: "Enlarge the device's receive window (lwIP: TCP_WND and PBUF_POOL_SIZE; Linux: net.ipv4.tcp_rmem, \
                 SO_RCVBUF), or shorten the round trip."
            .to_owned(),
    })
}

/// This machine's send buffer stopped the sender.
fn buffer(figures: &Figures) -> Finding {
    Finding {
        cause: Cause::SendBuffer,
        confidence: 0.85,
        summary: format!(
            "This machine's send buffer stopped the sender for {} of the time: it holds less than the path and the \
             device's window permit.",
            format::percent(figures.buffer_limited)
        ),
        evidence: evidence([
            ("buffer_limited_share", figures.buffer_limited),
            ("rate_bytes_per_s", figures.steady_rate),
        ]),
        advice: "Omit -w, or give a larger one; else raise net.ipv4.tcp_wmem.".to_owned(),
    }
}

/// A short transfer ended before the congestion window had grown.
fn slow_start(figures: &Figures) -> Option<Finding> {
    let rtt = figures.rtt_ns?;
    let round_trips = figures.span_ns / rtt.max(1.0);
    let is_slow_start = figures.is_in_slow_start
        && figures.lost_segments == 0.0
        && round_trips <= SHORT_ROUND_TRIPS
        && !figures.is_queued();
    is_slow_start.then(|| Finding {
        cause: Cause::CongestionWindow,
        confidence: 0.8,
        summary: format!(
            "The transfer ended in slow start: it lasted {round_trips:.0} round trips of {}, in which the congestion \
             window grew to {}, without a loss.",
            time(rtt),
            format::bytes(figures.congestion_window as u64),
        ),
        evidence: evidence([
            ("round_trips", round_trips),
            ("rtt_ns", rtt),
            ("congestion_window_bytes", figures.congestion_window),
        ]),
        advice: "Measure a longer transfer (-t); for short ones, keep the connection open or raise the initial \
                 congestion window."
            .to_owned(),
    })
}

/// The socket was empty.
fn idle(figures: &Figures) -> Finding {
    Finding {
        cause: Cause::HostSendLimit,
        confidence: 0.7,
        summary: format!(
            "This machine's socket had data to send for {} of the time only: its program does not keep up.",
            format::percent(figures.busy)
        ),
        evidence: evidence([("busy_share", figures.busy)]),
        advice: "Run linerate on an idle machine, or with fewer streams.".to_owned(),
    }
}

/// What is known if no rule decides.
fn unknown(figures: &Figures) -> String {
    let rtt = figures.rtt_ns.map_or_else(String::new, |rtt| {
        let min = figures.min_rtt_ns.unwrap_or(rtt);
        format!(", round trip {} (shortest {})", time(rtt), time(min))
    });
    format!(
        "the device's window stopped the sender for {} of the time, this machine's buffer for {}, {} of the segments were \
         lost{rtt}: none of these is the limit; a capture (--capture) decides",
        format::percent(figures.window_limited),
        format::percent(figures.buffer_limited),
        format::percent(figures.loss()),
    )
}
