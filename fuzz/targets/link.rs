//! An end of a byte link between a good peer and arbitrary octets: it must deliver what the peer sent, and nothing else.
//!
//! The first octet selects the actions, each with octets of its own: octets for the end, a frame with a good check but any
//! header and payload, messages, time. Frames with any content may end the session or deliver anything, but must not panic,
//! send endlessly or overrun a FIFO.
#![no_main]

use linerate_link::{Channel, Config, Instant, Link};

type End = Link<[u8; 80], 2>;

fn end(session: u32) -> End {
    let config = Config {
        max_fragment: 20,
        ..Config::new(session)
    };
    Link::new(
        config,
        [
            Channel::reliable([0; 80], [0; 80]),
            Channel::unreliable([0; 80], [0; 80]),
        ],
    )
}

/// Passes what an end sends, at most `limit` octets, to the other; `damage` changes them.
fn pass(now: Instant, from: &mut End, to: &mut End, damage: &mut impl FnMut(u8) -> u8) {
    let mut total = 0;
    loop {
        let mut octets = [0; 16];
        let count = from.transmit(now, &mut octets);
        octets[..count].iter_mut().for_each(|o| *o = damage(*o));
        to.receive(now, &octets[..count]);
        total += count;
        assert!(total < 5000, "an end sends endlessly");
        if count == 0 {
            return;
        }
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut ends = [end(1), end(2)];
    let mut now_us = 0_u32;
    let mut data = data.iter().copied();
    let (mut sent, mut next) = (0_u8, 0_u8);
    let mut is_honest = true;
    while let Some(action) = data.next() {
        let now = Instant::from_us(now_us);
        let [one, two] = &mut ends;
        match action % 8 {
            // Octets that may be anything: a check of 32 bits cannot be met by chance.
            0 => {
                let count = usize::from(action / 8);
                let octets: Vec<u8> = data.by_ref().take(count).collect();
                two.receive(now, &octets);
                is_honest &= octets.len() < 10;
            }
            1 => now_us = now_us.wrapping_add(1 << (action / 8)),
            2 if sent < 250 => {
                let message = vec![sent; 1 + usize::from(action / 8)];
                sent += u8::from(one.send(0, &message).is_ok());
            }
            3 => {
                let _ = one.send(1, &vec![0; usize::from(action / 8)]);
                two.probe();
            }
            4 | 5 => {
                // One octet in 32 damaged at most.
                let mut countdown = data.next().unwrap_or(0);
                let mask = data.next().unwrap_or(0);
                let mut damage = |octet: u8| {
                    countdown = countdown.wrapping_sub(1);
                    if countdown == 0 { octet ^ mask } else { octet }
                };
                pass(now, one, two, &mut damage);
                pass(now, two, one, &mut damage);
            }
            _ => {
                let mut buffer = [0; 80];
                while let Some(len) = two.read(0, &mut buffer) {
                    if is_honest {
                        assert!(next < sent && len > 0 && buffer[..len].iter().all(|o| *o == next));
                    }
                    next = next.wrapping_add(1);
                }
                while two.read(1, &mut buffer).is_some() || one.read(0, &mut buffer).is_some() {}
                while two.event().or(one.event()).is_some() {}
            }
        }
        if is_honest {
            assert!(ends.iter().all(|e| e.counters().overruns == 0));
        }
    }
});
