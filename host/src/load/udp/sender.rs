//! UDP sender.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use super::socket::SendSocket;
use crate::load::counters::CounterSnapshot;
use crate::load::pace::{Clock, Deadlines};
use crate::load::packet::{HEADER_OCTETS, MAX_PAYLOAD_OCTETS, PacketHeader};
use crate::load::send_report::SendCounts;
use crate::load::{LoadError, Rate, SendReport, cpu};

/// Datagrams in a batch without segmentation.
const BATCH: usize = 64;
/// Super-packets between two clock reads.
const BATCHES_PER_CLOCK_READ: u32 = 4;

/// Configuration of a UDP sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderConfig {
    /// Destination.
    pub target: SocketAddr,
    /// Payload of each datagram, at least 24 octets.
    pub payload_octets: usize,
    /// Packet rate.
    pub rate: Rate,
    /// Duration.
    pub duration: Duration,
    /// Stream identifier: a receiver counts the first stream that it sees.
    pub stream: u32,
    /// CPU core to send from.
    pub core: Option<usize>,
    /// If true, the system may segment super-packets, the fastest method.
    pub segment: bool,
}

impl SenderConfig {
    /// Maximum rate for one second.
    pub const fn new(target: SocketAddr, payload_octets: usize) -> Self {
        Self {
            target,
            payload_octets,
            rate: Rate::Max,
            duration: Duration::from_secs(1),
            stream: 0,
            core: None,
            segment: true,
        }
    }
}

/// UDP sender.
pub struct Sender {
    config: SenderConfig,
    socket: SendSocket,
    clock: Clock,
    octets: Vec<u8>,
    sending: SendCounts,
}

impl Sender {
    /// Sends as configured, on this thread, and counts.
    ///
    /// # Errors
    /// Invalid configuration, or no route to the target.
    pub fn run(config: &SenderConfig) -> Result<SendReport, LoadError> {
        if !(HEADER_OCTETS..=MAX_PAYLOAD_OCTETS).contains(&config.payload_octets) {
            return Err(LoadError::Payload {
                octets: config.payload_octets,
                min: HEADER_OCTETS,
                max: MAX_PAYLOAD_OCTETS,
            });
        }
        config.rate.check()?;
        let socket = SendSocket::connect(config.target).map_err(|source| LoadError::Socket {
            step: "sending to",
            address: config.target,
            source,
        })?;
        let pin = cpu::pin(config.core);
        let mut sender = Self {
            config: config.clone(),
            socket,
            clock: Clock::start(),
            octets: Vec::new(),
            sending: SendCounts::new(config.rate),
        };
        if let Err(why) = &pin {
            sender.sending.notes.push(why.clone());
        }
        sender.send()
    }

    fn send(mut self) -> Result<SendReport, LoadError> {
        let counting = self
            .socket
            .local_addr()
            .and_then(|it| CounterSnapshot::start_at(it.ip()));
        let (due, span_ns) = match self.config.rate {
            Rate::PerSecond(per_s) => self.send_at_rate(per_s)?,
            Rate::Max => (0, self.send_at_max()?),
        };
        let interface = counting.and_then(CounterSnapshot::end);
        Ok(self
            .sending
            .finish(self.config.rate, due, span_ns, interface))
    }

    /// Sends one datagram at each deadline; returns the number due and the duration.
    fn send_at_rate(&mut self, per_s: u64) -> Result<(u64, u64), LoadError> {
        "one datagram at each deadline".clone_into(&mut self.sending.method);
        self.octets = vec![0; self.config.payload_octets];
        let start = self.clock.now_ns() + 1_000_000;
        let span = self.config.duration.as_nanos() as u64;
        let end = start + span;
        let mut deadlines = Deadlines::new(start, per_s);
        while deadlines.due_ns() < end {
            let now = self.clock.wait_until(deadlines.send_at(end));
            if now >= end {
                break;
            }
            self.write_headers(1, now);
            if self.send_one()? || self.send_one()? {
                self.sending.gaps.record(now);
            }
            self.sending.late += u64::from(deadlines.advance(now));
        }
        let due = u128::from(per_s) * u128::from(span) / 1_000_000_000;
        Ok((due as u64, span))
    }

