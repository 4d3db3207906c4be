//! One connection: the states of RFC 9293 section 3.3.2 around a [`Sender`] and a [`Receiver`].

use smoltcp::wire::Ipv4Address;

use super::receiver::Receiver;
use super::rtt::{RTO_INITIAL, RTO_MAX};
use super::segment::{Control, Segment, to_sequence};
use super::sender::{PeerParameters, Sender};
use super::statistics::Statistics;
use super::{Config, Endpoint};
use crate::time::{Instant, Span};

/// Duration of TIME-WAIT (Linux).
pub(super) const TIME_WAIT: Span = Span::from_secs(60);
/// Repetitions of a SYN, and of a SYN with ACK, before giving up (Linux).
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;
/// Retransmissions of the same data before giving up (Linux's `tcp_retries2`).
const DATA_RETRIES: u32 = 15;
/// Octets that the timestamp option occupies in each segment.
const TIMESTAMP_LEN: usize = 12;
/// MSS for a peer that sends no MSS option (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// States of RFC 9293 section 3.3.2 (LISTEN is not the state of a connection).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// SYN sent, nothing received.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Data may flow.
    Established,
    /// FIN sent.
    FinWait1,
    /// FIN sent and acknowledged.
    FinWait2,
    /// FIN received.
    CloseWait,
    /// FIN sent and received, but not acknowledged (simultaneous close).
    Closing,
    /// FIN received, then sent.
    LastAck,
    /// Closed from both ends; late segments are still answered.
    TimeWait,
    /// Closed.
    Closed,
}

/// Reason why a connection ended other than by FIN from both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The peer sent RST.
    Reset,
    /// The peer did not answer.
    TimedOut,
    /// The program aborted it.
    Aborted,
}

/// Retransmission state of the SYN.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    pub(super) sent_at: Option<Instant>,
    pub(super) repetitions: u32,
    wait: Span,
    pub(super) due: Instant,
}

/// One TCP connection.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(super) config: Config,
    local_port: u16,
    remote: Endpoint,
    pub(super) state: State,
    failure: Option<Failure>,
    pub(super) iss: u32,
    pub(super) irs: u32,
    pub(super) handshake: Handshake,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// Scale shifts of the window fields sent and received (RFC 7323).
    local_window_shift: u8,
    pub(super) remote_window_shift: Option<u8>,
    pub(super) timestamps: bool,
    pub(super) timestamp_echo: u32,
    sack: bool,
    pub(super) reset_due: Option<u32>,
    pub(super) time_wait_until: Instant,
    accepted: bool,
    opened_at: Instant,
}

impl Connection {
    /// Opens a connection: a SYN is due at once.
    #[must_use]
    pub fn connect(
        config: Config,
        local_port: u16,
        remote: Endpoint,
        iss: u32,
        now: Instant,
    ) -> Self {
        Self::new(config, local_port, remote, iss, State::SynSent, now)
    }

    /// Answers a SYN that arrived for a listening port.
    #[must_use]
    pub fn from_syn(
        config: Config,
        source: Ipv4Address,
        syn: &Segment,
        iss: u32,
        now: Instant,
    ) -> Self {
        let remote = Endpoint {
            address: source,
            port: syn.source_port,
        };
        let port = syn.destination_port;
        let mut connection = Self::new(config, port, remote, iss, State::SynReceived, now);
        connection.process_syn(syn);
        connection
    }

    fn new(
        config: Config,
        local_port: u16,
        remote: Endpoint,
        iss: u32,
        state: State,
        now: Instant,
    ) -> Self {
        let mss = usize::from(config.mss);
        let parameters = PeerParameters {
            mss,
            sack: false,
            window: 0,
            congestion: config.congestion,
            kernel: config.kernel,
        };
        Self {
            sender: Sender::new(parameters, config.send_buffer, 0),
            receiver: Receiver::new(config.receive_buffer, mss),
            timestamps: config.timestamps,
            sack: config.sack,
            local_window_shift: config.window_scale.unwrap_or(0),
            config,
            local_port,
            remote,
            state,
            failure: None,
            iss,
            irs: 0,
            handshake: Handshake {
                sent_at: None,
                repetitions: 0,
                wait: RTO_INITIAL,
                due: now,
            },
            remote_window_shift: None,
            timestamp_echo: 0,
            reset_due: None,
            time_wait_until: Instant::NEVER,
            accepted: false,
            opened_at: now,
        }
    }

