//! What a client asks for, and how it says so.

use core::time::Duration;

use super::json::{Event, Window};

/// What iperf takes for a test that says nothing.
const DEFAULT_SPAN: Duration = Duration::from_secs(10);
/// The size of a write that none is given for. It has no meaning on the wire.
const DEFAULT_TCP_OCTETS: u32 = 128 * 1024;
/// The size of a datagram that none is given for: fills an Ethernet frame (iperf goes by the control
/// connection's MSS, which a service does not see).
const DEFAULT_UDP_OCTETS: u32 = 1460;
/// The head of a datagram with a number of 64 bits is the least datagram.
pub(super) const LEAST_UDP_OCTETS: u32 = 16;

/// How much is to be sent, by all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// For so long (`-t`); whole seconds on the wire.
    Span(Duration),
    /// So many octets of payload (`-n`).
    Octets(u64),
    /// So many writes or datagrams (`-k`).
    Blocks(u64),
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Forward,
    /// The server (`-R`).
    Reverse,
    /// Both, over streams of their own (`--bidir`).
    Both,
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Test {
    /// UDP instead of TCP (`-u`).
    pub udp: bool,
    /// How much.
    pub amount: Amount,
    /// What passes before anything counts (`-O`); whole seconds on the wire.
    pub omit: Duration,
    /// Streams in each direction (`-P`).
    pub parallel: u8,
    /// Who sends.
    pub direction: Direction,
    /// Size of a write or a datagram (`-l`); 0: not said.
    pub octets: u32,
    /// How fast each stream is (`-b`); 0: as fast as it goes.
    pub rate_bits_per_s: u64,
    /// Datagrams have numbers of 64 bits (`--udp-counters-64bit`).
    pub wide_numbers: bool,
}

impl Default for Test {
    /// What `iperf3 -c` does with no more options.
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
    /// Streams in both directions together.
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
            (octets, true) => octets.clamp(LEAST_UDP_OCTETS, 65_507),
        }
    }

    /// The payload that the test ends with; `None` if time ends it.
    pub(super) fn total(&self) -> Option<u64> {
        match self.amount {
            Amount::Span(_) => None,
            Amount::Octets(octets) => Some(octets),
            Amount::Blocks(blocks) => Some(blocks.saturating_mul(self.block().into())),
        }
    }

    /// Writes the parameters; their times are whole seconds already.
    pub(super) fn emit(&self, window: &mut Window) {
        window.begin(b'{');
        window.truth(if self.udp { "udp" } else { "tcp" });
        window.number("omit", self.omit.as_secs());
        let (time, octets, blocks) = match self.amount {
            Amount::Span(span) => (span.as_secs(), 0, 0),
            Amount::Octets(octets) => (0, octets, 0),
            Amount::Blocks(blocks) => (0, 0, blocks),
        };
        window.number("time", time);
        window.number("num", octets);
        window.number("blockcount", blocks);
        window.number("parallel", self.parallel.into());
        match self.direction {
            Direction::Forward => {}
            Direction::Reverse => window.truth("reverse"),
            Direction::Both => window.truth("bidirectional"),
        }
        window.number("len", self.block().into());
        if self.rate_bits_per_s > 0 {
            window.number("bandwidth", self.rate_bits_per_s);
        }
        if self.udp && self.wide_numbers {
            window.number("udp_counters_64bit", 1);
        }
        window.end(b'}');
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

/// Their names.
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

/// Reads the parameters. What is not said, or makes no sense, is iperf's own default.
#[derive(Debug)]
pub(super) struct Reader {
    field: Option<Field>,
    test: Test,
    /// They were an object.
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

    pub(super) fn tell(&mut self, depth: u8, event: Event) {
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
            Event::Truth(truth) => self.set(u64::from(truth)),
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
        // What a thousand years take is no time: nothing that is added to it overflows.
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

    /// What was read, if it was an object.
    pub(super) fn test(&self) -> Option<Test> {
        self.is_object.then_some(self.test)
    }
}
