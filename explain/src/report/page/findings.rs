//! The findings, with their evidence formatted.

use serde::Serialize;

use super::{label, size};
use crate::summary::Summary;
use linerate_results::format;
use linerate_results::record::{Finding, HttpGet};

#[derive(Serialize)]
pub(super) struct StageFindings<'a> {
    variant: &'a str,
    size: String,
    goodput: String,
    findings: Vec<FindingView>,
}

/// The summary of a procedure with its findings.
#[derive(Serialize)]
pub(super) struct SummaryView {
    #[serde(flatten)]
    summary: Summary,
    why: Vec<FindingView>,
}

impl From<Summary> for SummaryView {
    fn from(summary: Summary) -> Self {
        let why = views(&summary.findings);
        Self { summary, why }
    }
}

#[derive(Serialize)]
pub(super) struct FindingView {
    cause: String,
    confidence: String,
    summary: String,
    advice: String,
    evidence: Vec<(String, String)>,
}

pub(super) fn stage_findings(get: &HttpGet) -> StageFindings<'_> {
    StageFindings {
        variant: label(get),
        size: size(get),
        goodput: format!(
            "{}, {} of line rate",
            format::rate(get.metrics.goodput_bytes_per_s_p50),
            format::percent(get.share_of_line_rate())
        ),
        findings: views(&get.findings),
    }
}

fn views(findings: &[Finding]) -> Vec<FindingView> {
    let view = |finding: &Finding| {
        let Finding {
            cause,
            confidence,
            summary,
            evidence: figures,
            advice,
        } = finding;
        FindingView {
            cause: cause.to_string(),
            confidence: format::percent(*confidence),
            summary: summary.clone(),
            advice: advice.clone(),
            evidence: figures
                .iter()
                .map(|(name, value)| (name.clone(), evidence(name, *value)))
                .collect(),
        }
    };
    findings.iter().map(view).collect()
}

/// A figure of evidence, formatted according to the unit in its name.
pub(in crate::report) fn evidence(name: &str, value: f64) -> String {
    if name.contains("_share") || name.starts_with("share_") {
        format::percent(value)
    } else if name.contains("_bytes_per_s") {
        format::bit_rate(value)
    } else if name.contains("_ns") {
        format::time(value as u64)
    } else if value < 0.0 {
        value.to_string()
    } else {
        format::count(value as u64)
    }
}
