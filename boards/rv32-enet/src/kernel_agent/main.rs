//! The program `kernel_agent`: `bench_agent` with the boot line of `udp_sink`. It spends a stated number of cycles where a
//! kernel would work, per frame in both directions and per interrupt, and idles as a kernel does: in the WAIT mode, or
//! running. It sleeps up to the next tick of a kernel with 100 ticks per second, unless an interrupt wakes it.

#![no_std]
#![no_main]

#[path = "../udp_sink/boot.rs"]
mod boot;
#[path = "../connect.rs"]
mod connect;
mod costs;
mod counts;
mod idle;
#[path = "../machine.rs"]
mod machine;
#[path = "../udp_sink/spend.rs"]
mod spend;
#[path = "../../../riscv/start.rs"]
mod start;

use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::{Buffer, Coherent};
use linerate_nic::enet::{self, Config, Enet, Enhanced, Interface, Rings};
use linerate_nic::ledger::Ledger;
use linerate_nic::mdio::Abilities;
use linerate_nic::mmio::{Mmio, Registers};
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

use boot::Boot;
use costs::Costly;
use counts::{Count, count};
use idle::Idle;
use machine::Board;

/// Frames that can be queued in each direction.
const FRAMES: usize = 256;
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const FASTEST_BITS_PER_S: u64 = 1_000_000_000;
/// Frame truncation length register of the MAC.
const FTRL: usize = 0x1b0;
/// 100 ticks per second.
const TICK_NS: u64 = 10_000_000;

/// A buffer aligned to a cache line.
#[repr(align(64))]
struct Aligned([u8; enet::BUFFER_LEN]);

type Network = Enet<Mmio, Coherent, Enhanced, FRAMES>;

/// The driver's counters.
pub static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    static RINGS: ConstStaticCell<Rings<Enhanced, FRAMES>> = ConstStaticCell::new(Rings::new());
    static BUFFERS: ConstStaticCell<[[Aligned; FRAMES]; 2]> =
        ConstStaticCell::new([const { [const { Aligned([0; enet::BUFFER_LEN]) }; FRAMES] }; 2]);

    let (mut machine, registers) = Board::start();
    let boot = match Boot::read() {
        Ok(boot) => boot,
        Err(word) => {
            event(
                &mut machine,
                "error",
                format_args!("\"what\":\"boot line: {word}\""),
            );
            machine::stop()
        }
    };
    let config = Config {
        interface: Interface::Rgmii,
        bus_hz: machine::BUS_HZ,
        fifo: boot.fifo,
        promiscuous: false,
        verifies_checksums: true,
    };
    let abilities = if boot.pauses {
        Abilities::ALL_SPEEDS.with_flow_control()
    } else {
        Abilities::ALL_SPEEDS
    };
    let (mac, phy, link) = match connect::connect(registers, config, abilities) {
        Ok(connected) => connected,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            machine::stop()
        }
    };
    match link {
        Some(link) => info(&mut machine, format_args!("Link: {link}")),
        None => info(&mut machine, format_args!("No link")),
    }
    let buffers = BUFFERS
        .take()
        .each_mut()
        .map(|way| way.each_mut().map(|it| Buffer::new(&mut it.0)));
    let device = Network::start(
        mac,
        Coherent,
        RINGS.take(),
        buffers,
        MAC_ADDRESS,
        link,
        &LINERATE_LEDGER,
    )
    .with_phy(phy);
    if boot.truncation > 0 {
        machine::enet().write_at(FTRL, boot.truncation);
    }
    spend::calibrate();
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
