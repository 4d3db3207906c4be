//! Marked packets of a direction, one by one as far as a plot resolves them.

use super::super::sender::{RetransmitReason, SendClass};

/// Maximum number of marks. Beyond it, marks that overlap in a plot are merged.
const MAX_MARKS: usize = 2048;
/// Marks closer together than this part of the height overlap.
const ROWS: u64 = 256;

/// Reason for a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// Retransmitted after an RTO.
    Rto,
    /// Retransmitted to elicit an acknowledgment.
    TailLossProbe,
    /// Retransmitted on request of acknowledgments.
    Fast,
    /// Retransmitted during loss recovery.
    Recovery,
    /// Retransmitted unnecessarily.
    Spurious,
    /// Overtaken by others.
    OutOfOrder,
    /// Closed the window.
    ZeroWindow,
}

impl MarkKind {
    /// All kinds, the most costly first.
    pub const ALL: [Self; 7] = [
        Self::Rto,
        Self::TailLossProbe,
        Self::Fast,
        Self::Recovery,
        Self::Spurious,
        Self::OutOfOrder,
        Self::ZeroWindow,
    ];

    /// Kind of a sent segment, if it is marked.
    pub(super) fn from_class(sent: SendClass) -> Option<Self> {
        Some(match sent {
            SendClass::NoData | SendClass::NewData => return None,
            SendClass::Reordered => Self::OutOfOrder,
            SendClass::Retransmission(RetransmitReason::TailLossProbe) => Self::TailLossProbe,
            SendClass::Retransmission(RetransmitReason::Fast) => Self::Fast,
            SendClass::Retransmission(RetransmitReason::Rto { .. }) => Self::Rto,
            SendClass::Retransmission(RetransmitReason::Recovery) => Self::Recovery,
            SendClass::Retransmission(RetransmitReason::Spurious) => Self::Spurious,
        })
    }
}

/// A marked packet, or several at almost the same time and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Reason.
    pub kind: MarkKind,
    /// Time of the previous packet of either end, since the start of the connection.
    pub since_ns: u64,
    /// Time of the packet.
    pub at_ns: u64,
    /// Stream offset of its first octet.
    pub low: u64,
    /// Stream offset after its last octet.
    pub high: u64,
    /// Number of packets merged into it.
    pub count: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct MarkList {
    marks: Vec<Mark>,
}

impl MarkList {
    pub(super) fn all(&self) -> &[Mark] {
        &self.marks
    }

    /// Adds a mark to a plot with columns of `width_ns` and a height of `top` octets so far.
    pub(super) fn add(&mut self, mark: Mark, width_ns: u64, top: u64) {
        let (mut wide_ns, mut tall) = (width_ns, top / ROWS + 1);
        while self.marks.len() >= MAX_MARKS {
            self.merge_overlapping(wide_ns, tall);
            if self.marks.len() <= MAX_MARKS / 2 {
                break;
            }
            (wide_ns, tall) = (wide_ns.saturating_mul(2), tall.saturating_mul(2));
        }
        self.marks.push(mark);
    }

    /// Merges marks of the same kind in one cell.
    fn merge_overlapping(&mut self, wide_ns: u64, tall: u64) {
        let cell = |mark: &Mark| (mark.kind, mark.at_ns / wide_ns, mark.low / tall);
        self.marks.sort_by_key(cell);
        self.marks.dedup_by(|next, kept| {
            let same = cell(next) == cell(kept);
            if same {
                kept.since_ns = kept.since_ns.min(next.since_ns);
                kept.at_ns = kept.at_ns.max(next.at_ns);
                kept.low = kept.low.min(next.low);
                kept.high = kept.high.max(next.high);
                kept.count += next.count;
            }
            same
        });
        self.marks.sort_by_key(|mark| mark.at_ns);
    }
}
