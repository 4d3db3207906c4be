//! The runs, and what is measured in each.

use linerate_sim::chip::esp32c6::SpiHost;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;

use crate::bench::{Bench, Choice, Seen};
use crate::end::{End, Master};
use crate::transfers::{Account, HERTZ};

const WARM_UP: Span = Span::from_ms(100);
const MEASURED: Span = Span::from_ms(1000);
/// Octets in the receive FIFO at which the UART interrupts, of 128.
const THRESHOLD: u32 = 64;

/// Transfers of the SPI's master: octets, and the pause behind each, microseconds.
const TRANSFER_OCTETS: usize = 64;
const PAUSE_US: u64 = 20;

const fn uart(bits_per_s: u32) -> End {
    End::Uart {
        bits_per_s,
        threshold: THRESHOLD,
    }
}

const fn uart_dma(bits_per_s: u32) -> End {
    End::UartDma {
        bits_per_s,
        chunk: THRESHOLD,
    }
}

const fn spi(mbit_per_s: u64, transfer_octets: usize, pause_us: u64) -> End {
    End::Spi(SpiHost {
        octet: Span::from_ns(8_000 / mbit_per_s),
        transfer_octets,
        pause: Span::from_us(pause_us),
    })
}

/// Ports and octets of a message.
pub const GAPS: &[(End, usize)] = &[
    (uart(115_200), 32),
    (uart(115_200), 128),
    (uart(1_000_000), 32),
    (uart(1_000_000), 128),
    (uart(1_000_000), 512),
    (uart(3_000_000), 32),
    (uart(3_000_000), 128),
    (uart(3_000_000), 512),
    (uart_dma(921_600), 128),
    (uart_dma(3_000_000), 32),
    (uart_dma(3_000_000), 128),
    (uart_dma(3_000_000), 512),
    (End::Usb, 32),
    (End::Usb, 64),
    (End::Usb, 128),
    (End::Usb, 512),
    (spi(10, TRANSFER_OCTETS, PAUSE_US), 32),
    (spi(10, TRANSFER_OCTETS, PAUSE_US), 128),
    (spi(10, TRANSFER_OCTETS, PAUSE_US), 512),
];
/// At half the clock.
pub const GAPS_80: &[(End, usize)] = &[
    (uart(3_000_000), 128),
    (uart_dma(3_000_000), 128),
    (End::Usb, 32),
    (End::Usb, 128),
    (End::Usb, 512),
];

/// Octets of a message and of a transfer of the chip as a master.
const MASTER_OCTETS: [(usize, usize); 3] = [(128, 64), (128, 256), (512, 512)];

/// The chip as a master of SPI, from its data registers and by DMA, at each clock.
pub fn master() -> Vec<(End, usize)> {
    let mut all = Vec::new();
    for uses_dma in [false, true] {
        for hertz in HERTZ {
            all.extend(MASTER_OCTETS.map(|(message, transfer_octets)| {
                let master = Master {
                    uses_dma,
                    hertz,
                    transfer_octets,
                    pause_us: 0,
                };
                (End::Master(master), message)
            }));
        }
    }
    all
}

/// Ports under the load of another interrupt.
const LOADED: [End; 9] = [
    uart(1_000_000),
    uart(3_000_000),
    uart(5_000_000),
    uart_dma(3_000_000),
    uart_dma(5_000_000),
    spi(10, TRANSFER_OCTETS, PAUSE_US),
    spi(11, TRANSFER_OCTETS, PAUSE_US),
    spi(15, TRANSFER_OCTETS, PAUSE_US),
    spi(20, TRANSFER_OCTETS, PAUSE_US),
];
/// Handler times of the load, microseconds of 500.
const LOADS_US: [u32; 11] = [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 475];
const PERIOD_US: u32 = 500;

/// Pauses between transfers of SPI, microseconds; octets of the transfers; rates, Mbit/s. Without a load.
const PAUSES_US: [u64; 8] = [2, 5, 8, 10, 15, 20, 30, 50];
const TRANSFERS_OCTETS: [usize; 3] = [16, 64, 256];
const PAUSED_MBIT_PER_S: [u64; 2] = [10, 20];

/// Messages of one length over one port.
pub struct Gaps {
    pub name: String,
    pub message: usize,
    pub sorted_ns: Vec<u64>,
    bits_per_s: f64,
    seen: Seen,
    /// Of the transfers, if the chip is a master of SPI.
    account: Option<Account>,
}

/// The value below which a share of the sorted values is.
pub fn quantile(sorted: &[u64], share: f64) -> u64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0)
}

impl Gaps {
    fn of(name: String, message: usize, seen: Seen) -> Result<Self, String> {
        let ns: Vec<u64> = seen.at.iter().map(|at| at.as_ns()).collect();
        let (Some(first), Some(last)) = (ns.first(), ns.last()) else {
            return Err(format!("{name}: no message arrived"));
        };
        let octets = seen.octets as f64 * (ns.len() - 1) as f64 / ns.len() as f64;
        let mut sorted_ns: Vec<u64> = ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let bits_per_s = octets * 8e9 / (last - first) as f64;
        sorted_ns.sort_unstable();
        Ok(Self {
            name,
            message,
            sorted_ns,
            bits_per_s,
            seen,
            account: None,
        })
    }

