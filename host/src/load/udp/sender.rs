//! The sender.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use super::socket::Out;
use crate::load::counters::Counting;
use crate::load::pace::{Clock, Deadlines};
use crate::load::packet::{HEAD, Head, LONGEST};
use crate::load::sent::Sending;
use crate::load::{LoadError, Rate, Sent, cpu};

/// Datagrams of a batch where nothing segments.
const BATCH: usize = 64;
/// Super-packets between two looks at the clock.
const LOOK: u32 = 4;

/// What to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where to.
    pub target: SocketAddr,
    /// Payload of each datagram, 24 octets at least.
    pub payload_octets: usize,
    /// How fast.
    pub rate: Rate,
    /// How long.
    pub duration: Duration,
    /// Tells streams apart: a receiver counts the one that it sees first.
    pub stream: u32,
    /// The core to send from.
    pub core: Option<usize>,
    /// Whether the system may segment super-packets, which is faster than anything else.
    pub segment: bool,
}

impl Plan {
    /// As fast as it goes, for a second.
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

/// Sends datagrams.
pub struct Sender {
    plan: Plan,
    socket: Out,
    clock: Clock,
    octets: Vec<u8>,
    sending: Sending,
}

impl Sender {
    /// Sends what the plan says, from this thread, and counts.
    ///
    /// # Errors
    /// The plan makes no sense, or the target has no route.
    pub fn run(plan: &Plan) -> Result<Sent, LoadError> {
        if !(HEAD..=LONGEST).contains(&plan.payload_octets) {
            return Err(LoadError::Payload {
                octets: plan.payload_octets,
                least: HEAD,
                most: LONGEST,
            });
        }
        plan.rate.check()?;
        let socket = Out::connect(plan.target).map_err(|source| LoadError::Socket {
            step: "sending to",
            address: plan.target,
            source,
        })?;
        let pin = cpu::pin(plan.core);
        let mut sender = Self {
            plan: plan.clone(),
            socket,
            clock: Clock::start(),
            octets: Vec::new(),
            sending: Sending::new(plan.rate),
        };
        if let Err(why) = &pin {
            sender.sending.notes.push(why.clone());
        }
        sender.go()
    }

    fn go(mut self) -> Result<Sent, LoadError> {
        let counting = self
            .socket
            .local()
            .and_then(|it| Counting::start_at(it.ip()));
        let (due, span_ns) = match self.plan.rate {
            Rate::PerSecond(per_s) => self.at_rate(per_s)?,
            Rate::Max => (0, self.at_most()?),
        };
        let interface = counting.and_then(Counting::end);
        Ok(self.sending.end(self.plan.rate, due, span_ns, interface))
    }

    /// One at each deadline: how many were due, and how long it took.
    fn at_rate(&mut self, per_s: u64) -> Result<(u64, u64), LoadError> {
        "one datagram at each deadline".clone_into(&mut self.sending.method);
        self.octets = vec![0; self.plan.payload_octets];
        let start = self.clock.now_ns() + 1_000_000;
        let span = self.plan.duration.as_nanos() as u64;
        let end = start + span;
        let mut deadlines = Deadlines::new(start, per_s);
        while deadlines.due_ns() < end {
            let now = self.clock.wait_until(deadlines.send_at(end));
            if now >= end {
                break;
            }
            self.number(1, now);
            if self.one()? || self.one()? {
                self.sending.gaps.at(now);
            }
            self.sending.late += u64::from(deadlines.advance(now));
        }
        let due = u128::from(per_s) * u128::from(span) / 1_000_000_000;
        Ok((due as u64, span))
    }

    /// Sends the datagram; `false`: the answer to an earlier one was told in its place.
    fn one(&mut self) -> Result<bool, LoadError> {
        let before = self.sending.packets;
        let sent = self.socket.send(&self.octets).map(|()| 1);
        self.after(sent)?;
        Ok(self.sending.packets > before)
    }

    /// As many as go: how long it took.
    fn at_most(&mut self) -> Result<u64, LoadError> {
        let started = self.clock.now_ns();
        let segmented = self.segmented();
        let many = match &segmented {
            Ok(many) => *many,
            Err(_) => BATCH,
        };
        let is_segmented = segmented.is_ok();
        self.sending.method = match segmented {
            Ok(_) => format!("super-packets of {many} datagrams (UDP_SEGMENT)"),
            Err(why) => {
                let method = self.socket.batches();
                self.sending.notes.push(format!("{why}: {method} instead"));
                method.to_owned()
            }
        };
        self.sending.packets_per_call = many;
        self.octets.resize(many * self.plan.payload_octets, 0);
        let end = self.plan.duration.as_nanos() as u64;
        let mut now = self.clock.now_ns();
        while now - started < end {
            for _ in 0..LOOK {
                self.number(many, now);
                let sent = if is_segmented {
                    self.socket.send(&self.octets).map(|()| many)
                } else {
                    self.socket
                        .send_many(&self.octets, self.plan.payload_octets)
                };
                self.after(sent)?;
            }
            now = self.clock.now_ns();
            self.sending.gaps.at(now);
        }
        Ok(self.clock.now_ns() - started)
    }

    /// Sends the first super-packet, of as many datagrams as the system takes: how many, or why none.
    fn segmented(&mut self) -> Result<usize, String> {
        if !self.plan.segment {
            return Err("segmentation is not wanted".to_owned());
        }
        let each = self.plan.payload_octets;
        self.socket.segment(each)?;
        let mut why = String::new();
        for most in Out::SEGMENTS {
            let many = most.min(LONGEST / each);
            self.octets = vec![0; many * each];
            self.number(many, self.clock.now_ns());
            let sent = self.socket.send(&self.octets).map(|()| many);
            match self.after(sent) {
                Ok(()) => return Ok(many),
                Err(LoadError::Socket { source, .. }) => why = source.to_string(),
                Err(other) => why = other.to_string(),
            }
        }
        let _ = self.socket.segment(0);
        Err(format!("the route takes no super-packets ({why})"))
    }

    /// Writes the heads of the next `many` datagrams.
    fn number(&mut self, many: usize, now: u64) {
        let each = self.plan.payload_octets;
        let first = self.sending.packets;
        for (payload, number) in self.octets.chunks_mut(each).take(many).zip(first..) {
            let head = Head {
                stream: self.plan.stream,
                number,
                sent_ns: now,
            };
            head.write(payload);
        }
    }

    /// Counts what was sent; what was not is sent again, with the same number.
    fn after(&mut self, sent: std::io::Result<usize>) -> Result<(), LoadError> {
        match sent {
            Ok(packets) => {
                self.sending.packets += packets as u64;
                self.sending.octets += (packets * self.plan.payload_octets) as u64;
                Ok(())
            }
            // An answer to an earlier datagram; this one was not sent.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.sending.refused += 1;
                Ok(())
            }
            Err(error) if is_full(&error) => Ok(()),
            Err(source) => Err(LoadError::Socket {
                step: "sending to",
                address: self.plan.target,
                source,
            }),
        }
    }
}

/// Whether there is no room just now.
fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::OutOfMemory
    ) || error.raw_os_error() == Some(105)
}
