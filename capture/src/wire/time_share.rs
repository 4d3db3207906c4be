//! Time shares of requests, from the frames on the wire alone.

use super::retransmission::retransmissions;
use super::{Frame, LINE_GAP_NS, Side};
use linerate_results::record::TimeShare;
use linerate_results::stats;

/// Shorter silence before a retransmission is the sender reacting (fast retransmit), not a timer:
/// Linux' tail-loss probe waits at least 10 ms (RFC 8985 section 7.2).
const TIMER_NS: u64 = 10_000_000;

/// Divides the time from `start_ns` to `end_ns` of each request by the activity on the wire.
///
/// `frames` are ordered by their starts. Where both stations send at once (full duplex) the time counts as receiving.
pub fn time_share(frames: &[Frame], requests: impl IntoIterator<Item = (u64, u64)>) -> TimeShare {
    let repeats = retransmissions(frames);
    let mut ns = Nanoseconds::default();
    let mut total_ns = 0;
    for (start_ns, end_ns) in requests {
        total_ns += end_ns.saturating_sub(start_ns);
        let mut cursor_ns = start_ns;
        let mut previous: Option<Side> = None;
        let within = frames
            .iter()
            .zip(&repeats)
            .filter(|(frame, _)| frame.end_ns > start_ns && frame.start_ns < end_ns);
        for (frame, &repeat) in within {
            let begin_ns = frame.start_ns.max(cursor_ns);
            let silence_ns = begin_ns - cursor_ns;
            let timer = repeat && silence_ns >= TIMER_NS;
            *ns.silence(frame.from, previous, timer, silence_ns) += silence_ns;
            let finish_ns = frame.end_ns.clamp(begin_ns, end_ns);
            *ns.frame(frame.from, repeat || !frame.delivered()) += finish_ns - begin_ns;
            cursor_ns = finish_ns;
            previous = Some(frame.from);
        }
        // The last byte is consumed after its frame: that is the device's work.
        ns.device += end_ns.saturating_sub(cursor_ns);
    }

    let share = |ns: u64| stats::ratio(ns as f64, total_ns as f64);
    TimeShare {
        receiving: share(ns.receiving),
        repeating: share(ns.repeating),
        transmitting: share(ns.transmitting),
        device: share(ns.device),
        peer: share(ns.peer),
        retransmission_timer: share(ns.retransmission_timer),
    }
}

#[derive(Default)]
struct Nanoseconds {
    receiving: u64,
    repeating: u64,
    transmitting: u64,
    device: u64,
    peer: u64,
    retransmission_timer: u64,
}

impl Nanoseconds {
    fn frame(&mut self, from: Side, repeat: bool) -> &mut u64 {
        match (from, repeat) {
            (Side::Device, _) => &mut self.transmitting,
            (Side::Peer, true) => &mut self.repeating,
            (Side::Peer, false) => &mut self.receiving,
        }
    }

    /// Silence is attributed to the station that ends it; the line's own gap within a burst belongs to the burst.
    fn silence(&mut self, next: Side, previous: Option<Side>, timer: bool, ns: u64) -> &mut u64 {
        match (next, previous) {
            _ if timer => &mut self.retransmission_timer,
            (Side::Device, _) => &mut self.device,
            (Side::Peer, Some(Side::Peer)) if ns < LINE_GAP_NS => &mut self.receiving,
            (Side::Peer, _) => &mut self.peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_ether::ledger::DropCause;

    use super::super::Segment;
    use super::super::sample::{ack, data, frame, lost};
    use super::*;

    #[test]
    fn shares_add_up_and_are_attributed_correctly() {
        let frames = [
            ack(0, 1),                                         // transmits, 57.6 us
            data(200, 1, 1460),                                // the peer took its time, new
            lost(data(1_431, 1461, 1460), DropCause::Unheard), // behind the line's gap, lost
            ack(5_000, 1461),                                  // the device worked
            data(205_000, 1461, 1460),                         // the timer ran, a repeat
        ];
        let share = time_share(&frames, [(0, 210_000_000)]);
        assert!((share.total() - 1.0).abs() < 1e-9, "{share:?}");
        let us = |share: f64| (share * 210_000.0).round() as u64;
        assert_eq!(us(share.transmitting), 115);
        assert_eq!(us(share.receiving), 1_231);
        assert_eq!(us(share.repeating), 2_442);
        assert_eq!(us(share.peer), 142);
        assert_eq!(us(share.retransmission_timer), 199_942);
        assert_eq!(us(share.device), 6_127);
    }

    #[test]
    fn a_handshake_retransmitted_by_the_device_also_waited_for_a_timer() {
        let syn = Segment {
            source: 4000,
            destination: 80,
            seq: 7,
            ack: 0,
            len: 0,
            flags: Segment::SYN,
            window: 9,
            ..Segment::default()
        };
        let frames = [
            frame(0, Side::Device, syn),
            frame(1_000_000, Side::Device, syn),
        ];
        let share = time_share(&frames, [(0, 1_000_100_000)]);
        assert!(share.retransmission_timer > 0.99, "{share:?}");
    }

    #[test]
    fn frames_outside_of_the_requests_do_not_count() {
        let frames = [data(0, 1, 1460), data(50_000, 1461, 1460)];
        let share = time_share(&frames, [(10_000_000, 20_000_000)]);
        assert!((share.device - 1.0).abs() < 1e-9, "{share:?}");
    }

    #[test]
    fn full_duplex_overlap_counts_once() {
        let frames = [data(0, 1, 1460), ack(600, 1)];
        let end_ns = frames[0].end_ns;
        let share = time_share(&frames, [(0, end_ns)]);
        assert!((share.receiving - 1.0).abs() < 1e-9, "{share:?}");
    }

    #[test]
    fn nothing_at_all_is_no_share() {
        assert_eq!(time_share(&[], []), TimeShare::default());
    }
}
