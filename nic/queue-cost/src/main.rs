//! Instructions retired by the operations of this queue and of bbqueue, on bare RV32IMAC.
//!
//! `cargo run --release` (speed) or `cargo run --profile size` (size), with `qemu-system-riscv32`
//! installed. QEMU counts instructions exactly with `-icount`; it does not count cycles.
#![no_std]
#![no_main]

use bbqueue::nicknames::Churrasco;
use core::arch::{asm, global_asm};
use core::fmt::Write;
use core::hint::black_box;
use linerate_nic::bitbang::MAX_RAW_LEN;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{self, Receiver, Reception, Stage};
use linerate_nic::queue::Queue;

const WORDS: usize = Queue::<0>::words_for(9, MAX_RAW_LEN);
static OWN: Queue<WORDS> = Queue::new();
static BBQUEUE: Churrasco<{ WORDS * 4 }> = Churrasco::new();
/// Lengths to commit, from a minimum packet to the longest, so that positions wrap everywhere.
const LENGTHS: [usize; 7] = [72, 1526, 583, 1526, 90, 1532, 301];
const ROUNDS: u32 = 7 * 100;

global_asm!(
    ".section .text.start",
    ".global _start",
    "_start:",
    "la sp, _stack_top",
    "call {main}",
    main = sym main,
);

/// Instructions retired so far.
#[inline(always)]
fn retired() -> u32 {
    let count: u32;
    // SAFETY: reads a counter, and is not reordered with memory accesses.
    unsafe { asm!("csrr {}, minstret", out(reg) count) };
    count
}

/// Prints average, in tenths, and maximum of the instructions that `operation` retires, less the
/// cost of measuring.
#[inline(always)]
fn measure(name: &str, mut operation: impl FnMut(usize) -> u32) {
    let (mut total, mut max) = (0, 0);
    for round in 0..ROUNDS {
        let cost = operation(black_box(LENGTHS[round as usize % LENGTHS.len()])) - 1;
        total += cost;
        max = cost.max(max);
    }
    let tenths = total * 10 / ROUNDS;
    let _ = writeln!(Uart, "{name:32} {:6}.{} {max:6}", tenths / 10, tenths % 10);
}

/// Instructions retired by `operation`.
#[inline(always)]
fn cost(operation: impl FnOnce()) -> u32 {
    let before = retired();
    operation();
    retired() - before
}

extern "C" fn main() -> ! {
    let _ = writeln!(Uart, "instructions                      average    max");
    measure("nothing", |_| cost(|| ()));
    if let Some((mut producer, mut consumer)) = OWN.split() {
        measure("own: grant + cancel", |_| {
            cost(|| {
                black_box(producer.grant(MAX_RAW_LEN).as_deref());
            })
        });
        measure("own: grant + commit", |len| {
            let cost = cost(|| {
                if let Some(grant) = producer.grant(MAX_RAW_LEN) {
                    black_box(&*grant);
                    grant.commit(len);
                }
            });
            drop(consumer.read());
            cost
        });
        measure("own: read + release", |len| {
            if let Some(grant) = producer.grant(MAX_RAW_LEN) {
                grant.commit(len);
            }
            cost(|| {
                black_box(consumer.read().as_deref());
            })
        });
    }
    let producer = BBQUEUE.framed_producer();
    let consumer = BBQUEUE.framed_consumer();
    measure("bbqueue: grant + cancel", |_| {
        cost(|| {
            black_box(producer.grant(MAX_RAW_LEN as u16).as_deref().ok());
        })
    });
    measure("bbqueue: grant + commit", |len| {
        let cost = cost(|| {
            if let Ok(grant) = producer.grant(MAX_RAW_LEN as u16) {
                black_box(&*grant);
                grant.commit(len as u16);
            }
        });
        if let Ok(frame) = consumer.read() {
            frame.release();
        }
        cost
    });
    measure("bbqueue: read + release", |len| {
        if let Ok(grant) = producer.grant(MAX_RAW_LEN as u16) {
            grant.commit(len as u16);
        }
        cost(|| {
            if let Ok(frame) = consumer.read() {
                black_box(&*frame);
                frame.release();
            }
        })
    });
    measure_mac();
    exit(0x5555)
}

/// The complete receive path around the PHY: work of the interrupt besides that of the PHY, and
/// work of the main thread per frame.
fn measure_mac() {
    let mut raw = [0x55; 1526];
    raw[7] = 0xD5;
    for (at, octet) in raw[8..1522].iter_mut().enumerate() {
        *octet = at as u8;
    }
    let fcs = linerate_ether::fcs::crc32(&raw[8..1522]).to_le_bytes();
    raw[1522..].copy_from_slice(&fcs);
    // Three bits late, as a receiver samples it.
    for at in 0..raw.len() {
        let next = raw.get(at + 1).copied().unwrap_or(0);
        raw[at] = raw[at] >> 3 | next << 5;
    }
    stage::<mac::ZeroCopy>(&ZERO_COPY, &raw, "zero-copy");
    stage::<mac::MainThread>(&MAIN_THREAD, &raw, "main-thread");
    stage::<mac::IsrAll>(&ISR_ALL, &raw, "isr-all");
    stage::<mac::IsrAll<mac::Bitwise>>(&BITWISE, &raw, "isr-all, bitwise");
}

static LEDGER: Ledger = Ledger::new();
static ZERO_COPY: Receiver<WORDS> = Receiver::new();
static MAIN_THREAD: Receiver<WORDS> = Receiver::new();
static ISR_ALL: Receiver<WORDS> = Receiver::new();
static BITWISE: Receiver<WORDS> = Receiver::new();

fn stage<S: Stage>(receiver: &'static Receiver<WORDS>, raw: &[u8], name: &str) {
    let Some((mut interrupt, mut main)) = receiver.split::<S, _>(&LEDGER, mac::AlwaysOn) else {
        return;
    };
    let _ = writeln!(Uart, "{name}");
    measure("  interrupt: link pulse", |_| {
        cost(|| {
            let _ = interrupt.receive(|_| Reception::LinkPulse);
        })
    });
    // The PHY's own writes are not counted.
    let mut receive = |writing: &mut u32| {
        let _ = interrupt.receive(|buffer| {
            *writing = cost(|| buffer[..raw.len()].copy_from_slice(raw));
            Reception::Packet(raw.len())
        });
    };
    measure("  interrupt: 1518 octets", |_| {
        let mut writing = 0;
        let cost = cost(|| receive(&mut writing));
        drop(main.receive());
        cost - writing
    });
    measure("  main thread: 1518 octets", |_| {
        receive(&mut 0);
        let mut got = false;
        let cost = cost(|| got = main.receive().is_some());
        assert!(got);
        cost
    });
}

/// The virt machine's 16550.
struct Uart;

impl Write for Uart {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the transmit register of the virt machine's UART.
            unsafe { (0x1000_0000 as *mut u8).write_volatile(byte) };
        }
        Ok(())
    }
}

/// Ends QEMU through the virt machine's test device.
fn exit(code: u32) -> ! {
    // SAFETY: the register of the virt machine's test device.
    unsafe { (0x0010_0000 as *mut u32).write_volatile(code) };
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let _ = writeln!(Uart, "{info}");
    exit(0x3333)
}
