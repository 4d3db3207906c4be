use super::*;

/// A connection with one call per packet; times in milliseconds.
struct TestConnection {
    connection: Connection,
    number: u64,
}

const MS: u64 = 1_000_000;

impl TestConnection {
    /// Opened in 2 ms, with an MSS of 1000 octets.
    fn new() -> Self {
        let mut own = Self {
            connection: Connection::new(1, 0),
            number: 0,
        };
        let options = [2, 4, 3, 0xE8, 3, 3, 2, 4, 2];
        own.packet(End::First, 0, 99, 0, Segment::SYN, 0, 8_000, &options);
        own.packet(
            End::Second,
            MS,
            499,
            100,
            Segment::SYN | Segment::ACK,
            0,
            8_000,
            &options,
        );
        own.ack(End::First, 2 * MS, 100, 500);
        own
    }

    #[expect(clippy::too_many_arguments, reason = "a packet has as many")]
    fn packet(
        &mut self,
        end: End,
        at_ns: u64,
        seq: u32,
        ack: u32,
        flags: u8,
        len: u32,
        window: u16,
        options: &[u8],
    ) {
        self.number += 1;
        let segment = Segment {
            source: 1,
            destination: 2,
            seq,
            ack,
            flags,
            window,
            len,
            options,
            options_len: 0,
            is_cut: false,
            ..Segment::default()
        };
        self.connection
            .record_segment(end, &segment, at_ns, self.number);
    }

    fn data(&mut self, at_ns: u64, seq: u32, len: u32) {
        self.packet(End::Second, at_ns, seq, 100, Segment::ACK, len, 2_000, &[]);
    }

    fn ack(&mut self, end: End, at_ns: u64, seq: u32, ack: u32) {
        self.packet(end, at_ns, seq, ack, Segment::ACK, 0, 2_000, &[]);
    }

    fn answer(&mut self, at_ns: u64, ack: u32) {
        self.ack(End::First, at_ns, 100, ack);
    }

    fn stats(&self) -> &SenderStats {
        self.connection.stats(End::Second)
    }
}

#[test]
fn syn_acks_belong_to_another_connection_by_their_sequence_number() {
    let mut connection = Connection::new(1, 0);
    connection.enable_flags();
    let mut flags = |seq, flags| {
        let segment = Segment {
            seq,
            flags,
            window: 500,
            ..Segment::default()
        };
        connection.record_segment(End::First, &segment, 1, 1)
    };
    // A reset with sequence number 0 does not set the ISN.
    let refused = flags(0, Segment::RST | Segment::ACK);
    assert_eq!(refused, AnalysisFlags::default());
    let answer = Segment::SYN | Segment::ACK;
    assert_eq!(flags(9000, answer), AnalysisFlags::REUSED_PORTS);
    assert_eq!(flags(9000, answer), AnalysisFlags::RETRANSMISSION);
}

#[test]
fn handshake_windows_and_round_trips() {
    let mut talk = TestConnection::new();
    talk.data(10 * MS, 500, 1000);
    talk.answer(12 * MS, 1500);
    talk.data(20 * MS, 1500, 1000);
    talk.data(20 * MS, 2500, 1000);
    talk.answer(26 * MS, 3500);
    let connection = &talk.connection;
    assert_eq!(connection.handshake().rtt_ns(), Some(2 * MS));
    assert_eq!(connection.handshake().nearer_end(), None);
    assert_eq!(connection.window_shift(End::First), Some(2));
    assert_eq!(connection.mss(End::First), Some(1000));
    assert!(connection.sack_permitted(End::Second));
    assert_eq!(connection.data_sender(), End::Second);
    let stats = talk.stats();
    assert_eq!((stats.min_window, stats.max_window), (Some(8_000), 8_000));
    assert_eq!((stats.segments, stats.unique_bytes), (3, 3000));
    assert_eq!(stats.rtt.count(), 3);
    assert_eq!((stats.rtt.min(), stats.rtt.max()), (Some(MS), Some(6 * MS)));
    assert_eq!(stats.isolated_rtt.max(), Some(2 * MS));
    assert_eq!(stats.max_in_flight, 2000);
}

