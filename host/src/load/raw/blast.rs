//! The generator.

use linerate_agent::Instant;
use linerate_agent::frame::{self, Blast, Fill, renumber};
use linerate_ring::Transmit;

use super::Plan;
use crate::load::counters::{Counting, mac_of};
use crate::load::pace::{Clock, Deadlines};
use crate::load::sent::Sending;
use crate::load::{LoadError, Rate, Sent, cpu};

/// Frames on their way at most: few enough that they stay in the cache.
const RING: usize = 512;
/// Frames that a system call takes where as many are to go as can.
const BATCH: usize = 64;

/// Sends what the plan says, from this thread, and counts.
///
/// # Errors
/// The plan makes no sense, the interface is missing or down, or this user may not.
pub fn blast(plan: &Plan) -> Result<Sent, LoadError> {
    plan.check()?;
    let ring = Transmit::open(&plan.interface, plan.frame_octets, RING)?;
    let from = match plan.from {
        Some(from) => from,
        None => mac_of(&plan.interface)?,
    };
    let mut sending = Sending::new(plan.rate);
    if !ring.bypasses_queue() {
        let note =
            "frames wait in the interface's queueing discipline: PACKET_QDISC_BYPASS is not had";
        sending.notes.push(note.to_owned());
    }
    let pin = cpu::pin(plan.core);
    if let Err(why) = &pin {
        sending.notes.push(why.clone());
    }
    let sizes = [plan.frame_octets as u16];
    let template = Blast::new(
        frame::Plan {
            to: plan.to,
            from,
            stream: plan.stream,
            sizes: &sizes,
            fill: Fill::Octet(0),
            reflect: plan.reflect,
            count: u64::MAX,
            rate_bits_per_s: 0,
        },
        Instant::from_ns(0),
    );
    let counting = Counting::start(&plan.interface);
    let mut blaster = Blaster {
        plan,
        written: 0,
        ring,
        template,
        clock: Clock::start(),
        sending,
    };
    let (due, span_ns) = match plan.rate {
        Rate::PerSecond(per_s) => blaster.at_rate(per_s)?,
        Rate::Max => (0, blaster.at_most()?),
    };
    let interface = counting.and_then(Counting::end);
    Ok(blaster.sending.end(plan.rate, due, span_ns, interface))
}

struct Blaster<'a> {
    plan: &'a Plan,
    /// Places of the ring that have a whole frame in them.
    written: usize,
    ring: Transmit,
    template: Blast<'a>,
    clock: Clock,
    sending: Sending,
}

impl Blaster<'_> {
    /// One at each deadline: how many were due, and how long it took.
    fn at_rate(&mut self, per_s: u64) -> Result<(u64, u64), LoadError> {
        "one frame at each deadline (TX_RING)".clone_into(&mut self.sending.method);
        let span = self.plan.duration.as_nanos() as u64;
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
            self.sending.gaps.at(now);
            self.ring.flush()?;
            self.sending.late += u64::from(deadlines.advance(now));
        }
        self.drain()?;
        let due = u128::from(per_s) * u128::from(span) / 1_000_000_000;
        Ok((due as u64, span))
    }

    /// As many as go: how long it took.
    fn at_most(&mut self) -> Result<u64, LoadError> {
        self.sending.method = format!("batches of {BATCH} frames (TX_RING)");
        self.sending.packets_per_call = BATCH;
        let started = self.clock.now_ns();
        let end = self.plan.duration.as_nanos() as u64;
        let mut now = started;
        while now - started < end {
            for _ in 0..BATCH {
                if !self.write(now) {
                    break;
                }
            }
            self.ring.flush()?;
            now = self.clock.now_ns();
            self.sending.gaps.at(now);
        }
        self.drain()?;
        Ok(self.clock.now_ns() - started)
    }

    /// Waits until the system has taken the last frames: they are counted, and would go with the ring.
    fn drain(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now_ns() + 100_000_000;
        while !self.ring.flush()? {
            if self.clock.now_ns() >= until {
                let note = "the interface did not take the last frames".to_owned();
                self.sending.notes.push(note);
                break;
            }
        }
        Ok(())
    }

    /// Writes the next frame; `false`: there is no room for it.
    fn write(&mut self, now: u64) -> bool {
        let places = self.ring.places();
        let Some(room) = self.ring.room() else {
            return false;
        };
        let octets = self.plan.frame_octets;
        let number = self.sending.packets;
        if self.written < places {
            // A place keeps its frame: from the second time on, only number and time are new.
            if self.template.next(room, Instant::from_ns(now)).is_none() {
                return false;
            }
            self.written += 1;
        } else {
            renumber(&mut room[..octets], number, now);
        }
        self.ring.commit(octets);
        self.sending.packets += 1;
        self.sending.octets += octets as u64;
        true
    }
}
