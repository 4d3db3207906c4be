//! Receives half-bits by counted cycles.
//!
//! The receive interrupt enters about 0.5 to 1 us after a transmission's first edge, so there are about 55 of
//! the 64 bits of preamble and SFD left. In the preamble the line toggles every 100 ns, at mid-bit: a falling
//! edge is the middle of a 0. The loop finds one and from then on samples every 8 cycles, free-running, in
//! the middle of each half-bit.
//!
//! ```text
//! bits        0     |    1     |    0     |    1     |
//! line    ‾‾‾‾\_____|_____/‾‾‾‾|‾‾‾‾\_____|_____/‾‾‾‾|
//! samples     ^falling  h   s    h    s     h    s
//!             edge    +75 +125 ns
//! ```
//!
//! The second half is the bit. Three equal samples in a row never occur in Manchester code, whichever half is
//! taken for the first, so they are the end of the transmission: high is TP_IDL, low is a line that fell
//! silent. A receiver that enters in the middle of a frame therefore continues until its end, and reports it
//! once.
//!
//! The receive pad is routed to all eight dedicated inputs, so a sample is 0 or 0xff and a bit is moved to
//! its position in a byte by a mask. Inputs are delayed by 2 cycles.
//!
//! No wait is unbounded, whatever the line does.

use core::arch::global_asm;

use super::super::pins::DEBUG;

/// End of a reception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The line was low all the time: the cause of the interrupt, most likely a link pulse, was over.
    Idle,
    /// The line stayed high longer than a half-bit pair may: the tail of TP_IDL.
    Tail,
    /// TP_IDL.
    Idl,
    /// The line fell silent.
    Silence,
    /// The buffer was full; the rest was skipped and is lost.
    Overlong,
}

const IDLE: u32 = 0;
const TAIL: u32 = 1;
const IDL: u32 = 2;
const SILENCE: u32 = 3;

/// Results of the assembly, in a0 and a1.
#[repr(C)]
struct Returned {
    end: *mut u8,
    how: u32,
}

unsafe extern "C" {
    /// Receives the current transmission.
    ///
    /// # Safety
    /// `begin..end` is writable, not empty, and nothing may interrupt it.
    fn linerate_phy_receive(begin: *mut u8, end: *mut u8) -> Returned;
}

