//! Programs that run on the host: any [`Service`] of `linerate-agent`, over the host's TCP and UDP and in
//! its time, and generators of raw frames.
//!
//! Whoever runs a simulation [starts](Programs::start) a program when the device is ready for it, lets
//! time pass until it [is over](Programs::is_over), and [takes it back](Programs::stop) as what it is to
//! look at what it found.

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
use self::datagrams::{Datagrams, Sending};
use self::streams::Streams;
use crate::peer::tcp::Tcp;
use crate::time::{Instant, Span};

/// How long is waited where all that is due waits for room.
const ROOMLESS: Span = Span::from_us(100);
/// Turns in a row, then the host does something else.
const TURNS: usize = 64;
/// More than the longest frame, for programs that send longer ones.
const ROOM: usize = 2_048;
/// The largest datagram that fits into a frame.
const DATAGRAM: usize = 1472;

/// A program of the host. The time of a [`Service`] is the simulation's, from power-on.
pub trait Program: Service + Any + Debug {
    /// Whether it has what it was started for; asked after each of its turns.
    fn is_over(&mut self, now: AgentInstant) -> bool;

    /// A raw frame came: one with the `EtherType` of [`linerate_agent::frame`], for this host or a group.
    fn frame(&mut self, _frame: &[u8], _now: AgentInstant) {}

    /// Writes the raw frame that is due to the start of `room`: its length.
    fn next_frame(&mut self, _room: &mut [u8], _now: AgentInstant) -> Option<usize> {
        None
    }
}

impl<S: Program, E: DatagramTap + Any + Debug> Program for TappedService<S, E> {
    fn is_over(&mut self, now: AgentInstant) -> bool {
        self.service.is_over(now)
    }

    fn frame(&mut self, frame: &[u8], now: AgentInstant) {
        self.service.frame(frame, now);
    }

    fn next_frame(&mut self, room: &mut [u8], now: AgentInstant) -> Option<usize> {
        self.service.next_frame(room, now)
    }
}

