//! One direction of a connection: what its sender sends, and what comes back for it.

use super::buckets::Buckets;
use super::outstanding::{Outstanding, Piece};
use super::segment::{Options, Segment, before, until};

/// Segments of one burst follow each other at most this far apart.
const WITHIN_BURST_NS: u64 = 500_000;
/// Positions in a burst that are told apart.
pub const POSITIONS: usize = 16;
/// What is answered sooner was asked for by what came just before; a timer is slower.
const PROMPT_NS: u64 = 1_500_000;
/// Linux's shortest retransmission time-out; RFC 6298 would have a second.
const LEAST_TIME_OUT_NS: u64 = 200_000_000;
/// What fills a gap sooner than this was overtaken on its way, not sent again.
const OVERTAKEN_NS: u64 = 3_000_000;
/// An acknowledgment later than this was held back (RFC 9293 section 3.8.6.3 allows 500 ms).
const HELD_BACK_NS: u64 = 30_000_000;
/// The shortest delay that [`Figures::delays`] tells apart; its bounds double from there.
pub const FIRST_DELAY_NS: u64 = 150_000_000;
/// Ranges of retransmission delays that are told apart.
pub const DELAYS: usize = 12;

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The last one, to provoke an acknowledgment (RFC 8985 section 7).
    TailLossProbe,
    /// Acknowledgments of later segments asked for it (RFC 5681 section 3.2, RFC 6675).
    Fast,
    /// The retransmission timer ran out (RFC 6298), for the n-th time in a row.
    TimeOut {
        /// 1 for the first time, 2 when it had doubled once.
        step: u8,
    },
    /// More of what was lost, behind a fast one or a time-out.
    Recovery,
    /// It had been acknowledged before.
    Spurious,
}

/// How a sender gets over a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mending {
    Nothing,
    Fast { until: u32 },
    TimeOut { until: u32 },
}

/// How a sender gets over a loss, without how far it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mends {
    Nothing,
    Requested,
    TimeOut,
}

/// What a packet did for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing that takes sequence space.
    Bare,
    /// Something new.
    New,
    /// A part that others had overtaken.
    Overtaken,
    /// Something again.
    Again(Again),
}

/// What an acknowledgment did for the sender that it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// It acknowledged something new.
    pub(super) advanced: bool,
    /// How long the last whole segment of that had been on its way, if it was sent once.
    pub(super) rtt_ns: Option<u64>,
}

