//! The program `null`: `bench_agent` without its network, to measure the cost of a frame without a driver.

#![no_std]
#![no_main]

#[allow(dead_code, reason = "the network's part")]
mod machine;
#[path = "../../memory/riscv.rs"]
mod memory;
#[path = "../../riscv/start.rs"]
mod start;

use core::time::Duration;
use linerate_agent_firmware::null::NullDevice;
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_nic::device::Checksums;
use linerate_nic::ledger::Ledger;
use machine::Virt;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

const OWN: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const PEER: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
/// There is no line rate that would be a limit.
const FASTEST_BITS_PER_S: u64 = 10_000_000_000;
const CHECKSUMS: Checksums = Checksums::NONE;

static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    let mut machine = Virt::start();
    machine.network_slot();
    // Transmit buffers are aligned as those of virtio-net.
    let device = NullDevice::new([OWN, PEER], CHECKSUMS, 2, &LINERATE_LEDGER);
    let setup = Setup {
        board: "qemu-riscv32-virt",
        driver: "null",
        address: Ipv4Cidr::new(OWN, 24),
        gateway: PEER,
        clock_error: Duration::from_nanos(1_000_000_000 / machine::TICKS_PER_S),
        skew: 0,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}
