//! A device with one processor, as far as a load on it shows: `cargo xtask causes-end device arrival=400 work=400`.
//!
//! It answers to iperf 2 over UDP. Each frame that arrives takes the processor for `arrival` microseconds before
//! anything else goes on, and is dropped where `queue` of them wait already. When nothing arrives, the next in the queue
//! takes `work` microseconds and `octet` nanoseconds for each of its octets, and is delivered.

use super::talk::{PATIENCE, PORT, Words};
use anyhow::Result;
use linerate_agent::{Instant, Limits, Service, SocketRequest, Udp, iperf2};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant as Clock};

/// Frames that wait, without a word on it.
const QUEUE: u64 = 32;
/// Sleeping is never exact: what was slept too long is made up for, this much.
const MAKE_UP: Duration = Duration::from_millis(4);
/// How long it sleeps when there is nothing to do.
const IDLE: Duration = Duration::from_micros(200);
/// The largest datagram.
const DATAGRAM: usize = 2_048;

/// A processor that does one thing after the other.
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

/// Runs until it is ended, or nobody has sent anything for long.
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
    let mut heard = began;
    while heard.elapsed() < PATIENCE {
        while let Some(ask) = server.next_request() {
            // TCP is not spoken here.
            if let SocketRequest::Bind(socket, _) = ask {
                number = socket;
            }
        }
        loop {
            match socket.recv_from(&mut octets) {
                Ok((length, from)) => {
                    heard = Clock::now();
                    processor.spend(arrival);
                    if queue.len() < room {
                        queue.push_back((from, octets[..length].to_vec()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Whoever was there before has gone.
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
            // A full socket is a loss like any other.
            let _ = socket.send_to(&octets[..answer.len], answer.to);
        }
        if is_idle {
            sleep(IDLE);
        }
    }
    Ok(())
}
