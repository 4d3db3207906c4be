//! The program `kernel_agent`: `bench_agent` with the boot line of `udp_sink`. It spends a stated number of cycles where a
//! kernel would work, per frame in both directions and per interrupt, and idles as a kernel does: in the WAIT mode, or
//! running. It sleeps up to the next tick of a kernel with 100 ticks per second, unless an interrupt wakes it.

#![no_std]
#![no_main]

#[path = "../udp_sink/boot.rs"]
mod boot;
#[path = "../../../riscv/connect.rs"]
mod connect;
mod costs;
mod counts;
mod idle;
#[path = "../machine.rs"]
mod machine;
#[path = "../udp_sink/network.rs"]
mod network;
#[path = "../udp_sink/spend.rs"]
mod spend;
#[path = "../../../riscv/start.rs"]
mod start;

use core::time::Duration;
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_nic::enet as mac;
use linerate_nic::ledger::Ledger;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

use costs::Costly;
use counts::{Count, count};
use idle::Idle;

const FASTEST_BITS_PER_S: u64 = 1_000_000_000;
/// 100 ticks per second.
const TICK_NS: u64 = 10_000_000;

/// The driver's counters.
pub static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    let (machine, boot, device) = network::start();
    let setup = Setup {
        board: "rv32-enet",
        driver: "enet",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(5),
        skew: 2,
        ledger: &LINERATE_LEDGER,
    };
    count(Count::Ready, 1);
    let machine = Idle::new(machine, boot.waits, TICK_NS);
    run(Costly::new(device, boot), machine, MEMORY.take(), &setup)
}
