//! One direction of a UART in virtual time: what a link layer is tested and compared on.
//!
//! A [`Line`] takes octets into the transmit FIFO of a sender and returns those that have arrived, with bit errors,
//! lost, inserted and duplicated octets and stalls at the given rates. The same seed gives the same errors.

#![forbid(unsafe_code)]

use linerate_ether::random::Random;
use std::collections::VecDeque;

/// Rates of the errors of a line. All are zero by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    /// Bits that are received inverted, as a share of all bits.
    pub bit_errors: f64,
    /// Octets that are not received (an overrun of the receiver), as a share of all octets.
    pub dropped: f64,
    /// Octets that are received and were never sent (noise on the start bit), per octet sent.
    pub inserted: f64,
    /// Octets that are received twice.
    pub duplicated: f64,
    /// Stalls (flow control, a busy host), per octet sent.
    pub stalls: f64,
    /// Duration of a stall, in octet times.
    pub stall_octets: u64,
}

/// Speed of a line and of the hardware at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uart {
    /// Bits per second; an octet takes ten.
    pub baud: u64,
    /// Octets of the transmit FIFO.
    pub fifo: usize,
    /// Time from the end of an octet to the receiver's program.
    pub latency_ns: u64,
}

impl Uart {
    /// Duration of an octet with start and stop bit.
    #[must_use]
    pub const fn octet_ns(&self) -> u64 {
        10_000_000_000 / self.baud
    }
}

/// Number of events until the next of a kind with a fixed rate.
#[derive(Debug, Clone)]
struct Countdown {
    rate: f64,
    left: u64,
}

impl Countdown {
    fn new(rate: f64, random: &mut Random) -> Self {
        let mut made = Self { rate, left: 0 };
        made.draw(random);
        made
    }

