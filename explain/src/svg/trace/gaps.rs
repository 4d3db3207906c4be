//! Time between segments: most gaps are short, but the long ones may take most of the time.

use super::super::Svg;
use linerate_capture::tcp::{GapHistogram, GapRange};
use linerate_results::format;
use linerate_results::stats;

const TOP: f64 = 22.0;
const HEIGHT: f64 = 110.0;
const BOTTOM: f64 = TOP + HEIGHT;

/// Two bars for each length that occurs: its share of the gaps, and of the time.
pub fn gaps(gaps: &GapHistogram, label: &str) -> String {
    let mut svg = Svg::new("trace", (BOTTOM + 22.0) as u32, label);
    svg.raw(format_args!(
        r#"<rect class="paper" width="100%" y="{TOP}" height="{HEIGHT}"/><text class="strong" x="0" y="{y}">gaps by length</text><text x="100%" y="{y}" text-anchor="end"><tspan class="k-count">■</tspan> count  <tspan class="k-time">■</tspan> time</text>"#,
        y = TOP - 7.0
    ));
    let ranges = gaps.ranges();
    let used = |gap: &GapRange| gap.count > 0;
    let (Some(first), Some(last)) = (ranges.iter().position(used), ranges.iter().rposition(used))
    else {
        return svg.finish();
    };
    let sum = |of: fn(&GapRange) -> u64| ranges.iter().map(of).fold(0, u64::saturating_add) as f64;
    let (count, time) = (sum(|gap| gap.count), sum(|gap| gap.total_ns));
    let largest = ranges.iter().map(|gap| {
        let share = stats::ratio(gap.count as f64, count);
        share.max(stats::ratio(gap.total_ns as f64, time))
    });
    // Rounded up to the next quarter.
    let top = (largest.fold(0.0, f64::max) * 4.0).ceil().max(1.0) / 4.0;
    for percent in [0.25, 0.5, 0.75].into_iter().filter(|it| *it < top) {
        let y = BOTTOM - percent / top * HEIGHT;
        svg.line("grid", (0.0, y), (100.0, y));
        svg.text("axis", (0.0, y - 3.0), "start", &format::percent(percent));
    }
    // Whole decades, so that there are ticks to label.
    let (first, last) = ((first.saturating_sub(1)) / 3 * 3, last.div_ceil(3) * 3);
    let width = 100.0 / (last - first + 1) as f64;
    // A phone has no room for more labels.
    let named = if last - first > 15 { 6 } else { 3 };
    for (at, gap) in ranges.iter().enumerate().take(last + 1).skip(first) {
        let x = (at - first) as f64 * width;
        let shares = [
            ("k-count", stats::ratio(gap.count as f64, count), 0.12),
            ("k-time", stats::ratio(gap.total_ns as f64, time), 0.5),
        ];
        let range = if at == 0 {
            format!("below {}", format::time(GapHistogram::end_ns(at)))
        } else {
            format!(
                "{} to {}",
                format::time(GapHistogram::end_ns(at - 1)),
                format::time(GapHistogram::end_ns(at))
            )
        };
        let title = format!(
            "{range}: {} gaps, {} of all, {} of the time",
            format::count(gap.count),
            format::percent(shares[0].1),
            format::percent(shares[1].1)
        );
        for (class, share, shift) in shares {
            if gap.count > 0 {
                // At least one pixel, so that it is visible.
                let height = (share / top * HEIGHT).max(1.0);
                svg.rect(
                    class,
                    (x + shift * width, 0.38 * width),
                    (BOTTOM - height, height),
                    &title,
                );
            }
        }
        let end = x + width;
        if at % 3 == 0 && at < last {
            svg.line("tick", (end, BOTTOM), (end, BOTTOM + 4.0));
        }
        let name = format::time(GapHistogram::end_ns(at));
        // On a phone half a letter is one per cent of the width: the first label may not fit at the left.
        if at % named == 0 && at < last && end >= name.chars().count() as f64 {
            svg.text("axis", (end, BOTTOM + 17.0), "middle", &name);
        }
    }
    svg.finish()
}
