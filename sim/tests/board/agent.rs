//! The firmware's `bench_agent` and clients of its services, in virtual time: both ends count the same.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use linerate_agent::frame::{self, Fill};
use linerate_agent::{http, iperf2, iperf3, stamp};
use linerate_sim::board::{Board, Config, Event};
use linerate_sim::chip::esp32c6::Port;
use linerate_sim::elf::Elf;
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host::program::{Blaster, LENGTHS, Program, Programs};
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::Span;

use super::events;

const BOOT: Span = Span::from_secs(6);
const LINE: u64 = 10_000_000;
const STEP: Span = Span::from_ms(1);
const TIMEOUT: Duration = Duration::from_secs(2);
/// Duration of a test: short, because the simulation is slow.
const SPAN: Duration = Duration::from_millis(150);

fn to(port: u16) -> SocketAddr {
    ([169, 254, 10, 2], port).into()
}

/// A board that runs `bench_agent`, and its console output.
struct Bench {
    board: Board,
    console: Vec<String>,
}

impl Bench {
    /// `None` if the firmware was not built.
    fn new(seed: u64) -> Option<Self> {
        let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
            println!("skipped: `cargo xtask test` builds the firmware and names its folder");
            return None;
        };
        let file = Path::new(&folder).join("bench_agent-line-rate.elf");
        let elf = Elf::parse(&std::fs::read(file).expect("bench_agent")).expect("an ELF");
        let host = Host::new(host::Config {
            seed,
            ..host::Config::default()
        });
        let board = Board::new(Config::default(), &elf, Box::new(host)).expect("a board");
        let mut bench = Self {
            board,
            console: Vec::new(),
        };
        bench.until(BOOT, |bench| bench.last_event("listening").is_some());
        Some(bench)
    }

    fn until(&mut self, limit: Span, done: impl Fn(&mut Self) -> bool) {
        let end = self.board.now() + limit;
        while !done(self) {
            assert!(self.board.now() < end, "{:#?}", self.console);
            let next = self.board.now() + STEP;
            self.board.run(next);
            let lines = events(&mut self.board)
                .into_iter()
                .filter_map(|event| match event {
                    Event::Line { text, .. } => Some(text),
                    _ => None,
                });
            self.console.extend(lines);
        }
    }

    /// The last line with this event.
    fn last_event(&self, event: &str) -> Option<&str> {
        let is_it = |line: &&String| line.contains(&format!("\"event\":\"{event}\""));
        self.console.iter().rfind(is_it).map(String::as_str)
    }

    /// Runs a program on the host until it has finished.
    fn run<P: Program>(&mut self, program: P) -> P {
        let handle = self.programs(|all| all.start(Box::new(program)));
        self.until(Span::from_secs(10), |bench| {
            bench.programs(|all| all.is_finished(handle))
        });
        // Both ends close their connections.
        let end = self.board.now() + Span::from_ms(20);
        self.until(Span::from_secs(1), |bench| bench.board.now() >= end);
        let program = self.programs(|all| all.stop(handle));
        *program.expect("the program that was started")
    }

    fn programs<R>(&mut self, with: impl FnOnce(&mut Programs) -> R) -> R {
        self.board
            .with_peer(|peer| with(peer.programs().expect("a host")))
    }

    /// Sends a console command and runs for 20 ms.
    fn send_command(&mut self, command: &str) {
        let line = format!("{command}\n");
        self.board.console_input(Port::UsbSerial, line.as_bytes());
        let end = self.board.now() + Span::from_ms(20);
        self.until(Span::from_secs(1), |bench| bench.board.now() >= end);
    }

    /// Sends a console command and waits for the answer.
    fn query(&mut self, command: &str, event: &str) -> String {
        self.console.clear();
        self.send_command(command);
        self.until(Span::from_ms(50), |bench| bench.last_event(event).is_some());
        self.last_event(event).unwrap_or_default().to_owned()
    }

    /// A member of the device's last `served` line.
    fn served(&self, name: &str) -> u64 {
        member(self.last_event("served").expect("a test was served"), name)
    }
}

