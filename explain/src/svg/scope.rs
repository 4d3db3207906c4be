//! A drawn oscilloscope: receive line, transmit line, debug pin.

use std::fmt::Write;

use super::Svg;
use linerate_results::format;
use linerate_results::record::{Burst, Edges, ScopeTrace};

const TRACK: f64 = 52.0;
const WAVE: f64 = 26.0;
const FIRST: f64 = 24.0;
/// Top of the rows of marks, below the three tracks.
const MARKS: f64 = FIRST + 3.0 * TRACK - 4.0;
const ROW: f64 = 36.0;

/// Draws `trace`; time zero is the end of the first frame.
pub fn draw(trace: &ScopeTrace, label: &str) -> String {
    let bottom = MARKS + ROW * trace.marks.len() as f64;
    let mut svg = Svg::with(
        "scope zoom",
        (bottom + 26.0) as u32,
        label,
        &format!(
            " data-start=\"{}\" data-span=\"{}\" data-bottom=\"{bottom}\"",
            trace.start_ns as i64 - zero_ns(trace) as i64,
            trace.end_ns.saturating_sub(trace.start_ns),
        ),
    );
    svg.raw(format_args!(
        r#"<rect class="screen" width="100%" height="{bottom}" data-still=""/>"#
    ));
    grid(&mut svg, trace, bottom);

    track(&mut svg, 0, "RX line: frames from the peer");
    for burst in &trace.rx {
        draw_burst(&mut svg, trace, burst, 0);
    }
    track(&mut svg, 1, "TX line: frames from the device");
    for burst in &trace.tx {
        draw_burst(&mut svg, trace, burst, 1);
    }
    for edges in &trace.edges {
        draw_edges(&mut svg, trace, edges);
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
    svg.raw(format_args!(
        r#"<text class="halo" x="1%" y="{top}" data-still="">{}</text>"#,
        super::escape(name)
    ));
}

/// The recorded levels of a line, high above low, in place of the burst's box.
fn draw_edges(svg: &mut Svg, trace: &ScopeTrace, edges: &Edges) {
    let (from, to) = (
        edges.start_ns.max(trace.start_ns),
        edges.end_ns.min(trace.end_ns),
    );
    if from >= to {
        return;
    }
    let top = FIRST + if edges.rx { 0.0 } else { TRACK } + 8.0;
    let (x, width) = span(trace, from, to);
    // Tenths of a nanosecond across, from low at 9 to high at 1.
    let (skipped, whole) = ((from - edges.start_ns) * 10, (to - from) * 10);
    let place = |high: bool| if high { 1 } else { 9 };
    let before = edges
        .changes_at_100ps
        .iter()
        .filter(|at| **at < skipped)
        .count();
    let mut high = edges.high != (before % 2 == 1);
    let mut path = format!("M0 {}", place(high));
    for at in &edges.changes_at_100ps[before..] {
        let at = at.saturating_sub(skipped);
        if at > whole {
            break;
        }
        high = !high;
        let _ = write!(path, "H{at}V{}", place(high));
    }
    let _ = write!(path, "H{whole}");
    svg.raw(format_args!(
        r#"<svg class="wave" x="{x:.4}%" width="{width:.4}%" y="{top}" height="{WAVE}" viewBox="0 0 {whole} 10" preserveAspectRatio="none"><rect width="{whole}" height="10"/><path d="{path}"/></svg>"#,
    ));
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

/// Start and width in per cent of the picture, clipped at its edges, with a minimum visible width.
fn span(trace: &ScopeTrace, start_ns: u64, end_ns: u64) -> (f64, f64) {
    let whole = trace.end_ns.saturating_sub(trace.start_ns) as f64;
    let percent = |ns: u64| {
        let ns = ns.clamp(trace.start_ns, trace.end_ns.max(trace.start_ns));
        linerate_results::stats::ratio((ns - trace.start_ns) as f64, whole) * 100.0
    };
    let (x, end) = (percent(start_ns), percent(end_ns));
    (x, (end - x).max(0.15))
}

/// Vertical lines at round times, labelled below `bottom`.
pub(super) fn grid(svg: &mut Svg, trace: &ScopeTrace, bottom: f64) {
    let zero_ns = zero_ns(trace);
    svg.raw(format_args!(r#"<g class="axis-lines">"#));
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
    svg.raw(format_args!("</g>"));
}

/// The end of the first frame.
fn zero_ns(trace: &ScopeTrace) -> u64 {
    trace
        .marks
        .first()
        .map_or(trace.start_ns, |mark| mark.start_ns)
}

/// A round step that gives three to six lines.
pub(super) fn step(span_ns: u64) -> u64 {
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
    use linerate_results::record::{Mark, Pulse};

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
            edges: vec![Edges {
                rx: true,
                start_ns: 0,
                end_ns: 900,
                high: true,
                changes_at_100ps: vec![7, 3, u64::MAX],
            }],
        };
        assert!(draw(&trace, "x").ends_with("</svg>"));
    }

    #[test]
    fn recorded_levels_are_drawn_from_the_picture_s_left_edge() {
        let trace = ScopeTrace {
            start_ns: 100,
            end_ns: 200,
            edges: vec![Edges {
                rx: true,
                start_ns: 0,
                end_ns: 150,
                high: false,
                changes_at_100ps: vec![500, 1_100, 1_300],
            }],
            ..ScopeTrace::default()
        };
        let svg = draw(&trace, "x");
        // High since 50 ns; low from 110 ns, high from 130 ns, recorded until 150 ns.
        assert!(svg.contains(r#"d="M0 1H100V9H300V1H500""#), "{svg}");
        assert!(svg.contains(r#"x="0.0000%" width="50.0000%""#), "{svg}");
    }
}
