//! Random messages over a simulated UART with bit errors, lost, inserted and duplicated octets, stalls and restarts of
//! either end: 100,000 messages, or 10,000,000 with `LINERATE_LONG`.

#![forbid(unsafe_code)]

mod support;

use linerate_ether::random::{Random, mix};
use linerate_link::{Config, Event, SendError};
use linerate_uart_model::Faults;
use std::collections::VecDeque;
use support::{End, Wire};

/// Octets of a message that identify it.
const LABEL: usize = 5;

/// Message `number` of a channel and direction: all octets follow from these.
fn message(direction: usize, channel: usize, number: u32, into: &mut Vec<u8>) {
    let mut random = Random::new(mix(u64::from(number) << 8
        | (channel as u64) << 1
        | direction as u64));
    let longest = [70, 200, 500][channel];
    // Many short ones, some longer than a fragment.
    let len = LABEL as u64 + random.below(1 + random.clone().below(longest - LABEL as u64));
    into.clear();
    into.push(channel as u8);
    into.extend(number.to_le_bytes());
    while (into.len() as u64) < len {
        // Zeros and runs are what COBS is about.
        let octet = random.next_u64();
        into.push(if octet & 0x700 == 0 { 0 } else { octet as u8 });
    }
}

/// The number in a message.
fn number_of(message: &[u8]) -> u32 {
    let label = message[1..LABEL].try_into();
    label.map(u32::from_le_bytes).expect("a label")
}

/// What is known about the messages of a channel in one direction.
#[derive(Default)]
struct Flow {
    /// Messages accepted by the sender.
    sent: u32,
    /// Number of the message to be delivered next.
    next: u32,
    /// First messages of incarnations of the sender.
    begins: VecDeque<u32>,
    /// The receiver has restarted: what it had not acknowledged comes again.
    has_restarted: bool,
    delivered: u64,
    again: u64,
    /// Gone with an end that restarted: in its transmit queue, or received and not read.
    gone: u64,
    lost: u64,
}

impl Flow {
    /// Checks the number of a message that the program read.
    fn on_delivered(&mut self, number: u32, is_reliable: bool) {
        self.on_received(number, is_reliable);
        self.delivered += 1;
    }

    /// Checks the number of a message that the receiver had when it restarted. It came in order, too.
    fn on_unread(&mut self, number: u32, is_reliable: bool) {
        self.on_received(number, is_reliable);
        self.gone += 1;
    }

    fn on_received(&mut self, number: u32, is_reliable: bool) {
        assert!(number < self.sent, "message {number} was never sent");
        if std::mem::take(&mut self.has_restarted) && number < self.next {
            self.again += u64::from(self.next - number);
            self.next = number;
        }
        while let Some(begin) = self.begins.pop_front_if(|begin| *begin <= number) {
            if self.next < begin {
                self.gone += u64::from(begin - self.next);
                self.next = begin;
            }
        }
        assert!(
            number >= self.next,
            "message {number} twice, {} is next",
            self.next
        );
        if number > self.next {
            assert!(!is_reliable, "message {} is lost: {number} came", self.next);
            self.lost += u64::from(number - self.next);
        }
        self.next = number + 1;
    }
}

struct Run {
    wire: Wire,
    ends: [End; 2],
    /// By direction (end that sends) and channel.
    flows: [[Flow; 3]; 2],
    random: Random,
    sessions: u32,
    restarts: [u32; 2],
    restarts_seen: [u32; 2],
    expected: Vec<u8>,
    buffer: Vec<u8>,
}

impl Run {
    fn new(faults: Faults, seed: u64) -> Self {
        Self {
            wire: Wire::new(faults, seed),
            ends: [support::end(Config::new(1)), support::end(Config::new(2))],
            flows: Default::default(),
            random: Random::new(seed),
            sessions: 2,
            restarts: [0; 2],
            restarts_seen: [0; 2],
            expected: Vec::new(),
            buffer: vec![0; 1000],
        }
    }

