//! One story from this machine's figures and the capture of the same transfer.

use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding, Throughput};

/// Findings of a capture that are added at most.
const MAX_ADDED: usize = 2;
/// A finding below this is not added: the figures of the sockets say more.
const MIN_CONFIDENCE: f64 = 0.5;

/// Adds what the capture shows in `direction`. It confirms a cause that the figures name; it is the answer where they
/// do not decide.
pub(super) fn add_capture(
    result: &Throughput,
    direction: Direction,
    findings: &mut Vec<Finding>,
    unknown: &mut String,
) {
    let Some(capture) = &result.observation.capture else {
        return;
    };
    let shown: Vec<&Finding> = capture
        .findings
        .iter()
        .filter(|it| it.direction.is_none_or(|its| its == direction))
        .map(|it| &it.finding)
        .collect();
    let is_known = unknown.is_empty() && !findings.is_empty();
    if is_known {
        let main = findings[0].cause;
        if shown.first().is_some_and(|it| it.cause == main) {
            findings[0].confidence = findings[0].confidence.max(0.95);
            findings[0].summary.push_str(" The capture shows the same.");
        }
    }
    let mut added = Vec::new();
    for finding in shown {
        let is_new = findings
            .iter()
            .chain(&added)
            .all(|it| it.cause != finding.cause);
        if is_new
            && finding.confidence >= MIN_CONFIDENCE
            && !contradicts(findings, finding)
            && added.len() < MAX_ADDED
        {
            added.push(Finding {
                summary: format!("In the capture: {}", finding.summary),
                ..finding.clone()
            });
        }
    }
    if is_known {
        findings.extend(added);
    } else if !added.is_empty() {
        // The sockets do not decide: the capture does.
        added.append(findings);
        *findings = added;
        unknown.clear();
    }
    if capture.dropped_frames > 0 {
        findings.retain(|it| it.cause != Cause::CaptureIncomplete);
        let note = format!(
            "the capture misses {} frames",
            format::count(capture.dropped_frames)
        );
        if !unknown.is_empty() {
            unknown.push_str("; ");
            unknown.push_str(&note);
        }
    }
}

/// True if a finding of the capture cannot be true beside what this machine's sockets counted.
fn contradicts(findings: &[Finding], shown: &Finding) -> bool {
    let has = |cause| findings.iter().any(|it| it.cause == cause);
    match shown.cause {
        // The sender's kernel counts the time in which the window, or its own program, stopped it.
        Cause::CongestionWindow | Cause::SenderIdle | Cause::HostPacing | Cause::LateAcks => {
            has(Cause::ReceiveWindow) || has(Cause::PathRate)
        }
        Cause::AtLineRate => has(Cause::PathRate) || has(Cause::ReceiveWindow),
        // A full queue loses what it cannot hold, and delays the rest; what a larger window or buffer adds waits there, too.
        Cause::RandomLoss
        | Cause::LossInBursts
        | Cause::Bufferbloat
        | Cause::QueueOverflow
        | Cause::ReceiveWindow
        | Cause::NoWindowScaling
        | Cause::SendBuffer => has(Cause::PathRate) || has(Cause::AtLineRate),
        _ => false,
    }
}
