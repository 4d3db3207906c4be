//! The sending half of a connection: the stream, and which data may be sent now.
//!
//! Acknowledgments are processed in [`super::acknowledge`], losses in [`super::recovery`], the timer in
//! [`super::timers`]. Positions count from the SYN (0); the first octet is at 1.

use std::collections::VecDeque;

use super::Kernel;
use super::cubic::INITIAL_WINDOW;
use super::growth::{Congestion, Growth};
use super::rack::Rack;
use super::retransmission::{RetransmissionQueue, SentSegment};
use super::rtt::RttEstimator;
use super::statistics::{RetransmitReason, Statistics};
use super::timers::Timer;
use crate::time::{Instant, Span};

/// Congestion state of a sender: Linux's `tcp_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CongestionState {
    /// Normal operation.
    #[default]
    Open,
    /// Segments arrived out of order or twice; perhaps one is lost.
    Disorder,
    /// The window is being reduced without a retransmission (Linux's CWR).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A segment to be sent regardless of the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forced {
    /// The first segment, after a timeout.
    Head,
    /// A tail-loss probe: new data, else the last segment.
    Probe,
    /// A zero-window probe.
    Window,
}

/// A segment that [`Sender::poll`] sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingSegment {
    /// First position.
    pub start: u64,
    /// Octets of payload.
    pub len: usize,
    /// The segment carries FIN.
    pub fin: bool,
    /// The segment ends the data written by the program.
    pub push: bool,
}

/// Parameters of a connection, fixed when it is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerParameters {
    /// Maximum payload of a segment, less options.
    pub mss: usize,
    /// Both ends support SACK.
    pub sack: bool,
    /// The peer's window from its SYN, in octets.
    pub window: u64,
    /// Congestion control.
    pub congestion: Congestion,
    /// Version of Linux.
    pub kernel: Kernel,
}

/// The sending half of one connection.
#[derive(Debug, Clone)]
pub struct Sender {
    pub(super) parameters: PeerParameters,
    capacity: usize,
    /// Octets not yet acknowledged, sent or not; the first is at `buffer_start`.
    buffer: VecDeque<u8>,
    pub(super) buffer_start: u64,
    pub(super) more_follows: bool,
    /// Position of the last push, which no segment crosses.
    pub(super) push_boundary: u64,
    pub(super) no_delay: bool,
    pub(super) fin: bool,

    pub(super) unacknowledged: u64,
    pub(super) next: u64,
    pub(super) window: u64,
    /// Position of the segment in the peer's stream that last updated the window (SND.WL1).
    pub(super) window_from: u64,
    /// End of the last segment sent that was shorter than the MSS (Minshall's form of Nagle).
    pub(super) small_segment_end: u64,
    /// See [`Self::batch_end`].
    pub(super) batch_end: u64,
    /// The last segment sent was a full one, and more of its batch may be sent with it.
    pub(super) in_batch: bool,
    /// Segments that may still be sent with it.
    pub(super) batch_left: u32,
    /// Largest window that the peer has offered.
    pub(super) max_window: u64,

    pub(super) queue: RetransmissionQueue,
    pub(super) congestion_state: CongestionState,
    /// Congestion window in segments.
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    pub(super) growth: Growth,
    pub(super) rack: Rack,
    pub(super) round_trip: RttEstimator,
    pub(super) recovery: super::recovery::Recovery,
    pub(super) forced: Option<Forced>,

    pub(super) timer: Option<(Timer, Instant)>,
    pub(super) consecutive_timeouts: u32,
    pub(super) persist_backoff: u32,

    /// The congestion window, not the peer or the program, limited the sender.
    pub(super) cwnd_limited: bool,
    pub(super) max_in_queue: u32,
    cwnd_usage_end: u64,
    last_sent_at: Instant,

    pub(super) statistics: Statistics,
}

impl Sender {
    /// A sender whose handshake is done; `capacity` is the send buffer in octets.
    #[must_use]
    pub fn new(parameters: PeerParameters, capacity: usize, peer_position: u64) -> Self {
        Self {
            parameters,
            capacity,
            buffer: VecDeque::new(),
            buffer_start: 1,
            more_follows: false,
            push_boundary: 0,
            no_delay: false,
            fin: false,
            unacknowledged: 1,
            next: 1,
            window: parameters.window,
            window_from: peer_position,
            small_segment_end: 0,
            batch_end: 0,
            in_batch: false,
            batch_left: 0,
            max_window: parameters.window,
            queue: RetransmissionQueue::default(),
            congestion_state: CongestionState::Open,
            cwnd: INITIAL_WINDOW,
            ssthresh: u32::MAX,
            growth: Growth::new(parameters.congestion),
            rack: Rack::default(),
            round_trip: RttEstimator::default(),
            recovery: super::recovery::Recovery::default(),
            forced: None,
            timer: None,
            consecutive_timeouts: 0,
            persist_backoff: 0,
            cwnd_limited: false,
            max_in_queue: 0,
            cwnd_usage_end: 0,
            last_sent_at: Instant::ZERO,
            statistics: Statistics::default(),
        }
    }

