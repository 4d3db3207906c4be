//! The program `bench_agent` on QEMU's RV32 machine virt: virtio-net, served by `linerate-agent-firmware`.

#![no_std]
#![no_main]

#[cfg(feature = "interrupt_per_frame")]
mod interrupt;
#[cfg(feature = "interrupt_per_frame")]
#[path = "../../riscv/interrupts.rs"]
mod interrupts;
mod machine;
#[path = "../../memory/riscv.rs"]
mod memory;
#[path = "../../riscv/start.rs"]
mod start;

use core::time::Duration;
use linerate_agent_firmware::console::{event, info};
use linerate_agent_firmware::{Memory, Setup, run};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::Buffer;
use linerate_nic::ledger::Ledger;
use linerate_nic::mmio::Mmio;
use linerate_nic::virtio::{self, InitError, Queues, VirtioNet};
use machine::{Io, Virt};
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use static_cell::ConstStaticCell;

/// Frames that can be queued in each direction.
const FRAMES: usize = 256;
/// Used if the machine provides no address for the device.
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// There is no line rate that would be a limit.
const FASTEST_BITS_PER_S: u64 = 10_000_000_000;

type Network = VirtioNet<Mmio, Io, FRAMES>;

/// A buffer that begins two octets before a word boundary: behind the 12-octet virtio header and the Ethernet
/// header, the packet begins at a word.
#[repr(C, align(4))]
struct Shifted {
    _before: [u8; 2],
    octets: [u8; virtio::net::BUFFER_LEN],
}

impl Shifted {
    const EMPTY: Self = Self {
        _before: [0; 2],
        octets: [0; virtio::net::BUFFER_LEN],
    };
}

/// The driver's counters.
static LINERATE_LEDGER: Ledger = Ledger::new();

fn main() -> ! {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new(FASTEST_BITS_PER_S));
    static QUEUES: ConstStaticCell<Queues<FRAMES>> = ConstStaticCell::new(Queues::new());
    static BUFFERS: ConstStaticCell<[[Shifted; FRAMES]; 2]> =
        ConstStaticCell::new([const { [const { Shifted::EMPTY }; FRAMES] }; 2]);

    let mut machine = Virt::start();
    let buffers = BUFFERS
        .take()
        .each_mut()
        .map(|way| way.each_mut().map(|it| Buffer::new(&mut it.octets)));
    let Some(slot) = machine.network_slot() else {
        event(
            &mut machine,
            "error",
            format_args!("\"what\":\"no network device\""),
        );
        info(&mut machine, format_args!("{}", InitError::WrongDevice(0)));
        machine::stop()
    };
    let started = Network::start(
        slot,
        Io,
        QUEUES.take(),
        buffers,
        MAC_ADDRESS,
        &LINERATE_LEDGER,
    );
    let device = match started {
        Ok(device) => device,
        Err(error) => {
            event(&mut machine, "error", format_args!("\"what\":\"{error}\""));
            info(&mut machine, format_args!("{error}"));
            machine::stop()
        }
    };
    #[cfg(feature = "interrupt_per_frame")]
    let device = interrupt::share(device).expect("it is shared once");
    let setup = Setup {
        board: "qemu-riscv32-virt",
        driver: "virtio-net",
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 0, 2), 24),
        gateway: Ipv4Address::new(10, 0, 0, 1),
        clock_error: Duration::from_nanos(1_000_000_000 / machine::TICKS_PER_S),
        skew: 0,
        ledger: &LINERATE_LEDGER,
    };
    run(device, machine, MEMORY.take(), &setup)
}
