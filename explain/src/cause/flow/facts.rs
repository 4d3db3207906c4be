//! What the rules evaluate: one connection with its model.

use super::class::{FlowClass, HARDLY_ANY, classify, is_trickle};
use super::frame::{frame_payload, wire_factor};
use crate::cause::busy::busy_ns;
use linerate_capture::model::{FlowModel, Limit, Standstill, percentile};
use linerate_capture::tcp::{Connection, End, SenderStats};
use linerate_capture::traffic::Flow;
use linerate_results::stats;

/// Fewer losses have no pattern.
const MIN_SECOND_LOST: u64 = 3;

/// Smaller segments cost hosts more for each octet, so that the link may not be their next limit.
const MIN_TRAIN_BYTES: u64 = 1_200;
/// A path that was full for a smaller share of the time may not have been full.
pub(super) const MIN_FULL: f64 = 0.05;

/// Any initial window admits so many segments at once (RFC 5681 section 3.1).
const INITIAL_SEGMENTS: u64 = 3;
/// Octets of a full segment at least (RFC 9293 section 3.7.1: the default MSS is 536).
pub(super) const LEAST_FULL: u64 = 536;

/// A timer's segments follow an acknowledgment within this part of the time between two by chance once in as many
/// connections.
const PROMPT_DIVISOR: u64 = 8;

/// Answers of a server to one client, in all connections: a client may open one for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerAnswers {
    pub(super) turns: usize,
    pub(super) late: usize,
    /// The most time of the server's program that its client awaits in one go.
    pub(super) most_ns: u64,
}

/// A connection with its model.
pub(super) struct FlowFacts<'a> {
    pub(super) flow: &'a Flow,
    /// All connections of the capture.
    pub(super) all: &'a [Flow],
    pub(super) model: FlowModel,
    pub(super) class: FlowClass,
    /// Payload sender and receiver.
    pub(super) sender: String,
    pub(super) receiver: String,
    /// Time from the first payload to the last.
    pub(super) active_ns: u64,
    /// Time without pauses in which nobody waits.
    pub(super) busy_ns: u64,
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

/// The hosts that transfers have in common, and with them the path or its last link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommonHosts {
    Both,
    Receiver,
    Sender,
}

/// Rate of a path that several transfers fill together.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedRate {
    pub(super) connections: usize,
    /// What these have in common.
    pub(super) common: CommonHosts,
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
    /// True if it fills its way.
    pub(super) is_full: bool,
    /// True if it fills its way, is steady, or waits in a queue; near its receiver, only timestamps show that.
    pub(super) may_fill: bool,
}

impl<'a> FlowFacts<'a> {
    /// The facts of `flow`; `None` if it carried no payload, or if its acknowledgments were not captured.
    pub(super) fn of(flow: &'a Flow) -> Option<Self> {
        let log = flow.connection.log();
        if is_one_sided(&flow.connection) || is_kept_alive(&flow.connection) {
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
            busy_ns: busy_ns(flow),
            full,
            is_beside_full: false,
            fills_together: false,
            against: None,
            flow,
            all: &[],
            model,
            shared: None,
            answers: ServerAnswers::default(),
        })
    }

    /// The same for one of `all` connections of a capture.
    pub(super) fn among(all: &'a [Flow], flow: &'a Flow) -> Option<Self> {
        Some(Self {
            all,
            ..Self::of(flow)?
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
        let acks = self.model.view.acks.windows(2);
        let gaps = acks.map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
        let gap_ns = percentile(gaps, 50).unwrap_or(0);
        let is_prompt = |ns: u64| ns <= gap_ns / PROMPT_DIVISOR;
        self.begins_late() && self.model.release_ns.is_some_and(is_prompt)
    }

    /// True if the connection was open before the capture began: its window has grown, and a queue may always have stood.
    pub(super) fn begins_late(&self) -> bool {
        self.connection().handshake().syn_ns.is_none()
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

    /// Share of the time without pauses in which nobody waits.
    pub(super) fn busy_share(&self, ns: u64) -> f64 {
        let busy_ns = self.busy_ns.min(self.active_ns).max(ns);
        stats::ratio(ns as f64, busy_ns as f64).min(1.0)
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

/// True if all that was sent is the octet of a keep-alive (RFC 9293 section 3.8.4), and the end of the connection: nobody waits for
/// either, however often it is repeated.
fn is_kept_alive(connection: &Connection) -> bool {
    let ends = [End::First, End::Second];
    ends.iter()
        .all(|end| connection.stats(*end).unique_bytes <= 1)
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

    #[test]
    fn an_end_that_closes_in_vain_sends_nothing() {
        let flow = |len: u32| {
            let mut connection = Connection::new(1, 0);
            connection.record_segment(End::Second, &segment(1, 1, len), 0, 1);
            for at in 1..12 {
                let close = Segment {
                    flags: Segment::ACK | Segment::FIN,
                    ..segment(1 + len, 1, 0)
                };
                connection.record_segment(End::Second, &close, at * 1_000_000_000, at + 1);
            }
            let ends = [1, 2].map(|host| (Address([host; 16]), 80));
            Flow {
                ends,
                connection: Box::new(connection),
            }
        };
        assert!(FlowFacts::of(&flow(1)).is_none());
        assert!(FlowFacts::of(&flow(500)).is_some());
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
}
