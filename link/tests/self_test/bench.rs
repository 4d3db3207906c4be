//! Two ends over two UARTs, with the traffic of their users, a change of the link, and a self-test.

use crate::changes::{Change, Scenario};
use linerate_ether::random::Random;
use linerate_link::measure::{Budget, Identity, Responder, ResponderConfig};
use linerate_link::self_test::{Cause, Notice, SelfTestConfig};
use linerate_link::{Channel, Config, Instant, Link, SelfTest, frame_octets};
use linerate_uart_model::{Faults, Line, Uart};

pub const UART: Uart = Uart {
    baud: 1_000_000,
    fifo: 128,
    latency_ns: 2_000,
};
pub const OCTETS_PER_S: u32 = 100_000;
/// An interrupt of the FIFO every so many octets.
const STEP_NS: u64 = 8 * 10_000;
/// Octets of the hardware's receive FIFO.
const FIFO: u16 = 128;
pub const PERIOD_NS: u64 = 5_000_000_000;
/// The channel of the tests, behind an urgent and a bulk channel.
pub const TESTS: usize = 2;
const MEMORY: [usize; 3] = [200, 2048, 1000];
pub const MAX_DELAY_US: u32 = 3_200;
/// Octets of urgent messages, and the range of the others.
const URGENT: usize = 10;
const BULK: (u64, u64) = (16, 256);
/// What a message of the user waits for without a self-test: an urgent one, acknowledgments of two channels and a
/// poll, and the octets between two looks at the FIFO.
const OWN_WAIT_US: u64 = 10 * (frame_octets(URGENT) as u64 + 3 * 12 + 8);

/// Longest time that a user's message may wait for its first octet on an idle channel. The clock of an end may be 4.5%
/// slow.
pub const WAIT_BOUND_US: u64 = (MAX_DELAY_US as u64 + OWN_WAIT_US) * 1047 / 1000;

pub fn config() -> SelfTestConfig {
    SelfTestConfig {
        hardware_fifo: FIFO,
        period_us: (PERIOD_NS / 1000) as u32,
        max_delay_us: MAX_DELAY_US,
        rates: &[
            500_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000,
        ],
        ..SelfTestConfig::new(TESTS, OCTETS_PER_S)
    }
}

/// What measures at an end.
enum Measurer {
    SelfTest(Box<SelfTest>),
    Responder(Box<Responder>),
    None,
}

/// The traffic of one end's user on one channel.
#[derive(Default)]
struct Traffic {
    sent: u32,
    received: u32,
    /// A message that found its channel idle, and has not begun: time of the send, and time held up before.
    waiting: Option<(u64, u64)>,
}

struct End {
    link: Link<Vec<u8>, 3>,
    measurer: Measurer,
    traffic: [Traffic; 2],
    random: Random,
    /// Error of the clock.
    clock: f64,
    /// The program does nothing until then; time of that in all, and time of the last step.
    held_until_ns: u64,
    held_ns: u64,
    baud: u64,
    /// First octets of the frame that is being sent.
    frame: Vec<u8>,
}

pub struct Bench {
    scenario: Scenario,
    ends: [End; 2],
    lines: [Line; 2],
    pub now_ns: u64,
    octets: Vec<u8>,
    is_changed: bool,
    changed_ns: u64,
    pub longest_wait_us: u64,
    pub wrong: u64,
    /// Octets of frames of tests and probes that each end sent.
    pub test_octets: [u64; 2],
    /// Highest baud rate without bit errors.
    pub good_baud: u64,
    pub notices: Vec<Notice>,
}

pub enum Peer {
    SelfTest,
    Responder,
    /// Nor has the other end.
    Nothing,
}