/// What was counted of a direction.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Packets of the sender.
    pub packets: u64,
    /// Of them, those with payload or FIN.
    pub segments: u64,
    /// Octets of payload, those that were sent again among them.
    pub payload_bytes: u64,
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Segments with payload or FIN, or a SYN, that were sent again.
    pub retransmitted: u64,
    /// Octets of payload in them.
    pub retransmitted_bytes: u64,
    /// Of them, tail-loss probes.
    pub tail_loss_probes: u64,
    /// Of them, fast retransmissions.
    pub fast: u64,
    /// Of them, those that a time-out brought.
    pub time_outs: u64,
    /// The most time-outs in a row.
    pub most_back_off: u8,
    /// Of them, the rest of what was lost behind a fast one or a time-out.
    pub recoveries: u64,
    /// Of them, those of what had been acknowledged.
    pub spurious: u64,
    /// Packet of the first and of the last that were sent again, spurious ones left out; 0 for none.
    pub first_again: u64,
    /// See `first_again`.
    pub last_again: u64,
    /// How long after the one before those with payload came: below [`FIRST_DELAY_NS`], below twice that, and so on.
    pub delays: [u64; DELAYS],
    /// Segments that came so late that they had been lost before the place of capture and sent again.
    pub lost_before: u64,
    /// Segments that came behind what was sent after them.
    pub out_of_order: u64,
    /// Octets that were acknowledged and never captured.
    pub unseen_bytes: u64,
    /// Segments larger than the other end takes: cut up behind the place of capture.
    pub super_segments: u64,
    /// Octets of payload in the largest segment.
    pub largest_segment: u32,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Packets with RST.
    pub resets: u64,
    /// Segments with payload by their place in a burst, the last place for all behind.
    pub sent_at: [u64; POSITIONS],
    /// Of them, those that had to be sent again.
    pub lost_at: [u64; POSITIONS],
    /// The most octets outstanding.
    pub most_in_flight: u32,
    /// Acknowledgments by the other end that repeat the one before while something is outstanding.
    pub duplicate_acks: u64,
    /// Packets by which the other end told a window and nothing else.
    pub window_updates: u64,
    /// Packets by which the other end closed the window.
    pub zero_windows: u64,
    /// Packets that filled the window.
    pub window_full: u64,
    /// The smallest window that the other end granted outside SYN and RST, in octets.
    pub least_window: Option<u32>,
    /// The largest.
    pub most_window: u32,
    /// Of its acknowledgments, those that granted less than a segment.
    pub small_windows: u64,
    /// Of its acknowledgments, those with selective ones.
    pub selective_acks: u64,
    /// Acknowledgments that were held back while the sender waited for them to send a small segment.
    pub held_back: u64,
    /// The time that took.
    pub held_back_ns: u64,
    /// From a segment to its acknowledgment, segments sent once only.
    pub rtt: Buckets,
    /// From a segment to its acknowledgment where nothing else was sent between.
    pub isolated_rtt: Buckets,
    /// The longest time that something was outstanding and no acknowledgment came.
    pub longest_stall_ns: u64,
    /// When that began.
    pub longest_stall_start_ns: u64,
    /// When the last octet of payload was acknowledged; 0 for never.
    pub last_acked_ns: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) figures: Figures,
    outstanding: Outstanding,
    /// Behind the highest octet sent.
    high: Option<u32>,
    /// Behind the last octet of payload.
    payload_end: Option<u32>,
    /// Behind the highest octet acknowledged.
    acked: Option<u32>,
    /// The last acknowledgment as it came, for repetitions of it.
    last_ack: Option<(u32, u16)>,
    /// Where the window ends that the other end grants.
    edge: Option<u32>,
    /// Largest segment that the other end takes, if its SYN was captured.
    pub(super) mss: Option<u16>,
    /// Shift of this end's own windows.
    pub(super) shift: Option<u8>,
    pub(super) permits_sack: bool,
    pub(super) syn_seen: bool,
    pub(super) fin_sent: bool,
    duplicates: u32,
    sacked: u32,
    mending: Mending,
    step: u8,
    position: u8,
    last_sent_ns: u64,
    last_heard_ns: u64,
    waiting_since_ns: u64,
    smooth_rtt_ns: u64,
    rtt_variation_ns: u64,
    /// A small segment's acknowledgment came late, just now: if a segment follows at once, it waited for it.
    late_ack: Option<(u64, u64)>,
    last_was_small: bool,
    /// The shortest time between two of the largest segments: what the path takes, or nothing.
    least_gap_ns: u64,
    last_was_largest: bool,
    alone: Alone,
}

/// What was sent since something came back.
#[derive(Clone, Copy, Debug)]
enum Alone {
    None,
    One { end: u32, sent_ns: u64 },
    Several,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            figures: Figures::default(),
            outstanding: Outstanding::default(),
            high: None,
            payload_end: None,
            acked: None,
            last_ack: None,
            edge: None,
            mss: None,
            shift: None,
            permits_sack: false,
            syn_seen: false,
            fin_sent: false,
            duplicates: 0,
            sacked: 0,
            mending: Mending::Nothing,
            step: 0,
            position: 0,
            last_sent_ns: 0,
            last_heard_ns: 0,
            waiting_since_ns: 0,
            smooth_rtt_ns: 0,
            rtt_variation_ns: 0,
            late_ack: None,
            last_was_small: false,
            least_gap_ns: u64::MAX,
            last_was_largest: false,
            alone: Alone::None,
        }
    }
}

