//! Datagrams from the device that this machine dropped.

use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, Flow};
use linerate_results::stats;

/// Fewer drops may be chance.
const MIN_COUNT: u64 = 3;
/// A smaller share of the datagrams of a trial is not worth a finding.
const MIN_SHARE: f64 = 0.001;

pub(super) fn evaluate<'a>(flows: impl Iterator<Item = &'a Flow>) -> Option<ScoredFinding> {
    let (mut sent, mut lost, mut own, mut worst) = (0, 0, 0, 0.0_f64);
    for datagrams in flows.filter_map(|flow| flow.datagrams) {
        // The system may also count a dropped duplicate, which is no loss.
        let dropped = datagrams.lost_by_host.unwrap_or(0).min(datagrams.lost);
        sent += datagrams.sent;
        lost += datagrams.lost;
        own += dropped;
        worst = worst.max(stats::ratio(dropped as f64, datagrams.sent as f64));
    }
    if own < MIN_COUNT || worst < MIN_SHARE {
        return None;
    }
    let rest = match lost - own {
        0 => "None was lost earlier.".to_owned(),
        before => format!("{} were lost earlier.", format::count(before)),
    };
    Some(ScoredFinding {
        weight: worst,
        finding: Finding {
            cause: Cause::HostReceiveDrops,
            confidence: 1.0,
            summary: format!(
                "Of the {} datagrams lost from the device, {} had arrived at this machine: its socket buffer was \
                 full. {rest}",
                format::count(lost),
                format::count(own),
            ),
            evidence: evidence([
                ("lost_by_host_datagrams", own as f64),
                ("lost_datagrams", lost as f64),
                ("sent_datagrams", sent as f64),
                ("most_lost_by_host_share", worst),
            ]),
            advice: "The device is not the cause: enlarge this machine's socket buffers (sysctl \
                     net.core.rmem_max=8388608), stop its other work, and measure again."
                .into(),
        },
    })
}
