//! Test parameters, and their JSON form.

use core::time::Duration;

use super::json::{Member, PartialWriter, Reader};
use crate::octets::product;
use crate::{SECOND, ns};

/// iperf's default duration.
const DEFAULT_SPAN: Duration = Duration::from_secs(10);
/// iperf's default size of a write. It is irrelevant on the wire.
const DEFAULT_TCP_OCTETS: u32 = 128 * 1024;
/// Default size of a datagram: fills an Ethernet frame (iperf derives it from the control connection's MSS,
/// which a service cannot read).
const DEFAULT_UDP_OCTETS: u32 = 1460;
/// Longest time in parameters: two centuries, so that additions do not overflow.
const MAX_SECONDS: u64 = 1 << 32;
/// Minimum size of a datagram: the header with a number of 64 bits.
pub(super) const MIN_UDP_OCTETS: u32 = 16;

/// Amount of data to send, by all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Duration (`-t`); whole seconds on the wire.
    Span(Duration),
    /// Octets of payload (`-n`).
    Octets(u64),
    /// Number of writes or datagrams (`-k`).
    Blocks(u64),
}

/// Direction of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client sends.
    Forward,
    /// The server sends (`-R`).
    Reverse,
    /// Both send, over separate streams (`--bidir`).
    Both,
}

/// A client's test request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Test {
    /// UDP instead of TCP (`-u`).
    pub udp: bool,
    /// Amount of data.
    pub amount: Amount,
    /// Initial time excluded from the counters (`-O`); whole seconds on the wire.
    pub omit: Duration,
    /// Streams in each direction (`-P`).
    pub parallel: u8,
    /// Direction.
    pub direction: Direction,
    /// Size of a write or a datagram (`-l`); 0: unspecified.
    pub octets: u32,
    /// Rate of each stream (`-b`); 0: as fast as possible.
    pub rate_bits_per_s: u64,
    /// Datagram numbers have 64 bits (`--udp-counters-64bit`).
    pub wide_numbers: bool,
}

impl Default for Test {
    /// The defaults of `iperf3 -c`.
    fn default() -> Self {
        Self {
            udp: false,
            amount: Amount::Span(DEFAULT_SPAN),
            omit: Duration::ZERO,
            parallel: 1,
            direction: Direction::Forward,
            octets: 0,
            rate_bits_per_s: 0,
            wide_numbers: false,
        }
    }
}

/// The size of a write or a datagram; `octets` is 0 if unspecified.
fn block(octets: u32, udp: bool) -> u32 {
    match (octets, udp) {
        (0, false) => DEFAULT_TCP_OCTETS,
        (0, true) => DEFAULT_UDP_OCTETS,
        (octets, false) => octets,
        (octets, true) => octets.clamp(MIN_UDP_OCTETS, 65_507),
    }
}

impl Test {
    /// Number of streams in both directions together.
    #[must_use]
    pub fn streams(&self) -> usize {
        Parameters::of(self).streams()
    }

    /// The size of a write or a datagram.
    fn block(&self) -> u32 {
        block(self.octets, self.udp)
    }

    /// Writes the parameters as JSON; their times are whole seconds already.
    pub(super) fn emit(&self, writer: &mut PartialWriter) {
        writer.begin(b'{');
        writer.flag(if self.udp { "udp" } else { "tcp" });
        writer.number("omit", self.omit.as_secs());
        let (time, octets, blocks) = match self.amount {
            Amount::Span(span) => (span.as_secs(), 0, 0),
            Amount::Octets(octets) => (0, octets, 0),
            Amount::Blocks(blocks) => (0, 0, blocks),
        };
        writer.number("time", time);
        writer.number("num", octets);
        writer.number("blockcount", blocks);
        writer.number("parallel", self.parallel.into());
        match self.direction {
            Direction::Forward => {}
            Direction::Reverse => writer.flag("reverse"),
            Direction::Both => writer.flag("bidirectional"),
        }
        writer.number("len", self.block().into());
        if self.rate_bits_per_s > 0 {
            writer.number("bandwidth", self.rate_bits_per_s);
        }
        if self.udp && self.wide_numbers {
            writer.number("udp_counters_64bit", 1);
        }
        writer.end(b'}');
    }
}

