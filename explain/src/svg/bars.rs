//! One bar against a limit, with the published figure as a tick.

use super::Svg;
use linerate_results::format;

/// A bar of `value` out of `limit`, and a tick at `published`.
pub fn against_limit(
    class: &str,
    value: f64,
    limit: f64,
    published: Option<f64>,
    label: &str,
) -> String {
    let percent = |v: f64| linerate_results::stats::ratio(v, limit).clamp(0.0, 1.0) * 100.0;
    let mut svg = Svg::new("bar", 22, label);
    svg.rect(
        "track",
        (0.0, 100.0),
        (3.0, 16.0),
        &format!("line rate: {}", format::rate(limit)),
    );
    svg.rect(
        class,
        (0.0, percent(value).max(0.25)),
        (3.0, 16.0),
        &format!("measured: {}", format::rate(value)),
    );
    if let Some(published) = published {
        let x = percent(published);
        svg.raw(format_args!(
            "<g><title>published: {}</title>",
            format::rate(published)
        ));
        svg.line("tick-halo", (x, 0.0), (x, 22.0))
            .line("tick", (x, 0.0), (x, 22.0));
        svg.raw(format_args!("</g>"));
    }
    svg.finish()
}
