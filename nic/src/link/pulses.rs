//! Timing of link pulses to send (IEEE 802.3 clauses 14.2.1.1 and 28.2.1.1).

use super::from_ns;
use crate::mac::BitTimes;
use linerate_ether::phy10::link::{
    BURST_NS, CLOCK_TO_DATA_NS, LinkCodeWord, LinkEvent, PULSE_INTERVAL_NOMINAL_NS,
    PULSE_INTERVAL_NS,
};

/// Interval between normal link pulses, or between starts of bursts.
const INTERVAL: BitTimes = from_ns(PULSE_INTERVAL_NOMINAL_NS);
/// Shortest such interval (16 ms +- 8 ms).
const MIN_INTERVAL: BitTimes = from_ns(*PULSE_INTERVAL_NS.start());
/// From a clock pulse to the following data pulse.
const SLOT: BitTimes = from_ns(CLOCK_TO_DATA_NS);
/// Pulse slots of a burst: 17 clock pulses, and 16 data pulses between them.
const SLOTS: u8 = (BURST_NS / CLOCK_TO_DATA_NS) as u8 + 1;
/// Longest delay of a pulse of a burst: half of the tolerance of Table 28-1, because the delay of
/// the receiver adds to it.
const MAX_DELAY: BitTimes = from_ns(3_500);

/// Pulses that the link requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PulseRequest {
    /// Nothing.
    Silence,
    /// Normal link pulses.
    Normal,
    /// Bursts with this word.
    Bursts(LinkCodeWord),
}

/// A pulse to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// A normal link pulse.
    Normal,
    /// A pulse of a burst, not the last.
    Burst,
    /// The last pulse of a burst.
    Last,
}

/// Actions of a link pulse timer event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerAction {
    /// The pulse to send now.
    pub pulse: Option<Pulse>,
    /// Time from the due time of this call to that of the next.
    pub next: BitTimes,
    /// Received event that is complete now.
    pub completed: Option<LinkEvent>,
}

impl TimerAction {
    const fn new(pulse: Option<Pulse>, next: BitTimes) -> Self {
        Self {
            pulse,
            next,
            completed: None,
        }
    }
}

/// The sender of link pulses.
///
/// A burst whose pulses are delayed, for example by the reception of a frame, is aborted; the next
/// one is sent at its time.
#[derive(Debug)]
pub struct PulseSender {
    burst: Option<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    word: LinkCodeWord,
    began: BitTimes,
    /// Slot of the next pulse.
    slot: u8,
}

impl PulseSender {
    pub(super) const fn new() -> Self {
        Self { burst: None }
    }

    /// Returns the actions due at `now`, where nothing has been sent for `idle`.
    pub(super) fn on_timer(
        &mut self,
        now: BitTimes,
        idle: BitTimes,
        wanted: PulseRequest,
    ) -> TimerAction {
        match (self.burst.take(), wanted) {
            (Some(burst), _) => self.continue_burst(burst, now),
            (None, PulseRequest::Bursts(word)) => self.continue_burst(
                Burst {
                    word,
                    began: now,
                    slot: 0,
                },
                now,
            ),
            (None, PulseRequest::Normal) if idle.0 < MIN_INTERVAL.0 => {
                TimerAction::new(None, BitTimes(INTERVAL.0 - idle.0))
            }
            (None, PulseRequest::Normal) => TimerAction::new(Some(Pulse::Normal), INTERVAL),
            (None, PulseRequest::Silence) => TimerAction::new(None, INTERVAL),
        }
    }

    fn continue_burst(&mut self, burst: Burst, now: BitTimes) -> TimerAction {
        let place = u32::from(burst.slot) * SLOT.0;
        let since = now.since(burst.began).0;
        if since > place + MAX_DELAY.0 {
            // The following calls are on schedule again.
            return TimerAction::new(None, BitTimes(INTERVAL.0 - place));
        }
        if burst.slot + 1 == SLOTS {
            return TimerAction::new(Some(Pulse::Last), BitTimes(INTERVAL.0 - place));
        }
        // An even slot is a clock pulse; the data bit after it determines the distance to the next
        // pulse.
        let data = burst.word.0 >> (burst.slot / 2) & 1 != 0;
        let step = if burst.slot.is_multiple_of(2) && !data {
            2
        } else {
            1
        };
        self.burst = Some(Burst {
            slot: burst.slot + step,
            ..burst
        });
        TimerAction::new(Some(Pulse::Burst), BitTimes(u32::from(step) * SLOT.0))
    }
}
