//! Link pulses (clause 14.2.1.7) and fast link pulse bursts (clause 28.2.1).
//!
//! A burst is 17 clock pulses 125 us apart; a pulse half-way between two of them is a one, no pulse
//! is a zero. The 16 bits, the lowest first, are the link code word. Times are nanoseconds on a
//! clock of the caller.

use core::fmt;
use core::ops::RangeInclusive;

/// Width of a link pulse, ns (clause 14.3.1.2.1).
pub const PULSE_NS: u64 = 100;
/// Interval between normal link pulses, or between bursts, ns (16 ms +- 8 ms).
pub const PULSE_INTERVAL_NS: RangeInclusive<u64> = 8_000_000..=24_000_000;
/// The nominal interval, ns.
pub const PULSE_INTERVAL_NOMINAL_NS: u64 = 16_000_000;
/// Time without frame or pulse after which the link is down, ns (clause 14.2.3, `link_loss_timer`).
pub const LINK_LOSS_NS: RangeInclusive<u64> = 50_000_000..=150_000_000;
/// A pulse that follows another within this time does not count, ns (clause 14.2.3,
/// `link_test_min_timer`).
pub const LINK_TEST_MIN_NS: RangeInclusive<u64> = 2_000_000..=7_000_000;
/// A pulse that follows another after more than this time restarts the count, ns
/// (`link_test_max_timer`).
pub const LINK_TEST_MAX_NS: RangeInclusive<u64> = 25_000_000..=150_000_000;
/// Consecutive pulses that bring the link up (clause 14.2.3, `lc_max`).
pub const LINK_COUNT: RangeInclusive<u32> = 2..=10;

/// Clock pulse to clock pulse, ns (clause 28.2.1.1.2, Table 28-1, T2: 125 us +- 14 us).
pub const CLOCK_TO_CLOCK_NS: u64 = 125_000;
/// Clock pulse to data pulse, ns (Table 28-1, T3: 62.5 us +- 7 us).
pub const CLOCK_TO_DATA_NS: u64 = 62_500;
/// Clock pulses in a burst.
pub const CLOCK_PULSES: u8 = 17;
/// First to last pulse of a burst, ns: 2 ms.
pub const BURST_NS: u64 = 16 * CLOCK_TO_CLOCK_NS;

/// Window in which a receiver accepts a data pulse, ns after the preceding clock pulse: between the
/// `data_detect` timers (Table 28-9: at least 15 to 47 us, at most 78 to 100 us), at their
/// midpoints.
const DATA_WINDOW_NS: RangeInclusive<u64> = 31_000..=89_000;
/// Window in which it accepts the next clock pulse: up to `flp_test_max_timer` (Table 28-9: 165 to
/// 185 us).
const CLOCK_WINDOW_NS: RangeInclusive<u64> = 89_001..=175_000;

/// The 16 bits of a burst: selector, abilities, remote fault, acknowledge, next page (clause
/// 28.2.1.2; abilities by Annex 28B.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct LinkCodeWord(pub u16);

impl LinkCodeWord {
    /// Selector field of IEEE 802.3 (Annex 28A).
    pub const SELECTOR_802_3: u16 = 0x0001;
    /// 10BASE-T, half duplex.
    pub const TEN_HALF: u16 = 1 << 5;
    /// 10BASE-T, full duplex.
    pub const TEN_FULL: u16 = 1 << 6;
    /// 100BASE-TX, half duplex.
    pub const HUNDRED_HALF: u16 = 1 << 7;
    /// 100BASE-TX, full duplex.
    pub const HUNDRED_FULL: u16 = 1 << 8;
    /// 100BASE-T4.
    pub const T4: u16 = 1 << 9;
    /// PAUSE for full duplex links.
    pub const PAUSE: u16 = 1 << 10;
    /// Asymmetric PAUSE for full duplex links.
    pub const ASYMMETRIC_PAUSE: u16 = 1 << 11;
    /// Extended next pages.
    pub const EXTENDED_NEXT_PAGE: u16 = 1 << 12;
    /// Remote fault.
    pub const REMOTE_FAULT: u16 = 1 << 13;
    /// The partner's word was received three times.
    pub const ACKNOWLEDGE: u16 = 1 << 14;
    /// More pages follow.
    pub const NEXT_PAGE: u16 = 1 << 15;

    /// The base page of an 802.3 station with the given `abilities`, flags of this type.
    #[must_use]
    pub const fn base_page(abilities: u16) -> Self {
        Self(abilities & !0x1F | Self::SELECTOR_802_3)
    }

