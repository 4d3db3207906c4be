//! When to send which link pulse (IEEE 802.3 clauses 14.2.1.1 and 28.2.1.1).

use super::from_ns;
use crate::mac::BitTimes;
use linerate_ether::phy10::link::{
    BURST_NS, CLOCK_TO_DATA_NS, LinkCodeWord, LinkEvent, PULSE_INTERVAL_NOMINAL_NS,
    PULSE_INTERVAL_NS,
};

/// From one normal link pulse, or from the start of a burst, to the next.
const INTERVAL: BitTimes = from_ns(PULSE_INTERVAL_NOMINAL_NS);
/// The least of that (16 ms +- 8 ms).
const LEAST: BitTimes = from_ns(*PULSE_INTERVAL_NS.start());
/// From a clock pulse to the data pulse behind it.
const SLOT: BitTimes = from_ns(CLOCK_TO_DATA_NS);
/// Places for pulses in a burst: 17 clock pulses, and 16 data pulses between them.
const SLOTS: u8 = (BURST_NS / CLOCK_TO_DATA_NS) as u8 + 1;
/// A pulse of a burst may be this late: half of what Table 28-1 allows, for the receiver's
/// lateness adds to ours.
const LATE: BitTimes = from_ns(3_500);

/// What the link wants to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
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
    /// One of a burst, not the last.
    Burst,
    /// The last one of a burst.
    Last,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The pulse to send now.
    pub pulse: Option<Pulse>,
    /// How long after this call's due time the next call is due.
    pub next: BitTimes,
    /// What was heard and is complete now.
    pub completed: Option<LinkEvent>,
}

impl Due {
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
/// A burst whose pulses are held up, as by a frame that is being received, is given up; the next
/// one comes at its time.
#[derive(Debug)]
pub struct Pulses {
    burst: Option<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    word: LinkCodeWord,
    began: BitTimes,
    /// The place of the next pulse.
    slot: u8,
}

impl Pulses {
    pub(super) const fn new() -> Self {
        Self { burst: None }
    }

    /// What is due `now`, nothing having been sent for so long.
    pub(super) fn timer(&mut self, now: BitTimes, idle: BitTimes, wanted: Wanted) -> Due {
        match (self.burst.take(), wanted) {
            (Some(burst), _) => self.go_on(burst, now),
            (None, Wanted::Bursts(word)) => self.go_on(
                Burst {
                    word,
                    began: now,
                    slot: 0,
                },
                now,
            ),
            (None, Wanted::Normal) if idle.0 < LEAST.0 => {
                Due::new(None, BitTimes(INTERVAL.0 - idle.0))
            }
            (None, Wanted::Normal) => Due::new(Some(Pulse::Normal), INTERVAL),
            (None, Wanted::Silence) => Due::new(None, INTERVAL),
        }
    }

    fn go_on(&mut self, burst: Burst, now: BitTimes) -> Due {
        let place = u32::from(burst.slot) * SLOT.0;
        let since = now.since(burst.began).0;
        if since > place + LATE.0 {
            // The calls that follow are at their times again.
            return Due::new(None, BitTimes(INTERVAL.0 - place));
        }
        if burst.slot + 1 == SLOTS {
            return Due::new(Some(Pulse::Last), BitTimes(INTERVAL.0 - place));
        }
        // An even place is a clock pulse; the data bit behind it says how far to the next pulse.
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
        Due::new(Some(Pulse::Burst), BitTimes(u32::from(step) * SLOT.0))
    }
}
