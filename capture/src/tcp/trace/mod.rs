//! A direction of a connection over time, for pictures: columns that grow as it lasts, and what is remarkable one by
//! one. Its memory is bounded, whatever comes.

mod gaps;
mod marks;

pub use gaps::{Gap, Gaps};
pub use marks::{Kind, Mark};

use super::segment::Segment;
use super::sender::Sent;
use marks::Marks;

/// Columns are told apart up to here; a picture has about a thousand pixels. Once a connection has lasted longer, two
/// become one.
pub const MOST_COLUMNS: u64 = 2048;
/// What a column lasts at first. Few captures tell less apart.
const FIRST_WIDTH_NS: u64 = 1 << 10;

/// What a sender did within a piece of time, and what was granted to it. Places are octets since the connection's
/// first one, of any size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// It begins this many columns after the first packet of the connection.
    pub at: u64,
    /// What was sent for the first time, from place to place.
    pub new: Option<(u64, u64)>,
    /// Octets of payload for the first time.
    pub new_bytes: u64,
    /// Octets of payload again.
    pub again_bytes: u64,
    /// The most octets outstanding.
    pub most_in_flight: u32,
    /// Octets outstanding at its end.
    pub in_flight: u32,
    /// What was acknowledged at its end.
    pub acked: u64,
    /// The window granted at its end, in octets, if one was granted yet.
    pub window: Option<u32>,
    /// The smallest.
    pub least_window: Option<u32>,
}

/// What one end of a connection sent and what came back for it, over time.
#[derive(Clone, Debug)]
pub struct Trace {
    columns: Vec<Column>,
    width_ns: u64,
    marks: Marks,
    gaps: Gaps,
    /// Sequence number and place of the highest octet that was seen.
    top: Option<(u32, u64)>,
    last_sent_ns: Option<u64>,
}

/// How a sender stands after a packet, as [`Trace`] takes note of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand {
    pub(super) in_flight: u32,
    /// Sequence numbers behind what was acknowledged and behind the window.
    pub(super) reach: Option<(u32, u32)>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            width_ns: FIRST_WIDTH_NS,
            marks: Marks::default(),
            gaps: Gaps::default(),
            top: None,
            last_sent_ns: None,
        }
    }
}

impl Trace {
    /// Its columns in order of time; where nothing happened there is none.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What a column lasts.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// What is remarkable, in order of time.
    pub fn marks(&self) -> &[Mark] {
        self.marks.all()
    }

    /// The time between one segment and the next.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Takes note of what was sent at `at_ns`, when nothing had passed since `since_ns`.
    pub(super) fn sent(
        &mut self,
        segment: &Segment<'_>,
        sent: Sent,
        stand: Stand,
        (since_ns, at_ns): (u64, u64),
    ) {
        if sent == Sent::Bare {
            return;
        }
        // The first octet of payload is at place 0.
        let first = segment
            .seq
            .wrapping_add(u32::from(segment.any(Segment::SYN)));
        let (low, high) = (self.place(first), self.place(segment.end()));
        if let Some(last_ns) = self.last_sent_ns.replace(at_ns) {
            self.gaps.add(at_ns.saturating_sub(last_ns));
        }
        let column = self.column(at_ns, stand);
        if matches!(sent, Sent::Again(_)) {
            column.again_bytes += u64::from(segment.len);
        } else {
            column.new_bytes += u64::from(segment.len);
            if segment.len > 0 {
                let (least, most) = column.new.unwrap_or((low, high));
                column.new = Some((least.min(low), most.max(high)));
            }
        }
        if let Some(kind) = Kind::of(sent) {
            self.mark(kind, (since_ns, at_ns), (low, high));
        }
    }

    /// Takes note of an acknowledgment for what was sent.
    pub(super) fn heard(&mut self, segment: &Segment<'_>, stand: Stand, at_ns: u64) {
        if !segment.any(Segment::ACK) || segment.any(Segment::RST) {
            return;
        }
        let acked = self.place(segment.ack);
        self.column(at_ns, stand);
        if segment.window == 0 && segment.is_bare() {
            self.mark(Kind::ZeroWindow, (at_ns, at_ns), (acked, acked));
        }
    }

    /// The column of `at_ns`, standing as told.
    fn column(&mut self, at_ns: u64, stand: Stand) -> &mut Column {
        while at_ns / self.width_ns >= MOST_COLUMNS {
            self.fold();
        }
        let reach = stand.reach.map(|(acked, edge)| {
            // An acknowledgment that was overtaken takes nothing back.
            let window = (edge.wrapping_sub(acked) as i32).max(0) as u32;
            (self.place(acked), window)
        });
        let last = self.columns.last();
        // Clocks of captures may step back.
        let at = (at_ns / self.width_ns).max(last.map_or(0, |last| last.at));
        if last.is_none_or(|last| last.at < at) {
            let column = Column {
                at,
                acked: last.map_or(0, |last| last.acked),
                ..Column::default()
            };
            self.columns.push(column);
        }
        let column = self.columns.last_mut().expect("just pushed");
        column.in_flight = stand.in_flight;
        column.most_in_flight = column.most_in_flight.max(stand.in_flight);
        if let Some((acked, window)) = reach {
            column.acked = column.acked.max(acked);
            column.window = Some(window);
            let least = column.least_window.unwrap_or(window);
            column.least_window = Some(least.min(window));
        }
        column
    }

    /// Makes one column of two.
    fn fold(&mut self) {
        self.width_ns *= 2;
        let columns = std::mem::take(&mut self.columns);
        for mut column in columns {
            column.at /= 2;
            match self.columns.last_mut() {
                Some(last) if last.at == column.at => last.join(&column),
                _ => self.columns.push(column),
            }
        }
    }

    fn mark(&mut self, kind: Kind, (since_ns, at_ns): (u64, u64), (low, high): (u64, u64)) {
        let top = self.top.map_or(0, |(_, place)| place);
        let mark = Mark {
            kind,
            since_ns,
            at_ns,
            low,
            high,
            times: 1,
        };
        self.marks.add(mark, self.width_ns, top);
    }

    /// How many octets `sequence` is behind the first one that was seen.
    fn place(&mut self, sequence: u32) -> u64 {
        let (top, at) = *self.top.get_or_insert((sequence, 0));
        let beyond = i64::from(sequence.wrapping_sub(top) as i32);
        let place = at.saturating_add_signed(beyond);
        if beyond > 0 {
            self.top = Some((sequence, place));
        }
        place
    }
}

impl Column {
    /// Takes in the column behind it.
    fn join(&mut self, next: &Self) {
        self.new = match (self.new, next.new) {
            (Some(own), Some(next)) => Some((own.0.min(next.0), own.1.max(next.1))),
            (own, next) => own.or(next),
        };
        self.new_bytes += next.new_bytes;
        self.again_bytes += next.again_bytes;
        self.most_in_flight = self.most_in_flight.max(next.most_in_flight);
        self.in_flight = next.in_flight;
        self.acked = self.acked.max(next.acked);
        self.window = next.window.or(self.window);
        self.least_window = match (self.least_window, next.least_window) {
            (Some(own), Some(next)) => Some(own.min(next)),
            (own, next) => own.or(next),
        };
    }
}

#[cfg(test)]
mod tests;