/// A path doubles the SYN after it was answered: the host that accepts answers with an acknowledgment (RFC 9293 section 3.10.7.4).
#[test]
fn a_copy_of_a_syn_is_no_new_attempt_and_its_answer_no_round_trip() {
    let mut talk = TestConnection {
        connection: Connection::new(1, 0),
        number: 0,
    };
    let syn = |talk: &mut TestConnection, at_ns| {
        talk.packet(End::First, at_ns, 99, 0, Segment::SYN, 0, 8_000, &[]);
    };
    let accept = Segment::SYN | Segment::ACK;
    syn(&mut talk, 0);
    talk.packet(End::Second, MS / 10, 499, 100, accept, 0, 8_000, &[]);
    syn(&mut talk, MS);
    talk.ack(End::Second, MS + MS / 10, 500, 100);
    talk.packet(End::Second, 2 * MS, 499, 100, accept, 0, 8_000, &[]);
    talk.ack(End::First, 8 * MS, 100, 500);
    let handshake = talk.connection.handshake();
    assert_eq!(handshake.rtt_ns(), Some(8 * MS));
    assert_eq!(handshake.legs_ns(), Some([8 * MS - MS / 10, MS / 10]));
}

/// A SYN whose answer is lost behind the capture point is sent again, and so is its answer.
#[test]
fn the_round_trip_of_a_handshake_is_that_of_the_last_attempt() {
    let mut talk = TestConnection {
        connection: Connection::new(1, 0),
        number: 0,
    };
    for at_ns in [0, 1_000 * MS] {
        talk.packet(End::First, at_ns, 99, 0, Segment::SYN, 0, 8_000, &[]);
        let accept = Segment::SYN | Segment::ACK;
        talk.packet(End::Second, at_ns + MS, 499, 100, accept, 0, 8_000, &[]);
    }
    talk.ack(End::First, 1_003 * MS, 100, 500);
    let handshake = talk.connection.handshake();
    assert_eq!(handshake.legs_ns(), Some([2 * MS, MS]));
}

#[test]
fn retransmissions_by_reason() {
    let mut talk = TestConnection::new();
    // The last of three is lost repeatedly: a tail loss probe, then the timer, twice as long each time.
    for (seq, at) in [(500, 10), (1500, 10), (2500, 10)] {
        talk.data(at * MS, seq, 1000);
    }
    talk.answer(12 * MS, 2500);
    talk.data(30 * MS, 2500, 1000);
    talk.data(240 * MS, 2500, 1000);
    talk.data(640 * MS, 2500, 1000);
    talk.answer(642 * MS, 3500);
    let stats = talk.stats();
    assert_eq!(
        (stats.tail_loss_probes, stats.time_outs, stats.max_backoff),
        (1, 2, 2)
    );
    assert_eq!(&stats.retransmit_delays[..3], [1, 1, 1]);
    assert_eq!(stats.longest_stall_ns, 630 * MS);
    // The second of six is lost, four duplicate ACKs request it.
    for seq in (3500..9500).step_by(1000) {
        talk.data(700 * MS, seq, 1000);
    }
    for at in 702..707 {
        talk.answer(at * MS, 4500);
    }
    talk.data(706 * MS + 10, 4500, 1000);
    talk.answer(708 * MS, 9500);
    // Everything is acknowledged: the retransmission is spurious.
    talk.data(709 * MS, 8500, 1000);
    let stats = talk.stats();
    assert_eq!(
        (
            stats.fast_retransmits,
            stats.spurious_retransmissions,
            stats.duplicate_acks
        ),
        (1, 1, 4)
    );
    assert_eq!(
        (stats.retransmitted_segments, stats.retransmitted_bytes),
        (5, 5000)
    );
    assert_eq!((stats.first_retransmit, stats.last_retransmit), (8, 23));
    assert_eq!(
        (stats.lost_by_position[1], stats.lost_by_position[2]),
        (1, 1)
    );
}

#[test]
fn reordered_segments_are_not_retransmissions() {
    let mut talk = TestConnection::new();
    talk.data(10 * MS, 500, 1000);
    talk.data(10 * MS, 2500, 1000);
    talk.data(11 * MS, 1500, 1000);
    talk.answer(12 * MS, 3500);
    let stats = talk.stats();
    assert_eq!((stats.out_of_order, stats.retransmitted_segments), (1, 0));
    assert_eq!(stats.unique_bytes, 3000);
}

#[test]
fn data_missing_in_the_capture_is_no_loss() {
    let mut talk = TestConnection::new();
    talk.data(10 * MS, 500, 1000);
    talk.answer(12 * MS, 3500);
    talk.data(14 * MS, 3500, 3000);
    let stats = talk.stats();
    assert_eq!(
        (stats.unseen_bytes, stats.retransmitted_segments),
        (2000, 0)
    );
    assert_eq!(stats.super_segments, 1);
}

#[test]
fn octets_lost_on_both_sides_of_the_capture_point_count_once() {
    let mut talk = TestConnection::new();
    talk.data(10 * MS, 500, 1000);
    // 1500 to 2000 is lost before the capture point, the next segment after it.
    talk.data(11 * MS, 2000, 1000);
    talk.answer(12 * MS, 1500);
    // The retransmission is cut elsewhere: 2000 to 2500 was captured already.
    talk.data(300 * MS, 1500, 1000);
    let stats = talk.stats();
    assert_eq!((stats.unique_bytes, stats.lost_before_capture), (2500, 1));
    talk.data(301 * MS, 2500, 500);
    talk.data(500 * MS, 1500, 1000);
    talk.answer(502 * MS, 3000);
    let stats = talk.stats();
    assert_eq!((stats.unique_bytes, stats.unseen_bytes), (2500, 0));
}

