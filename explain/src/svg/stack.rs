//! Parts of a whole as one bar.

use super::Svg;
use linerate_results::format;

/// A part of the bar.
pub struct Part<'a> {
    /// CSS class for the colour.
    pub class: String,
    /// Name for the tooltip.
    pub name: &'a str,
    /// Size in the unit of the whole.
    pub size: f64,
}

/// The parts side by side, each with the width of its share of `whole`.
pub fn stack(parts: &[Part<'_>], whole: f64, label: &str) -> String {
    let mut svg = Svg::new("stack", 30, label);
    svg.rect("track", (0.0, 100.0), (2.0, 26.0), label);
    let mut x = 0.0;
    for part in parts.iter().filter(|part| part.size > 0.0) {
        let width = linerate_results::stats::ratio(part.size, whole) * 100.0;
        let share = format::percent(width / 100.0);
        svg.rect(
            &part.class,
            (x, width),
            (2.0, 26.0),
            &format!("{}: {share}", part.name),
        );
        if width >= 12.0 {
            svg.text("on-part", (x + width / 2.0, 20.0), "middle", &share);
        }
        x += width;
    }
    svg.finish()
}
