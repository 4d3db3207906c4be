//! The runs, and what is measured in each.

use linerate_sim::elf::Elf;
use linerate_sim::time::Span;

use crate::bench::{Bench, Choice, Seen};

const WARM_UP: Span = Span::from_ms(100);
const MEASURED: Span = Span::from_ms(1000);
/// Octets in the receive FIFO at which the UART interrupts, of 128.
const THRESHOLD: u32 = 64;

/// Bit rate (0: USB) and octets of a message.
pub const GAPS: &[(u32, usize)] = &[
    (115_200, 32),
    (115_200, 128),
    (1_000_000, 32),
    (1_000_000, 128),
    (1_000_000, 512),
    (3_000_000, 32),
    (3_000_000, 128),
    (3_000_000, 512),
    (0, 32),
    (0, 64),
    (0, 128),
    (0, 512),
];
/// At half the clock.
pub const GAPS_80: &[(u32, usize)] = &[(3_000_000, 128), (0, 32), (0, 128), (0, 512)];

/// Bit rates and handler times of the load, microseconds of 500.
const LOADED: [u32; 3] = [1_000_000, 3_000_000, 5_000_000];
const LOADS_US: [u32; 11] = [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 475];
const PERIOD_US: u32 = 500;

/// Messages of one length over one port.
pub struct Gaps {
    pub name: String,
    pub message: usize,
    pub sorted_ns: Vec<u64>,
    bits_per_s: f64,
    seen: Seen,
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
        format!(
            "  {{\"name\": \"{}\", \"bits_per_s\": {:.0}, \"messages\": {}, \"wrong\": {}, \"damaged\": {}, \
             \"gap_p50_us\": {p50:.1}, \"gap_p99_us\": {p99:.1}, \"round_trip_p50_us\": {trip:.1}, \
             \"round_trip_p99_us\": {trip_p99:.1}}}",
            self.name,
            self.bits_per_s,
            self.seen.at.len(),
            self.seen.wrong,
            self.seen.damaged
        )
    }
}

/// Messages by port and length.
///
/// `mhz` is the CPU clock in the names of the runs.
pub fn gaps(mhz: &str, elf: &Elf, runs: &[(u32, usize)]) -> Result<Vec<Gaps>, String> {
    let mut all = Vec::new();
    for &(baud, message) in runs {
        let port = if baud == 0 {
            "usb".to_owned()
        } else {
            format!("uart-{baud}")
        };
        let name = format!("{port}-{message}-{mhz}");
        let choice = Choice {
            baud,
            threshold: THRESHOLD,
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
        let run = Gaps::of(name, message, seen)?;
        println!("{}", run.json().trim());
        all.push(run);
    }
    Ok(all)
}

/// Octets missed, and goodput of the link, by the load of an interrupt of higher priority; JSON.
pub fn loads(elf: &Elf) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for baud in LOADED {
        for load_us in LOADS_US {
            let choice = Choice {
                baud,
                threshold: THRESHOLD,
                message: 0,
                load_us,
                period_us: PERIOD_US,
            };
            let mut bench = Bench::start(elf, choice)?;
            let sent = bench.send_numbers(Span::from_ms(50))?;
            let counts = bench.counts()?;
            let loaded = Choice {
                message: 128,
                ..choice
            };
            let seen = Bench::start(elf, loaded)?.exchange(WARM_UP, Span::from_ms(50))?;
            let (wrong, link) = (seen.wrong, Gaps::of(String::new(), 128, seen));
            let goodput = link.map_or(0.0, |link| link.bits_per_s);
            let missed = 1.0 - f64::from(counts.received) / sent as f64;
            let text = format!(
                "  {{\"name\": \"load-uart-{baud}-{load_us}\", \"load\": {:.2}, \"sent\": {sent}, \"received\": {}, \
                 \"missed_share\": {missed:.4}, \"overflows\": {}, \"fullest\": {}, \"unread\": {}, \
                 \"missed_by_number\": {}, \"link_bits_per_s\": {goodput:.0}, \"link_wrong\": {wrong}}}",
                f64::from(load_us) / f64::from(PERIOD_US),
                counts.received,
                counts.overflows,
                counts.fullest,
                counts.unread,
                counts.missed
            );
            println!("{}", text.trim());
            all.push(text);
        }
    }
    Ok(all)
}
