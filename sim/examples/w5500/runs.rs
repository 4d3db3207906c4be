//! The runs, and what is measured in each.

use std::fmt::Write as _;

use linerate_sim::board::w5500::{Board, Config, FrameOnWire, SpiTime, controller};
use linerate_sim::board::{Event, Stop};
use linerate_sim::chip::esp32c6::Port;
use linerate_sim::elf::Elf;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::Span;

use crate::host::{Datagrams, Stream};
use crate::scope;

/// A run.
pub struct Run {
    /// Its name in the results.
    pub name: &'static str,
    /// The line for the console.
    pub choice: &'static str,
    /// True if the W5500 interrupts again for frames that wait.
    pub raises_again: bool,
    /// Also datagrams, and a picture.
    pub is_detailed: bool,
}

const fn run(name: &'static str, choice: &'static str) -> Run {
    Run {
        name,
        choice,
        raises_again: false,
        is_detailed: false,
    }
}

const fn detailed(name: &'static str, choice: &'static str) -> Run {
    Run {
        is_detailed: true,
        ..run(name, choice)
    }
}

impl Run {
    const fn raising(self) -> Self {
        Self {
            raises_again: true,
            ..self
        }
    }
}

/// All of them. esp-hal divides 80 MHz: 12.5 MHz becomes 11.43; 26.67 MHz is the highest that the W5500 guarantees
/// (33.3 MHz). The crate embassy-net-wiznet runs with and without DMA, and with esp-hal waiting in a loop for transfers
/// of less than 65 octets or for none; and with both readings of the W5500's interrupt.
pub const RUNS: &[Run] = &[
    detailed("octet-per-transfer-12", "bytes 12500000 0"),
    run("wiznet-12", "wiznet 12500000 0"),
    run("wiznet-dma-12", "wiznet-dma 12500000 0"),
    detailed("wiznet-raise-12", "wiznet 12500000 0").raising(),
    run("wiznet-loop-raise-12", "wiznet 12500000 65").raising(),
    run("wiznet-dma-raise-12", "wiznet-dma 12500000 0").raising(),
    run("wiznet-dma-loop-raise-12", "wiznet-dma 12500000 65").raising(),
    detailed("burst-12", "burst 12500000 0"),
    run("dma-12", "dma 12500000 65"),
    detailed("ahead-12", "ahead 12500000 65"),
    run("octet-per-transfer-26", "bytes 26666667 0"),
    run("wiznet-raise-26", "wiznet 26666667 0").raising(),
    run("wiznet-loop-raise-26", "wiznet 26666667 65").raising(),
    run("wiznet-dma-raise-26", "wiznet-dma 26666667 0").raising(),
    run("wiznet-dma-loop-raise-26", "wiznet-dma 26666667 65").raising(),
    run("burst-26", "burst 26666667 0"),
    run("dma-26", "dma 26666667 65"),
    run("ahead-26", "ahead 26666667 65"),
    run("wiznet-dma-loop-raise-40", "wiznet-dma 40000000 65").raising(),
    run("ahead-40", "ahead 40000000 65"),
    run("wiznet-dma-loop-raise-80", "wiznet-dma 80000000 65").raising(),
    run("ahead-80", "ahead 80000000 65"),
];

/// Time for the link and the connection, and the measured time.
const SETTLING: Span = Span::from_ms(800);
const WARM_UP: Span = Span::from_ms(150);
const MEASURED: Span = Span::from_ms(500);
/// Time of the picture.
const PICTURE: Span = Span::from_ms(30);

/// The SPI during a transfer.
#[derive(Default)]
pub struct Transfer {
    bits_per_s: f64,
    time: SpiTime,
    transactions: u64,
    octets: u64,
    payload_octets: f64,
    frames: u64,
    gaps: Vec<Span>,
    overflowed: u64,
}

/// Results of a run.
pub struct Outcome {
    name: &'static str,
    hertz: f64,
    receive: Transfer,
    send: Transfer,
    /// Octets, payload bits per second one way, median round trip in nanoseconds.
    datagrams: Vec<(usize, f64, u128)>,
    /// An SVG.
    pub picture: Option<String>,
}

/// A board with its host.
struct Bench {
    board: Board,
}

impl Bench {
    fn start(run: &Run, elf: &Elf) -> Result<Self, String> {
        let peer = host::Config {
            http_server: None,
            ..host::Config::default()
        };
        let config = Config {
            nic: controller::Config {
                raises_receive_again: run.raises_again,
            },
            ..Config::default()
        };
        let board = Board::new(config, elf, Box::new(Host::new(peer)));
        let mut bench = Self {
            board: board.map_err(|error| error.to_string())?,
        };
        bench.wait_for("ready")?;
        let line = format!("{}\n", run.choice);
        bench.board.console_input(Port::UsbSerial, line.as_bytes());
        bench.wait_for("listening")?;
        bench.pass(SETTLING)?;
        Ok(bench)
    }

