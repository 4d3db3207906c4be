//! Data that a sender sent and that is not yet acknowledged, by sequence number.

use super::segment::{seq_le, seq_lt};

/// Further ranges are merged, which bounds the memory of a connection.
const MAX_RANGES: usize = 4096;
/// The same for a direction whose acknowledgments were not captured: nothing ever removes its ranges.
const MAX_RANGES_WITHOUT_ACKS: usize = 64;

/// Acknowledged ranges are kept up to this number, because moving the others takes time.
const MAX_ACKED_RANGES: usize = 256;

/// A range of unacknowledged octets: a segment, or the uncovered part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentRange {
    pub(super) seq: u32,
    pub(super) end: u32,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// Number of known transmissions; 0 if only the data around it was captured.
    pub(super) transmissions: u8,
    /// Its position in the burst of its last transmission, from 0.
    pub(super) burst_position: u8,
    /// Number of segments in flight at its first transmission.
    pub(super) segments_ahead: u8,
    /// True if its last transmission followed another packet closely.
    pub(super) follows_closely: bool,
    pub(super) sacked: bool,
    /// True if it was sent before the capture began, as far as known.
    pub(super) precedes_capture: bool,
}

impl SentRange {
    /// True if the capture should have it and has not.
    fn is_unseen(&self) -> bool {
        self.transmissions == 0 && !self.precedes_capture
    }

    /// Number of its octets from `seq` to `end`, if none of them was captured; else 0.
    pub(super) fn missing(&self, seq: u32, end: u32) -> u32 {
        let from = if seq_lt(self.seq, seq) { seq } else { self.seq };
        let until = if seq_lt(end, self.end) { end } else { self.end };
        if self.transmissions == 0 && seq_lt(from, until) {
            until.wrapping_sub(from)
        } else {
            0
        }
    }
}

/// Result of removing acknowledged ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckedRanges {
    /// First transmission of the last range, if all of them were sent only once.
    pub(super) sent_ns: Option<u64>,
    /// A range sent only once was followed, earlier in sequence, by a later retransmission.
    pub(super) after_retransmission: bool,
    /// Acknowledged octets that were never captured.
    pub(super) unseen: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Unacked {
    /// Empty as soon as all ranges are acknowledged.
    ranges: Vec<SentRange>,
    /// Number of leading ranges that are acknowledged.
    acked: usize,
}

impl Unacked {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Appends a range after all others.
    #[inline]
    pub(super) fn push(&mut self, range: SentRange, has_acks: bool) {
        if self.has_room(has_acks) {
            self.ranges.push(range);
        } else if let Some(last) = self.ranges.last_mut() {
            last.end = range.end;
            last.last_ns = range.last_ns;
            // Octets in it were counted: none may count again.
            last.transmissions = last.transmissions.max(1);
        }
    }

    #[inline]
    fn has_room(&self, has_acks: bool) -> bool {
        let max = if has_acks {
            MAX_RANGES
        } else {
            MAX_RANGES_WITHOUT_ACKS
        };
        self.ranges.len() - self.acked < max
    }

    /// Splits the ranges that were not captured at `seq` and `end`, as far as there is room.
    pub(super) fn split_gaps(&mut self, seq: u32, end: u32, has_acks: bool) {
        self.split_gap_at(seq, has_acks);
        self.split_gap_at(end, has_acks);
    }

    fn split_gap_at(&mut self, seq: u32, has_acks: bool) {
        let has_room = self.has_room(has_acks);
        let first = self.acked;
        let at = first + self.ranges[first..].partition_point(|range| seq_le(range.end, seq));
        let Some(range) = self.ranges.get_mut(at) else {
            return;
        };
        if has_room && range.transmissions == 0 && seq_lt(range.seq, seq) {
            let mut before = *range;
            before.end = seq;
            range.seq = seq;
            self.ranges.insert(at, before);
        }
    }

    /// The ranges that overlap `seq` to `end`.
    pub(super) fn overlapping(
        &mut self,
        seq: u32,
        end: u32,
    ) -> impl Iterator<Item = &mut SentRange> {
        let ranges = &mut self.ranges[self.acked..];
        let from = ranges.partition_point(|range| seq_le(range.end, seq));
        ranges[from..]
            .iter_mut()
            .take_while(move |range| seq_lt(range.seq, end))
    }

    /// Removes the ranges that `ack` acknowledges.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u32) -> AckedRanges {
        let (mut sent_ns, mut sent_once) = (None, true);
        let (mut retransmitted_ns, mut after_retransmission) = (0, false);
        let mut unseen = 0;
        let mut acked = self.acked;
        for range in &mut self.ranges[acked..] {
            if seq_le(range.end, ack) {
                sent_ns = Some(range.first_ns);
                sent_once &= range.transmissions == 1;
                if range.is_unseen() {
                    unseen += range.end.wrapping_sub(range.seq);
                }
                if range.transmissions > 1 {
                    retransmitted_ns = range.last_ns;
                } else {
                    after_retransmission |= range.first_ns < retransmitted_ns;
                }
                acked += 1;
                continue;
            }
            if seq_lt(range.seq, ack) {
                if range.is_unseen() {
                    unseen += ack.wrapping_sub(range.seq);
                }
                range.seq = ack;
            }
            break;
        }
        self.acked = acked;
        if acked == self.ranges.len() || acked >= MAX_ACKED_RANGES {
            self.ranges.drain(..acked);
            self.acked = 0;
        }
        AckedRanges {
            sent_ns: sent_ns.filter(|_| sent_once),
            after_retransmission,
            unseen,
        }
    }

    /// Marks the ranges within a SACK block; true if any of them is new.
    pub(super) fn sack(&mut self, left: u32, right: u32) -> bool {
        let mut new = false;
        for range in self.overlapping(left, right) {
            if seq_le(left, range.seq) && seq_le(range.end, right) {
                new |= !range.sacked;
                range.sacked = true;
            }
        }
        new
    }
}
