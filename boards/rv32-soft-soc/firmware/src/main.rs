//! Loops whose cycles a person can add up, timed with the hart's cycle counter, and the devices of
//! the board once each. One event a line on the console:
//! `@ {"event":"loop","name":"memcpy_ddr","bytes":1024,"cycles":...}`.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::fmt::Write;
use core::hint::black_box;
use core::ptr::{read_volatile, write_volatile};

use linerate_ether::checksum::checksum;

global_asm!(
    ".section .text.start, \"ax\"",
    ".global _start",
    "_start:",
    "la sp, _stack_top",
    "la t0, {trap}",
    "csrw mtvec, t0",
    "j {main}",
    trap = sym trap,
    main = sym main,
);

/// Addresses of `system.toml`.
const CONSOLE: usize = 0x0800_1000;
const TIMER: usize = 0x0800_2000;
const INTC: usize = 0x0800_3000;
const DMA: usize = 0x0800_4000;
/// Added to an address, it bypasses the data cache.
const UNCACHED: usize = 0x8000_0000;

/// Line of the timer at the interrupt controller.
const TIMER_LINE: u32 = 1;
const DMA_LINE: u32 = 2;
/// `mie.MEIE`.
const EXTERNAL: usize = 1 << 11;

const LEN: usize = 1024;

#[repr(align(64))]
#[expect(dead_code, reason = "accessed by address only")]
struct Buffer([u32; LEN / 4]);

static mut SOURCE: Buffer = Buffer([0; LEN / 4]);
static mut TARGET: Buffer = Buffer([0; LEN / 4]);
#[unsafe(link_section = ".packet")]
static mut PACKET: Buffer = Buffer([0; LEN / 4]);

struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            write(CONSOLE, u32::from(byte));
        }
        Ok(())
    }
}

fn write(addr: usize, value: u32) {
    // SAFETY: a register of a device of this board.
    unsafe { write_volatile(core::ptr::with_exposed_provenance_mut(addr), value) }
}

fn read(addr: usize) -> u32 {
    // SAFETY: a register of a device of this board, or its memory.
    unsafe { read_volatile(core::ptr::with_exposed_provenance(addr)) }
}

fn cycles() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { asm!("csrr {}, mcycle", out(reg) count) };
    count
}

/// Prints the cycles of `run`, the second time that it runs: its code is in the cache then.
fn time(name: &str, bytes: usize, mut run: impl FnMut()) {
    let mut taken = 0;
    for _ in 0..2 {
        let before = cycles();
        run();
        taken = cycles().wrapping_sub(before);
    }
    let _ = writeln!(
        Console,
        "@ {{\"event\":\"loop\",\"name\":\"{name}\",\"bytes\":{bytes},\"cycles\":{taken}}}"
    );
}

/// `count` rounds of two instructions.
#[inline(never)]
fn count_down(count: u32) {
    // SAFETY: registers only.
    unsafe {
        asm!(
            ".option push", ".option norvc", ".balign 32",
            "2: addi {0}, {0}, -1", "bnez {0}, 2b",
            ".option pop",
            inout(reg) count => _,
        );
    }
}

/// Loads each word from `from` on: three instructions a word.
#[inline(never)]
fn load_words(from: usize, words: usize) {
    // SAFETY: reads memory of this board.
    unsafe {
        asm!(
            ".option push", ".option norvc", ".balign 32",
            "2: lw {value}, 0({from})",
            "addi {from}, {from}, 4",
            "bne {from}, {end}, 2b",
            ".option pop",
            from = inout(reg) from => _,
            end = in(reg) from + 4 * words,
            value = out(reg) _,
        );
    }
}

/// Copies words: five instructions a word.
#[inline(never)]
fn copy_words(to: usize, from: usize, words: usize) {
    // SAFETY: the callers pass buffers of this program.
    unsafe {
        asm!(
            ".option push", ".option norvc", ".balign 32",
            "2: lw {value}, 0({from})",
            "addi {from}, {from}, 4",
            "sw {value}, 0({to})",
            "addi {to}, {to}, 4",
            "bne {from}, {end}, 2b",
            ".option pop",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            end = in(reg) from + 4 * words,
            value = out(reg) _,
        );
    }
}

extern "C" fn main() -> ! {
    let source = (&raw mut SOURCE).expose_provenance();
    let target = (&raw mut TARGET).expose_provenance();
    let packet = (&raw mut PACKET).expose_provenance();
    let words = LEN / 4;
    for index in 0..words {
        write(source + 4 * index, (index as u32).wrapping_mul(0x9e37_79b9));
    }
    time("null", 0, || {});
    time("count", 0, || count_down(1000));
    time("load_ddr", LEN, || load_words(source, words));
    time("load_ddr_uncached", LEN, || {
        load_words(source | UNCACHED, words)
    });
    time("load_packet", LEN, || load_words(packet, words));
    time("copy_ddr", LEN, || copy_words(target, source, words));
    time("copy_to_packet", LEN, || copy_words(packet, source, words));
    let mut sum = 0;
    time("checksum", LEN, || {
        // SAFETY: a buffer of this program, which nothing writes meanwhile.
        let bytes = unsafe { core::slice::from_raw_parts(source as *const u8, LEN) };
        sum = checksum(black_box(bytes));
    });
    time("dma_copy", LEN, || copy_by_dma(target, packet, LEN as u32));
    let equal = (0..words).all(|index| read(target + 4 * index) == read(packet + 4 * index));
    let ticks = wait_for_timer(9999);
    let _ = writeln!(
        Console,
        "@ {{\"event\":\"done\",\"checksum\":{sum},\"dma_equal\":{equal},\"timer_cycles\":{ticks}}}"
    );
    loop {
        // SAFETY: waits; no device interrupts any more.
        unsafe { asm!("wfi") };
    }
}

/// Copies with the DMA controller and sleeps until its interrupt.
fn copy_by_dma(to: usize, from: usize, bytes: u32) {
    write(DMA, 0);
    write(DMA + 0x04, from as u32);
    write(DMA + 0x08, to as u32);
    write(DMA + 0x0c, bytes);
    write(INTC + 4, 1 << DMA_LINE);
    // Words, go, interrupt, end with the length.
    write(DMA + 0x18, 1 << 2 | 1 << 3 | 1 << 4 | 1 << 7);
    sleep();
    write(DMA, 0);
    write(INTC + 4, 0);
}

/// Sleeps until the timer has counted `period` and one cycles; returns the cycles that it took.
fn wait_for_timer(period: u32) -> u32 {
    write(INTC + 4, 1 << TIMER_LINE);
    write(TIMER + 0x08, period & 0xffff);
    write(TIMER + 0x0c, period >> 16);
    let before = cycles();
    write(TIMER + 0x04, 1 << 0 | 1 << 2);
    sleep();
    let taken = cycles().wrapping_sub(before);
    write(TIMER, 0);
    write(INTC + 4, 0);
    taken
}

/// Waits for an interrupt without taking it: `mstatus.MIE` is off.
fn sleep() {
    // SAFETY: enables what may wake the hart, and sleeps.
    unsafe { asm!("csrs mie, {}", "wfi", in(reg) EXTERNAL) };
}

/// No trap is expected.
extern "C" fn trap() -> ! {
    let (cause, at): (usize, usize);
    // SAFETY: reads two registers.
    unsafe { asm!("csrr {}, mcause", "csrr {}, mepc", out(reg) cause, out(reg) at) };
    let _ = writeln!(
        Console,
        "@ {{\"event\":\"error\",\"cause\":{cause},\"at\":{at}}}"
    );
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    trap()
}