impl Program for iperf2::Client {
    fn is_over(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl<const STREAMS: usize> Program for iperf3::Client<STREAMS> {
    fn is_over(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl Program for http::Client<'static> {
    fn is_over(&mut self, now: AgentInstant) -> bool {
        self.progress(now) != Progress::Running
    }
}

impl<const SAMPLES: usize> Program for stamp::Sender<SAMPLES> {
    fn is_over(&mut self, now: AgentInstant) -> bool {
        self.is_done(now)
    }
}

/// Servers, which are never over.
macro_rules! servers {
    ($(<$(const $name:ident),*> $server:ty;)*) => {
        $(impl<$(const $name: usize),*> Program for $server {
            fn is_over(&mut self, _: AgentInstant) -> bool {
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

/// What a turn has to send.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// UDP datagrams with their headers.
    pub datagrams: Vec<(Ipv4Address, Vec<u8>)>,
    pub frames: Vec<Vec<u8>>,
}

/// The program that runs, and its sockets.
#[derive(Debug)]
struct Running {
    program: Box<dyn Program>,
    streams: Streams,
    datagrams: Datagrams,
    is_over: bool,
    /// When it was last asked for what is due; whether anything came or went with that.
    looked: Instant,
    moved: bool,
}

/// Names a program that was started; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(u64);

/// Where programs run, each beside the others. No two of them should want the same port.
#[derive(Debug, Default)]
pub struct Programs {
    running: BTreeMap<Handle, Running>,
    started: u64,
    /// Of programs that were stopped: connections to be reset, ports to be closed.
    stopped: Vec<Streams>,
}

impl Programs {
    /// Runs `program` from now on.
    pub fn start(&mut self, program: Box<dyn Program>) -> Handle {
        self.started += 1;
        let handle = Handle(self.started);
        let running = Running {
            program,
            streams: Streams::default(),
            datagrams: Datagrams::default(),
            is_over: false,
            looked: Instant::ZERO,
            moved: true,
        };
        self.running.insert(handle, running);
        handle
    }

    /// Whether the program has what it was started for. It runs on: its connections may still have
    /// something to do.
    #[must_use]
    pub fn is_over(&self, handle: Handle) -> bool {
        self.running.get(&handle).is_none_or(|it| it.is_over)
    }

    /// The program as what it is; `None` if it is no such one.
    pub fn get_mut<P: Program>(&mut self, handle: Handle) -> Option<&mut P> {
        let program: &mut dyn Any = self.running.get_mut(&handle)?.program.as_mut();
        program.downcast_mut()
    }

    /// Stops the program and gives it back as what it is; what is left of its connections is reset. `None`
    /// and it runs on if it is no such one.
    pub fn stop<P: Program>(&mut self, handle: Handle) -> Option<Box<P>> {
        self.get_mut::<P>(handle)?;
        let running = self.running.remove(&handle)?;
        self.stopped.push(running.streams);
        let program: Box<dyn Any> = running.program;
        program.downcast().ok()
    }

    /// When there is something to do without a frame received.
    pub(super) fn deadline(&self) -> Instant {
        if !self.stopped.is_empty() {
            return Instant::ZERO;
        }
        let deadlines = self.running.values().map(Running::deadline);
        deadlines.min().unwrap_or(Instant::NEVER)
    }

    /// A datagram came for `port`.
    pub(super) fn datagram(&mut self, port: u16, from: (Ipv4Address, u16), octets: &[u8]) {
        for running in self.running.values_mut() {
            running.datagrams.arrived(port, from, octets);
        }
    }

    /// A raw frame came.
    pub(super) fn frame(&mut self, frame: &[u8], now: Instant) {
        for running in self.running.values_mut() {
            running.program.frame(frame, agent_time(now));
            running.moved = true;
        }
    }

    /// Does what can be done, with at most `room` frames to send.
    pub(super) fn poll(
        &mut self,
        tcp: &mut Tcp,
        own: Ipv4Address,
        room: usize,
        now: Instant,
    ) -> Outgoing {
        for mut streams in self.stopped.drain(..) {
            streams.reset(tcp);
        }
        let mut outgoing = Outgoing::default();
        for running in self.running.values_mut() {
            for _ in 0..TURNS {
                running.turn(tcp, own, room, &mut outgoing, now);
                if !running.moved {
                    break;
                }
            }
        }
        outgoing
    }
}

impl Running {
    fn deadline(&self) -> Instant {
        if self.moved {
            return self.looked;
        }
        let Some(due) = self.program.wake_at() else {
            return Instant::NEVER;
        };
        let due = virtual_time(due);
        // It had its chance: it waits for room.
        if due <= self.looked {
            self.looked + ROOMLESS
        } else {
            due
        }
    }

    fn turn(
        &mut self,
        tcp: &mut Tcp,
        own: Ipv4Address,
        room: usize,
        outgoing: &mut Outgoing,
        now: Instant,
    ) {
        self.looked = now;
        let at = agent_time(now);
        let mut moved = self.do_asked(tcp, now);
        let program = self.program.as_mut();
        moved |= self.datagrams.receive(program, at);
        moved |= self.streams.read(program, tcp, at);
        if outgoing.datagrams.len() + outgoing.frames.len() < room {
            let sending = self.datagrams.send(program, own, at);
            moved |= !matches!(sending, Sending::Nothing);
            if let Sending::Datagram(to, datagram) = sending {
                outgoing.datagrams.push((to, datagram));
            }
            if let Some(frame) = next_frame(program, at) {
                outgoing.frames.push(frame);
                moved = true;
            }
        }
        moved |= self.streams.write(program, tcp, at);
        moved |= self.do_asked(tcp, now);
        self.is_over |= self.program.is_over(at);
        self.moved = moved;
    }

    fn do_asked(&mut self, tcp: &mut Tcp, now: Instant) -> bool {
        let mut moved = false;
        while let Some(ask) = self.program.next_request() {
            moved = true;
            match ask {
                SocketRequest::Listen(port) => self.streams.listen(port, tcp),
                SocketRequest::Bind(socket, port) => self.datagrams.bind(socket, port),
                SocketRequest::Unbind(socket) => self.datagrams.unbind(socket),
                SocketRequest::Connect { to, token } => {
                    if self.streams.connect(to, token, tcp, now).is_none() {
                        self.program.failed(token, agent_time(now));
                    }
                }
            }
        }
        moved
    }
}

fn next_frame(program: &mut dyn Program, at: AgentInstant) -> Option<Vec<u8>> {
    let mut room = [0; ROOM];
    let len = program.next_frame(&mut room, at)?;
    Some(room[..len.min(room.len())].to_vec())
}

/// A service's form of a time.
fn agent_time(now: Instant) -> AgentInstant {
    AgentInstant::from_ns(now.as_ns())
}

/// The simulation's form of a service's time.
fn virtual_time(at: AgentInstant) -> Instant {
    // What is so far away never comes.
    let most = Duration::from_hours(24 * 365).as_nanos() as u64;
    if at.ns() > most {
        Instant::NEVER
    } else {
        Instant::from_ns(at.ns())
    }
}
