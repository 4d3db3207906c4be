//! Enumerates every state that two ends with small memories can reach, whatever the line and the programs do: frames
//! lost or damaged at any time, time-outs at any time, messages sent and read at any time, an end that restarts.

use super::{Channel, Config, Link, Timed};
use crate::counters::Counters;
use crate::round_trip::RoundTrip;
use crate::time::{Deadline, Instant};
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::vec::Vec;

/// Octets of each FIFO and each transmit queue.
const MEMORY: usize = 7;
const NOW: Instant = Instant::from_us(1);

type End = Link<[u8; MEMORY], 1>;
type Frame = Vec<u8>;

/// Lengths of the messages of each end, in order. The fragments have two octets.
struct Plan {
    messages: [&'static [usize]; 2],
    is_reliable: bool,
    restarts: u8,
    /// Most frames on their way in a direction.
    on_the_wire: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ends: [End; 2],
    wires: [VecDeque<Frame>; 2],
    /// Messages sent by each end, and delivered by its peer.
    sent: [usize; 2],
    delivered: [usize; 2],
    /// Restarts of end 1 to come, and messages of end 0 that it had not read when it restarted.
    restarts: u8,
    unread: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Send(usize),
    Read(usize),
    Transmit(usize),
    Deliver(usize),
    Lose(usize),
    Damage(usize),
    Expire(usize),
    Restart,
}

fn actions() -> impl Iterator<Item = Action> {
    use Action::{Damage, Deliver, Expire, Lose, Read, Restart, Send, Transmit};
    let of_an_end = |n| {
        [
            Send(n),
            Read(n),
            Transmit(n),
            Deliver(n),
            Lose(n),
            Damage(n),
            Expire(n),
        ]
    };
    (0..2).flat_map(of_an_end).chain([Restart])
}

fn end(session: u32, is_reliable: bool) -> End {
    let config = Config {
        max_fragment: 2,
        ..Config::new(session)
    };
    Link::new(
        config,
        [Channel::new(is_reliable, [0; MEMORY], [0; MEMORY])],
    )
}

/// Message `number` of end `n`.
fn message(plan: &Plan, n: usize, number: usize) -> Vec<u8> {
    let len = plan.messages[n][number];
    // Zero in some, so that COBS has something to do.
    (0..len).map(|at| (number * 3 + at + n) as u8 % 5).collect()
}

impl State {
    /// Two ends with a session between them.
    fn new(plan: &Plan) -> Self {
        let mut state = Self {
            ends: [1, 2].map(|session| end(session, plan.is_reliable)),
            wires: Default::default(),
            sent: [0; 2],
            delivered: [0; 2],
            restarts: plan.restarts,
            unread: None,
        };
        let silent = Plan {
            messages: [&[], &[]],
            ..*plan
        };
        state.settle(&silent);
        assert!(state.ends.iter().all(Link::is_up));
        state.normalize();
        state
    }

    /// Executes an action; returns false if it is not possible.
    fn execute(&mut self, plan: &Plan, action: Action) -> bool {
        match action {
            Action::Send(n) => {
                let is_possible = self.sent[n] < plan.messages[n].len();
                if !is_possible
                    || self.ends[n]
                        .send(0, &message(plan, n, self.sent[n]))
                        .is_err()
                {
                    return false;
                }
                self.sent[n] += 1;
            }
            Action::Read(n) => {
                let mut octets = [0; MEMORY];
                let Some(len) = self.ends[n].read(0, &mut octets) else {
                    return false;
                };
                self.on_delivered(plan, 1 - n, &octets[..len]);
            }
            Action::Transmit(n) => {
                if self.wires[n].len() == plan.on_the_wire {
                    return false;
                }
                let frame = self.frame(n);
                if frame.is_empty() {
                    return false;
                }
                self.wires[n].push_back(frame);
            }
            Action::Deliver(n) => {
                let Some(frame) = self.wires[n].pop_front() else {
                    return false;
                };
                self.ends[1 - n].receive(NOW, &frame);
                assert_eq!(self.ends[1 - n].counters.overruns, 0, "a FIFO is overrun");
            }
            Action::Lose(n) => return self.wires[n].pop_front().is_some(),
            Action::Damage(n) => {
                let Some(mut frame) = self.wires[n].pop_front() else {
                    return false;
                };
                // In the check: the header can be read.
                let last = frame.len() - 2;
                frame[last] ^= 0x80 | 1;
                self.ends[1 - n].receive(NOW, &frame);
            }
            Action::Expire(n) => {
                let end = &mut self.ends[n];
                let has_timer = end.channels[0].sender.expire(NOW);
                let has_hello = end.hello_deadline.is_set();
                if has_hello {
                    end.hello_deadline = Deadline::at(NOW);
                }
                if !has_timer && !has_hello {
                    return false;
                }
                end.on_time(NOW);
                end.arm(NOW);
            }
            Action::Restart => {
                if self.restarts == 0 {
                    return false;
                }
                let mut octets = [0; MEMORY];
                let mut unread = 0;
                while self.ends[1].read(0, &mut octets).is_some() {
                    unread += 1;
                }
                self.unread = Some(unread);
                self.ends[1] = end(2 + u32::from(self.restarts), plan.is_reliable);
                self.restarts -= 1;
            }
        }
        self.normalize();
        true
    }

