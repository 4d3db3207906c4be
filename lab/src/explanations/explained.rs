//! The answer of `linerate explain` for a capture.

use super::tally::Named;
use crate::causes;
use anyhow::{Context, Result};
use linerate_results::consistency::{Explanation, StatedFinding};
use linerate_results::vantage::{Vantage, has_several_paths};
use std::path::{Path, PathBuf};
use xtask::sh;

/// What was answered for a capture.
#[derive(Debug, Default)]
pub struct Explained {
    /// In its order.
    pub named: Vec<Named>,
    /// Where the connection of the first answer was captured.
    pub vantage: Option<Vantage>,
    /// True if the capture has several paths.
    pub has_several: bool,
    pub contradictions: Vec<String>,
}

impl Explained {
    /// The answer of the program `linerate`.
    ///
    /// # Errors
    /// It fails, or prints something else.
    pub fn of(linerate: &Path, capture: &Path) -> Result<Self> {
        let mut explain = sh::cmd(linerate);
        explain.arg("explain").arg(capture).arg("--json");
        let explanation: Explanation = serde_json::from_str(&sh::read(&mut explain)?)
            .with_context(|| format!("unexpected output of `{}`", sh::show(&explain)))?;
        let first = explanation.findings.first();
        let connections = explanation.connections.iter();
        let ends = connections.map(|it| [it.sender.as_str(), it.receiver.as_str()]);
        Ok(Self {
            named: explanation.findings.iter().map(named).collect(),
            vantage: first.map(|it| explanation.vantage_of(it)),
            has_several: has_several_paths(ends),
            contradictions: explanation
                .contradictions()
                .iter()
                .map(ToString::to_string)
                .collect(),
        })
    }
}

/// The given program, or the one of this checkout.
///
/// # Errors
/// It cannot be built.
pub fn program(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(built) => Ok(built.to_owned()),
        None => causes::linerate(),
    }
}

fn named(it: &StatedFinding) -> Named {
    let figure = |name: &str| it.finding.evidence.get(name).copied();
    Named {
        cause: it.finding.cause,
        confidence: it.finding.confidence,
        rule_confidence: figure("rule_confidence").unwrap_or(it.finding.confidence),
        gain: gain(it),
    }
}

/// How many times faster the transfer would be without the cause.
fn gain(it: &StatedFinding) -> Option<f64> {
    let figure = |name: &str| it.finding.evidence.get(name).copied();
    let (with, without) = (figure("time_ns")?, figure("time_without_ns")?);
    Some(with / without.max(1.0))
}
