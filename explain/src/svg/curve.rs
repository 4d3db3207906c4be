//! Curves over a common axis: sweeps, distributions, time series.

use super::Svg;
use linerate_results::format;

/// A chart of curves.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// Accessible description.
    pub label: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The curves.
    pub lines: Vec<Line>,
    /// Vertical lines with a name: a knee, a limit.
    pub marks: Vec<(f64, String)>,
    /// Horizontal lines with a name: the limit of the wire.
    pub limits: Vec<(f64, String)>,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub name: &'static str,
    /// Formats a value.
    pub format: fn(f64) -> String,
    /// Logarithmic scale; values must be above zero.
    pub is_logarithmic: bool,
}

impl Default for Axis {
    fn default() -> Self {
        Self::linear("", |value| format!("{value}"))
    }
}

impl Axis {
    /// From zero, or from the least value.
    pub const fn linear(name: &'static str, format: fn(f64) -> String) -> Self {
        Self {
            name,
            format,
            is_logarithmic: false,
        }
    }

    /// For values above zero.
    pub const fn logarithmic(name: &'static str, format: fn(f64) -> String) -> Self {
        Self {
            name,
            format,
            is_logarithmic: true,
        }
    }

    /// Payload per second, in bits, from zero.
    pub fn goodput() -> Self {
        Self::linear("payload per second", format::bits)
    }

    /// Octets of something.
    pub fn octets(name: &'static str, is_logarithmic: bool) -> Self {
        Self {
            name,
            format: |octets| format::bytes(octets.round() as u64),
            is_logarithmic,
        }
    }
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Draws a dot at every point, for measured points.
    pub has_dots: bool,
    /// A model, not a measurement.
    pub is_model: bool,
}

impl Line {
    /// A line through `points`.
    pub fn of(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            ..Self::default()
        }
    }

    /// A line with a dot at each measured point.
    pub fn measured(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            has_dots: true,
            ..Self::of(name, points)
        }
    }

    /// A model, not a measurement.
    pub fn model(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            is_model: true,
            ..Self::of(name, points)
        }
    }
}

const TOP: f64 = 34.0;
const BOTTOM: f64 = 252.0;
const HEIGHT: u32 = 292;
/// The labels of the vertical axis are on its grid lines, so that a narrow chart needs no margin.
const LEFT: f64 = 0.0;
const RIGHT: f64 = 100.0;
/// Vertical distance between names of vertical lines, pixels.
const NAME: f64 = 15.0;
/// Approximate number of intervals of an axis.
const TICKS: f64 = 5.0;
/// Up to this many ticks, a logarithmic axis has ticks at 1, 2 and 5.
const FINE_TICKS: usize = 8;
/// Maximum number of decades of a logarithmic axis.
const DECADES: i32 = 40;

/// Range and ticks of an axis.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    ticks: Vec<f64>,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, is_logarithmic: bool) -> Self {
        let usable = |value: &f64| value.is_finite() && (!is_logarithmic || *value > 0.0);
        let (low, high) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        match (low <= high, is_logarithmic) {
            (false, _) => Self::linear(0.0, 1.0),
            (true, false) => Self::linear(low.min(0.0), high),
            (true, true) => Self::logarithmic(low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (low / step).floor();
        let count = ((low + span) / step - first).ceil().clamp(1.0, 20.0);
        let ticks = (0..=count as u32).map(|at| (first + f64::from(at)) * step);
        Self {
            low: first * step,
            high: (first + count) * step,
            is_logarithmic: false,
            ticks: ticks.collect(),
        }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let first = low.log10().floor() as i32;
        let last = (high.log10().ceil() as i32).clamp(first + 1, first + DECADES);
        let decades = first..=last;
        let fine: Vec<f64> = decades
            .clone()
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
            .collect();
        // The ticks that enclose all values.
        let begin = fine.iter().rposition(|tick| *tick <= low).unwrap_or(0);
        let end = fine.iter().position(|tick| *tick >= high);
        let end = end.unwrap_or(fine.len() - 1).max(begin + 1);
        let fine = &fine[begin..=end.min(fine.len() - 1)];
        let whole = || decades.map(|power| 10_f64.powi(power));
        let (low, high) = (fine[0], fine[fine.len() - 1]);
        let ticks: Vec<f64> = if fine.len() <= FINE_TICKS {
            fine.to_vec()
        } else {
            whole().filter(|tick| (low..=high).contains(tick)).collect()
        };
        Self {
            low,
            high,
            is_logarithmic: true,
            ticks,
        }
    }

    /// Position of `value`, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let part = if self.is_logarithmic {
            let value = value.max(self.low).log10();
            (value - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }
}

