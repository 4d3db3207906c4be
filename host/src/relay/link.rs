//! One direction of the relay: frames in, frames out, time as an argument. No clock, no I/O.

use super::impairment::{DEFAULT_QUEUE_FRAMES, Impairment, ImpairmentError, Queue};
use super::loss::LossReason;
use super::random::{BitErrors, GilbertElliott, RandomSequence};
use linerate_results::record::RelayCounts;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Longest time that a held-back frame waits for others to pass it, from its due time.
pub const REORDER_TIMEOUT_NS: u64 = 50_000_000;
/// Limit of the octets buffered by a direction: a long delay at a high rate would fill the memory.
pub const MAX_BUFFERED_OCTETS: usize = 256 << 20;

/// Minimum frame size without FCS (IEEE 802.3 clause 4A.4.2): shorter frames are padded.
const MIN_FRAME_OCTETS: u64 = 60;
// Overhead per frame on the link. The preamble includes the start frame delimiter.
const FCS_OCTETS: u64 = 4;
const PREAMBLE_OCTETS: u64 = 8;
const GAP_OCTETS: u64 = 12;

/// Time for which a frame occupies a link, from its preamble to the end of the gap, in nanoseconds rounded
/// up. `octets`: frame size without FCS.
#[must_use]
pub const fn occupancy_ns(octets: usize, rate_bits_per_s: u64) -> u64 {
    let octets = PREAMBLE_OCTETS + wire_octets(octets) + GAP_OCTETS;
    let bits = octets as u128 * 8 * 1_000_000_000;
    bits.div_ceil(rate_bits_per_s as u128) as u64
}

/// Size of a frame on the wire, octets: padded, with FCS.
const fn wire_octets(octets: usize) -> u64 {
    let octets = octets as u64;
    (if octets < MIN_FRAME_OCTETS {
        MIN_FRAME_OCTETS
    } else {
        octets
    }) + FCS_OCTETS
}

/// Fate of a frame or of its duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does not arrive.
    Lost(LossReason),
    /// It arrives.
    Passed {
        /// Number that identifies it in [`Delivered`]: numbers increase in the order of arrival.
        number: u64,
        /// Bits flipped in it.
        corrupted_bits: u64,
    },
}

/// Fates of a frame and its duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFates {
    /// Fate of the frame itself.
    pub original: Fate,
    /// Fate of its duplicate, if there is one.
    pub duplicate: Option<Fate>,
}

/// Frame at the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its octets, without FCS.
    pub frame: Vec<u8>,
    /// Its number: see [`Fate::Passed`].
    pub number: u64,
    /// Arrival time.
    pub arrival_ns: u64,
    /// Departure time by the settings. The caller may send it later.
    pub due_ns: u64,
}

/// One direction of an impaired link.
#[derive(Clone, Debug)]
pub struct ImpairedLink {
    impairment: Impairment,
    duplicates: RandomSequence,
    losses: RandomSequence,
    bursts: GilbertElliott,
    bit_errors: BitErrors,
    corruption: BitErrors,
    jitter: RandomSequence,
    reorder: RandomSequence,
    now_ns: u64,
    /// Time at which the link becomes idle.
    free_at_ns: u64,
    /// Queued frames: start of transmission and octets.
    waiting: VecDeque<(u64, u64)>,
    waiting_octets: u64,
    in_flight: BinaryHeap<Reverse<Flight>>,
    held_back: Vec<HeldBack>,
    held_octets: usize,
    last_due_ns: u64,
    next_number: u64,
    newest_out: Option<u64>,
    counts: RelayCounts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    due_ns: u64,
    number: u64,
    arrival_ns: u64,
    /// Number of later frames that are to pass it.
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
    /// Number of frames still to pass it.
    left: u32,
    /// Latest release time.
    release_ns: u64,
}

impl ImpairedLink {
    /// Creates an idle link. The same settings, seed and frames give the same result on one machine:
    /// logarithms may differ in their last digit on another.
    ///
    /// # Errors
    /// Invalid settings.
    pub fn new(impairment: Impairment, seed: u64) -> Result<Self, ImpairmentError> {
        impairment.validate()?;
        let sequence = |setting| RandomSequence::new(seed, setting);
        Ok(Self {
            duplicates: sequence(0),
            losses: sequence(1),
            bursts: GilbertElliott::new(sequence(2)),
            bit_errors: BitErrors::new(sequence(3), impairment.bit_errors),
            corruption: BitErrors::new(sequence(4), impairment.corrupt),
            jitter: sequence(5),
            reorder: sequence(6),
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
            counts: RelayCounts::default(),
            impairment,
        })
    }

    /// Current frame counters.
    #[must_use]
    pub fn counts(&self) -> RelayCounts {
        RelayCounts {
            held_frames: (self.in_flight.len() + self.held_back.len()) as u64,
            ..self.counts
        }
    }

    /// Passes in a frame, without FCS, that arrives at `now_ns`. A time earlier than the last one counts as
    /// the last one.
    pub fn push(&mut self, frame: Vec<u8>, now_ns: u64) -> FrameFates {
        self.now_ns = self.now_ns.max(now_ns);
        self.counts.frames_in += 1;
        self.counts.octets_in += frame.len() as u64;
        if self.is_exempt() || !self.duplicates.draw(self.impairment.duplicate) {
            let (original, duplicate) = (self.enter(frame), None);
            return FrameFates {
                original,
                duplicate,
            };
        }
        self.counts.duplicated_frames += 1;
        let copy = frame.clone();
        FrameFates {
            original: self.enter(frame),
            duplicate: Some(self.enter(copy)),
        }
    }