    fn draw(&mut self, random: &mut Random) {
        // Uniform in (0, 1].
        let uniform = ((random.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        self.left = if self.rate > 0.0 {
            (uniform.ln() / (-self.rate).ln_1p()) as u64
        } else {
            u64::MAX
        };
    }

    /// True if the event is among the next `count` ones; its position.
    fn within(&mut self, count: u64, random: &mut Random) -> Option<u64> {
        if self.left >= count {
            self.left -= if self.rate > 0.0 { count } else { 0 };
            return None;
        }
        let at = self.left;
        self.draw(random);
        Some(at)
    }
}

/// Octets of one direction.
#[derive(Debug, Clone)]
pub struct Line {
    uart: Uart,
    stall_ns: u64,
    random: Random,
    bit_errors: Countdown,
    dropped: Countdown,
    inserted: Countdown,
    duplicated: Countdown,
    stalls: Countdown,
    /// Octets in the FIFO: the time at which each has left.
    leaving: VecDeque<u64>,
    /// Octets that were received, with the time.
    arriving: VecDeque<(u64, u8)>,
    busy_until_ns: u64,
    busy_ns: u64,
    /// Relative error of the sender's bit rate as its receiver sees it; positive: faster.
    rate_error: f64,
    /// The same as the receiver samples with.
    sampling_error: f64,
    /// Octets of the receive FIFO; `None`: it never overflows.
    receive_fifo: Option<usize>,
    overruns: u64,
}

impl Line {
    /// A line with these errors.
    #[must_use]
    pub fn new(uart: Uart, faults: Faults, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut countdown = |rate| Countdown::new(rate, &mut random);
        Self {
            uart,
            stall_ns: faults.stall_octets * uart.octet_ns(),
            bit_errors: countdown(faults.bit_errors),
            dropped: countdown(faults.dropped),
            inserted: countdown(faults.inserted),
            duplicated: countdown(faults.duplicated),
            stalls: countdown(faults.stalls),
            random,
            leaving: VecDeque::new(),
            arriving: VecDeque::new(),
            busy_until_ns: 0,
            busy_ns: 0,
            rate_error: 0.0,
            sampling_error: 0.0,
            receive_fifo: None,
            overruns: 0,
        }
    }

    /// Sets the rate of bit errors.
    pub fn set_bit_errors(&mut self, rate: f64) {
        self.bit_errors = Countdown::new(rate, &mut self.random);
    }

    /// Sets the time from the end of an octet to the receive FIFO: a bridge, a radio or a cable in between.
    pub fn set_latency_ns(&mut self, latency_ns: u64) {
        self.uart.latency_ns = latency_ns;
    }

    /// Sets the sender's bit rate.
    pub fn set_baud(&mut self, baud: u64) {
        self.uart.baud = baud;
    }

    /// Sets the receiver's sampling apart from the sender's rate, relative to it.
    pub fn set_sampling_error(&mut self, error: f64) {
        self.sampling_error = error;
    }

    /// Sets the relative error of the sender's bit rate. The receiver finds the start bit within a sixteenth of a bit
    /// and samples each bit once: from 4.6% on, it may sample the neighbour of the last ones.
    pub fn set_rate_error(&mut self, error: f64) {
        self.rate_error = error;
        self.sampling_error = error;
    }

    /// Gives the receiver a FIFO of `octets`: what arrives while it is full is lost.
    pub fn set_receive_fifo(&mut self, octets: usize) {
        self.receive_fifo = Some(octets);
    }

    /// Octets lost because the receive FIFO was full.
    #[must_use]
    pub const fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Duration of an octet at the sender's rate.
    fn octet_ns(&self) -> u64 {
        (self.uart.octet_ns() as f64 / (1.0 + self.rate_error)) as u64
    }

    /// The octet as the receiver samples it; `None` if it does not find the stop bit.
    fn sampled(&mut self, octet: u8) -> Option<u8> {
        if self.sampling_error == 0.0 {
            return Some(octet);
        }
        let found_late = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 / 16.0;
        // Of the start bit, data bits 0 to 7 and the stop bit, each is sampled in its middle.
        let is_off = |bit: f64| (bit + 0.5) * self.sampling_error.abs() + found_late > 0.5;
        if is_off(9.0) {
            // A faster sender is in its next start bit, a slower one in its last data bit.
            if self.sampling_error > 0.0 || octet & 0x80 == 0 {
                return None;
            }
        }
        let neighbours = if self.sampling_error > 0.0 {
            octet >> 1 | 0x80
        } else {
            octet << 1
        };
        Some((0..8).fold(0, |sampled, bit| {
            let from = if is_off(f64::from(bit) + 1.0) {
                neighbours
            } else {
                octet
            };
            sampled | from & 1 << bit
        }))
    }

    /// Free octets of the transmit FIFO.
    pub fn room(&mut self, now_ns: u64) -> usize {
        while self.leaving.front().is_some_and(|left| *left <= now_ns) {
            self.leaving.pop_front();
        }
        self.uart.fifo.saturating_sub(self.leaving.len())
    }

    /// Sends octets, for which there is [`room`](Self::room).
    pub fn send(&mut self, now_ns: u64, octets: &[u8]) {
        for octet in octets {
            let mut begin = self.busy_until_ns.max(now_ns);
            if self.stalls.within(1, &mut self.random).is_some() {
                begin += self.stall_ns;
            }
            self.busy_until_ns = begin + self.octet_ns();
            self.busy_ns += self.octet_ns();
            self.leaving.push_back(self.busy_until_ns);
            self.arrive(*octet);
        }
    }

    fn arrive(&mut self, mut octet: u8) {
        let after = self.busy_until_ns + self.uart.latency_ns;
        // Octets do not overtake each other when the latency falls.
        let time = self
            .arriving
            .back()
            .map_or(after, |(last, _)| after.max(*last));
        let Some(sampled) = self.sampled(octet) else {
            return;
        };
        octet = sampled;
        while let Some(bit) = self.bit_errors.within(8, &mut self.random) {
            octet ^= 1 << bit;
        }
        if self.dropped.within(1, &mut self.random).is_none() {
            self.arriving.push_back((time, octet));
        }
        if self.duplicated.within(1, &mut self.random).is_some() {
            self.arriving.push_back((time, octet));
        }
        if self.inserted.within(1, &mut self.random).is_some() {
            self.arriving
                .push_back((time, self.random.next_u64() as u8));
        }
    }

    /// Appends the octets that have arrived to `octets`.
    pub fn receive(&mut self, now_ns: u64, octets: &mut Vec<u8>) {
        let before = octets.len();
        while let Some((_, octet)) = self.arriving.pop_front_if(|(time, _)| *time <= now_ns) {
            if self
                .receive_fifo
                .is_some_and(|fifo| octets.len() - before >= fifo)
            {
                self.overruns += 1;
            } else {
                octets.push(octet);
            }
        }
    }

    /// True if octets are in the FIFO or on their way.
    #[must_use]
    pub fn is_busy(&self, now_ns: u64) -> bool {
        self.busy_until_ns > now_ns || !self.arriving.is_empty()
    }

    /// Loses everything on its way, as a plug that is pulled.
    pub fn clear(&mut self) {
        self.arriving.clear();
    }

    /// Time for which octets were sent.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Line, Uart};

    const UART: Uart = Uart {
        baud: 1_000_000,
        fifo: 4,
        latency_ns: 500,
    };

    #[test]
    fn octets_arrive_at_the_line_rate() {
        let mut line = Line::new(UART, Faults::default(), 1);
        line.send(0, b"abcd");
        assert_eq!(line.room(10_000), 1);
        let mut octets = Vec::new();
        line.receive(20_499, &mut octets);
        assert_eq!(octets, b"a");
        line.receive(20_500, &mut octets);
        assert_eq!(octets, b"ab");
    }

    /// Octets that arrive damaged or not at all, of 10,000.
    fn damaged_at(rate_error: f64) -> usize {
        let mut line = Line::new(UART, Faults::default(), 3);
        line.set_rate_error(rate_error);
        let mut octets = Vec::new();
        line.send(0, &[0x55; 10_000]);
        line.receive(u64::MAX, &mut octets);
        let good = octets.into_iter().filter(|octet| *octet == 0x55);
        10_000 - good.count()
    }

    #[test]
    fn a_wrong_bit_rate_changes_the_octet_time_and_from_five_percent_on_the_octets() {
        let mut line = Line::new(UART, Faults::default(), 1);
        line.set_rate_error(0.02);
        line.send(0, &[0; 100]);
        assert!(
            (980_000..981_000).contains(&line.busy_ns()),
            "{}",
            line.busy_ns()
        );
        assert_eq!([0.02, -0.02, 0.045, -0.045].map(damaged_at), [0; 4]);
        assert!(damaged_at(0.05) > 1_000 && damaged_at(-0.05) > 1_000);
        assert!(damaged_at(0.07) > 9_000);
    }

    #[test]
    fn a_full_receive_fifo_loses_what_arrives() {
        let mut line = Line::new(UART, Faults::default(), 1);
        line.set_receive_fifo(8);
        let mut octets = Vec::new();
        line.send(0, b"0123456789");
        line.receive(u64::MAX, &mut octets);
        assert_eq!((octets.as_slice(), line.overruns()), (&b"01234567"[..], 2));
    }

    #[test]
    fn errors_occur_at_their_rates() {
        let faults = Faults {
            bit_errors: 1e-3,
            dropped: 1e-2,
            inserted: 2e-2,
            ..Faults::default()
        };
        let mut line = Line::new(UART, faults, 7);
        let mut octets = Vec::new();
        line.send(0, &vec![0; 100_000]);
        line.receive(u64::MAX, &mut octets);
        assert!(
            (100_700..101_300).contains(&octets.len()),
            "{}",
            octets.len()
        );
        let single = octets.iter().filter(|o| o.is_power_of_two()).count();
        assert!((700..1000).contains(&single), "{single}");
    }
}
