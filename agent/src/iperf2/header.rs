//! Headers of iperf 2 in the data. All fields are big-endian; offsets are relative to the part.

use core::time::Duration;

use crate::octets::{put_time, put_u32, start, time_at, u32_at, word_at};
use crate::{Instant, MS, ns, span};

/// The request has the fields up to [`Test::amount`].
const VERSION_1: u32 = 0x8000_0000;
/// The request has all fields.
const EXTENDED: u32 = 0x4000_0000;
/// The server connects back immediately, not at the end.
const SIMULTANEOUS: u32 = 0x0000_0001;
/// Datagram numbers have 64 bits.
const WIDE_NUMBERS: u32 = 0x0800_0000;
/// The upper flags are valid.
const UPPER_FLAGS: u32 = 0x0400_0000;
/// Set in a UDP request with `-R`.
const UDP_REVERSE: u32 = 0x2000_0000;
/// The length of everything before the data is in bits 1 to 15.
const HAS_LENGTH: u32 = 0x0001_0000;
/// Upper flags.
const REVERSE: u32 = 0x0400_0000;
const FULL_DUPLEX: u32 = 0x0800_0000;
/// Follows the number of a datagram without a request.
pub(super) const PLAIN: u32 = WIDE_NUMBERS;
/// The advertised version: 2.1.8.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];

/// Amount of data to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Octets of payload.
    Octets(u32),
    /// Duration, in steps of 10 ms on the wire.
    Span(Duration),
}

/// Limits of a stream: octets, duration and rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendLimits {
    pub(super) octets: u64,
    pub(super) ns: u64,
    /// 0: as fast as possible.
    pub(super) rate_bits_per_s: u64,
}

const NO_LIMIT: u64 = u64::MAX;

/// Mode of the return test, in which the server sends to the client's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnTest {
    /// No return test.
    No,
    /// After the test (`-r`).
    AfterTest,
    /// During the test (`-d`).
    Simultaneous,
}

/// A client's test request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Test {
    /// The client's listening port for the return test.
    pub port: u16,
    /// Size of a write or a datagram (`-l`); 0: the server's default.
    pub buffer_octets: u32,
    /// Amount of data to send.
    pub amount: Amount,
    /// Rate (`-b`); 0: unspecified.
    pub rate_bits_per_s: u64,
    /// Return test.
    pub return_test: ReturnTest,
    /// The server sends on this connection instead of the client (`-R`).
    pub reverse: bool,
    /// Both send on this connection (`--full-duplex`).
    pub full_duplex: bool,
}

impl Test {
    pub(super) const fn extent(&self) -> SendLimits {
        let (octets, ns) = match self.amount {
            Amount::Octets(octets) => (octets as u64, NO_LIMIT),
            Amount::Span(span) => (NO_LIMIT, ns(span)),
        };
        SendLimits {
            octets,
            ns,
            rate_bits_per_s: self.rate_bits_per_s,
        }
    }

    /// Octets of a request in TCP, without the unused fields behind.
    pub const LEN: usize = 60;

    /// Total length of a request that begins with these flags; `None` if it is not a request, but data.
    #[must_use]
    pub fn len(flags: u32) -> Option<usize> {
        if flags & (VERSION_1 | EXTENDED) == 0 {
            return None;
        }
        let stated = if flags & HAS_LENGTH != 0 {
            (flags & 0xfffe) as usize >> 1
        } else {
            24
        };
        Some(stated.clamp(24, Self::LEN))
    }