fn member(line: &str, name: &str) -> u64 {
    let key = format!("\"{name}\":");
    let at = line
        .find(&key)
        .unwrap_or_else(|| panic!("{name} in {line}"));
    let digits = line[at + key.len()..].split(|c: char| !c.is_ascii_digit());
    let digits = digits.into_iter().next().unwrap_or_default();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("{name} in {line}"))
}

fn iperf2(udp: bool, reverse: bool) -> iperf2::Client {
    iperf2::Client::new(iperf2::Plan {
        to: to(5001),
        udp,
        test: iperf2::Test {
            port: 5001,
            buffer_octets: 1460,
            amount: iperf2::Amount::Span(SPAN),
            rate_bits_per_s: if udp { 4_000_000 } else { 0 },
            return_test: iperf2::ReturnTest::No,
            reverse,
            full_duplex: false,
        },
        timeout: TIMEOUT,
    })
}

#[test]
fn iperf_2_counts_the_same_at_both_ends() {
    let Some(mut bench) = Bench::new(1) else {
        return;
    };
    for (udp, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
        let client = bench.run(iperf2(udp, reverse));
        let outcome = client.outcome(linerate_agent::Instant::from_ns(bench.board.now().as_ns()));
        let own = if reverse {
            outcome.received
        } else {
            outcome.sent
        };
        let own = own.expect("it was counted");
        assert_eq!(
            own.octets,
            bench.served("octets"),
            "udp {udp}, reverse {reverse}"
        );
        // Data accepted by TCP may not have arrived yet: only the receiver knows the time of arrival.
        let span_us = match (udp, reverse) {
            (false, false) => bench.served("span_us") as f64,
            _ => own.span.as_micros() as f64,
        };
        let bits_per_s = own.octets as f64 * 8e6 / span_us;
        let expected = if udp { 3.8e6..4.3e6 } else { 7.0e6..10.0e6 };
        assert!(
            expected.contains(&bits_per_s),
            "{bits_per_s} with udp {udp}, reverse {reverse}"
        );
        if udp {
            assert_eq!((own.lost, bench.served("lost")), (0, 0));
            assert_eq!(u64::from(own.datagrams), bench.served("datagrams"));
        }
    }
}

#[test]
fn iperf_3_counts_the_same_at_both_ends() {
    let Some(mut bench) = Bench::new(2) else {
        return;
    };
    for (udp, direction) in [
        (false, iperf3::Direction::Forward),
        (false, iperf3::Direction::Reverse),
        (true, iperf3::Direction::Forward),
        (true, iperf3::Direction::Reverse),
    ] {
        let client = bench.run(iperf3::Client::<2>::new(iperf3::Plan {
            to: to(5201),
            test: iperf3::Test {
                udp,
                direction,
                octets: 1460,
                rate_bits_per_s: if udp { 4_000_000 } else { 0 },
                amount: iperf3::Amount::Span(SPAN),
                ..iperf3::Test::default()
            },
            seed: 3,
            timeout: TIMEOUT,
        }));
        let outcome = client.outcome(linerate_agent::Instant::from_ns(bench.board.now().as_ns()));
        let own = match direction {
            iperf3::Direction::Forward => outcome.sent,
            _ => outcome.received,
        };
        let own = own.expect("it was counted");
        assert!(own.octets > 10_000, "{own:?}");
        assert_eq!(
            own.octets,
            bench.served("octets"),
            "udp {udp}, {direction:?}"
        );
    }
}

