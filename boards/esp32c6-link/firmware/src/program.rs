//! What the program does with its port.

use esp_hal::time::Instant as Clock;
use linerate_link::{Channel, Config, Instant, Link, memory_octets};

use crate::counts::{Count, add};
use crate::master::Master;
use crate::port::Octets;

/// Longest message of each channel, octets.
const URGENT: usize = 64;
const BULK: usize = 1024;
/// Turns of the loop that stands for other work.
const WORK: u32 = 800;

fn now() -> Instant {
    let us = Clock::now().duration_since_epoch().as_micros();
    Instant::from_us(us as u32)
}

/// Counts received octets, each of which is one more than the one before, modulo 256, and does other work when there are none.
pub fn count(port: &mut impl Octets) -> ! {
    let mut octets = [0; 128];
    let mut expected = None;
    loop {
        let count = port.read(&mut octets);
        if count == 0 {
            work();
            add(Count::Turns, 1);
            continue;
        }
        add(Count::Received, count as u32);
        for octet in &octets[..count] {
            let missed = expected.map_or(0, |expected: u8| octet.wrapping_sub(expected));
            add(Count::Missed, missed.into());
            expected = Some(octet.wrapping_add(1));
        }
    }
}

/// The rest of a program: about 20 µs at 160 MHz, always the same.
fn work() {
    for turn in 0..WORK {
        core::hint::black_box(turn);
    }
}

/// Exchanges transfers as fast as they go, whose received octets are each one more than the one before, modulo 256. Only the
/// first and the last one of a transfer are looked at, so that the time is that of the driver.
pub fn count_transfers(master: &mut Master) -> ! {
    let mut expected = None;
    loop {
        let payload = master.payload();
        master.compose(|_| payload);
        master.poll(|octets| {
            let (Some(first), Some(last)) = (octets.first(), octets.last()) else {
                return;
            };
            add(Count::Received, octets.len() as u32);
            let missed = expected.map_or(0, |expected: u8| first.wrapping_sub(expected));
            add(Count::Missed, missed.into());
            expected = Some(last.wrapping_add(1));
        });
    }
}

/// Is the end of a link: sends messages of `message_octets` on channel 1 as fast as they go, whose first four octets are
/// their number, and sends back those of channel 0. Both ends of a link need different sessions.
pub fn link(port: &mut impl Octets, session: u32, message_octets: usize) -> ! {
    let urgent = || [0; memory_octets(URGENT) * 4];
    let bulk = || [0; memory_octets(BULK) * 4];
    let (mut urgent_out, mut urgent_in) = (urgent(), urgent());
    let (mut bulk_out, mut bulk_in) = (bulk(), bulk());
    let mut link: Link<&mut [u8], 2> = Link::new(
        Config::new(session),
        [
            Channel::reliable(&mut urgent_out, &mut urgent_in),
            Channel::reliable(&mut bulk_out, &mut bulk_in),
        ],
    );
    let octets = message_octets.clamp(4, BULK);
    let mut number = 0_u32;
    let mut received = [0; 128];
    let (mut fifo, mut bulk) = ([0; 64], [0; BULK]);
    let (mut begin, mut end) = (0, 0);
    loop {
        let count = port.read(&mut received);
        add(Count::Received, count as u32);
        link.receive(now(), &received[..count]);
        let mut message = [0; URGENT];
        // An answer that finds no room is not read, so its peer has no credit for more.
        while link.pending(0) < memory_octets(URGENT) * 3
            && let Some(len) = link.read(0, &mut message)
        {
            let _ = link.send(0, &message[..len]);
        }
        while let Some(len) = link.read(1, &mut bulk) {
            add(Count::Bulk, len as u32);
        }
        let head = number.to_le_bytes();
        let octet = |at: usize| head.get(at).copied().unwrap_or(at as u8);
        if link.is_up() && link.send_with(1, octets, octet).is_ok() {
            number = number.wrapping_add(1);
        }
        if begin == end {
            (begin, end) = (0, link.transmit(now(), &mut fifo));
        }
        if begin == end {
            port.flush();
        } else {
            begin += port.write(&fifo[begin..end]);
        }
        while link.event().is_some() {}
    }
}
