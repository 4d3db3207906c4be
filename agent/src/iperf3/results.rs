//! Results that each end sends to the other.

use core::time::Duration;

use super::json::{Member, Objects, PartialWriter, Reader};
use crate::span;

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

/// Indices in a [`Tally`].
pub(super) const OCTETS: usize = 0;
pub(super) const JITTER_NS: usize = 1;
pub(super) const LOST: usize = 2;
pub(super) const DATAGRAMS: usize = 3;
pub(super) const SPAN_NS: usize = 4;
pub(super) const OUT_OF_ORDER: usize = 5;
pub(super) const DUPLICATES: usize = 6;

/// A [`Count`] as an array, whose loops are shorter than code for each field.
pub(super) type Tally = [u64; 7];

/// The first counters of a [`Tally`], which are in the results.
pub(super) type Reported = [u64; START];

impl Count {
    #[inline(never)]
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            octets: tally[OCTETS],
            span: span(tally[SPAN_NS]),
            datagrams: tally[DATAGRAMS],
            lost: tally[LOST],
            out_of_order: tally[OUT_OF_ORDER],
            duplicates: tally[DUPLICATES],
            jitter: span(tally[JITTER_NS]),
        }
    }
}

/// Adds another stream's counters.
pub(super) fn add(sum: &mut Tally, other: &[u64]) {
    for (index, (sum, other)) in sum.iter_mut().zip(other).enumerate() {
        *sum = if index == SPAN_NS {
            (*sum).max(*other)
        } else {
            sum.saturating_add(*other)
        };
    }
}

/// Members of a stream's results: first those of a tally, in its order; times are in nanoseconds.
pub(super) const MEMBERS: [Member; 7] = [
    ("bytes", 0),
    ("jitter", 9),
    ("errors", 0),
    ("packets", 0),
    ("end_time", 9),
    ("start_time", 9),
    ("id", 0),
];
const START: usize = 5;
const ID: usize = 6;

/// Writes the results; `streams` writes those of each stream. Retransmissions are unknown here.
pub(super) fn emit(writer: &mut PartialWriter, sends: bool, streams: impl Fn(&mut PartialWriter)) {
    writer.begin(b'{');
    // iperf's server rejects results without these.
    for name in ["cpu_util_total", "cpu_util_user", "cpu_util_system"] {
        writer.number(name, 0);
    }
    retransmits(writer, "sender_has_retransmits", sends);
    writer.key("streams");
    writer.begin(b'[');
    streams(writer);
    writer.end(b']');
    writer.end(b'}');
}

/// Writes the results of the stream with this id. `sends`: this end is its sender.
pub(super) fn emit_stream(writer: &mut PartialWriter, id: u8, sends: bool, tally: &Tally) {
    writer.element();
    writer.begin(b'{');
    writer.number(MEMBERS[ID].0, id.into());
    for ((name, power), value) in MEMBERS[..START].iter().zip(tally) {
        writer.key(name);
        if *power == 0 {
            writer.digits(*value, 10, 1);
        } else {
            writer.seconds(*value);
        }
    }
    writer.number(MEMBERS[START].0, 0);
    retransmits(writer, "retransmits", sends);
    writer.end(b'}');
}

fn retransmits(writer: &mut PartialWriter, name: &str, sends: bool) {
    writer.key(name);
    writer.raw(if sends { b"0" } else { b"-1" });
}

/// Where a stream's results are in the document.
pub(super) const OBJECTS: Objects = Objects::InArray("streams");

/// Id of a stream whose results were read; `None` if they are invalid.
pub(super) fn id(reader: &Reader) -> Option<u64> {
    let needed = 1 << OCTETS | 1 << ID;
    let is_valid = reader.invalid == 0 && reader.present & needed == needed;
    is_valid.then_some(reader.values[ID])
}

/// Counters of a stream whose results were read.
pub(super) fn count(reader: &Reader, count: &mut Reported) {
    for (count, value) in count.iter_mut().zip(&reader.values) {
        *count = *value;
    }
    count[SPAN_NS] = count[SPAN_NS].saturating_sub(reader.values[START]);
}