    /// True if all of `flags` are set.
    #[must_use]
    pub const fn has(self, flags: u16) -> bool {
        self.0 & flags == flags
    }

    /// The selector field.
    #[must_use]
    pub const fn selector(self) -> u16 {
        self.0 & 0x1F
    }

    /// The best ability that both stations have, by the priorities of Annex 28B.3; one of
    /// [`Self::HUNDRED_FULL`], [`Self::T4`], [`Self::HUNDRED_HALF`], [`Self::TEN_FULL`],
    /// [`Self::TEN_HALF`].
    #[must_use]
    pub fn best_in_common(self, partner: Self) -> Option<u16> {
        let both = Self(self.0 & partner.0);
        let by_priority = [
            Self::HUNDRED_FULL,
            Self::T4,
            Self::HUNDRED_HALF,
            Self::TEN_FULL,
            Self::TEN_HALF,
        ];
        (self.selector() == partner.selector())
            .then(|| by_priority.into_iter().find(|&ability| both.has(ability)))
            .flatten()
    }

    /// Start times of the pulses of the burst, ns after its first.
    ///
    /// ```
    /// use linerate_ether::phy10::link::LinkCodeWord;
    /// let word = LinkCodeWord::base_page(LinkCodeWord::TEN_HALF);
    /// let pulses: [u64; 4] = core::array::from_fn(|n| word.pulses_ns().nth(n).unwrap());
    /// assert_eq!(pulses, [0, 62_500, 125_000, 250_000]);
    /// assert_eq!(word.pulses_ns().last(), Some(2_000_000));
    /// ```
    pub fn pulses_ns(self) -> impl Iterator<Item = u64> + Clone {
        (0..2 * u64::from(CLOCK_PULSES) - 1)
            .filter(move |slot| slot % 2 == 0 || self.0 >> (slot / 2) & 1 != 0)
            .map(|slot| slot * CLOCK_TO_DATA_NS)
    }
}

/// Event completed by a pulse, or by the silence after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// A single link pulse.
    NormalPulse,
    /// A complete burst.
    Burst(LinkCodeWord),
    /// Pulses that do not form a burst.
    Malformed(BurstError),
}

/// Reason why pulses do not form a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BurstError {
    /// The burst stopped early.
    Truncated {
        /// Clock pulses up to then, of 17.
        clock_pulses: u8,
    },
    /// A pulse arrived earlier than any pulse of a burst can.
    TooSoon {
        /// Time since the previous pulse, ns.
        after_ns: u64,
    },
}

impl fmt::Display for BurstError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { clock_pulses } => {
                write!(f, "burst stopped after {clock_pulses} of 17 clock pulses")
            }
            Self::TooSoon { after_ns } => write!(f, "pulse only {after_ns} ns after another"),
        }
    }
}

impl core::error::Error for BurstError {}

/// Distinguishes normal link pulses from bursts and decodes the bursts, pulse by pulse.
///
/// A pulse is identified as a normal one only if nothing follows it: call
/// [`LinkReceiver::on_silence`] after a time without pulses.
#[derive(Debug, Clone, Default)]
pub struct LinkReceiver {
    state: Option<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    /// Start time of its first pulse.
    began_ns: u64,
    /// Start time of the last clock pulse.
    clock_ns: u64,
    clock_pulses: u8,
    /// A data pulse followed the last clock pulse.
    data: bool,
    word: u16,
}

impl Burst {
    const fn begin(at_ns: u64) -> Self {
        Self {
            began_ns: at_ns,
            clock_ns: at_ns,
            clock_pulses: 1,
            data: false,
            word: 0,
        }
    }

    const fn ended(self) -> LinkEvent {
        if self.clock_pulses == 1 && !self.data {
            LinkEvent::NormalPulse
        } else {
            LinkEvent::Malformed(BurstError::Truncated {
                clock_pulses: self.clock_pulses,
            })
        }
    }
}

