//! What the rules evaluate: one connection with its model.

use super::exchange::ServerAnswers;
use linerate_capture::model::{FlowModel, Limit, Standstill, percentile};
use linerate_capture::tcp::{Connection, End, SenderStats};
use linerate_capture::traffic::Flow;
use linerate_results::stats;

/// Kind of a connection, by what passed over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowClass {
    /// A transfer of many segments.
    Bulk,
    /// Requests and answers of few segments each.
    Exchange,
    /// Too little passed to judge its rate.
    Short,
}

/// A longer turn is a transfer.
const BULK_SEGMENTS: u64 = 12;
/// Fewer changes of direction are a transfer with its request.
pub(super) const EXCHANGE_TURNS: usize = 4;

/// Segments of a transfer are larger on average, unless they are sent close together.
const SMALL_BYTES: u64 = 400;

/// Fewer segments than one in so many that end a write are those of a sender that always has more.
pub(super) const HARDLY_ANY: usize = 8;

/// A stack sends within this time what it has ready.
const PROMPT_NS: u64 = 2_000_000;
/// A stack's times differ by less than this from one packet to the next.
const STACK_NS: u64 = 100_000;
/// Fewer losses have no pattern.
const MIN_SECOND_LOST: u64 = 3;

/// Payload of segments that fill the MTU of Ethernet: 1,500 octets less headers of IPv4 or IPv6 and TCP with options.
const MTU_PAYLOAD: (u64, u64) = (1_400, 1_460);

/// Smaller segments cost hosts more for each octet, so that the link may not be their next limit.
const MIN_TRAIN_BYTES: u64 = 1_200;
/// A path that was full for a smaller share of the time may not have been full.
const MIN_FULL: f64 = 0.05;

/// Estimated time of a transfer without a cause, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeWithout {
    /// The rate of the path is known, or does not matter.
    About(u64),
    /// The path may be faster than what passed.
    AtMost(u64),
}

/// What limits a transfer when a cause is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextLimit {
    /// The rate of the path, all the time.
    Path,
    /// The congestion window, until it has grown to what the path carries.
    Growth,
    /// The same, and then the receiver's window.
    Window,
}

impl TimeWithout {
    /// Nanoseconds.
    pub(super) fn ns(self) -> u64 {
        match self {
            Self::About(ns) | Self::AtMost(ns) => ns,
        }
    }

    /// The same as a bound.
    pub(super) fn at_most(self) -> Self {
        Self::AtMost(self.ns())
    }

    /// The time of both.
    pub(super) fn plus(self, other: Self) -> Self {
        let ns = self.ns() + other.ns();
        match (self, other) {
            (Self::About(_), Self::About(_)) => Self::About(ns),
            _ => Self::AtMost(ns),
        }
    }
}

/// Any initial window admits so many segments at once (RFC 5681 section 3.1).
const INITIAL_SEGMENTS: u64 = 3;
/// Octets of a full segment at least (RFC 9293 section 3.7.1: the default MSS is 536).
pub(super) const LEAST_FULL: u64 = 536;

/// A sender that paces its segments spaces them at up to twice the rate of its window (Linux: `tcp_pacing_ss_ratio`, 200%),
/// and clocks deviate.
const PACED: f64 = 2.2;
/// Without a window or a wait, a transfer is this many times faster at most: beyond three doublings of its window, other
/// limits that did not show (buffers, queues, processors) come first, and only a bound is given.
const MOST_EXTRAPOLATED: u64 = 8;
/// The largest initial window in common use, in segments (RFC 6928 section 2).
const MOST_INITIAL: u64 = 10;

/// A timer's segments follow an acknowledgment within this part of the time between two by chance once in as many
/// connections.
const PROMPT_DIVISOR: u64 = 8;