impl Bench {
    pub fn new(scenario: Scenario, peer: &Peer, config: SelfTestConfig) -> Self {
        let end = |n: usize| {
            let memory = |octets: usize| vec![0; octets];
            let channels = [
                Channel::reliable(memory(MEMORY[0]), memory(MEMORY[0])),
                Channel::reliable(memory(MEMORY[1]), memory(MEMORY[1])),
                Channel::unreliable(memory(MEMORY[2]), memory(MEMORY[2])),
            ];
            let measurer = match (peer, n) {
                (Peer::Nothing, _) => Measurer::None,
                (Peer::Responder, 1) => {
                    Measurer::Responder(Box::new(Responder::new(ResponderConfig {
                        channels: TESTS..TESTS + 1,
                        budget: Budget::new(OCTETS_PER_S, config.share_permille, 2_200),
                        longest: u16::MAX,
                        identity: Identity {
                            hardware_fifo: FIFO,
                            ..Identity::default()
                        },
                    })))
                }
                _ => Measurer::SelfTest(Box::new(SelfTest::new(config).expect("long enough"))),
            };
            End {
                link: Link::new(Config::new(1 + n as u32), channels),
                measurer,
                traffic: Default::default(),
                random: Random::new(scenario.seed * 2 + n as u64),
                clock: 0.0,
                held_until_ns: 0,
                held_ns: 0,
                baud: UART.baud,
                frame: Vec::new(),
            }
        };
        let faults = Faults {
            bit_errors: 1e-6,
            ..Faults::default()
        };
        let line = |n| {
            let mut line = Line::new(UART, faults, scenario.seed * 7 + n);
            line.set_receive_fifo(FIFO.into());
            line
        };
        Self {
            scenario,
            ends: [end(0), end(1)],
            lines: [line(0), line(1)],
            now_ns: 0,
            octets: Vec::new(),
            is_changed: false,
            changed_ns: 0,
            longest_wait_us: 0,
            wrong: 0,
            test_octets: [0; 2],
            good_baud: u64::MAX,
            notices: Vec::new(),
        }
    }

    pub fn self_test(&mut self) -> &mut SelfTest {
        match &mut self.ends[0].measurer {
            Measurer::SelfTest(it) => it,
            _ => panic!("end 0 has no self-test"),
        }
    }

    /// Applies the change of the scenario now.
    pub fn change(&mut self) {
        self.is_changed = true;
        self.changed_ns = self.now_ns;
        match self.scenario.change {
            Change::Nothing | Change::Load { .. } => {}
            Change::Divisor { line, error } => self.lines[line].set_rate_error(error),
            Change::Clock { end, error } => {
                self.ends[end].clock = error;
                self.lines[end].set_rate_error(error);
                // To this end, the octets of the other one come too slow or too fast.
                self.lines[1 - end].set_sampling_error(-error);
            }
            Change::Latency { ns } => {
                for (line, ns) in self.lines.iter_mut().zip(ns) {
                    line.set_latency_ns(UART.latency_ns + ns);
                }
            }
            Change::BitErrors { line, rate } => self.lines[line].set_bit_errors(rate),
        }
    }

    fn now(&self, n: usize) -> Instant {
        // The clock is continuous when its error comes.
        let since = self.now_ns.saturating_sub(self.changed_ns) as f64;
        let us = (self.now_ns as f64 + since * self.ends[n].clock) / 1000.0;
        Instant::from_us(us as u64 as u32)
    }

    /// Lets time pass; returns the causes of each period of end 0 that ends.
    pub fn run(&mut self, until_ns: u64) -> Vec<Vec<Cause>> {
        let mut periods = Vec::new();
        while self.now_ns < until_ns {
            for n in 0..2 {
                self.step(n, &mut periods);
            }
            self.now_ns += STEP_NS;
        }
        periods
    }

    /// True if the program of end `n` cannot run now.
    fn is_held(&mut self, n: usize) -> bool {
        let end = &mut self.ends[n];
        if let Change::Load {
            end: at,
            hold_ns,
            permille,
        } = self.scenario.change
            && at == n
            && self.is_changed
            && self.now_ns >= end.held_until_ns
        {
            // Held for a share of the time, so free for (1 - share) / share of it, on average.
            let free = hold_ns * (1000 - permille) / permille;
            if end.random.chance(STEP_NS, free.max(STEP_NS)) {
                end.held_until_ns = self.now_ns + hold_ns;
            }
        }
        let is_held = self.now_ns < end.held_until_ns;
        end.held_ns += if is_held { STEP_NS } else { 0 };
        is_held
    }

    fn step(&mut self, n: usize, periods: &mut Vec<Vec<Cause>>) {
        if self.is_held(n) {
            return;
        }
        let now = self.now(n);
        self.octets.clear();
        self.lines[1 - n].receive(self.now_ns, &mut self.octets);
        let end = &mut self.ends[n];
        match &mut end.measurer {
            Measurer::SelfTest(it) => {
                it.on_service(self.octets.len());
                it.receive(now, &mut end.link, &self.octets);
                while let Some(event) = end.link.event() {
                    it.on_event(&event);
                }
                while let Some(notice) = it.poll(now, &mut end.link) {
                    if n == 0 {
                        self.notices.push(notice);
                    }
                    match notice {
                        Notice::Period if n == 0 => {
                            periods.push(it.changes().map(|change| change.cause).collect());
                        }
                        Notice::SetRate(rate) => end.baud = rate.into(),
                        Notice::RestoreRate => end.baud = UART.baud,
                        _ => {}
                    }
                }
            }
            Measurer::Responder(it) => {
                it.on_service(self.octets.len());
                end.link.receive(now, &self.octets);
                it.poll(now, &mut end.link, |_, _, _| {});
            }
            Measurer::None => end.link.receive(now, &self.octets),
        }
        self.user(n);
        self.transmit(n, now);
        self.set_bauds();
    }

