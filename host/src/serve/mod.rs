//! Peer for a measuring device: servers for the protocols of devices, on the host's sockets.
//!
//! Each protocol runs on a separate thread, so that a busy one does not delay the others. No host keeps others out:
//! TCP connections are shared by `fair`, tests of iperf 3 by `sessions`, and slots of datagrams in
//! `linerate-agent`.

mod activity;
mod fair;
mod protocol;
mod sessions;
mod transfer;

pub use protocol::Protocol;
pub use transfer::{ServedTransfer, TransferDirection};

use crate::sockets::{Driver, DriverConfig, MAX_CONNECTIONS, SocketError};
use fair::{Depends, FairService};
pub use linerate_agent::Limits;
use linerate_agent::{echo, http, iperf2, stamp};
use sessions::Iperf3Sessions;
use std::net::IpAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum TCP connections of a protocol: the rest of a driver's 256 are for those that one turn of it accepts.
pub const MAX_CLIENTS: usize = 192;
/// Slots of HTTP connections.
const HTTP_SLOTS: usize = MAX_CONNECTIONS;
/// Slots of iperf 2 for TCP streams, and for UDP streams.
const IPERF2_SLOTS: usize = 127;
/// Maximum TCP connections of iperf 2: the other slots are for return tests that wait for theirs.
const MAX_IPERF2_CLIENTS: usize = 96;
/// Maximum sessions of STAMP.
const MAX_SESSIONS: usize = 64;
/// Maximum events that await the receiver.
const MAX_PENDING_EVENTS: usize = 1_000;
/// Maximum datagrams awaiting an answer: as many as the driver receives in a turn.
const MAX_PENDING_ANSWERS: usize = 256;
/// Maximum payload of an echo or STAMP packet: what fits in an Ethernet frame.
const MAX_DATAGRAM_OCTETS: usize = 1472;
/// Stack size of a protocol's thread: services contain all their memory and are moved on the stack.
const STACK_BYTES: usize = 16 << 20;
/// Timeout for a client that is silent in the middle of a request, or does not complete its head.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for a connection that a server requests.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which a server checks its stop condition.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Configuration of the servers.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Address to listen on: loopback for this machine only, or an address that others can reach.
    pub address: IpAddr,
    /// Protocols and their ports.
    pub protocols: Vec<(Protocol, u16)>,
    /// Maximum TCP connections of each protocol, up to [`MAX_CLIENTS`].
    pub clients: usize,
    /// Limits of the iperf servers for any client.
    pub limits: Limits,
}

/// Event of the servers.
#[derive(Debug)]
pub enum ServeEvent {
    /// A protocol is being served.
    Listening(Protocol, u16),
    /// A test or request has ended.
    Served(ServedTransfer),
    /// A protocol is not served, or no longer.
    Failed(Protocol, SocketError),
}

/// Serves until `stop` returns true, or until all protocols have failed. The receiver of the events decides
/// whether a failed protocol is a reason to stop. It must not wait for others: meanwhile, the servers wait for it.
pub fn serve(
    config: &ServeConfig,
    stop: &(dyn Fn() -> bool + Sync),
    mut on_event: impl FnMut(ServeEvent),
) {
    let (events, received) = sync_channel(MAX_PENDING_EVENTS);
    thread::scope(|scope| {
        for (protocol, port) in &config.protocols {
            let events = events.clone();
            let spawn_events = events.clone();
            let run = move || {
                if let Err(error) = serve_protocol(*protocol, *port, config, stop, &events) {
                    let _ = events.send(ServeEvent::Failed(*protocol, error));
                }
            };
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(error) = thread.spawn_scoped(scope, run) {
                let _ =
                    spawn_events.send(ServeEvent::Failed(*protocol, SocketError::Thread(error)));
            }
        }
        drop(events);
        for event in received {
            on_event(event);
        }
    });
}

fn serve_protocol(
    protocol: Protocol,
    port: u16,
    config: &ServeConfig,
    stop: &dyn Fn() -> bool,
    events: &SyncSender<ServeEvent>,
) -> Result<(), SocketError> {
    let thread = ServerThread {
        protocol,
        port,
        config,
        stop,
        events,
    };
    match protocol {
        Protocol::Iperf2 => {
            let server = iperf2::Server::<IPERF2_SLOTS>::new(port, config.limits);
            let clients = config.clients.min(MAX_IPERF2_CLIENTS);
            thread.run(server, clients, |server| {
                ServedTransfer::of_iperf2(server.take_finished())
            })
        }
        Protocol::Iperf3 => {
            let servers = Iperf3Sessions::new(port, config.limits);
            thread.run(servers, config.clients, |server| {
                ServedTransfer::of_iperf3(server.take_finished())
            })
        }
        Protocol::Http => {
            let server = http::Server::<HTTP_SLOTS>::new(port, REQUEST_TIMEOUT);
            thread.run(server, config.clients, |server| {
                ServedTransfer::of_http(server.take_finished())
            })
        }
        Protocol::Stamp => {
            // Timestamps serve round trips only: the accuracy of this machine's clock is unknown.
            let clock = stamp::Clock::free(Duration::from_micros(1));
            let reflector =
                stamp::Reflector::<MAX_SESSIONS, MAX_PENDING_ANSWERS, MAX_DATAGRAM_OCTETS>::new(
                    port, clock,
                );
            thread.run(reflector, 0, |_| Vec::new())
        }
        Protocol::Echo => thread.run(
            echo::Echo::<MAX_PENDING_ANSWERS, MAX_DATAGRAM_OCTETS>::new(port),
            0,
            |_| Vec::new(),
        ),
    }
}

struct ServerThread<'a> {
    protocol: Protocol,
    port: u16,
    config: &'a ServeConfig,
    stop: &'a dyn Fn() -> bool,
    events: &'a SyncSender<ServeEvent>,
}

impl ServerThread<'_> {
    fn run<S: Depends>(
        &self,
        service: S,
        clients: usize,
        mut take: impl FnMut(&mut S) -> Vec<ServedTransfer>,
    ) -> Result<(), SocketError> {
        let config = DriverConfig {
            address: self.config.address,
            connections: MAX_CONNECTIONS,
            connect_timeout: CONNECT_TIMEOUT,
            ..DriverConfig::default()
        };
        let service = FairService::new(service, clients.min(MAX_CLIENTS));
        let mut driver = Driver::new(service, config)?;
        let _ = self
            .events
            .send(ServeEvent::Listening(self.protocol, self.port));
        while !(self.stop)() {
            driver.turn(STOP_CHECK_INTERVAL)?;
            loop {
                let served = take(driver.service().service());
                if served.is_empty() {
                    break;
                }
                for one in served {
                    let _ = self.events.send(ServeEvent::Served(one));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
