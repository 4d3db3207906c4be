//! A connection over time: stacked panels with a common time axis.
//!
//! Curves are paths in a box that stretches with the width. Dots are strokes of no length, so that they stay round.

mod gaps;
mod in_flight;
mod limits;
mod rate;
mod sequence;

use std::fmt::Write as _;

use super::{Svg, escape, scope};
use linerate_capture::model::LimitSpan;
use linerate_capture::tcp::Trace;
use linerate_results::record::ScopeTrace;

pub use gaps::gaps;

/// Length of the time axis inside a stretched box.
const ALONG: f64 = 10_000.0;
/// Height of a panel's title.
const NAME: f64 = 22.0;
/// From this height on, a panel has room for more lines.
const TALL: f64 = 200.0;
/// Height of the time axis below the last panel.
const AXIS: f64 = 22.0;

/// Characters in a line of a file's legend.
const LEGEND_CHARS: usize = 140;

/// The connection to draw.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Trace of its sender.
    pub trace: &'a Trace,
    /// Its start, on the time base of `limits`.
    pub start_ns: u64,
    /// From its first packet to its last.
    pub duration_ns: u64,
    /// Its limits over time.
    pub limits: &'a [LimitSpan],
    /// Average payload per second.
    pub bytes_per_s: f64,
}

/// A panel being drawn.
struct Panel {
    name: &'static str,
    /// Summary figures, right-aligned on the line of the name; both fit side by side on a phone.
    figures: String,
    /// Its curves, as markup in a box of its height.
    curves: String,
    height: f64,
    /// The value at its upper edge, and the format of values.
    top: u64,
    format_value: fn(u64) -> String,
}

/// Draws a connection that `label` describes.
pub fn draw(picture: &Picture<'_>, label: &str) -> String {
    let panels = [
        limits::panel(picture),
        sequence::panel(picture),
        in_flight::panel(picture),
        rate::panel(picture),
    ];
    let bottom: f64 = panels.iter().map(|panel| NAME + panel.height).sum();
    let span_ns = picture.duration_ns.max(1);
    let height = (bottom + AXIS) as u32;
    let data = format!(" data-start=\"0\" data-span=\"{span_ns}\" data-bottom=\"{bottom}\"");
    let mut svg = Svg::with("trace zoom", height, label, &data);
    let stalls = sequence::stalls(picture);
    let mut y = 0.0;
    for panel in &panels {
        y += NAME;
        svg.raw(format_args!(
            r#"<rect class="paper" width="100%" y="{y}" height="{}" data-still=""/>"#,
            panel.height
        ));
        stretched(&mut svg, y, panel.height, &stalls);
        y += panel.height;
    }
    let axis = ScopeTrace {
        end_ns: span_ns,
        ..ScopeTrace::default()
    };
    scope::grid(&mut svg, &axis, bottom);
    y = 0.0;
    for panel in &panels {
        panel.draw(&mut svg, y);
        y += NAME + panel.height;
    }
    svg.finish()
}

impl Panel {
    fn draw(&self, svg: &mut Svg, y: f64) {
        let top = y + NAME;
        // Two or three lines, in a tall panel twice as many.
        let lines = if self.height > TALL { 1 } else { 2 };
        let step = scope::step(self.top * lines);
        let ticks = || (0..=self.top / step).map(|at| at * step);
        let place = |value: u64| top + self.height - part(value, self.top) * self.height;
        for tick in ticks() {
            svg.line("grid", (0.0, place(tick)), (100.0, place(tick)));
        }
        stretched(svg, top, self.height, &self.curves);
        // Label a line if there is room above it.
        for tick in ticks().skip(1).filter(|tick| place(*tick) - 14.0 > top) {
            still(svg, "axis", place(tick) - 3.0, &(self.format_value)(tick));
        }
        still(svg, "strong", y + NAME - 7.0, self.name);
        if !self.figures.is_empty() {
            svg.raw(format_args!(
                r#"<text x="100%" y="{:.1}" text-anchor="end" data-still="">{}</text>"#,
                y + NAME - 7.0,
                escape(&self.figures)
            ));
        }
    }
}

/// Text at the left edge that does not move when the rest is stretched.
fn still(svg: &mut Svg, class: &str, y: f64, text: &str) {
    svg.raw(format_args!(
        r#"<text class="{class}" x="0" y="{y:.1}" data-still="">{}</text>"#,
        escape(text)
    ));
}

