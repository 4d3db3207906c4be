//! The program `bench_agent` on QEMU's Sabre Lite: ENET, served by `linerate-agent-firmware`.

#![no_std]
#![no_main]

#[cfg(feature = "interrupt_per_frame")]
mod interrupt;
mod machine;
#[path = "../../memory/arm.rs"]
mod memory;
mod start;

use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Machine, Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::{Buffer, Coherent};
use linerate_nic::enet::{self, Config, Enet, InitError, Interface, Mac, ReceiveFifo, Rings};
use linerate_nic::ledger::Ledger;
use linerate_nic::mdio::{Abilities, LinkSettings, Phy};
use linerate_nic::mmio::Mmio;
use machine::SabreLite;
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
/// MDIO address of the PHY.
const PHY: u8 = 6;
/// Maximum duration of auto-negotiation: that of a gigabit PHY, with a margin.
const NEGOTIATES_FOR: Duration = Duration::from_secs(5);
/// There is no line rate that would be a limit.
const FASTEST_BITS_PER_S: u64 = 10_000_000_000;

const CONFIG: Config = Config {
    interface: Interface::Rgmii,
    bus_hz: machine::ENET_BUS_HZ,
    fifo: ReceiveFifo::GIGABIT,
    promiscuous: false,
    // QEMU's receiver does not.
    verifies_checksums: false,
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

    let (mut machine, registers) = SabreLite::start();
    let (mac, phy, link) = match connect(registers, &mut machine) {
        Ok(connected) => connected,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            info(&mut machine, format_args!("{error}"));
            start::stop()
        }
    };
    let address = mac.previous_address().unwrap_or(MAC_ADDRESS);
    let buffers = BUFFERS
        .take()
        .each_mut()
        .map(|way| way.each_mut().map(|it| Buffer::new(&mut it.0)));
    let rings = RINGS.take();
    let device = Network::start(
        mac,
        Coherent,
        rings,
        buffers,
        address,
        link,
        &LINERATE_LEDGER,
    )
    .with_phy(phy);
    #[cfg(feature = "interrupt_per_frame")]
    let device = interrupt::share(device).expect("it is shared once");
    let setup = Setup {
        board: "qemu-sabrelite",
        driver: "enet",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(1_000_000_000 / machine::TICKS_PER_S),
        skew: 2,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}

/// Resets the MAC and starts the PHY's auto-negotiation.
fn connect(
    registers: Mmio,
    machine: &mut SabreLite,
) -> Result<(Mac<Mmio>, Phy, Option<LinkSettings>), InitError> {
    let mac = Mac::reset(registers, CONFIG)?;
    let phy = Phy::at(&mac, PHY)?;
    phy.negotiate(&mac, Abilities::ALL_SPEEDS.with_flow_control())?;
    let latest = machine.now().after(NEGOTIATES_FOR);
    let mut link = phy.link(&mac)?;
    while link.is_none() && machine.now() < latest {
        link = phy.link(&mac)?;
    }
    match link {
        Some(link) => info(machine, format_args!("Link: {link}")),
        None => info(machine, format_args!("No link")),
    }
    Ok((mac, phy, link))
}
