//! Downloads known bytes from the peer, several sizes, several times each, and says how fast.

#![no_std]
#![no_main]

use core::fmt::Write as _;

use esp32c6_bitbang::{
    config, console, event,
    http::Head,
    info,
    net::{self, Network},
    stage,
};
use linerate_ether::fcs::{Crc32, SLICING_8, Tables};
use smoltcp::{
    iface::SocketHandle,
    socket::tcp,
    time::{Duration, Instant},
};
use static_cell::StaticCell;

/// Without a byte for so long, a request is given up: longer than any retransmission's delay.
const STALLED: Duration = Duration::from_secs(130);
/// How long the peer may take to close its side.
const CLOSING: Duration = Duration::from_secs(1);
const TX_BUFFER: usize = 2048;

/// Why a request failed.
#[derive(Debug, Clone, Copy)]
enum Failure {
    Refused,
    Stalled,
    Protocol,
    Incomplete,
}

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("http_get");
    static RX: StaticCell<[u8; stage::TCP_WINDOW]> = StaticCell::new();
    static TX: StaticCell<[u8; TX_BUFFER]> = StaticCell::new();
    let socket = tcp::Socket::new(
        tcp::SocketBuffer::new(&mut RX.init([0; stage::TCP_WINDOW])[..]),
        tcp::SocketBuffer::new(&mut TX.init([0; TX_BUFFER])[..]),
    );
    let handle = network.sockets.add(socket);

    for (bytes, times) in config::sizes() {
        info!("=== Issuing {times} HTTP GET requests for /{bytes}");
        for _ in 0..times {
            if let Err(failure) = get(&mut network, handle, bytes) {
                info!("Request failed: {failure:?}");
                event!("error", "\"what\":\"get /{bytes}: {failure:?}\"");
            }
            close(&mut network, handle);
        }
        net::report_counters();
        info!("");
    }
    console::done()
}

/// A response as it arrives.
struct Response {
    head: Head,
    head_complete: bool,
    expected: Option<u64>,
    body: u64,
    crc: Crc32<'static, Tables<8>>,
}

impl Response {
    fn new() -> Self {
        Self {
            head: Head::new(),
            head_complete: false,
            expected: None,
            body: 0,
            crc: Crc32::with(&SLICING_8),
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        if !self.head_complete {
            let (used, complete) = self.head.push(bytes).map_err(|_| Failure::Protocol)?;
            if complete {
                let (status, length) = self.head.response().map_err(|_| Failure::Protocol)?;
                if status != 200 {
                    return Err(Failure::Protocol);
                }
                self.head_complete = true;
                self.expected = length;
            }
            bytes = &bytes[used..];
        }
        self.crc.update(bytes);
        self.body += bytes.len() as u64;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.head_complete && self.expected == Some(self.body)
    }
}

/// Requests so many bytes and reports how it went.
fn get(network: &mut Network, handle: SocketHandle, bytes: u64) -> Result<(), Failure> {
    let local_port = network.local_port();
    let start = net::now();
    network
        .sockets
        .get_mut::<tcp::Socket>(handle)
        .connect(
            network.iface.context(),
            (config::peer(), config::HTTP_PORT),
            local_port,
        )
        .map_err(|_| Failure::Refused)?;

    let mut response = Response::new();
    let mut requested = false;
    let mut heard_at = start;
    while !response.is_complete() {
        network.poll();
        let socket = network.sockets.get_mut::<tcp::Socket>(handle);
        if !requested && socket.may_send() {
            request(socket, bytes);
            requested = true;
        }
        if socket.can_recv() {
            heard_at = net::now();
            // As long as there is something: the buffer may wrap.
            while socket.can_recv() {
                socket
                    .recv(|data| (data.len(), response.take(data)))
                    .map_err(|_| Failure::Incomplete)??;
            }
        } else if !socket.is_open() {
            return Err(if requested {
                Failure::Incomplete
            } else {
                Failure::Refused
            });
        } else if requested && !socket.may_recv() {
            // Closed in order: complete if its length was not announced.
            if response.expected.is_some() || !response.head_complete {
                return Err(Failure::Incomplete);
            }
            break;
        } else if net::now() > heard_at + STALLED {
            return Err(Failure::Stalled);
        } else {
            network.idle();
        }
    }
    report(bytes, &response, start, net::now());
    Ok(())
}

fn request(socket: &mut tcp::Socket, bytes: u64) {
    let mut text = Line::default();
    // Both fit: the buffers are sized for it.
    let _ = write!(
        text,
        "GET /{bytes} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        config::peer()
    );
    let _ = socket.send_slice(text.as_bytes());
}

fn report(bytes: u64, response: &Response, start: Instant, end: Instant) {
    let took = (end - start).total_micros();
    let (body, crc) = (response.body, response.crc.finish());
    event!(
        "get",
        "\"path\":\"/{bytes}\",\"body_bytes\":{body},\"crc32\":{crc},\"duration_us\":{took}"
    );
    // kB/s with one decimal: bytes per 100 us.
    let rate = body * 10_000 / took.max(1);
    info!(
        "Received {body} bytes over {}.{:03} s ({}.{} kB/sec) with CRC32 {crc}",
        took / 1_000_000,
        took / 1000 % 1000,
        rate / 10,
        rate % 10,
    );
}

/// Ends the connection: the peer closes first, as asked; if it does not, we do.
fn close(network: &mut Network, handle: SocketHandle) {
    let deadline = net::now() + CLOSING;
    let mut closed = false;
    loop {
        network.poll();
        let socket = network.sockets.get_mut::<tcp::Socket>(handle);
        let late = net::now() > deadline;
        if !socket.is_open() {
            return;
        } else if !closed && (late || !socket.may_recv()) {
            socket.close();
            closed = true;
        } else if socket.state() == tcp::State::TimeWait || net::now() > deadline + CLOSING {
            socket.abort();
        } else {
            network.idle();
        }
    }
}

/// A short text.
#[derive(Default)]
struct Line {
    bytes: [[u8; 32]; 4],
    len: usize,
}

impl Line {
    fn as_bytes(&self) -> &[u8] {
        &self.bytes.as_flattened()[..self.len]
    }
}

impl core::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.as_flattened_mut();
        let end = self.len + text.len();
        room.get_mut(self.len..end)
            .ok_or(core::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
