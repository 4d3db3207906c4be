//! TCP as a capture shows it.
//!
//! | module | what a person finds there |
//! |---|---|
//! | `segment` | header and options |
//! | `flags` | what a packet is, by tshark's names |
//! | `sequence` | tshark's rules for them |
//! | `sender` | one direction: retransmissions and why, round trips, windows, bursts |
//! | `marks` | where in a capture something happened |
//! | `spacing` | loss by how closely segments follow others |
//! | `outstanding` | what is not acknowledged yet |
//! | `limit` | what the time went to |
//! | `timeline` | the same in the order of time, in bounded memory |
//! | `buckets` | distributions of times |
//! | `trace` | what a picture shows of a direction, over time |
//!
//! A [`Connection`] takes segments in the order of the capture and keeps no packet: its memory is bounded by
//! what is outstanding.

mod buckets;
mod flags;
mod limit;
mod marks;
mod outstanding;
mod segment;
mod sender;
mod sequence;
mod spacing;
#[cfg(test)]
mod tests;
mod timeline;
mod trace;

pub use buckets::Buckets;
pub use flags::Flags;
pub use limit::{Limit, Shares};
pub use marks::Marks;
pub use segment::{Options, Sack, Segment};
pub use sender::{AHEAD, Again, DELAYS, FIRST_DELAY_NS, Figures, POSITIONS};
pub use spacing::{Fate, Spacing, at_most};
pub use timeline::LimitSpan;
pub use trace::{Column, Gap, Gaps, Kind, MOST_COLUMNS, Mark, Trace};

use limit::{Attribution, Before};
use sender::{Sender, Sent};
use sequence::Rules;
use trace::Stand;

/// Longer than any connection is captured: 833 days. What comes later has a damaged time.
const LONGEST_NS: u64 = 1 << 56;

/// An end is beside the place of capture if the way to the other one takes this much longer.
const MUCH_FARTHER: u64 = 4;

/// Which end of a connection sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one whose packet came first.
    First,
    /// The other.
    Second,
}

impl End {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Number of its first packet in the capture.
    pub first_packet: u64,
    /// Number of its last packet so far.
    pub last_packet: u64,
    /// When its first packet was captured.
    pub start_ns: u64,
    /// When its last one was.
    pub end_ns: u64,
    /// Sequence numbers of the ends' SYNs, or what they must have been.
    bases: [Option<u32>; 2],
    rules: Option<Box<Rules>>,
    senders: [Sender; 2],
    attribution: Attribution,
    handshake: Handshake,
    /// See [`Handshake::far_ns`].
    far_ns: [u64; 2],
    traces: Option<Box<[Trace; 2]>>,
}

/// When a connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The last SYN.
    pub syn_ns: Option<u64>,
    /// The answer to it.
    pub syn_ack_ns: Option<u64>,
    /// The first packet with neither, by either end.
    pub ack_ns: Option<u64>,
}

impl Handshake {
    /// The whole round trip between the ends, wherever was captured.
    pub fn rtt_ns(&self) -> Option<u64> {
        self.ack_ns?.checked_sub(self.syn_ns?)
    }

    /// The round trips from the place of capture to the first end and to the second one.
    fn ways_ns(&self) -> Option<[u64; 2]> {
        let answer_ns = self.syn_ack_ns?;
        Some([
            self.ack_ns?.saturating_sub(answer_ns),
            answer_ns.saturating_sub(self.syn_ns?),
        ])
    }

    /// The end beside which was captured, if the other one is much farther away.
    pub fn nearer(&self) -> Option<End> {
        let [first_ns, second_ns] = self.ways_ns()?;
        if second_ns / MUCH_FARTHER > first_ns {
            Some(End::First)
        } else if first_ns / MUCH_FARTHER > second_ns {
            Some(End::Second)
        } else {
            None
        }
    }

    /// For each end, the round trip from the place of capture to it and back, if the other one is much nearer; else 0.
    fn far_ns(&self) -> [u64; 2] {
        let ways_ns = self.ways_ns().unwrap_or_default();
        [End::First, End::Second].map(|end| {
            if self.nearer() == Some(end.other()) {
                ways_ns[end as usize]
            } else {
                0
            }
        })
    }
}

impl Connection {
    /// One of which nothing was seen yet.
    pub fn new(number: u64, time_ns: u64) -> Self {
        Self {
            first_packet: number,
            last_packet: number,
            start_ns: time_ns,
            end_ns: time_ns,
            bases: [None; 2],
            rules: None,
            senders: Default::default(),
            attribution: Attribution::default(),
            handshake: Handshake::default(),
            far_ns: [0; 2],
            traces: None,
        }
    }

