//! Captures that begin after the handshake, which shows the round trip and who serves.

use super::{causes, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::model::FlowModel;
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// A capture at the receiver of a download that began before.
fn download(window: u16) -> Script {
    Script::late(End::Second, window)
}

/// The sender closes, and then the receiver, which the sender acknowledges after `rtt_ns`.
fn close(script: &mut Script, receiver: End, rtt_ns: u64) {
    script.after(10 * US);
    close_at(script, receiver.other());
    confirm_close(script, receiver, rtt_ns);
}

pub(super) fn close_at(script: &mut Script, end: End) {
    let numbers = [end, end.other()].map(|end| script.next[end as usize]);
    script.packet(end, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    script.next[end as usize] += 1;
}

/// The receiver closes, and the sender acknowledges that.
pub(super) fn confirm_close(script: &mut Script, receiver: End, rtt_ns: u64) {
    let [own, other] = [receiver, receiver.other()].map(|end| script.next[end as usize]);
    script.after(10 * US);
    close_at(script, receiver);
    script.after(rtt_ns);
    script.packet(receiver.other(), Segment::ACK, [other, own + 1], 0, &[]);
}

/// Full segments, each of which follows the acknowledgment of the one before after 20 ms.
fn one_by_one(closed_ns: Option<u64>) -> Vec<Cause> {
    let mut download = download(60_000);
    for _ in 0..100 {
        let seq = download.sent();
        download.after(20 * MS).segment(seq, MSS);
        download.after(10 * US).ack_all();
    }
    if let Some(rtt_ns) = closed_ns {
        close(&mut download, End::First, rtt_ns);
    }
    causes(download)
}

#[test]
fn the_end_of_a_connection_shows_the_round_trip_to_its_sender() {
    assert_eq!(one_by_one(Some(20 * MS)), [Cause::OneInFlight]);
    // What comes much later than a round trip did not wait for the acknowledgment.
    assert_ne!(one_by_one(Some(2 * MS)).first(), Some(&Cause::OneInFlight));
    assert_ne!(one_by_one(None).first(), Some(&Cause::OneInFlight));
}

/// Answers of two segments that leave less than one of the window, which is not known to be scaled. A request follows, or an
/// acknowledgment.
fn answers(is_request: bool) -> Vec<Cause> {
    let mut dialogue = Script::late(End::First, 1_700);
    for _ in 0..60 {
        dialogue.write(End::First, 788).write(End::First, 788);
        dialogue.after(20 * MS);
        if is_request {
            dialogue.write(End::Second, 60);
        } else {
            dialogue.confirm(End::Second);
        }
        dialogue.after(20 * US);
    }
    causes(dialogue)
}

#[test]
fn an_answer_waits_for_its_request_and_fills_no_window() {
    assert_eq!(answers(false), [Cause::ReceiveWindow]);
    let found = answers(true);
    assert!(!found.contains(&Cause::ReceiveWindow), "{found:?}");
}

/// `requests` of 120 octets, each after 280 ms, for answers of `answer` octets; neither port is that of a service.
fn asks(answer: u32) -> Vec<Cause> {
    let mut dialogue = Script::late(End::Second, 60_000);
    for number in 0..10_u64 {
        dialogue.after((280 + number * 7 % 11) * MS);
        dialogue.write(End::First, 120);
        dialogue.after(14 * MS).write(End::Second, answer);
        dialogue.after(20 * US).confirm(End::First);
    }
    let mut flow = dialogue.flow();
    (flow.ends[0].1, flow.ends[1].1) = (8_047, 9_090);
    let found = super::explain_flows(&[flow]).0.into_iter();
    found.map(|it| it.finding.cause).collect()
}

#[test]
fn who_sends_much_more_serves_where_the_ports_do_not_show_it() {
    assert_eq!(asks(15_400), [Cause::ClientThinkTime]);
    assert_eq!(asks(700), []);
}

/// Two segments in flight, each acknowledged 26 ms after the other.
#[test]
fn two_segments_that_are_acknowledged_in_turn_keep_a_line_busy() {
    let mut upload = Script::late(End::First, 60_000);
    upload.send(2, MSS, 0);
    let mut next = 1;
    for _ in 0..80 {
        next += MSS;
        upload.after(26 * MS).ack(next);
        upload.after(10 * US).send(1, MSS, 0);
    }
    assert_eq!(causes(upload), [Cause::PathRate]);
}

/// An upload of four segments in each round trip of 15 ms, the most that the window admits, captured at a receiver that acknowledges
/// without any time. The handshake took 23 ms, as the sender asked for an address first.
fn behind_slow_handshake(closes: bool) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 0, 23 * MS, 4 * MSS as u16);
    for _ in 0..100 {
        for _ in 0..4 {
            let seq = upload.sent();
            upload.after(500 * US).segment(seq, MSS).ack_all();
        }
        upload.after(13 * MS);
    }
    if closes {
        close(&mut upload, End::Second, 15 * MS);
    }
    causes(upload)
}

