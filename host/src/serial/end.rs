//! An end of the link layer on a port of this host.

use super::port::Port;
use super::silence::Heard;
use linerate_link::{Channel, Config, Event, Instant, Link, MAX_FRAGMENT};
use std::io;
use std::time::{Duration, Instant as Clock};

/// Channels: control and echoes, streams, datagrams.
pub const CHANNELS: usize = 3;
/// Channel of control messages and echoes.
pub const CONTROL: usize = 0;
/// Reliable channel of streams.
pub const STREAM: usize = 1;
/// Unreliable channel of datagrams.
pub const DATAGRAM: usize = 2;
/// Octets of memory of each, each way.
const MEMORY: [usize; CHANNELS] = [2_048, 16_384, 16_384];
/// Octets that wait for the port at most: an urgent message waits for them.
const CHUNK: usize = 1_024;

/// An end of the link layer on a port.
pub struct LinkEnd {
    port: Box<dyn Port>,
    /// The link.
    pub link: Link<Vec<u8>, CHANNELS>,
    /// Octets that were heard before the link came up.
    pub heard: Heard,
    started: Clock,
    out: Vec<u8>,
}

impl LinkEnd {
    /// An end with this session number, which must be new.
    #[must_use]
    pub fn new(port: Box<dyn Port>, session: u32) -> Self {
        let memory = |n: usize| vec![0; MEMORY[n]];
        let config = Config {
            max_fragment: MAX_FRAGMENT,
            // A host may be scheduled late.
            min_timeout_us: 20_000,
            ..Config::new(session.max(1))
        };
        let channels = [
            Channel::reliable(memory(CONTROL), memory(CONTROL)),
            Channel::reliable(memory(STREAM), memory(STREAM)),
            Channel::unreliable(memory(DATAGRAM), memory(DATAGRAM)),
        ];
        Self {
            port,
            link: Link::new(config, channels),
            heard: Heard::default(),
            started: Clock::now(),
            out: Vec::new(),
        }
    }

    /// A session number that is most likely new.
    #[must_use]
    pub fn new_session() -> u32 {
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed();
        let time = time.map_or(0, |time| time.as_nanos() as u64);
        let mixed = linerate_ether::random::mix(time ^ u64::from(std::process::id()) << 32);
        (mixed as u32).max(1)
    }

    /// The time on the clock of the link.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_us(self.started.elapsed().as_micros() as u32)
    }

    /// Sends what is due, waits for at most `timeout` until something arrives, and passes it to the link. Returns the
    /// number of octets that arrived.
    ///
    /// # Errors
    /// The port's.
    pub fn turn(&mut self, timeout: Duration) -> io::Result<usize> {
        self.flush()?;
        let until_timer = self.link.next_timeout().map(|at| {
            let us = at.us_since(self.now());
            // In the past, modulo 2^32.
            let is_over = us > u32::MAX / 2;
            Duration::from_micros(if is_over { 0 } else { us.into() })
        });
        let timeout = until_timer.map_or(timeout, |timer| timer.min(timeout));
        self.port.wait(!self.out.is_empty(), timeout)?;
        let mut octets = [0; 4096];
        let count = self.port.read(&mut octets)?;
        let octets = octets.get(..count).unwrap_or_default();
        if !self.link.is_up() {
            self.heard.add(octets);
        }
        let now = self.now();
        self.link.receive(now, octets);
        self.flush()?;
        Ok(count)
    }

    /// The link's next event.
    pub fn event(&mut self) -> Option<Event> {
        self.link.event()
    }

    fn flush(&mut self) -> io::Result<()> {
        loop {
            if self.out.is_empty() {
                let now = self.now();
                let mut chunk = [0; CHUNK];
                let count = self.link.transmit(now, &mut chunk);
                self.out.extend(chunk.get(..count).unwrap_or_default());
            }
            if self.out.is_empty() {
                return Ok(());
            }
            let count = self.port.write(&self.out)?;
            if count == 0 {
                return Ok(());
            }
            self.out.drain(..count);
        }
    }
}
