//! The scores as they are printed and written to target/an440/scores.json.

use super::score::{self, ANOMALIES, Effect, INTERACTIONS, Throughputs};
use super::{Results, fit, run, show, throughputs};
use serde::Serialize;

/// target/an440/scores.json.
#[derive(Debug, Serialize)]
pub struct Scores {
    mean_abs_log_error_held_out: Option<f64>,
    mean_abs_log_error_unfitted: Option<f64>,
    mean_abs_log_error_fitted_cells: Option<f64>,
    spearman: Option<f64>,
    spearman_unfitted: Option<f64>,
    ratio_error_unfitted: Option<f64>,
    anomalies_met: usize,
    interactions_met: usize,
    anomalies_met_unfitted: usize,
    interactions_met_unfitted: usize,
    anomalies: Vec<EffectScore>,
    interactions: Vec<EffectScore>,
    parameters: Vec<fit::Value>,
    cells: Vec<CellScore>,
}

/// An effect: the logarithm of a ratio, positive if it is as published.
#[derive(Debug, Serialize)]
struct EffectScore {
    effect: &'static str,
    published: Option<f64>,
    predicted: Option<f64>,
    unfitted: Option<f64>,
}

#[derive(Debug, Serialize)]
struct CellScore {
    system: &'static str,
    direction: &'static str,
    memory: &'static str,
    optimisation: &'static str,
    published_mbit_per_s: Option<f64>,
    predicted_mbit_per_s: f64,
    unfitted_mbit_per_s: Option<f64>,
    held_out: bool,
    cycles_per_segment: run::PerSegment,
}

impl Scores {
    pub fn new(
        unfitted: &Results,
        fitted: &Results,
        published: &Throughputs,
        parameters: Vec<fit::Value>,
    ) -> Self {
        let (before, after) = (throughputs(unfitted), throughputs(fitted));
        let effects = |effects: &[Effect]| {
            let score = |(effect, value): &Effect| EffectScore {
                effect,
                published: value(published),
                predicted: value(&after),
                unfitted: value(&before),
            };
            effects.iter().map(score).collect::<Vec<_>>()
        };
        Self {
            mean_abs_log_error_held_out: score::mean_absolute_log_error(
                &after,
                published,
                |cell| !cell.is_fitted(),
            ),
            mean_abs_log_error_unfitted: score::mean_absolute_log_error(&before, published, |_| {
                true
            }),
            mean_abs_log_error_fitted_cells: score::mean_absolute_log_error(
                &after,
                published,
                |cell| cell.is_fitted(),
            ),
            spearman: score::spearman(&after, published),
            spearman_unfitted: score::spearman(&before, published),
            ratio_error_unfitted: score::ratio_error(&before, published),
            anomalies_met: score::met(&ANOMALIES, &after),
            interactions_met: score::met(&INTERACTIONS, &after),
            anomalies_met_unfitted: score::met(&ANOMALIES, &before),
            interactions_met_unfitted: score::met(&INTERACTIONS, &before),
            anomalies: effects(&ANOMALIES),
            interactions: effects(&INTERACTIONS),
            parameters,
            cells: fitted
                .iter()
                .map(|(cell, measured)| CellScore {
                    system: cell.system.name(),
                    direction: cell.direction.name(),
                    memory: cell.memory.name(),
                    optimisation: cell.optimisation.name(),
                    published_mbit_per_s: published.get(cell).copied(),
                    predicted_mbit_per_s: measured.mbit_per_s,
                    unfitted_mbit_per_s: before.get(cell).copied(),
                    held_out: !cell.is_fitted(),
                    cycles_per_segment: measured.per_segment,
                })
                .collect(),
        }
    }

    /// The scores in one sentence.
    pub fn summary(&self) -> String {
        format!(
            "Mean absolute log error: {} with nothing fitted (ratios {}), {} on the held-out cells, {} on the fitted \
             ones; Spearman: {} with nothing fitted, {} fitted; interactions met: {} of {}, anomalies met: {} of {}.",
            show(self.mean_abs_log_error_unfitted),
            show(self.ratio_error_unfitted),
            show(self.mean_abs_log_error_held_out),
            show(self.mean_abs_log_error_fitted_cells),
            show(self.spearman_unfitted),
            show(self.spearman),
            self.interactions_met,
            INTERACTIONS.len(),
            self.anomalies_met,
            ANOMALIES.len()
        )
    }

    pub fn print(&self) {
        println!("\n{}", self.summary());
        for (name, effects) in [
            ("Interactions", &self.interactions),
            ("Anomalies", &self.anomalies),
        ] {
            println!("{name} (logarithms: published, predicted, nothing fitted):");
            for it in effects {
                println!(
                    "  {}: {} {} {}",
                    it.effect,
                    show(it.published),
                    show(it.predicted),
                    show(it.unfitted)
                );
            }
        }
    }
}
