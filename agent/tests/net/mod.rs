//! Two services on a network in virtual time: TCP that splits data anywhere, UDP with loss, duplication and
//! reordering, all derived from a seed.

// Each test file uses a part of it.
#![allow(dead_code)]

use linerate_agent::{Close, Connection, Datagram, Instant, Opened, Service, SocketRequest, Udp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The addresses of the two ends.
pub const ENDS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
];

/// Faults of the network: of datagrams, in 1 / 1000 of them, and of connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub lost: u64,
    pub repeated: u64,
    pub late: u64,
    /// Interval in which nothing arrives on connections.
    pub stalled: Option<[Instant; 2]>,
}

/// Faults that occurred to datagrams from each end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    pub sent: u64,
    pub lost: u64,
    pub repeated: u64,
    pub late: u64,
}

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn happens(&mut self, in_a_thousand: u64) -> bool {
        self.below(1000) < in_a_thousand
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    octets: VecDeque<u8>,
    ended: bool,
    end_told: bool,
}

/// A datagram: source end and port, destination, content.
type Flight = (usize, u16, SocketAddr, Vec<u8>);

struct Link {
    /// Its numbers at both ends; the second end's is valid after it has accepted.
    numbers: [Connection; 2],
    /// From the first end, and from the second.
    pipes: [Pipe; 2],
}

/// The network and what is on it.
pub struct Net<A, B> {
    pub a: A,
    pub b: B,
    pub now: Instant,
    pub faults: Faults,
    pub done: [Done; 2],
    random: Random,
    listens: [BTreeSet<u16>; 2],
    /// UDP sockets by end and number: their ports.
    sockets: [BTreeMap<u8, u16>; 2],
    flying: BTreeMap<(Instant, u64), Flight>,
    links: Vec<Link>,
    next_connection: [u8; 2],
    next_port: u16,
    serial: u64,
    /// Consecutive wake-ups without anything to do.
    idle_wakes: u32,
}

impl<A: Service, B: Service> Net<A, B> {
    pub fn new(a: A, b: B, seed: u64, faults: Faults) -> Self {
        Self {
            a,
            b,
            now: Instant::from_ns(1),
            faults,
            done: [Done::default(); 2],
            random: Random(seed),
            listens: Default::default(),
            sockets: Default::default(),
            flying: BTreeMap::new(),
            links: Vec::new(),
            next_connection: [0; 2],
            next_port: 50_000,
            serial: 0,
            idle_wakes: 0,
        }
    }

    fn end(&mut self, end: usize) -> &mut dyn Service {
        if end == 0 { &mut self.a } else { &mut self.b }
    }

    /// Runs until `done` returns true, or for `at_most`; returns true if `done` did.
    pub fn run(&mut self, at_most: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now.after(at_most);
        while self.now < until {
            if done(self) {
                return true;
            }
            let mut moved = false;
            // The server first: it must listen before it is connected to.
            for end in [1, 0] {
                moved |= self.ask(end);
                moved |= self.send(end);
            }
            moved |= self.deliver();
            moved |= self.streams();
            if moved {
                self.idle_wakes = 0;
            } else {
                self.sleep(until);
            }
        }
        done(self)
    }

    fn sleep(&mut self, until: Instant) {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let wakes = [self.a.wake_at(), self.b.wake_at(), arrival];
        let resumed = self.stalled_until();
        let next = wakes.into_iter().chain([resumed]).flatten().min();
        let next = next.unwrap_or(until);
        if next <= self.now {
            self.idle_wakes += 1;
            assert!(self.idle_wakes < 100, "woken repeatedly without work");
        }
        let least = self.now.after(Duration::from_nanos(1));
        self.now = next.max(least).min(until);
    }

    /// If nothing arrives on connections now: until when.
    fn stalled_until(&self) -> Option<Instant> {
        let [from, until] = self.faults.stalled?;
        (from <= self.now && self.now < until).then_some(until)
    }

    fn ask(&mut self, end: usize) -> bool {
        let mut moved = false;
        while let Some(ask) = self.end(end).next_request() {
            moved = true;
            match ask {
                SocketRequest::Listen(port) => drop(self.listens[end].insert(port)),
                SocketRequest::Bind(Udp(number), port) => {
                    self.next_port += 1;
                    let port = port.unwrap_or(self.next_port);
                    self.sockets[end].insert(number, port);
                }
                SocketRequest::Unbind(Udp(number)) => drop(self.sockets[end].remove(&number)),
                SocketRequest::Connect { to, token } => self.connect(end, to, token),
            }
        }
        moved
    }