/// A box of `height` at `y` whose curves stretch with the width.
fn stretched(svg: &mut Svg, y: f64, height: f64, curves: &str) {
    svg.raw(format_args!(
        r#"<svg x="0%" width="100%" y="{y}" height="{height}" viewBox="0 0 {ALONG} {height}" preserveAspectRatio="none">{curves}</svg>"#
    ));
}

/// `value` as a share of `whole`, from 0 to 1.
fn part(value: u64, whole: u64) -> f64 {
    linerate_results::stats::ratio(value as f64, whole as f64).clamp(0.0, 1.0)
}

impl Picture<'_> {
    /// Position of a time on the axis.
    fn x(&self, ns: u64) -> f64 {
        (part(ns, self.duration_ns) * ALONG).round()
    }

    /// Position of the start of a column on the axis.
    fn column_x(&self, at: u64) -> f64 {
        self.x(at * self.trace.width_ns())
    }
}

/// A path with its tooltip; empty for empty data.
fn path(class: &str, title: &str, data: &str) -> String {
    if data.is_empty() {
        return String::new();
    }
    format!(
        r#"<path class="{class}" d="{data}"><title>{}</title></path>"#,
        escape(title)
    )
}

/// A step line that holds each value until the next one, as path data.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    let mut last: Option<f64> = None;
    for (x, y) in points {
        let _ = match last {
            None => write!(data, "M{x} {y:.1}"),
            Some(last) if (y - last).abs() < 0.05 => continue,
            Some(_) => write!(data, "H{x}V{y:.1}"),
        };
        last = Some(y);
    }
    if last.is_some() {
        let _ = write!(data, "H{ALONG}");
    }
    data
}

/// The legend: class and name of each colour and mark.
pub fn legend(picture: &Picture<'_>) -> Vec<(&'static str, &'static str)> {
    let mut legend = limits::legend(picture);
    legend.extend(sequence::legend(picture.trace));
    legend
}

/// The picture as a separate file, with its title and legend.
pub fn file(picture: &Picture<'_>, title: &str, words: &str) -> String {
    let (over_time, lengths) = (draw(picture, title), gaps(picture.trace.gaps(), words));
    let heights = [&over_time, &lengths].map(|svg| height(svg));
    let mut body = String::new();
    let _ = write!(
        body,
        r#"<rect class="sheet" width="100%" height="100%"/><text class="title" x="20" y="30">{}</text><text x="20" y="50">{}</text>"#,
        escape(title),
        escape(words)
    );
    let mut y = 54;
    let legends = [sequence::legend(picture.trace), limits::legend(picture)];
    for line in legends.into_iter().flat_map(lines) {
        y += 20;
        let _ = write!(body, r#"<text x="20" y="{y}">"#);
        for (class, name) in line {
            let _ = write!(body, r#"<tspan class="{class}">■ </tspan>{name}   "#);
        }
        body.push_str("</text>");
    }
    y += 14;
    for (svg, height) in [over_time, lengths].iter().zip(heights) {
        let _ = write!(
            body,
            r#"<svg x="20" y="{y}" width="960" height="{height}">{svg}</svg>"#
        );
        y += height + 8;
    }
    let height = y + 8;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"file\" width=\"1000\" height=\"{height}\" viewBox=\"0 0 1000 {height}\"><style>{}</style>{body}</svg>\n",
        include_str!("../../templates/trace.css"),
    )
}

/// Splits a legend into lines that fit the width of a file.
fn lines(legend: Vec<(&'static str, &'static str)>) -> Vec<Vec<(&'static str, &'static str)>> {
    let mut lines = Vec::new();
    let mut width = LEGEND_CHARS;
    for entry in legend {
        // With its swatch.
        let letters = entry.1.len() + 3;
        width += letters;
        if width > LEGEND_CHARS {
            lines.push(Vec::new());
            width = letters;
        }
        lines.last_mut().expect("one was begun").push(entry);
    }
    lines
}

fn height(svg: &str) -> u32 {
    let after = svg.split_once(" height=\"").map_or("", |(_, after)| after);
    let digits = after.split('"').next().unwrap_or("");
    digits.parse().unwrap_or(0)
}