/// A connection with its model.
pub(super) struct FlowFacts<'a> {
    pub(super) flow: &'a Flow,
    pub(super) model: FlowModel,
    pub(super) class: FlowClass,
    /// Payload sender and receiver.
    pub(super) sender: String,
    pub(super) receiver: String,
    /// Time from the first payload to the last.
    pub(super) active_ns: u64,
    /// Octets of a full segment.
    pub(super) full: u64,
    /// True if another transfer in the same direction fills the path meanwhile.
    pub(super) is_beside_full: bool,
    /// The transfer in the other direction that fills the way back meanwhile.
    pub(super) against: Option<OppositeTransfer>,
    /// True if transfers in the same direction fill the path together: their sum is steady, each of them is not.
    pub(super) fills_together: bool,
    /// The rate of the path, if other transfers fill it together with this one.
    pub(super) shared: Option<SharedRate>,
    /// The shortest round trip of all connections between these hosts at the time: a connection that begins behind a full
    /// queue shows no shorter one than the queue's.
    pub(super) least_rtt_ns: Option<u64>,
    /// Answers of its server in all connections like it.
    pub(super) answers: ServerAnswers,
}

/// Rate of a path that several transfers fill together.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedRate {
    pub(super) connections: usize,
    /// Payload of all of them while it is full, octets per second.
    pub(super) bytes_per_s: f64,
}

/// A transfer between the same hosts in the other direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct OppositeTransfer {
    /// Average goodput, octets per second.
    pub(super) bytes_per_s: f64,
    /// Median time that its packets wait, if that shows.
    pub(super) queue_ns: Option<u64>,
    /// True if it fills its way; otherwise it is only steady.
    pub(super) is_full: bool,
}

impl<'a> FlowFacts<'a> {
    /// The facts of `flow`; `None` if it carried no payload, or if its acknowledgments were not captured.
    pub(super) fn of(flow: &'a Flow) -> Option<Self> {
        let log = flow.connection.log();
        if is_one_sided(&flow.connection) {
            return None;
        }
        let model = FlowModel::of(&flow.connection, log.packets(), log.is_truncated())?;
        let full = u64::from(model.view.full_segment());
        let address = |end: End| flow.ends[end as usize].0.to_string();
        let around_ns = model.time_ns(Limit::Tail) + model.time_ns(Limit::Handshake);
        let active_ns = model.span_ns - around_ns;
        Some(Self {
            class: classify(&model, full),
            least_rtt_ns: model.base_rtt_ns(),
            sender: address(model.data_sender),
            receiver: address(model.data_sender.other()),
            active_ns,
            full,
            is_beside_full: false,
            fills_together: false,
            against: None,
            flow,
            model,
            shared: None,
            answers: ServerAnswers::default(),
        })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.flow.connection
    }

    /// True if its messages are so small that nothing but its programs decides when they are sent.
    pub(super) fn is_dialogue(&self) -> bool {
        let turns = &self.model.turns;
        let longest = turns.longest_turn(self.model.data_sender);
        let is_small = longest <= INITIAL_SEGMENTS * self.full.max(LEAST_FULL);
        self.class != FlowClass::Bulk && (is_small || is_trickle(&self.model))
    }

    /// True if its sender sets PSH on hardly any segment, so that the end of a write does not show (RFC 9293 section 3.9.1
    /// permits that).
    pub(super) fn hides_writes(&self) -> bool {
        let sent = &self.model.view.sent;
        let pushed = sent.iter().filter(|it| it.is_pushed).count();
        pushed * HARDLY_ANY < sent.len()
    }

    /// For each new segment, true if nothing else was in flight, or if all that was had the time to arrive, and its
    /// acknowledgment was held back: a sender that has more to send does not leave such a segment less than full (RFC 9293
    /// section 3.8.6.2.1).
    pub(super) fn sent_alone(&self) -> Vec<bool> {
        let new = self.model.view.sent.iter();
        let new = new.filter(|it| !it.is_retransmission());
        let base_ns = self.model.base_rtt_ns().filter(|ns| *ns > 0);
        let mut before_ns = 0;
        new.zip(self.model.flights())
            .map(|(it, flight)| {
                let silence_ns = it.time_ns - before_ns;
                before_ns = it.time_ns;
                flight <= u64::from(it.len) + 1 || base_ns.is_some_and(|ns| silence_ns >= ns)
            })
            .collect()
    }

    /// True if acknowledgments may set the sender's pace, which looks like one of its own where the capture began late: the
    /// round trip without a queue is unknown, and segments follow acknowledgments at once.
    pub(super) fn may_follow_acks(&self) -> bool {
        let is_late = self.connection().handshake().syn_ns.is_none();
        let acks = self.model.view.acks.windows(2);
        let gaps = acks.map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
        let gap_ns = percentile(gaps, 50).unwrap_or(0);
        let is_prompt = |ns: u64| ns <= gap_ns / PROMPT_DIVISOR;
        is_late && self.model.release_ns.is_some_and(is_prompt)
    }