    /// Processes the peer's SYN: its options determine which ones this connection uses.
    pub(super) fn process_syn(&mut self, syn: &Segment) {
        self.irs = syn.sequence;
        self.sack &= syn.sack_permitted;
        self.timestamps &= syn.timestamp.is_some();
        self.timestamp_echo = syn.timestamp.map_or(0, |(value, _)| value);
        self.remote_window_shift = syn
            .window_scale
            .filter(|_| self.config.window_scale.is_some());
        if self.remote_window_shift.is_none() {
            self.local_window_shift = 0;
        }
        let offered = syn.mss.unwrap_or(DEFAULT_MSS).max(64).min(self.config.mss);
        let options = if self.timestamps { TIMESTAMP_LEN } else { 0 };
        let mss = usize::from(offered) - options;
        let parameters = PeerParameters {
            mss,
            sack: self.sack,
            window: u64::from(syn.window),
            congestion: self.config.congestion,
            kernel: self.config.kernel,
        };
        self.sender = Sender::new(parameters, self.config.send_buffer, 0);
        self.receiver = Receiver::new(
            self.config.receive_buffer,
            usize::from(self.config.mss) - options,
        );
    }

    /// The local port.
    #[must_use]
    pub const fn local_port(&self) -> u16 {
        self.local_port
    }

    /// The other end.
    #[must_use]
    pub const fn remote(&self) -> Endpoint {
        self.remote
    }

    /// The connection's state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Reason for an abnormal end, if any.
    #[must_use]
    pub const fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Time at which the SYN arrived, or the connection was requested.
    #[must_use]
    pub const fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// True if the handshake is done and no program has accepted the connection yet; marks it as
    /// accepted.
    pub fn take_accepted(&mut self) -> bool {
        let fresh = !self.accepted && !self.is_opening() && self.state != State::Closed;
        self.accepted |= fresh;
        fresh
    }

