//! MAC control PAUSE frames (IEEE 802.3 clause 31 and Annex 31B).

use core::fmt;

use crate::frame::{EtherType, Frame, FrameError, Header, MacAddress, TypeOrLength, pad};

/// Octets of a MAC control frame without FCS: all of them have minimum length.
pub const FRAME_LEN: usize = 60;
/// The PAUSE opcode (Annex 31A).
pub const OPCODE: u16 = 0x0001;
/// Bit times in one pause quantum (Annex 31B.2).
pub const QUANTUM_BIT_TIMES: u32 = 512;

/// A request to stop sending for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pause {
    /// Source address of the request.
    pub source: MacAddress,
    /// Pause time in quanta of 512 bit times; 0 cancels an earlier request.
    pub quanta: u16,
}

/// Reason why a frame is not a PAUSE frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseError {
    /// The bytes end before the pause time.
    Truncated,
    /// Not a MAC control frame.
    NotMacControl,
    /// A MAC control frame with another opcode.
    UnknownOpcode(u16),
}

impl fmt::Display for PauseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the MAC control frame is truncated"),
            Self::NotMacControl => f.write_str("not a MAC control frame"),
            Self::UnknownOpcode(opcode) => write!(f, "unknown MAC control opcode {opcode:#06x}"),
        }
    }
}

impl core::error::Error for PauseError {}

impl Pause {
    /// Parses a PAUSE frame (without FCS). The caller checks that the destination (the MAC control
    /// group, or a station's own address) is meant for this station.
    ///
    /// # Errors
    /// See [`PauseError`].
    pub fn parse(frame: &[u8]) -> Result<Self, PauseError> {
        let frame = Frame::new_checked(frame).map_err(|error| match error {
            FrameError::LengthMismatch => PauseError::NotMacControl,
            FrameError::Truncated | FrameError::BufferTooSmall => PauseError::Truncated,
        })?;
        if frame.ethertype() != Some(EtherType::MAC_CONTROL) {
            return Err(PauseError::NotMacControl);
        }
        let &[o0, o1, ref rest @ ..] = frame.payload() else {
            return Err(PauseError::Truncated);
        };
        let opcode = u16::from_be_bytes([o0, o1]);
        if opcode != OPCODE {
            return Err(PauseError::UnknownOpcode(opcode));
        }
        let &quanta = rest.first_chunk().ok_or(PauseError::Truncated)?;
        Ok(Self {
            source: frame.source(),
            quanta: u16::from_be_bytes(quanta),
        })
    }

    /// Writes the frame, padded but without FCS, to the start of `buffer` and returns its length,
    /// [`FRAME_LEN`].
    ///
    /// # Errors
    /// [`FrameError::BufferTooSmall`]; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, FrameError> {
        let buffer = buffer
            .get_mut(..FRAME_LEN)
            .ok_or(FrameError::BufferTooSmall)?;
        let header = Header {
            destination: MacAddress::MAC_CONTROL,
            source: self.source,
            tag: None,
            type_or_length: TypeOrLength::Type(EtherType::MAC_CONTROL),
        };
        let start = header.emit(buffer)?;
        buffer[start..start + 2].copy_from_slice(&OPCODE.to_be_bytes());
        buffer[start + 2..start + 4].copy_from_slice(&self.quanta.to_be_bytes());
        pad(buffer, start + 4)
    }

    /// Requested time in bit times.
    #[must_use]
    pub const fn bit_times(&self) -> u32 {
        self.quanta as u32 * QUANTUM_BIT_TIMES
    }

    /// Requested time in nanoseconds on a link of `bits_per_s`, rounded up.
    #[must_use]
    pub const fn duration_ns(&self, bits_per_s: core::num::NonZeroU64) -> u64 {
        // At most 65535 * 512 * 10^9, which is less than 2^55.
        (self.bit_times() as u64 * 1_000_000_000).div_ceil(bits_per_s.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcs;
    use core::num::NonZeroU64;
    use proptest::prelude::*;

    /// The frame of Annex 31B, octet by octet; its FCS was computed with zlib.
    #[test]
    fn bytes_on_the_wire() {
        let pause = Pause {
            source: MacAddress([0x02, 0, 0, 0, 0, 1]),
            quanta: 0x1234,
        };
        let mut buffer = [0xAA; 64];
        assert_eq!(pause.emit(&mut buffer), Ok(60));
        assert_eq!(
            buffer[..18],
            [
                1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, 0x12, 0x34
            ]
        );
        assert!(buffer[18..60].iter().all(|&byte| byte == 0));
        assert_eq!(fcs::append(&mut buffer, 60), Ok(64));
        assert_eq!(buffer[60..], 0xFF99_BEC8_u32.to_le_bytes());
        assert_eq!(
            pause.emit(&mut buffer[..59]),
            Err(FrameError::BufferTooSmall)
        );
    }

    #[test]
    fn requested_time() {
        let longest = Pause {
            source: MacAddress::default(),
            quanta: 0xFFFF,
        };
        assert_eq!(longest.bit_times(), 33_553_920);
        let ns = |bits_per_s| longest.duration_ns(NonZeroU64::new(bits_per_s).unwrap());
        assert_eq!(ns(10_000_000), 3_355_392_000);
        assert_eq!(ns(100_000_000), 335_539_200);
        assert_eq!(ns(3), 11_184_640_000_000_000);
        assert_eq!(ns(7), 4_793_417_142_857_143);
        assert_eq!(ns(1), 33_553_920_000_000_000);
    }

    #[test]
    fn other_frames_are_rejected() {
        let mut buffer = [0; 60];
        Pause {
            source: MacAddress::default(),
            quanta: 1,
        }
        .emit(&mut buffer)
        .unwrap();
        assert_eq!(Pause::parse(&buffer[..17]), Err(PauseError::Truncated));
        assert_eq!(Pause::parse(&buffer[..15]), Err(PauseError::Truncated));
        assert_eq!(Pause::parse(&buffer[..13]), Err(PauseError::Truncated));
        buffer[15] = 2;
        assert_eq!(Pause::parse(&buffer), Err(PauseError::UnknownOpcode(2)));
        buffer[13] = 0;
        assert_eq!(Pause::parse(&buffer), Err(PauseError::NotMacControl));
    }

    proptest! {
        #[test]
        fn round_trip(source in any::<[u8; 6]>(), quanta in any::<u16>()) {
            let pause = Pause { source: MacAddress(source), quanta };
            let mut buffer = [0; FRAME_LEN];
            pause.emit(&mut buffer).unwrap();
            prop_assert_eq!(Pause::parse(&buffer), Ok(pause));
        }
    }
}
