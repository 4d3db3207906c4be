//! The lines of the SPI as a picture, as on an oscilloscope.

use std::fmt::Write as _;

use linerate_sim::board::w5500::{SpiEdge, SpiLine};
use linerate_sim::time::{Instant, Span};

const WIDTH: f64 = 1_000.0;
const LANE: f64 = 46.0;
const LEFT: f64 = 110.0;
/// Times that the panels show from the same moment on.
const PANELS: [Span; 2] = [Span::from_us(2_500), Span::from_us(60)];
const LANES: [(SpiLine, &str); 3] = [
    (SpiLine::Interrupt, "INTn low"),
    (SpiLine::Select, "CSn low"),
    (SpiLine::Clock, "clock runs"),
];

/// An SVG of `edges`: the first frame that is read, from the interrupt or the chip select on.
pub fn draw(title: &str, edges: &[SpiEdge]) -> String {
    let start = edges
        .iter()
        .find(|edge| edge.line == SpiLine::Select && edge.active)
        .map_or(Instant::ZERO, |edge| edge.at - Span::from_us(2));
    let panel_height = LANE * LANES.len() as f64 + 40.0;
    let height = panel_height * PANELS.len() as f64 + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><text x=\"10\" y=\"20\">{title}</text>",
        LEFT + WIDTH + 10.0
    );
    for (number, &span) in PANELS.iter().enumerate() {
        let top = 30.0 + panel_height * number as f64;
        for (lane, &(line, name)) in LANES.iter().enumerate() {
            let bottom = top + LANE * (lane as f64 + 1.0);
            let _ = write!(svg, "<text x=\"10\" y=\"{}\">{name}</text>", bottom - 12.0);
            let path = path(edges, line, (start, span), bottom);
            let _ = write!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#06c\"/>");
        }
        let _ = write!(
            svg,
            "<text x=\"{LEFT}\" y=\"{}\">{} us</text>",
            top + LANE * LANES.len() as f64 + 22.0,
            span.as_ns() / 1_000
        );
    }
    svg + "</svg>\n"
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
    for edge in shown {
        let _ = write!(path, "H{:.2}V{:.1}", x(edge.at), y(edge.active));
    }
    let _ = write!(path, "H{:.1}", LEFT + WIDTH);
    path
}