    /// Uses the round trip of the handshake as the first measurement.
    pub fn measure_handshake(&mut self, round_trip: Span) {
        self.round_trip
            .update(round_trip, self.unacknowledged, self.next);
    }

    /// The handshake's SYN was repeated: there is no measurement.
    pub fn handshake_repeated(&mut self) {
        self.round_trip.fall_back();
    }

    /// Appends as many of `bytes` to the stream as the buffer accepts; returns their number. With
    /// `more_follows` a last short segment waits for more.
    pub fn write(&mut self, bytes: &[u8], more_follows: bool) -> usize {
        let taken = if self.fin {
            0
        } else {
            bytes.len().min(self.free_space())
        };
        self.buffer.extend(&bytes[..taken]);
        self.more_follows = more_follows || taken < bytes.len();
        taken
    }

    /// Octets that [`Self::write`] would accept.
    #[must_use]
    fn free_space(&self) -> usize {
        self.capacity.saturating_sub(self.buffer.len())
    }

    /// Sends the data written so far in separate segments from later data.
    pub fn push(&mut self) {
        self.push_boundary = self.data_end();
    }

    /// Sends short segments at once (`TCP_NODELAY`) instead of one at a time (Nagle).
    pub fn set_no_delay(&mut self) {
        self.no_delay = true;
    }

    /// Ends the stream: a FIN follows the last octet.
    pub fn close(&mut self) {
        self.fin = true;
        self.more_follows = false;
    }

    /// Octets of the stream that the peer has acknowledged.
    #[must_use]
    pub fn octets_acknowledged(&self) -> u64 {
        self.unacknowledged.min(self.data_end()) - 1
    }

    /// Octets of the stream sent at least once.
    #[must_use]
    pub fn octets_sent(&self) -> u64 {
        self.next.min(self.data_end()) - 1
    }

    /// True if everything written was sent at least once.
    #[must_use]
    pub fn has_sent_all(&self) -> bool {
        self.next >= self.data_end()
    }

    /// True if the FIN is acknowledged.
    #[must_use]
    pub fn fin_acknowledged(&self) -> bool {
        self.fin && self.unacknowledged > self.data_end()
    }

    /// True if the FIN has been sent.
    #[must_use]
    pub fn fin_sent(&self) -> bool {
        self.fin && self.next > self.data_end()
    }

    /// Consecutive timeouts since the peer last acknowledged new data.
    #[must_use]
    pub const fn consecutive_timeouts(&self) -> u32 {
        self.consecutive_timeouts
    }

    /// Statistics so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The congestion window in segments.
    #[must_use]
    pub const fn congestion_window(&self) -> u32 {
        self.cwnd
    }

    /// The round-trip estimator.
    #[must_use]
    pub const fn round_trip(&self) -> &RttEstimator {
        &self.round_trip
    }

    /// The congestion state.
    #[must_use]
    pub const fn congestion_state(&self) -> CongestionState {
        self.congestion_state
    }

    /// The position after the last octet written.
    pub(super) fn data_end(&self) -> u64 {
        self.buffer_start + self.buffer.len() as u64
    }

    /// The first position beyond the peer's window.
    pub(super) fn window_end(&self) -> u64 {
        self.unacknowledged + self.window
    }

    /// The octets of a segment.
    #[must_use]
    pub fn payload(&self, outgoing: &OutgoingSegment) -> Vec<u8> {
        let from = outgoing.start.saturating_sub(self.buffer_start) as usize;
        // A probe without payload is before the buffer.
        let to = from.saturating_add(outgoing.len).min(self.buffer.len());
        self.buffer.range(from.min(to)..to).copied().collect()
    }

    /// Releases the octets below the cumulative acknowledgment.
    pub(super) fn release_acknowledged(&mut self) {
        let done = self
            .unacknowledged
            .min(self.data_end())
            .saturating_sub(self.buffer_start);
        self.buffer.drain(..done as usize);
        self.buffer_start += done;
        self.consecutive_timeouts = 0;
    }

    /// The next segment to send at `now`, if there is one.
    pub fn poll(&mut self, now: Instant) -> Option<OutgoingSegment> {
        match self.forced.take() {
            Some(Forced::Head) => {
                let outgoing = self.retransmit(0, RetransmitReason::Timeout, now);
                self.arm_retransmission_timer(now);
                return outgoing;
            }
            Some(Forced::Probe) => return self.probe(now),
            Some(Forced::Window) => return Some(self.probe_window(now)),
            None => {}
        }
        let may_send = self.in_flight() < self.cwnd;
        if may_send
            && self.congestion_state >= CongestionState::Recovery
            && !self.prefers_new_data()
        {
            let reason = if self.congestion_state == CongestionState::Loss {
                RetransmitReason::AfterTimeout
            } else {
                RetransmitReason::FastRetransmit
            };
            if let Some(index) = self.queue.first_lost() {
                let outgoing = self.retransmit(index, reason, now);
                if index == 0 && !matches!(self.timer, Some((Timer::Reordering, _))) {
                    self.set_timer(Timer::Retransmission, now + self.round_trip.timeout(), now);
                }
                self.recovery.prr_out += 1;
                return outgoing;
            }
        }
        let sendable = self.sendable(true);
        let fin_exceeds_window = self.parameters.kernel == Kernel::Before6_10;
        let sendable = sendable.filter(|&(_, fin)| may_send || (fin && fin_exceeds_window));
        if let Some((len, fin)) = sendable {
            if self.congestion_state >= CongestionState::Cwr {
                self.recovery.prr_out += 1;
            }
            return Some(self.send_new(len, fin, now));
        }
        if self.prefers_new_data() {
            // F-RTO has nothing new to send: without new data in flight, retransmit.
            self.new_data_exhausted();
            return if self.queue.first_lost().is_some() && !self.prefers_new_data() {
                self.poll(now)
            } else {
                None
            };
        }
        self.on_burst_end(may_send, now);
        None
    }

