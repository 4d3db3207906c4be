//! A drawn oscilloscope: receive line, transmit line, debug pin.

use super::Svg;
use crate::record::{Burst, ScopeTrace};
use crate::report::format;

const TRACK: f64 = 52.0;
const WAVE: f64 = 26.0;
const FIRST: f64 = 24.0;
/// Where the marks' rows begin, below the three tracks.
const MARKS: f64 = FIRST + 3.0 * TRACK - 4.0;
const ROW: f64 = 36.0;

/// Draws `trace`; time zero is the end of the first frame.
pub fn draw(trace: &ScopeTrace, label: &str) -> String {
    let bottom = MARKS + ROW * trace.marks.len() as f64;
    let mut svg = Svg::new("scope", (bottom + 26.0) as u32, label);
    svg.rect("screen", (0.0, 100.0), (0.0, bottom), label);
    grid(&mut svg, trace, bottom);

    track(&mut svg, 0, "RX line: frames from the peer");
    for burst in &trace.rx {
        draw_burst(&mut svg, trace, burst, 0);
    }
    track(&mut svg, 1, "TX line: frames from the device");
    for burst in &trace.tx {
        draw_burst(&mut svg, trace, burst, 1);
    }
    track(&mut svg, 2, "debug pin: high in the receive interrupt");
    for pulse in &trace.debug {
        let (x, width) = span(trace, pulse.start_ns, pulse.end_ns);
        let title = format!(
            "high for {}",
            format::time(pulse.end_ns.saturating_sub(pulse.start_ns))
        );
        svg.rect("pin", (x, width), (FIRST + 2.0 * TRACK + 8.0, WAVE), &title);
    }

    for (row, mark) in trace.marks.iter().enumerate() {
        let y = MARKS + ROW * row as f64 + 26.0;
        let (x, width) = span(trace, mark.start_ns, mark.end_ns);
        let class = format!("mark mark{row}");
        for edge in [x, x + width] {
            svg.line(&class, (edge, FIRST - 8.0), (edge, y + 5.0));
        }
        svg.line(&format!("{class} solid"), (x, y), (x + width, y));
        let text = format!(
            "{} {}",
            mark.label,
            format::time(mark.end_ns.saturating_sub(mark.start_ns))
        );
        let (at, anchor) = if x <= 50.0 {
            (x, "start")
        } else {
            (x + width, "end")
        };
        let shift = if anchor == "start" { 4 } else { -4 };
        svg.raw(format_args!(r#"<g transform="translate({shift} 0)">"#));
        svg.text(
            &format!("halo mark-label mark{row}"),
            (at, y - 6.0),
            anchor,
            &text,
        );
        svg.raw(format_args!("</g>"));
    }
    svg.finish()
}

fn track(svg: &mut Svg, index: u32, name: &str) {
    let top = FIRST + TRACK * f64::from(index);
    svg.line("wire", (0.0, top + 8.0 + WAVE), (100.0, top + 8.0 + WAVE));
    svg.text("halo", (1.0, top), "start", name);
}

fn draw_burst(svg: &mut Svg, trace: &ScopeTrace, burst: &Burst, index: u32) {
    let (x, width) = span(trace, burst.start_ns, burst.end_ns);
    let top = FIRST + TRACK * f64::from(index) + 8.0;
    let class = if burst.fate == "delivered" {
        "burst"
    } else {
        "burst bad"
    };
    let title = format!("{} octets, {}", burst.bytes, burst.fate);
    svg.rect(class, (x, width), (top, WAVE), &title);
    if width > 24.0 {
        svg.text(
            "burst-label",
            (x + width / 2.0, top + 18.0),
            "middle",
            &burst.fate,
        );
    }
}

/// Start and width in per cent of the picture, cut at its edges, never too thin to be seen.
fn span(trace: &ScopeTrace, start_ns: u64, end_ns: u64) -> (f64, f64) {
    let whole = trace.end_ns.saturating_sub(trace.start_ns) as f64;
    let percent = |ns: u64| {
        let ns = ns.clamp(trace.start_ns, trace.end_ns.max(trace.start_ns));
        crate::stats::ratio((ns - trace.start_ns) as f64, whole) * 100.0
    };
    let (x, end) = (percent(start_ns), percent(end_ns));
    (x, (end - x).max(0.15))
}

fn grid(svg: &mut Svg, trace: &ScopeTrace, bottom: f64) {
    let zero_ns = trace
        .marks
        .first()
        .map_or(trace.start_ns, |mark| mark.start_ns);
    let step_ns = step(trace.end_ns.saturating_sub(trace.start_ns));
    let mut at = (zero_ns - trace.start_ns.min(zero_ns)) % step_ns + trace.start_ns;
    while at <= trace.end_ns {
        let (x, _) = span(trace, at, at);
        svg.line("grid", (x, 0.0), (x, bottom));
        let text = match at.cmp(&zero_ns) {
            std::cmp::Ordering::Less => format!("-{}", format::time(zero_ns - at)),
            std::cmp::Ordering::Equal => "0".to_owned(),
            std::cmp::Ordering::Greater => format::time(at - zero_ns),
        };
        if (4.0..=94.0).contains(&x) {
            svg.text("axis", (x, bottom + 16.0), "middle", &text);
        }
        at += step_ns;
    }
}

/// A round step that gives three to six lines.
fn step(span_ns: u64) -> u64 {
    let mut decade = 1;
    loop {
        for step in [decade, decade * 2, decade * 5] {
            if span_ns / step < 6 {
                return step;
            }
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Mark, Pulse};

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(step(40_000), 10_000);
        assert_eq!(step(1_575_000), 500_000);
        assert_eq!(step(0), 1);
    }

    #[test]
    fn a_trace_with_nonsense_times_is_still_drawn() {
        let trace = ScopeTrace {
            start_ns: 100,
            end_ns: 50,
            rx: vec![Burst {
                start_ns: 9,
                end_ns: 2,
                bytes: 64,
                fate: String::new(),
            }],
            tx: vec![],
            debug: vec![Pulse {
                start_ns: 70,
                end_ns: 60,
            }],
            marks: vec![Mark {
                label: "x".into(),
                start_ns: 900,
                end_ns: 1,
            }],
        };
        assert!(draw(&trace, "x").ends_with("</svg>"));
    }
}