    /// Sends on a random channel of an end, until it is full.
    fn send(&mut self, n: usize) {
        let channel = self.random.below(3) as usize;
        let flow = &mut self.flows[n][channel];
        message(n, channel, flow.sent, &mut self.expected);
        match self.ends[n].send(channel, &self.expected) {
            Ok(()) => flow.sent += 1,
            Err(SendError::Full | SendError::NotUp) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn read(&mut self, n: usize) {
        for channel in 0..3 {
            while let Some(len) = self.ends[n].read(channel, &mut self.buffer) {
                let got = &self.buffer[..len];
                let number = number_of(got);
                message(1 - n, channel, number, &mut self.expected);
                assert_eq!(got, self.expected, "a wrong message was delivered");
                self.flows[1 - n][channel].on_delivered(number, channel != 2);
            }
        }
        while let Some(event) = self.ends[n].event() {
            self.restarts_seen[n] += u32::from(event == Event::PeerRestarted);
        }
    }

    /// Loses the memory of an end.
    fn restart(&mut self, n: usize) {
        for channel in 0..3 {
            let own = &mut self.flows[n][channel];
            own.begins.push_back(own.sent);
            while let Some(len) = self.ends[n].read(channel, &mut self.buffer) {
                let number = number_of(&self.buffer[..len]);
                self.flows[1 - n][channel].on_unread(number, channel != 2);
            }
            self.flows[1 - n][channel].has_restarted = true;
        }
        self.sessions += 1;
        self.restarts[n] += 1;
        self.ends[n] = support::end(Config::new(self.sessions));
    }

    fn delivered(&self) -> u64 {
        self.flows.iter().flatten().map(|f| f.delivered).sum()
    }

    /// Runs until so many messages are delivered; returns the number of octets sent.
    fn run(&mut self, messages: u64, restart_every: u64) {
        let mut pauses = [0_u64; 2];
        let mut idle = 0;
        let mut before = 0;
        while self.delivered() < messages {
            idle = if self.delivered() == before {
                idle + 1
            } else {
                0
            };
            before = self.delivered();
            assert!(
                idle < 1_000_000,
                "nothing is delivered any more: {:#?}",
                self.ends.each_ref().map(End::counters)
            );
            for (n, pause) in pauses.iter_mut().enumerate() {
                self.send(n);
                // The program is busy now and then, and its FIFOs fill.
                if *pause > 0 {
                    *pause -= 1;
                } else if self.random.chance(1, 500) {
                    *pause = self.random.below(2000);
                } else {
                    self.read(n);
                }
                if restart_every > 0 && self.random.chance(1, restart_every) {
                    self.restart(n);
                }
            }
            self.wire.step(&mut self.ends);
        }
    }

    /// Lets everything arrive.
    fn finish(&mut self) {
        for _ in 0..2_000_000 {
            let is_done = |e: &End| e.is_up() && (0..2).all(|channel| e.pending(channel) == 0);
            if self.ends.iter().all(is_done) {
                break;
            }
            (0..2).for_each(|n| self.read(n));
            self.wire.step(&mut self.ends);
        }
        (0..2).for_each(|n| self.read(n));
        for (n, flows) in self.flows.iter().enumerate() {
            for (channel, flow) in flows.iter().enumerate().take(2) {
                assert_eq!(
                    flow.next, flow.sent,
                    "end {n}, channel {channel}: messages are missing"
                );
            }
        }
        for end in &self.ends {
            assert_eq!(end.counters().overruns, 0, "a FIFO was overrun");
        }
    }

    fn sum(&self, of: impl Fn(&Flow) -> u64) -> u64 {
        self.flows.iter().flatten().map(of).sum()
    }
}

const NOISE: Faults = Faults {
    bit_errors: 1e-5,
    dropped: 1e-5,
    inserted: 2e-6,
    duplicated: 2e-6,
    stalls: 1e-5,
    stall_octets: 3000,
};

#[test]
fn no_message_is_wrong_and_none_is_lost_on_reliable_channels() {
    let messages = if std::env::var_os("LINERATE_LONG").is_some() {
        10_000_000
    } else {
        100_000
    };
    let mut run = Run::new(NOISE, 1);
    run.run(messages, 200_000);
    run.finish();
    let counters = run.ends.each_ref().map(|e| *e.counters());
    println!(
        "{} messages, 0 wrong, 0 lost on reliable channels, {} lost on unreliable ones, {} restarts ({} messages gone \
         with an end, {} delivered again), {:.0} s at 1 Mbaud\n{counters:?}",
        run.delivered(),
        run.sum(|f| f.lost),
        run.restarts.iter().sum::<u32>(),
        run.sum(|f| f.gone),
        run.sum(|f| f.again),
        run.wire.now_ns as f64 / 1e9,
    );
    // `cargo xtask links` reads this. A message that is wrong, or lost on a reliable channel, has ended the test.
    println!(
        "counts: {{\"messages\": {}, \"messages_wrong\": 0, \"messages_lost\": 0, \"messages_lost_unreliable\": {}}}",
        run.delivered(),
        run.sum(|f| f.lost)
    );
    assert!(run.restarts.iter().sum::<u32>() > 0);
    assert!(
        run.sum(|f| f.lost) > 0,
        "the unreliable channel lost nothing: is there noise?"
    );
}

#[test]
fn messages_pass_a_line_with_a_hundred_times_the_errors() {
    let faults = Faults {
        bit_errors: 1e-3,
        dropped: 1e-3,
        inserted: 1e-3,
        duplicated: 1e-3,
        stalls: 1e-4,
        stall_octets: 500,
    };
    for seed in 2..6 {
        let mut run = Run::new(faults, seed);
        run.run(1000, 0);
        run.finish();
    }
}

#[test]
fn an_end_that_restarts_is_noticed_by_its_peer() {
    for seed in 10..20 {
        let mut run = Run::new(Faults::default(), seed);
        run.run(300, 0);
        run.restart(0);
        run.run(600, 0);
        run.finish();
        assert_eq!((run.restarts_seen[0], run.restarts_seen[1]), (0, 1));
    }
}
