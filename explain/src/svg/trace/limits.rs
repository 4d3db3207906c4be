//! The limit of the connection over time.

use std::fmt::Write as _;

use super::{Panel, Picture, path};
use linerate_capture::model::Limit;
use linerate_results::format;

const HEIGHT: f64 = 26.0;

/// The class and the name of each limit.
const fn style(limit: Limit) -> (&'static str, &'static str) {
    match limit {
        Limit::Handshake => ("m-handshake", "limit: handshake"),
        Limit::PathRate => ("m-path-rate", "limit: path rate"),
        Limit::ReceiveWindow => ("m-receive-window", "limit: receive window"),
        Limit::ClosedWindow => ("m-closed-window", "limit: closed window"),
        Limit::InFlight => ("m-congestion-window", "limit: data in flight"),
        Limit::SlowStart => ("m-slow-start", "limit: slow start"),
        Limit::LateAck => ("m-receiver", "limit: late acknowledgments"),
        Limit::SenderIdle => ("m-sender", "limit: sending application"),
        Limit::FastRecovery => ("m-random-loss", "limit: fast recovery"),
        Limit::Timeout => ("m-time-out", "limit: time-outs"),
        Limit::Tail => ("m-tail", "tail"),
    }
}

/// The time of a limit.
fn total_ns(picture: &Picture<'_>, limit: Limit) -> u64 {
    let spans = picture.limits.iter().filter(|span| span.limit == limit);
    spans.map(|span| span.end_ns - span.start_ns).sum()
}

/// The limits that last long enough to be visible: 1% of the time.
pub(super) fn legend(picture: &Picture<'_>) -> Vec<(&'static str, &'static str)> {
    let limits = Limit::ALL.into_iter();
    let seen = limits.filter(|limit| total_ns(picture, *limit) > picture.duration_ns / 100);
    seen.map(style).collect()
}

/// The panel.
pub(super) fn panel(picture: &Picture<'_>) -> Panel {
    let mut curves = String::new();
    for limit in Limit::ALL {
        let mut data = String::new();
        for span in picture.limits.iter().filter(|span| span.limit == limit) {
            let x = |ns: u64| picture.x(ns.saturating_sub(picture.start_ns));
            let _ = write!(
                data,
                "M{} 0H{}V{HEIGHT}H{0}z",
                x(span.start_ns),
                x(span.end_ns)
            );
        }
        let (class, name) = style(limit);
        let title = format!("{name}, {}", format::time(total_ns(picture, limit)));
        curves += &path(class, &title, &data);
    }
    Panel {
        name: "limited by",
        figures: String::new(),
        curves,
        height: HEIGHT,
        top: 0,
        format_value: format::bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_a_colour_of_its_own() {
        let sheet = include_str!("../../templates/trace.css");
        let mut colours: Vec<&str> = Vec::new();
        for limit in Limit::ALL {
            let (class, name) = style(limit);
            let rule = format!("i.{class}{{background:");
            let (_, rest) = sheet
                .split_once(&rule)
                .unwrap_or_else(|| panic!("{name} has no colour"));
            let colour = rest.split('}').next().unwrap_or_default();
            assert!(!colours.contains(&colour), "{name} shares {colour}");
            assert!(
                sheet.contains(&format!("tspan.{class}{{fill:{colour}}}")),
                "{name}"
            );
            colours.push(colour);
        }
    }
}
