//! One direction of the relay: frames in, frames out, time passed in. No clock, no I/O.

use super::chance::{BitErrors, Bursts, Dice};
use super::counts::{Counts, Loss};
use super::impairment::{Impairment, ImpairmentError, Queue, USUAL_QUEUE_FRAMES};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// How long a frame that is held back waits for others to pass it, from when it was due.
pub const HOLD_NS: u64 = 50_000_000;
/// Octets that a direction holds at most: a long delay at a high rate would fill the memory.
pub const ROOM: usize = 256 << 20;

/// Octets of the shortest frame without FCS (IEEE 802.3 clause 4A.4.2): shorter ones are padded.
const LEAST_OCTETS: u64 = 60;
/// What else takes up the link. The preamble is with its delimiter.
const FCS_OCTETS: u64 = 4;
const PREAMBLE_OCTETS: u64 = 8;
const GAP_OCTETS: u64 = 12;

/// How long a frame takes up a link, from its preamble to the end of the gap, in nanoseconds rounded
/// up. `octets`: of the frame without FCS.
#[must_use]
pub const fn occupancy_ns(octets: usize, rate_bits_per_s: u64) -> u64 {
    let octets = PREAMBLE_OCTETS + wire_octets(octets) + GAP_OCTETS;
    let bits = octets as u128 * 8 * 1_000_000_000;
    bits.div_ceil(rate_bits_per_s as u128) as u64
}

/// Octets of a frame on the wire: padded, with its FCS.
const fn wire_octets(octets: usize) -> u64 {
    let octets = octets as u64;
    (if octets < LEAST_OCTETS {
        LEAST_OCTETS
    } else {
        octets
    }) + FCS_OCTETS
}

/// What becomes of a frame or of its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does not arrive.
    Lost(Loss),
    /// It arrives.
    Passed {
        /// By this number [`Delivered`] tells of it: numbers go up in the order of entrance.
        number: u64,
        /// Bits turned over in it.
        corrupted_bits: u64,
    },
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Of the frame itself.
    pub frame: Fate,
    /// Of its second copy, if there is one.
    pub copy: Option<Fate>,
}

/// A frame at the exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its octets, without FCS.
    pub frame: Vec<u8>,
    /// Its number: see [`Fate::Passed`].
    pub number: u64,
    /// When it came.
    pub came_ns: u64,
    /// When it goes by the settings. It is later than that by as much as whoever asks is late.
    pub due_ns: u64,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct Link {
    impairment: Impairment,
    duplicates: Dice,
    losses: Dice,
    bursts: Bursts,
    bit_errors: BitErrors,
    corruption: BitErrors,
    jitter: Dice,
    reorder: Dice,
    now_ns: u64,
    /// When the link has sent all that it has.
    free_at_ns: u64,
    /// Of frames that the link has not begun: when it will, and their octets.
    waiting: VecDeque<(u64, u64)>,
    waiting_octets: u64,
    in_flight: BinaryHeap<Reverse<Flight>>,
    held_back: Vec<HeldBack>,
    held_octets: usize,
    last_due_ns: u64,
    next_number: u64,
    newest_out: Option<u64>,
    counts: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    due_ns: u64,
    number: u64,
    came_ns: u64,
    /// How many later frames are to pass.
    let_pass: u32,
    frame: Vec<u8>,
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Debug)]
struct HeldBack {
    flight: Flight,
    /// How many are still to pass.
    left: u32,
    /// When it goes.
    goes_ns: u64,
}

impl Link {
    /// A link on which nothing is yet. The same settings, seed and frames give the same, on one
    /// machine: logarithms may differ in their last digit on another.
    ///
    /// # Errors
    /// Settings that cannot be.
    pub fn new(impairment: Impairment, seed: u64) -> Result<Self, ImpairmentError> {
        impairment.check()?;
        let dice = |which| Dice::new(seed, which);
        Ok(Self {
            duplicates: dice(0),
            losses: dice(1),
            bursts: Bursts::new(dice(2)),
            bit_errors: BitErrors::new(dice(3), impairment.bit_errors),
            corruption: BitErrors::new(dice(4), impairment.corrupt),
            jitter: dice(5),
            reorder: dice(6),
            now_ns: 0,
            free_at_ns: 0,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            in_flight: BinaryHeap::new(),
            held_back: Vec::new(),
            held_octets: 0,
            last_due_ns: 0,
            next_number: 0,
            newest_out: None,
            counts: Counts::default(),
            impairment,
        })
    }