// a0: next byte, a1: end of the buffer, a2: the byte being put together.
// Samples of even bits: t0 (first half) and t1, of odd bits: t5 and t2.
// At an end: a3 = bits of the last byte, t5 = the level, t6 = 0 when the bit before was no bit.
global_asm!(
    "
    .section .rwtext.linerate_phy_receive, \"ax\"
    .option push
    .option norvc
    .option norelax

    .macro linerate_receive_bit bit, first, second, before
    csrr    \\first, 0x804
    xor     t3, \\before, \\first
    .if \\bit == 7
    addi    a0, a0, 1
    .else
    nop
    .endif
    .rept 5
    nop
    .endr
    csrr    \\second, 0x804
    .if \\bit == 0
    andi    a2, \\second, 1
    nop
    .else
    andi    t4, \\second, 1 << \\bit
    or      a2, a2, t4
    .endif
    xor     t4, \\first, \\second
    or      t4, t4, t3
    beqz    t4, 7\\bit\\()f
    .if \\bit == 7
    sb      a2, -1(a0)
    .else
    nop
    nop
    .endif
    .endm

    .macro linerate_look level_branch, to, times
    .rept \\times
    csrr    t0, 0x804
    \\level_branch t0, \\to
    .endr
    .endm

    .global linerate_phy_receive
    .type   linerate_phy_receive, @function
    .balign 16
linerate_phy_receive:
    /* High within 150 ns? In a preamble the line is low for 100. */
    linerate_look bnez, 1f, 12
    li      a1, {idle}
    ret
1:  /* Low within 200 ns? */
    linerate_look beqz, 2f, 16
    li      a1, {tail}
    ret
    .balign 4
2:  /* The edge was 4 to 6 cycles before this one (2 of them the input's). The middle of the next
       half-bit but one is 12 after it: sample 6 from now, one early, since the loop's first branch
       back takes one more than all others. */
    li      t2, 0
    li      t5, 0xff
    .rept 4
    nop
    .endr
3:  linerate_receive_bit 0, t0, t1, t2
    linerate_receive_bit 1, t5, t2, t1
    linerate_receive_bit 2, t0, t1, t2
    linerate_receive_bit 3, t5, t2, t1
    linerate_receive_bit 4, t0, t1, t2
    linerate_receive_bit 5, t5, t2, t1
    linerate_receive_bit 6, t0, t1, t2
    linerate_receive_bit 7, t5, t2, t1
    bne     a0, a1, 3b

    /* The buffer is full. Wait for 8 equal samples (300 ns), but not longer than 2 ms. */
    li      t0, 50000
    mv      t1, t2
4:  li      t3, 8
5:  addi    t0, t0, -1
    beqz    t0, 6f
    csrr    t2, 0x804
    addi    t3, t3, -1
    beqz    t3, 6f
    beq     t1, t2, 5b
    mv      t1, t2
    j       4b
6:  li      a1, {overlong}
    j       9f

    .macro linerate_end bit, to
7\\bit: li  a3, \\bit
    j       \\to
    .endm
    linerate_end 0, 81f
    linerate_end 2, 81f
    linerate_end 4, 81f
    linerate_end 6, 81f
    linerate_end 1, 82f
    linerate_end 3, 82f
    linerate_end 5, 82f
77: li      a3, 7
    addi    a0, a0, -1
    j       82f
    /* Even bit: the one before is in t5 and t2. */
81: xor     t6, t5, t2
    mv      t5, t1
    j       8f
82: xor     t6, t0, t1
    mv      t5, t2
8:  csrci   0x805, {debug}
    csrsi   0x805, {debug}
    /* If the bit before was none either, it was idle, too. */
    seqz    t6, t6
    sub     a3, a3, t6
    blez    a3, 1f
    sb      a2, 0(a0)
    addi    a0, a0, 1
1:  li      a1, {idl}
    bnez    t5, 2f
    li      a1, {silence}
2:  ret
9:  csrci   0x805, {debug}
    csrsi   0x805, {debug}
    ret
    .size   linerate_phy_receive, . - linerate_phy_receive

    .option pop
    ",
    debug = const DEBUG,
    idle = const IDLE,
    tail = const TAIL,
    idl = const IDL,
    silence = const SILENCE,
    overlong = const 4,
);

/// Receives the current transmission into `buffer`; returns the number of bytes and the type of its end. The
/// debug pin goes low and high again when the end is detected.
///
/// # Safety
/// The receive pad is routed to all dedicated inputs, dedicated output 1 belongs to the PHY, and
/// interrupts are off.
#[inline(always)]
pub(super) unsafe fn transmission(buffer: &mut [u8]) -> (usize, End) {
    if buffer.is_empty() {
        return (0, End::Overlong);
    }
    let range = buffer.as_mut_ptr_range();
    // SAFETY: the range is the buffer's, which is not empty; the rest is guaranteed by the caller.
    let returned = unsafe { linerate_phy_receive(range.start, range.end) };
    let end = match returned.how {
        IDLE => End::Idle,
        TAIL => End::Tail,
        IDL => End::Idl,
        SILENCE => End::Silence,
        _ => End::Overlong,
    };
    (returned.end.addr() - range.start.addr(), end)
}

/// True if there is a signal on the line now: samples for a high level for 125 ns; within a frame the line is
/// low for at most 100.
#[inline(always)]
pub(super) fn carrier() -> bool {
    let seen: u32;
    // SAFETY: reads the dedicated inputs (10 times, 2 cycles each).
    unsafe {
        core::arch::asm!(
            "li {seen}, 0",
            ".rept 10",
            "csrr {sample}, 0x804",
            "or {seen}, {seen}, {sample}",
            ".endr",
            seen = out(reg) seen,
            sample = out(reg) _,
            options(nomem, nostack),
        );
    }
    seen != 0
}
