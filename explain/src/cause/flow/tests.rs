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
        let mut own = Self {
            connection: Connection::new(1, 0),
            packets: 0,
            window,
            sent: 1,
        };
        let options = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];
        own.packet(End::First, 0, Segment::SYN, (0, 0, 0), &options);
        let answer = Segment::SYN | Segment::ACK;
        own.packet(End::Second, to_receiver_ns, answer, (0, 1, 0), &options);
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

/// Segments 1.2 ms apart near the receiver; of each 120, two arrive in the other order.
#[test]
fn segments_that_arrive_in_another_order_at_no_cost_are_no_cause() {
    let mut upload = Upload::open(10 * MS, MS / 50, 60_000);
    for pair in 0..1_600_u64 {
        let at_ns = 30 * MS + pair * 2_400_000;
        let first = upload.sent;
        let order = if pair % 60 == 3 { [1, 0] } else { [0, 1] };
        for (place, segment) in order.into_iter().enumerate() {
            upload.data(at_ns + place as u64 * 100_000, first + segment * MSS);
        }
        upload.ack_all(at_ns + 150_000, 60_000);
    }
    assert!(!upload.causes().contains(&Cause::Reordering));
}

/// Slow start into a queue: each acknowledgment of two segments, 8 ms apart, releases three.
#[test]
fn a_window_that_only_fills_a_long_queue_is_no_limit() {
    let mut upload = Upload::open(MS / 50, 8 * MS, 60_000);
    upload.send(10 * MS, 10, 10_000);
    let mut acked = 1;
    for ack in 0..300_u64 {
        let at_ns = 18 * MS + ack * 8 * MS;
        acked += 2 * MSS;
        upload.packet(End::Second, at_ns, Segment::ACK, (1, acked, 0), &[]);
        if upload.sent < 280 * MSS {
            upload.send(at_ns + 10_000, 3, 10_000);
        } else if upload.sent < 600 * MSS {
            upload.send(at_ns + 10_000, 2, 10_000);
        }
    }
    let causes = upload.causes();
    assert!(causes.contains(&Cause::Bufferbloat), "{causes:?}");
    assert!(!causes.contains(&Cause::CongestionWindow), "{causes:?}");
}

/// Uploads captured at their sender, with `window` segments in flight: at each turn of 2 ms, the acknowledgment of two
/// segments of one of them arrives, and releases two others.
fn side_by_side(turn: impl Fn(u64) -> Option<usize>) -> Vec<Flow> {
    const WINDOW: u32 = 20;
    let mut uploads: Vec<Upload> = (0..2)
        .map(|_| Upload::open(MS / 50, 10 * MS, 60_000))
        .collect();
    let mut acked = [1; 2];
    for upload in &mut uploads {
        upload.send(12 * MS, WINDOW, 10_000);
    }
    for at in 0..3_000 {
        let Some(of) = turn(at) else {
            continue;
        };
        let at_ns = 24 * MS + at * 2 * MS;
        acked[of] += 2 * MSS;
        uploads[of].packet(End::Second, at_ns, Segment::ACK, (1, acked[of], 0), &[]);
        uploads[of].send(at_ns + 10_000, 2, 10_000);
    }
    let flow = |(at, upload): (usize, Upload)| Flow {
        ends: [1, 2].map(|host| (Address([host; 16]), 5_000 + at as u16)),
        connection: Box::new(upload.connection),
    };
    uploads.into_iter().enumerate().map(flow).collect()
}

#[test]
fn transfers_with_a_steady_sum_fill_the_path_together() {
    let fill = |turn: &dyn Fn(u64) -> Option<usize>| {
        let flows = side_by_side(turn);
        let mut facts: Vec<_> = flows.iter().filter_map(FlowFacts::of).collect();
        shared::share_paths(&mut facts);
        facts.iter().map(|it| it.fills_together).collect::<Vec<_>>()
    };
    // One of them passes five times as much as the other one, by turns.
    let favours = |at: u64| (at / 300 % 2) as usize;
    let shared = |at: u64| {
        if at % 6 == 0 {
            1 - favours(at)
        } else {
            favours(at)
        }
    };
    assert_eq!(fill(&|at| Some(shared(at))), [true, true]);
    // The same with pauses in which neither passes much.
    let idles = |at: u64| at / 500 % 2 == 0 && at % 4 > 0;
    assert_eq!(fill(&|at| (!idles(at)).then(|| shared(at))), [false, false]);
}
