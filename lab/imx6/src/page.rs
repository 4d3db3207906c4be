//! The page with the pictures: received rate, overruns and pause frames of each curve, and the table of changes.

use std::fmt::Write as _;

use crate::Results;
use crate::ablation::Row;
use crate::between::{BothRow, ERRATUM_MBIT_PER_S, Tests};
use crate::overruns;
use crate::score::{Compared, ComparedPoint};

/// Size of a picture, and its margins.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 26.0;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;\
color:#1b1f24;background:#fff}h1,h2{line-height:1.2}figure{display:inline-block;margin:.5rem}\
figcaption{font-size:.85rem}table{border-collapse:collapse;width:100%;overflow-x:auto;display:block}\
td,th{padding:.25rem .6rem;border-bottom:1px solid #d0d7de;text-align:left}td.n{text-align:right}\
svg{max-width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:currentColor}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}}";

/// A picture: a title for its vertical axis, lines, and points.
struct Picture<'a> {
    unit: &'a str,
    /// Simulated, drawn as a line.
    line: Vec<(f64, f64)>,
    /// Published, drawn as points.
    points: Vec<(f64, f64)>,
}

impl Picture<'_> {
    fn svg(&self) -> String {
        let all = || self.line.iter().chain(&self.points);
        let most = |of: fn(&(f64, f64)) -> f64| axis_end(all().map(of).fold(1.0, f64::max));
        let (right, top) = (most(|it| it.0), most(|it| it.1));
        let x = |value: f64| LEFT + value / right * (WIDTH - LEFT - 8.0);
        let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - TOP);
        let mut text =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" role=\"img\">");
        for part in 0..=4 {
            let (at_x, at_y) = (right * f64::from(part) / 4.0, top * f64::from(part) / 4.0);
            let _ = write!(
                text,
                "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"#8884\"/>\
                 <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{at_y:.0}</text>\
                 <text x=\"{3:.1}\" y=\"{4}\" text-anchor=\"middle\">{at_x:.0}</text>",
                y(at_y),
                LEFT - 4.0,
                y(at_y) + 4.0,
                x(at_x).min(WIDTH - 14.0),
                HEIGHT - BOTTOM + 14.0,
            );
        }
        let mut line = self.line.clone();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        let path: Vec<String> = line
            .iter()
            .map(|it| format!("{:.1},{:.1}", x(it.0), y(it.1)))
            .collect();
        let _ = write!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (at, value) in &self.points {
            let _ = write!(
                text,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"#cf222e\"/>",
                x(*at),
                y(*value)
            );
        }
        let _ = write!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">offered, Mbit/s</text><text x=\"2\" y=\"10\">{}</text></svg>",
            f64::midpoint(WIDTH, LEFT),
            HEIGHT - 4.0,
            self.unit
        );
        text
    }
}

/// The end of an axis with four divisions of round length that holds `most`.
fn axis_end(most: f64) -> f64 {
    let magnitude = 10f64.powf((most / 4.0).log10().floor());
    let division = [1.0, 2.0, 2.5, 5.0, 10.0].map(|it| it * magnitude);
    let division = division.into_iter().find(|it| it * 4.0 >= most);
    division.unwrap_or(most / 4.0).max(1.0) * 4.0
}

/// The rate that the host was to send.
fn offered(it: &ComparedPoint) -> f64 {
    it.point.to_send_mbit_per_s
}

fn pictures(curve: &Compared, text: &mut String) {
    let simulated = |of: fn(&ComparedPoint) -> f64| {
        curve
            .points
            .iter()
            .map(|it| (offered(it), of(it)))
            .collect()
    };
    let published = curve
        .points
        .iter()
        .filter_map(|it| Some((offered(it), it.published_mbit_per_s?)));
    let per_s: [fn(&ComparedPoint) -> f64; 2] = [
        |it| it.point.overruns as f64 / it.point.seconds,
        |it| it.point.pause_frames as f64 / it.point.seconds,
    ];
    let all = [
        Picture {
            unit: "received, Mbit/s",
            line: simulated(|it| it.predicted_mbit_per_s),
            points: published.collect(),
        },
        Picture {
            unit: "overruns per second",
            line: simulated(per_s[0]),
            points: Vec::new(),
        },
        Picture {
            unit: "pause frames per second",
            line: simulated(per_s[1]),
            points: Vec::new(),
        },
    ];
    let error = curve.rms_log_error.map_or_else(
        || "published in words".to_owned(),
        |it| format!("RMS log error {it:.3}"),
    );
    let _ = write!(
        text,
        "<h2>{}</h2><p>{}; {error}.</p>",
        curve.name, curve.role
    );
    for picture in all {
        let _ = write!(text, "<figure>{}</figure>", picture.svg());
    }
    table(curve, text);
}

