//! Curves beside the published ones, scores, and the fit.

use anyhow::Result;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;
use serde::Serialize;

use crate::curves::{Curve, Curves, Published, Role, Values};
use crate::point::{Point, Setup, run_all};

/// Simulated points of a curve beside the published ones.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The curve.
    pub name: String,
    /// Its name in the published data.
    pub kernel: Option<String>,
    /// "fitted", "held-out" or "in words".
    pub role: &'static str,
    /// RMS of the logarithm of the simulated by the published rate.
    pub rms_log_error: Option<f64>,
    /// The points.
    pub points: Vec<ComparedPoint>,
}

/// A point.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedPoint {
    /// The rate that iperf was to send.
    pub target_mbit_per_s: u64,
    /// The received rate, as published.
    pub published_mbit_per_s: Option<f64>,
    /// The received rate, simulated.
    pub predicted_mbit_per_s: f64,
    /// Everything that was measured.
    #[serde(flatten)]
    pub point: Point,
}

impl ComparedPoint {
    /// Logarithm of simulated by published.
    fn error(&self, floor: f64) -> Option<f64> {
        let published = self.published_mbit_per_s?;
        Some((self.predicted_mbit_per_s.max(floor) / published.max(floor)).ln())
    }
}

/// RMS of the errors of these curves.
pub fn rms(curves: &[&Compared], floor: f64) -> f64 {
    let errors = curves
        .iter()
        .flat_map(|it| &it.points)
        .filter_map(|it| it.error(floor));
    let errors: Vec<f64> = errors.collect();
    (errors.iter().map(|it| it * it).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Simulates `chosen` with these values.
///
/// # Errors
/// A simulation fails.
pub fn compare(
    curves: &Curves,
    chosen: &[&Curve],
    values: &Values,
    elf: &Elf,
) -> Result<Vec<Compared>> {
    let mut setups: Vec<Setup> = Vec::new();
    let mut published: Vec<Vec<Published>> = Vec::new();
    for curve in chosen {
        let points = curves.published(curve)?;
        for point in &points {
            setups.push(curves.setup(&curve.boot, point.offered, values)?);
        }
        published.push(points);
    }
    let mut points = run_all(&setups, elf)?.into_iter();
    let compared = chosen.iter().zip(published).map(|(curve, published)| {
        let points = published.iter().zip(points.by_ref());
        let points = points.map(|(published, point)| ComparedPoint {
            target_mbit_per_s: published.target,
            published_mbit_per_s: Some(published.received).filter(|it| it.is_finite()),
            predicted_mbit_per_s: point.received_mbit_per_s,
            point,
        });
        let mut compared = Compared {
            name: curve.name.clone(),
            kernel: curve.published.clone(),
            role: match curve.role {
                Role::Fitted => "fitted",
                Role::HeldOut => "held-out",
                Role::InWords => "in words",
            },
            rms_log_error: None,
            points: points.collect(),
        };
        let error = rms(&[&compared], curves.floor());
        compared.rms_log_error = Some(error).filter(|it| it.is_finite());
        compared
    });
    Ok(compared.collect())
}

/// Points below this rate lose nothing, whatever the parameters: the fit leaves them out.
const FIT_FROM_MBIT_PER_S: u64 = 300;
/// First step of a parameter, as a factor, and the last one.
const FIRST_STEP: f64 = 1.25;
const LAST_STEP: f64 = 1.02;

/// Fits the parameters on the fitted curves, from their priors, one after the other with smaller and smaller
/// steps. Calls `progress` for each better set.
///
/// # Errors
/// A simulation fails.
pub fn fit(curves: &Curves, elf: &Elf, mut progress: impl FnMut(&Values, f64)) -> Result<Values> {
    let mut setups = Vec::new();
    for curve in curves.all().iter().filter(|it| it.role == Role::Fitted) {
        let points = curves.published(curve)?.into_iter();
        setups.extend(
            points
                .filter(|it| it.target >= FIT_FROM_MBIT_PER_S)
                .map(|it| (curve.boot.clone(), it)),
        );
    }
    let error = |values: &Values| -> Result<f64> {
        let all: Result<Vec<Setup>> = setups
            .iter()
            .map(|(boot, it)| {
                let setup = curves.setup(boot, it.offered, values)?;
                Ok(Setup {
                    measures: Span::from_ms(60),
                    ..setup
                })
            })
            .collect();
        let points = run_all(&all?, elf)?;
        let squares = points.iter().zip(&setups).map(|(point, (_, published))| {
            (point.received_mbit_per_s.max(curves.floor()) / published.received)
                .ln()
                .powi(2)
        });
        Ok((squares.sum::<f64>() / points.len() as f64).sqrt())
    };
    let mut values = curves.values(false);
    let mut best = error(&values)?;
    progress(&values, best);
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let mut is_better = false;
        for parameter in curves.parameters() {
            for factor in [step, 1.0 / step] {
                loop {
                    let mut tried = values.clone();
                    *tried
                        .entry(parameter.name.clone())
                        .or_insert(parameter.value) *= factor;
                    let now = error(&tried)?;
                    if now >= best {
                        break;
                    }
                    (values, best, is_better) = (tried, now, true);
                    progress(&values, best);
                }
            }
        }
        if !is_better {
            step = step.sqrt();
        }
    }
    Ok(values)
}