/// Indices of the parameters in `MEMBERS`.
const OMIT: usize = 0;
const TIME: usize = 1;
const OCTETS: usize = 2;
const BLOCKS: usize = 3;
const PARALLEL: usize = 4;
const LEN: usize = 5;
const RATE: usize = 6;
const UDP: usize = 7;
const REVERSE: usize = 8;
const BOTH: usize = 9;
const WIDE: usize = 10;

/// JSON names of the parameters; those that are true or false are the last.
pub(super) const MEMBERS: [Member; 11] = [
    ("omit", 0),
    ("time", 0),
    ("num", 0),
    ("blockcount", 0),
    ("parallel", 0),
    ("len", 0),
    ("bandwidth", 0),
    ("udp", 0),
    ("reverse", 0),
    ("bidirectional", 0),
    ("udp_counters_64bit", 0),
];

/// The parameters that the ends of a test need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    /// Payload after which the test ends, by all streams together; `u64::MAX` if it ends by time.
    pub(super) max_octets: u64,
    /// Duration; `u64::MAX` if it ends by payload.
    pub(super) span_ns: u64,
    pub(super) omit_ns: u64,
    /// Rate of each stream; 0: as fast as possible.
    pub(super) rate_bits_per_s: u64,
    /// Size of a write or a datagram.
    pub(super) block: u32,
    pub(super) parallel: u8,
    pub(super) direction: Direction,
    pub(super) udp: bool,
    pub(super) wide_numbers: bool,
}

impl Parameters {
    /// Before a client has sent some.
    pub(super) const NONE: Self = Self {
        max_octets: 0,
        span_ns: 0,
        omit_ns: 0,
        rate_bits_per_s: 0,
        block: 0,
        parallel: 0,
        direction: Direction::Forward,
        udp: false,
        wide_numbers: false,
    };

    pub(super) fn of(test: &Test) -> Self {
        let (max_octets, span_ns) = match test.amount {
            Amount::Span(span) => (u64::MAX, ns(span)),
            Amount::Octets(octets) => (octets, u64::MAX),
            Amount::Blocks(blocks) => (blocks.saturating_mul(test.block().into()), u64::MAX),
        };
        Self {
            max_octets,
            span_ns,
            omit_ns: ns(test.omit),
            rate_bits_per_s: test.rate_bits_per_s,
            block: test.block(),
            parallel: test.parallel,
            direction: test.direction,
            udp: test.udp,
            wide_numbers: test.wide_numbers,
        }
    }

    /// The parameters that were read. Missing or invalid ones get iperf's defaults.
    pub(super) fn read(reader: &Reader) -> Self {
        let values = &reader.values;
        let seconds = |at: usize| values[at].min(MAX_SECONDS) * SECOND;
        let is_set = |at: usize| reader.set & 1 << at != 0;
        let udp = is_set(UDP);
        let block = block(u32::try_from(values[LEN]).unwrap_or(u32::MAX), udp);
        let max_octets = match (values[OCTETS], values[BLOCKS]) {
            (0, 0) => u64::MAX,
            (0, blocks) => product(blocks, block.into()).unwrap_or(u64::MAX),
            (octets, _) => octets,
        };
        let span_ns = match seconds(TIME) {
            _ if max_octets != u64::MAX => u64::MAX,
            0 => ns(DEFAULT_SPAN),
            span_ns => span_ns,
        };
        Self {
            max_octets,
            span_ns,
            omit_ns: seconds(OMIT),
            rate_bits_per_s: values[RATE],
            block,
            parallel: values[PARALLEL].clamp(1, u8::MAX.into()) as u8,
            direction: if is_set(BOTH) {
                Direction::Both
            } else if is_set(REVERSE) {
                Direction::Reverse
            } else {
                Direction::Forward
            },
            udp,
            wide_numbers: is_set(WIDE),
        }
    }

    /// Number of streams in both directions together.
    pub(super) fn streams(&self) -> usize {
        usize::from(self.parallel) << u8::from(self.direction == Direction::Both)
    }
}