/// The points of a curve with their counters, beside the published ones.
fn table(curve: &Compared, text: &mut String) {
    text.push_str(
        "<details><summary>Points and counters</summary><table><tr><th>asked</th><th>sent</th><th>published</th>\
         <th>as printed</th><th>simulated</th><th>lost</th><th>jitter, ms</th><th>overruns/s</th>\
         <th>R_MACERR, published</th><th>pause frames/s</th><th>per datagram</th><th>published</th>\
         <th>interrupts/s</th><th>no room in backlog or socket/s</th></tr>",
    );
    let or_dash = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |it| format!("{it:.digits$}"))
    };
    for it in &curve.points {
        let p = &it.point;
        let per_s = |count: u64| format!("{:.0}", count as f64 / p.seconds);
        let (paused, pauses) = it.pauses_per_datagram();
        let cells = [
            it.target_mbit_per_s.to_string(),
            format!("{:.0}", p.offered_mbit_per_s),
            or_dash(it.published_mbit_per_s, 1),
            or_dash(it.printed_mbit_per_s, 1),
            format!("{:.1}", it.predicted_mbit_per_s),
            format!("{:.1}%", 100.0 * p.lost as f64 / p.datagrams.max(1) as f64),
            format!("{:.3}", p.jitter_ms),
            per_s(p.overruns),
            or_dash(it.published_overruns.map(f64::from), 0),
            per_s(p.pause_frames),
            format!("{pauses:.2}"),
            or_dash(paused, 2),
            per_s(p.interrupts),
            per_s(p.backlog_drops + p.socket_drops),
        ];
        text.push_str("<tr>");
        for cell in cells {
            let _ = write!(text, "<td class=\"n\">{cell}</td>");
        }
        text.push_str("</tr>");
    }
    text.push_str("</table></details>");
}

/// The page.
pub fn render(results: &Results) -> String {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>i.MX 6 curves</title><style>{STYLE}</style>\
         <h1>Published receive curves of an i.MX 6, on RV32 with ENET</h1>\
         <p>Points: published. Lines: simulated with the driver <code>nic::enet</code>. RMS log error: fitted \
         {:.3}, held out {:.3}.</p>",
        results.rms_log_error_fitted, results.rms_log_error_held_out
    );
    for curve in &results.curves {
        pictures(curve, &mut text);
    }
    text.push_str("<h2>What each change brings</h2>");
    let tables = &results.ablations;
    changes("In the article's order", &tables.in_order, &mut text);
    changes("Each alone on the earlier kernel", &tables.alone, &mut text);
    last_changes(&results.overruns, &mut text);
    between(&results.between, &mut text);
    text.push_str("</html>\n");
    text
}

/// Table of changes.
fn changes(caption: &str, rows: &[Row], text: &mut String) {
    let _ = write!(
        text,
        "<table><caption>{caption}</caption><tr><th>change</th><th>published</th>"
    );
    for point in rows.first().into_iter().flat_map(|it| &it.points) {
        let rate = point.to_send_mbit_per_s;
        let _ = write!(
            text,
            "<th>received at {rate:.0}</th><th>overruns/s</th><th>pause frames/s</th>"
        );
    }
    text.push_str("</tr>");
    for row in rows {
        let _ = write!(text, "<tr><td>{}</td><td>{}</td>", row.name, row.published);
        for point in &row.points {
            let rate = |count: u64| count as f64 / point.seconds;
            cell(point.received_mbit_per_s, text);
            cell(rate(point.overruns), text);
            cell(rate(point.pause_frames), text);
        }
        text.push_str("</tr>");
    }
    text.push_str("</table>");
}

fn cell(figure: f64, text: &mut String) {
    let _ = write!(text, "<td class=\"n\">{figure:.0}</td>");
}

