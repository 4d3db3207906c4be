//! Where in a capture a finding can be seen.

use crate::record::Cause;
use crate::tcp::{Limit, Marks};
use crate::traffic::{Path, PathFinding};

/// Puts the packets with which it happened first, last and worst into a finding's evidence. `broadcasts` and `pauses` are those of the whole capture.
pub fn name_packets(found: &mut PathFinding, paths: &[Path], broadcasts: Marks, pauses: Marks) {
    let path = paths.iter().find(|path| {
        found.sender.as_ref() == Some(&path.sender.to_string())
            && found.receiver.as_ref() == Some(&path.receiver.to_string())
    });
    let marks = match (found.finding.cause, path) {
        (Cause::BroadcastStorm, _) => broadcasts,
        (Cause::Paused, _) => pauses,
        (cause, Some(path)) => of_path(cause, path),
        (_, None) => return,
    };
    insert(found, marks);
}

/// Puts them into a finding's evidence, as far as it does not name them itself.
pub(super) fn insert(found: &mut PathFinding, marks: Marks) {
    let packets = [
        ("first_packet", marks.first),
        ("last_packet", marks.last),
        ("worst_packet", marks.worst),
    ];
    for (name, packet) in packets.into_iter().filter(|(_, packet)| *packet > 0) {
        let figures = &mut found.finding.evidence;
        figures.entry(name.to_owned()).or_insert(packet as f64);
    }
}

fn of_path(cause: Cause, path: &Path) -> Marks {
    let limits: &[Limit] = match cause {
        Cause::Reordering => return path.overtaken,
        Cause::CaptureIncomplete => return path.unseen,
        Cause::DelayedAckWithNagle => return path.held,
        Cause::LossInBursts
        | Cause::RandomLoss
        | Cause::QueueOverflow
        | Cause::RetransmissionStalls => &[Limit::LossInBursts, Limit::RandomLoss, Limit::TimeOut],
        Cause::ReceiveWindow | Cause::ReceiverReadsSlowly => &[Limit::ReceiveWindow],
        Cause::LateAcks => &[Limit::Receiver, Limit::AckStarvation],
        Cause::SenderIdle => &[Limit::Sender],
        Cause::CongestionWindow => &[Limit::CongestionWindow, Limit::SlowStart],
        Cause::AtLineRate => &[Limit::PathRate],
        _ => &Limit::ALL,
    };
    let marks = limits.iter().map(|limit| path.marks[*limit as usize]);
    marks.fold(Marks::default(), Marks::and)
}
