//! The client's reaction to the states announced by the server.

use super::super::json::{Event, Reader};
use super::super::message::{JsonFrame, PARAMETERS, RESULTS, state};
use super::super::results;
use super::super::stream::Channel;
use super::{Client, Direction, Failure, Phase};
use crate::{Instant, Udp};
use core::time::Duration;

/// Time between the last datagram and the message that ends the test. A queue on the path that is full would lose the
/// message, and the server's time would run until TCP repeats it.
pub const UDP_SETTLE: Duration = Duration::from_millis(20);

impl<const STREAMS: usize> Client<STREAMS> {
    /// Handles timers.
    pub(super) fn step(&mut self, now: Instant) {
        self.last_received.get_or_insert(now);
        if self.timeout_at().is_some_and(|at| now >= at) {
            if matches!(self.phase, Phase::Done) {
                // The results are complete.
                self.control_is_closed = true;
            }
            self.fail(Failure::NoAnswer);
        }
        match self.phase {
            Phase::Running => {
                self.streams.omit(now);
                let is_over = self.has_enough() || self.end_at().is_some_and(|at| now >= at);
                if is_over && self.announce_at.is_none() {
                    self.streams.end(now);
                    self.last_received = Some(now);
                    let test = &self.streams.test;
                    // A server that sends goes on until it has the message.
                    let only_sends = test.direction == Direction::Forward;
                    self.announce_at = Some(if test.udp && only_sends {
                        now.after(UDP_SETTLE)
                    } else {
                        now
                    });
                }
                if self.announce_at.is_some_and(|at| now >= at) {
                    self.outbox.push(state::TEST_END);
                    self.phase = Phase::AwaitState(state::EXCHANGE_RESULTS);
                }
            }
            Phase::Draining => {
                let all = !self.streams.test.udp && self.streams.are_ended();
                if all || !self.streams.receive() || now >= self.streams.drain_deadline() {
                    self.streams.frozen = true;
                    self.last_received = Some(now);
                    self.outbox.push(RESULTS);
                    self.phase = Phase::Results(JsonFrame::new(), Reader::new());
                }
            }
            _ => {}
        }
    }

    /// Handles an octet on the control connection.
    pub(super) fn octet(&mut self, octet: u8, now: Instant) {
        match &mut self.phase {
            Phase::Error(octets, have) => {
                octets[*have] = octet;
                *have += 1;
                if *have == octets.len() {
                    let number = |at| crate::octets::u32_at(octets, at).unwrap_or(0) as i32;
                    let (number, system) = (number(0), number(4));
                    self.fail(Failure::ServerError { number, system });
                }
            }
            Phase::Results(frame, reader) => {
                let streams = &mut self.streams;
                let whole = frame.push(octet, &mut |depth, event: Event<'_>| {
                    if reader.on_event(results::OBJECTS, &results::MEMBERS, depth, &event) {
                        streams.report(reader);
                    }
                });
                match whole {
                    Ok(false) => {}
                    Ok(true) if !streams.are_reported() => self.fail(Failure::BadResults),
                    Ok(true) => self.phase = Phase::AwaitState(state::DISPLAY_RESULTS),
                    Err(_) => self.fail(Failure::BadResults),
                }
            }
            Phase::Done | Phase::Failed(_) => {}
            _ => self.state(octet, now),
        }
    }

    fn state(&mut self, announced: u8, now: Instant) {
        let open = self.streams.len();
        let opens_last = matches!(
            self.phase,
            Phase::Opening {
                is_requested: true,
                ..
            }
        ) && open + 1 == self.streams.test.streams();
        if announced == state::TEST_START && self.streams.test.udp && opens_last {
            // The answer to the hello was lost or is late, but the server has the stream.
            let last = Channel::Udp(Udp(open as u8), self.plan.to.port());
            self.streams.open(last);
            self.stream_is_open(now);
        }
        let awaited = match self.phase {
            Phase::AwaitState(state) => Some(state),
            _ => None,
        };
        match announced {
            state::ACCESS_DENIED => self.fail(Failure::AccessDenied),
            state::SERVER_TERMINATE => self.fail(Failure::Terminated),
            state::SERVER_ERROR => self.phase = Phase::Error([0; 8], 0),
            _ if Some(announced) != awaited => self.fail(Failure::UnexpectedState(announced as i8)),
            state::PARAM_EXCHANGE => {
                self.outbox.push(PARAMETERS);
                self.phase = Phase::AwaitState(state::CREATE_STREAMS);
            }
            state::CREATE_STREAMS => {
                self.phase = Phase::Opening {
                    is_requested: false,
                    hello_due: now,
                };
            }
            state::TEST_START => self.phase = Phase::AwaitState(state::TEST_RUNNING),
            state::TEST_RUNNING => {
                self.streams.begin(now);
                self.phase = Phase::Running;
            }
            state::EXCHANGE_RESULTS => {
                self.phase = Phase::Draining;
                self.step(now);
            }
            _ => {
                self.outbox.push(state::IPERF_DONE);
                self.phase = Phase::Done;
            }
        }
    }

    /// The last stream is open: continue with the next one, if there is another.
    pub(super) fn stream_is_open(&mut self, now: Instant) {
        let open = self.streams.len();
        self.phase = if open < self.streams.test.streams() {
            Phase::Opening {
                is_requested: false,
                hello_due: now,
            }
        } else {
            self.streams.arm(true);
            Phase::AwaitState(state::TEST_START)
        };
    }
}