    /// Counters of the payload sender, of the packets from which the model is derived.
    pub(super) fn stats(&self) -> &SenderStats {
        self.connection().logged_stats(self.model.data_sender)
    }

    /// MSS that the payload receiver announced, which limits the sender.
    pub(super) fn mss(&self) -> Option<u64> {
        let receiver = self.model.data_sender.other();
        self.connection().mss(receiver).map(u64::from)
    }

    /// Share of the active time with this limit.
    pub(super) fn share(&self, reason: Limit) -> f64 {
        self.share_of(self.model.time_ns(reason))
    }

    /// Share of the active time.
    pub(super) fn share_of(&self, ns: u64) -> f64 {
        stats::ratio(ns as f64, self.active_ns as f64).min(1.0)
    }

    /// Octets of payload, each once.
    pub(super) fn bytes(&self) -> u64 {
        self.stats().unique_bytes
    }

    /// Average goodput, octets per second.
    pub(super) fn goodput(&self) -> f64 {
        stats::ratio(self.bytes() as f64 * 1e9, self.active_ns as f64)
    }

    /// Average rate of the acknowledged payload, from the first segment to its acknowledgment, octets per second.
    pub(super) fn acknowledged_rate(&self) -> f64 {
        let view = &self.model.view;
        let highest = view.acks.iter().map(|it| it.ack).max().unwrap_or(0);
        let acked = view.acks.iter().find(|it| it.ack == highest);
        // The first octets may have been captured late, when they were repeated.
        let lowest = view.sent.iter().map(|it| it.start).min();
        let (Some(first), Some(lowest), Some(acked)) = (view.sent.first(), lowest, acked) else {
            return 0.0;
        };
        let ns = acked.time_ns.saturating_sub(first.time_ns);
        let bytes = highest.saturating_sub(lowest).min(self.bytes());
        stats::ratio(bytes as f64 * 1e9, ns as f64)
    }

    /// Time between the last payload and its acknowledgment, which is not part of the active time.
    pub(super) fn last_wait_ns(&self) -> u64 {
        let view = &self.model.view;
        let highest = view.acks.iter().map(|it| it.ack).max().unwrap_or(0);
        let acked = view.acks.iter().find(|it| it.ack == highest);
        let Some(acked_ns) = acked.map(|it| it.time_ns) else {
            return 0;
        };
        let spans = self.model.spans.iter();
        let waits = spans.filter(|span| span.limit == Limit::Tail && span.start_ns < acked_ns);
        waits
            .map(|span| span.end_ns.min(acked_ns) - span.start_ns)
            .sum()
    }

    /// Average rate of the payload sent while the receiver did not stand still, as a share of the fastest rate.
    pub(super) fn utilization(&self) -> f64 {
        let stills = self.model.standstills.iter();
        let still = self.share_of(stills.map(Standstill::ns).sum());
        self.model.utilization / (1.0 - still).max(0.1)
    }

    /// The fastest rate that the path showed, octets of payload per second.
    pub(super) fn fastest(&self) -> Option<f64> {
        self.model.fastest.map(|rate| rate.bytes_per_s)
    }

    /// Rate of the path, octets of payload per second: of a path that was full, or else of the segments of one flight.
    pub(super) fn path_rate(&self) -> Option<f64> {
        let was_full = self.model.is_queued && self.share(Limit::PathRate) >= MIN_FULL;
        let full = self.fastest().filter(|_| was_full);
        let train = self
            .model
            .train
            .filter(|train| self.full >= MIN_TRAIN_BYTES && train.bytes_per_s >= self.goodput());
        full.or(train.map(|train| train.bytes_per_s))
    }

    /// True if most bursts lose their second segment: the receiver has one buffer, and more in flight is lost.
    pub(super) fn loses_the_second(&self) -> bool {
        let stats = self.stats();
        let (sent, lost) = (&stats.sent_by_position, &stats.lost_by_position);
        lost[1] >= MIN_SECOND_LOST && lost[1] * 2 >= sent[1]
    }