    /// Parses the request at the start of `octets`, if there is one.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let request = Request::parse(octets)?;
        Some(Self {
            port: request.port,
            buffer_octets: request.buffer_octets,
            amount: match request.limits() {
                SendLimits {
                    octets,
                    ns: NO_LIMIT,
                    ..
                } => Amount::Octets(octets as u32),
                SendLimits { ns, .. } => Amount::Span(span(ns)),
            },
            rate_bits_per_s: request.rate_bits_per_s,
            return_test: request.return_test,
            reverse: request.reverse,
            full_duplex: request.full_duplex,
        })
    }

    /// Writes the request to the start of `octets`: [`Self::LEN`] octets, or as many as fit. `udp`: for
    /// datagrams, behind the [`DatagramHeader`].
    pub fn emit(&self, octets: &mut [u8], udp: bool) {
        let len = octets.len().min(Self::LEN);
        octets[..len].fill(0);
        let before = if udp { DatagramHeader::LEN } else { 0 };
        let mut flags = EXTENDED | HAS_LENGTH | ((Self::LEN + before) << 1) as u32;
        match self.return_test {
            ReturnTest::No => {}
            ReturnTest::AfterTest => flags |= VERSION_1,
            ReturnTest::Simultaneous => flags |= VERSION_1 | SIMULTANEOUS,
        }
        let mut upper = 0;
        if self.reverse {
            upper |= REVERSE;
        }
        if self.full_duplex {
            upper |= FULL_DUPLEX;
        }
        if upper != 0 {
            flags |= UPPER_FLAGS;
        }
        if udp {
            flags |= WIDE_NUMBERS;
            if self.reverse {
                flags |= UDP_REVERSE;
            }
        }
        let amount = match self.amount {
            Amount::Octets(octets) => octets.min(i32::MAX as u32) as i32,
            Amount::Span(span) => {
                let part = span.subsec_nanos().div_ceil(10_000_000);
                let hundredths = span
                    .as_secs()
                    .saturating_mul(100)
                    .saturating_add(part.into());
                -(i32::try_from(hundredths).unwrap_or(i32::MAX))
            }
        };
        let fields = [
            (0, flags),
            (4, 1),
            (8, u32::from(self.port)),
            (12, self.buffer_octets),
            (20, amount as u32),
            (32, upper),
            (36, VERSION[0]),
            (40, VERSION[1]),
            (48, self.rate_bits_per_s as u32),
            (52, (self.rate_bits_per_s >> 32) as u32),
        ];
        for (at, value) in fields {
            put_u32(octets, at, value);
        }
    }
}

/// A client's [`Test`], as the server uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) rate_bits_per_s: u64,
    /// As on the wire: octets, or, if it is negative, a time in units of 10 ms.
    pub(super) amount: i32,
    pub(super) buffer_octets: u32,
    pub(super) port: u16,
    pub(super) return_test: ReturnTest,
    pub(super) reverse: bool,
    pub(super) full_duplex: bool,
}

impl Request {
    /// The request of a client that has sent none: data in one direction.
    pub(super) const NONE: Self = Self {
        rate_bits_per_s: 0,
        amount: 0,
        buffer_octets: 0,
        port: 0,
        return_test: ReturnTest::No,
        reverse: false,
        full_duplex: false,
    };

    /// Parses the request at the start of `octets`, if there is one.
    pub(super) fn parse(octets: &[u8]) -> Option<Self> {
        let amount = u32_at(octets, 20)? as i32;
        let flags = word_at(octets, 0);
        Test::len(flags)?;
        let mut request = Self {
            amount,
            buffer_octets: word_at(octets, 12),
            port: word_at(octets, 8) as u16,
            ..Self::NONE
        };
        if flags & EXTENDED != 0 {
            let rate = |at| u64::from(word_at(octets, at));
            request.rate_bits_per_s = rate(48) | rate(52) << 32;
            if flags & UPPER_FLAGS != 0 {
                let upper = word_at(octets, 32);
                request.reverse = upper & REVERSE != 0;
                request.full_duplex = upper & FULL_DUPLEX != 0;
            }
        }
        if flags & VERSION_1 != 0 {
            request.return_test = if flags & SIMULTANEOUS != 0 {
                ReturnTest::Simultaneous
            } else {
                ReturnTest::AfterTest
            };
        }
        Some(request)
    }

    /// Limits by octets or by time; the other is `u64::MAX`.
    pub(super) fn limits(&self) -> SendLimits {
        let (octets, ns) = match u64::from(self.amount.unsigned_abs()) {
            units if self.amount < 0 => (NO_LIMIT, units * (10 * MS)),
            octets => (octets, NO_LIMIT),
        };
        SendLimits {
            octets,
            ns,
            rate_bits_per_s: self.rate_bits_per_s,
        }
    }
}

/// Header of every UDP datagram: its number, counted from 1 and negative at the end, and its send time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The number.
    pub number: i64,
    /// Seconds and microseconds on the sender's clock, as nanoseconds.
    pub sent_ns: u64,
}

impl DatagramHeader {
    /// Length in octets.
    pub const LEN: usize = 16;