    fn send_new(&mut self, len: usize, fin: bool, now: Instant) -> OutgoingSegment {
        if self.queue.is_empty() {
            self.restart_after_idle(now);
        }
        self.count_in_batch();
        let start = self.next;
        let end = start + len as u64 + u64::from(fin);
        let first = self.queue.is_empty();
        self.queue.push(SentSegment::new(start, end, fin, now));
        self.advance_batch(len, end);
        self.next = end;
        if len < self.parameters.mss {
            self.small_segment_end = end;
        }
        self.last_sent_at = now;
        self.statistics.sent(len as u64);
        if first || matches!(self.timer, Some((Timer::Probe, _))) {
            self.arm_retransmission_timer(now);
        }
        self.schedule_probe(false, now);
        OutgoingSegment {
            start,
            len,
            fin,
            push: end >= self.data_end() && len > 0,
        }
    }

    /// Retransmits the segment at `index`.
    fn retransmit(
        &mut self,
        index: usize,
        reason: RetransmitReason,
        now: Instant,
    ) -> Option<OutgoingSegment> {
        let step = self.consecutive_timeouts;
        let sent = self.queue.get_mut(index)?;
        let waited = now.since(sent.sent_at);
        sent.sent_at = now;
        sent.transmissions += 1;
        sent.retransmitting = true;
        let (start, end, fin) = (sent.start, sent.end, sent.fin);
        let len = (end - start) as usize - usize::from(fin);
        self.recovery.retransmitted();
        self.statistics
            .retransmitted(reason, now, start - 1, len as u64, waited, step);
        let push = start + len as u64 >= self.data_end() && len > 0;
        Some(OutgoingSegment {
            start,
            len,
            fin,
            push,
        })
    }

    fn probe(&mut self, now: Instant) -> Option<OutgoingSegment> {
        let outgoing = if let Some((len, fin)) = self.sendable(false) {
            Some(self.send_new(len, fin, now))
        } else {
            self.recovery.tlp_is_retransmission = true;
            let last = (self.queue.len() as usize).checked_sub(1)?;
            self.retransmit(last, RetransmitReason::TailLossProbe, now)
        };
        self.recovery.tlp_end = Some(self.next);
        // The full timeout restarts with the probe.
        self.timer = None;
        self.arm_retransmission_timer(now);
        outgoing
    }

    fn probe_window(&mut self, now: Instant) -> OutgoingSegment {
        self.statistics.window_probes += 1;
        let unsent = self.data_end().saturating_sub(self.next);
        let room = self.window_end().saturating_sub(self.next);
        let len = unsent.min(room).min(self.parameters.mss as u64) as usize;
        self.arm_persist_timer(now);
        if len > 0 {
            return self.send_new(len, false, now);
        }
        // One position back: the receiver answers a segment that it has already acknowledged.
        OutgoingSegment {
            start: self.unacknowledged - 1,
            len: 0,
            fin: false,
            push: false,
        }
    }

    /// Congestion window after an idle period (RFC 5681 section 4.1): halved for each elapsed timeout.
    fn restart_after_idle(&mut self, now: Instant) {
        let timeout = self.round_trip.timeout().ticks();
        let mut idle = now.since(self.last_sent_at).ticks();
        if self.statistics.segments == 0 || idle <= timeout {
            return;
        }
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        let least = self.cwnd.min(INITIAL_WINDOW);
        while idle > timeout && self.cwnd > least {
            self.cwnd = (self.cwnd / 2).max(least);
            idle -= timeout;
        }
        self.growth.on_idle();
    }

    /// Nothing more can be sent now: records whether the window was the limit, and starts a timer.
    fn on_burst_end(&mut self, window_left: bool, now: Instant) {
        self.in_batch = false;
        let queued = self.queue.len();
        let limited = !window_left;
        if self.unacknowledged >= self.cwnd_usage_end
            || limited
            || (!self.cwnd_limited && queued > self.max_in_queue)
        {
            self.cwnd_limited = limited;
            self.max_in_queue = queued;
            self.cwnd_usage_end = self.next;
        }
        let unsent = self.data_end() > self.next;
        if unsent && self.queue.is_empty() && self.timer.is_none() {
            self.arm_persist_timer(now);
        }
    }
}