    /// The next frame of an end.
    fn frame(&mut self, n: usize) -> Frame {
        let mut frame = Vec::new();
        let mut octet = [0];
        while self.ends[n].transmit(NOW, &mut octet) == 1 {
            frame.push(octet[0]);
            if self.ends[n].encoder.is_idle() {
                break;
            }
        }
        frame
    }

    /// Checks a message of end `n`.
    fn on_delivered(&mut self, plan: &Plan, n: usize, octets: &[u8]) {
        let is_next = |number: usize| number < self.sent[n] && message(plan, n, number) == octets;
        let mut number = self.delivered[n];
        if n == 0
            && let Some(unread) = self.unread.take()
        {
            // One that was not acknowledged as a whole comes again; those that were not read are gone.
            let again = (0..=number + unread).rev().find(|number| is_next(*number));
            number = again.expect("a message that was sent");
        } else if !plan.is_reliable {
            let later = (number..self.sent[n]).find(|number| is_next(*number));
            number = later.expect("a message that was sent");
        }
        assert!(
            is_next(number),
            "end {n}: {octets:?} is not message {number}"
        );
        self.delivered[n] = number + 1;
    }

    /// Removes what does not change the behaviour.
    fn normalize(&mut self) {
        for end in &mut self.ends {
            end.counters = Counters::default();
            end.round_trip = RoundTrip::default();
            end.timed = Timed::NONE;
            end.channels[0].receiver.lost = 0;
            end.channels[0].sender.forget_backoff();
            while end.event().is_some() {}
        }
    }

    /// Lets everything arrive on a good line.
    fn settle(&mut self, plan: &Plan) {
        for _ in 0..40 {
            let mut has_moved = false;
            for n in 0..2 {
                let steps = [
                    Action::Send(n),
                    Action::Transmit(n),
                    Action::Deliver(n),
                    Action::Read(1 - n),
                ];
                for step in steps {
                    while self.execute(plan, step) {
                        has_moved = true;
                    }
                }
            }
            if has_moved {
                continue;
            }
            let expired = [0, 1].map(|n| self.execute(plan, Action::Expire(n)));
            if expired == [false; 2] {
                return;
            }
        }
        panic!(
            "the ends do not come to rest: {:#?} {:?}",
            self.ends, self.wires
        );
    }

    fn fingerprint(&self) -> [u64; 2] {
        [0_u8, 1].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            self.hash(&mut hasher);
            hasher.finish()
        })
    }
}

/// Visits every state; returns their number.
fn enumerate(plan: &Plan) -> usize {
    let first = State::new(plan);
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut frontier = Vec::from([first]);
    while let Some(state) = frontier.pop() {
        for action in actions() {
            let mut next = state.clone();
            if !next.execute(plan, action) || !seen.insert(next.fingerprint()) {
                continue;
            }
            // From everywhere everything arrives, if the line is good from now on.
            let mut later = next.clone();
            later.settle(plan);
            if plan.is_reliable {
                let all = plan.messages.map(<[usize]>::len);
                let unread = later.unread.unwrap_or(0);
                assert!(
                    later.delivered[0] + unread >= all[0]
                        && (plan.restarts > 0 || later.delivered == all),
                    "after {action:?}: {:?} of {all:?}",
                    later.delivered
                );
            }
            frontier.push(next);
        }
    }
    seen.len()
}

fn is_long() -> bool {
    std::env::var_os("LINERATE_LONG").is_some()
}

#[test]
fn a_fifo_is_never_overrun_and_every_message_arrives_in_order() {
    let states = enumerate(&Plan {
        messages: [if is_long() { &[3, 5] } else { &[3, 1] }, &[]],
        is_reliable: true,
        restarts: 0,
        on_the_wire: 2,
    });
    std::println!("{states} states");
}

#[test]
fn an_empty_message_takes_its_place_in_the_order() {
    let states = enumerate(&Plan {
        messages: [&[1, 0], &[]],
        is_reliable: true,
        restarts: 0,
        on_the_wire: 1 + usize::from(is_long()),
    });
    std::println!("{states} states");
}

#[test]
fn messages_in_both_directions_arrive_in_order() {
    // Nearly a million states.
    if !is_long() {
        return;
    }
    let states = enumerate(&Plan {
        messages: [&[1], &[1]],
        is_reliable: true,
        restarts: 0,
        on_the_wire: 1,
    });
    std::println!("{states} states");
}

#[test]
fn an_unreliable_channel_overruns_no_fifo_and_keeps_the_order() {
    let states = enumerate(&Plan {
        messages: [if is_long() { &[3, 0, 5, 1] } else { &[3, 5] }, &[]],
        is_reliable: false,
        restarts: 0,
        on_the_wire: 2,
    });
    std::println!("{states} states");
}

#[test]
fn messages_survive_the_restart_of_their_receiver() {
    let states = enumerate(&Plan {
        messages: [if is_long() { &[3, 1] } else { &[3] }, &[]],
        is_reliable: true,
        restarts: 1,
        on_the_wire: 1 + usize::from(is_long()),
    });
    std::println!("{states} states");
}