impl LinkReceiver {
    /// A receiver in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: None }
    }

    /// Processes a pulse that began at `at_ns` (never earlier than the previous one) and returns
    /// the event that it completes.
    pub fn on_pulse(&mut self, at_ns: u64) -> Option<LinkEvent> {
        let Some(burst) = &mut self.state else {
            self.state = Some(Burst::begin(at_ns));
            return None;
        };
        let after_ns = at_ns.saturating_sub(burst.clock_ns);
        if after_ns > *CLOCK_WINDOW_NS.end() {
            let event = burst.ended();
            *burst = Burst::begin(at_ns);
            return Some(event);
        }
        if CLOCK_WINDOW_NS.contains(&after_ns) {
            // The data bit before this clock pulse is now complete; bits arrive lowest first.
            burst.word = burst.word >> 1 | u16::from(burst.data) << 15;
            burst.clock_pulses += 1;
            burst.data = false;
            burst.clock_ns = at_ns;
            if burst.clock_pulses < CLOCK_PULSES {
                return None;
            }
            let word = LinkCodeWord(burst.word);
            self.state = None;
            return Some(LinkEvent::Burst(word));
        }
        if DATA_WINDOW_NS.contains(&after_ns) && !burst.data {
            burst.data = true;
            return None;
        }
        self.state = None;
        Some(LinkEvent::Malformed(BurstError::TooSoon { after_ns }))
    }

    /// Start time of the pulse or burst in progress.
    #[must_use]
    pub fn began_ns(&self) -> Option<u64> {
        self.state.map(|burst| burst.began_ns)
    }

    /// Processes silence up to `now_ns` and returns the pulse or burst that it completes.
    pub fn on_silence(&mut self, now_ns: u64) -> Option<LinkEvent> {
        let over =
            |burst: &mut Burst| now_ns.saturating_sub(burst.clock_ns) > *CLOCK_WINDOW_NS.end();
        self.state.take_if(over).map(Burst::ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn receive(pulses: impl IntoIterator<Item = u64>) -> Vec<LinkEvent> {
        let mut receiver = LinkReceiver::new();
        let mut events: Vec<_> = pulses
            .into_iter()
            .filter_map(|at| receiver.on_pulse(at))
            .collect();
        events.extend(receiver.on_silence(u64::MAX));
        events
    }

    #[test]
    fn normal_pulses() {
        assert_eq!(
            receive([0, 16_000_000, 32_000_000]),
            [LinkEvent::NormalPulse; 3]
        );
        let mut receiver = LinkReceiver::new();
        assert_eq!(receiver.on_pulse(5), None);
        assert_eq!(receiver.began_ns(), Some(5));
        assert_eq!(receiver.on_silence(100_000), None);
        assert_eq!(receiver.on_silence(200_000), Some(LinkEvent::NormalPulse));
        assert_eq!(receiver.on_silence(300_000), None);
    }

    #[test]
    fn malformed_bursts() {
        let word = LinkCodeWord::base_page(LinkCodeWord::TEN_HALF);
        let cut = word.pulses_ns().filter(|&at| at < 1_000_000);
        assert_eq!(
            receive(cut),
            [LinkEvent::Malformed(BurstError::Truncated {
                clock_pulses: 8
            })]
        );
        assert_eq!(
            receive([0, 10_000]),
            [LinkEvent::Malformed(BurstError::TooSoon {
                after_ns: 10_000
            })]
        );
    }

    #[test]
    fn abilities() {
        let all = LinkCodeWord::base_page(0xFFE0 & !LinkCodeWord::NEXT_PAGE);
        let ten = LinkCodeWord::base_page(LinkCodeWord::TEN_HALF);
        assert_eq!(ten.0, 0x0021);
        assert_eq!(all.best_in_common(ten), Some(LinkCodeWord::TEN_HALF));
        assert_eq!(all.best_in_common(all), Some(LinkCodeWord::HUNDRED_FULL));
        assert_eq!(
            ten.best_in_common(LinkCodeWord(LinkCodeWord::TEN_HALF)),
            None
        );
        assert_eq!(
            ten.best_in_common(LinkCodeWord::base_page(LinkCodeWord::TEN_FULL)),
            None
        );
    }

    proptest! {
        /// Every word is decoded with the jitter that Table 28-1 allows on each pulse.
        #[test]
        fn bursts_round_trip(
            words in prop::collection::vec(any::<u16>(), 1..4),
            jitter in prop::collection::vec(-7_000..7_000_i64, 33),
        ) {
            let pulses = words.iter().enumerate().flat_map(|(index, &word)| {
                let start = 1_000_000 + index as u64 * PULSE_INTERVAL_NOMINAL_NS;
                let jitter = jitter.clone();
                LinkCodeWord(word).pulses_ns().map(move |at| {
                    (start + at).saturating_add_signed(jitter[(at / CLOCK_TO_DATA_NS) as usize])
                })
            });
            let expected: Vec<_> =
                words.iter().map(|&word| LinkEvent::Burst(LinkCodeWord(word))).collect();
            prop_assert_eq!(receive(pulses), expected);
        }

        #[test]
        fn any_pulses_are_safe(gaps in prop::collection::vec(0..300_000_u64, 0..100)) {
            let pulses = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) });
            receive(pulses);
            receive([u64::MAX, 0, u64::MAX]);
        }
    }
}
