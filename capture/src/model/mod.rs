//! What the packets of a connection show about its path, its ends and its time: each figure known, bounded or unknown.
//!
//! The connection is judged as a whole after its last packet, because most of it depends on figures that only the whole
//! connection shows: where it was captured, the base round trip, the fastest rate.
//!
//! | module | contents |
//! |---|---|
//! | `build` | the stages in which a model is built up |
//! | `view` | one direction with sequence numbers that do not wrap |
//! | `round_trip` | round trips from the capture point to each end |
//! | `stamp` | delays by the clocks that stamp packets |
//! | `rate` | the fastest rate, and when it was reached |
//! | `bucket` | whether losses depend on what passed before |
//! | `gap_repair` | whether the receiver keeps what arrives behind a gap |
//! | `edge` | the round trip to a sender that always fills the window |
//! | `window` | the scale of the receiver's window |
//! | `limit` | what limits the speed |
//! | `time` | the limit of each interval between transmissions |
//! | `timeline` | the same in bounded memory |
//! | `queue` | time that packets wait in queues |
//! | `ack_interval` | the interval that a narrow way back sets between acknowledgments |
//! | `routers` | how far away the ends are, by hop limits |
//! | `numbers` | the order of packets, and missing ones, by their identifications |
//! | `release` | how long the sender takes to react |
//! | `standing` | times in which a queue stands, whatever the rate of its link |
//! | `standstill` | silences of the receiver |
//! | `train` | the rate of the slowest link |
//! | `reaction` | times that the stack of an end takes to react |
//! | `turns` | requests and answers |

mod ack_interval;
mod bucket;
mod build;
mod edge;
mod gap_repair;
mod limit;
mod numbers;
mod queue;
mod rate;
mod reaction;
mod release;
mod round_trip;
mod routers;
mod stamp;
mod standing;
mod standstill;
#[cfg(test)]
mod tests;
mod time;
mod timeline;
mod train;
mod turns;
mod view;
mod window;

use crate::tcp::End;
use std::ops::Range;

pub use ack_interval::AckInterval;
pub use bucket::LossBucket;
pub use limit::{Limit, Shares};
pub use rate::{FastestRate, Progress, Window};
use rate::{average, passed};
pub use reaction::Reaction;
pub use round_trip::{RoundTrips, percentile};
pub use stamp::stamp_delays_ns;
pub use standing::WaitsAtLosses;
pub use standstill::Standstill;
pub use time::Span;
pub use timeline::LimitSpan;
use timeline::Timeline;
pub use train::TrainRate;
pub use turns::{Turns, Wait};
pub use view::{Acknowledgment, DirectionView, SACK_OCTETS, Transmission};
pub use window::WindowScale;

/// Model of a connection, for the end that sends most of the payload.
#[derive(Clone, Debug)]
pub struct FlowModel {
    /// The end that sends most of the payload.
    pub data_sender: End,
    /// Its data and the acknowledgments for it.
    pub view: DirectionView,
    /// The other direction.
    pub back: DirectionView,
    /// Time from the first packet to the last that was logged.
    pub span_ns: u64,
    /// True if the connection has more packets than were logged.
    pub is_truncated: bool,
    /// Round trips to the receiver.
    pub to_receiver: RoundTrips,
    /// Round trips to the sender.
    pub to_sender: RoundTrips,
    /// Routers that the sender's packets have passed at the capture point; `None` if that is unknown.
    pub routers_to_sender: Option<u8>,
    /// Time to the first data of a server that sends first, from the acknowledgment of its SYN-ACK: no less than a round trip.
    pub greeting_ns: Option<u64>,
    /// Time to the sender's answer to the receiver's FIN: no less than a round trip.
    pub closed_ns: Option<u64>,
    /// Time from an acknowledgment at the capture point to the data that it releases.
    pub reaction_ns: u64,
    /// Median time from an acknowledgment to the data that follows it, if that shows that the capture point is near the
    /// sender.
    pub release_ns: Option<u64>,
    /// Scale of the receiver's window.
    pub scale: WindowScale,
    /// The fastest rate at which payload passed.
    pub fastest: Option<FastestRate>,
    /// Rate of the slowest link, if the distance between segments shows it.
    pub train: Option<TrainRate>,
    /// Average rate of the payload sent, retransmissions included, as a share of the fastest rate.
    pub utilization: f64,
    /// Average rate while the path was busy, octets of payload per second.
    pub busy_rate: Option<f64>,
    /// True if a queue stands nearly all the time before a link whose rate varies.
    pub is_varying: bool,
    /// True if segments queued on the path: round trips grew with the data in flight.
    pub is_queued: bool,
    /// Median and 90th percentile of the time in queues.
    pub queue_ns: Option<(u64, u64)>,
    /// Median time that acknowledgments wait on their way back, by the clocks that stamp packets.
    pub ack_queue_ns: Option<u64>,
    /// Median time that data waits before the capture point, by the clock that stamps it.
    pub data_delay_ns: Option<u64>,
    /// Interval of acknowledgments that the way back spaces.
    pub ack_interval: Option<AckInterval>,
    /// The time by limit.
    pub spans: Vec<Span>,
    /// True if the receiver keeps what arrives behind a gap, false if all of it is repeated; `None` if that does not show.
    pub keeps_behind_gap: Option<bool>,
    /// Times in which the receiver answers nothing, and then everything.
    pub standstills: Vec<Standstill>,
    /// Requests and answers.
    pub turns: Turns,
    conditions: time::Conditions,
}

