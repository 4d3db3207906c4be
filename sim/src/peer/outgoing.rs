//! A frame that a station hands to its MAC, with its transmission options.

use linerate_ether::frame;

use crate::time::Span;

/// Padding and FCS of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Padding to 64 octets and the correct FCS.
    #[default]
    Standard,
    /// The correct FCS, without padding.
    Unpadded,
    /// An FCS with one bit wrong, without padding.
    BadFcs,
    /// Neither padding nor FCS.
    Raw,
}

/// Deviations of one transmission from the standard, in addition to the wire's impairments, which
/// apply to every frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TxOptions {
    /// Padding and FCS appended to the octets.
    pub framing: Framing,
    /// Minimum idle line before it; `None` for the MAC's gap.
    pub gap: Option<Span>,
    /// Preamble bits that never arrive.
    pub lost_preamble_bits: u8,
    /// Bits between the last octet and the end of the frame.
    pub dribble_bits: u8,
    /// The line's polarity is inverted for this frame.
    pub swapped_polarity: bool,
    /// Width of a pulse in the middle of the gap before it.
    pub pulse_before: Option<Span>,
    /// Tag of the sender, copied to the record of the transmission.
    pub tag: u32,
}

impl TxOptions {
    /// No deviation from the standard.
    pub const STANDARD: Self = Self {
        framing: Framing::Standard,
        gap: None,
        lost_preamble_bits: 0,
        dribble_bits: 0,
        swapped_polarity: false,
        pulse_before: None,
        tag: 0,
    };
}

/// A frame from the destination address on, without FCS, and its transmission options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Destination address, source address and so on.
    pub octets: Vec<u8>,
    /// Transmission options.
    pub options: TxOptions,
}

impl Outgoing {
    /// A frame sent as the standard requires.
    #[must_use]
    pub fn frame(octets: Vec<u8>) -> Self {
        Self {
            octets,
            options: TxOptions::default(),
        }
    }

    /// The octets between SFD and end of frame, padding and FCS included.
    #[must_use]
    pub fn complete(&self) -> Vec<u8> {
        let len = self.octets.len();
        let mut octets = self.octets.clone();
        match self.options.framing {
            Framing::Raw => {}
            Framing::Standard => {
                octets.resize(len.max(frame::MIN_LEN) + linerate_ether::fcs::LEN, 0);
                // The buffer has space for padding and FCS, so this cannot fail.
                let whole = frame::finish(&mut octets, len).unwrap_or(0);
                octets.truncate(whole);
            }
            Framing::Unpadded | Framing::BadFcs => {
                octets.resize(len + linerate_ether::fcs::LEN, 0);
                let _ = linerate_ether::fcs::append(&mut octets, len);
                if self.options.framing == Framing::BadFcs {
                    octets[len] ^= 0x10;
                }
            }
        }
        octets
    }
}