    /// Parses the header of a datagram, which is followed by a request or by anything.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let sent_ns = time_at(octets, 4)?;
        let low = word_at(octets, 0);
        // Without the flag, the field behind the time may belong to a request of an older version.
        let number = if word_at(octets, Self::LEN) & WIDE_NUMBERS != 0 {
            (u64::from(word_at(octets, 12)) << 32 | u64::from(low)) as i64
        } else {
            i64::from(low as i32)
        };
        Some(Self { number, sent_ns })
    }

    /// Writes the header to the start of a datagram, as far as it fits.
    pub fn emit(number: i64, now: Instant, octets: &mut [u8]) {
        put_u32(octets, 0, number as u32);
        put_time(octets, 4, now.ns());
        put_u32(octets, 12, (number >> 32) as u32);
    }
}

/// A UDP receiver's report to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Payload received.
    pub octets: u64,
    /// From the first datagram to the last.
    pub span: Duration,
    /// Datagrams missing.
    pub lost: u32,
    /// Datagrams late.
    pub out_of_order: u32,
    /// Datagrams sent, as far as the receiver can determine.
    pub datagrams: u32,
    /// Interarrival jitter (RFC 3550).
    pub jitter: Duration,
}

impl Report {
    /// Length of a report in octets.
    pub const LEN: usize = 40;

    /// True if a datagram is a report and not a client's: a client of iperf 2.1 states its request's length.
    pub(super) fn is_report(datagram: &[u8]) -> bool {
        let flags = word_at(datagram, DatagramHeader::LEN);
        flags & (VERSION_1 | EXTENDED | HAS_LENGTH) == VERSION_1
    }

    /// Parses the report in a datagram, behind its number.
    #[must_use]
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        Counters::parse(datagram).map(|counters| counters.report())
    }

    /// Writes the report behind the datagram's number, which must be present.
    pub fn emit(&self, datagram: &mut [u8]) {
        Counters::from(self).emit(datagram);
    }
}

/// A [`Report`] with times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) octets: u64,
    pub(super) span_ns: u64,
    pub(super) jitter_ns: u64,
    pub(super) lost: u32,
    pub(super) out_of_order: u32,
    pub(super) datagrams: u32,
}

/// Offsets of a report's fields in the datagram.
const REPORT: usize = DatagramHeader::LEN;
const OCTETS: usize = REPORT + 4;
const SPAN: usize = REPORT + 12;
const LOST: usize = REPORT + 20;
const OUT_OF_ORDER: usize = REPORT + 24;
const DATAGRAMS: usize = REPORT + 28;
const JITTER: usize = REPORT + 32;

impl From<&Report> for Counters {
    fn from(report: &Report) -> Self {
        Self {
            octets: report.octets,
            span_ns: ns(report.span),
            jitter_ns: ns(report.jitter),
            lost: report.lost,
            out_of_order: report.out_of_order,
            datagrams: report.datagrams,
        }
    }
}

impl Counters {
    pub(super) fn report(&self) -> Report {
        Report {
            octets: self.octets,
            span: span(self.span_ns),
            lost: self.lost,
            out_of_order: self.out_of_order,
            datagrams: self.datagrams,
            jitter: span(self.jitter_ns),
        }
    }

    /// Parses the report in a datagram, behind its number.
    pub(super) fn parse(datagram: &[u8]) -> Option<Self> {
        let jitter_ns = time_at(datagram, JITTER)?;
        let word = |at| word_at(datagram, at);
        if word(REPORT) & VERSION_1 == 0 {
            return None;
        }
        Some(Self {
            octets: u64::from(word(OCTETS)) << 32 | u64::from(word(OCTETS + 4)),
            span_ns: time_at(datagram, SPAN)?,
            jitter_ns,
            lost: word(LOST),
            out_of_order: word(OUT_OF_ORDER),
            datagrams: word(DATAGRAMS),
        })
    }

    /// Writes the datagram that answers the last one of a stream, and returns its length.
    pub(super) fn answer(&self, end: i64, now: Instant, buffer: &mut [u8]) -> usize {
        let datagram = start(buffer, REPORT + Report::LEN);
        let len = datagram.len();
        datagram.fill(0);
        DatagramHeader::emit(end, now, datagram);
        self.emit(datagram);
        len
    }

    fn emit(&self, datagram: &mut [u8]) {
        for (at, value) in [
            (REPORT, VERSION_1),
            (OCTETS, (self.octets >> 32) as u32),
            (OCTETS + 4, self.octets as u32),
            (LOST, self.lost),
            (OUT_OF_ORDER, self.out_of_order),
            (DATAGRAMS, self.datagrams),
        ] {
            put_u32(datagram, at, value);
        }
        put_time(datagram, SPAN, self.span_ns);
        put_time(datagram, JITTER, self.jitter_ns);
    }
}
