//! The cache of the flash, measured by the duration of loads.

use core::sync::atomic::{AtomicU32, Ordering};

/// The region to read. Its content is irrelevant. No larger alignment: with a gap before it, the image would
/// have one more segment in flash than the boot loader maps.
#[repr(align(4))]
struct Region([u8; BYTES + LONGEST_LINE]);

/// Bytes to read, from the first cache line boundary on.
const BYTES: usize = 128 << 10;

// The section stays in flash in every stage: `ld/all_data.x` does not take it.
#[unsafe(link_section = ".rodata_wlog_linerate.flash")]
static REGION: Region = Region([0x5a; BYTES + LONGEST_LINE]);

/// Maximum length of a cache line.
const LONGEST_LINE: usize = 512;
/// Number of lines fetched to measure a miss.
const FETCHED: usize = 16;

/// Detected properties of the cache.
pub struct Cache {
    /// Line size.
    pub line_bytes: Option<i64>,
    /// Capacity.
    pub bytes: Option<i64>,
    /// Associativity.
    pub ways: Option<i64>,
    /// Cost of a miss, in thousandths of a cycle.
    pub miss: i64,
}

/// Measures the cache. The region must not have been read before.
pub fn measure() -> Cache {
    let line_bytes = (2..=LONGEST_LINE.ilog2())
        .map(|log| 1 << log)
        // Each time at an address not read before.
        .find(|&offset| {
            let place = offset * 4;
            load(place, 0, 1);
            // A hit takes some cycles, a miss hundreds.
            load(place + offset, 0, 1) > load(place + offset, 0, 1) + MISS_LEAST
        });
    let begin = BYTES / 2;
    let cold = load(begin, LONGEST_LINE, FETCHED);
    let warm = load(begin, LONGEST_LINE, FETCHED);
    let miss = i64::from(cold - warm) * 1000 / FETCHED as i64;
    let holds = Holds {
        miss_cycles: (miss / 1000).max(1) as u32,
    };
    let line = line_bytes.unwrap_or(LONGEST_LINE);
    let bytes = (10..=BYTES.ilog2())
        .map(|log| 1 << log)
        .take_while(|&bytes: &usize| holds.misses(line, bytes / line) <= bytes / line / 8)
        .last()
        .filter(|&bytes| bytes < BYTES);
    let ways = bytes.and_then(|bytes| holds.ways(bytes));
    let figure = |value: Option<usize>| value.map(|value| value as i64);
    Cache {
        line_bytes: figure(line_bytes),
        bytes: figure(bytes),
        ways: figure(ways),
        miss,
    }
}

/// Cycles by which a miss exceeds any hit.
const MISS_LEAST: u32 = 20;

struct Holds {
    miss_cycles: u32,
}

impl Holds {
    /// Number of misses in `count` loads, `stride` apart, in their third pass.
    fn misses(&self, stride: usize, count: usize) -> usize {
        load(0, stride, count);
        load(0, stride, count);
        let cycles = load(0, stride, count);
        let hits = load(0, 0, count);
        (cycles.saturating_sub(hits) + self.miss_cycles / 2) as usize / self.miss_cycles as usize
    }

    /// The ways of a cache of this capacity. Addresses a fraction 1 / `n` of the capacity apart stay cached
    /// up to a number of `n`, or the number of ways if that is greater; the region limits the numbers that
    /// can be tried.
    fn ways(&self, bytes: usize) -> Option<usize> {
        [1, 2, 4, 8, 16].into_iter().find_map(|n| {
            let stride = bytes / n;
            let most = BYTES / stride;
            let kept = (1..=most)
                .take_while(|&count| self.misses(stride, count) == 0)
                .last()?;
            (kept < most).then_some(kept)
        })
    }
}

/// Cycles of `count` loads from `place` on, `stride` apart.
#[esp_hal::ram]
fn load(place: usize, stride: usize, count: usize) -> u32 {
    /// Prevents the compiler from removing the loads.
    static SINK: AtomicU32 = AtomicU32::new(0);
    assert!(place + stride * (count - 1) < BYTES);
    let begin = REGION.0.as_ptr();
    let begin = begin.wrapping_add(begin.align_offset(LONGEST_LINE));
    let (cycles, word): (u32, u32);
    // SAFETY: reads words of the region only; all addresses are aligned.
    unsafe {
        core::arch::asm!(
            ".option push",
            ".option norvc",
            "csrr {cycles}, 0x7e2",
            ".balign 16",
            "1:",
            "lw {word}, 0({at})",
            "add {at}, {at}, {stride}",
            "addi {left}, {left}, -1",
            "bnez {left}, 1b",
            "csrr {left}, 0x7e2",
            "sub {cycles}, {left}, {cycles}",
            ".option pop",
            cycles = out(reg) cycles,
            word = out(reg) word,
            at = inout(reg) begin.wrapping_add(place) => _,
            stride = in(reg) stride,
            left = inout(reg) count => _,
            options(nostack),
        );
    }
    SINK.store(word, Ordering::Relaxed);
    cycles
}
