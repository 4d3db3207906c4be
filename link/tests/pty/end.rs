//! One end: a process with a link on its standard input.

use linerate_ether::random::{Random, mix};
use linerate_link::{Channel, Config, Event, Instant, Link};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::Instant as Clock;

/// Environment of an end.
pub const ASSIGNMENT: &str = "LINERATE_LINK_PTY_END";
/// An urgent and a bulk channel, both reliable.
pub const CHANNELS: usize = 2;
/// Octets of each memory.
const MEMORY: [usize; CHANNELS] = [200, 1200];
/// Octets of a message that identify it.
const LABEL: usize = 6;

/// What an end has to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Assignment {
    pub session: u32,
    pub direction: usize,
    /// Messages in each direction.
    pub messages: u32,
    /// First message to send, and to expect, on each channel.
    pub sends: [u32; CHANNELS],
    pub expects: [u32; CHANNELS],
}

impl Assignment {
    pub fn to_text(&self) -> String {
        let ([s0, s1], [e0, e1]) = (self.sends, self.expects);
        let (session, direction, messages) = (self.session, self.direction, self.messages);
        format!("{session} {direction} {messages} {s0} {s1} {e0} {e1}")
    }

    pub fn from_environment() -> Option<Self> {
        let text = std::env::var(ASSIGNMENT).ok()?;
        let [session, direction, messages, s0, s1, e0, e1] = numbers(text.split(' '));
        Some(Self {
            session,
            direction: direction as usize,
            messages,
            sends: [s0, s1],
            expects: [e0, e1],
        })
    }
}

/// Numbers in words.
pub fn numbers<'a, const N: usize>(words: impl Iterator<Item = &'a str>) -> [u32; N] {
    let all: Vec<u32> = words.map(|word| word.parse().expect("a number")).collect();
    all.try_into().expect("so many numbers")
}

/// Messages of a channel in one direction.
pub const fn total(messages: u32, channel: usize) -> u32 {
    let urgent = messages / 10;
    if channel == 0 {
        urgent
    } else {
        messages - urgent
    }
}

/// A message: all octets follow from its direction, channel and number.
fn message(direction: usize, channel: usize, number: u32, into: &mut Vec<u8>) {
    let seed = u64::from(number) << 8 | (channel as u64) << 1 | direction as u64;
    let mut random = Random::new(mix(seed));
    let longest = [40, 400][channel];
    let len = LABEL as u64 + random.below(1 + random.clone().below(longest));
    into.clear();
    into.extend([channel as u8, direction as u8]);
    into.extend(number.to_le_bytes());
    while (into.len() as u64) < len {
        // Zeros and runs are what COBS is about.
        let octet = random.next_u64();
        into.push(if octet & 0x700 == 0 { 0 } else { octet as u8 });
    }
}

struct End {
    link: Link<Vec<u8>, CHANNELS>,
    direction: usize,
    expects: [u32; CHANNELS],
    /// The peer has restarted, or this end has: what was not acknowledged comes again.
    may_repeat: [bool; CHANNELS],
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

impl End {
    /// Reads every message that has arrived, and reports it before any of them can be acknowledged: so none is lost with
    /// a process that is killed.
    fn read(&mut self) {
        let before = self.expects;
        for channel in 0..CHANNELS {
            while let Some(len) = self.link.read(channel, &mut self.buffer) {
                self.on_message(channel, len);
            }
        }
        if self.expects != before {
            let [urgent, bulk] = self.expects;
            println!("read {urgent} {bulk}");
        }
    }

    fn on_message(&mut self, channel: usize, len: usize) {
        let got = &self.buffer[..len];
        let label = got.get(2..LABEL).and_then(<[u8]>::first_chunk);
        let number = u32::from_le_bytes(*label.expect("a label"));
        message(1 - self.direction, channel, number, &mut self.expected);
        assert_eq!(
            got, self.expected,
            "message {number} of channel {channel} is wrong"
        );
        let next = &mut self.expects[channel];
        let is_repeated = std::mem::take(&mut self.may_repeat[channel]) && number < *next;
        assert!(
            number == *next || is_repeated,
            "message {number} of channel {channel} came, {next} was expected"
        );
        if number == *next {
            *next += 1;
        } else {
            // The rest of what comes again follows in order.
            self.may_repeat[channel] = number + 1 < *next;
        }
    }

    fn on_events(&mut self) {
        while let Some(event) = self.link.event() {
            if event == Event::PeerRestarted {
                self.may_repeat = [true; CHANNELS];
            }
        }
    }
}

/// Sends and expects messages until it is killed.
pub fn run(assignment: &Assignment) {
    let stdin = std::io::stdin();
    let mut port = File::from(stdin.as_fd().try_clone_to_owned().expect("a terminal"));
    let config = Config {
        max_fragment: 100,
        ..Config::new(assignment.session)
    };
    let channels = MEMORY.map(|len| Channel::reliable(vec![0; len], vec![0; len]));
    let mut end = End {
        link: Link::new(config, channels),
        direction: assignment.direction,
        expects: assignment.expects,
        may_repeat: [true; CHANNELS],
        buffer: vec![0; 1500],
        expected: Vec::new(),
    };
    let totals = [0, 1].map(|channel| total(assignment.messages, channel));
    let mut sends = assignment.sends;
    let mut is_done = false;
    let mut counts = [u32::MAX; 3];
    let (mut out, mut octets) = (Vec::new(), [0; 512]);
    let begin = Clock::now();
    let now = || Instant::from_us(begin.elapsed().as_micros() as u32);
    loop {
        end.read();
        end.on_events();
        for channel in 0..CHANNELS {
            while sends[channel] < totals[channel] {
                message(end.direction, channel, sends[channel], &mut out);
                if end.link.send(channel, &out).is_err() {
                    break;
                }
                sends[channel] += 1;
            }
        }
        loop {
            let count = end.link.transmit(now(), &mut octets);
            if count == 0 {
                break;
            }
            port.write_all(&octets[..count])
                .expect("the terminal takes it");
        }
        let counters = end.link.counters();
        let seen = [counters.damaged, counters.retransmitted, counters.overruns];
        if seen != counts {
            counts = seen;
            let [damaged, repeated, overruns] = seen;
            println!("counts {damaged} {repeated} {overruns}");
        }
        let pending = end.link.pending(0) + end.link.pending(1);
        if !is_done && sends == totals && end.expects == totals && pending == 0 {
            is_done = true;
            println!("done");
        }
        let left_us = end
            .link
            .next_timeout()
            .map_or(1_000_000, |at| (at.us_since(now()) as i32).max(1));
        let timeout = Timespec {
            tv_sec: i64::from(left_us / 1_000_000),
            tv_nsec: i64::from(left_us % 1_000_000 * 1000),
        };
        let mut wait = [PollFd::new(&port, PollFlags::IN)];
        if poll(&mut wait, Some(&timeout)).expect("a terminal") > 0 {
            let count = port.read(&mut octets).expect("a terminal");
            assert!(count > 0, "the line has ended");
            end.link.receive(now(), &octets[..count]);
        }
    }
}
