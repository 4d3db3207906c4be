//! A generator of raw frames that knows no stack: what driver, MAC and line do by themselves.

use crate::blast_command::BlastCommand;
use crate::console::event;
use core::fmt::Write;
use linerate_agent::Instant;
use linerate_agent::frame::{Blast, Fill, LONGEST, Plan, renumber};
use linerate_ether::frame::MacAddress;
use linerate_nic::device::{Device, TxToken as _};

/// Which stream the frames are of.
pub const STREAM: u8 = 0;
/// What stands behind each frame's head. The same in all, so that one is made of the last.
const FILL: Fill = Fill::Octet(0x55);
/// Frames in a row, then what came has its turn.
const TURN: usize = 64;

/// Sends frames as a generator numbers them, as fast as the device takes them.
#[derive(Debug)]
pub struct Blaster {
    /// The last frame.
    frame: [u8; LONGEST],
    len: usize,
    command: BlastCommand,
    sent: u64,
    began: Instant,
}

impl Blaster {
    /// Begins at `now`; `from` is the device's own address.
    #[must_use]
    pub fn new(command: BlastCommand, from: MacAddress, now: Instant) -> Self {
        let mut frame = [0; LONGEST];
        let plan = Plan {
            to: command.to.0,
            from: from.0,
            stream: STREAM,
            sizes: &[command.octets],
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
            command,
            sent: 0,
            began: now,
        }
    }

    /// Hands frames to the device while it has room, for a turn. `true`: that was the last one.
    pub fn fill(&mut self, device: &mut impl Device, now: Instant) -> bool {
        let frame = &mut self.frame[..self.len];
        for _ in 0..TURN {
            if self.sent >= self.command.frames {
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
        self.sent >= self.command.frames
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
