//! Analysis flags of each packet of a connection, by the rules of tshark 4.0.
//!
//! The rules are Wireshark's ("TCP Analysis" in its user's guide), so that the same packets are flagged here and there;
//! docs/explain.md documents where they mislead. linerate's own findings use [`sender`](super::sender), which is more
//! precise.

use super::flags::AnalysisFlags;
use super::segment::{Segment, seq_le, seq_lt};
use super::{End, own_and_other};

/// A fast retransmission comes this soon after the duplicate ACKs.
const FAST_WITHIN_NS: u64 = 20_000_000;
/// Without a handshake, later data was retransmitted, not reordered.
const REORDERED_WITHIN_NS: u64 = 3_000_000;

/// Handshake times as the rules use them: 0 for unknown.
#[derive(Clone, Copy, Debug, Default)]
struct HandshakeTiming {
    syn_ns: u64,
    rtt_ns: u64,
}

impl HandshakeTiming {
    /// Records a segment of either direction.
    fn record(&mut self, segment: &Segment<'_>, time_ns: u64) {
        if segment.is_initial_syn() {
            self.syn_ns = time_ns;
        } else if self.rtt_ns == 0
            && self.syn_ns != 0
            && segment.has_any(Segment::ACK)
            && !segment.has_any(Segment::SYN)
        {
            self.rtt_ns = time_ns.wrapping_sub(self.syn_ns);
        }
    }

    /// Data that fills a gap sooner than this was reordered.
    fn reordered_within_ns(self) -> u64 {
        if self.rtt_ns == 0 {
            REORDERED_WITHIN_NS
        } else {
            self.rtt_ns
        }
    }
}

/// State of the rules for a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Analyzer {
    directions: [DirectionState; 2],
    handshake: HandshakeTiming,
}

impl Analyzer {
    /// Analyzes a segment that `end` sent at `time_ns`.
    pub(super) fn analyze(
        &mut self,
        end: End,
        segment: &Segment<'_>,
        time_ns: u64,
    ) -> AnalysisFlags {
        let (own, back) = own_and_other(&mut self.directions, end);
        let flags = own.analyze(back, segment, time_ns, self.handshake);
        self.handshake.record(segment, time_ns);
        if segment.has_any(Segment::SYN) {
            let shift = segment.parse_options().window_shift;
            own.set_window_scale(back, shift, segment.has_any(Segment::ACK));
        }
        flags
    }
}

/// State of the rules for one direction.
#[derive(Clone, Debug)]
struct DirectionState {
    /// After the highest octet sent; 0 for unknown, as in the rules.
    next_seq: u32,
    next_ns: u64,
    /// After the highest octet before any gap: an acknowledgment beyond it is of unseen data. 0 for unknown.
    max_ackable_seq: u32,
    last_ack: u32,
    last_ns: u64,
    /// Before the first segment the rules assume the largest possible window.
    window: u32,
    scale: WindowScale,
    /// The window is from a SYN, which is never scaled.
    unscaled: bool,
    dup_acks: i32,
    last_flags: AnalysisFlags,
}

/// Window scaling of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowScale {
    /// The handshake was not captured.
    Unknown,
    Disabled,
    Shift(u8),
}

impl Default for DirectionState {
    fn default() -> Self {
        Self {
            next_seq: 0,
            next_ns: 0,
            max_ackable_seq: 0,
            last_ack: 0,
            last_ns: 0,
            window: u32::MAX,
            scale: WindowScale::Unknown,
            unscaled: false,
            dup_acks: 0,
            last_flags: AnalysisFlags::default(),
        }
    }
}

