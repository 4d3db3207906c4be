//! Curves over a common axis: sweeps, distributions, what goes on over time.

use super::Svg;

/// A chart of curves.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What is drawn.
    pub lines: Vec<Line>,
    /// Upright lines with a name: a knee, a limit.
    pub marks: Vec<(f64, String)>,
    /// Lines across with a name: what the wire allows.
    pub limits: Vec<(f64, String)>,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What it measures and in which unit.
    pub name: &'static str,
    /// How a value is written.
    pub format: fn(f64) -> String,
    /// Whether a factor, not a difference, is a length. Values must be above zero then.
    pub is_logarithmic: bool,
}

impl Default for Axis {
    fn default() -> Self {
        Self {
            name: "",
            format: |value| format!("{value}"),
            is_logarithmic: false,
        }
    }
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Whether every point is marked, as where each is a measurement.
    pub has_dots: bool,
}

/// Colours in the style sheet.
pub(in crate::report) const COLOURS: usize = 6;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 236.0;
const HEIGHT: u32 = 276;
/// Room for the numbers of the upright axis, per cent.
const LEFT: f64 = 9.0;
const RIGHT: f64 = 98.5;
/// Intervals of an axis, about.
const TICKS: f64 = 5.0;

/// What an axis spans and where it is ticked.
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
        let (first, last) = (low.log10().floor(), high.log10().ceil());
        let last = if last > first { last } else { first + 1.0 };
        let ticks = (0..=(last - first) as u32).map(|at| 10_f64.powf(first + f64::from(at)));
        Self {
            low: 10_f64.powf(first),
            high: 10_f64.powf(last),
            is_logarithmic: true,
            ticks: ticks.collect(),
        }
    }

    /// Where `value` is, from 0 to 1.
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
        let text = (chart.y.format)(*tick);
        svg.text("axis", (LEFT - 0.8, height + 4.0), "end", &text);
    }
    for (index, tick) in x.ticks.iter().enumerate() {
        let (left, _) = at((*tick, y.low));
        svg.line("grid", (left, TOP), (left, BOTTOM));
        let anchor = if index + 1 == x.ticks.len() {
            "end"
        } else {
            "middle"
        };
        let text = (chart.x.format)(*tick);
        svg.text("axis", (left, BOTTOM + 16.0), anchor, &text);
    }
    svg.text("axis strong", (0.0, TOP - 6.0), "start", chart.y.name);
    svg.text("axis strong", (RIGHT, BOTTOM + 34.0), "end", chart.x.name);
    for (value, name) in &chart.limits {
        let (_, height) = at((x.low, *value));
        svg.line("limit", (LEFT, height), (RIGHT, height));
        svg.text("axis strong", (RIGHT, height - 5.0), "end", name);
    }
    for (value, name) in &chart.marks {
        let (left, _) = at((*value, y.low));
        svg.line("limit", (left, TOP), (left, BOTTOM));
        let anchor = if left > f64::midpoint(LEFT, RIGHT) {
            "end"
        } else {
            "start"
        };
        svg.text(
            "axis strong",
            (left, TOP + 10.0),
            anchor,
            &format!(" {name} "),
        );
    }
    for (index, line) in chart.lines.iter().enumerate() {
        let class = format!("stage{}", index % COLOURS);
        for pair in line.points.windows(2) {
            svg.line(&format!("{class} path"), at(pair[0]), at(pair[1]));
        }
        for point in line.points.iter().filter(|_| line.has_dots) {
            let (left, height) = at(*point);
            svg.raw(format_args!(
                r#"<circle class="{class}" cx="{left:.3}%" cy="{height:.1}" r="4"><title>{}: {}, {}</title></circle>"#,
                super::escape(&line.name),
                super::escape(&(chart.x.format)(point.0)),
                super::escape(&(chart.y.format)(point.1)),
            ));
        }
    }
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_holds_what_it_is_made_of_and_has_round_ticks() {
        let scale = Scale::of([3.0, 47.0].into_iter(), false);
        assert_eq!(scale.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert!((scale.place(25.0) - 0.5).abs() < 1e-9);
        let scale = Scale::of([0.5, 200.0].into_iter(), true);
        assert_eq!(scale.ticks, [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.place(10.0) - 0.5).abs() < 1e-9);
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