impl Sender {
    /// Octets sent and not acknowledged.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        match (self.high, self.acked) {
            (Some(high), Some(acked)) if before(acked, high) => high.wrapping_sub(acked),
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn waits(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Whether another full segment would not fit the window.
    #[inline]
    pub(super) fn is_window_full(&self) -> bool {
        match (self.high, self.edge) {
            (Some(high), Some(edge)) => before(edge, high.wrapping_add(self.segment_size())),
            _ => false,
        }
    }

    /// Octets of a full segment: what the other end takes, or the largest that was sent.
    #[inline]
    pub(super) fn segment_size(&self) -> u32 {
        let largest = self.figures.largest_segment.max(1);
        // With timestamps in each segment there is less room than the handshake says.
        self.mss.map_or(largest, |mss| u32::from(mss).min(largest))
    }

    /// How it gets over a loss, if it does.
    pub(super) fn mends(&self) -> Mends {
        match self.mending {
            Mending::Nothing => Mends::Nothing,
            Mending::Fast { .. } => Mends::Requested,
            Mending::TimeOut { .. } => Mends::TimeOut,
        }
    }

    /// Whether its last new segment was less than a full one.
    pub(super) fn last_was_small(&self) -> bool {
        self.last_was_small
    }

    /// The shortest time between two of its largest segments.
    pub(super) fn least_gap_ns(&self) -> u64 {
        self.least_gap_ns
    }

    /// Whether anything had to be sent again.
    pub(super) fn has_lost(&self) -> bool {
        self.figures.retransmitted > self.figures.spurious
    }

    /// Takes note of a packet that the sender sent.
    #[inline]
    pub(super) fn sends(&mut self, segment: &Segment<'_>, time_ns: u64, number: u64) -> Sent {
        self.figures.packets += 1;
        if segment.any(Segment::RST) {
            self.figures.resets += 1;
            return Sent::Bare;
        }
        let (seq, end) = (segment.seq, segment.end());
        if seq == end {
            if self.high.is_some_and(|high| seq == high.wrapping_sub(1)) {
                self.figures.keep_alives += 1;
            }
            return Sent::Bare;
        }
        if segment.len > 0 || segment.any(Segment::FIN) {
            self.figures.segments += 1;
            self.figures.payload_bytes += u64::from(segment.len);
        }
        self.fin_sent |= segment.any(Segment::FIN);
        let high = *self.high.get_or_insert(seq);
        self.acked.get_or_insert(seq);
        let sent = if before(seq, high) {
            // One octet before the next asks whether the other end is there.
            if segment.len == 1 && seq == high.wrapping_sub(1) && !self.waits() {
                self.figures.keep_alives += 1;
                return Sent::Bare;
            }
            self.repeats(segment, high, time_ns, number)
        } else {
            if seq != high {
                self.skips(high, seq, time_ns);
            }
            Sent::New
        };
        if before(high, end) {
            self.advances(segment, if before(seq, high) { high } else { seq }, time_ns);
        }
        if segment.len > 0 {
            self.alone = match self.alone {
                Alone::None => Alone::One {
                    end,
                    sent_ns: time_ns,
                },
                _ => Alone::Several,
            };
        }
        self.last_sent_ns = time_ns;
        sent
    }

    /// Sends something new, from `seq` on.
    #[inline]
    fn advances(&mut self, segment: &Segment<'_>, seq: u32, time_ns: u64) {
        let end = segment.end();
        if segment.len > 0 {
            self.begin_or_continue_burst(time_ns);
            self.figures.sent_at[usize::from(self.position)] += 1;
            let controls =
                u32::from(segment.any(Segment::SYN)) + u32::from(segment.any(Segment::FIN));
            self.figures.unique_bytes += u64::from(end.wrapping_sub(seq).saturating_sub(controls));
            self.payload_end = Some(end.wrapping_sub(u32::from(segment.any(Segment::FIN))));
            self.last_was_small = segment.len < self.segment_size();
            if segment.len > self.figures.largest_segment {
                self.figures.largest_segment = segment.len;
                self.least_gap_ns = u64::MAX;
            } else if segment.len == self.figures.largest_segment && self.last_was_largest {
                let gap_ns = time_ns.saturating_sub(self.last_sent_ns);
                self.least_gap_ns = self.least_gap_ns.min(gap_ns);
            }
            self.last_was_largest = segment.len == self.figures.largest_segment;
            self.figures.super_segments +=
                u64::from(self.mss.is_some_and(|mss| segment.len > u32::from(mss)));
            if self.edge == Some(end) {
                self.figures.window_full += 1;
            }
            if let Some((late_ns, at_ns)) = self.late_ack.take()
                && time_ns.saturating_sub(at_ns) < PROMPT_NS
            {
                self.figures.held_back += 1;
                self.figures.held_back_ns += late_ns;
            }
        }
        if self.outstanding.is_empty() {
            self.waiting_since_ns = time_ns;
        }
        self.is_outstanding(seq, end, 1, time_ns);
        self.high = Some(end);
        self.figures.most_in_flight = self.figures.most_in_flight.max(self.in_flight());
    }

    /// Something between `from` and `until` was not captured, or not yet.
    fn skips(&mut self, from: u32, until: u32, time_ns: u64) {
        if self.outstanding.is_empty() {
            self.waiting_since_ns = time_ns;
        }
        self.is_outstanding(from, until, 0, time_ns);
        self.high = Some(until);
    }

    #[inline]
    fn is_outstanding(&mut self, seq: u32, end: u32, times: u8, time_ns: u64) {
        let piece = Piece {
            seq,
            end,
            first_ns: time_ns,
            last_ns: time_ns,
            times,
            position: self.position,
            sacked: false,
        };
        self.outstanding.push(piece, self.last_ack.is_some());
    }

    #[inline]
    fn begin_or_continue_burst(&mut self, time_ns: u64) {
        let within = WITHIN_BURST_NS.max(self.figures.rtt.min().unwrap_or(0) / 4);
        self.position = if time_ns.saturating_sub(self.last_sent_ns) < within {
            (self.position + 1).min(POSITIONS as u8 - 1)
        } else {
            0
        };
    }

    /// Sends what it sent before, or what was not captured.
    fn repeats(&mut self, segment: &Segment<'_>, high: u32, time_ns: u64, number: u64) -> Sent {
        let (seq, end) = (segment.seq, segment.end());
        if !self.acked.is_some_and(|acked| before(acked, end)) {
            self.figures.spurious += 1;
            self.counts_again(segment, None);
            return Sent::Again(Again::Spurious);
        }
        let mut oldest: Option<Piece> = None;
        for piece in self.outstanding.within(seq, end) {
            oldest.get_or_insert(*piece);
        }
        let Some(before_this) = oldest else {
            return Sent::Bare;
        };
        let delay_ns = time_ns.saturating_sub(before_this.last_ns);
        if before_this.times == 0 {
            let asked_for = self.duplicates >= 3;
            if !asked_for && delay_ns < OVERTAKEN_NS.max(self.smooth_rtt_ns / 2) {
                self.figures.out_of_order += 1;
                self.figures.unique_bytes += u64::from(segment.len.min(high.wrapping_sub(seq)));
                self.resent(seq, end, time_ns);
                return Sent::Overtaken;
            }
            self.figures.unique_bytes += u64::from(segment.len.min(high.wrapping_sub(seq)));
            self.figures.lost_before += 1;
        }
        let again = self.reason(seq, end, high, &before_this, delay_ns, time_ns);
        match again {
            Again::TailLossProbe => self.figures.tail_loss_probes += 1,
            Again::Fast => {
                self.figures.fast += 1;
                self.mending = Mending::Fast { until: high };
            }
            Again::TimeOut { step } => {
                self.figures.time_outs += 1;
                self.step = step;
                self.figures.most_back_off = self.figures.most_back_off.max(step);
                self.mending = Mending::TimeOut { until: high };
            }
            Again::Recovery => self.figures.recoveries += 1,
            Again::Spurious => self.figures.spurious += 1,
        }
        if again != Again::Spurious {
            self.figures.first_again = match self.figures.first_again {
                0 => number,
                first => first,
            };
            self.figures.last_again = number;
            if segment.len > 0 && before_this.times == 1 {
                self.figures.lost_at[usize::from(before_this.position)] += 1;
            }
        }
        self.counts_again(
            segment,
            (before_this.times > 0 && segment.len > 0).then_some(delay_ns),
        );
        self.begin_or_continue_burst(time_ns);
        self.resent(seq, end, time_ns);
        Sent::Again(again)
    }

    fn counts_again(&mut self, segment: &Segment<'_>, delay_ns: Option<u64>) {
        self.figures.retransmitted += 1;
        self.figures.retransmitted_bytes += u64::from(segment.len);
        if let Some(delay_ns) = delay_ns {
            let doublings = (delay_ns / FIRST_DELAY_NS)
                .checked_ilog2()
                .map_or(0, |log| log + 1);
            self.figures.delays[(doublings as usize).min(DELAYS - 1)] += 1;
        }
    }

    fn resent(&mut self, seq: u32, end: u32, time_ns: u64) {
        let position = self.position;
        for piece in self.outstanding.within(seq, end) {
            piece.times = piece.times.saturating_add(1);
            piece.last_ns = time_ns;
            piece.position = position;
        }
    }

    fn reason(
        &self,
        seq: u32,
        end: u32,
        high: u32,
        piece: &Piece,
        delay_ns: u64,
        time_ns: u64,
    ) -> Again {
        if piece.sacked {
            return Again::Spurious;
        }
        let quiet_ns = time_ns.saturating_sub(self.last_sent_ns.max(self.last_heard_ns));
        let prompted = quiet_ns < PROMPT_NS.max(self.smooth_rtt_ns + self.smooth_rtt_ns / 4);
        let first = self.acked == Some(seq);
        let asked_for = self.duplicates >= 3 || self.sacked > 0;
        match self.mending {
            _ if prompted && asked_for && self.mending == Mending::Nothing => Again::Fast,
            Mending::Fast { .. } | Mending::TimeOut { .. } if prompted => Again::Recovery,
            _ if end == high && piece.times == 1 && delay_ns < self.time_out_ns() => {
                Again::TailLossProbe
            }
            _ if first || !prompted => Again::TimeOut {
                step: self.step.saturating_add(1),
            },
            _ => Again::Recovery,
        }
    }

    /// How long the sender waits for an acknowledgment at least: RFC 6298 section 2.
    fn time_out_ns(&self) -> u64 {
        LEAST_TIME_OUT_NS.max(self.smooth_rtt_ns + 4 * self.rtt_variation_ns) / 20 * 19
    }

    /// Takes note of a packet that came from the other end, whose windows are shifted by `shift`.
    #[inline]
    pub(super) fn hears(
        &mut self,
        segment: &Segment<'_>,
        said: &Options,
        shift: u8,
        time_ns: u64,
    ) -> Heard {
        let mut heard = Heard::default();
        if !segment.any(Segment::ACK) || segment.any(Segment::RST) {
            return heard;
        }
        let ack = segment.ack;
        let repeats = self.last_ack == Some((ack, segment.window)) && segment.is_bare();
        if self.acked.is_none_or(|acked| before(acked, ack)) {
            self.advance(ack, time_ns, &mut heard);
        } else if self.acked == Some(ack) && segment.is_bare() {
            if repeats && self.waits() {
                self.figures.duplicate_acks += 1;
                self.duplicates += 1;
            } else if self
                .last_ack
                .is_some_and(|(last, window)| last == ack && window != segment.window)
            {
                self.figures.window_updates += 1;
            }
        }
        if said.blocks > 0 {
            self.figures.selective_acks += 1;
            for (left, right) in said.sack() {
                if self.outstanding.sack(*left, *right) {
                    self.sacked += 1;
                }
            }
        }
        self.is_granted(segment, ack, shift);
        self.alone = Alone::None;
        self.last_ack = Some((ack, segment.window));
        self.last_heard_ns = time_ns;
        heard
    }

    #[inline]
    fn advance(&mut self, ack: u32, time_ns: u64, heard: &mut Heard) {
        heard.advanced = true;
        let waited = self.waits();
        if let Some(high) = self.high
            && before(high, ack)
        {
            self.figures.unseen_bytes += u64::from(ack.wrapping_sub(high));
            self.high = Some(ack);
        }
        if let Some(sent_ns) = self.outstanding.acknowledge(ack) {
            let rtt_ns = time_ns.saturating_sub(sent_ns);
            heard.rtt_ns = Some(rtt_ns);
            self.figures.rtt.add(rtt_ns);
            self.smooth(rtt_ns);
            self.step = 0;
            let late = rtt_ns >= HELD_BACK_NS.max(3 * self.figures.rtt.min().unwrap_or(0));
            self.late_ack =
                (late && self.last_was_small && !self.waits()).then_some((rtt_ns, time_ns));
        }
        if let Alone::One { end, sent_ns } = self.alone
            && until(end, ack)
        {
            self.figures
                .isolated_rtt
                .add(time_ns.saturating_sub(sent_ns));
        }
        if waited {
            let stall_ns = time_ns.saturating_sub(self.waiting_since_ns);
            if stall_ns > self.figures.longest_stall_ns {
                self.figures.longest_stall_ns = stall_ns;
                self.figures.longest_stall_start_ns = self.waiting_since_ns;
            }
        }
        let new_payload = |end| self.acked.is_none_or(|acked| before(acked, end));
        if self.payload_end.is_some_and(new_payload) {
            self.figures.last_acked_ns = time_ns;
        }
        self.waiting_since_ns = time_ns;
        self.acked = Some(ack);
        self.duplicates = 0;
        self.sacked = 0;
        if let Mending::Fast { until: goal } | Mending::TimeOut { until: goal } = self.mending
            && until(goal, ack)
        {
            self.mending = Mending::Nothing;
        }
    }

    /// RFC 6298 section 2.
    #[inline]
    fn smooth(&mut self, rtt_ns: u64) {
        if self.smooth_rtt_ns == 0 {
            self.smooth_rtt_ns = rtt_ns;
            self.rtt_variation_ns = rtt_ns / 2;
            return;
        }
        let off = self.smooth_rtt_ns.abs_diff(rtt_ns);
        self.rtt_variation_ns = (3 * self.rtt_variation_ns + off) / 4;
        self.smooth_rtt_ns = (7 * self.smooth_rtt_ns + rtt_ns) / 8;
    }

    #[inline]
    fn is_granted(&mut self, segment: &Segment<'_>, ack: u32, shift: u8) {
        let opens = segment.any(Segment::SYN);
        let window = u32::from(segment.window) << if opens { 0 } else { shift };
        self.edge = Some(ack.wrapping_add(window));
        self.figures.most_window = self.figures.most_window.max(window);
        if opens {
            return;
        }
        self.figures.least_window = Some(
            self.figures
                .least_window
                .map_or(window, |least| least.min(window)),
        );
        if window == 0 && !segment.any(Segment::FIN) {
            self.figures.zero_windows += 1;
        } else if window < self.segment_size() && self.figures.segments > 0 {
            self.figures.small_windows += 1;
        }
    }
}
