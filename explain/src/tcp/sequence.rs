//! The flags of each packet of a connection, by the rules of tshark 4.0.
//!
//! The rules are Wireshark's ("TCP Analysis" in its user's guide), so that a reader of a capture finds the
//! same packets marked here and there; docs/explain.md says where they mislead. What linerate concludes
//! rests on [`sender`](super::sender), which looks closer.

use super::flags::Flags;
use super::segment::{Segment, before, until};

/// A retransmission comes this soon after the duplicate acknowledgments that asked for it.
const FAST_WITHIN_NS: u64 = 20_000_000;
/// Without a handshake, what comes this late was not overtaken, but sent again.
const REORDERED_WITHIN_NS: u64 = 3_000_000;

/// What the rules know of one direction.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Behind the highest octet sent.
    next: Option<u32>,
    next_ns: u64,
    /// Behind the highest octet before any gap: beyond it an acknowledgment is of something unseen.
    may_be_acked: Option<u32>,
    last_ack: u32,
    last_ns: u64,
    window: Option<u16>,
    shift: Shift,
    /// The window came with a SYN, which is never scaled.
    unscaled: bool,
    duplicates: i32,
    last_flags: Flags,
    /// Sequence number of the SYN, or what it must have been.
    pub(super) base: Option<u32>,
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
            next: None,
            next_ns: 0,
            may_be_acked: None,
            last_ack: 0,
            last_ns: 0,
            window: None,
            shift: Shift::Unknown,
            unscaled: false,
            duplicates: 0,
            last_flags: Flags::default(),
            base: None,
        }
    }
}

impl Sequence {
    /// Looks at `segment` of this direction, sent at `time_ns`; `back` is the other direction, and
    /// `handshake_ns` the time that the handshake took, if it was captured.
    #[inline]
    pub(super) fn look(
        &mut self,
        back: &mut Self,
        segment: &Segment<'_>,
        time_ns: u64,
        handshake_ns: Option<u64>,
    ) -> Flags {
        if self.base.is_none() {
            let syn = u32::from(!segment.any(Segment::SYN));
            self.base = Some(segment.seq.wrapping_sub(syn));
        }
        if back.base.is_none() && segment.any(Segment::ACK) {
            back.base = Some(segment.ack.wrapping_sub(1));
        }
        let mut flags = self.windows_and_acks(back, segment);
        if segment.ack != self.last_ack {
            self.duplicates = 0;
        }
        if back.has_unseen(segment) {
            flags |= Flags::ACK_LOST_SEGMENT;
        }
        if segment.len > 0 || segment.any(Segment::SYN | Segment::FIN) {
            flags |= self.again(back, segment, time_ns, handshake_ns, flags);
        }
        self.remember(segment, time_ns, flags);
        flags
    }

    #[inline]
    fn windows_and_acks(&mut self, back: &mut Self, segment: &Segment<'_>) -> Flags {
        let mut flags = Flags::default();
        let Segment {
            seq,
            ack,
            len,
            window,
            ..
        } = *segment;
        let next = self.next.unwrap_or(0);
        let plain = !segment.any(Segment::SYN | Segment::FIN | Segment::RST);
        if len == 1 && seq == next && back.window == Some(0) {
            flags |= Flags::ZERO_WINDOW_PROBE;
            return flags;
        }
        if window == 0 && plain {
            flags |= Flags::ZERO_WINDOW;
        }
        if self.next.is_some() && before(next, seq) && !segment.any(Segment::RST) {
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
        let same_window = self.window == Some(window);
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
    #[inline]
    fn edge(&self) -> Option<u32> {
        let shift = match self.shift {
            Shift::Unknown => return None,
            Shift::By(shift) if !self.unscaled => shift,
            _ => 0,
        };
        // Before the first segment Wireshark takes the window for as large as can be.
        let window = self.window.map_or(u32::MAX, u32::from);
        Some(self.last_ack.wrapping_add(window << shift))
    }

    /// Whether `segment`, which came back, acknowledges something that was not captured; told once for each gap.
    #[inline]
    fn has_unseen(&mut self, segment: &Segment<'_>) -> bool {
        let Some(known) = self.may_be_acked else {
            return false;
        };
        if !segment.any(Segment::ACK) || !before(known, segment.ack) {
            return false;
        }
        if self.next.is_some_and(|next| before(known, next)) {
            self.may_be_acked = self.next;
            return true;
        }
        let first = self.duplicates == 0;
        self.duplicates = -1;
        first
    }

    /// Sent again, overtaken, or neither.
    #[inline]
    fn again(
        &self,
        back: &Self,
        segment: &Segment<'_>,
        time_ns: u64,
        handshake_ns: Option<u64>,
        flags: Flags,
    ) -> Flags {
        let Segment { seq, len, .. } = *segment;
        if flags.has(Flags::KEEP_ALIVE) {
            return Flags::default();
        }
        if len > 0 && back.last_ack != 0 && until(seq.wrapping_add(len), back.last_ack) {
            return Flags::SPURIOUS_RETRANSMISSION;
        }
        let Some(next) = self.next else {
            return Flags::default();
        };
        // Behind a probe of a closed window comes its octet again, with more.
        if !before(seq, next) || (len > 1 && seq == next.wrapping_sub(1)) {
            return Flags::default();
        }
        let since_ack = time_ns.wrapping_sub(back.last_ns);
        // tshark takes the -1 of an acknowledgment of something unseen for many repetitions.
        let repeated = back.duplicates >= 2 || back.duplicates == -1;
        if repeated && back.last_ack == seq && since_ack < FAST_WITHIN_NS {
            return Flags::FAST_RETRANSMISSION;
        }
        let recent = handshake_ns.unwrap_or(REORDERED_WITHIN_NS);
        let overtaken = time_ns.wrapping_sub(self.next_ns) < recent;
        if overtaken && next != segment.end() {
            Flags::OUT_OF_ORDER
        } else {
            Flags::RETRANSMISSION
        }
    }

    #[inline]
    fn remember(&mut self, segment: &Segment<'_>, time_ns: u64, flags: Flags) {
        let controls = u32::from(segment.any(Segment::SYN | Segment::FIN));
        let end = segment.seq.wrapping_add(segment.len).wrapping_add(controls);
        // A probe of a closed window may be thrown away.
        if !flags.has(Flags::ZERO_WINDOW_PROBE) {
            if self.next.is_none_or(|next| before(next, end)) {
                self.next = Some(end);
                self.next_ns = time_ns;
            }
            if self.may_be_acked.is_none_or(|known| known == segment.seq) {
                self.may_be_acked = self.next;
            }
        }
        self.window = Some(segment.window);
        self.last_ack = segment.ack;
        self.last_ns = time_ns;
        self.last_flags = flags;
        self.unscaled = segment.any(Segment::SYN);
    }

    /// Takes note of a SYN's shift of windows; both ends must have one, or neither is used.
    pub(super) fn scale(&mut self, back: &mut Self, shift: Option<u8>, answers: bool) {
        match shift {
            None => (self.shift, back.shift) = (Shift::Never, Shift::Never),
            Some(_) if answers && back.shift == Shift::Never => self.shift = Shift::Never,
            Some(shift) => self.shift = Shift::By(shift),
        }
    }
}
