//! Raw frame generator.

use linerate_agent::Instant;
use linerate_agent::frame::{self, Blast, Fill, renumber};
use linerate_ring::TransmitRing;

use super::BlastConfig;
use crate::load::counters::{CounterSnapshot, mac_of};
use crate::load::pace::{Clock, Deadlines};
use crate::load::send_report::SendCounts;
use crate::load::{LoadError, Rate, SendReport, cpu};

/// Slots of the transmit ring: few enough to stay in the cache.
const RING_SLOTS: usize = 512;
/// Frames per system call at the maximum rate.
const FRAMES_PER_CALL: usize = 64;

/// Sends frames as configured, on this thread, and counts.
///
/// # Errors
/// Invalid configuration, the interface is missing or down, or the user lacks the privilege.
pub fn blast(config: &BlastConfig) -> Result<SendReport, LoadError> {
    config.check()?;
    let ring = TransmitRing::open(&config.interface, config.frame_octets, RING_SLOTS)?;
    let from = match config.from {
        Some(from) => from,
        None => mac_of(&config.interface)?,
    };
    let mut sending = SendCounts::new(config.rate);
    if !ring.bypasses_queue() {
        let note =
            "frames pass the interface's queueing discipline: PACKET_QDISC_BYPASS is unavailable";
        sending.notes.push(note.to_owned());
    }
    let pin = cpu::pin(config.core);
    if let Err(why) = &pin {
        sending.notes.push(why.clone());
    }
    let sizes = [config.frame_octets as u16];
    let template = Blast::new(
        frame::Plan {
            to: config.to,
            from,
            stream: config.stream,
            sizes: &sizes,
            fill: Fill::Octet(0),
            reflect: config.reflect,
            count: u64::MAX,
            rate_bits_per_s: 0,
        },
        Instant::from_ns(0),
    );
    let counting = CounterSnapshot::start(&config.interface);
    let mut sender = BlastSender {
        config,
        written: 0,
        ring,
        template,
        clock: Clock::start(),
        sending,
    };
    let (due, span_ns) = match config.rate {
        Rate::PerSecond(per_s) => sender.send_at_rate(per_s)?,
        Rate::Max => (0, sender.send_at_max()?),
    };
    let interface = counting.and_then(CounterSnapshot::end);
    Ok(sender.sending.finish(config.rate, due, span_ns, interface))
}

struct BlastSender<'a> {
    config: &'a BlastConfig,
    /// Slots of the ring that contain a complete frame.
    written: usize,
    ring: TransmitRing,
    template: Blast<'a>,
    clock: Clock,
    sending: SendCounts,
}

impl BlastSender<'_> {
    /// Sends one frame at each deadline; returns the number due and the duration.
    fn send_at_rate(&mut self, per_s: u64) -> Result<(u64, u64), LoadError> {
        "one frame at each deadline (TX_RING)".clone_into(&mut self.sending.method);
        let span = self.config.duration.as_nanos() as u64;
        let start = self.clock.now_ns() + 1_000_000;
        let end = start + span;
        let mut deadlines = Deadlines::new(start, per_s);
        while deadlines.due_ns() < end {
            let now = self.clock.wait_until(deadlines.send_at(end));
            if now >= end {
                break;
            }
            if !self.write(now) {
                self.ring.flush()?;
                continue;
            }
            self.sending.gaps.record(now);
            self.ring.flush()?;
            self.sending.late += u64::from(deadlines.advance(now));
        }
        self.drain()?;
        let due = u128::from(per_s) * u128::from(span) / 1_000_000_000;
        Ok((due as u64, span))
    }

    /// Sends at the maximum rate; returns the duration.
    fn send_at_max(&mut self) -> Result<u64, LoadError> {
        self.sending.method = format!("batches of {FRAMES_PER_CALL} frames (TX_RING)");
        self.sending.packets_per_call = FRAMES_PER_CALL;
        let started = self.clock.now_ns();
        let end = self.config.duration.as_nanos() as u64;
        let mut now = started;
        while now - started < end {
            for _ in 0..FRAMES_PER_CALL {
                if !self.write(now) {
                    break;
                }
            }
            self.ring.flush()?;
            now = self.clock.now_ns();
            self.sending.gaps.record(now);
        }
        self.drain()?;
        Ok(self.clock.now_ns() - started)
    }

    /// Waits until the system has sent the last frames: they are counted, and dropping the ring would discard
    /// them.
    fn drain(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now_ns() + 100_000_000;
        while !self.ring.flush()? {
            if self.clock.now_ns() >= until {
                let note = "the interface did not accept the last frames".to_owned();
                self.sending.notes.push(note);
                break;
            }
        }
        Ok(())
    }

    /// Writes the next frame; `false` if the ring is full.
    fn write(&mut self, now: u64) -> bool {
        let slots = self.ring.slots();
        let Some(slot) = self.ring.next_slot() else {
            return false;
        };
        let octets = self.config.frame_octets;
        let number = self.sending.packets;
        if self.written < slots {
            // A slot keeps its frame: from the second round on, only number and time change.
            if self.template.next(slot, Instant::from_ns(now)).is_none() {
                return false;
            }
            self.written += 1;
        } else {
            renumber(&mut slot[..octets], number, now);
        }
        self.ring.commit(octets);
        self.sending.packets += 1;
        self.sending.octets += octets as u64;
        true
    }
}
