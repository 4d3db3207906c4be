//! The performance counter (CSRs MPCER, MPCMR and MPCCR; ESP32-C6 TRM, "High-Performance CPU") and
//! the frame that every experiment runs in.

use core::{arch::asm, cell::UnsafeCell};

/// Numbers of rounds of each experiment's loop.
pub const ROUNDS: [u32; 5] = [1, 2, 3, 4, 1000];

/// Events that the counter counts (bits of MPCER).
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Event {
    /// Clock cycles.
    Cycles = 1 << 0,
    /// Instructions retired.
    Instructions = 1 << 1,
}

/// A loop to measure.
pub struct Experiment {
    /// Label for the table.
    pub what: &'static str,
    /// The loop: takes the number of rounds and where its data begin and end, returns the count.
    pub body: unsafe fn(u32, *mut u8, *mut u8) -> u32,
    /// Offset of the loop's data from a 256-byte boundary: 1 and 2 make words unaligned.
    pub offset: usize,
    /// Content of the data; the loops advance their pointer by the loaded value.
    pub fill: Fill,
}

/// Content of an experiment's data.
#[derive(Clone, Copy)]
pub enum Fill {
    /// No data are used.
    None,
    /// Bytes, each of value 1.
    Bytes,
    /// Words, each of value 4.
    Words,
}

/// The longest loop's data (the 1004 words of [`crate::snippets::round`]) and the largest offset.
const DATA_LEN: usize = 4096;

#[repr(align(256))]
struct Data(UnsafeCell<[u8; DATA_LEN]>);

// SAFETY: only the main thread touches it, in `run`.
unsafe impl Sync for Data {}

static DATA: Data = Data(UnsafeCell::new([0; DATA_LEN]));

impl Experiment {
    /// Runs the loop this number of rounds with the counter counting `event`.
    pub fn run(&self, event: Event, rounds: u32) -> u32 {
        // SAFETY: this is the only reference, and it ends with this block.
        unsafe {
            let data = &mut *DATA.0.get();
            match self.fill {
                Fill::None => {}
                Fill::Bytes => data.fill(1),
                Fill::Words => {
                    for (index, byte) in data.iter_mut().enumerate() {
                        *byte = if index % 4 == self.offset % 4 { 4 } else { 0 };
                    }
                }
            }
        }
        let step = if matches!(self.fill, Fill::Words) {
            4
        } else {
            1
        };
        assert!(self.offset + step * rounds as usize <= DATA_LEN);
        forget_jumps();
        let begin = DATA.0.get().cast::<u8>().wrapping_add(self.offset);
        let end = begin.wrapping_add(step * rounds as usize);
        // SAFETY: the counter's CSRs only count, and the loop accesses only the data between `begin` and
        // `end`, all of which exist.
        unsafe {
            asm!(
                "csrw 0x7e0, {event}",
                "csrw 0x7e1, zero",
                "csrwi 0x7e1, 1",
                event = in(reg) event as u32,
            );
            // The first read of the counter is itself counted.
            (self.body)(rounds, begin, end) - 1
        }
    }
}

/// Makes the core forget jump targets, so that each run executes its jumps for the first time, as in Niccle's
/// program, which prints a line between two runs: executes enough other jumps, one at each halfword, to fill
/// any buffer of a small core.
pub fn forget_jumps() {
    // SAFETY: each jump goes to the next instruction.
    unsafe { asm!(".rept 256", "j 9f", "9:", ".endr", options(nomem, nostack)) }
}

/// Defines an experiment from the instructions of its loop, which may use:
/// `a0` (0 at first), `a1` (the number of rounds), `a2` and `a3` (where the data begin and end),
/// `a4` (1 at first). They begin on a 4-byte boundary, behind a 32-bit instruction.
///
/// Code and counter reads are one `asm!`, so that no compiler-generated code is measured.
macro_rules! experiment {
    ($what:literal, [$($line:literal),* $(,)?] $(, data: $fill:ident + $offset:literal)?) => {{
        #[esp_hal::ram]
        unsafe fn body(rounds: u32, begin: *mut u8, end: *mut u8) -> u32 {
            let (before, after): (u32, u32);
            // SAFETY: the caller's guarantee; all registers used are declared.
            unsafe {
                core::arch::asm!(
                    "nop", "nop", "nop", "nop",
                    ".balign 16",
                    "csrw 0x7e2, zero",
                    "csrr {before}, 0x7e2",
                    $($line,)*
                    "csrr {after}, 0x7e2",
                    "nop", "nop", "nop", "nop",
                    before = out(reg) before,
                    after = out(reg) after,
                    inout("a0") 0 => _,
                    in("a1") rounds,
                    inout("a2") begin => _,
                    in("a3") end,
                    inout("a4") 1 => _,
                );
            }
            after - before
        }
        #[allow(unused_mut, unused_assignments)]
        const EXPERIMENT: $crate::counter::Experiment = {
            let mut fill = $crate::counter::Fill::None;
            let mut offset = 0;
            $(fill = $crate::counter::Fill::$fill; offset = $offset;)?
            $crate::counter::Experiment { what: $what, body, offset, fill }
        };
        EXPERIMENT
    }};
}
pub(crate) use experiment;