#[test]
fn files_round_trips_and_raw_frames_are_served() {
    let Some(mut bench) = Bench::new(3) else {
        return;
    };
    let plan = http::Plan {
        to: to(80),
        path: "/100000",
        upload: None,
        check: true,
        timeout: TIMEOUT,
    };
    let got = bench.run(http::Client::new(plan)).outcome();
    assert_eq!(
        (got.status, got.received, got.mismatch_at),
        (200, 100_000, None)
    );
    assert_eq!(bench.served("octets"), 100_000);
    let upload = Some(http::Upload {
        octets: 60_000,
        chunked: true,
    });
    let put = http::Plan {
        path: "/up",
        upload,
        check: false,
        ..plan
    };
    let put = bench.run(http::Client::new(put)).outcome();
    assert_eq!(put.confirmed, Some(60_000));

    let sender = bench.run(stamp::Sender::<32>::new(stamp::Plan {
        to: to(stamp::PORT),
        count: 20,
        interval: Duration::from_millis(5),
        octets: 44,
        timeout: Duration::from_millis(100),
        clock: stamp::Clock::free(Duration::from_nanos(1)),
        stateful: true,
        session: 9,
    }));
    let mut sender = sender;
    assert_eq!(sender.outcome().answered, 20);
    while let Some(sample) = sender.take_sample() {
        // Two frames of 86 octets on the wire and more take 160 us.
        let us = sample.round_trip.as_micros();
        assert!((160..2_000).contains(&us), "{us}");
    }

    // At line rate, short and long, more than the queue holds; then at a rate at which they can be
    // reflected.
    for (octets, reflect, rate_bits_per_s, count) in [
        (60, false, LINE, 2_000),
        (1514, false, LINE, 150),
        (60, true, 1_000_000, 30),
    ] {
        bench.send_command("frames 7");
        let plan = frame::Plan {
            to: DEVICE,
            from: [2, 0, 0, 0, 0, 1],
            stream: 7,
            sizes: &LENGTHS[octets..=octets],
            fill: Fill::Pattern,
            reflect,
            count,
            rate_bits_per_s,
        };
        let counts = bench
            .run(Blaster::new(plan, Duration::from_millis(50)))
            .counts();
        assert_eq!(counts.sent.0, count);
        let answer = bench.query("frames", "frames");
        let lost = count - member(&answer, "frames");
        assert_eq!((lost, member(&answer, "altered")), (0, 0), "{answer}");
        assert_eq!(member(&answer, "octets"), counts.sent.1);
        let expected = if reflect { count } else { 0 };
        assert_eq!(counts.reflections.len() as u64, expected, "{answer}");
        for it in &counts.reflections {
            let us = it.round_trip.as_micros();
            assert!((2 * 67..1_000).contains(&us), "{us}");
        }
    }
}

#[test]
fn the_spare_cpu_is_measured() {
    let Some(mut bench) = Bench::new(4) else {
        return;
    };
    let burned = |bench: &mut Bench| {
        let answer = bench.query("burned", "burned");
        member(&answer, "burned_thousandths")
    };
    bench.send_command("burn spare");
    let idle = burned(&mut bench);
    assert!((700..=1000).contains(&idle), "{idle}");
    // While a frame arrives, the processor is the receiver: at 4 Mbit/s less than half of the rest is left.
    bench.send_command("burn spare");
    bench.run(iperf2(true, false));
    let loaded = burned(&mut bench);
    assert!((100..idle - 200).contains(&loaded), "{loaded} of {idle}");
    bench.send_command("burn 300");
    let share = burned(&mut bench);
    assert!((280..=300).contains(&share), "{share}");
    bench.send_command("burn none");
    assert_eq!(burned(&mut bench), 0);
    bench.send_command("burn 2000");
    assert!(bench.last_event("error").is_some(), "{:?}", bench.console);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut bench = Bench::new(seed)?;
        let client = bench.run(iperf2(true, false));
        let now = linerate_agent::Instant::from_ns(bench.board.now().as_ns());
        Some((client.outcome(now), bench.board.trace_hash().value()))
    };
    assert_eq!(run(5), run(5));
}
