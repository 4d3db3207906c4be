//! The cache before the flash, by how long loads from it take.

use core::sync::atomic::{AtomicU32, Ordering};

/// What is read. Its content does not matter. No larger alignment: with a gap before it, the image would
/// have one more segment in flash than the boot loader maps.
#[repr(align(4))]
struct Region([u8; BYTES + LONGEST_LINE]);

/// Bytes that are read, from the first place on where a line begins.
const BYTES: usize = 128 << 10;

// The section stays in flash in every stage: `ld/all_data.x` does not take it.
#[unsafe(link_section = ".rodata_wlog_linerate.flash")]
static REGION: Region = Region([0x5a; BYTES + LONGEST_LINE]);

/// Lines are no longer than this.
const LONGEST_LINE: usize = 512;
/// Lines that are fetched to see what that takes.
const FETCHED: usize = 16;

/// What the cache seems to be.
pub struct Cache {
    /// Bytes that come with one that is missed.
    pub line_bytes: Option<i64>,
    /// What it holds.
    pub bytes: Option<i64>,
    /// Lines that it holds of those that can be in one place only.
    pub ways: Option<i64>,
    /// What a miss takes, in thousandths of a cycle.
    pub miss: i64,
}

/// Looks at the cache. Before it nothing has read the region.
pub fn look() -> Cache {
    let line_bytes = (2..=LONGEST_LINE.ilog2())
        .map(|log| 1 << log)
        // Each time in a place that was not read before.
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

/// More than any hit takes longer than another.
const MISS_LEAST: u32 = 20;

struct Holds {
    miss_cycles: u32,
}

impl Holds {
    /// Of so many loads so far apart, done for the third time, those that miss.
    fn misses(&self, stride: usize, count: usize) -> usize {
        load(0, stride, count);
        load(0, stride, count);
        let cycles = load(0, stride, count);
        let hits = load(0, 0, count);
        (cycles.saturating_sub(hits) + self.miss_cycles / 2) as usize / self.miss_cycles as usize
    }

    /// The ways of a cache of so many bytes. Places that are the `n`th part of it apart are kept as
    /// long as they are `n`, or as many as there are ways if that is more; only so many can be
    /// looked at as fit the region.
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
    /// Keeps the compiler from knowing what is read.
    static SINK: AtomicU32 = AtomicU32::new(0);
    assert!(place + stride * (count - 1) < BYTES);
    let begin = REGION.0.as_ptr();
    let begin = begin.wrapping_add(begin.align_offset(LONGEST_LINE));
    let (cycles, word): (u32, u32);
    // SAFETY: reads words of the region only, all its places being aligned.
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
