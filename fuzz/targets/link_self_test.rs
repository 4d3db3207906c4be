//! A self-test with a peer that sends any test messages, at any time: the messages of the user must arrive whole and in
//! order all the same, and the tests must not send endlessly.
//!
//! The peer is a good end of a link, so that its frames are accepted. The first octet selects the actions.
#![no_main]

use linerate_link::measure::Message;
use linerate_link::self_test::{Notice, SelfTestConfig};
use linerate_link::{Channel, Config, Instant, Link, SelfTest};

const MEMORY: usize = 1000;
/// Channel of the tests.
const TESTS: usize = 1;
/// Most octets that both ends may send at one time: each of the shortest messages that fill an end's memory (a length and a tag, at
/// least 3 octets), and its answer, a report in a frame of 64 octets at most.
const LIMIT: usize = MEMORY / 3 * (16 + 64);

type End = Link<Vec<u8>, 2>;

fn end(session: u32) -> End {
    let memory = || vec![0; MEMORY];
    let user = Channel::reliable(memory(), memory());
    let tests = Channel::unreliable(memory(), memory());
    Link::new(Config::new(session), [user, tests])
}

struct Bench {
    test: SelfTest,
    device: End,
    peer: End,
    now_us: u32,
    /// The line is that of a trial, on which any octets are sent.
    in_trial: bool,
    sent: u8,
    next: u8,
}

impl Bench {
    fn now(&self) -> Instant {
        Instant::from_us(self.now_us)
    }

    fn poll(&mut self) {
        let now = self.now();
        while let Some(event) = self.device.event() {
            self.test.on_event(&event);
        }
        match self.test.poll(now, &mut self.device) {
            Some(Notice::SetRate(_)) => self.in_trial = true,
            Some(Notice::RestoreRate) => self.in_trial = false,
            Some(Notice::Period | Notice::HighestRate(_)) | None => {}
        }
        let _ = (self.test.changes().count(), self.test.figures());
    }

    /// Passes octets in both directions until nobody sends more at this time.
    fn exchange(&mut self) {
        let now = self.now();
        let mut octets = [0; 64];
        let mut total = 0;
        loop {
            self.poll();
            let forth = self.test.transmit(now, &mut self.device, &mut octets);
            if !self.in_trial {
                self.peer.receive(now, &octets[..forth]);
            }
            let back = self.peer.transmit(now, &mut octets);
            if !self.in_trial {
                self.test.receive(now, &mut self.device, &octets[..back]);
                self.test.on_service(back);
            }
            self.read();
            total += forth + back;
            if forth + back == 0 || self.in_trial {
                return;
            }
            assert!(total < LIMIT, "an end sends endlessly");
        }
    }

    /// The peer reads the messages of the user, and drops those of the tests.
    fn read(&mut self) {
        let mut message = [0; MEMORY];
        while let Some(len) = self.peer.read(0, &mut message) {
            assert!(len > 0 && message[..len].iter().all(|octet| *octet == self.next));
            assert!(self.next < self.sent, "a message that was not sent");
            self.next += 1;
        }
        while self.peer.read(TESTS, &mut message).is_some() {}
        while self.peer.event().is_some() {}
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let config = SelfTestConfig {
        rates: &[100_000, 200_000, 1_000_000],
        period_us: 300_000,
        ..SelfTestConfig::new(TESTS, 100_000)
    };
    let mut bench = Bench {
        test: SelfTest::new(config).expect("a delay that is long enough"),
        device: end(1),
        peer: end(2),
        now_us: 0,
        in_trial: false,
        sent: 0,
        next: 0,
    };
    let mut data = data.iter().copied();
    while let Some(action) = data.next() {
        match action % 8 {
            // A message with this tag, or with any octets.
            0..=2 => {
                let len = data.next().unwrap_or(0);
                let octets: Vec<u8> = [action / 8]
                    .into_iter()
                    .chain(data.by_ref().take(len.into()))
                    .collect();
                if let Some(message) = Message::parse(&octets) {
                    let mut again = [0; 256];
                    let len = message.emit(&mut again);
                    assert_eq!(Message::parse(&again[..len]), Some(message));
                }
                let _ = bench.peer.send(TESTS, &octets);
            }
            3 => bench.now_us = bench.now_us.wrapping_add(1 << (action / 8 % 24)),
            4 if bench.sent < 250 => {
                let message = vec![bench.sent; 1 + usize::from(action / 8)];
                bench.sent += u8::from(bench.device.send(0, &message).is_ok());
            }
            5 => {
                bench.poll();
                bench.test.find_highest_rate(u16::from(action / 8) * 40);
            }
            // The octets of a trial, or noise; fewer than a good frame has.
            6 => {
                let octets: Vec<u8> = data.by_ref().take(9).collect();
                let now = bench.now();
                bench.test.receive(now, &mut bench.device, &octets);
            }
            _ => bench.exchange(),
        }
    }
});
