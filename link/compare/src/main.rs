//! `cargo xtask links`: goodput, latency of urgent messages and overhead of the link layer, of COBS with a CRC, of
//! postcard-rpc and of ergot, over the same simulated UART. Writes target/links/scores.json.

#![forbid(unsafe_code)]

mod codec;
mod stack;

use codec::{CobsCrc, Codec, Ergot, Message, PostcardRpc};
use linerate_ether::random::Random;
use linerate_uart_model::{Faults, Line, Uart};
use serde_json::{Map, Value, json};
use stack::{Calls, Datagrams, Ours, Stack};
use std::path::Path;

const UART: Uart = Uart {
    baud: 1_000_000,
    fifo: 16,
    latency_ns: 2_000,
};
/// The FIFO's interrupt comes every so many octets.
const STEP_OCTETS: u64 = 8;
/// Duration of a run: 20 s of simulated time.
const RUN_NS: u64 = 20_000_000_000;
const BULK: usize = 256;
const URGENT: usize = 16;
/// Mean time between urgent messages.
const URGENT_EVERY_NS: u64 = 10_000_000;

const CLEAN: Faults = Faults {
    bit_errors: 0.0,
    dropped: 0.0,
    inserted: 0.0,
    duplicated: 0.0,
    stalls: 0.0,
    stall_octets: 0,
};
const NOISE: Faults = Faults {
    bit_errors: 1e-5,
    dropped: 1e-5,
    stalls: 1e-6,
    stall_octets: 500,
    ..CLEAN
};

/// Octets of a message that identify it; the rest follows from them.
fn message(number: u32, is_urgent: bool) -> Vec<u8> {
    let mut random = Random::new(u64::from(number) << 1 | u64::from(is_urgent));
    let mut octets = number.to_le_bytes().to_vec();
    octets.push(u8::from(is_urgent));
    let len = if is_urgent { URGENT } else { BULK };
    octets.extend((5..len).map(|_| random.next_u64() as u8));
    octets
}

#[derive(Debug, Default, Clone)]
struct Figures {
    goodput_octets_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    longest_us: f64,
    delivered: u64,
    wrong: u64,
    /// Messages that were sent long before the end and not delivered.
    lost: u64,
    again: u64,
}

