//! Rules about windows, silences and gains, on synthetic uploads.

use super::*;
use linerate_capture::reader::Address;
use linerate_capture::tcp::{Connection, End, Segment};

const MS: u64 = 1_000_000;
const MSS: u32 = 1_460;

/// An upload: the first end sends. Captured `to_sender_ns` from the sender and `to_receiver_ns` from the receiver.
struct Upload {
    connection: Connection,
    packets: u64,
    window: u16,
    sent: u32,
}

impl Upload {
    fn open(to_sender_ns: u64, to_receiver_ns: u64, window: u16) -> Self {
        let options = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];
        Self::open_with(to_sender_ns, to_receiver_ns, window, &options)
    }

    /// The same with these options in both SYNs.
    fn open_with(to_sender_ns: u64, to_receiver_ns: u64, window: u16, options: &[u8]) -> Self {
        let mut own = Self {
            connection: Connection::new(1, 0),
            packets: 0,
            window,
            sent: 1,
        };
        own.packet(End::First, 0, Segment::SYN, (0, 0, 0), options);
        let answer = Segment::SYN | Segment::ACK;
        own.packet(End::Second, to_receiver_ns, answer, (0, 1, 0), options);
        let opened_ns = to_receiver_ns + to_sender_ns;
        own.packet(End::First, opened_ns, Segment::ACK, (1, 1, 0), &[]);
        own
    }

    fn packet(
        &mut self,
        end: End,
        at_ns: u64,
        flags: u8,
        (seq, ack, len): (u32, u32, u32),
        options: &[u8],
    ) {
        self.packets += 1;
        let segment = Segment {
            seq,
            ack,
            flags,
            window: self.window,
            len,
            options,
            ..Segment::default()
        };
        self.connection
            .record_segment(end, &segment, at_ns, self.packets);
    }

    /// A full segment at `seq`.
    fn data(&mut self, at_ns: u64, seq: u32) {
        self.packet(End::First, at_ns, Segment::ACK, (seq, 1, MSS), &[]);
        self.sent = self.sent.max(seq + MSS);
    }

    /// New full segments, `gap_ns` apart.
    fn send(&mut self, at_ns: u64, segments: u32, gap_ns: u64) {
        for at in 0..segments {
            self.data(at_ns + u64::from(at) * gap_ns, self.sent);
        }
    }

    /// Acknowledges what was sent, with this window.
    fn ack_all(&mut self, at_ns: u64, window: u16) {
        let before = std::mem::replace(&mut self.window, window);
        self.packet(End::Second, at_ns, Segment::ACK, (1, self.sent, 0), &[]);
        self.window = before;
    }

    fn findings(self) -> Vec<PathFinding> {
        let ends = [1, 2].map(|host| (Address([host; 16]), 5_000 + u16::from(host)));
        let flow = Flow {
            ends,
            connection: Box::new(self.connection),
        };
        explain_flows(&[flow]).0
    }

    fn causes(self) -> Vec<Cause> {
        let findings = self.findings();
        findings.iter().map(|it| it.finding.cause).collect()
    }
}

/// Segments of a round of 20 ms fill the window of `segments`, and pass 400 us apart.
fn window_rounds(segments: u32) -> Upload {
    let mut upload = Upload::open(19 * MS, MS / 50, 60_000);
    let window = (segments * MSS) as u16;
    upload.window = window;
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 20 * MS;
        for pair in 0..u64::from(segments / 2) {
            let at_ns = at_ns + pair * MS * 4 / 5;
            upload.send(at_ns, 2, MS * 2 / 5);
            upload.ack_all(at_ns + MS * 2 / 5 + 10_000, window);
        }
    }
    upload
}

#[test]
fn without_a_small_window_a_transfer_takes_as_long_as_the_slowest_link_needs() {
    let findings = window_rounds(6).findings();
    let first = &findings[0].finding;
    assert_eq!(first.cause, Cause::ReceiveWindow);
    // 600 segments, one each 400 us.
    let without_ns = first.evidence["time_without_ns"];
    assert!((without_ns / 240e6 - 1.0).abs() < 0.05, "{without_ns}");
}

