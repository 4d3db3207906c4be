//! Reflectors that lie or stall.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::behaviour::Step::{Drain, Finish, Read, SendFor};
use super::behaviour::{Behaviour, Datagrams, FAILED, LIMIT, MEASURED, Reflection, Step};

const COMMAND: &str = "latency stamp -n 20 -i 10";

const fn reflect(
    name: &'static str,
    change: fn(&mut Reflection),
    exit: i32,
    contains: &'static str,
) -> Behaviour {
    Behaviour::udp(name, COMMAND, Datagrams::Reflected(change), exit, contains)
}

/// Offsets of a reflected packet (RFC 8762 section 4.3.1): number, transmit time, error estimate, receive time, and the
/// sender's number and time.
const NUMBER: usize = 0;
const SENT: usize = 4;
const ERROR: usize = 12;
const RECEIVED: usize = 16;
const SENDER_NUMBER: usize = 24;
const SENDER_SENT: usize = 28;

fn put(octets: &mut [u8], at: usize, value: u64) {
    octets[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

fn time(octets: &[u8], at: usize) -> u64 {
    octets[at..at + 8].try_into().map_or(0, u64::from_be_bytes)
}

/// NTP's fixed point: 2^32 a second.
const MILLISECOND: u64 = (1 << 32) / 1_000;

/// An iperf 2 server, one connection in each direction, beside a reflector.
const BOTH: &[&[Step]] = &[
    &[Drain],
    &[Read(60), SendFor(&[0; 16_384], 2_500), Finish, Drain],
];

/// Reflects all packets but those with these indices, counted over all sessions: those under load.
fn reflect_except(load: std::ops::Range<usize>, seen: &AtomicUsize, it: &mut Reflection) {
    let is_under_load = load.contains(&seen.fetch_add(1, Ordering::Relaxed));
    it.copies = usize::from(!is_under_load);
}

fn silent_after_20(it: &mut Reflection) {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    reflect_except(20..usize::MAX, &SEEN, it);
}

fn silent_from_50_to_150(it: &mut Reflection) {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    reflect_except(50..150, &SEEN, it);
}

const LATENCY: &str = "latency iperf2 -n 20 -i 10 --probe stamp://127.0.0.1:{port}";
const TRANSFER: &str = "test iperf2 --forward -t 1 --probe stamp://127.0.0.1:{port}";

pub const ALL: &[Behaviour] = &[
    Behaviour {
        connections: BOTH,
        command: LATENCY,
        ..reflect("answers under load", |_| {}, MEASURED, "")
    },
    Behaviour {
        connections: BOTH,
        command: LATENCY,
        ..reflect(
            "answers nothing under load",
            silent_after_20,
            LIMIT,
            "none of 20 packets was answered",
        )
    },
    Behaviour {
        connections: &[&[Drain]],
        command: TRANSFER,
        ..reflect(
            "answers nothing during a transfer",
            silent_from_50_to_150,
            LIMIT,
            "without a probe: none of 100 packets was answered",
        )
    },
    Behaviour {
        connections: &[&[Drain]],
        command: TRANSFER,
        ..reflect(
            "answers no probe",
            |it| it.copies = 0,
            FAILED,
            "without a probe: none of 50 packets was answered",
        )
    },
    reflect("answers", |_| {}, MEASURED, ""),
    Behaviour::udp(
        "answers nothing",
        COMMAND,
        Datagrams::Ignored,
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "claims ten seconds of processing",
        |it| put(&mut it.octets, SENT, 10_000 * MILLISECOND),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "claims ten seconds, and a clock as coarse",
        |it| {
            put(&mut it.octets, SENT, 10_000 * MILLISECOND);
            // Scale 32, multiplier 255: minutes.
            it.octets[ERROR..ERROR + 2].copy_from_slice(&[0x3f, 0xff]);
        },
        MEASURED,
        "",
    ),
    reflect(
        "claims nearly all of the time",
        |it| {
            it.delay_ms = 20;
            put(&mut it.octets, SENT, 20 * MILLISECOND);
        },
        MEASURED,
        "",
    ),
    reflect(
        "leaves before it arrives",
        |it| put(&mut it.octets, RECEIVED, 5 * MILLISECOND),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "changes the sender's time",
        |it| {
            let sent = time(&it.octets, SENDER_SENT);
            it.delay_ms = 20;
            put(&mut it.octets, SENDER_SENT, sent + 19 * MILLISECOND);
        },
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "clears the sender's time",
        |it| put(&mut it.octets, SENDER_SENT, 0),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "numbers of packets not yet sent",
        |it| it.octets[SENDER_NUMBER..SENDER_NUMBER + 4].fill(0x7f),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "own numbers from the future",
        |it| it.octets[NUMBER..NUMBER + 4].fill(0xff),
        MEASURED,
        "",
    ),
    reflect(
        "own numbers of zero",
        |it| it.octets[NUMBER..NUMBER + 4].fill(0),
        MEASURED,
        "",
    ),
    reflect(
        "an impossible error estimate",
        |it| it.octets[ERROR..ERROR + 2].fill(0xff),
        MEASURED,
        "",
    ),
    reflect("answers three times", |it| it.copies = 3, MEASURED, ""),
    reflect(
        "answers from another port",
        |it| it.from_other_port = true,
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "answers after the end",
        |it| it.delay_ms = 3_000,
        FAILED,
        "none of 20 packets",
    ),
    reflect("answers late", |it| it.delay_ms = 300, MEASURED, ""),
    reflect(
        "answers in another order",
        |it| {
            it.delay_ms = if it.octets[SENDER_NUMBER + 3] % 2 == 0 {
                45
            } else {
                0
            }
        },
        MEASURED,
        "",
    ),
    reflect(
        "cuts the answer",
        |it| it.octets.truncate(20),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "answers with zeros",
        |it| it.octets.fill(0),
        FAILED,
        "none of 20 packets",
    ),
    reflect(
        "answers every second packet",
        |it| it.copies = usize::from(it.octets[SENDER_NUMBER + 3] % 2 == 0),
        MEASURED,
        "",
    ),
];
