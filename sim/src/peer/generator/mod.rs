//! A peer that sends frames of a given kind at a given rate and answers nothing.

pub mod config;

use linerate_ether::pattern;
use linerate_ether::phy10::INTER_PACKET_GAP_NS;

pub use config::{Config, ConfigError};

use super::conformance::{self, Step};
use super::outgoing::{Framing, Outgoing, TxOptions};
use super::{Peer, Report, Station};
use crate::time::{Instant, Span};
use crate::wire::config::Destination;

/// The device's address, as set by the board's firmware.
pub const DEVICE: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// The generator's own address.
pub const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0x10];
/// Address of another station.
pub const FOREIGN: [u8; 6] = [2, 0, 0, 0, 0, 0x11];
/// A group that nobody has joined, from the documentation addresses (RFC 7042 section 2.1.2).
pub const GROUP: [u8; 6] = [0x01, 0x00, 0x5E, 0x90, 0x10, 0x01];
/// `EtherType` for local experiments (IEEE 802, Local Experimental 1).
pub const ETHERTYPE: [u8; 2] = [0x88, 0xB5];
/// Octets of preamble and SFD.
const PREAMBLE: u64 = 8;
/// Factor on the frame time that is faster than the fastest clock, 100 ppm.
const SATURATED_RATIO: f64 = 1.0 - 2e-4;
const BIT_NS: u64 = linerate_ether::phy10::BIT_NS;
/// Interval of the settling frames: as rare as those of a host that nobody answers yet.
const SETTLING_MS: u64 = 20;
/// Octets of a settling frame: as short as a host's requests.
const SETTLING_OCTETS: usize = 64;

/// Destination address of a frame for `destination`.
#[must_use]
pub const fn address(destination: Destination) -> [u8; 6] {
    match destination {
        Destination::Device => DEVICE,
        Destination::Foreign => FOREIGN,
        Destination::Broadcast => [0xFF; 6],
        Destination::Multicast => GROUP,
    }
}

/// The generator. After the header its frames carry their number as four octets in network byte
/// order, then [`pattern`] octets that begin at that number times 7.
#[derive(Debug, Clone)]
pub struct Generator {
    steps: Vec<Step>,
    from: Instant,
    until: Instant,
    frames_left: u64,
    /// Number of broadcasts sent first, before `from` if there is time.
    settling: u64,
    /// Ratio of the frame period to the time of frame and gap on the wire; slightly less than 1 for
    /// back-to-back frames, so that one is always ready, but none long before its time.
    period_ratio: f64,
    babble: Span,
    next_at: Instant,
    number: u32,
}

impl Generator {
    /// A generator configured by `config`. Values out of range are clamped; an unknown case sends
    /// nothing.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let octets = config.frame_octets.clamp(64, 1518);
        let case = config.case.as_deref().and_then(conformance::case);
        let settling = case.map_or(0, |case| case.settling_frames);
        let steps = match &config.case {
            Some(_) => case.map_or(&[][..], |case| case.steps),
            None => &[Step {
                octets: usize::from(octets),
                tagged: false,
                destination: config.destination,
                options: TxOptions {
                    gap: Some(Span::from_ns(
                        u64::from(config.gap_bits.clamp(10, 1_000_000)) * BIT_NS,
                    )),
                    ..TxOptions::STANDARD
                },
                expect: conformance::Expect::Received,
            }],
        };
        let load = if config.load >= 0.0 { config.load } else { 0.0 };
        let saturated = config.case.is_some() || load >= 1.0;
        let from = Instant::ZERO + Span::from_ms(config.from_ms);
        let silent = steps.is_empty() || load == 0.0;
        Self {
            steps: steps.to_vec(),
            from,
            until: if config.for_ms == 0 {
                Instant::NEVER
            } else {
                from + Span::from_ms(config.for_ms)
            },
            frames_left: match config.frames {
                _ if silent => 0,
                0 => u64::MAX,
                frames => frames,
            },
            settling,
            period_ratio: if saturated {
                SATURATED_RATIO
            } else {
                1.0 / load
            },
            babble: Span::from_ms(config.babble_ms.min(1000)),
            next_at: Instant::ZERO
                + Span::from_ms(config.from_ms.saturating_sub(settling * SETTLING_MS)),
            number: 0,
        }
    }

    /// Number of frames handed out so far.
    #[must_use]
    pub const fn sent(&self) -> u32 {
        self.number
    }

    /// The next settling frame.
    fn settling_frame(&mut self) -> Outgoing {
        let to = address(Destination::Broadcast);
        let octets = frame(self.number, to, OWN, false, SETTLING_OCTETS - 4);
        self.number += 1;
        self.next_at += Span::from_ms(SETTLING_MS);
        if u64::from(self.number) == self.settling {
            self.next_at = self.next_at.max(self.from);
        }
        Outgoing {
            octets,
            options: TxOptions::STANDARD,
        }
    }

    fn next_outgoing(&mut self) -> Outgoing {
        if u64::from(self.number) < self.settling {
            return self.settling_frame();
        }
        let index = self.number as usize % self.steps.len();
        let step = self.steps[index];
        let gap = step
            .options
            .gap
            .unwrap_or(Span::from_ns(INTER_PACKET_GAP_NS));
        let sending = Span::from_ns((step.octets as u64 + PREAMBLE) * 8 * BIT_NS);
        let took = self.babble.max(sending) + gap;
        let period = Span::from_ticks((took.ticks() as f64 * self.period_ratio) as u64);
        self.next_at = self.next_at.max(self.from) + period;
        let mut options = step.options;
        options.tag = index as u32;
        let number = self.number;
        let to = address(step.destination);
        self.number = self.number.wrapping_add(1);
        if self.babble > Span::ZERO {
            options.framing = Framing::Raw;
            let octets = self.babble.as_ns() / (8 * BIT_NS);
            return Outgoing {
                octets: frame(number, to, OWN, false, octets as usize),
                options,
            };
        }
        let fcs = if options.framing == Framing::Raw {
            0
        } else {
            4
        };
        let body = step.octets.saturating_sub(fcs);
        Outgoing {
            octets: frame(number, to, OWN, step.tagged, body),
            options,
        }
    }
}

/// Frame `number`, `len` octets without FCS: after the header its number, then the pattern described
/// at [`Generator`].
#[must_use]
pub fn frame(
    number: u32,
    destination: [u8; 6],
    source: [u8; 6],
    tagged: bool,
    len: usize,
) -> Vec<u8> {
    let mut octets = [destination, source].concat();
    if tagged {
        // Priority 0, VLAN 1.
        octets.extend([0x81, 0x00, 0x00, 0x01]);
    }
    octets.extend(ETHERTYPE);
    octets.extend(number.to_be_bytes());
    let header = octets.len();
    octets.resize(len.max(header), 0);
    pattern::fill(u64::from(number) * 7, &mut octets[header..]);
    octets.truncate(len);
    octets
}

impl Station for Generator {
    fn receive(&mut self, _frame: &[u8], _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.poll_outgoing(now).map(|outgoing| outgoing.octets)
    }

    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        if self.poll_timeout() > now {
            return None;
        }
        if now >= self.until {
            // Frames that the medium delayed past the end are not sent.
            self.frames_left = 0;
            return None;
        }
        self.frames_left = self.frames_left.saturating_sub(1);
        Some(self.next_outgoing())
    }

    fn poll_timeout(&self) -> Instant {
        if self.frames_left == 0 || self.next_at >= self.until {
            Instant::NEVER
        } else {
            self.next_at
        }
    }
}

impl Peer for Generator {
    fn report(&self) -> Report {
        Report::default()
    }
}