#[test]
fn segments_lost_together_before_the_capture_point_count_each() {
    let mut talk = TestConnection::new();
    talk.data(10 * MS, 500, 1000);
    // 1500 to 4500 is lost before the capture point.
    talk.data(11 * MS, 4500, 1000);
    talk.answer(12 * MS, 1500);
    for (turn, seq) in [2500, 1500, 1500].into_iter().enumerate() {
        talk.data((300 + 10 * turn as u64) * MS, seq, 1000);
    }
    let stats = talk.stats();
    assert_eq!((stats.unique_bytes, stats.lost_before_capture), (4000, 2));
    assert_eq!(stats.lost_by_flight.iter().sum::<u64>(), 0);
    // From the middle of a captured segment into the gap.
    talk.data(330 * MS, 3000, 1000);
    assert_eq!(talk.stats().unique_bytes, 4500);
    talk.answer(340 * MS, 4000);
    talk.answer(342 * MS, 5500);
    let stats = talk.stats();
    assert_eq!((stats.unique_bytes, stats.unseen_bytes), (4500, 500));
    // The sender's own retransmissions are no round trips.
    assert_eq!(stats.rtt.max(), Some(2 * MS));
}

#[test]
fn gaps_without_room_do_not_count_twice() {
    let mut talk = TestConnection::new();
    // Every second segment is lost before the capture point, until no further range is tracked.
    for turn in 0..4000 {
        talk.data(10 * MS, 1500 + 2000 * turn, 1000);
    }
    for turn in 0..4000 {
        talk.data(300 * MS, 500 + 2000 * turn, 2000);
        talk.data(600 * MS, 500 + 2000 * turn, 2000);
    }
    let unique = talk.stats().unique_bytes;
    assert!((6_000_000..=8_000_000).contains(&unique), "{unique}");
}

#[test]
fn delayed_ack_that_a_small_segment_waits_for() {
    let mut talk = TestConnection::new();
    for turn in 0..4 {
        let (at, seq) = (100 * turn * MS, 500 + 1100 * turn as u32);
        talk.data(10 * MS + at, seq, 1000);
        talk.answer(12 * MS + at, seq + 1000);
        talk.data(20 * MS + at, seq + 1000, 100);
        talk.answer(60 * MS + at, seq + 1100);
        talk.data(60 * MS + at + 1000, seq + 1100, 1000);
        talk.answer(62 * MS + at, seq + 2100);
    }
    let stats = talk.stats();
    assert_eq!(stats.delayed_acks, 4);
}

#[test]
fn reopened_and_closed() {
    let mut talk = TestConnection::new();
    let syn = |seq| Segment {
        seq,
        flags: Segment::SYN,
        ..Segment::default()
    };
    assert!(talk.connection.is_new_connection(End::First, &syn(7)));
    assert!(!talk.connection.is_new_connection(End::First, &syn(99)));
    assert!(!talk.connection.is_closed());
    talk.packet(End::First, 5 * MS, 100, 500, Segment::RST, 0, 0, &[]);
    assert!(talk.connection.is_closed());
}

#[test]
fn data_acknowledged_in_a_gap_of_the_capture_is_unseen() {
    let mut talk = TestConnection::new();
    talk.data(3 * MS, 500, 1000);
    // 1500 to 2500 was sent and not captured.
    talk.data(4 * MS, 2500, 1000);
    talk.answer(5 * MS, 3500);
    let stats = talk.stats();
    assert_eq!(stats.unseen_bytes, 1000);
    assert_eq!(stats.retransmitted_segments, 0);
}

#[test]
fn a_pure_ack_right_before_keeps_a_receiver_busy() {
    let mut talk = TestConnection::new();
    // A segment right after an acknowledgment is lost; the RTO retransmits it alone, and it arrives.
    for turn in 0..4 {
        let (at, seq) = (400 * turn * MS, 500 + 1000 * turn as u32);
        talk.ack(End::Second, 10 * MS + at, seq, 100);
        talk.data(10 * MS + at + 60_000, seq, 1000);
        talk.data(310 * MS + at, seq, 1000);
        talk.answer(312 * MS + at, seq + 1000);
    }
    let stats = talk.stats();
    assert_eq!(stats.time_outs, 4);
    let fates = |fate: LossCount| (fate.sent, fate.lost);
    assert_eq!(fates(stats.spacing.isolated), (4, 0));
    assert_eq!(fates(stats.spacing.back_to_back), (4, 4));
    assert!(stats.spacing.loses_in_bursts());
}

