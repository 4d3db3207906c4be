//! smoltcp, the stack of the firmware, as the other end.

use std::collections::VecDeque;

use linerate_ether::fcs::Crc32;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant as SmolInstant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

use crate::peer::Station;
use crate::time::{Instant, Span};

/// Received frames and frames to send.
#[derive(Default)]
struct Queues {
    received: VecDeque<Vec<u8>>,
    to_send: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Send<'q>(&'q mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Send<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Queues {
    type RxToken<'q> = Received;
    type TxToken<'q> = Send<'q>;

    fn receive(&mut self, _: SmolInstant) -> Option<(Received, Send<'_>)> {
        let frame = self.received.pop_front()?;
        Some((Received(frame), Send(&mut self.to_send)))
    }

    fn transmit(&mut self, _: SmolInstant) -> Option<Send<'_>> {
        Some(Send(&mut self.to_send))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

/// A client that requests one file, or a server that answers with one.
pub struct Smol {
    queues: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    request: Vec<u8>,
    written: usize,
    serves: Option<Vec<u8>>,
    now: Instant,
    wake_at: Instant,
    pub body: Vec<u8>,
    pub head: Vec<u8>,
    pub finished_at: Option<Instant>,
}

fn smol(now: Instant) -> SmolInstant {
    SmolInstant::from_micros((now.as_ns() / 1000) as i64)
}

impl Smol {
    fn new(receive_buffer: usize) -> Self {
        let mut queues = Queues::default();
        let mut config = Config::new(EthernetAddress([2, 0, 0, 0, 0, 2]).into());
        config.random_seed = 1;
        let mut interface = Interface::new(config, &mut queues, SmolInstant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses
                .push(IpCidr::new(IpAddress::v4(169, 254, 10, 2), 16))
                .unwrap();
        });
        let buffer = |len| SocketBuffer::new(vec![0; len]);
        let mut sockets = SocketSet::new(vec![]);
        let handle = sockets.add(Socket::new(buffer(receive_buffer), buffer(4096)));
        Self {
            queues,
            interface,
            sockets,
            handle,
            request: Vec::new(),
            written: 0,
            serves: None,
            now: Instant::ZERO,
            wake_at: Instant::ZERO,
            body: Vec::new(),
            head: Vec::new(),
            finished_at: None,
        }
    }

    /// Fetches `/size` from the host with a receive buffer of `receive_buffer` octets.
    pub fn fetch(size: u64, receive_buffer: usize) -> Self {
        let mut station = Self::new(receive_buffer);
        let request = format!("GET /{size} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        station.request = request.into_bytes();
        let socket = station.sockets.get_mut::<Socket<'_>>(station.handle);
        socket
            .connect(
                station.interface.context(),
                (IpAddress::v4(169, 254, 10, 1), 80),
                49_152,
            )
            .unwrap();
        station
    }

    /// Uploads `body` to `/size` of the host.
    pub fn put(size: u64, body: &[u8]) -> Self {
        let mut station = Self::fetch(0, 4096);
        let length = body.len();
        station.request = format!(
            "PUT /{size} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        )
        .into_bytes();
        station.request.extend(body);
        station
    }

    /// Answers any request on port 80 with `body`.
    pub fn serve(body: Vec<u8>) -> Self {
        let mut station = Self::new(4096);
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend(body);
        station.serves = Some(answer);
        station
            .sockets
            .get_mut::<Socket<'_>>(station.handle)
            .listen(80)
            .unwrap();
        station
    }

    fn work(&mut self) {
        loop {
            self.interface
                .poll(smol(self.now), &mut self.queues, &mut self.sockets);
            if !self.use_socket() {
                break;
            }
        }
        let wake_at = self.interface.poll_at(smol(self.now), &self.sockets);
        self.wake_at = wake_at.map_or(Instant::NEVER, |at| {
            // Not now again: all work due now is done.
            let soonest = self.now + Span::from_us(10);
            soonest.max(Instant::from_ns(at.total_micros() as u64 * 1000))
        });
    }

    /// Reads and writes as far as possible; true if anything was done.
    fn use_socket(&mut self) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let mut busy = false;
        if let Some(answer) = &self.serves
            && socket.can_recv()
        {
            busy = true;
            self.request.clone_from(answer);
            socket.recv(|octets| (octets.len(), ())).unwrap();
        }
        if socket.can_send() && self.written < self.request.len() {
            let taken = socket.send_slice(&self.request[self.written..]).unwrap();
            self.written += taken;
            busy |= taken > 0;
            if self.serves.is_some() && self.written == self.request.len() {
                socket.close();
            }
        }
        if self.serves.is_none() {
            let mut body = Vec::new();
            while socket.can_recv() {
                busy = true;
                body.extend(
                    socket
                        .recv(|octets| (octets.len(), octets.to_vec()))
                        .unwrap(),
                );
            }
            let ended = self.written > 0 && !socket.may_recv() && socket.state() != State::SynSent;
            if ended && self.finished_at.is_none() {
                self.finished_at = Some(self.now);
                socket.close();
                busy = true;
            }
            self.take(&body);
        }
        busy
    }

    fn take(&mut self, octets: &[u8]) {
        if self.head.ends_with(b"\r\n\r\n") {
            self.body.extend(octets);
            return;
        }
        for (index, &octet) in octets.iter().enumerate() {
            self.head.push(octet);
            if self.head.ends_with(b"\r\n\r\n") {
                self.body.extend(&octets[index + 1..]);
                break;
            }
        }
    }

    pub fn crc32(&self) -> u32 {
        Crc32::new().update(&self.body).finish()
    }
}

impl Station for Smol {
    fn receive(&mut self, frame: &[u8], now: Instant) {
        self.now = now;
        self.queues.received.push_back(frame.to_vec());
        self.wake_at = now;
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.now = now;
        if self.queues.to_send.is_empty() {
            self.work();
        }
        self.queues.to_send.pop_front()
    }

    fn poll_timeout(&self) -> Instant {
        if self.queues.to_send.is_empty() {
            self.wake_at
        } else {
            Instant::ZERO
        }
    }
}
