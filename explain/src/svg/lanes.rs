//! Rates on one logarithmic axis, an entry per lane.

use super::{Svg, escape};
use linerate_results::format;

/// An entry.
pub struct Lane {
    /// Its name, above its lane at the left.
    pub name: String,
    /// The entry in a few words, behind the name where there is room.
    pub what: String,
    /// Its result as text, above its lane at the right.
    pub value: String,
    /// The rate to compare, bytes per second, and what it is.
    pub rate: Option<(f64, String)>,
    /// Lowest and highest rate of its repetitions, bytes per second.
    pub range: Option<(f64, f64)>,
    /// Further rates, bytes per second, and what they are.
    pub others: Vec<(f64, String)>,
    /// A rate to compare it with, bytes per second, and what it is.
    pub reference: Option<(f64, String)>,
}

/// Height of a lane, pixels.
const LANE: f64 = 42.0;
/// Base line of the texts of a lane, and the height of its rates, from its upper edge.
const TEXT: f64 = 15.0;
const RATE: f64 = 29.0;
/// Room for the name of the limit, and for the axis.
const TOP: f64 = 22.0;
const AXIS: f64 = 40.0;

/// The chart, with a vertical line at `limit`.
pub fn lanes(lanes: &[Lane], (limit, limit_name): (f64, &str), label: &str) -> String {
    let bottom = TOP + LANE * lanes.len() as f64;
    let mut svg = Svg::new("lanes", (bottom + AXIS) as u32, label);
    let rates = lanes.iter().flat_map(Lane::rates);
    let lowest = rates.filter(|rate| *rate > 0.0).fold(limit, f64::min);
    let scale = Scale {
        low: (lowest * 8.0).log10().floor(),
        // A little room at the right of the limit.
        high: (limit * 8.0 * 1.06).log10(),
    };
    for decade in scale.decades() {
        let x = scale.place(10_f64.powi(decade) / 8.0);
        svg.line("grid", (x, TOP), (x, bottom));
        let anchor = match x {
            x if x < 2.0 => "start",
            x if x > 94.0 => "end",
            _ => "middle",
        };
        let text = format::bits(10_f64.powi(decade));
        svg.text("axis", (x, bottom + 16.0), anchor, &text);
    }
    let x = scale.place(limit);
    svg.line("limit", (x, TOP - 4.0), (x, bottom));
    svg.text("axis strong", (100.0, 12.0), "end", limit_name);
    svg.text(
        "axis strong",
        (100.0, bottom + 34.0),
        "end",
        "TCP payload per second, logarithmic",
    );
    for (at, lane) in lanes.iter().enumerate() {
        lane.draw(&mut svg, &scale, limit, TOP + LANE * at as f64);
    }
    svg.finish()
}

/// Logarithms of the lowest and the highest rate, bits per second.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Position of a rate in bytes per second, per cent.
    fn place(&self, bytes_per_s: f64) -> f64 {
        let part = ((bytes_per_s * 8.0).max(1e-3).log10() - self.low) / (self.high - self.low);
        part.clamp(0.0, 1.0) * 100.0
    }

    fn decades(&self) -> std::ops::RangeInclusive<i32> {
        self.low as i32..=self.high.floor() as i32
    }
}

impl Lane {
    fn rates(&self) -> impl Iterator<Item = f64> {
        let named = [&self.rate, &self.reference].into_iter().flatten();
        let named = named.chain(&self.others).map(|(rate, _)| *rate);
        named.chain(self.range.map(|(low, _)| low))
    }

    fn draw(&self, svg: &mut Svg, scale: &Scale, limit: f64, top: f64) {
        let y = top + RATE;
        svg.line("grid", (0.0, y), (100.0, y));
        svg.raw(format_args!(
            r#"<text x="0" y="{:.1}"><tspan class="strong">{}</tspan><tspan class="what" dx="8">{}</tspan></text>"#,
            top + TEXT,
            escape(&self.name),
            escape(&self.what)
        ));
        svg.text(
            "",
            (scale.place(limit) - 0.7, top + TEXT),
            "end",
            &self.value,
        );
        for (rate, title) in &self.others {
            svg.dot("lane-other", (scale.place(*rate), y, 3.5), title);
        }
        if let Some((low, high)) = self.range {
            let [low, high] = [low, high].map(|rate| scale.place(rate));
            svg.line("lane-range", (low, y), (high, y));
        }
        if let Some((rate, title)) = &self.rate {
            svg.dot("lane-rate", (scale.place(*rate), y, 6.0), title);
        }
        if let Some((rate, title)) = &self.reference {
            svg.dot("lane-reference", (scale.place(*rate), y, 5.5), title);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(rate: f64) -> Lane {
        Lane {
            name: "a".into(),
            what: String::new(),
            value: String::new(),
            rate: Some((rate, "a".into())),
            range: Some((rate, rate)),
            others: Vec::new(),
            reference: None,
        }
    }

    #[test]
    fn equal_factors_are_equal_distances_and_the_limit_is_inside() {
        // 10 kbit/s to 10 Mbit/s.
        let scale = Scale {
            low: 4.0,
            high: 7.0,
        };
        assert!((scale.place(12_500.0) - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(scale.decades(), 4..=7);
        let svg = lanes(
            &[lane(22_000.0), lane(1_140_000.0)],
            (1_186_606.0, "line rate"),
            "x",
        );
        assert!(
            svg.contains(">100 kbit/s<") && svg.contains(">1 Mbit/s<"),
            "{svg}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn nothing_and_zero_are_drawn() {
        for entries in [Vec::new(), vec![lane(0.0)]] {
            let svg = lanes(&entries, (1_186_606.0, "line rate"), "x");
            assert!(svg.ends_with("</svg>") && !svg.contains("NaN"), "{svg}");
        }
    }
}
