//! The other end for a device that measures: servers of the protocols that devices speak, on this
//! machine's sockets.
//!
//! Each protocol has a thread of its own, so that a busy one does not hold up the others.

mod protocol;
mod served;

pub use protocol::Protocol;
pub use served::{Direction, Served};

use crate::sockets::{Driver, HostError, Settings};
pub use linerate_agent::Limits;
use linerate_agent::{Service, echo, http, iperf2, iperf3, stamp};
use std::net::IpAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Streams of iperf 2 over TCP, and as many over UDP; sessions of STAMP.
const MOST: usize = 64;
/// Connections of HTTP: as many as a driver has.
const CONNECTIONS: usize = 256;
/// Streams of a test of iperf 3, both ways together: as many as a client opens one way.
const STREAMS: usize = 128;
/// Datagrams that wait for an answer: as many as the driver takes in a turn.
const WAITING: usize = 256;
/// Octets of an echo, and of a STAMP packet: what an Ethernet frame holds.
const OCTETS: usize = 1472;
/// Of a protocol's thread: services have all their memory in themselves, and are moved to where they
/// stay.
const STACK: usize = 16 << 20;
/// How long a client may be silent in the middle of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What to serve and to whom.
#[derive(Debug, Clone)]
pub struct Order {
    /// Where to listen: loopback, for this machine only, or an address that others reach.
    pub address: IpAddr,
    /// Which protocols, at which ports.
    pub protocols: Vec<(Protocol, u16)>,
    /// TCP connections of each protocol.
    pub clients: usize,
    /// What iperf servers do for whoever asks.
    pub limits: Limits,
}

/// What goes on.
#[derive(Debug)]
pub enum Event {
    /// A protocol is served from now on.
    Listening(Protocol, u16),
    /// A test or request is over.
    Served(Served),
    /// A protocol is not served any more, or never was.
    Failed(Protocol, HostError),
}

/// Serves until `stop` says so, or until nothing is left to be served. Whoever listens to the events
/// decides whether a protocol that failed is reason to stop.
pub fn serve(order: &Order, stop: &(dyn Fn() -> bool + Sync), mut on_event: impl FnMut(Event)) {
    let (events, received) = channel();
    thread::scope(|scope| {
        for (protocol, port) in &order.protocols {
            let events = events.clone();
            let told = events.clone();
            let run = move || {
                if let Err(error) = one(*protocol, *port, order, stop, &events) {
                    let _ = events.send(Event::Failed(*protocol, error));
                }
            };
            let thread = thread::Builder::new().stack_size(STACK);
            if let Err(error) = thread.spawn_scoped(scope, run) {
                let _ = told.send(Event::Failed(*protocol, HostError::Thread(error)));
            }
        }
        drop(events);
        for event in received {
            on_event(event);
        }
    });
}

fn one(
    protocol: Protocol,
    port: u16,
    order: &Order,
    stop: &dyn Fn() -> bool,
    events: &Sender<Event>,
) -> Result<(), HostError> {
    let turns = Turns {
        protocol,
        port,
        order,
        stop,
        events,
    };
    match protocol {
        Protocol::Iperf2 => {
            let server = iperf2::Server::<MOST>::new(port, order.limits);
            turns.run(server, |server| Served::of_iperf2(server.take_finished()))
        }
        Protocol::Iperf3 => {
            let server = iperf3::Server::<STREAMS>::new(port, order.limits);
            turns.run(server, |server| Served::of_iperf3(server.take_finished()))
        }
        Protocol::Http => {
            let server = http::Server::<CONNECTIONS>::new(port, PATIENCE);
            turns.run(server, |server| Served::of_http(server.take_finished()))
        }
        Protocol::Stamp => {
            // Timestamps are for round trips: what this machine's clock is worth, nobody knows here.
            let clock = stamp::Clock::free(Duration::from_micros(1));
            let reflector = stamp::Reflector::<MOST, WAITING, OCTETS>::new(port, clock);
            turns.run(reflector, |_| Vec::new())
        }
        Protocol::Echo => turns.run(echo::Echo::<WAITING, OCTETS>::new(port), |_| Vec::new()),
    }
}

struct Turns<'a> {
    protocol: Protocol,
    port: u16,
    order: &'a Order,
    stop: &'a dyn Fn() -> bool,
    events: &'a Sender<Event>,
}

impl Turns<'_> {
    fn run<S: Service>(
        &self,
        service: S,
        mut take: impl FnMut(&mut S) -> Vec<Served>,
    ) -> Result<(), HostError> {
        let settings = Settings {
            address: self.order.address,
            connections: self.order.clients,
            ..Settings::default()
        };
        let mut driver = Driver::new(service, settings)?;
        let _ = self.events.send(Event::Listening(self.protocol, self.port));
        while !(self.stop)() {
            driver.turn(LOOK)?;
            loop {
                let served = take(driver.service());
                if served.is_empty() {
                    break;
                }
                for one in served {
                    let _ = self.events.send(Event::Served(one));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