    fn round_trips_us(&self) -> [f64; 2] {
        let mut sorted: Vec<u64> = self
            .seen
            .round_trips
            .iter()
            .map(|span| span.as_ns())
            .collect();
        sorted.sort_unstable();
        [0.5, 0.99].map(|share| quantile(&sorted, share) as f64 / 1e3)
    }

    pub fn json(&self) -> String {
        let [p50, p99] = [0.5, 0.99].map(|share| quantile(&self.sorted_ns, share) as f64 / 1e3);
        let [trip, trip_p99] = self.round_trips_us();
        let account = self
            .account
            .as_ref()
            .map(|account| format!(", {}", account.json()));
        format!(
            "  {{\"name\": \"{}\", \"bits_per_s\": {:.0}, \"messages\": {}, \"wrong\": {}, \"damaged\": {}, \
             \"gap_p50_us\": {p50:.1}, \"gap_p99_us\": {p99:.1}, \"round_trip_p50_us\": {trip:.1}, \
             \"round_trip_p99_us\": {trip_p99:.1}{}}}",
            self.name,
            self.bits_per_s,
            self.seen.at.len(),
            self.seen.wrong,
            self.seen.damaged,
            account.unwrap_or_default()
        )
    }
}

/// Messages by port and length.
///
/// `mhz` is the CPU clock in the names of the runs.
pub fn gaps(mhz: &str, elf: &Elf, runs: &[(End, usize)]) -> Result<Vec<Gaps>, String> {
    let mut all = Vec::new();
    for &(end, message) in runs {
        let name = format!("{}-{message}-{mhz}", end.name());
        let choice = Choice {
            end,
            message,
            load_us: 0,
            period_us: 0,
        };
        let mut bench = Bench::start(elf, choice).map_err(|error| format!("{name}: {error}"))?;
        let seen = bench.exchange(WARM_UP, MEASURED)?;
        let reports = bench.reports();
        if !reports.is_empty() {
            return Err(format!("{name}: {}", reports.join("; ")));
        }
        let mut run = Gaps::of(name, message, seen)?;
        if let End::Master(master) = end {
            let transfers = bench.take_master_transfers();
            run.account = Some(Account::of(&transfers, master.transfer_octets)?);
        }
        println!("{}", run.json().trim());
        all.push(run);
    }
    Ok(all)
}

/// Octets missed, and goodput of the link, by the load of an interrupt of higher priority; JSON.
pub fn loads(elf: &Elf) -> Result<Vec<String>, String> {
    let loaded = LOADED
        .iter()
        .flat_map(|end| LOADS_US.map(|load| (*end, load)));
    loaded
        .map(|(end, load_us)| {
            let name = format!("load-{}-{load_us}", end.name());
            missed(elf, end, load_us, &name)
        })
        .collect()
}

/// The same without a load, by the transfers of an SPI's master. `mhz` is the CPU clock in the names of the runs.
pub fn pauses(mhz: &str, elf: &Elf) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for mbit_per_s in PAUSED_MBIT_PER_S {
        for octets in TRANSFERS_OCTETS {
            for pause_us in PAUSES_US {
                let end = spi(mbit_per_s, octets, pause_us);
                all.push(missed(elf, end, 0, &format!("pause-{}-{mhz}", end.name()))?);
            }
        }
    }
    Ok(all)
}

/// Numbers without a pause, and a link, over one port under a load.
fn missed(elf: &Elf, end: End, load_us: u32, name: &str) -> Result<String, String> {
    let choice = Choice {
        end,
        message: 0,
        load_us,
        period_us: PERIOD_US,
    };
    let mut bench = Bench::start(elf, choice).map_err(|error| format!("{name}: {error}"))?;
    let sent = bench.send_numbers(Span::from_ms(50))?;
    let counts = bench.counts()?;
    let transfers = bench.transfers();
    let loaded = Choice {
        message: 128,
        ..choice
    };
    let seen = Bench::start(elf, loaded)?.exchange(WARM_UP, Span::from_ms(50))?;
    let (wrong, link) = (seen.wrong, Gaps::of(String::new(), 128, seen));
    let goodput = link.map_or(0.0, |link| link.bits_per_s);
    let missed = 1.0 - f64::from(counts.received) / sent as f64;
    let text = format!(
        "  {{\"name\": \"{name}\", \"load\": {:.2}, \"sent\": {sent}, \"received\": {}, \
         \"missed_share\": {missed:.4}, \"overflows\": {}, \"fullest\": {}, \"unread\": {}, \
         \"missed_by_number\": {}, \"transfers\": {}, \"transfers_missed\": {}, \
         \"link_bits_per_s\": {goodput:.0}, \"link_wrong\": {wrong}}}",
        f64::from(load_us) / f64::from(PERIOD_US),
        counts.received,
        counts.overflows,
        counts.fullest,
        counts.unread,
        counts.missed,
        transfers.0,
        transfers.1,
    );
    println!("{}", text.trim());
    Ok(text)
}