#[test]
fn a_handshake_that_waited_for_an_address_shows_no_pace_of_the_sender() {
    for closes in [true, false] {
        let found = behind_slow_handshake(closes);
        assert_eq!(found.first(), Some(&Cause::ReceiveWindow), "{found:?}");
    }
}

/// Segments of a slow reader: each is acknowledged with room for a part of the next one, and the window opens 1.4 ms later.
#[test]
fn a_window_that_is_shut_behind_each_segment_is_no_rate_of_the_path() {
    let mut download = Script::open(End::Second, 2 * MS, 0, 4_000);
    for number in 0..800_u16 {
        let seq = download.sent();
        download.after(1_600 * US).segment(seq, MSS);
        download.ack_all_with(500 + number * 64 % 900);
        download.after(1_400 * US).ack_all_with(2_000);
    }
    let found = causes(download);
    let is_window =
        |cause: &Cause| matches!(cause, Cause::ReceiverReadsSlowly | Cause::ReceiveWindow);
    assert!(found.first().is_some_and(is_window), "{found:?}");
}

/// Nothing passes for 3 s; then what was acknowledged comes again, is acknowledged without any time, and new data follows a round trip
/// later.
#[test]
fn an_acknowledgment_at_the_time_of_its_segment_follows_it() {
    let mut download = Script::open(End::Second, 15 * MS, 0, 60_000);
    download.after(15 * MS);
    for round in 0..200 {
        let first = download.sent();
        for _ in 0..5 {
            let seq = download.sent();
            download.after(3 * MS).segment(seq, MSS).ack_all();
        }
        if round == 100 {
            download
                .after(3_000 * MS)
                .segment(first + 4 * MSS, MSS)
                .ack_all();
            download.after(15 * MS);
        }
    }
    assert_eq!(causes(download).first(), Some(&Cause::LinkInterrupted));
}

/// A stack whose program goes on after the other end's FIN may acknowledge that late.
#[test]
fn a_delayed_acknowledgment_of_fin_shows_no_round_trip() {
    let mut download = download(60_000);
    for _ in 0..100 {
        let seq = download.sent();
        download.after(2 * MS).segment(seq, MSS);
        download.after(10 * US).ack_all();
    }
    confirm_close(&mut download, End::First, 40 * MS);
    let flow = download.flow();
    let log = flow.connection.log();
    let model = FlowModel::of(&flow.connection, log.packets(), false).expect("payload");
    assert_eq!(model.closed_ns, None);
}

/// A segment of `len` octets four times, at intervals that double; the other end closes in the end, or is gone.
fn repeating(len: u32, is_alive: bool) -> Script {
    let mut upload = Script::late(End::First, 60_000);
    let first = upload.sent();
    for wait_s in [1, 2, 4, 8] {
        upload.segment(first, len).after(wait_s * 1_000 * MS);
    }
    if is_alive {
        let seq = upload.next[1];
        let close = Segment::ACK | Segment::FIN;
        upload.packet(End::Second, close, [seq, first], 0, &[]);
    }
    upload
}

fn repeats(len: u32, is_alive: bool) -> Vec<Cause> {
    causes(repeating(len, is_alive))
}

#[test]
fn the_sentence_about_what_is_repeated_has_evidence() {
    let found = findings(repeating(460, false));
    let figures = &found[0].finding.evidence;
    assert!((figures["repeated_bytes"] - 460.0).abs() < 1e-9);
    assert!((figures["repeated"] - 3.0).abs() < 1e-9);
}

#[test]
fn what_is_repeated_and_never_acknowledged_is_no_loss_by_chance() {
    let [absent, black_hole] = [Cause::NoAnswer, Cause::MtuBlackHole];
    assert_eq!(repeats(MSS, false), [absent, black_hole]);
    assert_eq!(repeats(80, false), [absent]);
    assert_eq!(repeats(MSS, true), [black_hole]);
    assert_eq!(repeats(80, true), [absent]);
}

/// The same, and then the sender goes on, is reset, or finds the window closed.
#[test]
fn a_sender_that_goes_on_or_is_answered_is_not_unheard() {
    let after = |end: &dyn Fn(&mut Script, u32)| {
        let mut upload = Script::late(End::First, 60_000);
        let first = upload.sent();
        for wait_s in [1, 2, 4, 8] {
            upload.segment(first, MSS).after(wait_s * 1_000 * MS);
        }
        end(&mut upload, first);
        causes(upload)
    };
    let is_unheard =
        |found: &[Cause]| found.contains(&Cause::NoAnswer) || found.contains(&Cause::MtuBlackHole);
    let goes_on = after(&|upload, first| {
        upload
            .segment(first + MSS, MSS)
            .after(MS)
            .segment(first + 2 * MSS, MSS);
    });
    assert!(!is_unheard(&goes_on), "{goes_on:?}");
    let reset = after(&|upload, first| {
        let seq = upload.next[1];
        upload.packet(End::Second, Segment::RST, [seq, first], 0, &[]);
    });
    assert!(!reset.contains(&Cause::MtuBlackHole), "{reset:?}");
    let closed = after(&|upload, first| {
        upload.window = 0;
        upload.ack(first);
    });
    assert!(!is_unheard(&closed), "{closed:?}");
}
