//! Programs that run on the host: any [`Service`] of `linerate-agent`, over the host's TCP and UDP and in
//! its time, and generators of raw frames.
//!
//! The caller [starts](Programs::start) a program when the device is ready, lets time pass until it
//! [has finished](Programs::is_finished), and [stops](Programs::stop) it, which returns the program with its
//! results.

mod blaster;
mod datagrams;
mod streams;

use core::time::Duration;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;

use linerate_agent::{
    DatagramTap, Instant as AgentInstant, Progress, Service, SocketRequest, TappedService, echo,
    http, iperf2, iperf3, stamp,
};
use smoltcp::wire::Ipv4Address;

pub use self::blaster::{Blaster, Counts, LENGTHS, Reflection};
use self::datagrams::{NextDatagram, UdpSockets};
use self::streams::TcpConnections;
use crate::peer::tcp::Tcp;
use crate::time::{Instant, Span};

/// Delay before the next attempt when due data waits for queue space.
const BACKPRESSURE_DELAY: Span = Span::from_us(100);
/// Maximum number of consecutive turns of a program before the host continues with other work.
const MAX_TURNS: usize = 64;
/// Buffer for a raw frame: more than the longest, for programs that send oversize frames.
const FRAME_BUFFER: usize = 2_048;
/// The largest datagram that fits into a frame.
const MAX_DATAGRAM: usize = 1472;

/// A program of the host. The time of a [`Service`] is virtual time since power-on.
pub trait Program: Service + Any + Debug {
    /// Updates the program's state at `now`; true if it has finished. Called after each turn.
    fn poll_finished(&mut self, now: AgentInstant) -> bool;

    /// A raw frame arrived: one with the `EtherType` of [`linerate_agent::frame`], for this host or a group.
    fn frame(&mut self, _frame: &[u8], _now: AgentInstant) {}

    /// Writes the next raw frame that is due to the start of `room`; returns its length.
    fn next_frame(&mut self, _room: &mut [u8], _now: AgentInstant) -> Option<usize> {
        None
    }
}

impl<S: Program, E: DatagramTap + Any + Debug> Program for TappedService<S, E> {
    fn poll_finished(&mut self, now: AgentInstant) -> bool {
        self.service.poll_finished(now)
    }

    fn frame(&mut self, frame: &[u8], now: AgentInstant) {
        self.service.frame(frame, now);
    }

    fn next_frame(&mut self, room: &mut [u8], now: AgentInstant) -> Option<usize> {
        self.service.next_frame(room, now)
    }
}

