//! Test messages of a link: whatever a peer sends to a responder and to a self-test, they must not panic, overrun a FIFO,
//! or send endlessly without a question.
//!
//! The octets are messages, each behind its length; they arrive over a good link from a peer that keeps the protocol.
#![no_main]

use linerate_link::measure::{Budget, Identity, Message, Responder, ResponderConfig};
use linerate_link::self_test::SelfTestConfig;
use linerate_link::{Channel, Config, Instant, Link, SelfTest};

type End = Link<[u8; 700], 2>;

fn end(session: u32) -> End {
    let unreliable = || Channel::unreliable([0; 700], [0; 700]);
    Link::new(Config::new(session), [unreliable(), unreliable()])
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (mut peer, mut tested, mut tester) = (end(1), end(2), end(3));
    let mut other = end(4);
    let mut responder = Responder::new(ResponderConfig {
        channels: 0..2,
        budget: Budget::new(100_000, 500, 2_000),
        identity: Identity::default(),
    });
    let config = SelfTestConfig {
        rates: &[9_600, 115_200],
        ..SelfTestConfig::new(1, 11_520)
    };
    let config = SelfTestConfig {
        max_delay_us: 100_000,
        ..config
    };
    let mut self_test = SelfTest::new(config).expect("long enough");
    let mut now_us = 0_u32;
    let mut rest = data;
    while let Some((len, behind)) = rest.split_first() {
        let len = usize::from(*len).min(behind.len());
        let (message, behind) = behind.split_at(len);
        rest = behind;
        now_us = now_us.wrapping_add(5_000);
        let now = Instant::from_us(now_us);
        if let Some(parsed) = Message::parse(message) {
            let mut octets = [0; Message::MAX];
            let len = parsed.emit(&mut octets);
            assert_eq!(Message::parse(&octets[..len]), Some(parsed));
        }
        let channel = usize::from(message.first().is_some_and(|octet| octet & 0x80 != 0));
        let _ = peer.send(channel, message);
        let _ = other.send(1, message);
        let mut octets = [0; 2_000];
        for _ in 0..3 {
            let count = peer.transmit(now, &mut octets);
            tested.receive(now, &octets[..count]);
            responder.on_service(count);
            responder.poll(now, &mut tested, |_, _, _| {});
            let count = tested.transmit(now, &mut octets);
            peer.receive(now, &octets[..count]);
            let count = other.transmit(now, &mut octets);
            self_test.on_service(count);
            self_test.receive(now, &mut tester, &octets[..count]);
            while let Some(event) = tester.event() {
                self_test.on_event(&event);
            }
            let mut notices = 0;
            while self_test.poll(now, &mut tester).is_some() {
                notices += 1;
                assert!(notices < 10, "notices without end");
            }
            let count = self_test.transmit(now, &mut tester, &mut octets);
            other.receive(now, &octets[..count]);
            for end in [&mut peer, &mut other] {
                for channel in 0..2 {
                    while end.message(channel).is_some() {
                        end.remove(channel);
                    }
                }
            }
        }
        assert_eq!(tested.counters().overruns + tester.counters().overruns, 0);
    }
});
