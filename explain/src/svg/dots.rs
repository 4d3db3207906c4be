//! Goodput of every request, on a logarithmic scale.

use super::Svg;
use linerate_results::format;

/// The requests of one variant at one size.
pub struct Series {
    /// CSS class for the colour.
    pub class: String,
    /// Name for the tooltip.
    pub name: String,
    /// Bytes per second, one entry per request.
    pub goodput: Vec<f64>,
    /// Published figure of the article, bytes per second.
    pub published: Option<f64>,
}

/// All variants at one size.
pub struct Group {
    /// Heading.
    pub size: String,
    /// Its variants.
    pub series: Vec<Series>,
}

const TOP: f64 = 14.0;
const BOTTOM: f64 = 254.0;
const HEIGHT: u32 = 284;
const LEFT: f64 = 0.0;
/// From 10 kbit/s to 16 Mbit/s, in bytes per second.
const RANGE: (f64, f64) = (1.25e3, 2e6);
/// 10 kbit/s, 100 kbit/s and 1 Mbit/s, in bytes per second.
const TICKS: [f64; 3] = [1.25e3, 1.25e4, 1.25e5];

/// The chart, with a horizontal line at `line_rate`.
pub fn per_request(groups: &[Group], line_rate: f64) -> String {
    let mut svg = Svg::new(
        "dots",
        HEIGHT,
        "Goodput of each request by size, logarithmic scale",
    );
    for rate in TICKS {
        svg.line("grid", (LEFT, y(rate)), (100.0, y(rate)));
        svg.text(
            "axis",
            (LEFT, y(rate) - 4.0),
            "start",
            &format::bit_rate(rate),
        );
    }
    svg.line("limit", (LEFT, y(line_rate)), (100.0, y(line_rate)));
    svg.text(
        "axis strong",
        (100.0, y(line_rate) - 5.0),
        "end",
        &format!("line rate {}", format::bit_rate(line_rate)),
    );

    let width = (100.0 - LEFT - 12.0) / groups.len().max(1) as f64;
    for (at, group) in groups.iter().enumerate() {
        let left = LEFT + 12.0 + width * at as f64;
        svg.text(
            "axis strong",
            (left + width * 0.45, f64::from(HEIGHT) - 8.0),
            "middle",
            &group.size,
        );
        if at > 0 {
            svg.line(
                "grid",
                (left - width * 0.05, TOP),
                (left - width * 0.05, BOTTOM),
            );
        }
        for series in &group.series {
            draw(&mut svg, series, left, width * 0.9);
        }
    }
    svg.finish()
}

fn draw(svg: &mut Svg, series: &Series, left: f64, width: f64) {
    let step = width / series.goodput.len().max(1) as f64;
    let x = |request: usize| left + step * (request as f64 + 0.5);
    if let Some(published) = series.published {
        svg.raw(format_args!(
            "<g><title>{}, published: {}</title>",
            super::escape(&series.name),
            format::rate(published)
        ));
        svg.line(
            &format!("{} published", series.class),
            (left, y(published)),
            (left + width, y(published)),
        );
        svg.raw(format_args!("</g>"));
    }
    for (at, pair) in series.goodput.windows(2).enumerate() {
        svg.line(
            &format!("{} path", series.class),
            (x(at), y(pair[0])),
            (x(at + 1), y(pair[1])),
        );
    }
    for (at, &goodput) in series.goodput.iter().enumerate() {
        let title = format!(
            "{}, request {}: {}",
            series.name,
            at + 1,
            format::rate(goodput)
        );
        svg.dot(&series.class, (x(at), y(goodput), 5.0), &title);
    }
}

fn y(rate: f64) -> f64 {
    let (low, high) = (RANGE.0.log10(), RANGE.1.log10());
    let part = (rate.max(RANGE.0).log10() - low) / (high - low);
    BOTTOM - part.clamp(0.0, 1.0) * (BOTTOM - TOP)
}
