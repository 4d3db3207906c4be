//! TCP segments, parsed from and emitted as bytes (RFC 9293 section 3.1).

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, Ipv4Address, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber, TcpTimestampRepr,
};

/// Control flag of a segment other than ACK, which is [`Segment::ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// No flag other than ACK.
    #[default]
    None,
    /// PSH: the sender has no more data to send now.
    Push,
    /// SYN.
    Syn,
    /// FIN.
    Fin,
    /// RST.
    Reset,
}

/// One TCP segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Sequence number of the first octet, or of SYN or FIN.
    pub sequence: u32,
    /// Acknowledgment number; `None` without the ACK flag.
    pub ack: Option<u32>,
    /// Control flag other than ACK.
    pub control: Control,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// Maximum segment size option, on a SYN.
    pub mss: Option<u16>,
    /// Window scale option, on a SYN (RFC 7323).
    pub window_scale: Option<u8>,
    /// SACK-permitted option, on a SYN (RFC 2018).
    pub sack_permitted: bool,
    /// SACK blocks: left and right edge (RFC 2018).
    pub sack: [Option<(u32, u32)>; 3],
    /// Timestamp value and echo reply (RFC 7323).
    pub timestamp: Option<(u32, u32)>,
    /// The octets carried.
    pub payload: Vec<u8>,
}

impl Segment {
    /// Sequence numbers that the segment occupies, including SYN and FIN.
    #[must_use]
    pub fn sequence_len(&self) -> u64 {
        self.payload.len() as u64 + u64::from(matches!(self.control, Control::Syn | Control::Fin))
    }

    /// Parses a segment sent from `source` to `destination`; `None` if it is malformed or its
    /// checksum is wrong.
    #[must_use]
    pub fn parse(bytes: &[u8], source: Ipv4Address, destination: Ipv4Address) -> Option<Self> {
        let packet = TcpPacket::new_checked(bytes).ok()?;
        let (source, destination) = (IpAddress::Ipv4(source), IpAddress::Ipv4(destination));
        let checks = ChecksumCapabilities::default();
        let repr = TcpRepr::parse(&packet, &source, &destination, &checks).ok()?;
        Some(Self {
            source_port: repr.src_port,
            destination_port: repr.dst_port,
            sequence: repr.seq_number.0 as u32,
            ack: repr.ack_number.map(|ack| ack.0 as u32),
            control: match repr.control {
                TcpControl::None => Control::None,
                TcpControl::Psh => Control::Push,
                TcpControl::Syn => Control::Syn,
                TcpControl::Fin => Control::Fin,
                TcpControl::Rst => Control::Reset,
            },
            window: repr.window_len,
            mss: repr.max_seg_size,
            window_scale: repr.window_scale,
            sack_permitted: repr.sack_permitted,
            sack: repr.sack_ranges,
            timestamp: repr.timestamp.map(|stamp| (stamp.tsval, stamp.tsecr)),
            payload: repr.payload.to_vec(),
        })
    }

    /// The segment as bytes, with its checksum.
    #[must_use]
    pub fn emit(&self, source: Ipv4Address, destination: Ipv4Address) -> Vec<u8> {
        let repr = TcpRepr {
            src_port: self.source_port,
            dst_port: self.destination_port,
            control: match self.control {
                Control::None => TcpControl::None,
                Control::Push => TcpControl::Psh,
                Control::Syn => TcpControl::Syn,
                Control::Fin => TcpControl::Fin,
                Control::Reset => TcpControl::Rst,
            },
            seq_number: TcpSeqNumber(self.sequence as i32),
            ack_number: self.ack.map(|ack| TcpSeqNumber(ack as i32)),
            window_len: self.window,
            window_scale: self.window_scale,
            max_seg_size: self.mss,
            sack_permitted: self.sack_permitted,
            sack_ranges: self.sack,
            timestamp: self
                .timestamp
                .map(|(tsval, tsecr)| TcpTimestampRepr { tsval, tsecr }),
            payload: &self.payload,
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(
            &mut TcpPacket::new_unchecked(&mut bytes[..]),
            &IpAddress::Ipv4(source),
            &IpAddress::Ipv4(destination),
            &ChecksumCapabilities::default(),
        );
        bytes
    }
}

/// 32-bit sequence number of a stream position. Position 0 is the SYN, 1 the first octet.
#[must_use]
pub const fn to_sequence(initial: u32, position: u64) -> u32 {
    initial.wrapping_add(position as u32)
}

/// Stream position of `sequence`, nearest to `near`; `None` if it is before the SYN.
#[must_use]
pub const fn to_position(initial: u32, sequence: u32, near: u64) -> Option<u64> {
    let offset = sequence.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
    near.checked_add_signed(offset as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Ipv4Address = Ipv4Address::new(169, 254, 10, 1);
    const B: Ipv4Address = Ipv4Address::new(169, 254, 10, 2);

    #[test]
    fn positions_survive_many_wraps_of_the_sequence_number() {
        let initial = 0xFFFF_FF00;
        for near in [0_u64, 0x200, 0x1_0000_0000, 0x5_8000_0000] {
            for position in [near, near + 0x7000_0000, near.saturating_sub(0x1000)] {
                let sequence = to_sequence(initial, position);
                assert_eq!(to_position(initial, sequence, near), Some(position));
            }
        }
        assert_eq!(to_position(initial, initial - 1, 0), None);
    }

    proptest! {
        #[test]
        fn a_segment_survives_its_bytes(
            (sequence, ack, window) in any::<(u32, Option<u32>, u16)>(),
            (mss, window_scale) in (any::<Option<u16>>(), proptest::option::of(0..15_u8)),
            sack in proptest::option::of(any::<(u32, u32)>()),
            timestamp in any::<Option<(u32, u32)>>(),
            payload in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let segment = Segment {
                source_port: 80, destination_port: 4000, sequence, ack,
                control: Control::Push, window, mss, window_scale,
                sack_permitted: false,
                // SACK blocks are only sent in a segment with ACK.
                sack: [sack.filter(|_| ack.is_some()), None, None],
                timestamp, payload,
            };
            prop_assert_eq!(Segment::parse(&segment.emit(A, B), A, B), Some(segment));
        }

        #[test]
        fn damage_is_detected(at in 0..30_usize, flip in 1..=255_u8) {
            let segment = Segment {
                source_port: 80, destination_port: 4000, ack: Some(7),
                payload: b"0123456789".to_vec(), ..Segment::default()
            };
            let mut bytes = segment.emit(A, B);
            bytes[at] ^= flip;
            prop_assert_eq!(Segment::parse(&bytes, A, B), None);
        }
    }
}