    fn pass(&mut self, span: Span) -> Result<(), String> {
        let until = self.board.now() + span;
        match self.board.run(until) {
            Stop::Reached => Ok(()),
            Stop::Asleep => Err("the program sleeps forever".into()),
            Stop::Fault(fault) => Err(fault.to_string()),
        }
    }

    /// Runs until the console prints `event`.
    fn wait_for(&mut self, event: &str) -> Result<(), String> {
        let limit = self.board.now() + Span::from_secs(3);
        let wanted = format!("\"{event}\"");
        while self.board.now() < limit {
            self.pass(Span::from_ms(1))?;
            while let Some(event) = self.board.poll_event() {
                if let Event::Line { text, .. } = event {
                    if text.contains(&wanted) {
                        return Ok(());
                    }
                    if text.starts_with("PANIC") {
                        return Err(text);
                    }
                }
            }
        }
        let reports = self.board.chip().reports().iter();
        let reports: Vec<String> = reports
            .filter(|report| report.is_serious())
            .map(ToString::to_string)
            .collect();
        Err(format!("no {event}; {}", reports.join("; ")))
    }

    /// A panic of the program is an error.
    fn check_console(&mut self) -> Result<(), String> {
        let mut text = String::new();
        while let Some(event) = self.board.poll_event() {
            if let Event::Line { text: line, .. } = event {
                text += &line;
                text.push('\n');
            }
        }
        if text.contains("PANIC") {
            return Err(text);
        }
        Ok(())
    }

    /// A TCP transfer to the device, or from it.
    fn transfer(&mut self, to_device: bool, picture: bool) -> Result<Transfer, String> {
        let port = if to_device { 9 } else { 19 };
        let handle = self.start_program(Stream::new(port, to_device))?;
        self.pass(WARM_UP)?;
        if picture {
            self.board.record_edges(PICTURE);
        }
        self.board.keep_frames();
        self.board.take_frames();
        self.board.reset_usage();
        let received = |bench: &mut Self| {
            bench.board.with_peer(|peer| {
                let programs = peer.programs()?;
                programs.get_mut::<Stream>(handle).map(|it| it.received)
            })
        };
        let before = received(self).unwrap_or(0);
        let overflowed = self.board.nic().statistics().overflowed;
        let began = self.board.now();
        self.pass(MEASURED)?;
        self.check_console()?;
        let seconds = self.board.now().since(began).as_secs_f64();
        let frames = self.board.take_frames();
        let octets = if to_device {
            acknowledged(&frames)
        } else {
            received(self).unwrap_or(0) - before
        };
        let (transactions, spi_octets) = self.board.spi_counts();
        let with_data =
            |frame: &&FrameOnWire| frame.from_device != to_device && frame.octets.len() > 200;
        let transfer = Transfer {
            bits_per_s: octets as f64 * 8.0 / seconds,
            time: self.board.spi_time(),
            transactions,
            octets: spi_octets,
            payload_octets: octets as f64,
            frames: frames.iter().filter(with_data).count() as u64,
            gaps: self.board.spi_gaps().to_vec(),
            overflowed: self.board.nic().statistics().overflowed - overflowed,
        };
        self.board.with_peer(|peer| {
            peer.programs().and_then(|it| it.stop::<Stream>(handle));
        });
        self.pass(Span::from_ms(300))?;
        Ok(transfer)
    }

    fn start_program(
        &mut self,
        program: impl linerate_sim::peer::host::program::Program,
    ) -> Result<linerate_sim::peer::host::program::Handle, String> {
        let handle = self
            .board
            .with_peer(|peer| Some(peer.programs()?.start(Box::new(program))));
        handle.ok_or_else(|| "the peer runs no programs".into())
    }

    /// One way and round trip with `octets` of payload.
    fn datagrams(&mut self, octets: usize) -> Result<(usize, f64, u128), String> {
        let mut times = [Vec::new(), Vec::new()];
        let mut round_trip = 0;
        for (program, times) in [Datagrams::ask(octets, 60), Datagrams::echo(octets)]
            .into_iter()
            .zip(&mut times)
        {
            let handle = self.start_program(program)?;
            self.pass(Span::from_ms(400))?;
            let program = self.board.with_peer(|peer| {
                let programs = peer.programs()?;
                programs.stop::<Datagrams>(handle)
            });
            let program = program.ok_or("the program is gone")?;
            *times = program.arrived;
            let mut trips = program.round_trips;
            trips.sort_unstable();
            if let Some(median) = trips.get(trips.len() / 2) {
                round_trip = median.as_nanos();
            }
            self.pass(Span::from_ms(20))?;
        }
        let rate = match &times[0][..] {
            [first, .., last] => {
                let count = times[0].len() - 1;
                (count * octets * 8) as f64 / last.since(*first).as_secs_f64()
            }
            _ => 0.0,
        };
        Ok((octets, rate, round_trip))
    }
}

