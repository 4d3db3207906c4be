//! Transfers of the chip as the master of SPI, one after the other as fast as its driver makes them: their rate, and the time
//! in which the clock stands still.

use linerate_sim::board::SpiTransfer;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;

use crate::bench::{Bench, Choice};
use crate::end::{End, Master};
use crate::runs::quantile;

const MEASURED: Span = Span::from_ms(50);
/// Clocks: 80 MHz divided by 8, 4, 3 and 2.
pub const HERTZ: [u32; 4] = [10_000_000, 20_000_000, 26_670_000, 40_000_000];
const OCTETS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// A line of JSON for each path, clock and length. `mhz` is the CPU clock in the names of the runs.
pub fn by_length(mhz: &str, elf: &Elf) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for uses_dma in [false, true] {
        for hertz in HERTZ {
            for transfer_octets in OCTETS {
                let end = End::Master(Master {
                    uses_dma,
                    hertz,
                    transfer_octets,
                    pause_us: 0,
                });
                let name = format!("transfers-{}-{mhz}", end.name());
                let line = run(elf, end, transfer_octets, &name)
                    .map_err(|error| format!("{name}: {error}"))?;
                println!("{}", line.trim());
                all.push(line);
            }
        }
    }
    Ok(all)
}

fn run(elf: &Elf, end: End, octets: usize, name: &str) -> Result<String, String> {
    let choice = Choice {
        end,
        message: 0,
        load_us: 0,
        period_us: 0,
    };
    let mut bench = Bench::start(elf, choice)?;
    bench.send_numbers(MEASURED)?;
    let counts = bench.counts()?;
    let reports = bench.reports();
    if !reports.is_empty() {
        return Err(reports.join("; "));
    }
    let account = Account::of(&bench.take_master_transfers(), octets)?;
    Ok(format!(
        "  {{\"name\": \"{name}\", {}, \"received\": {}, \"missed_by_number\": {}}}",
        account.json(),
        counts.received,
        counts.missed
    ))
}

/// The time of transfers of one length, from the beginning of the first to that of the last.
pub struct Account {
    transfers: usize,
    bits_per_s: f64,
    /// Of the clock, while it runs.
    hertz: f64,
    clock_share: f64,
    /// From the last clock of a transfer to the first one of the next, sorted.
    gaps_ns: Vec<u64>,
    /// Within a transfer, without a clock, sorted.
    idle_ns: Vec<u64>,
    /// From the rise of chip select to the next clock, sorted: the time that a slave has.
    released_ns: Vec<u64>,
}

impl Account {
    pub fn of(transfers: &[SpiTransfer], transfer_octets: usize) -> Result<Self, String> {
        let [first, .., last] = transfers else {
            return Err("less than two transfers".to_owned());
        };
        let ns = last.clocks_from.since(first.clocks_from).as_ns() as f64;
        let count = transfers.len() - 1;
        let clocking = transfers[..count].iter().map(|it| it.clocking.ticks());
        let clocking_ns = Span::from_ticks(clocking.sum()).as_ns() as f64;
        let bits = (count * transfer_octets * 8) as f64;
        let gap = |pair: &[SpiTransfer]| pair[1].clocks_from.since(pair[0].clocks_to).as_ns();
        let released = |pair: &[SpiTransfer]| pair[1].clocks_from.since(pair[0].released).as_ns();
        let idle = |it: &SpiTransfer| {
            let whole = it.clocks_to.since(it.clocks_from);
            whole.as_ns() - it.clocking.as_ns()
        };
        Ok(Self {
            transfers: count,
            bits_per_s: bits * 1e9 / ns,
            hertz: bits * 1e9 / clocking_ns,
            clock_share: clocking_ns / ns,
            gaps_ns: sorted(transfers.windows(2).map(gap)),
            idle_ns: sorted(transfers.iter().map(idle)),
            released_ns: sorted(transfers.windows(2).map(released)),
        })
    }

    pub fn json(&self) -> String {
        let us = |ns: &[u64], share| quantile(ns, share) as f64 / 1e3;
        format!(
            "\"transfers\": {}, \"transfer_bits_per_s\": {:.0}, \"clock_hertz\": {:.0}, \"clock_share\": {:.4}, \
             \"transfer_gap_p50_us\": {:.2}, \"transfer_gap_p99_us\": {:.2}, \"idle_within_p50_us\": {:.2}, \
             \"released_p50_us\": {:.2}",
            self.transfers,
            self.bits_per_s,
            self.hertz,
            self.clock_share,
            us(&self.gaps_ns, 0.5),
            us(&self.gaps_ns, 0.99),
            us(&self.idle_ns, 0.5),
            us(&self.released_ns, 0.5)
        )
    }
}

fn sorted(ns: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ns: Vec<u64> = ns.collect();
    ns.sort_unstable();
    ns
}
