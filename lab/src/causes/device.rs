//! Emulates the load behaviour of a device with one processor: `cargo xtask causes-end device arrival=400 work=400`.
//!
//! It is an iperf 2 server for UDP. Each received frame occupies the processor for `arrival` microseconds, with
//! priority, and is dropped if `queue` frames are waiting. When no frame arrives, the next frame in the queue takes
//! `work` microseconds plus `octet` nanoseconds for each of its octets, and is delivered.

use super::programs::{PORT, TIMEOUT, Words};
use anyhow::Result;
use linerate_agent::{Instant, Limits, Service, SocketRequest, Udp, iperf2};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant as Clock};

/// Default limit of the queue, frames.
const QUEUE: u64 = 32;
/// Maximum time by which sleeping too long is compensated.
const MAKE_UP: Duration = Duration::from_millis(4);
/// Sleep when idle.
const IDLE: Duration = Duration::from_micros(200);
/// Maximum length of a datagram, octets.
const DATAGRAM: usize = 2_048;

/// A processor that does one task at a time.
struct Processor {
    free: Clock,
}

impl Processor {
    fn spend(&mut self, time: Duration) {
        let now = Clock::now();
        let earliest = now.checked_sub(MAKE_UP).unwrap_or(now);
        self.free = self.free.max(earliest) + time;
        sleep(self.free.saturating_duration_since(now));
    }
}

/// Runs until it is terminated or no datagram has arrived for [`TIMEOUT`].
pub(super) fn run(words: &Words) -> Result<()> {
    let (arrival, work) = (words.pause_us("arrival")?, words.pause_us("work")?);
    let octet_ns = words.number("octet")?;
    let room = words.number_or("queue", QUEUE)? as usize;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    socket.set_nonblocking(true)?;
    words.ready()?;
    let mut server = iperf2::Server::<2>::new(PORT, Limits::own_network());
    let mut number = Udp(0);
    let began = Clock::now();
    let now = || Instant::from_ns(began.elapsed().as_nanos() as u64);
    let mut processor = Processor { free: began };
    let mut queue = VecDeque::<(SocketAddr, Vec<u8>)>::new();
    let mut octets = [0; DATAGRAM];
    let mut last_arrival = began;
    while last_arrival.elapsed() < TIMEOUT {
        while let Some(ask) = server.next_request() {
            // TCP is not supported.
            if let SocketRequest::Bind(socket, _) = ask {
                number = socket;
            }
        }
        loop {
            match socket.recv_from(&mut octets) {
                Ok((length, from)) => {
                    last_arrival = Clock::now();
                    processor.spend(arrival);
                    if queue.len() < room {
                        queue.push_back((from, octets[..length].to_vec()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An ICMP error from an earlier client.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error.into()),
            }
        }
        let next = queue.pop_front();
        let is_idle = next.is_none();
        if let Some((from, datagram)) = next {
            processor.spend(work + Duration::from_nanos(octet_ns * datagram.len() as u64));
            server.datagram(number, from, &datagram, now());
        }
        while let Some(answer) = server.next_datagram(&mut octets, now()) {
            // A datagram that the socket does not accept is lost.
            let _ = socket.send_to(&octets[..answer.len], answer.to);
        }
        if is_idle {
            sleep(IDLE);
        }
    }
    Ok(())
}
