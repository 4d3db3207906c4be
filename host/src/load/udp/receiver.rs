//! The receiver.

use std::net::SocketAddr;
use std::time::Duration;

use linerate_agent::Instant;
use linerate_agent::count::Sink;
use serde::Serialize;

use super::of_port;
use super::socket::{In, Message};
use crate::load::counters::{Counting, Interface};
use crate::load::gaps::{Gaps, Summary};
use crate::load::pace::Clock;
use crate::load::packet::Head;
use crate::load::{LoadError, cpu};

/// What is asked for as a receive buffer: two hundred milliseconds of everything that a host can send.
const BUFFER: usize = 64 << 20;
/// How long a sleeping receiver sleeps before it looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// How a datagram is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Sleeping: whoever else needs the core has it, and waking takes tens of microseconds.
    #[default]
    Block,
    /// Looking all the time, which takes a core.
    Spin,
}

/// How a receiver receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How it waits.
    pub wait: Wait,
    /// Whether the system may hand over several datagrams as one.
    pub coalesce: bool,
    /// Whether the gaps are wanted, by the kernel's times; nothing is coalesced then. What rate they
    /// are held against, packets/s, is 0 where there is none.
    pub gaps: Option<u64>,
    /// Receive buffer to ask for, octets.
    pub buffer_octets: usize,
    /// The core to receive on.
    pub core: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wait: Wait::Block,
            coalesce: true,
            gaps: None,
            buffer_octets: BUFFER,
            core: None,
        }
    }
}

/// When a receiver has received enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    /// After so long, whatever has come.
    pub at_most: Duration,
    /// When nothing has come for so long, after something has.
    pub quiet: Duration,
}

/// What was received.
#[derive(Debug, Clone, Serialize)]
pub struct Received {
    /// Datagrams of the stream, repeated ones included.
    pub datagrams: u64,
    /// Their payload.
    pub octets: u64,
    /// From the first to the last.
    pub span_ns: u64,
    /// The quotient.
    pub packets_per_s: f64,
    /// Missing below the highest number that came: lost anywhere.
    pub lost_datagrams: u64,
    /// Of all that were sent to this socket, found no room in it, as the kernel counts them: lost in this
    /// host, not on the link. A coalesced super-packet is one. Absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_drops: Option<u64>,
    /// Came after one with a higher number.
    pub out_of_order_datagrams: u64,
    /// Came again.
    pub repeated_datagrams: u64,
    /// Came so late that they may be either.
    pub stale_datagrams: u64,
    /// Not of the stream.
    pub foreign_datagrams: u64,
    /// RFC 3550, by this program's clock.
    pub jitter_ns: u64,
    /// Shortest and longest payload.
    pub payload_octets: [usize; 2],
    /// Messages that the system handed over: fewer than datagrams where it has coalesced.
    pub messages: u64,
    /// Receive buffer that the system gave, octets.
    pub buffer_octets: usize,
    /// Gaps by the kernel's times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Summary>,
    /// What the interface has counted meanwhile, if one has the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
    /// What could not be had.
    pub notes: Vec<String>,
    /// All of the gaps.
    #[serde(skip)]
    pub all_gaps: Gaps,
}

/// Receives datagrams of [`Sender`](super::Sender) and counts them.
pub struct Receiver {
    socket: In,
    address: SocketAddr,
    options: Options,
    buffer_octets: usize,
    notes: Vec<String>,
}

