//! UDP receiver.

use std::net::SocketAddr;
use std::time::Duration;

use linerate_agent::Instant;
use linerate_agent::count::Sink;
use serde::Serialize;

use super::of_port;
use super::socket::{Message, ReceiveSocket};
use crate::load::counters::{CounterSnapshot, InterfaceCounters};
use crate::load::gaps::{GapSummary, Gaps};
use crate::load::pace::Clock;
use crate::load::packet::PacketHeader;
use crate::load::{LoadError, cpu};

/// Requested receive buffer, octets: 200 ms of the highest rate that a host can send.
const BUFFER: usize = 64 << 20;
/// Interval at which a blocking receiver checks its stop condition.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Wait mode for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitMode {
    /// Sleep: the core is free for others, and waking takes tens of microseconds.
    #[default]
    Block,
    /// Poll continuously, which occupies a core.
    Spin,
}

/// Configuration of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Wait mode.
    pub wait: WaitMode,
    /// If true, the system may coalesce several datagrams into one message.
    pub coalesce: bool,
    /// Measure gaps by kernel timestamps, without coalescing. The value is the reference rate, packets/s; 0
    /// for none.
    pub gaps: Option<u64>,
    /// Requested receive buffer, octets.
    pub buffer_octets: usize,
    /// CPU core to receive on.
    pub core: Option<usize>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            wait: WaitMode::Block,
            coalesce: true,
            gaps: None,
            buffer_octets: BUFFER,
            core: None,
        }
    }
}

/// Condition at which a receiver stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopCondition {
    /// Maximum duration.
    pub max_duration: Duration,
    /// Maximum silence after the first datagram.
    pub quiet: Duration,
}

/// Result of a receiver.
#[derive(Debug, Clone, Serialize)]
pub struct ReceiveReport {
    /// Datagrams of the stream, including duplicates.
    pub datagrams: u64,
    /// Their payload.
    pub octets: u64,
    /// Time from the first to the last.
    pub span_ns: u64,
    /// Datagrams divided by time.
    pub packets_per_s: f64,
    /// Missing below the highest received number: lost anywhere.
    pub lost_datagrams: u64,
    /// Datagrams to this socket dropped because it was full, as counted by the kernel: lost in this host, not
    /// on the link. A coalesced super-packet counts as one. Absent where unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_drops: Option<u64>,
    /// Received after one with a higher number.
    pub out_of_order_datagrams: u64,
    /// Received more than once.
    pub repeated_datagrams: u64,
    /// Received so late that they may be either.
    pub stale_datagrams: u64,
    /// Not of the stream.
    pub foreign_datagrams: u64,
    /// RFC 3550, by this program's clock.
    pub jitter_ns: u64,
    /// Shortest and longest payload.
    pub payload_octets: [usize; 2],
    /// Messages received from the system: fewer than datagrams if coalesced.
    pub messages: u64,
    /// Actual receive buffer, octets.
    pub buffer_octets: usize,
    /// Gaps by kernel timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<GapSummary>,
    /// Counters of the interface with this address over the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceCounters>,
    /// Features that were unavailable.
    pub notes: Vec<String>,
    /// Full histogram of the gaps.
    #[serde(skip)]
    pub all_gaps: Gaps,
}

/// Receives and counts datagrams of [`Sender`](super::Sender).
pub struct Receiver {
    socket: ReceiveSocket,
    address: SocketAddr,
    config: ReceiverConfig,
    buffer_octets: usize,
    notes: Vec<String>,
}

