//! The program `bench_agent` on the RV32 soft SoC: TSE with scatter-gather DMA, served by `linerate-agent-firmware`.

#![no_std]
#![no_main]

mod machine;
#[path = "../../riscv/start.rs"]
mod start;

use core::mem::MaybeUninit;
use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Machine, Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::Buffer;
use linerate_nic::ledger::Ledger;
use linerate_nic::mdio::{Abilities, LinkSettings, Phy};
use linerate_nic::mmio::Mmio;
use linerate_nic::tse::{self, Blocks, Config, InitError, Mac, Rings, Tse};
use machine::{Io, SoftSoc, uncached};
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

/// Frames that can be queued in each direction.
const FRAMES: usize = 64;
/// Used if the MAC has no address.
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// MDIO address of the PHY.
const PHY: u8 = 1;
/// Maximum duration of auto-negotiation, and interval at which the PHY is read.
const MAX_NEGOTIATION: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The line's rate.
const FASTEST_BITS_PER_S: u64 = 1_000_000_000;

/// The MAC of `system.toml`.
const CONFIG: Config = Config {
    transmit_fifo_words: 2048,
    receive_fifo_words: 2048,
    promiscuous: false,
};

/// A buffer aligned to a burst of the DMA.
#[repr(align(32))]
struct Aligned([u8; tse::BUFFER_LEN]);

type Buffers = [[Aligned; FRAMES]; 2];
type Network = Tse<Mmio, Io, FRAMES>;

/// The driver's counters, which the simulator reads.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    static RINGS: ConstStaticCell<MaybeUninit<Rings<FRAMES>>> =
        ConstStaticCell::new(MaybeUninit::zeroed());
    static BUFFERS: ConstStaticCell<MaybeUninit<Buffers>> =
        ConstStaticCell::new(MaybeUninit::zeroed());

    let (mut machine, registers) = SoftSoc::start();
    let (mac, phy, link) = match connect(registers, &mut machine) {
        Ok(connected) => connected,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            info(&mut machine, format_args!("{error}"));
            machine::stop()
        }
    };
    let address = mac.previous_address().unwrap_or(MAC_ADDRESS);
    let rings = uncached(RINGS.take(), Rings::new());
    let buffers: &'static mut Buffers = machine::uncached_zeroes(BUFFERS.take());
    let buffers = buffers
        .each_mut()
        .map(|way| way.each_mut().map(|it| Buffer::new(&mut it.0)));
    let device =
        Network::start(mac, Io, rings, buffers, address, link, &LINERATE_LEDGER).with_phy(phy);
    let setup = Setup {
        board: "rv32-soft-soc",
        driver: "tse",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(machine::CYCLE_NS),
        // The MAC drops two octets before each frame, so the payload begins at a word.
        skew: 0,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}

/// Resets the MAC and starts the PHY's auto-negotiation.
fn connect(
    registers: Blocks<Mmio>,
    machine: &mut SoftSoc,
) -> Result<(Mac<Mmio>, Phy, Option<LinkSettings>), InitError> {
    let mac = Mac::reset(registers, CONFIG)?;
    let phy = Phy::at(&mac, PHY)?;
    phy.negotiate(&mac, Abilities::ALL_SPEEDS.with_flow_control())?;
    let latest = machine.now().after(MAX_NEGOTIATION);
    let mut link = phy.link(&mac)?;
    while link.is_none() && machine.now() < latest {
        let until = machine.now().after(POLL_INTERVAL);
        machine.sleep(until);
        link = phy.link(&mac)?;
    }
    match link {
        Some(link) => info(machine, format_args!("Link: {link}")),
        None => info(machine, format_args!("No link")),
    }
    Ok((mac, phy, link))
}