    /// Time that all payload takes at the fastest rate that the path showed.
    pub(super) fn least_time_ns(&self) -> Option<u64> {
        let rates = self.path_rate().into_iter().chain(self.fastest());
        let rate = rates.max_by(f64::total_cmp)?;
        Some((self.bytes() as f64 * 1e9 / rate) as u64)
    }

    /// Active time without `share` of it, but at least what all payload takes on the path: near the receiver, that is part
    /// of the rest, elsewhere of what is taken away. `None` if the rate of the path is unknown and would decide.
    pub(super) fn time_without(&self, share: f64, next: NextLimit) -> Option<TimeWithout> {
        let rest_ns = self.active_ns as f64 * (1.0 - share);
        let at = |rate: f64| {
            let least_ns = match next {
                NextLimit::Path => self.bytes() as f64 * 1e9 / rate,
                NextLimit::Growth => self.growing_ns(rate),
                NextLimit::Window => {
                    self.growing_ns(self.window_rate().map_or(rate, |it| it.min(rate)))
                }
            };
            let least_ns = if next == NextLimit::Growth {
                least_ns + self.blocked_ns() as f64
            } else {
                least_ns
            };
            (rest_ns.max(least_ns) as u64).min(self.active_ns)
        };
        // Segments of a window that was always full may be apart because their sender paces them.
        let was_full = self.model.is_queued && self.share(Limit::PathRate) >= MIN_FULL;
        let is_paced = |rate: &f64| *rate < PACED * self.goodput();
        let rate = self.path_rate();
        if let Some(rate) = rate.filter(|it| next == NextLimit::Path || was_full || !is_paced(it)) {
            let without_ns = at(rate);
            let is_far = without_ns.saturating_mul(MOST_EXTRAPOLATED) < self.active_ns;
            return Some(if next != NextLimit::Path && !was_full && is_far {
                TimeWithout::AtMost(without_ns)
            } else {
                TimeWithout::About(without_ns)
            });
        }
        let without_ns = at(self.fastest()?);
        Some(if without_ns as f64 <= rest_ns {
            TimeWithout::About(without_ns)
        } else {
            TimeWithout::AtMost(without_ns)
        })
    }

    /// Time that all payload takes at this rate if nothing but the congestion window delays its beginning: it doubles in
    /// each round trip (RFC 3465 section 2.2, also where each second segment is acknowledged), from what was in flight, but
    /// from [`MOST_INITIAL`] at most.
    fn growing_ns(&self, rate: f64) -> f64 {
        let rtt_ns = self.model.base_rtt_ns().unwrap_or(0) as f64;
        // As the sender saw it: near the receiver, hardly anything is unacknowledged.
        let most = self.model.flights().into_iter().max().unwrap_or(0);
        let mut window = most.clamp(self.full, MOST_INITIAL * self.full) as f64;
        let (mut rest, mut ns) = (self.bytes() as f64, 0.0);
        while rest > window && window * 1e9 < rate * rtt_ns {
            rest -= window;
            ns += rtt_ns;
            window *= 2.0;
        }
        ns + rest * 1e9 / rate
    }

    /// Time in which nothing is sent, whatever the receiver's window: it stays, and what passes takes its time beside it.
    fn blocked_ns(&self) -> u64 {
        let limits = [Limit::Timeout, Limit::SenderIdle, Limit::ClosedWindow];
        limits.iter().map(|limit| self.model.time_ns(*limit)).sum()
    }

    /// Rate that the largest window permits, octets per second, if the round trip is known.
    fn window_rate(&self) -> Option<f64> {
        let rtt_ns = self.model.round_trip_ns().filter(|ns| *ns > 0)?;
        Some(self.model.largest_window() as f64 * 1e9 / rtt_ns as f64)
    }

    /// Octets on the wire for each octet of payload in full frames. Full frames of most hosts fill the MTU of 1,500
    /// octets; with gap and preamble that is 1,538 (IEEE 802.3 clauses 3.1 and 4.4.2).
    pub(super) fn wire_factor(&self) -> f64 {
        wire_factor(self.frame_payload())
    }

    /// Octets of payload in a full frame: those of a full segment, unless an adapter splits or merges segments (TSO, GRO)
    /// and the capture has larger ones than the wire.
    pub(super) fn frame_payload(&self) -> u64 {
        let is_stamped = self.model.view.sent.iter().any(|it| it.timestamp != 0);
        frame_payload(self.full, self.mss(), is_stamped)
    }
}

