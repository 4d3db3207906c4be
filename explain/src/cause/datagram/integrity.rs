//! Packets with wrong checksums, and packets that arrive twice.

use crate::cause::packets::insert;
use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::reader::Protocol;
use linerate_capture::traffic::{Checksums, Repeats};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Fewer wrong packets may be a host's own experiment.
const MIN_WRONG: u64 = 3;
const MIN_WRONG_SHARE: f64 = 0.001;
/// If more are wrong, the sender's adapter computes the checksums after the capture.
const MAX_WRONG_SHARE: f64 = 0.5;
const MIN_COPIES: u64 = 10;
const MIN_COPIES_SHARE: f64 = 0.01;
/// If more packets are copies, the capture sees each packet twice: on two interfaces, or on a mirror port.
const MAX_COPIES_SHARE: f64 = 0.45;

/// A finding with the number of packets that it counts.
pub(super) type Counted = (u64, PathFinding);

/// Wrong checksums, by kind and pair of hosts.
pub(super) fn checksums(all: &[Checksums]) -> Vec<Counted> {
    let found = all.iter().filter_map(|it| {
        let share = stats::ratio(it.wrong as f64, it.checked as f64);
        let is_error = it.wrong >= MIN_WRONG
            && (MIN_WRONG_SHARE..=MAX_WRONG_SHARE).contains(&share)
            && !it.are_accepted();
        is_error.then(|| (it.wrong, wrong_checksums(it, share)))
    });
    found.collect()
}

fn wrong_checksums(it: &Checksums, share: f64) -> PathFinding {
    let (sender, receiver, kind) = match it.of {
        Some((sender, receiver, protocol)) => {
            let kind = if protocol == Protocol::Tcp {
                "TCP segments"
            } else {
                "UDP datagrams"
            };
            (Some(sender.to_string()), Some(receiver.to_string()), kind)
        }
        None => (None, None, "IPv4 headers"),
    };
    let mut found = PathFinding {
        alternative_to: None,
        sender,
        receiver,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::ChecksumErrors,
            confidence: 0.95,
            summary: format!(
                "{} of {} {kind} ({}) arrived with a wrong checksum: the receiver discards them, as if they were lost.",
                format::count(it.wrong),
                format::count(it.checked),
                format::percent(share),
            ),
            evidence: evidence([
                ("wrong_packets", it.wrong as f64),
                ("checked_packets", it.checked as f64),
                ("wrong_share", share),
            ]),
            advice: "Bits change after a station verified the frame's checksum or before one computed it: check the \
                     memory, DMA and bus of the device in between, checksum offload, and serial links without an \
                     error check."
                .into(),
        },
    };
    insert(&mut found, it.wrong_at);
    found
}

/// Adds the finding about wrong checksums; it takes the cost of the losses that it explains.
pub(super) fn take_losses((wrong, mut found): Counted, others: &mut Vec<PathFinding>) {
    let is_explained = |it: &PathFinding| {
        let is_loss = matches!(
            it.finding.cause,
            Cause::RandomLoss
                | Cause::LossInBursts
                | Cause::WireErrors
                | Cause::RetransmissionStalls
                | Cause::NoSack
                | Cause::QueueOverflow
                | Cause::ShallowQueue
                | Cause::Policed
        );
        let counts = [
            "lost_segments",
            "retransmitted_segments",
            "lost_datagrams",
            "lost",
        ];
        let lost = counts
            .iter()
            .find_map(|name| it.finding.evidence.get(*name));
        it.alternative_to.is_none()
            && is_loss
            && it.sender == found.sender
            && it.receiver == found.receiver
            && lost.is_none_or(|lost| wrong as f64 >= lost / 2.0)
    };
    let explained: Vec<PathFinding> = others.extract_if(.., |it| is_explained(it)).collect();
    // The sum of nothing is -0.0, which a reader would see.
    let costs = explained.iter().map(|it| it.share_of_time);
    let cost = costs.fold(0.0, |sum, share| sum + share);
    // What was given instead of such a loss goes with it.
    let goes_with = |it: &PathFinding, loss: &PathFinding| {
        it.alternative_to == Some(loss.finding.cause)
            && it.sender == loss.sender
            && it.receiver == loss.receiver
    };
    others.retain(|it| !explained.iter().any(|loss| goes_with(it, loss)));
    found.share_of_time = cost.min(1.0);
    others.push(found);
}

