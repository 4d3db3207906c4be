//! The header fields that the analysis needs.
//!
//! Ethernet II (IEEE 802.3 clause 3.2.6), IPv4 (RFC 791 section 3.1), TCP (RFC 9293 section 3.1),
//! ICMP echo (RFC 792). Anything else, and anything cut short, is [`Packet::Other`].

/// Payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A TCP segment over IPv4.
    Tcp(Segment),
    /// An ICMP echo message over IPv4.
    Echo(Echo),
    /// Anything else.
    Other,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of the first octet.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Octets of payload.
    pub len: u32,
    /// Control bits.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
}

impl Segment {
    /// Control bit FIN.
    pub const FIN: u8 = 0x01;
    /// Control bit SYN.
    pub const SYN: u8 = 0x02;
    /// Control bit RST.
    pub const RST: u8 = 0x04;
    /// Control bit ACK.
    pub const ACK: u8 = 0x10;

    /// True if all of `bits` are set.
    pub const fn has(&self, bits: u8) -> bool {
        self.flags & bits == bits
    }

    /// True for SYN without ACK, which opens a connection.
    pub const fn is_initial_syn(&self) -> bool {
        self.has(Self::SYN) && !self.has(Self::ACK)
    }

    /// Sequence space: payload, SYN and FIN.
    pub const fn sequence_len(&self) -> u32 {
        self.len + self.has(Self::SYN) as u32 + self.has(Self::FIN) as u32
    }
}

/// An ICMP echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Request (type 8) or reply (type 0).
    pub request: bool,
    /// Identifier.
    pub identifier: u16,
    /// Sequence number.
    pub sequence: u16,
    /// Octets after the echo header.
    pub len: u32,
}

impl Packet {
    /// Parses `frame`, which begins with the destination address; preamble and FCS may be absent, trailing padding is
    /// removed by the IPv4 length.
    pub fn parse(frame: &[u8]) -> Self {
        Self::parse_ipv4(frame).unwrap_or(Self::Other)
    }

    fn parse_ipv4(frame: &[u8]) -> Option<Self> {
        let (header, datagram) = frame.split_at_checked(14)?;
        if u16_at(header, 12)? != 0x0800 || datagram.first()? >> 4 != 4 {
            return None;
        }
        let header_len = usize::from(datagram[0] & 0xF) * 4;
        let total_len = usize::from(u16_at(datagram, 2)?);
        let fragment_offset = u16_at(datagram, 6)? & 0x1FFF;
        if header_len < 20 || fragment_offset != 0 {
            return None;
        }
        let protocol = *datagram.get(9)?;
        // A capture may hold less than the datagram: lengths are those of the headers.
        let payload_len = total_len.checked_sub(header_len)?;
        let payload = datagram.get(header_len..)?;
        match protocol {
            1 => parse_echo(payload, payload_len),
            6 => parse_tcp(payload, payload_len),
            _ => None,
        }
    }
}

fn parse_tcp(bytes: &[u8], len: usize) -> Option<Packet> {
    let header_len = usize::from(*bytes.get(12)? >> 4) * 4;
    if header_len < 20 {
        return None;
    }
    Some(Packet::Tcp(Segment {
        source: u16_at(bytes, 0)?,
        destination: u16_at(bytes, 2)?,
        seq: u32_at(bytes, 4)?,
        ack: u32_at(bytes, 8)?,
        len: len.checked_sub(header_len)? as u32,
        flags: *bytes.get(13)?,
        window: u16_at(bytes, 14)?,
    }))
}

fn parse_echo(bytes: &[u8], len: usize) -> Option<Packet> {
    let request = match bytes.first()? {
        8 => true,
        0 => false,
        _ => return None,
    };
    Some(Packet::Echo(Echo {
        request,
        identifier: u16_at(bytes, 4)?,
        sequence: u16_at(bytes, 6)?,
        len: len.checked_sub(8)? as u32,
    }))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at + 2)?
        .try_into()
        .ok()
        .map(u16::from_be_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend(((20 + payload.len()) as u16).to_be_bytes());
        frame.extend([
            0, 0, 0x40, 0, 64, protocol, 0, 0, 169, 254, 10, 1, 169, 254, 10, 2,
        ]);
        frame.extend(payload);
        frame
    }

    #[test]
    fn segment_is_read_and_padding_is_not_payload() {
        let mut tcp = vec![
            0, 80, 0x10, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, 0x11, 0x02, 0x00, 0, 0, 0, 0,
        ];
        tcp.extend(*b"abc");
        let mut frame = ipv4(6, &tcp);
        frame.resize(60, 0);
        let expected = Segment {
            source: 80,
            destination: 4096,
            seq: 5,
            ack: 9,
            len: 3,
            flags: Segment::ACK | Segment::FIN,
            window: 512,
        };
        assert_eq!(Packet::parse(&frame), Packet::Tcp(expected));
        assert_eq!(expected.sequence_len(), 4);
        assert!(!expected.is_initial_syn());
    }

    #[test]
    fn echo_is_read() {
        let frame = ipv4(1, &[8, 0, 0, 0, 0x12, 0x34, 0, 7, 1, 2, 3, 4]);
        let echo = Echo {
            request: true,
            identifier: 0x1234,
            sequence: 7,
            len: 4,
        };
        assert_eq!(Packet::parse(&frame), Packet::Echo(echo));
    }

    #[test]
    fn cut_at_any_length_is_never_a_panic() {
        let tcp = [
            0, 80, 16, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, 0x11, 2, 0, 0, 0, 0, 0,
        ];
        for frame in [ipv4(6, &tcp), ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 7])] {
            for len in 0..frame.len() {
                let packet = Packet::parse(&frame[..len]);
                assert!(
                    len >= 42 || packet == Packet::Other,
                    "{len} octets read as {packet:?}"
                );
            }
        }
    }

    #[test]
    fn lengths_that_contradict_each_other_are_other() {
        let mut frame = ipv4(6, &[0; 20]);
        frame[14] = 0x4F;
        assert_eq!(Packet::parse(&frame), Packet::Other);
        let mut fragment = ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 7]);
        fragment[21] = 1;
        assert_eq!(Packet::parse(&fragment), Packet::Other);
    }
}
