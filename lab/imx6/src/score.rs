//! Curves beside the published ones, scores, and the fit.

use anyhow::Result;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;
use serde::Serialize;

use crate::curves::{Curve, Curves, Role, Values};
use crate::point::{Point, Setup, run_all};
use crate::published::Published;

/// The published counters.
const PAUSE_FRAMES: &str = "ENET_IEEE_T_FDXFC";
const OVERRUNS: &str = "ENET_IEEE_R_MACERR";

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
    /// The received rate, from the published datagrams and time: without the wait for the last datagram.
    pub published_mbit_per_s: Option<f64>,
    /// The received rate, as printed.
    pub printed_mbit_per_s: Option<f64>,
    /// Datagrams that the host sent, as published.
    pub published_datagrams: u64,
    /// The counter of pause frames after the test, and that of overruns, as published; 16 bits.
    pub published_pause_frames: Option<u32>,
    /// See `published_pause_frames`.
    pub published_overruns: Option<u32>,
    /// The received rate, simulated, as iperf counts it.
    pub predicted_mbit_per_s: f64,
    /// Everything that was measured.
    #[serde(flatten)]
    pub point: Point,
}

impl ComparedPoint {
    /// PAUSE frames per datagram that reached the MAC: published and simulated. The published counter has 16 bits, and how
    /// often it overflowed is unknown; taken are those overflows that bring it nearest to two per datagram, so the published
    /// figure is no evidence that there were two.
    pub fn pauses_per_datagram(&self) -> (Option<f64>, f64) {
        let simulated = self.point.pause_frames as f64 / self.point.datagrams.max(1) as f64;
        let published = self.published_pause_frames.map(|counter| {
            let all = self.published_datagrams as f64;
            let overflows = ((2.0 * all - f64::from(counter)) / 65536.0).round();
            (f64::from(counter) + overflows * 65536.0) / all
        });
        (published, simulated)
    }
}

/// RMS of the logarithms of simulated by published rate; rates below `floor` count as it.
fn rms_of(curves: &[&Compared], published: fn(&ComparedPoint) -> Option<f64>, floor: f64) -> f64 {
    let points = curves.iter().flat_map(|it| &it.points);
    let errors = points.filter_map(|it| {
        let published = published(it)?.max(floor);
        Some((it.predicted_mbit_per_s.max(floor) / published).ln())
    });
    let errors: Vec<f64> = errors.collect();
    (errors.iter().map(|it| it * it).sum::<f64>() / errors.len() as f64).sqrt()
}

/// RMS of the errors of these curves.
pub fn rms(curves: &[&Compared], floor: f64) -> f64 {
    rms_of(curves, |it| it.published_mbit_per_s, floor)
}

/// The same against the rates as printed.
pub fn rms_as_printed(curves: &[&Compared], floor: f64) -> f64 {
    rms_of(curves, |it| it.printed_mbit_per_s, floor)
}

/// Simulates `chosen` with these values, for `measures` a point if given.
///
/// # Errors
/// A simulation fails.
pub fn compare(
    curves: &Curves,
    chosen: &[&Curve],
    values: &Values,
    measures: Option<Span>,
    elf: &Elf,
) -> Result<Vec<Compared>> {
    let mut setups: Vec<Setup> = Vec::new();
    let mut published: Vec<Vec<Published>> = Vec::new();
    for curve in chosen {
        let points = curves.published(curve)?;
        for point in &points {
            let setup = curves.setup(&curve.boot, point.offered, values)?;
            setups.push(Setup {
                measures: measures.unwrap_or(setup.measures),
                ..setup
            });
        }
        published.push(points);
    }
    let mut points = run_all(&setups, elf)?.into_iter();
    let compared = chosen.iter().zip(published).map(|(curve, published)| {
        let points = published.iter().zip(points.by_ref());
        let points = points.map(|(published, point)| ComparedPoint {
            target_mbit_per_s: published.target,
            published_mbit_per_s: Some(published.received).filter(|it| it.is_finite()),
            printed_mbit_per_s: Some(published.printed).filter(|it| it.is_finite()),
            published_datagrams: published.datagrams,
            published_pause_frames: curves.register(curve, published.target, PAUSE_FRAMES),
            published_overruns: curves.register(curve, published.target, OVERRUNS),
            predicted_mbit_per_s: curves.rate(&point),
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

/// Fits the parameters on the fitted curves, from these values: it minimizes the squared errors of points and
/// parameters in their standard deviations, by the best step of one parameter at a time, with smaller and smaller
/// steps. Calls `progress` after each. Returns the values, and the sum of the squares.
///
/// # Errors
/// A simulation fails.
pub fn fit(
    curves: &Curves,
    elf: &Elf,
    start: Values,
    mut progress: impl FnMut(&Values, f64),
) -> Result<(Values, f64)> {
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
        let of_points = points.iter().zip(&setups).map(|(point, (_, published))| {
            let received = point.received_mbit_per_s.max(curves.floor());
            ((received / published.received).ln() / curves.fit_deviation()).powi(2)
        });
        let of_priors = curves.parameters().iter().map(|it| {
            let value = values.get(&it.name).copied().unwrap_or(it.value);
            ((value / it.value).ln() / it.deviation).powi(2)
        });
        Ok(of_points.chain(of_priors).sum())
    };
    let mut values = start;
    let mut best = error(&values)?;
    progress(&values, best);
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let mut steps = Vec::new();
        for parameter in curves.parameters() {
            for factor in [step, 1.0 / step] {
                let mut tried = values.clone();
                *tried
                    .entry(parameter.name.clone())
                    .or_insert(parameter.value) *= factor;
                steps.push((error(&tried)?, tried));
            }
        }
        match steps.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((error, tried)) if error < best => (values, best) = (tried, error),
            _ => step = step.sqrt(),
        }
        progress(&values, best);
    }
    Ok((values, best))
}