    /// The settings.
    #[must_use]
    pub const fn impairment(&self) -> &Impairment {
        &self.impairment
    }

    /// What became of the frames until now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            held_frames: (self.in_flight.len() + self.held_back.len()) as u64,
            ..self.counts
        }
    }

    /// A frame, without FCS, comes at `now_ns`; time that goes back is taken to stand still.
    pub fn push(&mut self, frame: Vec<u8>, now_ns: u64) -> Verdict {
        self.now_ns = self.now_ns.max(now_ns);
        self.counts.frames_in += 1;
        self.counts.octets_in += frame.len() as u64;
        if self.is_spared() || !self.duplicates.chance(self.impairment.duplicate) {
            let (frame, copy) = (self.enter(frame), None);
            return Verdict { frame, copy };
        }
        self.counts.duplicated_frames += 1;
        let copy = frame.clone();
        Verdict {
            frame: self.enter(frame),
            copy: Some(self.enter(copy)),
        }
    }

    /// A frame or its copy at the entrance.
    fn enter(&mut self, mut frame: Vec<u8>) -> Fate {
        let octets = frame.len();
        let Some(sent_ns) = self.serialise(octets) else {
            return self.lose(Loss::Queue);
        };
        let is_spared = self.is_spared();
        if !is_spared && let Some(cause) = self.line_loses(octets) {
            return self.lose(cause);
        }
        if self.held_octets + octets > ROOM {
            return self.lose(Loss::Room);
        }
        let bits = if is_spared { 0 } else { octets as u64 * 8 };
        let corrupted_bits = self.corruption.of(bits, |bit| {
            frame[(bit / 8) as usize] ^= 1 << (bit % 8);
        });
        self.counts.corrupted_frames += u64::from(corrupted_bits > 0);
        self.counts.corrupted_bits += corrupted_bits;
        let number = self.next_number;
        self.send(frame, sent_ns);
        Fate::Passed {
            number,
            corrupted_bits,
        }
    }

    /// Whether the newest frame is one of those that meet no faults.
    fn is_spared(&self) -> bool {
        self.counts.frames_in <= self.impairment.spare
    }

    /// Whether a frame is lost on the line, and by what.
    fn line_loses(&mut self, octets: usize) -> Option<Loss> {
        if let Some(burst) = self.impairment.burst_loss
            && self.bursts.loses(&burst)
        {
            return Some(Loss::Burst);
        }
        if self.losses.chance(self.impairment.loss) {
            return Some(Loss::Random);
        }
        let wrong_bits = self.bit_errors.of(wire_octets(octets) * 8, |_| {});
        (wrong_bits > 0).then_some(Loss::BitErrors)
    }

    fn lose(&mut self, cause: Loss) -> Fate {
        self.counts.lose(cause);
        Fate::Lost(cause)
    }

    /// When the link has sent the last bit of a frame that comes now; `None` if it cannot wait.
    fn serialise(&mut self, octets: usize) -> Option<u64> {
        let Some(rate) = self.impairment.rate_bits_per_s else {
            return Some(self.now_ns);
        };
        while let Some((_, octets)) = self.waiting.pop_front_if(|(at, _)| *at <= self.now_ns) {
            self.waiting_octets -= octets;
        }
        let begins_ns = self.free_at_ns.max(self.now_ns);
        if begins_ns > self.now_ns {
            let usual = Queue::Frames(USUAL_QUEUE_FRAMES);
            let is_full = match self.impairment.queue.unwrap_or(usual) {
                Queue::Frames(most) => self.waiting.len() as u64 >= most,
                Queue::Octets(most) => self.waiting_octets + octets as u64 > most,
            };
            if is_full {
                return None;
            }
            self.waiting.push_back((begins_ns, octets as u64));
            self.waiting_octets += octets as u64;
        }
        self.free_at_ns = begins_ns + occupancy_ns(octets, rate);
        let gap_ns = GAP_OCTETS * 8 * 1_000_000_000 / rate;
        Some(self.free_at_ns - gap_ns)
    }

    /// A frame is on its way, whose last bit was sent at `sent_ns`.
    fn send(&mut self, frame: Vec<u8>, sent_ns: u64) {
        let jitter = self.jitter.around(self.impairment.jitter_ns);
        let own_due_ns = (sent_ns + self.impairment.delay_ns).saturating_add_signed(jitter);
        let due_ns = if self.impairment.overtake {
            own_due_ns
        } else {
            own_due_ns.max(self.last_due_ns)
        };
        self.last_due_ns = due_ns;
        let let_pass = match self.impairment.reorder {
            Some(_) if self.is_spared() => 0,
            Some(reorder) if self.reorder.chance(reorder.share) => reorder.by,
            _ => 0,
        };
        self.counts.held_back_frames += u64::from(let_pass > 0);
        self.held_octets += frame.len();
        self.in_flight.push(Reverse(Flight {
            due_ns,
            number: self.next_number,
            came_ns: self.now_ns,
            let_pass,
            frame,
        }));
        self.next_number += 1;
    }

    /// The next frame that goes until `now_ns`.
    pub fn pop(&mut self, now_ns: u64) -> Option<Delivered> {
        self.now_ns = self.now_ns.max(now_ns);
        loop {
            let held_back = self.next_held_back();
            let flies_ns = self.in_flight.peek().map(|Reverse(flight)| flight.due_ns);
            match (held_back, flies_ns) {
                (Some((at, goes_ns)), flies_ns)
                    if goes_ns <= now_ns && flies_ns.is_none_or(|due| goes_ns <= due) =>
                {
                    let flight = self.held_back.remove(at).flight;
                    return Some(self.deliver(flight, goes_ns));
                }
                (_, Some(due_ns)) if due_ns <= now_ns => {
                    let Reverse(flight) = self.in_flight.pop()?;
                    if flight.let_pass == 0 {
                        return Some(self.deliver(flight, due_ns));
                    }
                    self.held_back.push(HeldBack {
                        left: flight.let_pass,
                        goes_ns: due_ns + HOLD_NS,
                        flight,
                    });
                }
                _ => return None,
            }
        }
    }

    /// When [`pop`](Self::pop) next has something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let held_back = self.next_held_back().map(|(_, goes_ns)| goes_ns);
        let flies_ns = self.in_flight.peek().map(|Reverse(flight)| flight.due_ns);
        held_back.into_iter().chain(flies_ns).min()
    }

    /// Which of the frames that are held back goes first, and when.
    fn next_held_back(&self) -> Option<(usize, u64)> {
        let times = self.held_back.iter().map(|held| held.goes_ns);
        times.enumerate().min_by_key(|(_, goes_ns)| *goes_ns)
    }

    fn deliver(&mut self, flight: Flight, due_ns: u64) -> Delivered {
        for held in &mut self.held_back {
            if held.left > 0 && held.flight.number < flight.number {
                held.left -= 1;
                if held.left == 0 {
                    held.goes_ns = due_ns;
                }
            }
        }
        let is_reordered = self.newest_out.is_some_and(|newest| flight.number < newest);
        self.newest_out = self.newest_out.max(Some(flight.number));
        self.counts.reordered_frames += u64::from(is_reordered);
        self.counts.frames_out += 1;
        self.counts.octets_out += flight.frame.len() as u64;
        self.held_octets -= flight.frame.len();
        Delivered {
            frame: flight.frame,
            number: flight.number,
            came_ns: flight.came_ns,
            due_ns,
        }
    }
}

#[cfg(test)]
mod tests;
