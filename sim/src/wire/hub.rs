//! Traffic of the further stations on a hub.
//!
//! The hub itself, a repeater of IEEE 802.3 clause 9, is part of the link: a transmission of one station
//! reaches all others, and simultaneous transmissions become a jam for all.

use super::config::Hub;
use super::mac::Transmitter;
use crate::peer::{Outgoing, TxOptions, generator};
use crate::random::Random;
use crate::time::{Instant, Span};

/// Delay from one station's port to another's through the hub, without the cables: start of packet
/// propagation delay (clause 9.5.5, at most 8 bit times plus the delay of its transceivers).
pub const REPEATER_DELAY: Span = Span::from_ns(800);
/// Frames that a saturated station keeps queued.
const SATURATED_QUEUE_FRAMES: usize = 2;

/// A further station on the hub.
#[derive(Debug)]
pub struct HubStation {
    /// Its MAC.
    pub transmitter: Transmitter,
    source: FrameSource,
}

/// Source of a station's frames.
#[derive(Debug)]
struct FrameSource {
    hub: Hub,
    station: u8,
    /// Mean interval of frames; `None` if the station always has a frame to send.
    interval: Option<Span>,
    next_at: Instant,
    number: u32,
    random: Random,
}

impl HubStation {
    /// Station number `station`, from 1 on, with its MAC `transmitter`.
    #[must_use]
    pub fn new(hub: Hub, station: u8, transmitter: Transmitter, mut random: Random) -> Self {
        let each = hub.offered_load.clamp(0.0, 1.0) / f64::from(hub.stations.max(1));
        let octets = usize::from(hub.frame_octets.clamp(64, 1518));
        let air_ns = linerate_ether::phy10::frame_time_ns(octets) as f64;
        let interval = (hub.offered_load < 1.0).then(|| Span::from_ns((air_ns / each) as u64));
        let first = interval.map_or(0, |interval| random.below(interval.ticks()));
        let silent = hub.offered_load.is_nan() || hub.offered_load <= 0.0;
        Self {
            transmitter,
            source: FrameSource {
                hub,
                station,
                interval,
                next_at: if silent {
                    Instant::NEVER
                } else {
                    Instant::from_ticks(first)
                },
                number: 0,
                random,
            },
        }
    }

    /// Time of its next frame; never while its MAC's queue is full.
    #[must_use]
    pub fn ready_at(&self) -> Instant {
        let full = match self.source.interval {
            None => self.transmitter.queued() >= SATURATED_QUEUE_FRAMES,
            Some(_) => !self.transmitter.has_queue_space(),
        };
        if full {
            Instant::NEVER
        } else {
            self.source.next_at
        }
    }

    /// Hands the MAC the frames that are ready at `now`.
    pub fn fill(&mut self, now: Instant) {
        while self.ready_at() <= now {
            let frame = self.source.frame();
            self.transmitter.queue(&frame);
        }
    }
}

impl FrameSource {
    fn frame(&mut self) -> Outgoing {
        if let Some(interval) = self.interval {
            // Uniform up to twice the mean.
            self.next_at += Span::from_ticks(self.random.below(2 * interval.ticks()));
        }
        let body = usize::from(self.hub.frame_octets.clamp(64, 1518)) - linerate_ether::fcs::LEN;
        let to = generator::address(self.hub.destination);
        let octets = generator::frame(self.number, to, station_address(self.station), false, body);
        self.number = self.number.wrapping_add(1);
        Outgoing {
            octets,
            options: TxOptions::STANDARD,
        }
    }
}

/// Address of station number `station`.
#[must_use]
const fn station_address(station: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, station]
}