/// True if the capture has no packet of the payload receiver, although some must have come: the sender goes on with
/// new data. (To a host that is gone, it repeats the old: RFC 6298 section 5.)
fn is_one_sided(connection: &Connection) -> bool {
    let sender = connection.data_sender();
    if connection.stats(sender.other()).packets > 0 {
        return false;
    }
    let sent = connection.stats(sender);
    sent.segments > 0 && sent.retransmitted_segments * 2 < sent.segments
}

fn wire_factor(frame_payload: u64) -> f64 {
    let payload = frame_payload.max(1) as f64;
    if (MTU_PAYLOAD.0..=MTU_PAYLOAD.1).contains(&frame_payload) {
        1538.0 / payload
    } else {
        (payload + 78.0) / payload
    }
}

/// Timestamps with their padding (RFC 7323 appendix A), which the MSS does not count (RFC 6691).
pub(super) const STAMP_OCTETS: u64 = 12;
/// Payload of the largest frames in use, of 9,000 octets.
const JUMBO_PAYLOAD: u64 = 8_960;

fn frame_payload(full: u64, mss: Option<u64>, is_stamped: bool) -> u64 {
    let options = if is_stamped { STAMP_OCTETS } else { 0 };
    let of_mss = |mss: u64| mss.saturating_sub(options).max(1);
    match mss {
        Some(mss) if full > mss => of_mss(mss),
        // Without the handshake: multiples of a full frame's payload, or more than any frame carries.
        None if full > MTU_PAYLOAD.1 => {
            let ethernet = of_mss(MTU_PAYLOAD.1);
            let is_multiple = full.is_multiple_of(ethernet);
            if is_multiple || full > JUMBO_PAYLOAD {
                ethernet
            } else {
                full
            }
        }
        _ => full,
    }
}

fn classify(model: &FlowModel, full: u64) -> FlowClass {
    let longest = model.turns.longest_turn(model.data_sender);
    if longest >= BULK_SEGMENTS * full.max(SMALL_BYTES) && !is_trickle(model) {
        FlowClass::Bulk
    } else if model.turns.changes() >= EXCHANGE_TURNS {
        FlowClass::Exchange
    } else if model.view.sent.len() as u64 >= 4 * BULK_SEGMENTS && !is_trickle(model) {
        FlowClass::Bulk
    } else if model.view.sent.len() as u64 >= BULK_SEGMENTS {
        FlowClass::Exchange
    } else {
        FlowClass::Short
    }
}

/// True for small segments, each sent when nothing is in flight: a program that has little to send.
fn is_trickle(model: &FlowModel) -> bool {
    let sent = &model.view.sent;
    let bytes: u64 = sent.iter().map(|it| u64::from(it.len)).sum();
    if bytes / sent.len().max(1) as u64 >= SMALL_BYTES || is_in_step(model) {
        return false;
    }
    // A program's write ends with PSH (RFC 9293 section 3.9.1); a sender that has more to send does not set it.
    let pushed = sent.iter().filter(|it| it.is_pushed).count();
    if pushed * HARDLY_ANY < sent.len() {
        return false;
    }
    let flights = model.flights();
    let new = sent.iter().filter(|it| !it.is_retransmission());
    let alone = new
        .zip(&flights)
        .filter(|(it, flight)| **flight <= u64::from(it.len) + 1)
        .count();
    alone * 2 >= flights.len()
}

/// The least time between an acknowledgment that passes the capture point and the segment which it releases, ns, if the sender is
/// `to_sender_ns` away at the least. What comes sooner left before.
pub(super) fn earliest_reaction_ns(to_sender_ns: u64) -> u64 {
    to_sender_ns.saturating_sub(STACK_NS.max(to_sender_ns / 8))
}