    /// A line between ends at different rates, or above the highest good one, damages what it carries.
    fn set_bauds(&mut self) {
        let bauds = [0, 1].map(|n| self.ends[n].baud);
        if self.good_baud == u64::MAX {
            return;
        }
        for (n, line) in self.lines.iter_mut().enumerate() {
            line.set_baud(bauds[n]);
            let mismatch = bauds[n] as f64 / bauds[1 - n] as f64 - 1.0;
            line.set_sampling_error(mismatch);
            if bauds[n] > self.good_baud {
                line.set_bit_errors(1e-4);
            } else {
                line.set_bit_errors(0.0);
            }
        }
    }

    /// The user of end `n` reads, and sends at random times.
    fn user(&mut self, n: usize) {
        let mut buffer = [0; 300];
        for channel in 0..2 {
            while let Some(len) = self.ends[n].link.read(channel, &mut buffer) {
                let expected = self.ends[n].traffic[channel].received;
                if buffer[..len] != message(channel, 1 - n, expected)[..] {
                    self.wrong += 1;
                }
                self.ends[n].traffic[channel].received += 1;
            }
            // 20% of the line, and 50 urgent ones a second.
            let every_ns = [20_000_000, 136 * 10_000 * 5][channel];
            let end = &mut self.ends[n];
            if !end.random.chance(STEP_NS, every_ns) {
                continue;
            }
            let is_idle = end.link.pending(channel) == 0;
            let octets = message(channel, n, end.traffic[channel].sent);
            if end.link.send(channel, &octets).is_ok() {
                let traffic = &mut end.traffic[channel];
                traffic.sent += 1;
                if is_idle {
                    traffic.waiting = Some((self.now_ns, end.held_ns));
                }
            }
        }
    }

    fn transmit(&mut self, n: usize, now: Instant) {
        let mut fifo = [0; 128];
        let room = self.lines[n].room(self.now_ns).min(fifo.len());
        let end = &mut self.ends[n];
        let count = match &mut end.measurer {
            Measurer::SelfTest(it) => it.transmit(now, &mut end.link, &mut fifo[..room]),
            _ => end.link.transmit(now, &mut fifo[..room]),
        };
        self.lines[n].send(self.now_ns, &fifo[..count]);
        for octet in &fifo[..count] {
            self.watch(n, *octet);
        }
    }

    /// Follows the frames that end `n` sends.
    fn watch(&mut self, n: usize, octet: u8) {
        let end = &mut self.ends[n];
        if octet != 0 {
            end.frame.push(octet);
        }
        if end.frame.len() == 2 && octet != 0 {
            let first = if end.frame[0] == 1 { 0 } else { end.frame[1] };
            let channel = usize::from(first & 15);
            if first >> 6 == 0
                && channel < 2
                && let Some((sent_ns, held_ns)) = end.traffic[channel].waiting.take()
            {
                let held = end.held_ns - held_ns;
                let waited = (self.now_ns - sent_ns).saturating_sub(held) / 1000;
                self.longest_wait_us = self.longest_wait_us.max(waited);
            }
        }
        if octet == 0 {
            let first = end.frame.get(1).copied().unwrap_or_default();
            let is_test = first >> 6 == 2 || (first >> 6 < 2 && usize::from(first & 15) == TESTS);
            if is_test {
                self.test_octets[n] += end.frame.len() as u64 + 1;
            }
            end.frame.clear();
        }
    }

    /// Messages of users that were sent and have not arrived, long after the last change.
    pub fn missing(&self) -> u64 {
        let pairs = (0..2).flat_map(|n| (0..2).map(move |channel| (n, channel)));
        pairs
            .map(|(n, channel)| {
                let sent = self.ends[n].traffic[channel].sent;
                let waiting = self.ends[n].link.pending(channel) > 0;
                let received = self.ends[1 - n].traffic[channel].received;
                if waiting {
                    0
                } else {
                    u64::from(sent - received)
                }
            })
            .sum()
    }
}

/// Message `number` of end `n` on a channel.
fn message(channel: usize, n: usize, number: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(number) << 2 | (channel as u64) << 1 | n as u64);
    let len = if channel == 0 {
        URGENT as u64
    } else {
        BULK.0 + random.below(BULK.1 - BULK.0 + 1)
    };
    (0..len).map(|_| random.next_u64() as u8).collect()
}