/// Tables of the last two changes.
fn last_changes(tables: &overruns::Tables, text: &mut String) {
    text.push_str(
        "<table><caption>Frames with overruns: passed to the stack, dropped by the driver; no pause frames</caption>\
         <tr><th>receives</th><th>factor of the kernel's cycles</th><th>offered, Mbit/s</th><th>passed: received, Mbit/s</th>\
         <th>kernel, % of the processor</th><th>dropped: received, Mbit/s</th><th>kernel, % of the processor</th></tr>",
    );
    for row in &tables.dropped {
        let offered = row.outcomes[0].point.to_send_mbit_per_s;
        let _ = write!(
            text,
            "<tr><td>{}</td><td class=\"n\">{:.2}</td>",
            row.receive, row.kernel_scale
        );
        cell(offered, text);
        for it in &row.outcomes {
            cell(it.point.received_mbit_per_s, text);
            cell(100.0 * it.kernel_share, text);
        }
        text.push_str("</tr>");
    }
    text.push_str(
        "</table><table><caption>Frames joined because an overrun lost an end: as it is, with the truncation length; no pause \
         frames</caption><tr><th>state</th><th>free octets that an end needs</th><th>log</th><th>offered, Mbit/s</th>\
         <th>as it is: received, Mbit/s</th><th>ends lost/s</th><th>lines in the log/s</th><th>truncated: received, Mbit/s</th>\
         <th>ends lost/s</th><th>lines in the log/s</th></tr>",
    );
    for row in &tables.joined {
        let _ = write!(text, "<tr><td>{}</td>", row.state);
        cell(row.overrun_end_bytes, text);
        let console = if row.logs {
            "serial console"
        } else {
            "no console"
        };
        let _ = write!(text, "<td>{console}</td>");
        cell(row.outcomes[0].point.to_send_mbit_per_s, text);
        for it in &row.outcomes {
            let rate = |count: u64| count as f64 / it.point.seconds;
            cell(it.point.received_mbit_per_s, text);
            cell(rate(it.point.lost_ends), text);
            cell(rate(it.point.parts), text);
        }
        text.push_str("</tr>");
    }
    text.push_str("</table>");
}

/// Tables of TCP, ping and both directions at once.
fn between(tests: &Tests, text: &mut String) {
    text.push_str(
        "<h2>TCP and ping</h2><table><tr><th>board</th><th>sends, Mbit/s</th><th>published</th><th>receives</th>\
         <th>again, host's reaction random</th><th>published</th><th>ping: least, median, greatest, ms</th></tr>",
    );
    let published = |rates: &[f64]| {
        let rates: Vec<String> = rates.iter().map(ToString::to_string).collect();
        rates.join(", ")
    };
    for row in &tests.tcp {
        let [least, median, _, greatest] = row.ping_ms;
        let again = row.receives_again.iter().map(|it| it.received_mbit_per_s);
        let again: Vec<String> = again.map(|rate| format!("{rate:.1}")).collect();
        let again = again.join(", ");
        let _ = write!(
            text,
            "<tr><td>{}</td><td class=\"n\">{:.0}</td><td>{}</td><td class=\"n\">{:.1}</td><td>{again}</td><td>{}</td>\
             <td>{least:.2}, {median:.2}, {greatest:.2}</td></tr>",
            row.name,
            row.sends.sent_mbit_per_s,
            published(&row.published_sent_mbit_per_s),
            row.receives.received_mbit_per_s,
            published(&row.published_received_mbit_per_s),
        );
    }
    let _ = write!(
        text,
        "</table><h2>Both directions at once</h2><p>UDP to the board, TCP from it, without the cycles of a kernel. The erratum gives \
         {ERRATUM_MBIT_PER_S} Mbit/s for the sum.</p>"
    );
    for with_pause in [false, true] {
        let rows = || tests.both.iter().filter(|it| it.with_pause == with_pause);
        let offered = |it: &BothRow| it.target_mbit_per_s as f64;
        let picture = Picture {
            unit: "sum of the frames of both directions, Mbit/s",
            line: rows()
                .map(|it| (offered(it), it.total_mbit_per_s))
                .collect(),
            points: Vec::new(),
        };
        let caption = if with_pause { "with" } else { "without" };
        let _ = write!(
            text,
            "<figure>{}<figcaption>{caption} pause frames</figcaption></figure>",
            picture.svg()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::axis_end;

    #[test]
    fn axes_end_at_four_round_divisions() {
        let ends = [0.0, 1.0, 511.8, 926.0, 99_498.0].map(|it| axis_end(it) as u64);
        assert_eq!(ends, [4, 4, 800, 1000, 100_000]);
    }
}
