//! The device of the programs with a boot line, started as the line sets it.

use linerate_agent_firmware::console::{event, info};
use linerate_ether::frame::MacAddress;
use linerate_nic::dma::{Buffer, Coherent};
use linerate_nic::enet::{self, Config, Enet, Enhanced, Interface, Rings};
use linerate_nic::mdio::Abilities;
use linerate_nic::mmio::{Mmio, Registers};
use static_cell::ConstStaticCell;

use crate::boot::Boot;
use crate::machine::{self, Board};
use crate::{LINERATE_LEDGER, connect, spend};

/// Frames that can be queued in each direction.
const FRAMES: usize = 256;
const MAC_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// Frame truncation length register of the MAC.
const FTRL: usize = 0x1b0;

/// A buffer aligned to a cache line.
#[repr(align(64))]
struct Aligned([u8; enet::BUFFER_LEN]);

/// The network device.
pub type Network = Enet<Mmio, Coherent, Enhanced, FRAMES>;

/// Reads the boot line, starts the device and measures the cost of [`spend`]. Call it once.
pub fn start() -> (Board, Boot, Network) {
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
    (machine, boot, device)
}