/// A connection whose first packets were not captured; packets as `(milliseconds, end, seq, ack, len)`.
fn late(packets: &[(u64, End, u32, u32, u32)]) -> Connection {
    let mut connection = Connection::new(1, 0);
    for (number, (at_ms, end, seq, ack, len)) in packets.iter().enumerate() {
        let segment = Segment {
            seq: *seq,
            ack: *ack,
            len: *len,
            flags: Segment::ACK,
            window: 60_000,
            ..Segment::default()
        };
        connection.record_segment(*end, &segment, at_ms * MS, number as u64 + 1);
    }
    connection
}

#[test]
fn data_sent_before_the_capture_is_not_missing_from_it() {
    // Without SACK: a hole is repaired in each round trip, in data of which no octet was captured.
    let connection = late(&[
        (0, End::Second, 1, 1_000, 0),
        (0, End::First, 1_000, 1, 1_000),
        (60, End::Second, 1, 5_000, 0),
        (60, End::First, 5_000, 1, 1_000),
        (120, End::Second, 1, 9_000, 0),
        (120, End::First, 9_000, 1, 1_000),
        (120, End::First, 50_000, 1, 1_000),
        (180, End::Second, 1, 20_000, 0),
        (180, End::First, 20_000, 1, 1_000),
        (240, End::Second, 1, 51_000, 0),
    ]);
    let stats = connection.stats(End::First);
    assert_eq!(stats.unseen_bytes, 0);
    // What repairs these holes is requested: no timer runs for less than 200 ms.
    assert_eq!((stats.time_outs, stats.fast_retransmits), (0, 1));
}

#[test]
fn data_missing_after_a_silence_of_a_late_capture_is_missing() {
    let connection = late(&[
        (1, End::First, 1_000, 1, 1_000),
        (10, End::Second, 1, 2_000, 0),
        (5_000, End::First, 6_000, 1, 1_000),
        (5_010, End::Second, 1, 7_000, 0),
    ]);
    assert_eq!(connection.stats(End::First).unseen_bytes, 4_000);
}

#[test]
fn an_acknowledgment_of_what_no_window_permits_is_ignored() {
    let connection = late(&[
        (1, End::First, 1_000, 1, 1_000),
        (2, End::Second, 1, 2_000, 0),
        (3, End::Second, 1, 1_200_000_000, 0),
        (4, End::First, 2_000, 1, 1_000),
        (5, End::Second, 1, 3_000, 0),
    ]);
    let stats = connection.stats(End::First);
    assert_eq!((stats.unique_bytes, stats.unseen_bytes), (2_000, 0));
    assert_eq!(stats.retransmitted_segments, 0);
}

#[test]
fn data_missing_later_in_a_late_capture_is_missing() {
    let mut packets = vec![];
    for at in 0..100 {
        packets.push((at, End::First, 1_000 * at as u32, 1, 1_000));
        packets.push((at, End::Second, 1, 1_000 * (at as u32 + 1), 0));
    }
    packets.push((101, End::First, 105_000, 1, 1_000));
    packets.push((102, End::Second, 1, 106_000, 0));
    assert_eq!(late(&packets).stats(End::First).unseen_bytes, 5_000);
}

#[test]
fn a_repair_after_a_round_trip_is_no_timeout_at_the_receiver() {
    let mut talk = Connection::new(1, 0);
    let mut number = 0;
    let mut packet = |at_ms: u64, end: End, seq: u32, ack: u32, flags: u8, len: u32| {
        number += 1;
        let segment = Segment {
            seq,
            ack,
            len,
            flags,
            window: 60_000,
            ..Segment::default()
        };
        talk.record_segment(end, &segment, at_ms * MS, number);
    };
    // Captured at the client; the server is 120 ms away.
    packet(0, End::First, 99, 0, Segment::SYN, 0);
    packet(120, End::Second, 499, 100, Segment::SYN | Segment::ACK, 0);
    packet(120, End::First, 100, 500, Segment::ACK, 0);
    packet(240, End::Second, 500, 100, Segment::ACK, 1_000);
    packet(240, End::First, 100, 1_500, Segment::ACK, 0);
    for at in 2..5 {
        packet(241, End::Second, 500 + 1_000 * at, 100, Segment::ACK, 1_000);
        packet(241, End::First, 100, 1_500, Segment::ACK, 0);
    }
    packet(362, End::Second, 1_500, 100, Segment::ACK, 1_000);
    let stats = talk.stats(End::Second);
    assert_eq!((stats.time_outs, stats.fast_retransmits), (0, 1));
}
