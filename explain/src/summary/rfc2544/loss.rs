//! Loss over offered rate (RFC 2544 section 26.3).

use super::{NONE, percent, title};
use crate::cause::sweep;
use crate::series::rfc2544::{TrialsBySize, trials};
use crate::summary::{Axis, Chart, Curves, Line, Summary, Table};
use linerate_results::format;
use linerate_results::record::{Counting, Rfc2544, Rfc2544Test};

/// The rates of the trials, as column heads.
const RATES: [&str; 10] = [
    "100%", "90%", "80%", "70%", "60%", "50%", "40%", "30%", "20%", "10%",
];

/// The offered rate of a trial in tenths of the line rate.
fn tenth(trial: &Rfc2544) -> usize {
    (trial.params.offered_frames_per_s / trial.line_frames_per_s() * 10.0).round() as usize
}

pub(super) fn summary(counting: Counting, sizes: &TrialsBySize<'_>) -> Option<Summary> {
    let rows: Vec<(u64, &[&Rfc2544])> = trials(sizes, Rfc2544Test::FrameLoss).collect();
    let all = || rows.iter().flat_map(|(_, trials)| trials.iter());
    let lowest = all().map(|trial| tenth(trial)).min()?;
    let columns: Vec<usize> = (lowest.max(1)..=10).rev().collect();
    let mut head = vec!["frame"];
    head.extend(columns.iter().filter_map(|tenths| RATES.get(10 - tenths)));
    let cells = |(octets, trials): &(u64, &[&Rfc2544])| {
        let cell = |tenths: &usize| match trials.iter().find(|it| tenth(it) == *tenths) {
            None => NONE.to_owned(),
            Some(trial) if trial.metrics.is_below_offered => "not offered".to_owned(),
            Some(trial) => loss(trial),
        };
        let mut row = vec![octets.to_string()];
        row.extend(columns.iter().map(cell));
        row
    };
    let line = |(octets, trials): &(u64, &[&Rfc2544])| {
        let mut points: Vec<(f64, f64)> = trials
            .iter()
            .filter(|trial| !trial.metrics.is_below_offered)
            .map(|trial| (tenth(trial) as f64 / 10.0, trial.loss_ratio()))
            .collect();
        points.reverse();
        Line::measured(format!("{octets} octets"), points)
    };
    let curves = Curves {
        label: "Frames lost over offered rate".to_owned(),
        x: Axis::linear("offered rate, share of line rate", |share| {
            format!("{:.0}%", share * 100.0)
        }),
        y: Axis::linear("lost", format::percent),
        lines: rows.iter().map(line).collect(),
        ..Curves::default()
    };
    Some(Summary {
        title: title("frame loss rate", counting),
        verdict: verdict(&rows),
        findings: sweep::of_frame_loss(sizes),
        charts: vec![Chart::of("Frames lost", &curves)],
        table: Table {
            head,
            rows: rows.iter().map(cells).collect(),
        },
        ..Summary::default()
    })
}

fn loss(trial: &Rfc2544) -> String {
    match trial.loss_ratio() {
        ratio if ratio > 0.0 && ratio < 0.000_5 => "<0.1%".to_owned(),
        ratio if ratio > 0.0 => percent(ratio),
        _ => "0".to_owned(),
    }
}

fn verdict(rows: &[(u64, &[&Rfc2544])]) -> String {
    let worst = rows
        .iter()
        .flat_map(|(octets, trials)| trials.iter().map(move |trial| (*octets, *trial)))
        .filter(|(_, trial)| !trial.metrics.is_below_offered)
        .max_by(|a, b| a.1.loss_ratio().total_cmp(&b.1.loss_ratio()));
    match worst {
        Some((octets, trial)) if trial.metrics.lost_frames > 0 => format!(
            "Highest loss: {} at {} of line rate, with frames of {octets} octets.",
            loss(trial),
            RATES
                .get(10_usize.saturating_sub(tenth(trial)))
                .unwrap_or(&NONE)
        ),
        Some(_) => "No frame was lost at any offered rate.".to_owned(),
        None => "None of the requested rates could be offered.".to_owned(),
    }
}
