//! The chip with a program at the other end of its port.

use std::collections::VecDeque;

use linerate_link::{Channel, Config, Link, memory_octets};
use linerate_sim::board::{SpiSlave, SpiTransfer};
use linerate_sim::chip::esp32c6::{self, Esp32c6, Port, Stop};
use linerate_sim::elf::Elf;
use linerate_sim::pads::Pads;
use linerate_sim::time::{Instant, Span};

use crate::end::{Board, End};

/// Settings of the program of the board.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub end: End,
    /// 0: the program only counts.
    pub message: usize,
    pub load_us: u32,
    pub period_us: u32,
}

/// Counts of the program, in the order of its symbol `COUNTS`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub received: u32,
    pub missed: u32,
    pub overflows: u32,
    pub fullest: u32,
    pub unread: u32,
    pub interrupts: u32,
    pub turns: u32,
    pub bulk: u32,
}

/// A chip whose program waits for its choice.
pub fn boot(elf: &Elf, pads: &mut impl Pads) -> Result<Esp32c6, String> {
    let chip = Esp32c6::new(esp32c6::Config::default(), elf);
    let mut chip = chip.map_err(|error| error.to_string())?;
    wait_for(&mut chip, pads, "ready")?;
    Ok(chip)
}

/// Gives the program the line `text`, and waits until it has begun.
pub fn choose(chip: &mut Esp32c6, pads: &mut impl Pads, text: &str) -> Result<(), String> {
    chip.console_input(Port::UsbSerial, text.as_bytes());
    wait_for(chip, pads, "started")
}

/// Runs a chip for `span`.
pub fn pass(chip: &mut Esp32c6, pads: &mut impl Pads, span: Span) -> Result<(), String> {
    match chip.run(chip.now() + span, pads) {
        Stop::Deadline => Ok(()),
        Stop::Fault(fault) => Err(fault.to_string()),
        stop => Err(format!("{stop:?}")),
    }
}

/// Runs until the console has `event`.
fn wait_for(chip: &mut Esp32c6, pads: &mut impl Pads, event: &str) -> Result<(), String> {
    let mut text = String::new();
    let limit = chip.now() + Span::from_secs(2);
    while chip.now() < limit {
        pass(chip, pads, Span::from_us(100))?;
        text.extend(chip.console().iter().map(|byte| char::from(byte.byte)));
        if text.contains(&format!("\"{event}\"")) {
            return Ok(());
        }
    }
    let reports: Vec<String> = chip.reports().iter().map(ToString::to_string).collect();
    Err(format!("no {event}: {text} {}", reports.join("; ")))
}

/// The counts of a chip's program.
pub fn counts(chip: &Esp32c6) -> Result<Counts, String> {
    let (addr, _) = chip.symbol("COUNTS").ok_or("no counts in the ELF")?;
    let word = |number: u32| chip.memory().read_u32(addr + 4 * number).unwrap_or(0);
    Ok(Counts {
        received: word(0),
        missed: word(1),
        overflows: word(2),
        fullest: word(3),
        unread: word(4),
        interrupts: word(5),
        turns: word(6),
        bulk: word(7),
    })
}

/// How often the program of the other end comes round.
const ROUND: Span = Span::from_us(10);
/// A link that loses much may need this long until its first message arrives, and is measured from this long after it on.
const UP: Span = Span::from_secs(1);
const SETTLE: Span = Span::from_ms(20);
const URGENT: usize = 64;
const BULK: usize = 1024;
/// Octet times from one urgent message to the next, so that it and its answer take 4% of the line; 5 ms at least.
const URGENT_EVERY_OCTETS: u64 = 1000;

pub struct Bench {
    board: Board,
    end: End,
    urgent_every: Span,
    line: VecDeque<(Instant, u8)>,
}

/// What the program of the other end has seen.
#[derive(Default)]
pub struct Seen {
    /// Times of the messages of the bulk channel.
    pub at: Vec<Instant>,
    pub octets: u64,
    /// Messages with a wrong number or octet.
    pub wrong: u64,
    pub round_trips: Vec<Span>,
    /// Damaged frames, and those sent again by this end.
    pub damaged: u32,
}

impl Bench {
    pub fn start(elf: &Elf, choice: Choice) -> Result<Self, String> {
        let mut slave = SpiSlave::default();
        let mut chip = boot(elf, &mut slave)?;
        let Choice {
            end,
            message,
            load_us,
            period_us,
        } = choice;
        let text = format!("{} {message} {load_us} {period_us}\n", end.words());
        choose(&mut chip, &mut slave, &text)?;
        let mut bench = Self {
            board: Board {
                chip,
                slave,
                transfers: Vec::new(),
            },
            end,
            urgent_every: Span::from_ticks(end.octet().ticks() * URGENT_EVERY_OCTETS)
                .max(Span::from_ms(5)),
            line: VecDeque::new(),
        };
        bench.pass(Span::from_ms(1))?;
        end.connect(&mut bench.board);
        Ok(bench)
    }

    /// Runs the chip for `span`.
    pub fn pass(&mut self, span: Span) -> Result<(), String> {
        let Board { chip, slave, .. } = &mut self.board;
        pass(chip, slave, span)
    }

    /// Serious reports of the simulator, such as an unknown register.
    pub fn reports(&self) -> Vec<String> {
        let serious = self
            .board
            .chip
            .reports()
            .iter()
            .filter(|report| report.is_serious());
        serious.map(ToString::to_string).collect()
    }