    /// Sends the datagram; `false` if the error of an earlier one was returned instead.
    fn send_one(&mut self) -> Result<bool, LoadError> {
        let before = self.sending.packets;
        let sent = self.socket.send(&self.octets).map(|()| 1);
        self.count_sent(sent)?;
        Ok(self.sending.packets > before)
    }

    /// Sends at the maximum rate; returns the duration.
    fn send_at_max(&mut self) -> Result<u64, LoadError> {
        let started = self.clock.now_ns();
        let segmented = self.probe_segmentation();
        let batch = match &segmented {
            Ok(segments) => *segments,
            Err(_) => BATCH,
        };
        let is_segmented = segmented.is_ok();
        self.sending.method = match segmented {
            Ok(_) => format!("super-packets of {batch} datagrams (UDP_SEGMENT)"),
            Err(why) => {
                let method = self.socket.batch_method();
                self.sending.notes.push(format!("{why}: {method} instead"));
                method.to_owned()
            }
        };
        self.sending.packets_per_call = batch;
        self.octets.resize(batch * self.config.payload_octets, 0);
        let end = self.config.duration.as_nanos() as u64;
        let mut now = self.clock.now_ns();
        while now - started < end {
            for _ in 0..BATCHES_PER_CLOCK_READ {
                self.write_headers(batch, now);
                let sent = if is_segmented {
                    self.socket.send(&self.octets).map(|()| batch)
                } else {
                    self.socket
                        .send_many(&self.octets, self.config.payload_octets)
                };
                self.count_sent(sent)?;
            }
            now = self.clock.now_ns();
            self.sending.gaps.record(now);
        }
        Ok(self.clock.now_ns() - started)
    }

    /// Sends the first super-packet, with as many datagrams as the system accepts; returns their number, or
    /// why segmentation is unavailable.
    fn probe_segmentation(&mut self) -> Result<usize, String> {
        if !self.config.segment {
            return Err("segmentation is disabled".to_owned());
        }
        let each = self.config.payload_octets;
        self.socket.set_segment(each)?;
        let mut why = String::new();
        for max in SendSocket::SEGMENTS {
            let segments = max.min(MAX_PAYLOAD_OCTETS / each);
            self.octets = vec![0; segments * each];
            self.write_headers(segments, self.clock.now_ns());
            let sent = self.socket.send(&self.octets).map(|()| segments);
            match self.count_sent(sent) {
                Ok(()) => return Ok(segments),
                Err(LoadError::Socket { source, .. }) => why = source.to_string(),
                Err(other) => why = other.to_string(),
            }
        }
        let _ = self.socket.set_segment(0);
        Err(format!("the route does not accept super-packets ({why})"))
    }

    /// Writes the headers of the next `count` datagrams.
    fn write_headers(&mut self, count: usize, now: u64) {
        let each = self.config.payload_octets;
        let first = self.sending.packets;
        for (payload, number) in self.octets.chunks_mut(each).take(count).zip(first..) {
            let head = PacketHeader {
                stream: self.config.stream,
                number,
                sent_ns: now,
            };
            head.write(payload);
        }
    }

    /// Counts sent packets; unsent ones are sent again with the same number.
    fn count_sent(&mut self, sent: std::io::Result<usize>) -> Result<(), LoadError> {
        match sent {
            Ok(packets) => {
                self.sending.packets += packets as u64;
                self.sending.octets += (packets * self.config.payload_octets) as u64;
                Ok(())
            }
            // Error of an earlier datagram; this one was not sent.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.sending.refused += 1;
                Ok(())
            }
            Err(error) if is_full(&error) => Ok(()),
            Err(source) => Err(LoadError::Socket {
                step: "sending to",
                address: self.config.target,
                source,
            }),
        }
    }
}

/// True if the send buffer is full for now.
fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::OutOfMemory
    ) || error.raw_os_error() == Some(105)
}