/// Sends bulk messages as fast as they go and urgent ones at random times, in both directions if `is_duplex`.
fn run(mut ends: [Box<dyn Stack>; 2], faults: Faults, is_duplex: bool) -> Figures {
    let mut lines = [0, 1].map(|n| Line::new(UART, faults, 100 + n));
    let mut random = Random::new(5);
    let step_ns = STEP_OCTETS * UART.octet_ns();
    let mut figures = Figures::default();
    // By sender: number of messages; times of urgent ones; delivered ones, urgent and bulk.
    let mut sent = [[0_u32; 2]; 2];
    let mut times: [Vec<u64>; 2] = Default::default();
    let mut got: [[Vec<bool>; 2]; 2] = Default::default();
    let mut latencies = Vec::new();
    let mut bulk_octets = 0;
    let mut octets = Vec::new();
    let mut now_ns = 0;
    while now_ns < RUN_NS {
        for n in 0..2 {
            let now_us = now_ns / 1000;
            octets.clear();
            lines[1 - n].receive(now_ns, &mut octets);
            ends[n].receive(now_us, &octets);
            while let Some(received) = ends[n].take() {
                let number = received
                    .first_chunk()
                    .map_or(u32::MAX, |o| u32::from_le_bytes(*o));
                let is_urgent = received.len() == URGENT;
                let class = usize::from(is_urgent);
                if number >= sent[1 - n][class] || received != message(number, is_urgent) {
                    figures.wrong += 1;
                    continue;
                }
                let seen = &mut got[1 - n][class];
                seen.resize(seen.len().max(number as usize + 1), false);
                if std::mem::replace(&mut seen[number as usize], true) {
                    figures.again += 1;
                    continue;
                }
                figures.delivered += 1;
                if is_urgent {
                    latencies.push(now_ns - times[1 - n][number as usize]);
                } else {
                    bulk_octets += BULK;
                }
            }
            if n == 0 || is_duplex {
                while ends[n].send(now_us, false, &message(sent[n][0], false)) {
                    sent[n][0] += 1;
                }
                if random.chance(step_ns, URGENT_EVERY_NS)
                    && ends[n].send(now_us, true, &message(sent[n][1], true))
                {
                    sent[n][1] += 1;
                    times[n].push(now_ns);
                }
            }
            let mut fifo = [0; 64];
            let room = lines[n].room(now_ns).min(fifo.len());
            let count = ends[n].transmit(now_us, &mut fifo[..room]);
            lines[n].send(now_ns, &fifo[..count]);
        }
        now_ns += step_ns;
    }
    for counters in ends.iter().filter_map(|end| end.counters()) {
        eprintln!("{counters:?}");
    }
    // The last ones are still on their way.
    for (of_end, got) in sent.iter().zip(&got) {
        for (count, got) in of_end.iter().zip(got) {
            let settled = (*count as usize).saturating_sub(40);
            let missing = (0..settled).filter(|n| !got.get(*n).copied().unwrap_or(false));
            figures.lost += missing.count() as u64;
        }
    }
    latencies.sort_unstable();
    let quantile = |share: f64| {
        let at = (latencies.len().saturating_sub(1)) as f64 * share;
        latencies
            .get(at.round() as usize)
            .map_or(f64::NAN, |ns| *ns as f64 / 1000.0)
    };
    figures.goodput_octets_per_s = bulk_octets as f64 / (RUN_NS as f64 / 1e9);
    figures.p50_us = quantile(0.5);
    figures.p99_us = quantile(0.99);
    figures.longest_us = quantile(1.0);
    figures
}

fn ours() -> [Box<dyn Stack>; 2] {
    [1, 2].map(|session| Box::new(Ours::new(session)) as Box<dyn Stack>)
}

fn datagrams<C: Codec + 'static>(
    codec: impl Fn() -> C,
    calls: Option<Calls>,
) -> [Box<dyn Stack>; 2] {
    [(), ()].map(|()| Box::new(Datagrams::new(codec(), calls)) as Box<dyn Stack>)
}

/// Figures of the window with the highest goodput: an application may choose it.
fn best<C: Codec + 'static>(
    codec: impl Fn() -> C,
    faults: Faults,
    is_duplex: bool,
) -> (Figures, Calls) {
    let tries = [1, 2, 4, 7]
        .into_iter()
        .flat_map(|window| [20_000, 50_000].map(|timeout_us| Calls { window, timeout_us }));
    let results = tries.map(|calls| {
        (
            run(datagrams(&codec, Some(calls)), faults, is_duplex),
            calls,
        )
    });
    results
        .max_by(|(a, _), (b, _)| a.goodput_octets_per_s.total_cmp(&b.goodput_octets_per_s))
        .expect("tries")
}

/// Octets on the wire beyond the 256 of a message without zeros.
fn overhead(codec: &impl Codec) -> usize {
    let frame = codec.encode(&Message {
        is_urgent: false,
        is_reply: false,
        number: 0x0101,
        octets: vec![0x55; BULK],
    });
    frame.len() - BULK
}

fn print(name: &str, how: &str, figures: &Figures) {
    println!(
        "| {name} | {how} | {:.0} | {:.2} | {:.2} | {:.2} | {} | {} | {} |",
        figures.goodput_octets_per_s,
        figures.p50_us / 1000.0,
        figures.p99_us / 1000.0,
        figures.longest_us / 1000.0,
        figures.delivered,
        figures.lost,
        figures.wrong,
    );
}