    /// [`take`](Self::take) tells flags from now on. What they rest on takes time and memory.
    pub fn keep_flags(&mut self) {
        self.rules = Some(Box::default());
    }

    /// Keeps what a picture shows of both directions from now on, or lets go of it.
    pub fn keep_traces(&mut self, keep: bool) {
        self.traces = keep.then(Box::default);
    }

    /// What a picture shows of what `end` sent, if that was kept.
    pub fn trace(&self, end: End) -> Option<&Trace> {
        self.traces.as_ref().map(|traces| &traces[end as usize])
    }

    /// Whether `segment` of `end` cannot belong to it but opens another between the same ports.
    #[inline]
    pub fn is_reopened(&self, end: End, segment: &Segment<'_>) -> bool {
        let base = self.bases[end as usize];
        segment.opens() && base.is_some_and(|base| base != segment.seq)
    }

    /// Whether both ends have closed it, or one has reset it.
    pub fn is_closed(&self) -> bool {
        let closed = |sender: &Sender| sender.fin_sent && !sender.waits();
        self.senders.iter().all(closed) || self.senders.iter().any(|end| end.figures.resets > 0)
    }

    /// Takes note of a segment that `end` sent; what is remarkable about it, if [flags are kept](Self::keep_flags).
    #[inline]
    pub fn take(&mut self, end: End, segment: &Segment<'_>, time_ns: u64, number: u64) -> Flags {
        let reused = self.begins(end, segment);
        let mut flags = Flags::default();
        if let Some(rules) = &mut self.rules {
            flags = rules.look(end, segment, time_ns);
            flags |= reused;
        }
        // Clocks of captures may step back.
        let since_start_ns = time_ns.saturating_sub(self.start_ns).min(LONGEST_NS);
        let time_ns = self.start_ns + since_start_ns;
        let passed_ns = time_ns.saturating_sub(self.end_ns);
        let open = self.handshake.ack_ns.is_some() || self.handshake.syn_ns.is_none();
        let carrier = self.carrier();
        let (sender, hearer) = both(&mut self.senders, end);
        let before = if carrier == end {
            Before::sent(sender, time_ns, passed_ns, self.far_ns[end as usize])
        } else {
            Before::heard(hearer, time_ns, passed_ns)
        };
        let sent = sender.sends(segment, time_ns, number);
        let shift = match (sender.shift, hearer.shift) {
            (Some(shift), Some(_)) => shift,
            _ => 0,
        };
        let heard = hearer.hears(segment, shift, time_ns, number);
        let attribution = &mut self.attribution;
        match before {
            _ if !open => {
                let again = carrier == end && matches!(sent, Sent::Again(_));
                attribution.opens(passed_ns, again, number);
            }
            Before::Sent { new, still } => attribution.sent(passed_ns, (new, still), sent, number),
            Before::Heard {
                waiting,
                late,
                in_time_ns,
                ..
            } if heard.advanced => {
                let limits = (waiting, late);
                attribution.acknowledged(passed_ns, limits, in_time_ns, &heard, number);
            }
            Before::Heard { still, .. } => attribution.wait(still, passed_ns, number),
        }
        self.opens(end, segment, time_ns);
        if self.traces.is_some() {
            self.traces(end, segment, sent, time_ns);
        }
        self.end_ns = self.end_ns.max(time_ns);
        self.last_packet = number;
        flags
    }

    /// Takes note of a packet for pictures.
    #[cold]
    fn traces(&mut self, end: End, segment: &Segment<'_>, sent: Sent, time_ns: u64) {
        let Some(traces) = &mut self.traces else {
            return;
        };
        let stand = |end: End| {
            let sender = &self.senders[end as usize];
            Stand {
                in_flight: sender.in_flight(),
                reach: sender.reach(),
            }
        };
        let (own, back) = both(traces, end);
        let at_ns = time_ns - self.start_ns;
        let since_ns = self.end_ns.min(time_ns) - self.start_ns;
        own.sent(segment, sent, stand(end), (since_ns, at_ns));
        back.heard(segment, stand(end.other()), at_ns);
    }

