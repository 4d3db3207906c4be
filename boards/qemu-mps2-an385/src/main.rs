//! The program `bench_agent` on QEMU's machine mps2-an385: a LAN9118, served by `linerate-agent-firmware`.

#![no_std]
#![no_main]

mod machine;
#[path = "../../memory/arm.rs"]
mod memory;
mod start;

use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::lan9118::{FrameBuffers, IrqPin, Lan9118};
use linerate_nic::ledger::Ledger;
use machine::Mps2;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

/// Used if the device has no address.
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// Maximum rate of the device's PHY.
const FASTEST_BITS_PER_S: u64 = 100_000_000;

/// The driver's counters.
static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    static FRAMES: ConstStaticCell<FrameBuffers> = ConstStaticCell::new(FrameBuffers::new());

    let (mut machine, registers) = Mps2::start();
    let started = Lan9118::start(
        registers,
        IrqPin::ActiveHigh,
        FRAMES.take(),
        MAC_ADDRESS,
        &LINERATE_LEDGER,
    );
    let device = match started {
        Ok(device) => device,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            info(&mut machine, format_args!("{error}"));
            start::stop()
        }
    };
    let setup = Setup {
        board: "qemu-mps2-an385",
        driver: "lan9118",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(1_000_000_000 / machine::TICKS_PER_S),
        skew: 2,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}
