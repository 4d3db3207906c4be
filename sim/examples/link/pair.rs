//! Two chips with the same program, one as the master of SPI and one as its slave: who misses what of the other.

use linerate_sim::board::SpiSlave;
use linerate_sim::chip::esp32c6::{Esp32c6, Report};
use linerate_sim::elf::Elf;
use linerate_sim::pads::{Pads, SpiOctets};
use linerate_sim::time::{Instant, Span};

use crate::bench::{boot, choose, counts, pass};
use crate::end::{End, Master};

const WARM_UP: Span = Span::from_ms(100);
const MEASURED: Span = Span::from_ms(100);
const MESSAGE: usize = 128;
const HERTZ: [u32; 3] = [10_000_000, 20_000_000, 40_000_000];
const OCTETS: [usize; 3] = [16, 64, 512];
/// From the rise of chip select to the next transfer.
const PAUSES_US: [u32; 2] = [0, 10];
/// Pad of chip select.
const SELECT: u8 = 10;

/// The slave at the pads of the master. It runs as far as the master needs its answers.
struct SlaveBoard {
    chip: Esp32c6,
    is_selected: bool,
    transfers: u64,
    missed: u64,
}

impl SlaveBoard {
    fn run(&mut self, until: Instant) {
        // Nothing else is connected.
        self.chip.run(until, &mut SpiSlave::default());
    }
}

impl Pads for SlaveBoard {
    fn level(&mut self, _: u8, _: Instant) -> bool {
        true
    }

    fn next_edge(&mut self, _: u8, _: Instant) -> Instant {
        Instant::NEVER
    }

    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        if pad != SELECT {
            return;
        }
        self.run(at);
        if level && self.is_selected {
            self.transfers += 1;
            self.missed += u64::from(!self.chip.release_spi_slave());
        }
        self.is_selected = !level;
    }

    fn exchange(&mut self, octets: &SpiOctets<'_>, received: &mut [u8]) {
        received.fill(0xff);
        if self.is_selected {
            self.run(octets.start);
            self.chip.clock_spi_slave(octets, received);
        }
    }

    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
}

/// A line of JSON for each path, clock, length and pause. `mhz` is the CPU clock of both in the names of the runs.
pub fn exchanges(mhz: &str, elf: &Elf) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for uses_dma in [false, true] {
        for hertz in HERTZ {
            for transfer_octets in OCTETS {
                for pause_us in PAUSES_US {
                    let master = Master {
                        uses_dma,
                        hertz,
                        transfer_octets,
                        pause_us,
                    };
                    let name = format!("pair-{}-{mhz}", End::Master(master).name());
                    let line = line(elf, master, &name);
                    let line = line.map_err(|error| format!("{name}: {error}"))?;
                    println!("{}", line.trim());
                    all.push(line);
                }
            }
        }
    }
    Ok(all)
}

/// Transfers without a link, as fast as the master's driver makes them, and a link.
fn line(elf: &Elf, master: Master, name: &str) -> Result<String, String> {
    let alone = Exchange::run(elf, master, 0)?;
    let link = Exchange::run(elf, master, MESSAGE)?;
    let [to_master, to_slave] = link.bits_per_s;
    Ok(format!(
        "  {{\"name\": \"{name}\", \"transfers_alone\": {}, \"transfers_alone_missed\": {}, \"transfers\": {}, \
         \"transfers_missed\": {}, \"to_master_bits_per_s\": {to_master:.0}, \"to_slave_bits_per_s\": {to_slave:.0}}}",
        alone.transfers, alone.missed, link.transfers, link.missed,
    ))
}

/// What two chips have exchanged.
struct Exchange {
    transfers: u64,
    missed: u64,
    /// Of the messages to the master, and to the slave.
    bits_per_s: [f64; 2],
}

impl Exchange {
    /// Both programs with messages of `message` octets, or without a link if it is 0.
    fn run(elf: &Elf, master: Master, message: usize) -> Result<Self, String> {
        let mut slave = boot(elf, &mut SpiSlave::default())?;
        let mut chip = boot(elf, &mut SpiSlave::default())?;
        let words = format!("spi {} {message} 0 0\n", master.transfer_octets);
        choose(&mut slave, &mut SpiSlave::default(), &words)?;
        let mut board = SlaveBoard {
            chip: slave,
            is_selected: false,
            transfers: 0,
            missed: 0,
        };
        let wait = board.chip.now().since(chip.now());
        pass(&mut chip, &mut board, wait)?;
        let words = format!("{} {message} 0 0\n", End::Master(master).words());
        choose(&mut chip, &mut board, &words)?;
        pass(&mut chip, &mut board, WARM_UP)?;
        (board.transfers, board.missed) = (0, 0);
        let before = [counts(&chip)?.bulk, counts(&board.chip)?.bulk];
        pass(&mut chip, &mut board, MEASURED)?;
        let after = [counts(&chip)?.bulk, counts(&board.chip)?.bulk];
        let serious = |chip: &Esp32c6| chip.reports().iter().any(Report::is_serious);
        if serious(&chip) || serious(&board.chip) {
            return Err("an unknown register".to_owned());
        }
        let rate = |end: usize| f64::from(after[end] - before[end]) * 8e9;
        Ok(Self {
            transfers: board.transfers,
            missed: board.missed,
            bits_per_s: [0, 1].map(|end| rate(end) / MEASURED.as_ns() as f64),
        })
    }
}