    /// What `segment` tells of where the sequence numbers begin.
    #[inline]
    fn begins(&mut self, end: End, segment: &Segment<'_>) -> Flags {
        let known = matches!(self.bases, [Some(_), Some(_)]);
        if known && !segment.any(Segment::SYN) {
            Flags::default()
        } else {
            self.bases(end, segment)
        }
    }

    /// An answer to a SYN with another sequence number is of another connection, which has all that is known of this
    /// one.
    #[cold]
    fn bases(&mut self, end: End, segment: &Segment<'_>) -> Flags {
        let (own, back) = both(&mut self.bases, end);
        let syn = segment.any(Segment::SYN);
        let base = *own.get_or_insert(segment.seq.wrapping_sub(u32::from(!syn)));
        if back.is_none() && segment.any(Segment::ACK) {
            *back = Some(segment.ack.wrapping_sub(1));
        }
        if syn && !segment.opens() && base != segment.seq {
            *own = Some(segment.seq);
            return Flags::REUSED_PORTS;
        }
        Flags::default()
    }

    #[inline]
    fn opens(&mut self, end: End, segment: &Segment<'_>, time_ns: u64) {
        if segment.any(Segment::SYN) {
            self.says(end, segment, time_ns);
        } else if self.handshake.ack_ns.is_none()
            && self.handshake.syn_ns.is_some()
            && segment.any(Segment::ACK)
        {
            self.handshake.ack_ns = Some(time_ns);
            self.far_ns = self.handshake.far_ns();
        }
    }

    /// Takes note of what a SYN says.
    #[cold]
    fn says(&mut self, end: End, segment: &Segment<'_>, time_ns: u64) {
        let said = segment.said();
        if segment.any(Segment::ACK) {
            self.handshake.syn_ack_ns = Some(time_ns);
        } else {
            self.handshake.syn_ns = Some(time_ns);
        }
        self.far_ns = self.handshake.far_ns();
        let (own, back) = both(&mut self.senders, end);
        own.syn_seen = true;
        own.shift = said.window_shift;
        own.permits_sack = said.sack_permitted;
        back.may_send(said.mss);
    }

    /// The end that carries the payload: that which has sent the most of it so far.
    #[inline]
    pub fn carrier(&self) -> End {
        let [first, second] = &self.senders;
        if second.figures.payload_bytes > first.figures.payload_bytes {
            End::Second
        } else {
            End::First
        }
    }

    /// What was counted of what `end` sent, and of what came back for it.
    pub fn figures(&self, end: End) -> &Figures {
        &self.senders[end as usize].figures
    }

    /// The shift of `end`'s windows; `None` if no SYN of it was captured, 0 if it offers none or the other
    /// end does not.
    pub fn window_shift(&self, end: End) -> Option<u8> {
        let (own, back) = (
            &self.senders[end as usize],
            &self.senders[end.other() as usize],
        );
        own.syn_seen
            .then(|| own.shift.and(back.shift).and(own.shift).unwrap_or(0))
    }

    /// The largest segment that `end` takes, if it said so.
    pub fn largest_taken(&self, end: End) -> Option<u16> {
        self.senders[end.other() as usize].mss()
    }

    /// Whether `end` takes selective acknowledgments.
    pub fn permits_sack(&self, end: End) -> bool {
        self.senders[end as usize].permits_sack
    }

    /// When it was opened, if that was captured.
    pub fn handshake(&self) -> Handshake {
        self.handshake
    }

    /// What its time went to, for the end that [carries](Self::carrier) the payload.
    pub fn shares(&self) -> Shares {
        self.attribution.shares(self.loses_in_bursts())
    }

    /// The same in the order of time, without gaps from [`start_ns`](Self::start_ns) to [`end_ns`](Self::end_ns).
    /// And the time below which spans were put together because there were too many; 0 if none were. Sums of such
    /// spans are no longer exact, [`shares`](Self::shares) are.
    pub fn limits(&self) -> (Vec<LimitSpan>, u64) {
        self.attribution
            .spans(self.start_ns, self.loses_in_bursts())
    }

    /// The packets that ended such time; worst is that which ended the longest at a stretch.
    pub fn marks(&self, limit: Limit) -> Marks {
        self.attribution.marks(limit, self.loses_in_bursts())
    }

    fn loses_in_bursts(&self) -> bool {
        self.figures(self.carrier()).spacing.loses_in_bursts()
    }
}

#[inline]
fn both<T>(pair: &mut [T; 2], end: End) -> (&mut T, &mut T) {
    let [first, second] = pair;
    match end {
        End::First => (first, second),
        End::Second => (second, first),
    }
}
