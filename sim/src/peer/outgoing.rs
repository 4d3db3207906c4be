//! What a station hands to its MAC: a frame, and in what manner it goes onto the wire.

use linerate_ether::frame;

use crate::time::Span;

/// What stands at the end of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// Padding to 64 octets and the right FCS.
    #[default]
    Whole,
    /// The right FCS, without padding.
    Unpadded,
    /// An FCS with a bit wrong, without padding.
    BadFcs,
    /// Nothing: the octets are all there is.
    Bare,
}

/// How a frame goes onto the wire, where it differs from the standard's manner. Added to what the
/// wire's impairments do to every frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// What is appended to the octets.
    pub ending: Ending,
    /// Idle line before it at least; `None` for the MAC's gap.
    pub gap: Option<Span>,
    /// Preamble bits that never arrive.
    pub lost_preamble_bits: u8,
    /// Bits between last octet and end.
    pub dribble_bits: u8,
    /// The line is turned over for this frame.
    pub swapped_polarity: bool,
    /// A pulse of this width in the middle of the gap before it.
    pub pulse_before: Option<Span>,
    /// For whoever makes the frames: comes back in the record of the transmission.
    pub tag: u32,
}

impl Manner {
    /// As the standard wants it.
    pub const STANDARD: Self = Self {
        ending: Ending::Whole,
        gap: None,
        lost_preamble_bits: 0,
        dribble_bits: 0,
        swapped_polarity: false,
        pulse_before: None,
        tag: 0,
    };
}

/// A frame from the destination address on, without FCS, and its manner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Destination address, source address and so on.
    pub octets: Vec<u8>,
    /// How it is sent.
    pub manner: Manner,
}

impl Outgoing {
    /// A frame as the standard wants it.
    #[must_use]
    pub fn frame(octets: Vec<u8>) -> Self {
        Self {
            octets,
            manner: Manner::default(),
        }
    }

    /// The octets between SFD and end of frame.
    #[must_use]
    pub fn complete(&self) -> Vec<u8> {
        let len = self.octets.len();
        let mut octets = self.octets.clone();
        match self.manner.ending {
            Ending::Bare => {}
            Ending::Whole => {
                octets.resize(len.max(frame::MIN_LEN) + linerate_ether::fcs::LEN, 0);
                // The buffer has room for padding and FCS, which is all that could be wrong.
                let whole = frame::finish(&mut octets, len).unwrap_or(0);
                octets.truncate(whole);
            }
            Ending::Unpadded | Ending::BadFcs => {
                octets.resize(len + linerate_ether::fcs::LEN, 0);
                let _ = linerate_ether::fcs::append(&mut octets, len);
                if self.manner.ending == Ending::BadFcs {
                    octets[len] ^= 0x10;
                }
            }
        }
        octets
    }
}
