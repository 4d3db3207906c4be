//! A host that sends UDP datagrams at a rate, as `iperf -u -b` does.

use linerate_ether::checksum::{UDP, checksum, transport_checksum};

use crate::device::LinkMode;
use crate::peer::Station;
use crate::random::Random;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Octets of Ethernet, IPv4 and UDP headers before the payload.
const HEADERS: usize = 14 + 20 + 8;
/// Octets of a frame on the line besides headers and payload: FCS, preamble, gap.
const LINE_OVERHEAD: u64 = 4 + 8 + 12;
/// First words of a datagram: its number, seconds and microseconds of its time.
const IPERF_HEADER: usize = 12;
/// Mean lengths of bursts are in these parts.
const PARTS: u64 = 1000;

/// Traffic of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// Payload in bit/s.
    pub bits_per_s: u64,
    /// Payload of a datagram in octets.
    pub payload: usize,
    /// Mean number of datagrams that are sent back to back, in thousandths. The numbers have a geometric
    /// distribution.
    pub burst_millis: u64,
    /// Seed of the bursts.
    pub seed: u64,
    /// Destination, then source: MAC address, IPv4 address, port.
    pub ends: [([u8; 6], [u8; 4], u16); 2],
}

/// The host.
#[derive(Debug)]
pub struct DatagramSource {
    config: SourceConfig,
    random: Random,
    template: Vec<u8>,
    /// Number of the next datagram.
    number: u32,
    /// Datagrams left of this burst.
    left: u64,
    /// When the next one is ready, and when the next burst is planned.
    next: Instant,
    planned: Instant,
}

impl DatagramSource {
    /// A host that begins at `start`.
    pub fn new(config: SourceConfig, start: Instant) -> Self {
        let mut this = Self {
            config,
            random: Random::new(config.seed),
            template: template(&config),
            number: 0,
            left: 0,
            next: start,
            planned: start,
        };
        this.left = this.draw();
        this
    }

    /// Datagrams handed to the network so far.
    pub const fn sent(&self) -> u32 {
        self.number
    }

    /// Length of a burst.
    fn draw(&mut self) -> u64 {
        let mut length = 1;
        let mean = self.config.burst_millis.max(PARTS);
        // Each further datagram has the probability 1 - 1/mean.
        while self.random.below(mean) >= PARTS {
            length += 1;
        }
        length
    }

    fn bits(&self) -> u64 {
        8 * self.config.payload as u64
    }
}

impl Station for DatagramSource {
    fn receive(&mut self, _: &[u8], _: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.next > now {
            return None;
        }
        let mut frame = self.template.clone();
        let micros = now.as_ns() / 1000;
        let words = [
            self.number,
            (micros / 1_000_000) as u32,
            (micros % 1_000_000) as u32,
        ];
        for (index, word) in words.into_iter().enumerate() {
            let at = HEADERS + 4 * index;
            frame[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let (from, to) = (self.config.ends[1].1, self.config.ends[0].1);
        if let Some(sum) = transport_checksum(from, to, UDP, &frame[HEADERS - 8..]) {
            frame[HEADERS - 2..HEADERS].copy_from_slice(&sum.to_be_bytes());
        }
        self.number += 1;
        self.left -= 1;
        let on_line = LinkMode::GIGABIT.duration(frame.len() as u64 + LINE_OVERHEAD);
        // Each datagram moves the plan by its share of the rate.
        let ticks = u128::from(self.bits()) * u128::from(TICKS_PER_SECOND);
        self.planned += Span::from_ticks((ticks / u128::from(self.config.bits_per_s)) as u64);
        self.next = now + on_line;
        if self.left == 0 {
            self.left = self.draw();
            self.next = self.next.max(self.planned);
        }
        Some(frame)
    }

    fn poll_timeout(&self) -> Instant {
        self.next
    }
}

/// A frame with everything that does not change.
fn template(config: &SourceConfig) -> Vec<u8> {
    let [(to_mac, to, to_port), (from_mac, from, from_port)] = config.ends;
    let payload = config.payload.max(IPERF_HEADER);
    let mut frame = Vec::with_capacity(HEADERS + payload);
    frame.extend(to_mac);
    frame.extend(from_mac);
    frame.extend([0x08, 0x00]);
    let mut ip = [0; 20];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((28 + payload) as u16).to_be_bytes());
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = UDP;
    ip[12..16].copy_from_slice(&from);
    ip[16..20].copy_from_slice(&to);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend(from_port.to_be_bytes());
    frame.extend(to_port.to_be_bytes());
    frame.extend(((8 + payload) as u16).to_be_bytes());
    frame.extend([0, 0]);
    // The digits that iperf fills its buffer with.
    frame.extend((0..payload).map(|index| b'0' + (index % 10) as u8));
    frame
}