impl DirectionState {
    /// Analyzes `segment` of this direction, sent at `time_ns`; `back` is the other direction. Capture clocks may step
    /// back: then the unsigned time difference wraps to a very late time.
    fn analyze(
        &mut self,
        back: &mut Self,
        segment: &Segment<'_>,
        time_ns: u64,
        handshake: HandshakeTiming,
    ) -> AnalysisFlags {
        if segment.is_initial_syn() {
            // A retransmitted SYN undoes the effect of a reset in answer to it.
            self.next_seq = self.max_ackable_seq;
        }
        let mut flags = self.windows_and_acks(back, segment);
        if segment.ack != self.last_ack {
            self.dup_acks = 0;
        }
        if back.detect_unseen_acked(segment) {
            flags |= AnalysisFlags::ACK_LOST_SEGMENT;
        }
        if segment.len > 0 || segment.has_any(Segment::SYN | Segment::FIN) {
            flags |= self.retransmission_flags(back, segment, time_ns, handshake, flags);
        }
        self.update(segment, time_ns, flags);
        flags
    }

    fn windows_and_acks(&mut self, back: &mut Self, segment: &Segment<'_>) -> AnalysisFlags {
        let mut flags = AnalysisFlags::default();
        let Segment { seq, ack, len, .. } = *segment;
        let window = u32::from(segment.window);
        let next = self.next_seq;
        let plain = !segment.has_any(Segment::SYN | Segment::FIN | Segment::RST);
        if len == 1 && seq == next && back.window == 0 {
            flags |= AnalysisFlags::ZERO_WINDOW_PROBE;
            return flags;
        }
        if window == 0 && plain {
            flags |= AnalysisFlags::ZERO_WINDOW;
        }
        if next != 0 && seq_lt(next, seq) && !segment.has_any(Segment::RST) {
            flags |= AnalysisFlags::LOST_SEGMENT;
        }
        if !plain {
            return flags;
        }
        if len <= 1 && seq == next.wrapping_sub(1) {
            flags |= AnalysisFlags::KEEP_ALIVE;
        }
        if len > 0 {
            if back.right_edge() == Some(seq.wrapping_add(len)) {
                flags |= AnalysisFlags::WINDOW_FULL;
            }
            return flags;
        }
        if seq != next || ack != self.last_ack {
            return flags;
        }
        let same_window = self.window == window;
        if window != 0 && !same_window {
            flags |= AnalysisFlags::WINDOW_UPDATE;
        } else if same_window && window != 0 {
            if back.last_flags.contains(AnalysisFlags::KEEP_ALIVE) {
                flags |= AnalysisFlags::KEEP_ALIVE_ACK;
            } else {
                // -1: an acknowledgment of unseen data was already flagged.
                self.dup_acks = self.dup_acks.max(0) + 1;
                flags |= AnalysisFlags::DUPLICATE_ACK;
            }
        } else if same_window && back.last_flags.contains(AnalysisFlags::ZERO_WINDOW_PROBE) {
            flags |= AnalysisFlags::ZERO_WINDOW_PROBE_ACK;
        }
        flags
    }

    /// Right edge of the window that this direction grants, if known.
    fn right_edge(&self) -> Option<u32> {
        let shift = match self.scale {
            WindowScale::Unknown => return None,
            WindowScale::Shift(shift) if !self.unscaled => shift,
            _ => 0,
        };
        Some(self.last_ack.wrapping_add(self.window << shift))
    }

    /// True if `segment`, from the other direction, acknowledges data that was not captured; once for each gap.
    fn detect_unseen_acked(&mut self, segment: &Segment<'_>) -> bool {
        let known = self.max_ackable_seq;
        if known == 0 || !segment.has_any(Segment::ACK) || !seq_lt(known, segment.ack) {
            return false;
        }
        if self.next_seq != 0 && seq_lt(known, self.next_seq) {
            self.max_ackable_seq = self.next_seq;
            return true;
        }
        let first = self.dup_acks == 0;
        self.dup_acks = -1;
        first
    }

