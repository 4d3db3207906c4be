//! Arrival of a segment at a connection (RFC 9293 section 3.10.7).

use super::acknowledge::Acknowledgment;
use super::connection::{Connection, Failure, State, TIME_WAIT, timestamp};
use super::segment::{Control, Segment, to_position, to_sequence};
use crate::time::{Instant, Span};

impl Connection {
    /// Processes a segment.
    pub fn receive(&mut self, segment: &Segment, now: Instant) {
        match self.state {
            State::Closed => {}
            State::SynSent => self.receive_in_syn_sent(segment, now),
            _ => self.receive_synchronised(segment, now),
        }
    }

    fn receive_in_syn_sent(&mut self, segment: &Segment, now: Instant) {
        let acknowledges_syn = segment.ack == Some(to_sequence(self.iss, 1));
        if segment.ack.is_some() && !acknowledges_syn {
            if segment.control != Control::Reset {
                self.reset_due = segment.ack;
            }
            return;
        }
        match segment.control {
            Control::Reset if acknowledges_syn => self.fail(Failure::Reset),
            Control::Syn => {
                self.process_syn(segment);
                if acknowledges_syn {
                    self.establish(now);
                    self.receiver.request_ack();
                } else {
                    // Simultaneous open.
                    self.state = State::SynReceived;
                    self.handshake.due = now;
                }
            }
            _ => {}
        }
    }

    fn establish(&mut self, now: Instant) {
        if let Some(sent_at) = self.handshake.sent_at
            && self.handshake.repetitions == 0
        {
            self.sender.measure_handshake(now.since(sent_at));
        } else {
            self.sender.handshake_repeated();
        }
        self.handshake.due = Instant::NEVER;
        self.state = State::Established;
    }

    fn receive_synchronised(&mut self, segment: &Segment, now: Instant) {
        let next = self.receiver.next();
        let Some(start) = to_position(self.irs, segment.sequence, next) else {
            // Before the SYN; a repeated SYN is at position 0.
            return;
        };
        if segment.control == Control::Syn {
            if self.state == State::SynReceived && start == 0 {
                // A retransmitted SYN: our SYN-ACK was lost.
                self.handshake.due = now;
            } else if segment.control == Control::Syn {
                self.receiver.request_ack();
            }
            return;
        }
        if !self.is_acceptable(start, segment.sequence_len()) {
            if segment.control != Control::Reset {
                self.receiver.reject(start, segment.payload.len());
            }
            return;
        }
        if segment.control == Control::Reset {
            if start == next {
                self.fail(Failure::Reset);
            } else {
                self.receiver.request_ack();
            }
            return;
        }
        if self.process_ack(segment, start, now) {
            let fin = segment.control == Control::Fin;
            self.receiver.receive(start, &segment.payload, fin, now);
        }
        if let Some((value, _)) = segment.timestamp
            && start <= next
        {
            self.timestamp_echo = value;
        }
        self.advance_closing(now);
    }

    /// RFC 9293 section 3.4: part of the segment is in the window.
    fn is_acceptable(&self, start: u64, len: u64) -> bool {
        let (next, end) = (self.receiver.next(), self.receiver.offered_end());
        if len == 0 {
            return start == next || (start > next && start < end);
        }
        (start < end || start == next) && start + len > next
    }

    /// Processes the segment's acknowledgment; false if the segment is to be dropped.
    fn process_ack(&mut self, segment: &Segment, start: u64, now: Instant) -> bool {
        let Some(ack) = segment.ack else { return false };
        let (iss, near) = (self.iss, self.sender.unacknowledged);
        let position = |sequence| to_position(iss, sequence, near);
        let Some(acknowledged) = position(ack) else {
            return false;
        };
        if self.state == State::SynReceived {
            if acknowledged != 1 {
                self.reset_due = Some(ack);
                return false;
            }
            self.establish(now);
        }
        let shift = self.remote_window_shift.unwrap_or(0);
        let acknowledgment = Acknowledgment {
            position: acknowledged,
            sack: segment
                .sack
                .iter()
                .flatten()
                .filter(|_| !self.config.disregard_sack_blocks)
                .filter_map(|&(from, to)| Some((position(from)?, position(to)?)))
                .filter(|(from, to)| from < to)
                .collect(),
            window: u64::from(segment.window) << shift,
            segment_position: start,
            occupies_sequence_space: segment.sequence_len() > 0,
            timestamp_round_trip: segment
                .timestamp
                .filter(|_| self.timestamps)
                .map(|(_, echo)| Span::from_ms(u64::from(timestamp(now).wrapping_sub(echo)))),
        };
        if self.sender.on_ack(&acknowledgment, now).is_err() {
            self.receiver.request_ack();
            return false;
        }
        true
    }

    /// Advances the closing states.
    fn advance_closing(&mut self, now: Instant) {
        let peer_done = self.receiver.is_finished();
        let fin_done = self.sender.fin_acknowledged();
        self.state = match (self.state, fin_done, peer_done) {
            (State::Established, _, true) => State::CloseWait,
            (State::FinWait1 | State::FinWait2 | State::Closing, true, true) => State::TimeWait,
            (State::FinWait1, true, false) => State::FinWait2,
            (State::FinWait1, false, true) => State::Closing,
            (State::LastAck, true, _) => State::Closed,
            (state, ..) => state,
        };
        if self.state == State::TimeWait {
            self.time_wait_until = now + TIME_WAIT;
        }
    }
}
