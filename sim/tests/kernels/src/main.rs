//! Runs a few kernels and writes their results to the UART of QEMU's `virt` machine.
//!
//! The host patches two words of the image: which kernels run (a bit each) and how often.
#![no_std]
#![no_main]

use core::arch::global_asm;
use core::hint::black_box;
use core::ptr::{read_volatile, write_volatile};

use linerate_ether::checksum::checksum;
use linerate_ether::fcs::{Bitwise, Crc32, Tables};

global_asm!(
    ".pushsection .text.start, \"ax\"",
    ".global _start",
    "_start:",
    ".option push",
    ".option norvc",
    "j 1f",
    ".option pop",
    ".global KERNELS",
    "KERNELS: .word 0xff",
    ".global ROUNDS",
    "ROUNDS: .word 1",
    "1:",
    "li sp, 0x80200000",
    "j main",
    ".popsection",
);

unsafe extern "C" {
    static KERNELS: u32;
    static ROUNDS: u32;
}

const UART: *mut u8 = 0x1000_0000 as *mut u8;
/// QEMU's `sifive_test` device: this value ends the run.
const POWER: *mut u32 = 0x0010_0000 as *mut u32;
const POWER_OFF: u32 = 0x5555;

static mut BUFFERS: [[u8; 4096]; 2] = [[0; 4096]; 2];
static TABLE: Tables<1> = Tables::<1>::new();
static TABLES: Tables<8> = Tables::<8>::new();

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    // SAFETY: one hart, no interrupts; the words are patched before the start, the device
    // registers are those of the machine that this is linked for.
    unsafe {
        let buffers = &mut *(&raw mut BUFFERS);
        let kernels = read_volatile(&raw const KERNELS);
        let rounds = read_volatile(&raw const ROUNDS);
        let before = instret();
        let mut results = [0; 6];
        for round in 0..rounds {
            for (kernel, result) in results.iter_mut().enumerate() {
                if kernels >> kernel & 1 != 0 {
                    *result = run(kernel, round, buffers);
                }
            }
        }
        let retired = instret().wrapping_sub(before);
        for word in results.iter().chain(&[retired]) {
            for byte in word.to_le_bytes() {
                write_volatile(UART, byte);
            }
        }
        write_volatile(POWER, POWER_OFF);
    }
    #[allow(clippy::empty_loop, reason = "the machine is off")]
    loop {}
}

/// Instructions retired so far.
fn instret() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { core::arch::asm!("csrr {}, minstret", out(reg) count) };
    count
}

/// One pass of a kernel over 4 KiB.
fn run(kernel: usize, round: u32, buffers: &mut [[u8; 4096]; 2]) -> u32 {
    let [source, target] = buffers;
    match kernel {
        // Fill, then the CRC by 1 KiB of table.
        0 => {
            let mut state = round | 1;
            for byte in source.iter_mut() {
                state = xorshift(state);
                *byte = state as u8;
            }
            Crc32::with(&TABLE).update(source).finish()
        }
        1 => Crc32::with(&TABLES).update(source).finish(),
        2 => {
            for chunk in 0..8 {
                let (from, to) = (chunk * 64 + 1, chunk * 61);
                let len = 1514.min(source.len() - from);
                black_box(&mut *target)[to..to + len].copy_from_slice(&source[from..from + len]);
            }
            u32::from(target[100])
        }
        3 => u32::from(checksum(black_box(source))),
        4 => Crc32::with(&Bitwise).update(&source[..256]).finish(),
        _ => branchy(source, target),
    }
}

fn xorshift(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ x << 5
}

/// Code like that of protocols: calls, unpredictable branches, short loops.
fn branchy(text: &[u8], scratch: &mut [u8; 4096]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut state = State::Idle;
    for (i, &byte) in text.iter().enumerate() {
        state = state.next(byte);
        hash = match state {
            State::Idle => hash,
            State::Digit(n) => hash.wrapping_add(n),
            State::Escape => hash.rotate_left(7),
            State::Long { left, sum } => hash ^ (sum << (left & 15)),
        };
        if i % 64 == 63 {
            sort(&mut scratch[i - 63..=i]);
        }
    }
    for (i, chunk) in scratch.chunks(7).enumerate() {
        hash = hash.wrapping_mul(16_777_619) ^ fold(chunk, i as u32) / (u32::from(chunk[0]) + 1);
    }
    hash
}

#[derive(Clone, Copy)]
enum State {
    Idle,
    Digit(u32),
    Escape,
    Long { left: u32, sum: u32 },
}

impl State {
    #[inline(never)]
    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Idle, b'0'..=b'9') => Self::Digit(u32::from(byte - b'0')),
            (Self::Digit(n), b'0'..=b'z') if n < 1000 => Self::Digit(n * 10 + u32::from(byte)),
            (Self::Idle, 0x80..) => Self::Long { left: u32::from(byte & 15), sum: 0 },
            (Self::Long { left, sum }, _) if left > 0 => {
                Self::Long { left: left - 1, sum: sum + u32::from(byte) }
            }
            (Self::Idle, b' '..b'0') => Self::Escape,
            _ => Self::Idle,
        }
    }
}

#[inline(never)]
fn sort(bytes: &mut [u8]) {
    for i in 1..bytes.len() {
        let mut j = i;
        while j > 0 && bytes[j - 1] > bytes[j] {
            bytes.swap(j - 1, j);
            j -= 1;
        }
    }
}

#[inline(never)]
fn fold(bytes: &[u8], seed: u32) -> u32 {
    bytes.iter().fold(seed, |sum, &byte| sum.rotate_left(3) ^ u32::from(byte))
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a device register of the machine that this is linked for.
    unsafe { write_volatile(POWER, 0x3333) };
    loop {}
}
