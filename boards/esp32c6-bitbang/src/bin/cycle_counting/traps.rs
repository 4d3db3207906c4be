//! What it costs to enter and leave traps, and to notice an edge on a pin.

use core::arch::{asm, naked_asm};

use esp_hal::{
    interrupt::{DirectBindableCpuInterrupt, Priority, enable_direct},
    peripherals::{GPIO, INTPRI, IO_MUX, Interrupt},
};

use crate::counter::forget_jumps;

/// The pin whose edges interrupt, and which dedicated output 0 drives: nothing has to be connected.
pub const PIN: usize = 7;

/// Counted in cycles.
pub struct Traps {
    /// From reading the counter over `ecall` to reading it at the handler's first instruction.
    pub exception: i64,
    /// From reading the counter over `mret` to reading it again.
    pub mret: i64,
    /// From reading the counter over enabling interrupts, one being pending, to reading it in the
    /// handler, which the vector jumps to; instructions that are still executed after enabling do not
    /// count. `None`: it did not come.
    pub interrupt: Option<i64>,
    /// From reading the counter over writing the pin to reading it in the handler. `None`: there was no
    /// interrupt.
    pub edge: Option<i64>,
}

/// Counts them. Interrupts are off afterwards.
pub fn count() -> Traps {
    enable_direct(
        Interrupt::FROM_CPU_INTR0,
        Priority::max(),
        DirectBindableCpuInterrupt::Interrupt0,
        handler,
    );
    enable_direct(
        Interrupt::GPIO,
        Priority::max(),
        DirectBindableCpuInterrupt::Interrupt1,
        handler,
    );
    let (exception, mret) = exception();
    Traps {
        exception: i64::from(exception),
        mret: i64::from(mret),
        interrupt: interrupt().map(i64::from),
        edge: edge().map(i64::from),
    }
}

/// The handler: t0 = counter at its first instruction, t1 = where the program was. Lets the interrupt
/// go by storing t3 at t2, and returns with interrupts off.
#[unsafe(naked)]
#[unsafe(link_section = ".rwtext.interrupt.cycle_counting")]
unsafe extern "C" fn handler() {
    naked_asm!(
        ".option push",
        ".option norvc",
        // Not across a word's border, which takes longer.
        ".balign 4",
        "csrr t0, 0x7e2",
        "csrr t1, mepc",
        "sw t3, 0(t2)",
        "li t3, 0x80", // mstatus.MPIE
        "csrc mstatus, t3",
        "mret",
        ".option pop",
    )
}

/// Entry and return of an exception.
#[esp_hal::ram]
fn exception() -> (u32, u32) {
    let (before, entered, left, after): (u32, u32, u32, u32);
    // SAFETY: the handler that `mtvec` names meanwhile returns behind the `ecall`, and the registers
    // that it changes are declared.
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            "csrrci {status}, mstatus, 8",
            "lla {vector}, 2f",
            "csrrw {vector}, mtvec, {vector}",
            "j 1f",
            ".balign 256",
            "2:",
            "csrr {entered}, 0x7e2",
            "csrr {left}, mepc",
            "addi {left}, {left}, 4",
            "csrw mepc, {left}",
            "csrr {left}, 0x7e2",
            "mret",
            "1:",
            "csrr {before}, 0x7e2",
            "ecall",
            "csrr {after}, 0x7e2",
            "csrw mtvec, {vector}",
            "csrw mstatus, {status}",
            ".option pop",
            status = out(reg) _,
            vector = out(reg) _,
            before = out(reg) before,
            entered = out(reg) entered,
            left = out(reg) left,
            after = out(reg) after,
        );
    }
    (entered - before, after - left)
}

/// Where no program is: the handler was not called.
const NOWHERE: u32 = 0;

/// Entry of an interrupt that is pending when interrupts are enabled.
#[esp_hal::ram]
fn interrupt() -> Option<u32> {
    let raise = INTPRI::regs().cpu_intr_from_cpu(0).as_ptr();
    let (before, entered, at, first): (u32, u32, u32, u32);
    // SAFETY: the handler's registers are declared; it withdraws the request.
    unsafe {
        asm!("csrci mstatus, 8");
        raise.write_volatile(1);
        // The vector's jump is not to be known; and the request has time to arrive.
        forget_jumps();
        asm!(
            ".option push",
            ".option norvc",
            "lla {first}, 1f",
            "csrr {before}, 0x7e2",
            "csrsi mstatus, 8",
            "1:",
            ".rept 32",
            "nop",
            ".endr",
            "csrci mstatus, 8",
            ".option pop",
            first = out(reg) first,
            before = out(reg) before,
            out("t0") entered,
            inout("t1") NOWHERE => at,
            in("t2") raise,
            inout("t3") 0 => _,
        );
        raise.write_volatile(0);
    }
    (at != NOWHERE).then(|| entered - before - (at - first) / 4)
}

/// From an edge that the chip itself makes on [`PIN`] to the handler.
#[esp_hal::ram]
fn edge() -> Option<u32> {
    // The pin hears itself, and interrupts at either edge.
    IO_MUX::regs().gpio(PIN).modify(|_, w| w.fun_ie().set_bit());
    // SAFETY: 3 = either edge; 1 = interrupt of the CPU.
    GPIO::regs()
        .pin(PIN)
        .modify(|_, w| unsafe { w.int_type().bits(3).int_ena().bits(1) });
    let clear = GPIO::regs().status_w1tc().as_ptr();
    let (before, entered, at): (u32, u32, u32);
    // SAFETY: the handler's registers are declared; it clears the pin's latch.
    unsafe {
        asm!("csrci 0x805, 1");
        clear.write_volatile(1 << PIN);
        forget_jumps();
        asm!(
            ".option push",
            ".option norvc",
            "csrsi mstatus, 8",
            "csrr {before}, 0x7e2",
            "csrsi 0x805, 1",
            ".rept 128",
            "nop",
            ".endr",
            "csrci mstatus, 8",
            "csrci 0x805, 1",
            ".option pop",
            before = out(reg) before,
            out("t0") entered,
            inout("t1") NOWHERE => at,
            in("t2") clear,
            inout("t3") 1 << PIN => _,
        );
        clear.write_volatile(1 << PIN);
    }
    (at != NOWHERE).then(|| entered - before)
}