/// The chart.
pub fn curves(chart: &Curves) -> String {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let along = points().map(|point| point.0);
    let x = Scale::of(
        along.chain(chart.marks.iter().map(|mark| mark.0)),
        chart.x.is_logarithmic,
    );
    let up = points().map(|point| point.1);
    let y = Scale::of(
        up.chain(chart.limits.iter().map(|limit| limit.0)),
        chart.y.is_logarithmic,
    );
    let at = |value: (f64, f64)| {
        (
            LEFT + x.place(value.0) * (RIGHT - LEFT),
            BOTTOM - y.place(value.1) * (BOTTOM - TOP),
        )
    };
    let mut svg = Svg::new("curves", HEIGHT, &chart.label);
    for tick in &y.ticks {
        let (_, height) = at((x.low, *tick));
        svg.line("grid", (LEFT, height), (RIGHT, height));
    }
    for tick in &x.ticks {
        let (left, _) = at((*tick, y.low));
        svg.line("grid", (left, TOP), (left, BOTTOM));
    }
    for (value, _) in &chart.limits {
        let (_, height) = at((x.low, *value));
        svg.line("limit", (LEFT, height), (RIGHT, height));
    }
    for (value, _) in &chart.marks {
        let (left, _) = at((*value, y.low));
        svg.line("limit", (left, TOP), (left, BOTTOM));
    }
    for (index, line) in chart.lines.iter().enumerate() {
        draw(&mut svg, chart, (index, line), at);
    }
    // Text last, above everything.
    for tick in &y.ticks {
        let (_, height) = at((x.low, *tick));
        let text = (chart.y.format)(*tick);
        svg.text("axis", (LEFT, height - 4.0), "start", &text);
    }
    for (index, tick) in x.ticks.iter().enumerate() {
        let (left, _) = at((*tick, y.low));
        let anchor = match index {
            0 if left < 4.0 => "start",
            _ if left > 94.0 => "end",
            _ => "middle",
        };
        let text = (chart.x.format)(*tick);
        svg.text("axis", (left, BOTTOM + 16.0), anchor, &text);
    }
    svg.text("axis strong", (LEFT, 12.0), "start", chart.y.name);
    svg.text("axis strong", (RIGHT, BOTTOM + 34.0), "end", chart.x.name);
    for (value, name) in &chart.limits {
        let (_, height) = at((x.low, *value));
        svg.text("axis strong", (RIGHT, height - 5.0), "end", name);
    }
    for (index, (value, name)) in chart.marks.iter().enumerate() {
        let (left, _) = at((*value, y.low));
        let (anchor, aside) = if left > f64::midpoint(LEFT, RIGHT) {
            ("end", -0.6)
        } else {
            ("start", 0.6)
        };
        // On separate lines, as two may have the same position.
        let height = TOP + 12.0 + NAME * index as f64;
        svg.text("axis strong", (left + aside, height), anchor, name);
    }
    svg.finish()
}

/// One curve, its points placed by `at`.
fn draw(
    svg: &mut Svg,
    chart: &Curves,
    (index, line): (usize, &Line),
    at: impl Fn((f64, f64)) -> (f64, f64),
) {
    let class = super::colour(index);
    let style = if line.is_model { "model" } else { "path" };
    for pair in line.points.windows(2) {
        svg.line(&format!("{class} {style}"), at(pair[0]), at(pair[1]));
    }
    for point in line.points.iter().filter(|_| line.has_dots) {
        let (left, height) = at(*point);
        let (x, y) = ((chart.x.format)(point.0), (chart.y.format)(point.1));
        let title = format!("{}: {x}, {y}", line.name);
        svg.dot(&class, (left, height, 4.0), &title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_encloses_its_values_and_has_round_ticks() {
        let scale = Scale::of([3.0, 47.0].into_iter(), false);
        assert_eq!(scale.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert!((scale.place(25.0) - 0.5).abs() < 1e-9);
        let scale = Scale::of([1.5, 40.0].into_iter(), true);
        assert_eq!(scale.ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        let scale = Scale::of([0.1, 1_000.0].into_iter(), true);
        assert_eq!(scale.ticks, [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.place(10.0) - 0.5).abs() < 1e-9);
        // Extreme values do not produce thousands of ticks.
        let scale = Scale::of([1e-300, 1e300].into_iter(), true);
        assert!(scale.ticks.len() < 50, "{:?}", scale.ticks.len());
    }

    #[test]
    fn nothing_and_nonsense_are_drawn_all_the_same() {
        for points in [
            vec![],
            vec![(f64::NAN, 1.0)],
            vec![(0.0, 0.0)],
            vec![(1.0, 5.0); 2],
        ] {
            for is_logarithmic in [false, true] {
                let axis = Axis {
                    is_logarithmic,
                    ..Axis::default()
                };
                let chart = Curves {
                    x: axis,
                    y: axis,
                    lines: vec![Line {
                        points: points.clone(),
                        has_dots: true,
                        ..Line::default()
                    }],
                    ..Curves::default()
                };
                let svg = curves(&chart);
                assert!(svg.ends_with("</svg>") && !svg.contains("inf"), "{svg}");
            }
        }
    }
}