impl Program for iperf2::Client {
    fn poll_finished(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl<const STREAMS: usize> Program for iperf3::Client<STREAMS> {
    fn poll_finished(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl Program for http::Client<'static> {
    fn poll_finished(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl<const SAMPLES: usize> Program for stamp::Sender<SAMPLES> {
    fn poll_finished(&mut self, now: AgentInstant) -> bool {
        self.is_done(now)
    }
}

/// Servers, which never finish.
macro_rules! servers {
    ($(<$(const $name:ident),*> $server:ty;)*) => {
        $(impl<$(const $name: usize),*> Program for $server {
            fn poll_finished(&mut self, _: AgentInstant) -> bool {
                false
            }
        })*
    };
}

servers! {
    <const FLOWS> iperf2::Server<FLOWS>;
    <const STREAMS> iperf3::Server<STREAMS>;
    <const CONNECTIONS> http::Server<CONNECTIONS>;
    <const SESSIONS, const WAITING, const OCTETS> stamp::Reflector<SESSIONS, WAITING, OCTETS>;
    <const WAITING, const OCTETS> echo::Echo<WAITING, OCTETS>;
}

/// Packets that a turn has to send.
#[derive(Debug, Default)]
pub(super) struct ProgramOutput {
    /// Destinations and UDP datagrams with their headers.
    pub datagrams: Vec<(Ipv4Address, Vec<u8>)>,
    pub frames: Vec<Vec<u8>>,
}

/// A running program and its sockets.
#[derive(Debug)]
struct RunningProgram {
    program: Box<dyn Program>,
    streams: TcpConnections,
    datagrams: UdpSockets,
    is_finished: bool,
    /// Time of its last turn, and true if that turn sent or received anything.
    polled_at: Instant,
    progressed: bool,
}

/// Identifies a started program; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(u64);

/// The concurrently running programs. No two of them should use the same port.
#[derive(Debug, Default)]
pub struct Programs {
    running: BTreeMap<Handle, RunningProgram>,
    started: u64,
    /// Sockets of stopped programs: connections to reset, ports to close.
    stopped: Vec<TcpConnections>,
}

impl Programs {
    /// Starts `program`.
    pub fn start(&mut self, program: Box<dyn Program>) -> Handle {
        self.started += 1;
        let handle = Handle(self.started);
        let running = RunningProgram {
            program,
            streams: TcpConnections::default(),
            datagrams: UdpSockets::default(),
            is_finished: false,
            polled_at: Instant::ZERO,
            progressed: true,
        };
        self.running.insert(handle, running);
        handle
    }

    /// True if the program has finished, or is not running. A finished program continues to run: its
    /// connections may still have data to exchange.
    #[must_use]
    pub fn is_finished(&self, handle: Handle) -> bool {
        self.running.get(&handle).is_none_or(|it| it.is_finished)
    }

    /// The program as type `P`; `None` if it has another type or was stopped.
    pub fn get_mut<P: Program>(&mut self, handle: Handle) -> Option<&mut P> {
        let program: &mut dyn Any = self.running.get_mut(&handle)?.program.as_mut();
        program.downcast_mut()
    }

    /// Stops the program and returns it as type `P`; its open connections are reset. If it has another
    /// type, returns `None` and leaves it running.
    pub fn stop<P: Program>(&mut self, handle: Handle) -> Option<Box<P>> {
        self.get_mut::<P>(handle)?;
        let running = self.running.remove(&handle)?;
        self.stopped.push(running.streams);
        let program: Box<dyn Any> = running.program;
        program.downcast().ok()
    }

    /// Next time [`Self::poll`] must be called if no frame arrives.
    pub(super) fn deadline(&self) -> Instant {
        if !self.stopped.is_empty() {
            return Instant::ZERO;
        }
        let deadlines = self.running.values().map(RunningProgram::deadline);
        deadlines.min().unwrap_or(Instant::NEVER)
    }

    /// A datagram arrived for `port`.
    pub(super) fn datagram(&mut self, port: u16, from: (Ipv4Address, u16), octets: &[u8]) {
        for running in self.running.values_mut() {
            running.datagrams.on_datagram(port, from, octets);
        }
    }

    /// A raw frame arrived.
    pub(super) fn frame(&mut self, frame: &[u8], now: Instant) {
        for running in self.running.values_mut() {
            running.program.frame(frame, to_agent_time(now));
            running.progressed = true;
        }
    }

    /// Runs the programs; they may send at most `room` frames.
    pub(super) fn poll(
        &mut self,
        tcp: &mut Tcp,
        own: Ipv4Address,
        room: usize,
        now: Instant,
    ) -> ProgramOutput {
        for mut streams in self.stopped.drain(..) {
            streams.reset(tcp);
        }
        let mut outgoing = ProgramOutput::default();
        for running in self.running.values_mut() {
            for _ in 0..MAX_TURNS {
                running.turn(tcp, own, room, &mut outgoing, now);
                if !running.progressed {
                    break;
                }
            }
        }
        outgoing
    }
}

impl RunningProgram {
    fn deadline(&self) -> Instant {
        if self.progressed {
            return self.polled_at;
        }
        let Some(due) = self.program.wake_at() else {
            return Instant::NEVER;
        };
        let due = to_virtual_time(due);
        // Already due at the last turn: it waits for queue space.
        if due <= self.polled_at {
            self.polled_at + BACKPRESSURE_DELAY
        } else {
            due
        }
    }

    fn turn(
        &mut self,
        tcp: &mut Tcp,
        own: Ipv4Address,
        room: usize,
        outgoing: &mut ProgramOutput,
        now: Instant,
    ) {
        self.polled_at = now;
        let at = to_agent_time(now);
        let mut progressed = self.handle_requests(tcp, now);
        let program = self.program.as_mut();
        progressed |= self.datagrams.receive(program, at);
        progressed |= self.streams.read(program, tcp, at);
        if outgoing.datagrams.len() + outgoing.frames.len() < room {
            let sending = self.datagrams.send(program, own, at);
            progressed |= !matches!(sending, NextDatagram::Idle);
            if let NextDatagram::Datagram(to, datagram) = sending {
                outgoing.datagrams.push((to, datagram));
            }
            if let Some(frame) = next_frame(program, at) {
                outgoing.frames.push(frame);
                progressed = true;
            }
        }
        progressed |= self.streams.write(program, tcp, at);
        progressed |= self.handle_requests(tcp, now);
        self.is_finished |= self.program.poll_finished(at);
        self.progressed = progressed;
    }

    fn handle_requests(&mut self, tcp: &mut Tcp, now: Instant) -> bool {
        let mut progressed = false;
        while let Some(ask) = self.program.next_request() {
            progressed = true;
            match ask {
                SocketRequest::Listen(port) => self.streams.listen(port, tcp),
                SocketRequest::Bind(socket, port) => self.datagrams.bind(socket, port),
                SocketRequest::Unbind(socket) => self.datagrams.unbind(socket),
                SocketRequest::Connect { to, token } => {
                    if self.streams.connect(to, token, tcp, now).is_none() {
                        self.program.failed(token, to_agent_time(now));
                    }
                }
            }
        }
        progressed
    }
}

fn next_frame(program: &mut dyn Program, at: AgentInstant) -> Option<Vec<u8>> {
    let mut room = [0; FRAME_BUFFER];
    let len = program.next_frame(&mut room, at)?;
    Some(room[..len.min(room.len())].to_vec())
}

/// Converts virtual time to a service's time.
fn to_agent_time(now: Instant) -> AgentInstant {
    AgentInstant::from_ns(now.as_ns())
}

/// Converts a service's time to virtual time.
fn to_virtual_time(at: AgentInstant) -> Instant {
    // A time this far away is treated as never.
    let most = Duration::from_hours(24 * 365).as_nanos() as u64;
    if at.ns() > most {
        Instant::NEVER
    } else {
        Instant::from_ns(at.ns())
    }
}
