//! Figures of a matrix: the best cell with its margins, and elasticities.

use std::collections::BTreeMap;

use crate::export::figures;
use crate::record::{AxisValue, Matrix, Measurement, Run};

/// One combination of values, all seeds together.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The value of each axis.
    pub values: BTreeMap<String, AxisValue>,
    /// Mean of the objective over seeds and results.
    pub mean: f64,
    /// Least and greatest value.
    pub range: (f64, f64),
}

impl Combination {
    /// `axis = value`, joined by commas.
    pub fn name(&self) -> String {
        let values = self.values.iter();
        let values: Vec<String> = values.map(|(name, it)| format!("{name} = {it}")).collect();
        values.join(", ")
    }
}

/// The combinations for one kind of result, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Measurement and run.
    pub of: String,
    /// The best first.
    pub combinations: Vec<Combination>,
    /// Index of the combination in which each axis has its default, if measured.
    pub default: Option<usize>,
}

/// Effect of an axis of factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Elasticity {
    /// Measurement and run.
    pub of: String,
    /// Name of the axis.
    pub axis: String,
    /// Relative change of the objective per relative change of the factor, near the default: 0.5 means that one percent
    /// more gives half a percent more. The other axes have their defaults.
    pub elasticity: f64,
    /// The two factors that it was computed from.
    pub between: (f64, f64),
}

/// The combinations of `run` by its objective; empty without a matrix with one.
pub fn rankings(run: &Run) -> Vec<Ranking> {
    let Some(matrix) = &run.matrix else {
        return Vec::new();
    };
    let Some(objective) = &matrix.objective else {
        return Vec::new();
    };
    let mut kinds: Vec<(String, Vec<Combination>, Vec<usize>)> = Vec::new();
    for result in &run.results {
        let figures = figures(result).into_iter();
        let mut figures = figures.filter(|it| it.metric == objective.metric);
        let value = figures.next().map(|it| it.value);
        let (Some(cell), Some(value)) = (&result.setting().cell, value) else {
            continue;
        };
        let of = subject(result);
        let at = kinds.iter().position(|kind| kind.0 == of);
        let at = at.unwrap_or_else(|| {
            kinds.push((of, Vec::new(), Vec::new()));
            kinds.len() - 1
        });
        let (_, all, counts) = &mut kinds[at];
        if let Some(at) = all.iter().position(|it| it.values == cell.values) {
            let one = &mut all[at];
            counts[at] += 1;
            one.mean += (value - one.mean) / counts[at] as f64;
            one.range = (one.range.0.min(value), one.range.1.max(value));
        } else {
            counts.push(1);
            all.push(Combination {
                values: cell.values.clone(),
                mean: value,
                range: (value, value),
            });
        }
    }
    let ranking = |(of, mut combinations, _): (String, Vec<Combination>, Vec<usize>)| {
        // Stable: of equal ones the first in the matrix is the best.
        let sign = if objective.is_lowest_best { 1.0 } else { -1.0 };
        combinations.sort_by(|a, b| (sign * a.mean).total_cmp(&(sign * b.mean)));
        let default = combinations
            .iter()
            .position(|it| is_default(matrix, it, ""));
        Ranking {
            of,
            combinations,
            default,
        }
    };
    kinds.into_iter().map(ranking).collect()
}

/// Measurement and run of a result, and its size or load.
fn subject(result: &Measurement) -> String {
    format!(
        "{}, {}",
        result.setting().name(),
        result.describe().detail()
    )
}

/// True if each axis except `free` has its default.
fn is_default(matrix: &Matrix, one: &Combination, free: &str) -> bool {
    let mut axes = matrix.axes.iter().filter(|axis| axis.name != free);
    axes.all(|axis| one.values.get(&axis.name) == Some(&axis.default))
}

/// The elasticity of each axis of factors, from the factors next to 1 on both sides (or the two nearest ones).
pub fn elasticities(run: &Run) -> Vec<Elasticity> {
    let Some(matrix) = &run.matrix else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for ranking in rankings(run) {
        for axis in matrix.axes.iter().filter(|axis| axis.is_factor) {
            let points = ranking.combinations.iter();
            let mut points: Vec<(f64, f64)> = points
                .filter(|it| is_default(matrix, it, &axis.name))
                .filter_map(|it| Some((it.values.get(&axis.name)?.number()?, it.mean)))
                .filter(|(factor, mean)| *factor > 0.0 && *mean > 0.0)
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let Some((low, high)) = neighbours(&points) else {
                continue;
            };
            all.push(Elasticity {
                of: ranking.of.clone(),
                axis: axis.name.clone(),
                elasticity: (high.1 / low.1).ln() / (high.0 / low.0).ln(),
                between: (low.0, high.0),
            });
        }
    }
    all
}

/// The points next to the factor 1.
fn neighbours(points: &[(f64, f64)]) -> Option<((f64, f64), (f64, f64))> {
    let one = points.partition_point(|it| it.0 < 1.0);
    let above = points.partition_point(|it| it.0 <= 1.0);
    let low = one.saturating_sub(1);
    let high = above.min(points.len().checked_sub(1)?);
    (low < high).then(|| (points[low], points[high]))
}

#[cfg(test)]
mod tests;
