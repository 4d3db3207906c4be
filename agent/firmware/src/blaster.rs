//! A generator of raw frames without a stack: measures driver, MAC and line alone.

use crate::blast_command::BlastCommand;
use crate::console::event;
use core::fmt::Write;
use linerate_agent::Instant;
use linerate_agent::frame::{Blast, Fill, MAX_LEN, Plan, renumber};
use linerate_ether::frame::MacAddress;
use linerate_nic::device::{Device, TxToken as _};

/// Stream number of the frames.
pub const STREAM: u8 = 0;
/// Payload. The same in all frames, so each can be derived from the previous one.
const FILL: Fill = Fill::Octet(0x55);
/// Frames sent in a row before received frames are handled.
const TURN: usize = 64;

/// Sends numbered frames as fast as the device accepts them.
#[derive(Debug)]
pub struct Blaster {
    /// The last frame.
    frame: [u8; MAX_LEN],
    len: usize,
    command: BlastCommand,
    sent: u64,
    began: Instant,
}

impl Blaster {
    /// Creates a blaster that begins at `now`; `from` is the device's own address.
    #[must_use]
    pub fn new(command: BlastCommand, from: MacAddress, now: Instant) -> Self {
        let mut frame = [0; MAX_LEN];
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
            // Not above the maximum, which the command's parser checks.
            len: len.unwrap_or(0),
            command,
            sent: 0,
            began: now,
        }
    }

    /// Sends frames while the device has space, for a turn. `true`: all were sent.
    pub fn fill(&mut self, device: &mut impl Device, now: Instant) -> bool {
        let frame = &mut self.frame[..self.len];
        for _ in 0..TURN {
            if self.sent >= self.command.frames {
                return true;
            }
            let Some(slot) = device.transmit() else {
                return false;
            };
            renumber(frame, self.sent, now.ns());
            // The length is valid.
            let _ = slot.consume(frame.len(), |to| to.copy_from_slice(frame));
            self.sent += 1;
        }
        self.sent >= self.command.frames
    }

    /// Prints the frames sent so far: octets without FCS.
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
