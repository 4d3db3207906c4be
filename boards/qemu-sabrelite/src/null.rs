//! The program `null`: `bench_agent` without its network, to measure the cost of a frame without a driver.

#![no_std]
#![no_main]

#[expect(dead_code, reason = "the network's part")]
mod machine;
#[path = "../../memory/arm.rs"]
mod memory;
mod start;

use core::time::Duration;
use linerate_agent_firmware::null::NullDevice;
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_nic::device::{Checksums, Offload};
use linerate_nic::ledger::Ledger;
use machine::SabreLite;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

const OWN: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const PEER: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
/// There is no line rate that would be a limit.
const FASTEST_BITS_PER_S: u64 = 10_000_000_000;
/// Offloads of QEMU's ENET.
const BY_DEVICE: Offload = Offload {
    receive: false,
    transmit: true,
};
const CHECKSUMS: Checksums = Checksums {
    ipv4: BY_DEVICE,
    tcp: BY_DEVICE,
    udp: BY_DEVICE,
    icmp: Offload {
        receive: false,
        transmit: false,
    },
};

static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    let (machine, _) = SabreLite::start();
    // Transmit buffers are aligned as those of ENET.
    let device = NullDevice::new([OWN, PEER], CHECKSUMS, 0, &LINERATE_LEDGER);
    let setup = Setup {
        board: "qemu-sabrelite",
        driver: "null",
        address: Ipv4Cidr::new(OWN, 24),
        gateway: PEER,
        clock_error: Duration::from_nanos(1_000_000_000 / machine::TICKS_PER_S),
        skew: 2,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}