/// IPv4 packets other than TCP that arrive more than once.
pub(super) fn duplicates(repeats: &Repeats) -> Option<PathFinding> {
    let share = stats::ratio(repeats.copies as f64, repeats.packets as f64);
    if repeats.copies < MIN_COPIES || !(MIN_COPIES_SHARE..=MAX_COPIES_SHARE).contains(&share) {
        return None;
    }
    let [sender, receiver] = repeats.ends?;
    let mut found = PathFinding {
        alternative_to: None,
        sender: Some(sender.to_string()),
        receiver: Some(receiver.to_string()),
        share_of_time: share,
        finding: Finding {
            cause: Cause::DuplicateFrames,
            confidence: 0.85,
            summary: format!(
                "{} of {} packets other than TCP ({}) are copies of one that arrived within 10 ms before, with the \
                 same identification.",
                format::count(repeats.copies),
                format::count(repeats.packets),
                format::percent(share),
            ),
            evidence: evidence([
                ("copies", repeats.copies as f64),
                ("packets", repeats.packets as f64),
            ]),
            advice: "Something on the path sends frames twice: a loop of switches, bonded links, a wireless \
                     bridge that missed an acknowledgment."
                .into(),
        },
    };
    insert(&mut found, repeats.copies_at);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(cause: Cause, alternative_to: Option<Cause>) -> PathFinding {
        PathFinding {
            alternative_to,
            sender: None,
            receiver: None,
            share_of_time: 0.4,
            finding: Finding {
                cause,
                confidence: 0.5,
                summary: String::new(),
                evidence: evidence([("lost_segments", 4.0)]),
                advice: String::new(),
            },
        }
    }

    #[test]
    fn what_is_given_instead_of_losses_by_wrong_checksums_goes_with_them() {
        // An alternative has no count of its own.
        let mut queue = finding(Cause::ShallowQueue, Some(Cause::RandomLoss));
        queue.finding.evidence.clear();
        let mut others = vec![finding(Cause::RandomLoss, None), queue];
        take_losses((4, finding(Cause::ChecksumErrors, None)), &mut others);
        let causes: Vec<Cause> = others.iter().map(|it| it.finding.cause).collect();
        assert_eq!(causes, [Cause::ChecksumErrors]);
        assert!((others[0].share_of_time - 0.4).abs() < 1e-9);
    }

    #[test]
    fn wrong_checksums_explain_losses_whatever_repairs_them() {
        for cause in [Cause::NoSack, Cause::QueueOverflow, Cause::Policed] {
            let mut others = vec![finding(cause, None)];
            take_losses((4, finding(Cause::ChecksumErrors, None)), &mut others);
            let causes: Vec<Cause> = others.iter().map(|it| it.finding.cause).collect();
            assert_eq!(causes, [Cause::ChecksumErrors]);
        }
    }

    #[test]
    fn wrong_checksums_that_explain_few_losses_take_neither_them_nor_their_alternative() {
        let mut losses = finding(Cause::RandomLoss, None);
        losses.finding.evidence = evidence([("lost_segments", 100.0)]);
        let mut queue = finding(Cause::ShallowQueue, Some(Cause::RandomLoss));
        queue.finding.evidence.clear();
        let mut others = vec![losses, queue];
        take_losses((4, finding(Cause::ChecksumErrors, None)), &mut others);
        assert_eq!(others.len(), 3);
        let added = &others[2];
        assert_eq!(added.finding.cause, Cause::ChecksumErrors);
        assert!(added.share_of_time == 0.0 && added.share_of_time.is_sign_positive());
    }
}