/// Octets that the device's TCP acknowledges in `frames`.
fn acknowledged(frames: &[FrameOnWire]) -> u64 {
    let number = |frame: &FrameOnWire| {
        let octets = &frame.octets;
        let is_tcp = octets.get(12..14) == Some(&[8, 0]) && octets.get(23) == Some(&6);
        let at = 14 + 4 * usize::from(octets.get(14)? & 15) + 8;
        let octets = octets.get(at..at + 4)?.try_into().ok()?;
        is_tcp.then(|| u32::from_be_bytes(octets))
    };
    let mut numbers = frames.iter().filter(|it| it.from_device).filter_map(number);
    let Some(first) = numbers.next() else {
        return 0;
    };
    u64::from(numbers.next_back().unwrap_or(first).wrapping_sub(first))
}

/// Performs `run`.
pub fn measure(run: &Run, elf: &Elf) -> Result<Outcome, String> {
    let mut bench = Bench::start(run, elf)?;
    let receive = bench.transfer(true, run.is_detailed)?;
    let clocking = receive.time.clocking.as_secs_f64();
    let hertz = receive.octets as f64 * 8.0 / clocking;
    let driver = run.choice.split(' ').next().unwrap_or_default();
    let title = format!(
        "Driver {driver}, SPI at {:.1} MHz, TCP receive",
        hertz / 1e6
    );
    let picture = run
        .is_detailed
        .then(|| scope::draw(&title, bench.board.edges()));
    let send = bench.transfer(false, false)?;
    let mut datagrams = Vec::new();
    if run.is_detailed {
        for octets in [64, 256, 768] {
            datagrams.push(bench.datagrams(octets)?);
        }
    }
    Ok(Outcome {
        name: run.name,
        hertz,
        receive,
        send,
        datagrams,
        picture,
    })
}

impl Transfer {
    fn share(&self, part: Span) -> f64 {
        part.as_secs_f64() / self.time.total().as_secs_f64()
    }

    fn median_gap(&self) -> u64 {
        let mut gaps = self.gaps.clone();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).map_or(0, |gap| gap.as_ns())
    }

    fn json(&self) -> String {
        let time = &self.time;
        format!(
            "{{\"bits_per_s\": {:.0}, \"clocking\": {:.4}, \"within\": {:.4}, \"between\": {:.4}, \"free\": {:.4}, \
             \"transactions\": {}, \"spi_octets\": {}, \"payload_octets\": {:.0}, \"frames\": {}, \
             \"median_gap_ns\": {}, \"overflowed\": {}}}",
            self.bits_per_s,
            self.share(time.clocking),
            self.share(time.within),
            self.share(time.between),
            self.share(time.free),
            self.transactions,
            self.octets,
            self.payload_octets,
            self.frames,
            self.median_gap(),
            self.overflowed,
        )
    }
}

impl Outcome {
    /// One line for a person.
    pub fn line(&self) -> String {
        let Transfer { time, frames, .. } = &self.receive;
        let mut line = format!(
            "{:26} {:5.2} MHz  TCP receive {:6.2} Mbit/s  send {:6.2} Mbit/s  clock {:3.0}%, idle within transactions \
             {:3.0}%, between {:3.0}%, nothing to read {:3.0}%  {:.1} transactions/frame, gap {} ns, lost {}",
            self.name,
            self.hertz / 1e6,
            self.receive.bits_per_s / 1e6,
            self.send.bits_per_s / 1e6,
            100.0 * self.receive.share(time.clocking),
            100.0 * self.receive.share(time.within),
            100.0 * self.receive.share(time.between),
            100.0 * self.receive.share(time.free),
            self.receive.transactions as f64 / (*frames).max(1) as f64,
            self.receive.median_gap(),
            self.receive.overflowed,
        );
        for (octets, rate, trip) in &self.datagrams {
            let _ = write!(
                line,
                "\n    {octets} octets: one way {:.2} Mbit/s, round trip {:.0} us",
                rate / 1e6,
                *trip as f64 / 1e3
            );
        }
        line
    }

    /// A JSON object.
    pub fn json(&self) -> String {
        let datagrams: Vec<String> = self
            .datagrams
            .iter()
            .map(|(octets, rate, trip)| {
                format!(
                    "{{\"octets\": {octets}, \"one_way_bits_per_s\": {rate:.0}, \"round_trip_ns\": {trip}}}"
                )
            })
            .collect();
        format!(
            "{{\"name\": \"{}\", \"spi_hertz\": {:.0}, \"tcp_receive\": {}, \"tcp_send\": {}, \"datagrams\": [{}]}}",
            self.name,
            self.hertz,
            self.receive.json(),
            self.send.json(),
            datagrams.join(", ")
        )
    }
}