/// A window of 16 segments that fills, is closed for `closed_ms`, and opens again; `windows` of them pass in between.
fn closings(windows: u64, closed_ms: u64) -> Vec<Cause> {
    let full = 16 * MSS as u16;
    let mut upload = Upload::open(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..30 {
        for window in 0..windows {
            upload.send(at_ns, 16, 10_000);
            at_ns += 6 * MS;
            let is_last = window + 1 == windows;
            upload.ack_all(at_ns, if is_last { 0 } else { full });
        }
        at_ns += closed_ms * MS;
        upload.ack_all(at_ns, full);
    }
    upload.causes()
}

#[test]
fn a_program_that_takes_a_buffer_at_a_time_is_slow_and_one_that_stops_now_and_then_stalls() {
    assert_eq!(closings(1, 45)[0], Cause::ReceiverReadsSlowly);
    assert_eq!(closings(8, 60)[0], Cause::ReceiverStalls);
}

#[test]
fn a_program_that_reads_slowly_between_its_stalls_is_slow() {
    let full = 16 * MSS as u16;
    let mut upload = Upload::open(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..12 {
        for window in 0..10 {
            upload.send(at_ns, 16, 5 * MS / 2);
            at_ns += 100 * MS;
            upload.ack_all(at_ns, if window == 9 { 0 } else { full });
        }
        at_ns += 300 * MS;
        upload.ack_all(at_ns, full);
    }
    assert_eq!(upload.causes()[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_window_far_below_what_was_granted_before_is_that_of_a_slow_reader() {
    let mut upload = Upload::open(MS / 50, 6 * MS, 60_000);
    upload.send(10 * MS, 20, 10_000);
    upload.ack_all(18 * MS, 60_000);
    upload.send(19 * MS, 20, 10_000);
    upload.ack_all(28 * MS, 3 * MSS as u16);
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 12 * MS;
        upload.send(at_ns, 3, 10_000);
        upload.ack_all(at_ns + 11 * MS, 3 * MSS as u16);
    }
    assert_eq!(upload.causes()[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_sender_that_loses_segments_is_not_accused_of_having_nothing_to_send() {
    let sender = |lost_each: Option<u32>| {
        let mut upload = Upload::open(MS / 50, 4 * MS, 60_000);
        for round in 0..120_u32 {
            let at_ns = 10 * MS + u64::from(round) * 40 * MS;
            let first = upload.sent;
            upload.send(at_ns, 4, 10_000);
            if lost_each.is_some_and(|each| round % each == 0) {
                upload.packet(
                    End::Second,
                    at_ns + 4 * MS,
                    Segment::ACK,
                    (1, first, 0),
                    &[],
                );
                for duplicate in 0..3 {
                    let ack_ns = at_ns + 4 * MS + duplicate * 10_000;
                    upload.packet(End::Second, ack_ns, Segment::ACK, (1, first, 0), &[]);
                }
                upload.data(at_ns + 5 * MS, first);
            }
            upload.ack_all(at_ns + 10 * MS, 60_000);
        }
        upload.causes()
    };
    assert!(sender(None).contains(&Cause::SenderIdle));
    assert!(!sender(Some(8)).contains(&Cause::SenderIdle));
}

#[test]
fn full_segments_that_are_never_acknowledged_are_a_black_hole_from_the_first_on() {
    let mut upload = Upload::open(MS / 50, 10 * MS, 60_000);
    upload.send(20 * MS, 10, 10_000);
    for at_ms in [250, 700, 1_550, 3_300] {
        upload.data(at_ms * MS, 1);
    }
    assert_eq!(upload.causes(), [Cause::MtuBlackHole]);
}

#[test]
fn a_receiver_that_acknowledged_all_that_arrived_does_not_stand_still() {
    // The second of each pair is lost before the capture point, and repeated after a timeout.
    let mut upload = Upload::open(5 * MS, MS / 50, 2 * MSS as u16);
    for round in 0..12_u64 {
        let at_ns = 10 * MS + round * 400 * MS;
        for pair in 0..20 {
            let at_ns = at_ns + pair * 6 * MS;
            upload.send(at_ns, 2, 300_000);
            upload.ack_all(at_ns + 320_000, 2 * MSS as u16);
        }
        upload.send(at_ns + 120 * MS, 1, 1);
        upload.ack_all(at_ns + 121 * MS, 2 * MSS as u16);
    }
    assert!(!upload.causes().contains(&Cause::ReceiverStalls));
}

/// Each round trip of 20 ms, near the sender, as many segments as `segments` says pass at once; one acknowledgment answers
/// all of them. The window varies with `windows`.
fn bursts(windows: [u16; 2], segments: impl Fn(u32) -> u32, round_ns: u64) -> Vec<Cause> {
    let mut upload = Upload::open(MS / 50, 20 * MS, windows[0]);
    for round in 0..100 {
        let at_ns = 30 * MS + u64::from(round) * round_ns;
        upload.send(at_ns, segments(round), 12_000);
        upload.ack_all(at_ns + 20 * MS, windows[round as usize % 2]);
    }
    upload.causes()
}

#[test]
fn the_same_amount_in_each_round_trip_is_that_of_a_send_buffer_even_if_it_is_sent_at_once() {
    let buffer = bursts([60_000, 60_000], |_| 22, 20 * MS + MS / 10);
    assert_eq!(buffer, [Cause::SendBuffer]);
    let block = bursts(
        [60_000, 60_000],
        |round| 15 + round % 2 * 15,
        20 * MS + MS / 10,
    );
    assert_eq!(block, [Cause::SendBuffer]);
    let growing = bursts([60_000, 60_000], |round| 4 + round / 4, 20 * MS + MS / 10);
    assert!(!growing.contains(&Cause::SendBuffer), "{growing:?}");
}

#[test]
fn pictures_at_a_constant_interval_accuse_no_acknowledgments() {
    let pictures = bursts([60_000, 60_000], |picture| 5 + picture * 7 % 13, 40 * MS);
    assert_eq!(pictures, []);
}

#[test]
fn a_window_is_unscaled_only_if_no_scale_was_offered() {
    let window = 44 * MSS as u16;
    let filled = |options: &[u8]| {
        let mut upload = Upload::open_with(MS / 50, 20 * MS, window, options);
        for round in 0..100 {
            let at_ns = 30 * MS + round * 20 * MS;
            upload.send(at_ns, 44, 12_000);
            upload.ack_all(at_ns + 19 * MS, window);
        }
        upload.causes()
    };
    let offered = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];
    assert_eq!(filled(&offered), [Cause::ReceiveWindow]);
    assert_eq!(filled(&offered[..6]), [Cause::NoWindowScaling]);
}

#[test]
fn a_receiver_whose_buffer_is_full_of_unread_data_acknowledges_late_because_it_reads_late() {
    let mut upload = Upload::open(MS / 50, 10 * MS, 60_000);
    upload.send(15 * MS, 20, 10_000);
    upload.ack_all(26 * MS, 60_000);
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 40 * MS;
        upload.send(at_ns, 9, 10_000);
        upload.ack_all(
            at_ns + 39 * MS,
            if round < 5 { 60_000 } else { 9 * MSS as u16 },
        );
    }
    assert_eq!(upload.causes()[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_small_window_that_the_segments_behind_a_lost_one_close_is_not_read_slowly() {
    let window = 5 * MSS as u16;
    let mut upload = Upload::open(MS / 50, 20 * MS, window);
    let mut at_ns = 30 * MS;
    for round in 0..100_u64 {
        let first = upload.sent;
        upload.send(at_ns, 5, 12_000);
        at_ns += 20 * MS;
        if round % 8 == 0 {
            for _ in 0..4 {
                upload.packet(End::Second, at_ns, Segment::ACK, (1, first, 0), &[]);
            }
            upload.data(at_ns + 12_000, first);
            at_ns += 20 * MS;
            upload.ack_all(at_ns, 0);
        }
        upload.ack_all(at_ns + 1_000, window);
    }
    let causes = upload.causes();
    assert!(!causes.contains(&Cause::ReceiverReadsSlowly), "{causes:?}");
}

#[test]
fn delayed_acknowledgments_of_single_segments_do_not_fill_the_path() {
    let mut upload = Upload::open(5 * MS, MS / 50, 60_000);
    for round in 0..60_u64 {
        let at_ns = 30 * MS + round * 255 * MS;
        upload.send(at_ns, 1, 0);
        upload.ack_all(at_ns + 250 * MS, 60_000);
    }
    let causes = upload.causes();
    assert!(!causes.contains(&Cause::PathRate), "{causes:?}");
}

#[test]
fn an_mss_that_a_router_clamps_behind_the_receiver_is_small() {
    let mut upload = Upload::open(20 * MS, MS / 50, 60_000);
    for segment in 0..400_u32 {
        let at_ns = 30 * MS + u64::from(segment) * MS;
        upload.packet(
            End::First,
            at_ns,
            Segment::ACK,
            (1 + segment * 256, 1, 256),
            &[],
        );
        upload.sent = 1 + (segment + 1) * 256;
        upload.ack_all(at_ns + 20_000, 60_000);
    }
    let causes = upload.causes();
    assert!(causes.contains(&Cause::SmallMss), "{causes:?}");
}

/// A segment each millisecond, whatever is lost, meets a policer of 80% of this rate with a bucket of 20 segments, or a
/// queue of the same size before a link of the same rate.
fn overload(is_queue: bool) -> Vec<PathFinding> {
    let mut upload = Upload::open(MS / 50, 20 * MS, 60_000);
    let mut events: Vec<(u64, u8, u32)> = Vec::new();
    let (mut level, mut acked, mut lost) = (0.0_f64, 0, Vec::<u32>::new());
    let mut repeat: Vec<(u64, u32)> = Vec::new();
    let mut next = 0;
    for slot in 0..3_000_u64 {
        let at_ns = 30 * MS + slot * MS;
        level = (level - 0.8).max(0.0);
        let due = repeat.first().is_some_and(|(due_ns, _)| *due_ns <= at_ns);
        let segment = if due {
            repeat.remove(0).1
        } else {
            next += 1;
            next - 1
        };
        events.push((at_ns, 0, segment));
        if level > 19.0 {
            repeat.push((at_ns + 25 * MS, segment));
            lost.retain(|it| *it != segment);
            lost.push(segment);
            continue;
        }
        lost.retain(|it| *it != segment);
        let wait_ns = if is_queue {
            (level / 0.8 * 1e6) as u64
        } else {
            0
        };
        level += 1.0;
        acked = lost.iter().min().copied().unwrap_or(next).max(acked);
        events.push((at_ns + 20 * MS + wait_ns, 1, acked));
    }
    events.sort_unstable();
    for (at_ns, event, segment) in events {
        let seq = 1 + segment * MSS;
        if event == 0 {
            upload.data(at_ns, seq);
        } else {
            upload.packet(End::Second, at_ns, Segment::ACK, (1, seq, 0), &[]);
        }
    }
    upload.findings()
}

#[test]
fn a_policer_is_named_although_its_sender_keeps_to_its_rate() {
    let policed = overload(false);
    assert_eq!(policed[0].finding.cause, Cause::Policed);
    let queued = overload(true);
    assert!(queued.iter().all(|it| it.finding.cause != Cause::Policed));
}