/// True if nearly all segments have one size, and each follows the acknowledgment of the one before at once: there is always more to
/// send. A stack with one buffer sets PSH on each (uIP).
fn is_in_step(model: &FlowModel) -> bool {
    // What follows an acknowledgment arrives after it has reached the sender and the segment has come from there.
    let Some(to_sender_ns) = model.to_sender.base_ns() else {
        return false;
    };
    let sent = &model.view.sent;
    let full = sent.iter().map(|it| it.len).max().unwrap_or(0);
    let mut acks = model.view.acks.iter().peekable();
    let mut in_step = 0;
    for pair in sent.windows(2) {
        let (before, next) = (pair[0], pair[1]);
        while acks.next_if(|ack| ack.ack < before.end).is_some() {}
        let Some(ack) = acks.peek().filter(|ack| ack.time_ns <= next.time_ns) else {
            continue;
        };
        let reaction_ns = next.time_ns - ack.time_ns;
        let at_once = earliest_reaction_ns(to_sender_ns)..=to_sender_ns + PROMPT_NS;
        in_step += usize::from(before.len == full && at_once.contains(&reaction_ns));
    }
    in_step * 10 >= sent.len() * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_capture::reader::Address;
    use linerate_capture::tcp::Segment;

    #[test]
    fn figures_of_a_long_connection_are_those_of_its_logged_packets() {
        const SEGMENTS: u32 = 40_000;
        let mut connection = Connection::new(1, 0);
        // The first half of the time passes ten times as fast as the second one, which is not logged completely.
        let mut now_ns = 0;
        for at in 0..SEGMENTS {
            now_ns += if at < SEGMENTS / 2 {
                100_000
            } else {
                1_000_000
            };
            let seq = 1 + at * 1_000;
            let data = segment(seq, 1, 1_000);
            connection.record_segment(End::First, &data, now_ns, u64::from(2 * at + 1));
            let ack = segment(1, seq + 1_000, 0);
            connection.record_segment(End::Second, &ack, now_ns + 50_000, u64::from(2 * at + 2));
        }
        let ends = [1, 2].map(|host| (Address([host; 16]), 80));
        let flow = Flow {
            ends,
            connection: Box::new(connection),
        };
        let facts = FlowFacts::of(&flow).expect("payload");
        assert!(facts.model.is_truncated);
        assert_eq!(facts.bytes(), (1 << 15) * 1_000);
        let seconds = 2.0 + f64::from((1 << 15) - SEGMENTS / 2) / 1e3;
        let goodput = facts.bytes() as f64 / seconds;
        assert!(
            (facts.goodput() / goodput - 1.0).abs() < 0.01,
            "{}",
            facts.goodput()
        );
    }

    #[test]
    fn without_the_acknowledgments_nothing_is_known() {
        let flow = |is_repeated: bool| {
            let mut connection = Connection::new(1, 0);
            for at in 0..100 {
                let seq = if is_repeated { 1 } else { 1 + at * 1_000 };
                let now_ns = u64::from(at) * 10_000_000;
                connection.record_segment(End::First, &segment(seq, 1, 1_000), now_ns, 1);
            }
            let ends = [1, 2].map(|host| (Address([host; 16]), 80));
            Flow {
                ends,
                connection: Box::new(connection),
            }
        };
        assert!(FlowFacts::of(&flow(false)).is_none());
        // This host is gone.
        assert!(FlowFacts::of(&flow(true)).is_some());
    }

    fn segment(seq: u32, ack: u32, len: u32) -> Segment<'static> {
        Segment {
            seq,
            ack,
            len,
            flags: Segment::ACK,
            window: 60_000,
            ..Segment::default()
        }
    }

    #[test]
    fn frames_of_merged_segments_have_the_payload_of_the_mss() {
        // TSO and GRO: up to 64 kB in a segment of the capture, 1,448 octets in a frame with timestamps.
        assert_eq!(frame_payload(65_160, Some(1_460), true), 1_448);
        assert_eq!(frame_payload(2_920, Some(1_460), false), 1_460);
        assert_eq!(frame_payload(43_440, None, true), 1_448);
        assert!(
            (wire_factor(frame_payload(65_160, Some(1_460), true)) - 1538.0 / 1448.0).abs() < 1e-9
        );
    }

    #[test]
    fn frames_of_other_segments_carry_a_full_segment() {
        assert_eq!(frame_payload(1_448, Some(1_460), true), 1_448);
        assert_eq!(frame_payload(536, Some(1_460), false), 536);
        assert_eq!(frame_payload(8_948, Some(8_960), true), 8_948);
        assert_eq!(frame_payload(8_948, None, true), 8_948);
    }
}
