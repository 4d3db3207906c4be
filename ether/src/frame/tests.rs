use super::*;
use crate::fcs;
use crate::ledger::DropCause;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

const STATION: MacAddress = MacAddress([0x02, 0, 0, 0, 0, 1]);

/// An ARP request as on the wire; its FCS was computed with zlib.
fn arp_request() -> Vec<u8> {
    let mut frame = vec![0; 64];
    frame[..42].copy_from_slice(&[
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00,
        0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0xA9, 0xFE,
        0x0A, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xA9, 0xFE, 0x0A, 0x02,
    ]);
    frame[60..].copy_from_slice(&[0x21, 0xCC, 0x87, 0x68]);
    frame
}

#[test]
fn known_frame() {
    let wire = arp_request();
    let frame = check_received(&wire).unwrap();
    assert_eq!(frame.destination(), MacAddress::BROADCAST);
    assert_eq!(frame.source(), STATION);
    assert_eq!(frame.ethertype(), Some(EtherType::ARP));
    assert_eq!(frame.payload().len(), 46);

    let mut built = [0xAA; 64];
    built[..42].copy_from_slice(&wire[..42]);
    assert_eq!(finish(&mut built, 42), Ok(64));
    assert_eq!(built[..], wire[..]);
}

#[test]
fn length_limits() {
    let frame = |len: usize, tagged: bool| {
        let mut frame = vec![0; len];
        frame[12..14].copy_from_slice(if tagged { &[0x81, 0x00] } else { &[0x08, 0x00] });
        frame
    };
    assert_eq!(check_length(&[]), Err(CheckError::Runt { len: 0 }));
    assert_eq!(
        check_length(&frame(63, false)),
        Err(CheckError::Runt { len: 63 })
    );
    assert_eq!(check_length(&frame(64, false)), Ok(()));
    assert_eq!(check_length(&frame(1518, false)), Ok(()));
    assert_eq!(
        check_length(&frame(1519, false)),
        Err(CheckError::Oversize { len: 1519 })
    );
    assert_eq!(check_length(&frame(1522, true)), Ok(()));
    assert_eq!(
        check_length(&frame(1523, true)),
        Err(CheckError::Oversize { len: 1523 })
    );
    assert_eq!(
        CheckError::Oversize { len: 1523 }.cause(),
        DropCause::Oversize
    );
}

#[test]
fn length_field_and_type() {
    assert_eq!(TypeOrLength::from_bits(1500), TypeOrLength::Length(1500));
    assert_eq!(TypeOrLength::from_bits(1501), TypeOrLength::Undefined(1501));
    assert_eq!(TypeOrLength::from_bits(1535), TypeOrLength::Undefined(1535));
    assert_eq!(
        TypeOrLength::from_bits(1536),
        TypeOrLength::Type(EtherType(1536))
    );

    // Three octets of payload, the rest is padding.
    let mut wire = [0; 64];
    wire[13] = 3;
    wire[14..18].copy_from_slice(b"abc ");
    fcs::append(&mut wire, 60).unwrap();
    assert_eq!(check_received(&wire).unwrap().payload(), b"abc");
    wire[13] = 47;
    fcs::append(&mut wire, 60).unwrap();
    assert_eq!(check_received(&wire), Err(CheckError::LengthMismatch));
}

#[test]
fn headers_cut_short() {
    let tagged = Header {
        destination: STATION,
        source: STATION,
        tag: Tag::new(5, true, 42),
        type_or_length: TypeOrLength::Type(EtherType::IPV4),
    };
    let mut bytes = [0; 18];
    assert_eq!(
        tagged.emit(&mut bytes[..17]),
        Err(FrameError::BufferTooSmall)
    );
    assert_eq!(tagged.emit(&mut bytes), Ok(18));
    for len in 0..18 {
        assert_eq!(
            Frame::new_checked(&bytes[..len]),
            Err(FrameError::Truncated),
            "{len}"
        );
    }
    let mut frame = Frame::new_checked(&mut bytes[..]).unwrap();
    let tag = frame.tag().unwrap();
    assert_eq!(
        (tag.priority(), tag.drop_eligible(), tag.vlan_id()),
        (5, true, 42)
    );
    assert_eq!(tag.bits(), 0xB02A);
    assert!(frame.set_tag(Tag::from_bits(7)));
    frame.set_destination(MacAddress::BROADCAST);
    assert_eq!(frame.tag(), Some(Tag::from_bits(7)));
    assert!(frame.destination().is_broadcast());
    assert!(frame.payload_mut().is_empty());
    assert_eq!(Tag::new(8, false, 0), None);
    assert_eq!(Tag::new(0, false, 4096), None);
}

#[test]
fn no_tag_to_remove() {
    let mut frame: Vec<u8> = arp_request();
    assert_eq!(remove_tag(&mut frame), None);
    assert_eq!(frame, arp_request());
    assert_eq!(remove_tag(&mut [0x81; 15]), None);
}