fn main() {
    let mut scores = Map::new();
    let ours_overhead = linerate_link::frame_octets(BULK) - BULK;
    let overheads = [
        ("linerate", ours_overhead),
        ("cobs_crc", overhead(&CobsCrc)),
        ("postcard_rpc", overhead(&PostcardRpc { has_crc: false })),
        ("ergot", overhead(&Ergot { has_crc: false })),
    ];
    println!(
        "Octets beyond a message of 256: {overheads:?}; postcard-rpc and ergot have no check of the octets.\n"
    );
    for (name, octets) in overheads {
        let key = if name == "linerate" {
            "overhead_octets_256".into()
        } else {
            format!("overhead_octets_256_{name}")
        };
        scores.insert(key, octets.into());
    }
    for (line, faults) in [("clean", CLEAN), ("noise", NOISE)] {
        for is_duplex in [false, true] {
            let way = if is_duplex { "both ways" } else { "one way" };
            println!("## {line} line, {way}\n");
            println!(
                "| stack | use | goodput, octets/s | urgent: median, ms | 99% | longest | delivered | lost | wrong |"
            );
            println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
            let mine = run(ours(), faults, is_duplex);
            print("linerate-link", "", &mine);
            compare(
                "cobs_crc",
                || CobsCrc,
                || CobsCrc,
                &mine,
                (line, faults, is_duplex),
                &mut scores,
            );
            let rpc = |has_crc| move || PostcardRpc { has_crc };
            compare(
                "postcard_rpc",
                rpc(false),
                rpc(true),
                &mine,
                (line, faults, is_duplex),
                &mut scores,
            );
            let ergot = |has_crc| move || Ergot { has_crc };
            compare(
                "ergot",
                ergot(false),
                ergot(true),
                &mine,
                (line, faults, is_duplex),
                &mut scores,
            );
            println!();
            if line == "noise" && is_duplex {
                scores.insert("comparison_messages".into(), mine.delivered.into());
                scores.insert("comparison_messages_wrong".into(), mine.wrong.into());
                scores.insert("comparison_messages_lost".into(), mine.lost.into());
            }
        }
    }
    write(scores);
}

/// Runs another stack as it is, and with calls and a check; adds the ratios of ours to it.
fn compare<A: Codec + 'static, B: Codec + 'static>(
    name: &str,
    plain: impl Fn() -> A,
    checked: impl Fn() -> B,
    mine: &Figures,
    (line, faults, is_duplex): (&str, Faults, bool),
    scores: &mut Map<String, Value>,
) {
    let as_it_is = run(datagrams(plain, None), faults, is_duplex);
    print(name, "sent once", &as_it_is);
    let (repeated, calls) = best(checked, faults, is_duplex);
    let how = format!(
        "calls with CRC, {} at a time, repeated after {} ms",
        calls.window,
        calls.timeout_us / 1000
    );
    print(name, &how, &repeated);
    let goodput = |other: &Figures| mine.goodput_octets_per_s / other.goodput_octets_per_s;
    let p99 = |other: &Figures| mine.p99_us / other.p99_us;
    let way = if is_duplex { "duplex" } else { "one_way" };
    for (guarantee, other) in [("", &repeated), ("_sent_once", &as_it_is)] {
        let key = |what: &str| format!("{what}_ratio_{name}{guarantee}_{line}_{way}");
        scores.insert(key("goodput"), json!(goodput(other)));
        scores.insert(key("p99"), json!(p99(other)));
    }
    // The names of the issue: the same guarantee, the line with errors, both directions.
    if line == "noise" && is_duplex {
        scores.insert(format!("goodput_ratio_{name}"), json!(goodput(&repeated)));
        scores.insert(format!("p99_ratio_{name}"), json!(p99(&repeated)));
    }
}

/// Adds the scores to those of other runs.
fn write(scores: Map<String, Value>) {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "target/links".into());
    let file = Path::new(&folder).join("scores.json");
    let before = std::fs::read_to_string(&file).ok();
    let mut all: Map<String, Value> = before
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    all.extend(scores);
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = serde_json::to_string_pretty(&all).expect("JSON");
    std::fs::write(&file, text + "\n").expect("written");
    println!("written: {}", file.display());
}