    pub fn counts(&self) -> Result<Counts, String> {
        counts(&self.board.chip)
    }

    /// Complete transfers of an SPI's master, and those of them that the slave missed.
    pub fn transfers(&mut self) -> (u64, u64) {
        let line = self.board.chip.spi_line();
        line.map_or((0, 0), |line| line.transfers())
    }

    /// Transfers of the chip as a master since the start, without their octets.
    pub fn take_master_transfers(&mut self) -> Vec<SpiTransfer> {
        std::mem::take(&mut self.board.transfers)
    }

    /// Sends numbers without a pause for `span`; returns how many.
    pub fn send_numbers(&mut self, span: Span) -> Result<u64, String> {
        let sent = self.stream(span)?;
        // The last ones arrive, and are taken from the FIFO.
        self.pass(Span::from_ms(5))?;
        let text: String = self
            .board
            .chip
            .console()
            .iter()
            .map(|byte| char::from(byte.byte))
            .collect();
        if text.contains("PANIC") {
            return Err(text);
        }
        Ok(sent)
    }

    /// The same, without waiting for the last ones.
    pub fn stream(&mut self, span: Span) -> Result<u64, String> {
        let end = self.board.chip.now() + span;
        let mut sent = 0_u64;
        while self.board.chip.now() < end {
            loop {
                let room = self.end.room(&mut self.board);
                if room == 0 {
                    break;
                }
                let numbers: Vec<u8> = (0..room).map(|next| (sent + next as u64) as u8).collect();
                self.end.send(&mut self.board, &numbers);
                sent += room as u64;
            }
            self.pass(ROUND)?;
            self.end.take(&mut self.board);
        }
        Ok(sent)
    }

    /// Sends frames of `octets` numbers at a distance; returns the nanoseconds from the end of each on the line until the
    /// program has its last octet.
    pub fn frames(&mut self, octets: usize, count: usize, every: Span) -> Result<Vec<u64>, String> {
        let (received, _) = self.board.chip.symbol("COUNTS").ok_or("no counts")?;
        self.board.chip.watch(received..received + 4);
        let numbers: Vec<u8> = (0..octets).map(|number| number as u8).collect();
        let on_line = Span::from_ticks(self.end.octet().ticks() * octets as u64);
        let mut delays = Vec::new();
        for number in 1..=count {
            let end = self.board.chip.now() + on_line;
            self.end.send(&mut self.board, &numbers);
            self.pass(every)?;
            let events = self.board.chip.watch_events();
            let whole = |value: u32| value as usize == number * octets;
            let at = events.iter().find(|event| whole(event.value));
            delays.extend(at.map(|event| event.at.since(end).as_ns()));
        }
        Ok(delays)
    }

    /// Runs the other end of the link for `span`, and drops what it saw in `warm_up` before it.
    pub fn exchange(&mut self, warm_up: Span, span: Span) -> Result<Seen, String> {
        let memory = |len: usize| vec![0; memory_octets(len) * 4];
        let channel = |len| Channel::reliable(memory(len), memory(len));
        let mut link = Link::new(Config::new(0x1057_0001), [channel(URGENT), channel(BULK)]);
        let mut begin = self.board.chip.now() + warm_up;
        let latest = self.board.chip.now() + UP;
        let mut end = begin + span;
        let (mut seen, mut expected) = (Seen::default(), 0_u32);
        let mut urgent_at = begin;
        let mut message = [0; BULK];
        while self.board.chip.now() < end {
            self.pass(ROUND)?;
            self.board.chip.console();
            let now = self.board.chip.now();
            if expected == 0 && now < latest {
                begin = begin.max(now + SETTLE);
                end = begin + span;
            }
            self.line.extend(self.end.take(&mut self.board));
            while let Some((at, octet)) = self.line.pop_front_if(|(at, _)| *at <= now) {
                link.receive(us(at), &[octet]);
                while let Some(len) = link.read(1, &mut message) {
                    let head = expected.to_le_bytes();
                    let is_right = message[..len].iter().enumerate().all(|(number, octet)| {
                        *octet == head.get(number).copied().unwrap_or(number as u8)
                    });
                    seen.wrong += u64::from(!is_right);
                    expected = expected.wrapping_add(1);
                    if at >= begin {
                        seen.at.push(at);
                        seen.octets += len as u64;
                    }
                }
                while link.read(0, &mut message).is_some() {
                    let ns = message[..8].try_into().map(u64::from_le_bytes);
                    seen.round_trips
                        .push(at.since(Instant::from_ns(ns.unwrap_or(0))));
                }
            }
            if now >= urgent_at && link.is_up() {
                urgent_at = now + self.urgent_every;
                let mut urgent = [0; 16];
                urgent[..8].copy_from_slice(&now.as_ns().to_le_bytes());
                let _ = link.send(0, &urgent);
            }
            let mut octets = [0; 512];
            let room = self.end.room(&mut self.board).min(octets.len());
            let count = link.transmit(us(now), &mut octets[..room]);
            self.end.send(&mut self.board, &octets[..count]);
        }
        seen.damaged = link.counters().damaged;
        Ok(seen)
    }
}

fn us(at: Instant) -> linerate_link::Instant {
    linerate_link::Instant::from_us((at.as_ns() / 1000) as u32)
}