impl Receiver {
    /// Listens at `address`. From here on the system keeps what comes.
    ///
    /// # Errors
    /// The address is taken, or not this machine's.
    pub fn bind(address: SocketAddr, options: Options) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Socket {
            step: "listening at",
            address,
            source,
        };
        let mut socket = In::bind(address).map_err(failed)?;
        let mut notes = Vec::new();
        let buffer_octets = socket.buffer(options.buffer_octets);
        if buffer_octets < options.buffer_octets {
            notes.push(format!(
                "a receive buffer of {buffer_octets} octets instead of {}: bursts may find no room (as root, or \
                 with `sysctl net.core.rmem_max={}`, there is more)",
                options.buffer_octets, options.buffer_octets
            ));
        }
        if options.gaps.is_some() {
            if let Err(why) = socket.timestamps() {
                notes.push(format!("{why}: no gaps are known"));
            }
        } else if options.coalesce
            && let Err(why) = socket.coalesce()
        {
            notes.push(format!("{why}: datagrams are taken one by one"));
        }
        socket.patience(LOOK).map_err(failed)?;
        Ok(Self {
            address: socket.local().map_err(failed)?,
            socket,
            options,
            buffer_octets,
            notes,
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Receives, on this thread, until it is enough or `stop` says so.
    ///
    /// # Errors
    /// The socket fails.
    pub fn run(
        mut self,
        until: Until,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Received, LoadError> {
        let pin = cpu::pin(self.options.core);
        if let Err(why) = &pin {
            self.notes.push(why.clone());
        }
        let counting = Counting::start_at(self.address.ip());
        let waits = self.options.wait == Wait::Block;
        let clock = Clock::start();
        let mut counts = Counts::new(&self.options, clock);
        let mut looks = 0_u32;
        loop {
            let taken = self.socket.take(waits, |message| counts.take(&message));
            let taken = taken.map_err(|source| LoadError::Socket {
                step: "receiving at",
                address: self.address,
                source,
            })?;
            looks = looks.wrapping_add(1);
            // The caller may take longer to answer than the socket.
            if (taken > 0 || !waits) && !looks.is_multiple_of(64) {
                continue;
            }
            let now = clock.now_ns();
            let quiet = counts
                .sink
                .last()
                .is_some_and(|last| now.saturating_sub(last.ns()) as u128 > until.quiet.as_nanos());
            if quiet || now as u128 > until.at_most.as_nanos() || stop() {
                break;
            }
        }
        Ok(self.end(counts, counting))
    }

    fn end(self, counts: Counts, counting: Option<Counting>) -> Received {
        let span_ns = counts.sink.span().as_nanos() as u64;
        let sequence = &counts.sink.sequence;
        let told = u64::from(self.socket.overflows);
        Received {
            datagrams: sequence.received(),
            octets: counts.sink.octets,
            span_ns,
            packets_per_s: sequence.received() as f64 * 1e9 / span_ns.max(1) as f64,
            lost_datagrams: sequence.lost(None),
            host_drops: of_port(self.address.port()).map(|listed| listed.max(told)),
            out_of_order_datagrams: sequence.out_of_order(),
            repeated_datagrams: sequence.duplicates(),
            stale_datagrams: sequence.stale(),
            foreign_datagrams: counts.foreign,
            jitter_ns: counts.sink.jitter.ns(),
            payload_octets: [counts.shortest.min(counts.longest), counts.longest],
            messages: counts.messages,
            buffer_octets: self.buffer_octets,
            gaps: counts.gaps.summary(),
            interface: counting.and_then(Counting::end),
            notes: self.notes,
            all_gaps: counts.gaps,
        }
    }
}

struct Counts {
    sink: Sink,
    stream: Option<u32>,
    gaps: Gaps,
    foreign: u64,
    messages: u64,
    shortest: usize,
    longest: usize,
    clock: Clock,
}

impl Counts {
    fn new(options: &Options, clock: Clock) -> Self {
        Self {
            sink: Sink::new(0),
            stream: None,
            gaps: Gaps::new(options.gaps),
            foreign: 0,
            messages: 0,
            shortest: usize::MAX,
            longest: 0,
            clock,
        }
    }

    fn take(&mut self, message: &Message<'_>) {
        self.messages += 1;
        let now = Instant::from_ns(self.clock.now_ns());
        for payload in message.octets.chunks(message.each.max(1)) {
            let head = Head::read(payload);
            let Some(head) = head.filter(|it| *self.stream.get_or_insert(it.stream) == it.stream)
            else {
                self.foreign += 1;
                continue;
            };
            self.shortest = self.shortest.min(payload.len());
            self.longest = self.longest.max(payload.len());
            self.sink
                .arrived(head.number, head.sent_ns, payload.len(), now);
            if let Some(at_ns) = message.at_ns {
                self.gaps.at(at_ns);
            }
        }
    }
}
