//! Datagrams from the device that this machine dropped itself.

use crate::cause::scored::{Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, Flow};
use linerate_results::stats;

/// Fewer are chance.
const FEWEST: u64 = 3;
/// A smaller part of the datagrams of a trial is not worth a finding.
const WORTH_NAMING: f64 = 0.001;

pub(super) fn look<'a>(flows: impl Iterator<Item = &'a Flow>) -> Option<Weighed> {
    let (mut sent, mut lost, mut own, mut worst) = (0, 0, 0, 0.0_f64);
    for datagrams in flows.filter_map(|flow| flow.datagrams) {
        // The system may count a repetition that was no loss.
        let dropped = datagrams.lost_by_host.unwrap_or(0).min(datagrams.lost);
        sent += datagrams.sent;
        lost += datagrams.lost;
        own += dropped;
        worst = worst.max(stats::ratio(dropped as f64, datagrams.sent as f64));
    }
    if own < FEWEST || worst < WORTH_NAMING {
        return None;
    }
    let rest = match lost - own {
        0 => "None was lost before.".to_owned(),
        before => format!("{} were lost before.", format::count(before)),
    };
    Some(Weighed {
        weight: worst,
        finding: Finding {
            cause: Cause::HostReceiveDrops,
            confidence: 1.0,
            summary: format!(
                "{} of the {} datagrams that were lost from the device had arrived: this machine's own socket had no \
                 room for them. {rest}",
                format::count(own),
                format::count(lost),
            ),
            evidence: evidence([
                ("lost_by_host_datagrams", own as f64),
                ("lost_datagrams", lost as f64),
                ("sent_datagrams", sent as f64),
                ("most_lost_by_host_share", worst),
            ]),
            advice: "Not the device: let this machine keep more (sysctl net.core.rmem_max=8388608), give it \
                     nothing else to do, and measure again."
                .into(),
        },
    })
}
