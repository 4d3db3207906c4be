//! A generator of raw frames that also counts the frames reflected by the device.

use core::time::Duration;
use linerate_agent::frame::{Blast, MAX_LEN, Mac, Plan, Receiver};
use linerate_agent::{Instant, Service, SocketRequest};

use super::Program;

/// All frame lengths in order, for a [`Plan`] with static lifetime: `&LENGTHS[64..65]`.
pub static LENGTHS: [u16; MAX_LEN + 1] = {
    let mut lengths = [0; MAX_LEN + 1];
    let mut len = 0;
    while len <= MAX_LEN {
        lengths[len] = len as u16;
        len += 1;
    }
    lengths
};

/// A reflected frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflection {
    /// Frame number.
    pub number: u64,
    /// Time at which it was handed to the MAC.
    pub sent: Instant,
    /// Time from `sent` until the host processed the reflection.
    pub round_trip: Duration,
}

/// Counts of frames sent and reflected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Frames sent, and their octets without FCS.
    pub sent: (u64, u64),
    /// Reflected frames in the order of arrival.
    pub reflections: Vec<Reflection>,
    /// Reflected frames with altered content.
    pub altered: u64,
    /// Reflected frames received more than once.
    pub duplicates: u64,
}

/// Sends numbered frames at an exact rate.
#[derive(Debug)]
pub struct Blaster {
    plan: Plan<'static>,
    /// Created at the program's first turn.
    blast: Option<Blast<'static>>,
    receiver: Receiver,
    reflections: Vec<Reflection>,
    reply_timeout: Duration,
    last_sent: Instant,
    is_finished: bool,
}

impl Blaster {
    /// A generator that finishes `reply_timeout` after it handed the last frame to the MAC, or as soon as
    /// all were reflected. Above line rate the MAC queues 256 frames: to send back to back, use the
    /// line rate.
    #[must_use]
    pub const fn new(plan: Plan<'static>, reply_timeout: Duration) -> Self {
        Self {
            receiver: Receiver::new(plan.from, plan.stream),
            plan,
            blast: None,
            reflections: Vec::new(),
            reply_timeout,
            last_sent: Instant::from_ns(0),
            is_finished: false,
        }
    }

    /// Frames sent so far, and their octets without FCS.
    #[must_use]
    pub fn sent(&self) -> (u64, u64) {
        self.blast.as_ref().map_or((0, 0), Blast::sent)
    }

    /// Counts so far.
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
            // Immediately.
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
        if self.is_finished {
            return None;
        }
        self.due()
            .or(Some(self.last_sent.after(self.reply_timeout)))
    }
}

impl Program for Blaster {
    fn poll_finished(&mut self, now: Instant) -> bool {
        let waits = now.since(self.last_sent) < self.reply_timeout && !self.has_all();
        self.is_finished = self.due().is_none() && !waits;
        self.is_finished
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
