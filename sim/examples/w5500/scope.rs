//! The lines of the SPI as a picture, as on an oscilloscope.

use std::fmt::Write as _;

use linerate_sim::board::w5500::{SpiEdge, SpiLine};
use linerate_sim::time::{Instant, Span};

/// Legible on a screen of 390 pixels, too.
const WIDTH: f64 = 390.0;
const LANE: f64 = 40.0;
const LEFT: f64 = 80.0;
const LINE: f64 = 1.0;
/// Times that the panels show: one from the first transaction on, the other around the beginning of a frame.
const PANELS: [Span; 2] = [Span::from_us(8_000), Span::from_us(60)];
/// Time in front of the frame.
const BEFORE: Span = Span::from_us(30);
const LANES: [(SpiLine, &str); 3] = [
    (SpiLine::Interrupt, "INTn low"),
    (SpiLine::Select, "CSn low"),
    (SpiLine::Clock, "clock runs"),
];

/// An SVG of `edges`.
pub fn draw(title: &str, edges: &[SpiEdge]) -> String {
    let first = selections(edges)
        .next()
        .map_or(Instant::ZERO, |(at, _)| at - Span::from_us(2));
    let longest = selections(edges).max_by_key(|(_, length)| *length);
    let starts = [first, longest.map_or(first, |(at, _)| at - BEFORE)];
    let panel_height = LANE * LANES.len() as f64 + 40.0;
    let width = LEFT + WIDTH + 10.0;
    let height = panel_height * PANELS.len() as f64 + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"10\" y=\"20\" font-weight=\"bold\">{title}</text>"
    );
    for (number, (&span, start)) in PANELS.iter().zip(starts).enumerate() {
        let top = 30.0 + panel_height * number as f64;
        for (lane, &(line, name)) in LANES.iter().enumerate() {
            let bottom = top + LANE * (lane as f64 + 1.0);
            let _ = write!(svg, "<text x=\"10\" y=\"{}\">{name}</text>", bottom - 12.0);
            let path = path(edges, line, (start, span), bottom);
            let _ = write!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#06c\"/>");
        }
        let _ = write!(
            svg,
            "<text x=\"{LEFT}\" y=\"{y}\">0</text><text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{} µs</text>",
            LEFT + WIDTH,
            span.as_ns() / 1_000,
            y = top + LANE * LANES.len() as f64 + 18.0
        );
    }
    svg + "</svg>\n"
}

/// Times at which the chip select becomes active, and for how long.
fn selections(edges: &[SpiEdge]) -> impl Iterator<Item = (Instant, Span)> {
    let edges: Vec<SpiEdge> = edges
        .iter()
        .filter(|edge| edge.line == SpiLine::Select)
        .copied()
        .collect();
    (1..edges.len()).filter_map(move |next| {
        let [from, to] = [edges[next - 1], edges[next]];
        (from.active && !to.active).then(|| (from.at, to.at.since(from.at)))
    })
}

fn path(edges: &[SpiEdge], line: SpiLine, (start, span): (Instant, Span), bottom: f64) -> String {
    let x = |at: Instant| {
        let share = at.since(start).as_secs_f64() / span.as_secs_f64();
        LEFT + WIDTH * share.clamp(0.0, 1.0)
    };
    let y = |active: bool| bottom - if active { LANE * 0.6 } else { 6.0 };
    let mut level = false;
    let mut path = String::new();
    let mut shown = Vec::new();
    for edge in edges.iter().filter(|edge| edge.line == line) {
        if edge.at < start {
            level = edge.active;
        } else if edge.at.since(start) <= span {
            shown.push(edge);
        }
    }
    let _ = write!(path, "M{LEFT:.2} {:.1}", y(level));
    // Edges closer than the width of a line are drawn as one.
    let (mut last, mut drawn) = (f64::MIN, level);
    for edge in shown {
        let at = x(edge.at);
        if at - last >= LINE {
            if drawn != level {
                let _ = write!(path, "V{:.1}", y(level));
            }
            let _ = write!(path, "H{at:.1}V{:.1}", y(edge.active));
            (last, drawn) = (at, edge.active);
        }
        level = edge.active;
    }
    let _ = write!(path, "V{:.1}", y(level));
    let _ = write!(path, "H{:.1}", LEFT + WIDTH);
    path
}
