//! What a sender sent and has no acknowledgment of, by sequence number.

use super::segment::{seq_le, seq_lt};

/// More ranges than this are not told apart, which bounds the memory that a connection takes.
const MAX_RANGES: usize = 4096;
/// The same for a direction of whose acknowledgments none was captured: nothing ever takes them away.
const MAX_RANGES_WITHOUT_ACKS: usize = 64;

/// AckedRanges ranges are kept until there are as many: to move the others up takes time.
const MAX_ACKED_RANGES: usize = 256;

/// A range of what is outstanding: a segment, or what one has left uncovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentRange {
    pub(super) seq: u32,
    pub(super) end: u32,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// How often it was captured; 0 when only what came before and behind it was.
    pub(super) transmissions: u8,
    /// Which in its burst it was when it was last sent, from 0.
    pub(super) burst_position: u8,
    /// How many segments were outstanding when it was sent first.
    pub(super) segments_ahead: u8,
    /// Whether it came right behind another packet when it was last sent.
    pub(super) follows_closely: bool,
    pub(super) sacked: bool,
}

/// What an acknowledgment took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckedRanges {
    /// When the last of it was sent, if all of it was sent just once.
    pub(super) sent_ns: Option<u64>,
    /// Something that was sent just sent_once lay behind something that was sent again later.
    pub(super) after_retransmission: bool,
    /// Octets of it that were never captured.
    pub(super) unseen: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Unacked {
    /// Empty as soon as all of them are acknowledged.
    ranges: Vec<SentRange>,
    /// The first ones, which are acknowledged.
    acked: usize,
}

impl Unacked {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds what lies behind everything that is outstanding.
    #[inline]
    pub(super) fn push(&mut self, range: SentRange, has_acks: bool) {
        let max = if has_acks {
            MAX_RANGES
        } else {
            MAX_RANGES_WITHOUT_ACKS
        };
        if self.ranges.len() - self.acked < max {
            self.ranges.push(range);
        } else if let Some(last) = self.ranges.last_mut() {
            last.end = range.end;
            last.last_ns = range.last_ns;
        }
    }

    /// The ranges that have something of `seq` to `end`.
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

    /// Takes away what `ack` acknowledges.
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
                if range.transmissions == 0 {
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

    /// Occurrences what lies whole within a block; says whether anything is new.
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
