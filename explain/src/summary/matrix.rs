//! A matrix: the best combination of values with its margins, and the effect of each factor.

use linerate_results::format;
use linerate_results::matrix::{Combination, Elasticity, Ranking, elasticities, rankings};
use linerate_results::record::Run;

use super::{Summary, Table};

/// Number of combinations in the table.
const SHOWN: usize = 10;

/// One summary per kind of result.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let Some(objective) = run.matrix.as_ref().and_then(|it| it.objective.as_ref()) else {
        return Vec::new();
    };
    let effects = elasticities(run);
    let rankings = rankings(run).into_iter();
    rankings
        .map(|ranking| {
            let metric = &objective.metric;
            let goal = if objective.is_lowest_best { "lowest" } else { "highest" };
            let effects = effects.iter().filter(|it| it.of == ranking.of);
            let mut verdict = verdict(&ranking, metric);
            for effect in effects {
                verdict.push(' ');
                verdict.push_str(&sentence(effect, metric));
            }
            Summary {
                title: format!("Best cell: {}", ranking.of),
                verdict,
                variant: format!(
                    "The {goal} {metric}, as the mean over all seeds. Margins below the range of the seeds may be chance."
                ),
                table: table(&ranking, metric),
                ..Summary::default()
            }
        })
        .collect()
}

/// A figure with its unit, which is in the name of the metric.
fn figure(metric: &str, value: f64) -> String {
    if metric.contains("bytes_per_s") {
        format::rate(value)
    } else {
        format!("{value:.4}")
    }
}

/// The relative difference of two figures; of 0 there is none.
fn margin(value: f64, other: f64) -> String {
    if other == 0.0 {
        return if value == 0.0 { "±0" } else { "from 0" }.to_owned();
    }
    format!("{:+.1}%", (value / other - 1.0) * 100.0)
}

fn verdict(ranking: &Ranking, metric: &str) -> String {
    let Some(best) = ranking.combinations.first() else {
        return "No cell was measured.".to_owned();
    };
    let mut text = format!("{}: {}", best.name(), figure(metric, best.mean));
    if let Some(next) = ranking.combinations.get(1) {
        text = format!(
            "{text}, {} against the next ({})",
            margin(best.mean, next.mean),
            next.name()
        );
    }
    match ranking.default {
        Some(0) => text.push_str("; it is the default."),
        Some(at) => {
            let default = &ranking.combinations[at];
            let against = margin(best.mean, default.mean);
            text = format!(
                "{text}, {against} against the default ({}).",
                figure(metric, default.mean)
            );
        }
        None => text.push_str("; the default was not measured."),
    }
    text
}

fn sentence(effect: &Elasticity, metric: &str) -> String {
    format!(
        "1% more {} gives {:+.2}% {metric} (between {} and {} of it, other axes at their defaults).",
        effect.axis, effect.elasticity, effect.between.0, effect.between.1
    )
}

fn table(ranking: &Ranking, metric: &str) -> Table {
    let row = |(at, one): (usize, &Combination)| {
        let best = ranking.combinations[0].mean;
        let range = if one.range.0.total_cmp(&one.range.1).is_eq() {
            "–".to_owned()
        } else {
            format!(
                "{} to {}",
                figure(metric, one.range.0),
                figure(metric, one.range.1)
            )
        };
        let mut name = one.name();
        if ranking.default == Some(at) {
            name.push_str(" (default)");
        }
        vec![
            name,
            figure(metric, one.mean),
            margin(one.mean, best),
            range,
        ]
    };
    let all = ranking.combinations.iter().enumerate();
    let shown = all.filter(|(at, _)| *at < SHOWN || ranking.default == Some(*at));
    Table {
        head: vec!["cell", "mean", "against the best", "range"],
        rows: shown.map(row).collect(),
    }
}