impl FlowModel {
    /// Attributes the time again, with `busy` windows of a path that carries other connections, too.
    pub fn set_busy(&mut self, busy: Vec<Window>) {
        let passed = busy.iter().map(|it| passed(&self.view, it));
        self.busy_rate = average(&passed.collect::<Vec<_>>());
        self.conditions.busy = busy;
        self.spans = time::attribute(&self.view, &self.conditions, &self.standstills);
    }

    /// Total time with this limit.
    pub fn time_ns(&self, limit: Limit) -> u64 {
        let spans = self.spans.iter().filter(|span| span.limit == limit);
        spans.map(Span::ns).sum()
    }

    /// Octets in flight at the sender after each new segment.
    pub fn flights(&self) -> Vec<u64> {
        let mut acks = self.view.acks.iter().peekable();
        let mut acked = self.view.sent.first().map_or(0, |it| it.start);
        let mut flights = Vec::new();
        for sent in self.view.sent.iter().filter(|it| !it.is_retransmission()) {
            while let Some(ack) = acks.next_if(|ack| ack.time_ns + self.reaction_ns <= sent.time_ns)
            {
                acked = acked.max(ack.ack);
            }
            flights.push(sent.end.saturating_sub(acked));
        }
        flights
    }

    /// The most octets in flight at the sender in each round trip of `rtt_ns` of a time: from a segment until it can be
    /// acknowledged.
    pub fn peaks(&self, rtt_ns: u64, within_ns: Range<u64>) -> Vec<u64> {
        // The first segment of the next burst follows a round trip later, or somewhat sooner: round trips vary.
        let round_ns = rtt_ns - rtt_ns / 8;
        let new = self.view.sent.iter().filter(|it| !it.is_retransmission());
        let mut peaks: Vec<u64> = Vec::new();
        let mut from_ns = 0;
        let all = new.zip(self.flights());
        for (sent, flight) in all.filter(|(sent, _)| within_ns.contains(&sent.time_ns)) {
            match peaks.last_mut() {
                Some(peak) if sent.time_ns < from_ns + round_ns => *peak = flight.max(*peak),
                _ => {
                    peaks.push(flight);
                    from_ns = sent.time_ns;
                }
            }
        }
        peaks
    }

    /// The largest window granted, with the least scale that is possible.
    pub fn largest_window(&self) -> u64 {
        let windows = self.view.acks.iter().map(|ack| u64::from(ack.window));
        windows.max().unwrap_or(0) << self.scale.least()
    }

    /// Octets that were captured and not acknowledged at each of these times, which ascend.
    pub fn unacknowledged_at(&self, times_ns: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut sent = self.view.sent.iter().peekable();
        let mut acks = self.view.acks.iter().peekable();
        let (mut end, mut acked) = (0, 0);
        let open = |time_ns: u64| {
            while let Some(sent) = sent.next_if(|it| it.time_ns <= time_ns) {
                end = end.max(sent.end);
            }
            while let Some(ack) = acks.next_if(|it| it.time_ns <= time_ns) {
                acked = acked.max(ack.ack);
            }
            if acked == 0 {
                0
            } else {
                end.saturating_sub(acked)
            }
        };
        times_ns.into_iter().map(open).collect()
    }

    /// True if the capture point is nearer to the receiver than to the sender. False if that is unknown.
    pub fn is_near_receiver(&self) -> bool {
        self.conditions.is_near_receiver
    }

    /// Base round trip between the ends, if both parts are known.
    pub fn base_rtt_ns(&self) -> Option<u64> {
        Some(self.to_receiver.base_ns()? + self.to_sender.base_ns()?)
    }

    /// Typical round trip between the ends, if both parts are known.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let to_receiver_ns = self.to_receiver.percentile(50);
        let to_sender_ns = match self.to_sender.base_ns() {
            Some(ns) => ns,
            None if self.reaction_ns > 0 => self.reaction_ns,
            None => self.release_ns?,
        };
        Some(to_receiver_ns.or(self.to_receiver.base_ns())? + to_sender_ns)
    }
}

/// Time of a connection by limit.
#[derive(Clone, Debug, Default)]
pub struct TimeShares {
    /// Nanoseconds by limit.
    pub shares: Shares,
    /// The limits in chronological order; short ones are merged if there are many.
    pub spans: Vec<LimitSpan>,
    /// Shorter ones were merged; 0 if none were.
    pub coarser_than_ns: u64,
}

impl TimeShares {
    /// The limits of a connection that began at `start_ns`.
    pub fn of(spans: &[Span], start_ns: u64) -> Self {
        let mut timeline = Timeline::default();
        for span in spans {
            timeline.push(span.limit, span.ns());
        }
        Self {
            shares: timeline.shares(),
            spans: timeline.spans(start_ns),
            coarser_than_ns: timeline.grain_ns(),
        }
    }
}
