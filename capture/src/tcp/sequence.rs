//! The flags of each packet of a connection, by the rules of tshark 4.0.
//!
//! The rules are Wireshark's ("TCP Analysis" in its user's guide), so that a reader of a capture finds the
//! same packets marked here and there; docs/explain.md says where they mislead. What linerate concludes
//! rests on [`sender`](super::sender), which looks closer.

use super::flags::Flags;
use super::segment::{Segment, before, until};
use super::{End, both};

/// A retransmission comes this soon after the duplicate acknowledgments that asked for it.
const FAST_WITHIN_NS: u64 = 20_000_000;
/// Without a handshake, what comes this late was not overtaken, but sent again.
const REORDERED_WITHIN_NS: u64 = 3_000_000;

/// When a connection was opened, as the rules have it: 0 stands for what is not known.
#[derive(Clone, Copy, Debug, Default)]
struct Opening {
    syn_ns: u64,
    rtt_ns: u64,
}

impl Opening {
    /// Takes note of a segment of either direction.
    fn sees(&mut self, segment: &Segment<'_>, time_ns: u64) {
        if segment.opens() {
            self.syn_ns = time_ns;
        } else if self.rtt_ns == 0
            && self.syn_ns != 0
            && segment.any(Segment::ACK)
            && !segment.any(Segment::SYN)
        {
            self.rtt_ns = time_ns.wrapping_sub(self.syn_ns);
        }
    }

    /// What fills a gap sooner than this was overtaken.
    fn reordered_within_ns(self) -> u64 {
        if self.rtt_ns == 0 {
            REORDERED_WITHIN_NS
        } else {
            self.rtt_ns
        }
    }
}

/// What the rules know of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    sequences: [Sequence; 2],
    opening: Opening,
}

impl Rules {
    /// Looks at a segment that `end` sent at `time_ns`.
    pub(super) fn look(&mut self, end: End, segment: &Segment<'_>, time_ns: u64) -> Flags {
        let (own, back) = both(&mut self.sequences, end);
        let flags = own.look(back, segment, time_ns, self.opening);
        self.opening.sees(segment, time_ns);
        if segment.any(Segment::SYN) {
            let shift = segment.said().window_shift;
            own.scale(back, shift, segment.any(Segment::ACK));
        }
        flags
    }
}

/// What the rules know of one direction.
#[derive(Clone, Debug)]
struct Sequence {
    /// Behind the highest octet sent. As the rules have it, 0 stands for what is not known.
    next: u32,
    next_ns: u64,
    /// Behind the highest octet before any gap: beyond it an acknowledgment is of something unseen. 0
    /// for not known.
    may_be_acked: u32,
    last_ack: u32,
    last_ns: u64,
    /// Before the first segment the rules take the window for as large as can be.
    window: u32,
    shift: Shift,
    /// The window came with a SYN, which is never scaled.
    unscaled: bool,
    duplicates: i32,
    last_flags: Flags,
}

/// How windows are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shift {
    /// The handshake was not captured.
    Unknown,
    Never,
    By(u8),
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            next: 0,
            next_ns: 0,
            may_be_acked: 0,
            last_ack: 0,
            last_ns: 0,
            window: u32::MAX,
            shift: Shift::Unknown,
            unscaled: false,
            duplicates: 0,
            last_flags: Flags::default(),
        }
    }
}

impl Sequence {
    /// Looks at `segment` of this direction, sent at `time_ns`; `back` is the other direction. The clock of a
    /// capture may step back: what seems to come before what it follows comes late by all that a clock holds.
    fn look(
        &mut self,
        back: &mut Self,
        segment: &Segment<'_>,
        time_ns: u64,
        opening: Opening,
    ) -> Flags {
        if segment.opens() {
            // A SYN that comes again takes back what a reset in answer to it has claimed.
            self.next = self.may_be_acked;
        }
        let mut flags = self.windows_and_acks(back, segment);
        if segment.ack != self.last_ack {
            self.duplicates = 0;
        }
        if back.has_unseen(segment) {
            flags |= Flags::ACK_LOST_SEGMENT;
        }
        if segment.len > 0 || segment.any(Segment::SYN | Segment::FIN) {
            flags |= self.again(back, segment, time_ns, opening, flags);
        }
        self.remember(segment, time_ns, flags);
        flags
    }

    fn windows_and_acks(&mut self, back: &mut Self, segment: &Segment<'_>) -> Flags {
        let mut flags = Flags::default();
        let Segment { seq, ack, len, .. } = *segment;
        let window = u32::from(segment.window);
        let next = self.next;
        let plain = !segment.any(Segment::SYN | Segment::FIN | Segment::RST);
        if len == 1 && seq == next && back.window == 0 {
            flags |= Flags::ZERO_WINDOW_PROBE;
            return flags;
        }
        if window == 0 && plain {
            flags |= Flags::ZERO_WINDOW;
        }
        if next != 0 && before(next, seq) && !segment.any(Segment::RST) {
            flags |= Flags::LOST_SEGMENT;
        }
        if !plain {
            return flags;
        }
        if len <= 1 && seq == next.wrapping_sub(1) {
            flags |= Flags::KEEP_ALIVE;
        }
        if len > 0 {
            if back.edge() == Some(seq.wrapping_add(len)) {
                flags |= Flags::WINDOW_FULL;
            }
            return flags;
        }
        if seq != next || ack != self.last_ack {
            return flags;
        }
        let same_window = self.window == window;
        if window != 0 && !same_window {
            flags |= Flags::WINDOW_UPDATE;
        } else if same_window && window != 0 {
            if back.last_flags.has(Flags::KEEP_ALIVE) {
                flags |= Flags::KEEP_ALIVE_ACK;
            } else {
                // -1 says that an acknowledgment of something unseen was told already.
                self.duplicates = self.duplicates.max(0) + 1;
                flags |= Flags::DUPLICATE_ACK;
            }
        } else if same_window && back.last_flags.has(Flags::ZERO_WINDOW_PROBE) {
            flags |= Flags::ZERO_WINDOW_PROBE_ACK;
        }
        flags
    }

