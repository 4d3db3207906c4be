//! What is remarkable in a direction, one by one as long as a picture can tell it apart.

use super::super::sender::{RetransmitReason, SendClass};

/// Occurrences that are kept. Once there are more, those that lie over each other in a picture become one.
const MAX_MARKS: usize = 2048;
/// Occurrences closer together than this part of the height lie over each other.
const ROWS: u64 = 256;

/// What is remarkable about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// SendClass again when the retransmission timer ran out.
    Rto,
    /// SendClass again to provoke an acknowledgment.
    TailLossProbe,
    /// SendClass again because acknowledgments asked for it.
    Fast,
    /// SendClass again with the rest of a loss.
    Recovery,
    /// SendClass again in vain.
    Spurious,
    /// Others had overtaken it.
    OutOfOrder,
    /// It closed the window.
    ZeroWindow,
}

impl MarkKind {
    /// All of them, what costs most first.
    pub const ALL: [Self; 7] = [
        Self::Rto,
        Self::TailLossProbe,
        Self::Fast,
        Self::Recovery,
        Self::Spurious,
        Self::OutOfOrder,
        Self::ZeroWindow,
    ];

    /// That of a segment, if it is remarkable.
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

/// A packet that is remarkable, or several at almost the same time and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Why.
    pub kind: MarkKind,
    /// When the packet before it passed, by either end, since the connection began.
    pub since_ns: u64,
    /// When it passed.
    pub at_ns: u64,
    /// Its first octet, counted from the first of the connection.
    pub low: u64,
    /// Behind its last one.
    pub high: u64,
    /// How many packets it stands for.
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

    /// Adds one to a picture whose columns last `width_ns` and that is `top` octets high so far.
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

    /// Makes one of those of a kind that lie in one cell.
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
