//! One direction of a connection over time, for plots: columns whose width grows with the duration, and individual
//! marks. Its memory is bounded.

mod gaps;
mod marks;

pub use gaps::{GapHistogram, GapRange};
pub use marks::{Mark, MarkKind};

use super::segment::Segment;
use super::sender::SendClass;
use marks::MarkList;

/// Maximum number of columns; a plot has about a thousand pixels. For a longer connection, pairs of columns are merged.
pub const MAX_COLUMNS: u64 = 2048;
/// Initial width of a column; few captures have a better time resolution.
const FIRST_WIDTH_NS: u64 = 1 << 10;

/// Activity of a sender within a column, and the window granted to it. Stream offsets are octets since the connection's
/// first one; they do not wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Number of columns between the connection's first packet and this one.
    pub index: u64,
    /// Stream offsets of the new data, start and end.
    pub new_range: Option<(u64, u64)>,
    /// Octets of new payload.
    pub new_bytes: u64,
    /// Octets of retransmitted payload.
    pub retransmitted_bytes: u64,
    /// The largest flight size.
    pub max_in_flight: u32,
    /// Flight size at its end.
    pub in_flight: u32,
    /// Stream offset acknowledged at its end.
    pub acked: u64,
    /// The window at its end, in octets, if one was granted yet.
    pub window: Option<u32>,
    /// The smallest window.
    pub min_window: Option<u32>,
}

/// Data of one end of a connection and the acknowledgments for it, over time.
#[derive(Clone, Debug)]
pub struct Trace {
    columns: Vec<Column>,
    width_ns: u64,
    marks: MarkList,
    gaps: GapHistogram,
    /// Sequence number and stream offset of the highest octet seen.
    highest: Option<(u32, u64)>,
    last_sent_ns: Option<u64>,
}

/// State of a sender after a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderSnapshot {
    pub(super) in_flight: u32,
    /// Sequence numbers: SND.UNA and the right edge of the window.
    pub(super) window_edges: Option<(u32, u32)>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            width_ns: FIRST_WIDTH_NS,
            marks: MarkList::default(),
            gaps: GapHistogram::default(),
            highest: None,
            last_sent_ns: None,
        }
    }
}

impl Trace {
    /// Its columns in chronological order; a column without packets is absent.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Width of a column.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Marked packets in chronological order.
    pub fn marks(&self) -> &[Mark] {
        self.marks.all()
    }

    /// Gaps between consecutive segments.
    pub fn gaps(&self) -> &GapHistogram {
        &self.gaps
    }

    /// Records a sent segment at `at_ns`; the previous packet was at `since_ns`.
    pub(super) fn record_sent(
        &mut self,
        segment: &Segment<'_>,
        sent: SendClass,
        snapshot: SenderSnapshot,
        (since_ns, at_ns): (u64, u64),
    ) {
        if sent == SendClass::NoData {
            return;
        }
        // The first octet of payload has offset 0.
        let first = segment
            .seq
            .wrapping_add(u32::from(segment.has_any(Segment::SYN)));
        let (low, high) = (self.stream_offset(first), self.stream_offset(segment.end()));
        if let Some(last_ns) = self.last_sent_ns.replace(at_ns) {
            self.gaps.add(at_ns.saturating_sub(last_ns));
        }
        let column = self.column(at_ns, snapshot);
        if matches!(sent, SendClass::Retransmission(_)) {
            column.retransmitted_bytes += u64::from(segment.len);
        } else {
            column.new_bytes += u64::from(segment.len);
            if segment.len > 0 {
                let (first, end) = column.new_range.unwrap_or((low, high));
                column.new_range = Some((first.min(low), end.max(high)));
            }
        }
        if let Some(kind) = MarkKind::from_class(sent) {
            self.mark(kind, (since_ns, at_ns), (low, high));
        }
    }

    /// Records an acknowledgment for the sent data.
    pub(super) fn record_ack(
        &mut self,
        segment: &Segment<'_>,
        snapshot: SenderSnapshot,
        at_ns: u64,
    ) {
        if !segment.has_any(Segment::ACK) || segment.has_any(Segment::RST) {
            return;
        }
        let acked = self.stream_offset(segment.ack);
        self.column(at_ns, snapshot);
        if segment.window == 0 && segment.is_bare() {
            self.mark(MarkKind::ZeroWindow, (at_ns, at_ns), (acked, acked));
        }
    }

    /// The column of `at_ns`, updated with `snapshot`.
    fn column(&mut self, at_ns: u64, snapshot: SenderSnapshot) -> &mut Column {
        while at_ns / self.width_ns >= MAX_COLUMNS {
            self.merge_columns();
        }
        let window_edges = snapshot.window_edges.map(|(acked, edge)| {
            // A reordered acknowledgment does not move the left edge back.
            let window = (edge.wrapping_sub(acked) as i32).max(0) as u32;
            (self.stream_offset(acked), window)
        });
        let last = self.columns.last();
        // Capture clocks may step back.
        let index = (at_ns / self.width_ns).max(last.map_or(0, |last| last.index));
        if last.is_none_or(|last| last.index < index) {
            let column = Column {
                index,
                acked: last.map_or(0, |last| last.acked),
                ..Column::default()
            };
            self.columns.push(column);
        }
        let column = self.columns.last_mut().expect("just pushed");
        column.in_flight = snapshot.in_flight;
        column.max_in_flight = column.max_in_flight.max(snapshot.in_flight);
        if let Some((acked, window)) = window_edges {
            column.acked = column.acked.max(acked);
            column.window = Some(window);
            let min = column.min_window.unwrap_or(window);
            column.min_window = Some(min.min(window));
        }
        column
    }

    /// Merges pairs of columns.
    fn merge_columns(&mut self) {
        self.width_ns *= 2;
        let columns = std::mem::take(&mut self.columns);
        for mut column in columns {
            column.index /= 2;
            match self.columns.last_mut() {
                Some(last) if last.index == column.index => last.join(&column),
                _ => self.columns.push(column),
            }
        }
    }

    fn mark(&mut self, kind: MarkKind, (since_ns, at_ns): (u64, u64), (low, high): (u64, u64)) {
        let top = self.highest.map_or(0, |(_, place)| place);
        let mark = Mark {
            kind,
            since_ns,
            at_ns,
            low,
            high,
            count: 1,
        };
        self.marks.add(mark, self.width_ns, top);
    }

    /// Stream offset of `sequence`, relative to the first octet seen.
    fn stream_offset(&mut self, sequence: u32) -> u64 {
        let (top, at) = *self.highest.get_or_insert((sequence, 0));
        let beyond = i64::from(sequence.wrapping_sub(top) as i32);
        let place = at.saturating_add_signed(beyond);
        if beyond > 0 {
            self.highest = Some((sequence, place));
        }
        place
    }
}

impl Column {
    /// Merges the following column into this one.
    fn join(&mut self, next: &Self) {
        self.new_range = match (self.new_range, next.new_range) {
            (Some(own), Some(next)) => Some((own.0.min(next.0), own.1.max(next.1))),
            (own, next) => own.or(next),
        };
        self.new_bytes += next.new_bytes;
        self.retransmitted_bytes += next.retransmitted_bytes;
        self.max_in_flight = self.max_in_flight.max(next.max_in_flight);
        self.in_flight = next.in_flight;
        self.acked = self.acked.max(next.acked);
        self.window = next.window.or(self.window);
        self.min_window = match (self.min_window, next.min_window) {
            (Some(own), Some(next)) => Some(own.min(next)),
            (own, next) => own.or(next),
        };
    }
}

#[cfg(test)]
mod tests;
