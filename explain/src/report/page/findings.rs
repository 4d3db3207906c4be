//! The findings, with their evidence worded.

use serde::Serialize;

use super::{label, size};
use crate::cause;
use crate::record::HttpGet;
use crate::report::format;

#[derive(Serialize)]
pub(super) struct StageFindings<'a> {
    class: String,
    variant: &'a str,
    size: String,
    verdict: String,
    findings: Vec<FindingView<'a>>,
}

#[derive(Serialize)]
pub(super) struct FindingView<'a> {
    cause: String,
    confidence: String,
    summary: &'a str,
    advice: &'a str,
    evidence: Vec<(&'a str, String)>,
}

pub(super) fn stage_findings(get: &HttpGet, class: String) -> StageFindings<'_> {
    StageFindings {
        class,
        variant: label(get),
        size: size(get),
        verdict: cause::verdict(get),
        findings: get
            .findings
            .iter()
            .map(|finding| FindingView {
                cause: finding.cause.to_string(),
                confidence: format::percent(finding.confidence),
                summary: &finding.summary,
                advice: &finding.advice,
                evidence: finding
                    .evidence
                    .iter()
                    .map(|(name, value)| (name.as_str(), evidence(name, *value)))
                    .collect(),
            })
            .collect(),
    }
}

/// A figure of evidence, worded by the unit in its name.
pub(in crate::report) fn evidence(name: &str, value: f64) -> String {
    if name.contains("_share") || name.starts_with("share_") {
        format::percent(value)
    } else if name.contains("_ns") {
        format::time(value as u64)
    } else if value < 0.0 {
        value.to_string()
    } else {
        format::count(value as u64)
    }
}
