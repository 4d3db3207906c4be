//! Data in flight, and the advertised window.

use std::fmt::Write as _;

use super::{ALONG, Panel, Picture, part, path, steps};
use linerate_results::format;

const HEIGHT: f64 = 110.0;

/// The panel.
pub(super) fn panel(picture: &Picture<'_>) -> Panel {
    let columns = picture.trace.columns();
    let most = columns.iter().map(|column| column.max_in_flight).max();
    let most = u64::from(most.unwrap_or(0));
    let granted = columns.iter().filter_map(|column| column.window).max();
    let granted = u64::from(granted.unwrap_or(0));
    // A window that is never filled would flatten the other curves.
    let top = most.max(granted.min(2 * most)).max(1);
    let y = |octets: u32| HEIGHT - part(octets.into(), top) * HEIGHT;

    let mut data = format!("M0 {HEIGHT}");
    let mut last = 0;
    for column in columns {
        if column.max_in_flight == last && column.in_flight == last {
            continue;
        }
        let x = picture.column_x(column.index);
        let _ = write!(data, "H{x}V{:.1}", y(column.max_in_flight));
        if column.in_flight != column.max_in_flight {
            let _ = write!(data, "V{:.1}", y(column.in_flight));
        }
        last = column.in_flight;
    }
    let _ = write!(data, "H{ALONG}V{HEIGHT}z");
    let mut curves = path("k-flight", "sent but not acknowledged", &data);
    let windows = columns.iter().filter_map(|column| {
        let height = |window: u32| {
            if u64::from(window) > top {
                -9.0
            } else {
                y(window)
            }
        };
        Some((picture.column_x(column.index), height(column.window?)))
    });
    curves += &path("k-window", "advertised window", &steps(windows));
    let figures = if granted > top {
        format!(
            "{} of {} advertised",
            format::bytes(most),
            format::bytes(granted)
        )
    } else {
        format!("at most {}", format::bytes(most))
    };
    Panel {
        name: "in flight",
        figures,
        curves,
        height: HEIGHT,
        top,
        format_value: format::bytes,
    }
}
