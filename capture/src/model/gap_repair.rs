//! Repairs of gaps, and whether the receiver keeps what arrives behind one.
//!
//! Each duplicate acknowledgment reports a segment that arrived behind a gap (RFC 5681 section 4.2). A receiver that keeps
//! these acknowledges them together with the missing one, and the sender does not repeat them. A receiver that discards
//! them (RFC 9293 section 3.10.7.4 only recommends to keep them) has all repeated. Then only the first missing segment is
//! known to have been lost; what was sent after it, until it came again, was discarded whether it arrived or not.

use foldhash::{HashMap, HashSet};

use super::view::{Acknowledgment, DirectionView, Transmission};
use crate::tcp::PacketClass;

/// Repairs by what the receiver did with segments behind the gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GapRepairs {
    /// Segments that had arrived and were repeated, and those that were not.
    discarded: u64,
    kept: u64,
    /// Places of segments that were repeated because they were behind a gap before.
    followers: Vec<usize>,
}

/// Fewer segments behind a gap may be those of a sender that repeats more than it must.
const MIN_ARRIVED: u64 = 5;
/// A receiver that discards segments keeps fewer than one in so many.
const KEPT_DIVISOR: u64 = 8;
/// Gaps that are searched at most, which bounds the time for any capture.
const MAX_LOOK_BACK: usize = 16;

/// A gap that was filled.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// First missing octet.
    head: u64,
    /// Places of the segment that was lost or discarded, and of its repetition.
    lost: usize,
    repeated: usize,
}

/// A repair in progress.
#[derive(Clone, Debug)]
struct Repair {
    head: u64,
    /// After the highest octet sent before the repair.
    until: u64,
    /// First octets of the segments repeated, and their octets.
    repeated: HashSet<u64>,
    repeated_bytes: u64,
    /// Segments that arrived behind the gap.
    arrived: u64,
    /// True if nothing was acknowledged since.
    is_open: bool,
}

impl GapRepairs {
    /// The repairs of a direction.
    pub(super) fn of(view: &DirectionView) -> Self {
        let mut walk = Walk {
            is_late: view.is_late,
            first: view.sent.first().map_or(0, |it| it.start),
            ..Walk::default()
        };
        let mut acks = view.acks.iter().peekable();
        for (place, sent) in view.sent.iter().enumerate() {
            while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
                walk.acknowledge(ack);
            }
            walk.send(place, sent);
        }
        for ack in acks {
            walk.acknowledge(ack);
        }
        walk.repairs
    }

    /// True if the receiver keeps what arrives behind a gap, false if it discards it. `None` if that does not show.
    pub(super) fn keeps_behind_gap(&self) -> Option<bool> {
        let all = self.discarded + self.kept;
        (all >= MIN_ARRIVED).then_some(self.kept * KEPT_DIVISOR >= all)
    }

    /// Places of segments that were repeated because they were behind a gap before: they may have arrived.
    pub(super) fn followers(&self) -> &[usize] {
        &self.followers
    }
}

#[derive(Debug, Default)]
struct Walk {
    repairs: GapRepairs,
    gaps: Vec<Gap>,
    current: Option<Repair>,
    /// Place of the last transmission by first octet.
    latest: HashMap<u64, usize>,
    is_late: bool,
    /// First octet of what was captured.
    first: u64,
    highest: u64,
    acked: u64,
    /// Duplicate acknowledgments of `acked`.
    duplicates: u64,
    window: Option<u16>,
}

impl Walk {
    fn send(&mut self, place: usize, sent: &Transmission) {
        let is_repeated = matches!(
            sent.class,
            PacketClass::FastRetransmission
                | PacketClass::TimeoutRetransmission
                | PacketClass::Probe
        );
        if is_repeated && sent.len > 0 {
            self.repeat(place, sent);
        }
        self.latest.insert(sent.start, place);
        self.highest = self.highest.max(sent.end);
    }

    fn repeat(&mut self, place: usize, sent: &Transmission) {
        let is_head = sent.start <= self.acked;
        let before = self.latest.get(&sent.start).copied();
        let was_behind = match before {
            // A repair that began before the capture.
            None => self.is_late && sent.start <= self.first,
            Some(before) => {
                let gaps = self.gaps.iter().rev().take(MAX_LOOK_BACK);
                let is_of =
                    |gap: &Gap| sent.start > gap.head && (gap.lost..gap.repeated).contains(&before);
                gaps.into_iter().any(is_of)
            }
        };
        if was_behind {
            self.repairs.followers.push(place);
        }
        // What was discarded is a gap, too, until it comes again.
        if is_head {
            self.gaps.push(Gap {
                head: sent.start,
                lost: before.unwrap_or(0),
                repeated: place,
            });
        }
        match &mut self.current {
            Some(repair) if (repair.head..repair.until).contains(&sent.start) => {
                let octets = sent.end.min(repair.until) - sent.start;
                let is_new = repair.repeated.insert(sent.start);
                repair.repeated_bytes += if is_new { octets } else { 0 };
            }
            None if is_head => {
                self.current = Some(Repair {
                    head: sent.start,
                    until: self.highest.max(sent.end),
                    repeated: HashSet::from_iter([sent.start]),
                    repeated_bytes: sent.end - sent.start,
                    arrived: self.duplicates,
                    is_open: true,
                });
            }
            _ => {}
        }
    }

    fn acknowledge(&mut self, ack: &Acknowledgment) {
        if ack.ack > self.acked {
            self.acked = ack.ack;
            self.duplicates = 0;
            if let Some(repair) = &mut self.current {
                repair.is_open = false;
            }
            let is_over = |it: &mut Repair| ack.ack >= it.until;
            if let Some(repair) = self.current.take_if(is_over) {
                // FIN takes a sequence number, too.
                let is_all = repair.repeated_bytes + 1 >= repair.until - repair.head;
                let count = if is_all {
                    &mut self.repairs.discarded
                } else {
                    &mut self.repairs.kept
                };
                *count += repair.arrived;
            }
        } else if ack.ack == self.acked && ack.is_bare && self.window == Some(ack.window) {
            self.duplicates += 1;
            if let Some(repair) = self.current.as_mut().filter(|it| it.is_open) {
                repair.arrived += 1;
            }
        }
        self.window = Some(ack.window);
    }
}
