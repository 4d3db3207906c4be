//! Results that each end sends to the other.

use core::time::Duration;

use super::json::{Event, PartialWriter};
use crate::{ns, span};

/// Counters of one end for one stream, or the sum of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Payload.
    pub octets: u64,
    /// From the start of the test to its end, or to the last octet if that came later.
    pub span: Duration,
    /// Datagrams sent, as far as this end can determine.
    pub datagrams: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams received out of order; not sent to the other end.
    pub out_of_order: u64,
    /// Duplicate datagrams; not sent to the other end.
    pub duplicates: u64,
    /// Interarrival jitter (RFC 3550); for several streams, the mean.
    pub jitter: Duration,
}

impl Count {
    /// Adds another stream's counters, except for the jitter, which is averaged.
    pub(super) fn add(&mut self, other: &Self) {
        self.octets = self.octets.saturating_add(other.octets);
        self.span = self.span.max(other.span);
        self.datagrams = self.datagrams.saturating_add(other.datagrams);
        self.lost = self.lost.saturating_add(other.lost);
        self.out_of_order += other.out_of_order;
        self.duplicates += other.duplicates;
    }
}

/// Writes the results; `streams` writes those of each stream. Retransmissions are unknown here.
pub(super) fn emit(writer: &mut PartialWriter, sends: bool, streams: impl Fn(&mut PartialWriter)) {
    // iperf's server rejects results without this.
    writer.raw(b"{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0");
    writer.raw(b",\"sender_has_retransmits\":");
    writer.raw(retransmits(sends));
    writer.raw(b",\"streams\":[");
    streams(writer);
    writer.raw(b"]}");
}

/// Writes the results of the stream with this id. `sends`: this end is its sender.
pub(super) fn emit_stream(writer: &mut PartialWriter, id: u8, sends: bool, count: &Count) {
    writer.raw(b"{\"id\":");
    writer.digits(id.into(), 10, 1);
    writer.raw(b",\"bytes\":");
    writer.digits(count.octets, 10, 1);
    writer.raw(b",\"retransmits\":");
    writer.raw(retransmits(sends));
    writer.raw(b",\"jitter\":");
    writer.seconds(count.jitter);
    writer.raw(b",\"errors\":");
    writer.digits(count.lost, 10, 1);
    writer.raw(b",\"packets\":");
    writer.digits(count.datagrams, 10, 1);
    writer.raw(b",\"start_time\":0,\"end_time\":");
    writer.seconds(count.span);
    writer.raw(b"}");
}

const fn retransmits(sends: bool) -> &'static [u8] {
    if sends { b"0" } else { b"-1" }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Streams,
    Id,
    Octets,
    Jitter,
    Lost,
    Datagrams,
    Start,
    End,
}

/// JSON names of a stream's fields.
const FIELDS: [(&str, Field); 7] = [
    ("id", Field::Id),
    ("bytes", Field::Octets),
    ("jitter", Field::Jitter),
    ("errors", Field::Lost),
    ("packets", Field::Datagrams),
    ("start_time", Field::Start),
    ("end_time", Field::End),
];

/// Parses results.
#[derive(Debug, Default)]
pub(super) struct Reader {
    field: Option<Field>,
    in_streams: bool,
    id: Option<u64>,
    count: Count,
    start: Duration,
    /// Payload is present.
    has_octets: bool,
    /// A counter is no number, negative or too large.
    is_invalid: bool,
}

impl Reader {
    /// Handles a JSON event; calls `take` with the id and the counters of each stream that has valid ones.
    pub(super) fn on_event(&mut self, depth: u8, event: Event, take: &mut dyn FnMut(u64, &Count)) {
        match (depth, event) {
            (1, Event::Key(key)) => self.field = (key == b"streams").then_some(Field::Streams),
            (2, Event::Begin { object }) => {
                self.in_streams = !object && self.field.take() == Some(Field::Streams);
            }
            (2, Event::End { .. }) => self.in_streams = false,
            (3, Event::Begin { object: true }) => self.begin(),
            (3, Event::End { object: true }) if self.in_streams => {
                let count = &mut self.count;
                count.span = span(ns(count.span).saturating_sub(ns(self.start)));
                if let Some(id) = self.id
                    && self.has_octets
                    && !self.is_invalid
                {
                    take(id, count);
                }
            }
            (3, Event::Key(key)) => {
                let field = FIELDS.iter().find(|(name, _)| name.as_bytes() == key);
                self.field = field.map(|(_, field)| *field);
            }
            (3, Event::Number(number)) => {
                // Negative or too large: invalid.
                let integer = number.scaled(0);
                let nanoseconds = number.scaled(9);
                let time = || span(nanoseconds.unwrap_or(0));
                let field = self.field.take();
                self.is_invalid |= match field {
                    Some(Field::Octets | Field::Lost | Field::Datagrams) => integer.is_none(),
                    Some(Field::Jitter | Field::Start | Field::End) => nanoseconds.is_none(),
                    Some(Field::Id | Field::Streams) | None => false,
                };
                match field {
                    Some(Field::Id) => self.id = integer,
                    Some(Field::Octets) => {
                        self.count.octets = integer.unwrap_or(0);
                        self.has_octets = true;
                    }
                    Some(Field::Jitter) => self.count.jitter = time(),
                    Some(Field::Lost) => self.count.lost = integer.unwrap_or(0),
                    Some(Field::Datagrams) => self.count.datagrams = integer.unwrap_or(0),
                    Some(Field::Start) => self.start = time(),
                    Some(Field::End) => self.count.span = time(),
                    Some(Field::Streams) | None => {}
                }
            }
            _ => {
                // Another value in place of a number.
                self.is_invalid |= self.in_streams && self.field.is_some();
                self.field = None;
            }
        }
    }

    /// Begins the next stream.
    fn begin(&mut self) {
        self.field = None;
        self.id = None;
        self.count = Count::default();
        self.start = Duration::ZERO;
        self.has_octets = false;
        self.is_invalid = false;
    }
}
