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

/// A finding in words.
#[derive(Serialize)]
pub(in crate::report) struct FindingView {
    pub cause: String,
    pub confidence: String,
    pub summary: String,
    pub advice: String,
    pub evidence: Vec<(String, String)>,
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

impl FindingView {
    pub fn of(finding: &Finding) -> Self {
        let figures = finding.evidence.iter();
        Self {
            cause: finding.cause.to_string(),
            confidence: format::percent(finding.confidence),
            summary: finding.summary.clone(),
            advice: finding.advice.clone(),
            evidence: figures
                .map(|(name, value)| (name.clone(), evidence(name, *value)))
                .collect(),
        }
    }
}

fn views(findings: &[Finding]) -> Vec<FindingView> {
    findings.iter().map(FindingView::of).collect()
}

/// A figure of evidence, formatted according to the unit in its name.
fn evidence(name: &str, value: f64) -> String {
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
