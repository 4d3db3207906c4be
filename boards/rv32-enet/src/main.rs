//! The program `bench_agent` on RV32 with ENET, served by `linerate-agent-firmware`.

#![no_std]
#![no_main]

#[path = "../../riscv/connect.rs"]
mod connect;
mod machine;
#[path = "../../riscv/start.rs"]
mod start;

use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::{Buffer, Coherent};
use linerate_nic::enet as mac;
use linerate_nic::enet::{self, Config, Enet, Interface, ReceiveFifo, Rings};
use linerate_nic::ledger::Ledger;
use linerate_nic::mdio::Abilities;
use linerate_nic::mmio::Mmio;
use machine::Board;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

#[cfg(not(feature = "legacy"))]
use linerate_nic::enet::Enhanced as Descriptors;
#[cfg(feature = "legacy")]
use linerate_nic::enet::Legacy as Descriptors;

/// Frames that can be queued in each direction.
const FRAMES: usize = 256;
/// Used if the MAC has no address.
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const FASTEST_BITS_PER_S: u64 = 1_000_000_000;

const CONFIG: Config = Config {
    interface: Interface::Rgmii,
    bus_hz: machine::BUS_HZ,
    fifo: ReceiveFifo::GIGABIT,
    promiscuous: false,
    verifies_checksums: true,
};

/// A buffer aligned to a cache line.
#[repr(align(64))]
struct Aligned([u8; enet::BUFFER_LEN]);

type Network = Enet<Mmio, Coherent, Descriptors, FRAMES>;

/// The driver's counters.
static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    static RINGS: ConstStaticCell<Rings<Descriptors, FRAMES>> = ConstStaticCell::new(Rings::new());
    static BUFFERS: ConstStaticCell<[[Aligned; FRAMES]; 2]> =
        ConstStaticCell::new([const { [const { Aligned([0; enet::BUFFER_LEN]) }; FRAMES] }; 2]);

    let (mut machine, registers) = Board::start();
    let abilities = Abilities::ALL_SPEEDS.with_flow_control();
    let (mac, phy, link) = match connect::connect(registers, CONFIG, abilities) {
        Ok(connected) => connected,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            info(&mut machine, format_args!("{error}"));
            machine::stop()
        }
    };
    match link {
        Some(link) => info(&mut machine, format_args!("Link: {link}")),
        None => info(&mut machine, format_args!("No link")),
    }
    let address = mac.previous_address().unwrap_or(MAC_ADDRESS);
    let buffers = BUFFERS
        .take()
        .each_mut()
        .map(|way| way.each_mut().map(|it| Buffer::new(&mut it.0)));
    let device = Network::start(
        mac,
        Coherent,
        RINGS.take(),
        buffers,
        address,
        link,
        &LINERATE_LEDGER,
    )
    .with_phy(phy);
    let setup = Setup {
        board: "rv32-enet",
        driver: "enet",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(5),
        skew: 2,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}
