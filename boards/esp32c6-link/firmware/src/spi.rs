//! SPI 2 as a slave: the interrupt at the end of each transfer starts the next one with the other pair of buffers, and then
//! moves the octets between the buffers and the program's rings. The first two octets of a transfer, in each direction, are the
//! number of those behind them that count (docs/link-protocol.md, "Over SPI").

use core::cell::RefCell;
use critical_section::Mutex;
use esp_hal::Blocking;
use esp_hal::dma::{DmaRxBuf, DmaTxBuf};
use esp_hal::interrupt::{self, Priority};
use esp_hal::peripherals::{DMA_CH0, GPIO2, GPIO6, GPIO7, GPIO10, Interrupt, SPI2};
use esp_hal::spi::Mode;
use esp_hal::spi::slave::Spi;
use esp_hal::spi::slave::dma::SpiDmaTransfer;

use crate::counts::{Count, add};
use crate::ring::Ring;

/// Most octets of a transfer.
const LONGEST: usize = 512;
/// Octets of each ring.
const CAPACITY: usize = 1024;

/// The controller, its DMA channel and its pads.
pub struct Wires {
    /// The controller.
    pub spi: SPI2<'static>,
    /// Its DMA channel.
    pub channel: DMA_CH0<'static>,
    /// Pad of the clock.
    pub clock: GPIO6<'static>,
    /// Pad of the master's data.
    pub from_master: GPIO7<'static>,
    /// Pad of the data to the master.
    pub to_master: GPIO2<'static>,
    /// Pad of chip select.
    pub select: GPIO10<'static>,
}

type Buffers = (DmaRxBuf, DmaTxBuf);

/// What the interrupt handler shares with the program.
struct Slave {
    octets: usize,
    /// Under way.
    transfer: Option<SpiDmaTransfer<'static, Blocking, Buffers>>,
    /// For the next transfer.
    spare: Option<Buffers>,
    received: Ring<CAPACITY>,
    to_send: Ring<CAPACITY>,
}

static SLAVE: Mutex<RefCell<Option<Slave>>> = Mutex::new(RefCell::new(None));

/// Starts the slave for transfers of `octets`.
pub fn start(wires: Wires, octets: usize) {
    let octets = octets.clamp(3, LONGEST);
    let buffers = |receive: DmaRxBuf, send: DmaTxBuf| {
        let (mut receive, mut send) = (receive, send);
        receive.set_length(octets);
        send.set_length(octets);
        (receive, send)
    };
    let first = buffers(
        esp_hal::dma_rx_buffer!(LONGEST).expect("room for it"),
        esp_hal::dma_tx_buffer!(LONGEST).expect("room for it"),
    );
    let spare = buffers(
        esp_hal::dma_rx_buffer!(LONGEST).expect("room for it"),
        esp_hal::dma_tx_buffer!(LONGEST).expect("room for it"),
    );
    let spi = Spi::new(wires.spi, Mode::_0)
        .with_sck(wires.clock)
        .with_mosi(wires.from_master)
        .with_miso(wires.to_master)
        .with_cs(wires.select)
        .with_dma(wires.channel);
    critical_section::with(|token| {
        let (receive, send) = first;
        let transfer = spi.transfer(octets, receive, octets, send);
        SLAVE.borrow_ref_mut(token).replace(Slave {
            octets,
            transfer: transfer.ok(),
            spare: Some(spare),
            received: Ring::new(),
            to_send: Ring::new(),
        });
        SPI2::regs()
            .dma_int_ena()
            .modify(|_, w| w.trans_done().set_bit());
    });
    interrupt::bind_handler(Interrupt::SPI2, on_transfer);
}

/// Takes received octets; returns their number.
pub fn read(to: &mut [u8]) -> usize {
    with_slave(|slave| slave.received.pop(to))
}

/// Sends octets without waiting; returns the number of those for which there was room.
pub fn write(octets: &[u8]) -> usize {
    with_slave(|slave| slave.to_send.push(octets))
}

fn with_slave(act: impl FnOnce(&mut Slave) -> usize) -> usize {
    critical_section::with(|token| SLAVE.borrow_ref_mut(token).as_mut().map_or(0, act))
}

impl Slave {
    /// At the end of a transfer.
    fn exchange(&mut self) {
        let Some(transfer) = self.transfer.take_if(|it| it.is_done()) else {
            return;
        };
        let (spi, (receive, mut send)) = transfer.wait();
        // The next one may begin soon.
        if let Some((next_receive, next_send)) = self.spare.take() {
            let started = spi.transfer(self.octets, next_receive, self.octets, next_send);
            self.transfer = started.ok();
        }
        let received = &receive.as_slice()[..receive.number_of_received_bytes()];
        if let Some((count, rest)) = received.split_first_chunk() {
            let count = usize::from(u16::from_le_bytes(*count));
            let received = rest.get(..count).unwrap_or_default();
            let kept = self.received.push(received);
            add(Count::Unread, (received.len() - kept) as u32);
        }
        let room = &mut send.as_mut_slice()[..self.octets];
        if let Some((count, room)) = room.split_first_chunk_mut() {
            *count = (self.to_send.pop(room) as u16).to_le_bytes();
        }
        self.spare = Some((receive, send));
    }
}

#[esp_hal::handler(priority = Priority::Priority1)]
fn on_transfer() {
    critical_section::with(|token| {
        if let Some(slave) = SLAVE.borrow_ref_mut(token).as_mut() {
            slave.exchange();
        }
    });
}