#[test]
fn no_room_leaves_the_buffer_alone() {
    let mut buffer = [0x77; 63];
    assert_eq!(finish(&mut buffer, 10), Err(FrameError::BufferTooSmall));
    assert_eq!(finish(&mut buffer, 60), Err(FrameError::BufferTooSmall));
    assert_eq!(finish(&mut buffer, 64), Err(FrameError::BufferTooSmall));
    assert_eq!(
        finish(&mut buffer, usize::MAX),
        Err(FrameError::BufferTooSmall)
    );
    assert_eq!(pad(&mut buffer[..59], 10), Err(FrameError::BufferTooSmall));
    assert_eq!(
        insert_tag(&mut buffer, 60, Tag::default()),
        Err(FrameError::BufferTooSmall)
    );
    assert_eq!(
        insert_tag(&mut buffer, usize::MAX, Tag::default()),
        Err(FrameError::BufferTooSmall)
    );
    assert_eq!(
        insert_tag(&mut buffer, 11, Tag::default()),
        Err(FrameError::Truncated)
    );
    assert_eq!(buffer, [0x77; 63]);
}

fn any_header() -> impl Strategy<Value = Header> {
    (
        any::<[u8; 6]>(),
        any::<[u8; 6]>(),
        any::<Option<u16>>(),
        1536..=u16::MAX,
    )
        .prop_filter_map(
            "a tag's identifier is no payload type",
            |(destination, source, tag, ethertype)| {
                let ethertype = EtherType(ethertype);
                (!ethertype.is_tag()).then(|| Header {
                    destination: MacAddress(destination),
                    source: MacAddress(source),
                    tag: tag.map(Tag::from_bits),
                    type_or_length: TypeOrLength::Type(ethertype),
                })
            },
        )
}

proptest! {
    #[test]
    fn emitted_frames_are_received(
        header in any_header(),
        payload in prop::collection::vec(any::<u8>(), 0..=1500),
    ) {
        let mut buffer = [0xEE; 1522];
        let start = header.emit(&mut buffer).unwrap();
        let end = start + payload.len();
        buffer[start..end].copy_from_slice(&payload);
        let len = finish(&mut buffer, end).unwrap();
        prop_assert_eq!(len, (end + 4).max(64));
        let frame = check_received(&buffer[..len]).unwrap();
        prop_assert_eq!(frame.header(), header);
        let (data, padding) = frame.payload().split_at(payload.len());
        prop_assert_eq!(data, &payload[..]);
        prop_assert!(padding.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn agrees_with_etherparse(
        header in any_header(),
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = vec![0; header.len()];
        header.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(&payload);
        let (ethernet, mut rest) = etherparse::Ethernet2Header::from_slice(&bytes).unwrap();
        prop_assert_eq!(ethernet.destination, header.destination.0);
        prop_assert_eq!(ethernet.source, header.source.0);
        let mut ether_type = ethernet.ether_type;
        if let Some(tag) = header.tag {
            let (vlan, after) = etherparse::SingleVlanHeader::from_slice(rest).unwrap();
            prop_assert_eq!(vlan.pcp.value(), tag.priority());
            prop_assert_eq!(vlan.drop_eligible_indicator, tag.drop_eligible());
            prop_assert_eq!(vlan.vlan_id.value(), tag.vlan_id());
            (ether_type, rest) = (vlan.ether_type, after);
        }
        prop_assert_eq!(ether_type.0, header.type_or_length.bits());
        prop_assert_eq!(rest, &payload[..]);
    }

    #[test]
    fn a_flipped_bit_is_noticed(len in 64..200_usize, bit in any::<prop::sample::Index>()) {
        let mut wire = vec![0x5A; len];
        wire[12..14].copy_from_slice(&[0x88, 0xB5]);
        fcs::append(&mut wire, len - 4).unwrap();
        prop_assert!(check_received(&wire).is_ok());
        let bit = bit.index(len * 8);
        wire[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(check_received(&wire), Err(CheckError::BadFcs));
    }

    #[test]
    fn tags_go_in_and_out(
        bytes in prop::collection::vec(any::<u8>(), 12..100),
        bits in any::<u16>(),
    ) {
        let mut buffer = [0; 104];
        buffer[..bytes.len()].copy_from_slice(&bytes);
        let tag = Tag::from_bits(bits);
        let len = insert_tag(&mut buffer, bytes.len(), tag).unwrap();
        prop_assert_eq!(len, bytes.len() + 4);
        prop_assert_eq!(&buffer[12..16], &[0x81, 0x00, (bits >> 8) as u8, bits as u8]);
        prop_assert_eq!(remove_tag(&mut buffer[..len]), Some(tag));
        prop_assert_eq!(&buffer[..bytes.len()], &bytes[..]);
    }
}