    /// Retransmitted, reordered, or neither.
    fn retransmission_flags(
        &self,
        back: &Self,
        segment: &Segment<'_>,
        time_ns: u64,
        handshake: HandshakeTiming,
        flags: AnalysisFlags,
    ) -> AnalysisFlags {
        let Segment { seq, len, .. } = *segment;
        if flags.contains(AnalysisFlags::KEEP_ALIVE) {
            return AnalysisFlags::default();
        }
        if len > 0 && back.last_ack != 0 && seq_le(seq.wrapping_add(len), back.last_ack) {
            return AnalysisFlags::SPURIOUS_RETRANSMISSION;
        }
        let next = self.next_seq;
        // The octet of a window probe is sent again with more data.
        if next == 0 || !seq_lt(seq, next) || (len > 1 && seq == next.wrapping_sub(1)) {
            return AnalysisFlags::default();
        }
        let since_ack = time_ns.wrapping_sub(back.last_ns);
        // tshark treats the -1 of an acknowledgment of unseen data as many duplicates.
        let repeated = back.dup_acks >= 2 || back.dup_acks == -1;
        if repeated && back.last_ack == seq && since_ack < FAST_WITHIN_NS {
            return AnalysisFlags::FAST_RETRANSMISSION;
        }
        let overtaken = time_ns.wrapping_sub(self.next_ns) < handshake.reordered_within_ns();
        if overtaken && next != segment.end() {
            AnalysisFlags::OUT_OF_ORDER
        } else {
            AnalysisFlags::RETRANSMISSION
        }
    }

    fn update(&mut self, segment: &Segment<'_>, time_ns: u64, flags: AnalysisFlags) {
        let controls = u32::from(segment.has_any(Segment::SYN | Segment::FIN));
        let end = segment.seq.wrapping_add(segment.len).wrapping_add(controls);
        // The receiver may discard a window probe.
        if !flags.contains(AnalysisFlags::ZERO_WINDOW_PROBE) {
            if self.next_seq == 0 || seq_lt(self.next_seq, end) {
                self.next_seq = end;
                self.next_ns = time_ns;
            }
            if self.max_ackable_seq == 0 || self.max_ackable_seq == segment.seq {
                self.max_ackable_seq = self.next_seq;
            }
        }
        self.window = segment.window.into();
        self.last_ack = segment.ack;
        self.last_ns = time_ns;
        self.last_flags = flags;
        self.unscaled = segment.has_any(Segment::SYN);
    }

    /// Records the window scale of a SYN; scaling is used only if both ends offer it.
    fn set_window_scale(&mut self, back: &mut Self, shift: Option<u8>, is_syn_ack: bool) {
        match shift {
            None => (self.scale, back.scale) = (WindowScale::Disabled, WindowScale::Disabled),
            Some(_) if is_syn_ack && back.scale == WindowScale::Disabled => {
                self.scale = WindowScale::Disabled;
            }
            Some(shift) => self.scale = WindowScale::Shift(shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, flags: u8, len: u32) -> Segment<'static> {
        Segment {
            seq,
            ack: 7,
            flags,
            len,
            window: 500,
            ..Segment::default()
        }
    }

    fn analyze(
        own: &mut DirectionState,
        segment: &Segment<'_>,
        time_ns: u64,
        handshake: HandshakeTiming,
    ) -> AnalysisFlags {
        own.analyze(&mut DirectionState::default(), segment, time_ns, handshake)
    }

    #[test]
    fn data_before_a_clock_step_counts_as_retransmitted() {
        let mut own = DirectionState::default();
        let mut flags = |seq, len, time_ns| {
            let segment = segment(seq, Segment::ACK, len);
            analyze(&mut own, &segment, time_ns, HandshakeTiming::default())
        };
        assert_eq!(flags(2000, 1000, 50_000_000), AnalysisFlags::default());
        assert_eq!(flags(1000, 500, 51_000_000), AnalysisFlags::OUT_OF_ORDER);
        assert_eq!(flags(1000, 500, 49_000_000), AnalysisFlags::RETRANSMISSION);
    }

    #[test]
    fn a_handshake_without_a_time_gives_no_round_trip() {
        let mut handshake = HandshakeTiming::default();
        handshake.record(&segment(1, Segment::SYN, 0), 0);
        handshake.record(&segment(2, Segment::ACK, 0), 900);
        assert_eq!(handshake.reordered_within_ns(), REORDERED_WITHIN_NS);
        handshake.record(&segment(1, Segment::SYN, 0), 1000);
        handshake.record(&segment(2, Segment::ACK, 0), 1900);
        assert_eq!(handshake.reordered_within_ns(), 900);
    }
}