    /// Processes a frame or its duplicate at the input.
    fn enter(&mut self, mut frame: Vec<u8>) -> Fate {
        let octets = frame.len();
        let Some(sent_ns) = self.serialize(octets) else {
            return self.lose(LossReason::Queue);
        };
        let is_exempt = self.is_exempt();
        if !is_exempt && let Some(cause) = self.line_loss(octets) {
            return self.lose(cause);
        }
        if self.held_octets + octets > MAX_BUFFERED_OCTETS {
            return self.lose(LossReason::BufferLimit);
        }
        let bits = if is_exempt { 0 } else { octets as u64 * 8 };
        let corrupted_bits = self.corruption.advance(bits, |bit| {
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

    /// True if the newest frame is exempt by `spare`.
    fn is_exempt(&self) -> bool {
        self.counts.frames_in <= self.impairment.spare
    }

    /// Returns the reason if a frame is lost on the line.
    fn line_loss(&mut self, octets: usize) -> Option<LossReason> {
        if let Some(burst) = self.impairment.burst_loss
            && self.bursts.next_is_lost(&burst)
        {
            return Some(LossReason::Burst);
        }
        if self.losses.draw(self.impairment.loss) {
            return Some(LossReason::Random);
        }
        let wrong_bits = self.bit_errors.advance(wire_octets(octets) * 8, |_| {});
        (wrong_bits > 0).then_some(LossReason::BitErrors)
    }

    fn lose(&mut self, cause: LossReason) -> Fate {
        cause.count(&mut self.counts);
        Fate::Lost(cause)
    }

    /// Time at which the link has sent the last bit of a frame that arrives now; `None` if the queue is full.
    fn serialize(&mut self, octets: usize) -> Option<u64> {
        let Some(rate) = self.impairment.rate_bits_per_s else {
            return Some(self.now_ns);
        };
        while let Some((_, octets)) = self.waiting.pop_front_if(|(at, _)| *at <= self.now_ns) {
            self.waiting_octets -= octets;
        }
        let begins_ns = self.free_at_ns.max(self.now_ns);
        if begins_ns > self.now_ns {
            let default = Queue::Frames(DEFAULT_QUEUE_FRAMES);
            let is_full = match self.impairment.queue.unwrap_or(default) {
                Queue::Frames(limit) => self.waiting.len() as u64 >= limit,
                Queue::Octets(limit) => self.waiting_octets + octets as u64 > limit,
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

    /// Puts a frame in flight whose last bit was sent at `sent_ns`.
    fn send(&mut self, frame: Vec<u8>, sent_ns: u64) {
        let jitter = self.jitter.symmetric(self.impairment.jitter_ns);
        let own_due_ns = (sent_ns + self.impairment.delay_ns).saturating_add_signed(jitter);
        let due_ns = if self.impairment.overtake {
            own_due_ns
        } else {
            own_due_ns.max(self.last_due_ns)
        };
        self.last_due_ns = due_ns;
        let let_pass = match self.impairment.reorder {
            Some(_) if self.is_exempt() => 0,
            Some(reorder) if self.reorder.draw(reorder.share) => reorder.by,
            _ => 0,
        };
        self.counts.held_back_frames += u64::from(let_pass > 0);
        self.held_octets += frame.len();
        self.in_flight.push(Reverse(Flight {
            due_ns,
            number: self.next_number,
            arrival_ns: self.now_ns,
            let_pass,
            frame,
        }));
        self.next_number += 1;
    }

    /// Returns the next frame due by `now_ns`.
    pub fn pop(&mut self, now_ns: u64) -> Option<Delivered> {
        self.now_ns = self.now_ns.max(now_ns);
        loop {
            let held_back = self.next_held_back();
            let in_flight_due_ns = self.in_flight.peek().map(|Reverse(flight)| flight.due_ns);
            match (held_back, in_flight_due_ns) {
                (Some((at, release_ns)), in_flight_due_ns)
                    if release_ns <= now_ns
                        && in_flight_due_ns.is_none_or(|due| release_ns <= due) =>
                {
                    let flight = self.held_back.remove(at).flight;
                    return Some(self.deliver(flight, release_ns));
                }
                (_, Some(due_ns)) if due_ns <= now_ns => {
                    let Reverse(flight) = self.in_flight.pop()?;
                    if flight.let_pass == 0 {
                        return Some(self.deliver(flight, due_ns));
                    }
                    self.held_back.push(HeldBack {
                        left: flight.let_pass,
                        release_ns: due_ns + REORDER_TIMEOUT_NS,
                        flight,
                    });
                }
                _ => return None,
            }
        }
    }

    /// Next time at which [`pop`](Self::pop) has something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let held_back = self.next_held_back().map(|(_, release_ns)| release_ns);
        let in_flight_due_ns = self.in_flight.peek().map(|Reverse(flight)| flight.due_ns);
        held_back.into_iter().chain(in_flight_due_ns).min()
    }

    /// Index and release time of the held-back frame that is released first.
    fn next_held_back(&self) -> Option<(usize, u64)> {
        let times = self.held_back.iter().map(|held| held.release_ns);
        times.enumerate().min_by_key(|(_, release_ns)| *release_ns)
    }

    fn deliver(&mut self, flight: Flight, due_ns: u64) -> Delivered {
        for held in &mut self.held_back {
            if held.left > 0 && held.flight.number < flight.number {
                held.left -= 1;
                if held.left == 0 {
                    held.release_ns = due_ns;
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
            arrival_ns: flight.arrival_ns,
            due_ns,
        }
    }
}

#[cfg(test)]
mod tests;
