use super::*;

/// A segment of 1,000 octets.
fn packet(at_ms: u64, seq: u32, class: PacketClass) -> LoggedPacket {
    LoggedPacket {
        time_ns: at_ms * 1_000_000,
        seq,
        len: 1_000,
        flags: Segment::ACK,
        class,
        ..LoggedPacket::default()
    }
}

#[test]
fn reports_of_what_is_known_to_be_needless_are_subtracted_once() {
    let mut packets = vec![packet(0, 1, PacketClass::NewData)];
    packets.extend([1, 2].map(|at| packet(at, 1, PacketClass::FastRetransmission)));
    packets.extend([3, 4].map(|at| packet(at, 1, PacketClass::SpuriousRetransmission)));
    let lost = |reports: usize| {
        let report = LoggedPacket {
            is_from_second: true,
            has_dsack: true,
            len: 0,
            ..packet(9, 1, PacketClass::NoData)
        };
        let mut all = packets.clone();
        all.extend(vec![report; reports]);
        DirectionView::of(&all, End::First).lost()
    };
    assert_eq!([0, 2, 3, 4].map(lost), [2, 2, 1, 0]);
}

/// A host keeps a connection alive with an octet that the other one has, and which that one reports as arrived twice.
#[test]
fn the_answer_to_a_keep_alive_reports_no_copy() {
    let mut packets = vec![packet(0, 1, PacketClass::NewData)];
    for at in 0..20 {
        let keep_alive = LoggedPacket {
            len: 1,
            ..packet(1_000 * (at + 1), 1_000, PacketClass::NoData)
        };
        let answer = LoggedPacket {
            is_from_second: true,
            has_dsack: true,
            len: 0,
            ack: 1_001,
            ..packet(1_000 * (at + 1) + 30, 1, PacketClass::NoData)
        };
        packets.extend([keep_alive, answer]);
    }
    assert_eq!(DirectionView::of(&packets, End::First).dsacks(), 0);
}

#[test]
fn the_numbers_of_packets_show_which_was_overtaken() {
    let numbered = |at: u64, seq, number, class| LoggedPacket {
        identification: number,
        ..packet(at, seq, class)
    };
    let mut packets: Vec<LoggedPacket> = (0..12)
        .map(|at| {
            numbered(
                at,
                1 + 1_000 * at as u32,
                60 + at as u16,
                PacketClass::NewData,
            )
        })
        .collect();
    // One that was sent before the last one, and one that was sent behind it.
    packets.push(numbered(13, 20_001, 90, PacketClass::NewData));
    packets.push(numbered(14, 13_001, 80, PacketClass::FastRetransmission));
    packets.push(numbered(15, 14_001, 91, PacketClass::Reordered));
    let view = DirectionView::of(&packets, End::First);
    assert!(view.is_numbered);
    let classes = view.sent[13..].iter().map(|it| it.class);
    let expected = [PacketClass::Reordered, PacketClass::FastRetransmission];
    assert!(classes.eq(expected));
    // Random numbers show nothing.
    for (at, it) in packets.iter_mut().enumerate() {
        it.identification = (at as u16).wrapping_mul(40_503);
    }
    assert!(!DirectionView::of(&packets, End::First).is_numbered);
}

#[test]
fn a_gap_that_is_filled_twice_was_no_loss() {
    let mut view = DirectionView::of(
        &[
            packet(0, 1, PacketClass::NewData),
            packet(0, 2_001, PacketClass::NewData),
            packet(8, 1_001, PacketClass::FastRetransmission),
            packet(24, 1_001, PacketClass::SpuriousRetransmission),
            packet(30, 4_001, PacketClass::NewData),
            packet(55, 3_001, PacketClass::FastRetransmission),
        ],
        End::First,
    );
    view.reclassify(0, 0);
    assert_eq!((view.lost(), view.overtaken()), (1, 1));
}

#[test]
fn sequence_numbers_pass_the_wrap_in_both_directions() {
    let mut extender = Extender { last: None };
    let first = extender.extend(u32::MAX - 1);
    assert_eq!(extender.extend(3) - first, 5);
    assert_eq!(extender.extend(u32::MAX) - first, 1);
    assert_eq!(extender.extend(4) - first, 6);
}

/// 60 segments, each of which is acknowledged a millisecond later; what their sender echoes.
fn echoed(echoes: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut packets = Vec::new();
    for at in 0..60_u32 {
        let data = LoggedPacket {
            timestamps: (100 + at, echoes(at)),
            ..packet(at.into(), 1 + 1_000 * at, PacketClass::NewData)
        };
        let answer = LoggedPacket {
            timestamps: (1_000 + at, 100 + at),
            is_from_second: true,
            len: 0,
            ..data
        };
        packets.extend([data, answer]);
    }
    let view = DirectionView::of(&packets, End::First);
    view.sent.iter().map(|it| it.echo).collect()
}

#[test]
fn an_echo_that_never_follows_an_acknowledgment_is_none() {
    assert!(echoed(|_| 500).iter().all(|echo| *echo == 0));
    assert!(echoed(|at| 999 + at).iter().all(|echo| *echo != 0));
}