    fn connect(&mut self, end: usize, to: SocketAddr, token: u8) {
        let (now, other) = (self.now, 1 - end);
        self.next_port += 1;
        let from = SocketAddr::new(ENDS[end], self.next_port);
        let mut numbers = [Connection(0); 2];
        for (number, next) in numbers.iter_mut().zip(&mut self.next_connection) {
            *number = Connection(*next);
            *next = next.wrapping_add(1);
        }
        let accepted = Opened::Accepted {
            port: to.port(),
            from,
        };
        let there = to.ip() == ENDS[other] && self.listens[other].contains(&to.port());
        if !there
            || self
                .end(other)
                .opened(numbers[other], accepted, now)
                .is_err()
        {
            self.end(end).failed(token, now);
            return;
        }
        let connected = Opened::Connected { token };
        if self.end(end).opened(numbers[end], connected, now).is_err() {
            self.end(other).closed(numbers[other], now);
            return;
        }
        self.links.push(Link {
            numbers,
            pipes: Default::default(),
        });
    }

    fn send(&mut self, end: usize) -> bool {
        let mut room = [0; 2048];
        let now = self.now;
        let mut moved = false;
        for _ in 0..64 {
            let Some(Datagram { socket, to, len }) = self.end(end).next_datagram(&mut room, now)
            else {
                break;
            };
            moved = true;
            let from = self.sockets[end][&socket.0];
            self.done[end].sent += 1;
            if self.random.happens(self.faults.lost) {
                self.done[end].lost += 1;
                continue;
            }
            let mut delay = 50_000;
            if self.random.happens(self.faults.late) {
                self.done[end].late += 1;
                delay += 1_000_000 + self.random.below(20_000_000);
            }
            let times = 1 + u64::from(self.random.happens(self.faults.repeated));
            self.done[end].repeated += times - 1;
            for copy in 0..times {
                self.serial += 1;
                let at = now.after(Duration::from_nanos(delay + copy * 300_000));
                let octets = room[..len].to_vec();
                self.flying
                    .insert((at, self.serial), (end, from, to, octets));
            }
        }
        moved
    }

    fn deliver(&mut self) -> bool {
        let mut moved = false;
        while let Some(((at, serial), _)) = self.flying.first_key_value() {
            if *at > self.now {
                break;
            }
            let key = (*at, *serial);
            let Some((from_end, from, to, octets)) = self.flying.remove(&key) else {
                break;
            };
            moved = true;
            let (other, now) = (1 - from_end, self.now);
            let port = |(number, port): (&u8, &u16)| (*port == to.port()).then_some(Udp(*number));
            let socket = self.sockets[other].iter().find_map(port);
            if let Some(socket) = socket.filter(|_| to.ip() == ENDS[other]) {
                let from = SocketAddr::new(ENDS[from_end], from);
                self.end(other).datagram(socket, from, &octets, now);
            }
        }
        moved
    }

    fn streams(&mut self) -> bool {
        let mut moved = false;
        let mut links = std::mem::take(&mut self.links);
        for link in &mut links {
            for end in 0..2 {
                moved |= self.stream(link, end);
            }
        }
        let now = self.now;
        links.retain(|link| {
            let over = link.pipes.iter().all(|it| it.ended && it.end_told);
            if over {
                self.a.closed(link.numbers[0], now);
                self.b.closed(link.numbers[1], now);
                moved = true;
            }
            !over
        });
        links.append(&mut self.links);
        self.links = links;
        moved
    }

    /// Sends and receives on one end of a connection.
    fn stream(&mut self, link: &mut Link, end: usize) -> bool {
        let (number, now) = (link.numbers[end], self.now);
        let mut moved = false;
        if !link.pipes[end].ended {
            let mut room = [0; 1460];
            // At most a window's worth is in flight; sometimes there is space for one octet only.
            let most = if self.random.happens(100) { 1 } else { 1460 };
            if link.pipes[end].octets.len() < 20_000 {
                let len = self.end(end).fill(number, &mut room[..most], now);
                link.pipes[end].octets.extend(&room[..len]);
                moved |= len > 0;
            }
            match self.end(end).close(number) {
                Close::Keep => {}
                Close::Finish => {
                    link.pipes[end].ended = true;
                    moved = true;
                }
                Close::Reset => {
                    for pipe in &mut link.pipes {
                        pipe.octets.clear();
                        pipe.ended = true;
                        pipe.end_told = true;
                    }
                    return true;
                }
            }
        }
        let is_stalled = self.stalled_until().is_some();
        let pipe = &mut link.pipes[1 - end];
        if is_stalled {
            // It arrives later.
        } else if !pipe.octets.is_empty() {
            let len = 1 + self.random.below(3000).min(pipe.octets.len() as u64 - 1);
            let octets: Vec<u8> = pipe.octets.drain(..len as usize).collect();
            self.end(end).received(number, &octets, now);
            moved = true;
        } else if pipe.ended && !pipe.end_told {
            pipe.end_told = true;
            self.end(end).ended(number, now);
            moved = true;
        }
        // Sending takes time: about a gigabit.
        if moved {
            self.now = self.now.after(Duration::from_micros(12));
        }
        moved
    }
}
