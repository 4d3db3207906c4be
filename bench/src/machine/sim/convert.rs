//! Conversion of a simulated board's data to the types of the record.

use linerate_capture::wire::BusyPeriod;
use linerate_results::record::{
    Duplex, Edges, GapCause, PeerCounts, Profile, ProfileStack, SourceKind, TimingEntry, WireCounts,
};
use linerate_sim::board::Board;
use linerate_sim::chip;
use linerate_sim::profile::{self, Activity, Work};
use linerate_sim::time::{Instant, TICKS_PER_NS};
use linerate_sim::wire::{self, LinkReport, Resolution};

use crate::machine::LinkPartnerStatus;

/// The duplex mode while the link is up.
pub const fn duplex(link: &LinkReport) -> Duplex {
    match link.duplex {
        wire::Duplex::Full => Duplex::Full,
        wire::Duplex::Half | wire::Duplex::Auto => Duplex::Half,
    }
}

/// The link partner's state.
pub const fn partner_status(link: &LinkReport, counts: &wire::Statistics) -> LinkPartnerStatus {
    LinkPartnerStatus {
        up: link.up,
        duplex: duplex(link),
        resolution: match link.resolution {
            Resolution::Forced => "no negotiation",
            Resolution::AutoNegotiation => "auto-negotiation",
            Resolution::ParallelDetection => "parallel detection",
        },
        frames_sent: counts.frames_sent,
        frames_received: counts.frames_received,
        collisions: counts.collisions,
        frames_withheld: counts.frames_withheld,
    }
}

/// An entry of the timing table.
pub fn timing_entry(entry: &chip::TimingEntry) -> TimingEntry {
    TimingEntry {
        name: entry.name.clone(),
        value: entry.value as f64,
        kind: match entry.kind {
            chip::SourceKind::Measured => SourceKind::Measured,
            chip::SourceKind::Datasheet => SourceKind::Datasheet,
            chip::SourceKind::Guess => SourceKind::Guess,
        },
        source: entry.source.clone(),
        fitted: entry.fitted.clone(),
    }
}

/// Transmissions at the cable, counted there.
pub fn wire_counts(board: &Board, was_unplugged: bool) -> WireCounts {
    let counts = board.wire();
    let first = board.stations().next();
    WireCounts {
        transmissions: board.stations().map(|it| it.transmissions).sum(),
        peer_frames: first.map_or(0, |it| it.frames_begun),
        device_transmissions: counts.frames_received,
        device_collisions: counts.frames_collided,
        device_discarded: counts.frames_bad,
        device_was_sending: board.is_device_sending(),
        was_unplugged,
    }
}

/// Frames between the peer and its MAC, if they are counted.
pub fn peer_counts(board: &Board) -> Option<PeerCounts> {
    let frames = board.peer().report().frames?;
    Some(PeerCounts {
        sent: frames.sent,
        withheld: board.wire().frames_withheld,
        waiting: board.waiting() as u64,
        received: frames.received,
    })
}

/// The processor's activity, as a cause of a gap on the line.
pub fn busy(activity: &Activity) -> BusyPeriod {
    BusyPeriod {
        start_ns: activity.start.as_ns(),
        end_ns: activity.end.as_ns(),
        cause: match activity.work {
            Work::Asleep => GapCause::Idle,
            Work::Interrupt => GapCause::Interrupt,
            Work::Copy => GapCause::Copies,
            Work::Checksum => GapCause::Checksums,
            Work::Stack => GapCause::Stack,
            Work::Driver => GapCause::Driver,
            Work::Other => GapCause::Program,
        },
    }
}

/// A profile with a table of function names.
pub fn profile(profile: &profile::Profile, hertz: u64, frames: u64) -> Profile {
    let mut functions: Vec<String> = profile
        .stacks
        .iter()
        .flat_map(|stack| stack.functions.iter().cloned())
        .collect();
    functions.sort_unstable();
    functions.dedup();
    let index = |name: &String| functions.binary_search(name).unwrap_or(0) as u32;
    let stacks = profile.stacks.iter().map(|stack| ProfileStack {
        interrupt: stack.interrupt,
        path: stack.functions.iter().map(index).collect(),
        cycles: stack.cycles,
        calls: stack.calls,
    });
    Profile {
        cycles_per_s: hertz,
        frames,
        stacks: stacks.collect(),
        functions,
    }
}

/// Edges further apart than this belong to different transmissions: longer than a start of idle.
const SILENCE_NS: u64 = 1_000;
/// A transmission shorter than this is a link pulse.
const FRAME_NS: u64 = 50_000;
/// Length of a frame's start and end that is kept.
const KEPT_NS: u64 = 30_000;

/// Starts and ends of the frames in `edges`, with a short idle line before and after.
pub fn edges(edges: &[(Instant, bool)]) -> Vec<Edges> {
    let apart = |a: &(Instant, bool), b: &(Instant, bool)| b.0.since(a.0).as_ns() <= SILENCE_NS;
    let frames = edges.chunk_by(apart);
    frames
        .filter_map(|frame| {
            let (first, last) = (frame.first()?.0.as_ns(), frame.last()?.0.as_ns());
            (last - first >= FRAME_NS).then(|| {
                let end_ns = last + SILENCE_NS;
                let start_ns = first.saturating_sub(SILENCE_NS);
                [
                    edges_within(frame, start_ns, first + KEPT_NS),
                    edges_within(frame, last - KEPT_NS, end_ns),
                ]
            })
        })
        .flatten()
        .collect()
}

fn edges_within(frame: &[(Instant, bool)], start_ns: u64, end_ns: u64) -> Edges {
    let before = frame.iter().take_while(|edge| edge.0.as_ns() < start_ns);
    let within = frame
        .iter()
        .filter(|edge| (start_ns..end_ns).contains(&edge.0.as_ns()));
    let start_ticks = start_ns * TICKS_PER_NS;
    Edges {
        rx: true,
        start_ns,
        end_ns,
        high: before.last().is_some_and(|edge| edge.1),
        changes_at_100ps: within
            .map(|edge| (edge.0.ticks() - start_ticks) * 10 / TICKS_PER_NS)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_ends_are_kept_and_link_pulses_are_not() {
        let edge = |ns, level| (Instant::from_ns(ns), level);
        let mut all = vec![edge(1_000, true), edge(1_100, false)];
        // A frame of 100 us, an edge every 50 ns.
        all.extend((0..2_000).map(|n| edge(20_000 + n * 50, n % 2 == 0)));
        let kept = edges(&all);
        assert_eq!(kept.len(), 2, "beginning and end of one frame");
        assert_eq!((kept[0].start_ns, kept[0].high), (19_000, false));
        assert_eq!(kept[0].changes_at_100ps[..2], [10_000, 10_500]);
        assert_eq!(kept[1].end_ns, 20_000 + 1_999 * 50 + 1_000);
        assert_eq!(kept[1].changes_at_100ps.len(), 600 + 1);
        assert!(edges(&[]).is_empty());
    }
}