impl Receiver {
    /// Binds to `address`. From here on the system queues received datagrams.
    ///
    /// # Errors
    /// The address is in use, or not local.
    pub fn bind(address: SocketAddr, config: ReceiverConfig) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Socket {
            step: "binding to",
            address,
            source,
        };
        let mut socket = ReceiveSocket::bind(address).map_err(failed)?;
        let mut notes = Vec::new();
        let buffer_octets = socket.set_buffer(config.buffer_octets);
        if buffer_octets < config.buffer_octets {
            notes.push(format!(
                "receive buffer of {buffer_octets} octets instead of {}: bursts may be dropped (run as root, or \
                 set `sysctl net.core.rmem_max={}`)",
                config.buffer_octets, config.buffer_octets
            ));
        }
        if config.gaps.is_some() {
            if let Err(why) = socket.enable_timestamps() {
                notes.push(format!("{why}: gaps are not measured"));
            }
        } else if config.coalesce
            && let Err(why) = socket.enable_coalescing()
        {
            notes.push(format!("{why}: datagrams are received one by one"));
        }
        socket.set_timeout(STOP_CHECK_INTERVAL).map_err(failed)?;
        Ok(Self {
            address: socket.local_addr().map_err(failed)?,
            socket,
            config,
            buffer_octets,
            notes,
        })
    }

    /// Local address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Receives on this thread until the stop condition is met or `stop` returns true.
    ///
    /// # Errors
    /// The socket fails.
    pub fn run(
        mut self,
        until: StopCondition,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<ReceiveReport, LoadError> {
        let pin = cpu::pin(self.config.core);
        if let Err(why) = &pin {
            self.notes.push(why.clone());
        }
        let counting = CounterSnapshot::start_at(self.address.ip());
        let waits = self.config.wait == WaitMode::Block;
        let clock = Clock::start();
        let mut counts = StreamCounts::new(&self.config, clock);
        let mut polls = 0_u32;
        loop {
            let taken = self.socket.receive(waits, |message| counts.take(&message));
            let taken = taken.map_err(|source| LoadError::Socket {
                step: "receiving at",
                address: self.address,
                source,
            })?;
            polls = polls.wrapping_add(1);
            // `stop` may take longer than a read of the socket.
            if (taken > 0 || !waits) && !polls.is_multiple_of(64) {
                continue;
            }
            let now = clock.now_ns();
            let quiet = counts
                .sink
                .last()
                .is_some_and(|last| now.saturating_sub(last.ns()) as u128 > until.quiet.as_nanos());
            if quiet || now as u128 > until.max_duration.as_nanos() || stop() {
                break;
            }
        }
        Ok(self.finish(counts, counting))
    }

    fn finish(self, counts: StreamCounts, counting: Option<CounterSnapshot>) -> ReceiveReport {
        let span_ns = counts.sink.span().as_nanos() as u64;
        let sequence = &counts.sink.sequence;
        let reported = u64::from(self.socket.overflows);
        ReceiveReport {
            datagrams: sequence.received(),
            octets: counts.sink.octets,
            span_ns,
            packets_per_s: sequence.received() as f64 * 1e9 / span_ns.max(1) as f64,
            lost_datagrams: sequence.lost(None),
            host_drops: of_port(self.address.port()).map(|listed| listed.max(reported)),
            out_of_order_datagrams: sequence.out_of_order(),
            repeated_datagrams: sequence.duplicates(),
            stale_datagrams: sequence.stale(),
            foreign_datagrams: counts.foreign,
            jitter_ns: counts.sink.jitter.ns(),
            payload_octets: [counts.shortest.min(counts.longest), counts.longest],
            messages: counts.messages,
            buffer_octets: self.buffer_octets,
            gaps: counts.gaps.summary(),
            interface: counting.and_then(CounterSnapshot::end),
            notes: self.notes,
            all_gaps: counts.gaps,
        }
    }
}

struct StreamCounts {
    sink: Sink,
    stream: Option<u32>,
    gaps: Gaps,
    foreign: u64,
    messages: u64,
    shortest: usize,
    longest: usize,
    clock: Clock,
}

impl StreamCounts {
    fn new(config: &ReceiverConfig, clock: Clock) -> Self {
        Self {
            sink: Sink::new(0),
            stream: None,
            gaps: Gaps::new(config.gaps),
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
            let head = PacketHeader::read(payload);
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
                self.gaps.record(at_ns);
            }
        }
    }
}