    /// True if a program has accepted it; used to count the backlog.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// True if the handshake is not done.
    #[must_use]
    pub const fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// True if the peer has closed its direction and everything it sent was read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.state == State::Closed
            || (self.receiver.is_finished() && self.receiver.readable() == 0)
    }

    /// Writes octets, see [`Sender::write`]. None are accepted before the connection is established.
    pub fn write(&mut self, bytes: &[u8], more_follows: bool) -> usize {
        if self.is_opening() || self.state == State::Closed {
            return 0;
        }
        self.sender.write(bytes, more_follows)
    }

    /// Reads up to `limit` octets.
    pub fn read(&mut self, limit: usize) -> Vec<u8> {
        self.receiver.read(limit)
    }

    /// Octets ready to read.
    #[must_use]
    pub fn readable(&self) -> usize {
        self.receiver.readable()
    }

    /// The sending half, for its statistics.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Statistics of the sending half.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        self.sender.statistics()
    }

    /// Sends what was written so far without waiting for a full segment; later octets begin a new
    /// segment.
    pub fn push(&mut self) {
        self.sender.push();
    }

    /// Sends short segments at once, see [`Sender::set_no_delay`].
    pub fn set_no_delay(&mut self) {
        self.sender.set_no_delay();
    }

    /// Closes this end's direction.
    pub fn close(&mut self) {
        match self.state {
            State::SynSent => self.state = State::Closed,
            State::Established | State::SynReceived => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => return,
        }
        self.sender.close();
    }

    /// Ends the connection with an RST.
    pub fn abort(&mut self) {
        if !self.is_opening() && self.state != State::Closed && self.state != State::TimeWait {
            self.reset_due = Some(to_sequence(self.iss, self.sender.next));
        }
        self.fail(Failure::Aborted);
    }

    /// True if an RST is pending.
    #[must_use]
    pub const fn has_reset_due(&self) -> bool {
        self.reset_due.is_some()
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.state = State::Closed;
    }

    /// Time at which [`Self::on_timer`] is due.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match self.state {
            State::Closed => Instant::NEVER,
            State::SynSent | State::SynReceived => self.handshake.due,
            State::TimeWait => self.time_wait_until.min(self.receiver.deadline()),
            _ => self.sender.deadline().min(self.receiver.deadline()),
        }
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Instant) {
        match self.state {
            State::TimeWait if self.time_wait_until <= now => self.state = State::Closed,
            State::Closed | State::SynSent | State::SynReceived => {}
            _ => {
                self.sender.on_timer(now);
                if self.sender.consecutive_timeouts() > DATA_RETRIES {
                    self.fail(Failure::TimedOut);
                }
            }
        }
    }

    /// The next segment to send at `now`, if there is one.
    pub fn poll(&mut self, now: Instant) -> Option<Segment> {
        if let Some(sequence) = self.reset_due.take() {
            let mut reset = self.segment(sequence, Control::Reset, now);
            reset.ack = reset.ack.filter(|_| !self.is_opening());
            return Some(reset);
        }
        match self.state {
            State::Closed => None,
            State::SynSent | State::SynReceived => self.poll_handshake(now),
            _ => self.poll_data(now).or_else(|| {
                self.receiver.is_ack_due(now).then(|| {
                    let sequence = to_sequence(self.iss, self.sender.next);
                    self.segment(sequence, Control::None, now)
                })
            }),
        }
    }

    fn poll_handshake(&mut self, now: Instant) -> Option<Segment> {
        if now < self.handshake.due {
            return None;
        }
        let answering = self.state == State::SynReceived;
        if self.handshake.sent_at.is_some() {
            self.handshake.repetitions += 1;
            let limit = if answering {
                SYN_ACK_RETRIES
            } else {
                SYN_RETRIES
            };
            if self.handshake.repetitions > limit {
                self.fail(Failure::TimedOut);
                return None;
            }
            self.handshake.wait = Span::from_ticks(self.handshake.wait.ticks() * 2).min(RTO_MAX);
        }
        self.handshake.sent_at = Some(now);
        self.handshake.due = now + self.handshake.wait;
        let mut syn = self.segment(self.iss, Control::Syn, now);
        syn.ack = syn.ack.filter(|_| answering);
        syn.mss = Some(self.config.mss);
        syn.sack_permitted = self.sack;
        syn.sack = [None; 3];
        let scaling = !answering || self.remote_window_shift.is_some();
        syn.window_scale = self.config.window_scale.filter(|_| scaling);
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        syn.window = self.config.receive_buffer.min(usize::from(u16::MAX)) as u16;
        Some(syn)
    }

    fn poll_data(&mut self, now: Instant) -> Option<Segment> {
        let outgoing = self.sender.poll(now)?;
        let control = match (outgoing.fin, outgoing.push) {
            (true, _) => Control::Fin,
            (false, true) => Control::Push,
            (false, false) => Control::None,
        };
        let sequence = to_sequence(self.iss, outgoing.start);
        let mut segment = self.segment(sequence, control, now);
        segment.payload = self.sender.payload(&outgoing);
        Some(segment)
    }

    /// A segment without payload. It carries the current acknowledgment, so pending ones are cleared.
    fn segment(&mut self, sequence: u32, control: Control, now: Instant) -> Segment {
        let (next, window) = self.receiver.on_ack_sent();
        let mut sack = [None; 3];
        if self.sack {
            for (slot, (from, to)) in sack.iter_mut().zip(self.receiver.sack()) {
                let sequence = |position| to_sequence(self.irs, position);
                *slot = Some((sequence(from), sequence(to)));
            }
        }
        Segment {
            source_port: self.local_port,
            destination_port: self.remote.port,
            sequence,
            ack: Some(to_sequence(self.irs, next)),
            control,
            window: (window >> self.local_window_shift).min(u64::from(u16::MAX)) as u16,
            sack,
            timestamp: self
                .timestamps
                .then(|| (timestamp(now), self.timestamp_echo)),
            ..Segment::default()
        }
    }
}

/// The clock of the timestamp option: milliseconds, as in Linux.
pub(super) fn timestamp(now: Instant) -> u32 {
    (now.as_ns() / 1_000_000) as u32
}
