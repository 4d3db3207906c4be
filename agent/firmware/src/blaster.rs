//! A generator of raw frames that knows no stack: what driver, MAC and line do by themselves.

use crate::console::event;
use core::fmt::Write;
use linerate_agent::Instant;
use linerate_agent::frame::{Blast, Fill, LONGEST, Plan, SHORTEST, renumber};
use linerate_ether::frame::MacAddress;
use linerate_nic::device::{Device, TxToken as _};

/// Which stream the frames are of.
pub const STREAM: u8 = 0;
/// What stands behind each frame's head. The same in all, so that one is made of the last.
const FILL: Fill = Fill::Octet(0x55);
/// Frames in a row, then what came has its turn.
const TURN: usize = 64;

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// How many frames.
    pub frames: u64,
    /// Octets of each, without FCS: 60 to 1514.
    pub octets: u16,
    /// To whom.
    pub to: MacAddress,
}

impl Order {
    /// Reads `FRAMES LENGTH [ADDRESS]`; without an address they go to all.
    pub(crate) fn parse(frames: &str, octets: &str, to: Option<&str>) -> Option<Self> {
        Some(Self {
            frames: frames.parse().ok()?,
            octets: octets
                .parse()
                .ok()
                .filter(|it| (SHORTEST..=LONGEST).contains(&usize::from(*it)))?,
            to: to.map_or(Some(MacAddress::BROADCAST), |it| it.parse().ok())?,
        })
    }
}

/// Sends frames as a generator numbers them, as fast as the device takes them.
#[derive(Debug)]
pub struct Blaster {
    /// The last frame.
    frame: [u8; LONGEST],
    len: usize,
    order: Order,
    sent: u64,
    began: Instant,
}

impl Blaster {
    /// Begins at `now`; `from` is the device's own address.
    #[must_use]
    pub fn new(order: Order, from: MacAddress, now: Instant) -> Self {
        let mut frame = [0; LONGEST];
        let plan = Plan {
            to: order.to.0,
            from: from.0,
            stream: STREAM,
            sizes: &[order.octets],
            fill: FILL,
            reflect: false,
            count: 1,
            rate_bits_per_s: 0,
        };
        let len = Blast::new(plan, now).next(&mut frame, now);
        Self {
            frame,
            // No longer than the longest, as `octets` says.
            len: len.unwrap_or(0),
            order,
            sent: 0,
            began: now,
        }
    }

    /// Hands frames to the device while it has room, for a turn. `true`: that was the last one.
    pub fn fill(&mut self, device: &mut impl Device, now: Instant) -> bool {
        let frame = &mut self.frame[..self.len];
        for _ in 0..TURN {
            if self.sent >= self.order.frames {
                return true;
            }
            let Some(room) = device.transmit() else {
                return false;
            };
            renumber(frame, self.sent, now.ns());
            // It is no longer than a frame can be.
            let _ = room.consume(frame.len(), |to| to.copy_from_slice(frame));
            self.sent += 1;
        }
        self.sent >= self.order.frames
    }

    /// Says what was sent until now: octets without FCS.
    pub fn report(&self, to: &mut impl Write, now: Instant) {
        event(
            to,
            "blasted",
            format_args!(
                "\"stream\":{STREAM},\"frames\":{},\"octets\":{},\"span_us\":{}",
                self.sent,
                self.sent * self.len as u64,
                now.since(self.began).as_micros() as u64,
            ),
        );
    }
}

#[cfg(test)]
mod tests;
