//! Detection of a swapped receive pair (IEEE 802.3 clause 14.3.1.3 leaves detection and correction
//! to the receiver).
//!
//! Link pulses and `TP_IDL` are positive by definition, and the start frame delimiter ends the
//! preamble with 1 1, which is 0 0 on a swapped pair. Data bits do not indicate the polarity.

/// Consecutive inverted link pulses that prove a swapped pair. One may be noise; the standard gives
/// no number.
const PULSES: u8 = 4;
/// Consecutive frames with an inverted start frame delimiter or `TP_IDL`, whichever the receiver
/// checks, that prove a swapped pair. One may be damaged; the standard gives no number here either.
const FRAMES: u8 = 3;

/// Polarity of a pulse or a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Positive, as required.
    Normal,
    /// Negative.
    Inverted,
}

/// Counts inverted pulses and frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polarity {
    pulses: u8,
    frames: u8,
}

impl Polarity {
    /// A detector in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pulses: 0,
            frames: 0,
        }
    }

    /// Processes a link pulse, relative to the current setting of the receiver. Returns `true` if
    /// the receiver must change its polarity.
    #[must_use]
    pub fn on_pulse(&mut self, sense: Sense) -> bool {
        self.count(sense, 1, 0)
    }

    /// Processes a frame, relative to the current setting of the receiver. Returns `true` if the
    /// receiver must change its polarity.
    #[must_use]
    pub fn on_frame(&mut self, sense: Sense) -> bool {
        self.count(sense, 0, 1)
    }

    fn count(&mut self, sense: Sense, pulses: u8, frames: u8) -> bool {
        if sense == Sense::Normal {
            *self = Self::new();
            return false;
        }
        self.pulses += pulses;
        self.frames += frames;
        let swapped = self.pulses >= PULSES || self.frames >= FRAMES;
        if swapped {
            *self = Self::new();
        }
        swapped
    }
}
