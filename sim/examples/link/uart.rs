//! What a UART's octets cost the chip's processor: by an interrupt at a threshold of the FIFO, and by DMA in chunks.

use linerate_sim::elf::Elf;
use linerate_sim::time::Span;

use crate::bench::{Bench, Choice};
use crate::end::End;
use crate::runs::quantile;

const BITS_PER_S: [u32; 2] = [921_600, 3_000_000];
const THRESHOLDS: [u32; 6] = [1, 8, 32, 64, 96, 120];
const CHUNKS: [u32; 4] = [16, 32, 64, 128];
/// Octets of a frame, no multiple of a chunk; number and distance of the frames.
const FRAME: usize = 100;
const FRAMES: usize = 50;
const FRAME_EVERY: Span = Span::from_ms(4);
const MEASURED: Span = Span::from_ms(50);

/// A line of JSON for each bit rate and threshold or chunk. `mhz` is the CPU clock in the names of the runs.
pub fn costs(mhz: &str, elf: &Elf) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for bits_per_s in BITS_PER_S {
        let by_fifo = THRESHOLDS.map(|threshold| End::Uart {
            bits_per_s,
            threshold,
        });
        let by_dma = CHUNKS.map(|chunk| End::UartDma { bits_per_s, chunk });
        for end in by_fifo.into_iter().chain(by_dma) {
            let name = format!("cost-{}-{}-{mhz}", end.name(), end.threshold());
            let line = run(elf, end, &name).map_err(|error| format!("{name}: {error}"))?;
            println!("{}", line.trim());
            all.push(line);
        }
    }
    Ok(all)
}

fn run(elf: &Elf, end: End, name: &str) -> Result<String, String> {
    let start = || {
        let choice = Choice {
            end,
            message: 0,
            load_us: 0,
            period_us: 0,
        };
        Bench::start(elf, choice)
    };
    // What the program gets done of its other work, without octets and with them.
    let mut bench = start()?;
    let before = bench.counts()?.turns;
    bench.pass(MEASURED)?;
    let idle_turns = bench.counts()?.turns - before;
    let begin = bench.counts()?;
    let sent = bench.stream(MEASURED)?;
    let counts = bench.counts()?;
    let turns = counts.turns - begin.turns;
    let busy = 1.0 - f64::from(turns) / f64::from(idle_turns);
    let ns_per_octet = busy * MEASURED.as_ns() as f64 / f64::from(counts.received);
    let interrupts_of_stream = counts.interrupts;

    let mut bench = start()?;
    let mut delays_ns = bench.frames(FRAME, FRAMES, FRAME_EVERY)?;
    delays_ns.sort_unstable();
    let of_frames = bench.counts()?;
    let reports = bench.reports();
    if !reports.is_empty() {
        return Err(reports.join("; "));
    }
    let delay = |share| quantile(&delays_ns, share) as f64 / 1e3;
    Ok(format!(
        "  {{\"name\": \"{name}\", \"sent\": {sent}, \"received\": {}, \"missed_by_number\": {}, \"busy_share\": {busy:.4}, \
         \"processor_ns_per_octet\": {ns_per_octet:.0}, \"interrupts_per_100_octets\": {:.2}, \
         \"interrupts_per_frame\": {:.2}, \"frames_received\": {}, \"frame_delay_p50_us\": {:.1}, \
         \"frame_delay_p99_us\": {:.1}}}",
        counts.received,
        counts.missed,
        f64::from(interrupts_of_stream) * FRAME as f64 / f64::from(counts.received),
        f64::from(of_frames.interrupts) / FRAMES as f64,
        of_frames.received as usize / FRAME,
        delay(0.5),
        delay(0.99)
    ))
}
