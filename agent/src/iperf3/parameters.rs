//! Test parameters, and their JSON form.

use core::time::Duration;

use super::json::{Event, PartialWriter};

/// iperf's default duration.
const DEFAULT_SPAN: Duration = Duration::from_secs(10);
/// iperf's default size of a write. It is irrelevant on the wire.
const DEFAULT_TCP_OCTETS: u32 = 128 * 1024;
/// Default size of a datagram: fills an Ethernet frame (iperf derives it from the control connection's MSS,
/// which a service cannot read).
const DEFAULT_UDP_OCTETS: u32 = 1460;
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

impl Test {
    /// Number of streams in both directions together.
    #[must_use]
    pub fn streams(&self) -> usize {
        let both = self.direction == Direction::Both;
        usize::from(self.parallel) << u8::from(both)
    }

    /// The size of a write or a datagram.
    pub(super) fn block(&self) -> u32 {
        match (self.octets, self.udp) {
            (0, false) => DEFAULT_TCP_OCTETS,
            (0, true) => DEFAULT_UDP_OCTETS,
            (octets, false) => octets,
            (octets, true) => octets.clamp(MIN_UDP_OCTETS, 65_507),
        }
    }

    /// Payload after which the test ends; `None` if it ends by time.
    pub(super) fn total(&self) -> Option<u64> {
        match self.amount {
            Amount::Span(_) => None,
            Amount::Octets(octets) => Some(octets),
            Amount::Blocks(blocks) => Some(blocks.saturating_mul(self.block().into())),
        }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Udp,
    Omit,
    Time,
    Octets,
    Blocks,
    Parallel,
    Reverse,
    Both,
    Len,
    Rate,
    Wide,
}

/// JSON names of the fields.
const FIELDS: [(&str, Field); 11] = [
    ("udp", Field::Udp),
    ("omit", Field::Omit),
    ("time", Field::Time),
    ("num", Field::Octets),
    ("blockcount", Field::Blocks),
    ("parallel", Field::Parallel),
    ("reverse", Field::Reverse),
    ("bidirectional", Field::Both),
    ("len", Field::Len),
    ("bandwidth", Field::Rate),
    ("udp_counters_64bit", Field::Wide),
];

/// Parses the parameters. Missing or invalid ones get iperf's defaults.
#[derive(Debug)]
pub(super) struct Reader {
    field: Option<Field>,
    test: Test,
    /// The JSON is an object.
    is_object: bool,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            field: None,
            test: Test::default(),
            is_object: false,
        }
    }

    pub(super) fn on_event(&mut self, depth: u8, event: Event) {
        if depth != 1 {
            self.field = None;
            return;
        }
        match event {
            Event::Begin { object } => self.is_object = object,
            Event::Key(key) => {
                let field = FIELDS.iter().find(|(name, _)| name.as_bytes() == key);
                self.field = field.map(|(_, field)| *field);
            }
            Event::Bool(value) => self.set(u64::from(value)),
            Event::Number(number) => {
                if let Some(value) = number.scaled(0) {
                    self.set(value);
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, value: u64) {
        let test = &mut self.test;
        // Limited to about a thousand years, so that additions do not overflow.
        let span = Duration::from_secs(value.min(1 << 35));
        match self.field.take() {
            Some(Field::Udp) => test.udp = value != 0,
            Some(Field::Omit) => test.omit = span,
            Some(Field::Time) if value > 0 => test.amount = Amount::Span(span),
            Some(Field::Octets) if value > 0 => test.amount = Amount::Octets(value),
            Some(Field::Blocks) if value > 0 => test.amount = Amount::Blocks(value),
            Some(Field::Parallel) => test.parallel = u8::try_from(value).unwrap_or(u8::MAX).max(1),
            Some(Field::Reverse) if value != 0 => test.direction = Direction::Reverse,
            Some(Field::Both) if value != 0 => test.direction = Direction::Both,
            Some(Field::Len) => test.octets = u32::try_from(value).unwrap_or(u32::MAX),
            Some(Field::Rate) => test.rate_bits_per_s = value,
            Some(Field::Wide) => test.wide_numbers = value != 0,
            _ => {}
        }
    }

    /// The parameters, if the JSON was an object.
    pub(super) fn test(&self) -> Option<Test> {
        self.is_object.then_some(self.test)
    }
}
