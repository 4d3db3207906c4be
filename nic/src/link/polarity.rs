//! Whether the receive pair's wires are swapped (IEEE 802.3 clause 14.3.1.3 leaves it to the
//! receiver to notice and to correct).
//!
//! Link pulses and `TP_IDL` are positive by definition, and the start frame delimiter ends the
//! preamble with 1 1, which is 0 0 on a swapped pair. Data say nothing.

/// Inverted link pulses in a row that prove a swapped pair. One may be noise; the standard gives no
/// number.
const PULSES: u8 = 4;
/// Frames in a row with an inverted start frame delimiter, or `TP_IDL`, whichever the receiver looks
/// at, that prove it. One may have been damaged; the standard gives no number here either.
const FRAMES: u8 = 3;

/// Which way round a pulse, or a frame, was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Positive, as it should be.
    Normal,
    /// Negative.
    Inverted,
}

/// Counts what was heard the wrong way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polarity {
    pulses: u8,
    frames: u8,
}

impl Polarity {
    /// Nothing was heard yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pulses: 0,
            frames: 0,
        }
    }

    /// A link pulse was heard, relative to how the receiver is set now. `true`: turn it round.
    #[must_use]
    pub fn pulse(&mut self, sense: Sense) -> bool {
        self.count(sense, 1, 0)
    }

    /// A frame was heard, relative to how the receiver is set now. `true`: turn it round.
    #[must_use]
    pub fn frame(&mut self, sense: Sense) -> bool {
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
