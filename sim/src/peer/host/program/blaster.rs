//! A generator of raw frames, and the counter of those that come back.

use core::time::Duration;
use linerate_agent::frame::{Blast, LONGEST, Mac, Plan, Receiver};
use linerate_agent::{Instant, Service, SocketRequest};

use super::Program;

/// Every length of a frame by itself, for a [`Plan`] that has to outlive whoever makes it: `&LENGTHS[64..65]`.
pub static LENGTHS: [u16; LONGEST + 1] = {
    let mut lengths = [0; LONGEST + 1];
    let mut len = 0;
    while len <= LONGEST {
        lengths[len] = len as u16;
        len += 1;
    }
    lengths
};

/// A frame that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflection {
    /// Its number.
    pub number: u64,
    /// When it was handed to the MAC.
    pub sent: Instant,
    /// From then until the host got to it.
    pub round_trip: Duration,
}

/// What was sent and what came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Frames sent, and their octets without FCS.
    pub sent: (u64, u64),
    /// Those that came back, in the order in which they came.
    pub reflections: Vec<Reflection>,
    /// Those that came back with other content.
    pub altered: u64,
    /// Those that came back more than once.
    pub duplicates: u64,
}

/// Sends numbered frames at an exact rate.
#[derive(Debug)]
pub struct Blaster {
    plan: Plan<'static>,
    /// It begins with the program's first turn.
    blast: Option<Blast<'static>>,
    receiver: Receiver,
    reflections: Vec<Reflection>,
    patience: Duration,
    last_sent: Instant,
    is_over: bool,
}

impl Blaster {
    /// A generator that is over `patience` after it has handed the last frame to the MAC, or as soon as
    /// all came back. Faster than the line the MAC queues 256 of them: what is to go back to back is better
    /// sent at the line's rate.
    #[must_use]
    pub const fn new(plan: Plan<'static>, patience: Duration) -> Self {
        Self {
            receiver: Receiver::new(plan.from, plan.stream),
            plan,
            blast: None,
            reflections: Vec::new(),
            patience,
            last_sent: Instant::from_ns(0),
            is_over: false,
        }
    }

    /// Frames and octets of them sent so far, without FCS.
    #[must_use]
    pub fn sent(&self) -> (u64, u64) {
        self.blast.as_ref().map_or((0, 0), Blast::sent)
    }

    /// What there is so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            sent: self.sent(),
            reflections: self.reflections.clone(),
            altered: self.receiver.altered,
            duplicates: self.receiver.sink.sequence.duplicates(),
        }
    }

    /// The device's address.
    #[must_use]
    pub const fn to(&self) -> Mac {
        self.plan.to
    }

    fn due(&self) -> Option<Instant> {
        match &self.blast {
            // At once.
            None => Some(Instant::from_ns(0)),
            Some(blast) => blast.due(),
        }
    }

    fn has_all(&self) -> bool {
        self.plan.reflect && self.reflections.len() as u64 >= self.plan.count
    }
}

impl Service for Blaster {
    fn next_request(&mut self) -> Option<SocketRequest> {
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        self.due().or(Some(self.last_sent.after(self.patience)))
    }
}

impl Program for Blaster {
    fn is_over(&mut self, now: Instant) -> bool {
        let waits = now.since(self.last_sent) < self.patience && !self.has_all();
        self.is_over = self.due().is_none() && !waits;
        self.is_over
    }

    fn frame(&mut self, frame: &[u8], now: Instant) {
        if let Some(arrived) = self.receiver.received(frame, now)
            && let Some(round_trip) = arrived.round_trip
        {
            self.reflections.push(Reflection {
                number: arrived.number,
                sent: Instant::from_ns(now.ns() - round_trip.as_nanos() as u64),
                round_trip,
            });
        }
    }

    fn next_frame(&mut self, room: &mut [u8], now: Instant) -> Option<usize> {
        let blast = self.blast.get_or_insert_with(|| Blast::new(self.plan, now));
        let len = blast.next(room, now)?;
        self.last_sent = now;
        Some(len)
    }
}
