//! Frames of wireless networks (IEEE 802.11), as a monitor captures them, with or without a header about their reception.

use super::link::LinkType;

/// Header of a frame that carries data of the network layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataFrame {
    /// Source address.
    pub(super) source: [u8; 6],
    /// True for a broadcast.
    pub(super) broadcast: bool,
    /// Offset of the `EtherType`.
    pub(super) ethertype_at: usize,
}

/// Field "flags" of a radiotap header: the frame has a wrong FCS; its header is padded to 32 bits.
const BAD_FCS: u8 = 0x40;
const IS_PADDED: u8 = 0x20;
/// Header of LLC and SNAP before an `EtherType` (RFC 1042).
const SNAP: [u8; 6] = [0xAA, 0xAA, 3, 0, 0, 0];
/// Frame control (IEEE 802.11-2020 section 9.2.4.1): the first octet of data frames, less their subtype; `QoS`; without data.
const DATA: u8 = 0x08;
const TYPE_MASK: u8 = 0x0F;
const IS_QOS: u8 = 0x80;
const IS_NULL: u8 = 0x40;
/// Its second octet.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const HAS_HT_CONTROL: u8 = 0x80;
/// `QoS` control: several packets in one frame.
const IS_AGGREGATE: u8 = 0x80;

/// Offset of the frame, and true if its header is padded. `None` if its receiver discards it.
fn skip_radiotap(octets: &[u8]) -> Option<(usize, bool)> {
    let length = usize::from(u16::from_le_bytes([*octets.get(2)?, *octets.get(3)?]));
    let word = |at: usize| Some(u32::from_le_bytes(*octets.get(at..)?.first_chunk()?));
    let present = word(4)?;
    let mut at = 4;
    while word(at)? >> 31 == 1 {
        at += 4;
    }
    at += 4;
    // The time of the MAC comes before the flags, on a multiple of eight octets.
    if present & 1 == 1 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if present & 2 == 2 {
        *octets.get(at)?
    } else {
        0
    };
    (flags & BAD_FCS == 0).then_some((length, flags & IS_PADDED != 0))
}

/// The header of a captured frame, if it carries an unencrypted packet, and arrived.
pub(super) fn parse(octets: &[u8], link: LinkType) -> Option<DataFrame> {
    let (start, is_padded) = if link == LinkType::IEEE802_11_RADIO {
        skip_radiotap(octets)?
    } else {
        (0, false)
    };
    let frame = octets.get(start..)?;
    let control: [u8; 2] = *frame.first_chunk()?;
    let is_fragment = control[1] & MORE_FRAGMENTS != 0 || frame.get(22)? & 0x0F != 0;
    let is_readable = control[0] & TYPE_MASK == DATA
        && control[0] & IS_NULL == 0
        && control[1] & PROTECTED == 0
        && !is_fragment;
    if !is_readable {
        return None;
    }
    let address = |at: usize| frame.get(at..)?.first_chunk().copied();
    let (destination, source, mut at) = match control[1] & (TO_DS | FROM_DS) {
        0 => (address(4)?, address(10)?, 24),
        TO_DS => (address(16)?, address(10)?, 24),
        FROM_DS => (address(4)?, address(16)?, 24),
        _ => (address(16)?, address(24)?, 30),
    };
    if control[0] & IS_QOS != 0 {
        if frame.get(at)? & IS_AGGREGATE != 0 {
            return None;
        }
        at += 2;
        if control[1] & HAS_HT_CONTROL != 0 {
            at += 4;
        }
    }
    if is_padded {
        at = at.next_multiple_of(4);
    }
    let has_type = frame.get(at..)?.starts_with(&SNAP);
    has_type.then_some(DataFrame {
        source,
        broadcast: destination == [0xFF; 6],
        ethertype_at: start + at + SNAP.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of these first two octets, with the addresses 1 to 3 and a packet of IPv4.
    fn frame(control: [u8; 2]) -> Vec<u8> {
        let mut octets = vec![control[0], control[1], 0, 0];
        for address in 1..=3 {
            octets.extend([address; 6]);
        }
        octets.extend([0x10, 0]);
        if control[0] & IS_QOS != 0 {
            octets.extend([0, 0]);
        }
        octets.extend(SNAP);
        octets.extend([8, 0, 0x45]);
        octets
    }

    fn parsed(control: [u8; 2]) -> Option<DataFrame> {
        parse(&frame(control), LinkType::IEEE802_11)
    }

    #[test]
    fn the_source_depends_on_the_direction_and_qos_has_a_longer_header() {
        let source = |control| parsed(control).map(|it| (it.source[0], it.ethertype_at));
        assert_eq!(source([DATA, 0]), Some((2, 30)));
        assert_eq!(source([DATA, TO_DS]), Some((2, 30)));
        assert_eq!(source([DATA | IS_QOS, FROM_DS]), Some((3, 32)));
    }

    #[test]
    fn what_carries_no_readable_packet_is_none() {
        for control in [
            [0x80, 0],
            [DATA | IS_NULL, 0],
            [DATA, PROTECTED],
            [DATA, MORE_FRAGMENTS],
        ] {
            assert_eq!(parsed(control), None, "{control:?}");
        }
        let mut other = frame([DATA, 0]);
        other[24] = 0xE0;
        assert_eq!(parse(&other, LinkType::IEEE802_11), None);
        for length in 0..frame([DATA, 0]).len() {
            let _ = parse(&frame([DATA, 0])[..length], LinkType::IEEE802_11);
        }
    }

    #[test]
    fn a_receiver_discards_a_frame_with_a_wrong_fcs() {
        let received = |flags: u8| {
            // A second word of presence, and the time of the MAC before the flags.
            let mut octets = vec![0, 0, 27, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0];
            octets.extend([7; 8]);
            octets.extend([flags, 2, 3]);
            octets.extend(frame([DATA, 0]));
            parse(&octets, LinkType::IEEE802_11_RADIO)
        };
        assert_eq!(received(0x10).map(|it| it.ethertype_at), Some(27 + 30));
        assert_eq!(received(0x10 | BAD_FCS), None);
        assert_eq!(received(IS_PADDED).map(|it| it.ethertype_at), Some(27 + 30));
    }
}