    /// Where the window that this direction grants ends, if that is known.
    fn edge(&self) -> Option<u32> {
        let shift = match self.shift {
            Shift::Unknown => return None,
            Shift::By(shift) if !self.unscaled => shift,
            _ => 0,
        };
        Some(self.last_ack.wrapping_add(self.window << shift))
    }

    /// Whether `segment`, which came back, acknowledges something that was not captured; told once for each gap.
    fn has_unseen(&mut self, segment: &Segment<'_>) -> bool {
        let known = self.may_be_acked;
        if known == 0 || !segment.any(Segment::ACK) || !before(known, segment.ack) {
            return false;
        }
        if self.next != 0 && before(known, self.next) {
            self.may_be_acked = self.next;
            return true;
        }
        let first = self.duplicates == 0;
        self.duplicates = -1;
        first
    }

    /// Sent again, overtaken, or neither.
    fn again(
        &self,
        back: &Self,
        segment: &Segment<'_>,
        time_ns: u64,
        opening: Opening,
        flags: Flags,
    ) -> Flags {
        let Segment { seq, len, .. } = *segment;
        if flags.has(Flags::KEEP_ALIVE) {
            return Flags::default();
        }
        if len > 0 && back.last_ack != 0 && until(seq.wrapping_add(len), back.last_ack) {
            return Flags::SPURIOUS_RETRANSMISSION;
        }
        let next = self.next;
        // Behind a probe of a closed window comes its octet again, with more.
        if next == 0 || !before(seq, next) || (len > 1 && seq == next.wrapping_sub(1)) {
            return Flags::default();
        }
        let since_ack = time_ns.wrapping_sub(back.last_ns);
        // tshark takes the -1 of an acknowledgment of something unseen for many repetitions.
        let repeated = back.duplicates >= 2 || back.duplicates == -1;
        if repeated && back.last_ack == seq && since_ack < FAST_WITHIN_NS {
            return Flags::FAST_RETRANSMISSION;
        }
        let overtaken = time_ns.wrapping_sub(self.next_ns) < opening.reordered_within_ns();
        if overtaken && next != segment.end() {
            Flags::OUT_OF_ORDER
        } else {
            Flags::RETRANSMISSION
        }
    }

    fn remember(&mut self, segment: &Segment<'_>, time_ns: u64, flags: Flags) {
        let controls = u32::from(segment.any(Segment::SYN | Segment::FIN));
        let end = segment.seq.wrapping_add(segment.len).wrapping_add(controls);
        // A probe of a closed window may be thrown away.
        if !flags.has(Flags::ZERO_WINDOW_PROBE) {
            if self.next == 0 || before(self.next, end) {
                self.next = end;
                self.next_ns = time_ns;
            }
            if self.may_be_acked == 0 || self.may_be_acked == segment.seq {
                self.may_be_acked = self.next;
            }
        }
        self.window = segment.window.into();
        self.last_ack = segment.ack;
        self.last_ns = time_ns;
        self.last_flags = flags;
        self.unscaled = segment.any(Segment::SYN);
    }

    /// Takes note of a SYN's shift of windows; both ends must have one, or neither is used.
    fn scale(&mut self, back: &mut Self, shift: Option<u8>, answers: bool) {
        match shift {
            None => (self.shift, back.shift) = (Shift::Never, Shift::Never),
            Some(_) if answers && back.shift == Shift::Never => self.shift = Shift::Never,
            Some(shift) => self.shift = Shift::By(shift),
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

    fn look(own: &mut Sequence, segment: &Segment<'_>, time_ns: u64, opening: Opening) -> Flags {
        own.look(&mut Sequence::default(), segment, time_ns, opening)
    }

    #[test]
    fn what_a_clock_that_stepped_back_shows_before_the_rest_was_sent_again() {
        let mut own = Sequence::default();
        let mut flags = |seq, len, time_ns| {
            let segment = segment(seq, Segment::ACK, len);
            look(&mut own, &segment, time_ns, Opening::default())
        };
        assert_eq!(flags(2000, 1000, 50_000_000), Flags::default());
        assert_eq!(flags(1000, 500, 51_000_000), Flags::OUT_OF_ORDER);
        assert_eq!(flags(1000, 500, 49_000_000), Flags::RETRANSMISSION);
    }

    #[test]
    fn a_handshake_without_a_time_tells_no_round_trip() {
        let mut opening = Opening::default();
        opening.sees(&segment(1, Segment::SYN, 0), 0);
        opening.sees(&segment(2, Segment::ACK, 0), 900);
        assert_eq!(opening.reordered_within_ns(), REORDERED_WITHIN_NS);
        opening.sees(&segment(1, Segment::SYN, 0), 1000);
        opening.sees(&segment(2, Segment::ACK, 0), 1900);
        assert_eq!(opening.reordered_within_ns(), 900);
    }
}
