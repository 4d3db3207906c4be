//! The loops count their own cycles, to verify that this core runs them as designed.
//!
//! The transmit loop is counted unchanged. The receive loop would leave an idle line at once, so a copy of it
//! that does not is counted, always late or always early. The copy is stored in flash and runs in RAM that
//! the boot loader has used: that RAM is free and, unlike stack and data, executable (esp-hal configures the
//! PMP so). The other code runs from flash, like the link's report.

use core::{arch::asm, cell::UnsafeCell, mem::MaybeUninit};

use super::{clock, tables::TABLES, transmit};
use crate::{
    event, info,
    phy::{LoopCount, without_interrupts},
};

/// Designed cycles of the receive loop for two octets, which are 256 on the line: always late, leaving out
/// everything optional, and always early.
const RECEIVE: [u32; 2] = [256 - 4, 256 + 2];
/// Designed cycles of the transmit loop for an octet: 16 half-bits of 8.
const TRANSMIT: u32 = 128;

unsafe extern "C" {
    static linerate_line_rate_count: u32;
    static linerate_line_rate_count_end: u32;
}

/// Capacity of the copy in words.
const COPY_WORDS: usize = 320;

struct Copy(UnsafeCell<MaybeUninit<[u32; COPY_WORDS]>>);

// SAFETY: used in `count_loops` only, with interrupts off.
unsafe impl Sync for Copy {}

#[unsafe(link_section = ".dram2_uninit")]
static COPY: Copy = Copy(UnsafeCell::new(MaybeUninit::uninit()));

/// Rounds and octets that are not counted: the synchronization settles, and the last octets are the FCS.
const FIRST: usize = 9;
/// Maximum number of counted rounds and octets.
const MOST: usize = 100;

/// Counts the loops over this number of rounds of the receive loop, at most `MOST`, and of octets of the
/// transmit loop. Call it before the PHY is started, as the transmit output toggles.
#[unsafe(link_section = ".literal.linerate_count")]
pub fn count_loops(rounds: usize) -> [LoopCount; 3] {
    let rounds = rounds.clamp(1, MOST);
    // The first run trains the branch prediction.
    let few_and_many = [FIRST, FIRST, FIRST + rounds];
    let mut room = [0; MOST + FIRST + 1];
    let octets = [0x55; MOST + FIRST];
    clock::start();
    let (receive, sent) = without_interrupts(|| {
        let code = copy();
        let receive = [-1, 1].map(|sign| {
            few_and_many.map(|rounds| count_rounds(code, &mut room, rounds, sign << 29))
        });
        // SAFETY: the PHY is not started yet; the counter counts, and interrupts are off.
        let sent = few_and_many.map(|n| unsafe { transmit::count(&octets[..n]) });
        (receive, sent)
    });
    let count = |what, [_, few, many]: [u32; 3], written| LoopCount {
        what,
        cycles: many - few,
        rounds: rounds as u32,
        written,
    };
    [
        count("receive, two octets, late", receive[0], RECEIVE[0]),
        count("receive, two octets, early", receive[1], RECEIVE[1]),
        count("transmit, octet", sent, TRANSMIT),
    ]
}

/// Counts the loops over a few rounds, about 150 us, and prints the result.
#[cold]
#[inline(never)]
#[unsafe(link_section = ".literal.linerate_count")]
pub fn report() {
    let counts = count_loops(4);
    let [late, early, transmit] = counts.map(|count| (count.millicycles() + 500) / 1000);
    let holds = counts.iter().all(LoopCount::holds);
    info!(
        "Receive loop {late}/{early} of {}/{} cycles, transmit loop {transmit} of {TRANSMIT}{}",
        RECEIVE[0],
        RECEIVE[1],
        if holds {
            ""
        } else {
            ": NOT as written, frames will be lost or not understood"
        }
    );
    event!(
        "loops",
        "\"receive\":[{late},{early}],\"transmit\":{transmit},\"holds\":{holds}"
    );
}

/// Copies the receive loop to the RAM where it runs.
#[unsafe(link_section = ".literal.linerate_count")]
fn copy() -> *const u32 {
    let to = COPY.0.get().cast::<u32>();
    let (begin, end) = (
        &raw const linerate_line_rate_count,
        &raw const linerate_line_rate_count_end,
    );
    let words = (end.addr() - begin.addr()) / size_of::<u32>();
    assert!(words <= COPY_WORDS);
    // SAFETY: both are that long, and nobody else uses the copy.
    unsafe {
        begin.copy_to_nonoverlapping(to, words);
        asm!("fence.i");
    }
    to
}

/// Cycles of `rounds` rounds of the copy at `code`, with a simulated lead of `ahead`.
#[unsafe(link_section = ".literal.linerate_count")]
fn count_rounds(code: *const u32, room: &mut [u16], rounds: usize, ahead: i32) -> u32 {
    let begin = room.as_mut_ptr().wrapping_add(1);
    assert!(room.len() > rounds);
    let cycles;
    // SAFETY: the loop stores between `begin - 1` and `begin + rounds`; changed registers are listed.
    unsafe {
        asm!(
            "jalr ra, 0({code})",
            code = in(reg) code,
            inlateout("a0") begin => cycles,
            inlateout("a1") begin.wrapping_add(rounds) => _,
            inlateout("a2") &raw const TABLES => _,
            inlateout("a3") ahead => _,
            out("ra") _, out("a4") _, out("a5") _, out("a6") _, out("a7") _,
            lateout("t0") _, out("t1") _, out("t2") _, out("t3") _, out("t4") _, out("t5") _,
            out("t6") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _,
        );
    }
    cycles
}
