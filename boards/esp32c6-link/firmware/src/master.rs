//! SPI 2 as the master: transfers of one length, which the program's loop runs, because a master decides when. The first two
//! octets of a transfer, in each direction, are the number of those behind them that count (docs/link-protocol.md, "Over SPI").
//!
//! Either the processor moves the octets between memory and the controller's data registers `SPI_W0` to `SPI_W15`, 64 of them
//! at a time, and waits for the clock; or GDMA does, and the program composes the next transfer meanwhile. Chip select is an
//! output of the program in both cases, so that it stays low for a transfer of any length.

use esp_hal::Blocking;
use esp_hal::dma::{DmaRxBuf, DmaTxBuf};
use esp_hal::gpio::{Level, Output, OutputConfig};
use esp_hal::peripherals::{DMA_CH0, GPIO2, GPIO6, GPIO7, GPIO10, SPI2};
use esp_hal::spi::Mode;
use esp_hal::spi::master::{Config, Spi, SpiDma, SpiDmaTransfer};
use esp_hal::time::{Duration, Instant, Rate};

/// Most octets of a transfer.
pub const LONGEST: usize = 512;
/// Octets of the number at the beginning of a transfer.
pub const HEAD: usize = 2;

/// The controller, its DMA channel and its pads.
pub struct Wires {
    /// The controller.
    pub spi: SPI2<'static>,
    /// Its DMA channel.
    pub channel: DMA_CH0<'static>,
    /// Pad of the clock.
    pub clock: GPIO6<'static>,
    /// Pad of the data to the slave.
    pub to_slave: GPIO7<'static>,
    /// Pad of the data from the slave.
    pub from_slave: GPIO2<'static>,
    /// Pad of chip select.
    pub select: GPIO10<'static>,
}

/// How the master transfers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Clock, hertz; the controller divides 80 MHz.
    pub hertz: u32,
    /// Octets of a transfer, up to [`LONGEST`].
    pub octets: usize,
    /// Least time from the end of a transfer to the beginning of the next one.
    pub pause: Duration,
    /// GDMA moves the octets.
    pub uses_dma: bool,
}

type Buffers = (DmaRxBuf, DmaTxBuf);

/// The controller.
enum Bus {
    /// The processor moves the octets.
    Registers(Spi<'static, Blocking>),
    /// DMA does; no transfer is under way.
    Idle(SpiDma<'static, Blocking>),
    /// DMA does; one is.
    Busy(SpiDmaTransfer<'static, Blocking, Buffers>),
}

/// The master.
pub struct Master {
    /// Empty only within a function.
    bus: Option<Bus>,
    select: Output<'static>,
    octets: usize,
    pause: Duration,
    /// From when on the next transfer may begin.
    free_at: Instant,
    /// The next transfer is composed.
    is_composed: bool,
    /// Without DMA, the next transfer is composed here, and what it receives is here afterwards.
    buffer: [u8; LONGEST],
    /// With DMA: the buffers of the next transfer, and other ones.
    next: Option<Buffers>,
    spare: Option<Buffers>,
}

impl Master {
    /// The master of a link.
    pub fn new(wires: Wires, settings: Settings) -> Self {
        let octets = settings.octets.clamp(HEAD + 1, LONGEST);
        let config = Config::default()
            .with_frequency(Rate::from_hz(settings.hertz))
            .with_mode(Mode::_0);
        let spi = Spi::new(wires.spi, config)
            .expect("a clock of the controller")
            .with_sck(wires.clock)
            .with_mosi(wires.to_slave)
            .with_miso(wires.from_slave);
        let bus = if settings.uses_dma {
            Bus::Idle(spi.with_dma(wires.channel))
        } else {
            Bus::Registers(spi)
        };
        Self {
            bus: Some(bus),
            select: Output::new(wires.select, Level::High, OutputConfig::default()),
            octets,
            pause: settings.pause,
            free_at: Instant::now(),
            is_composed: false,
            buffer: [0; LONGEST],
            next: settings.uses_dma.then(|| {
                buffers(
                    esp_hal::dma_rx_buffer!(LONGEST).expect("room for it"),
                    esp_hal::dma_tx_buffer!(LONGEST).expect("room for it"),
                    octets,
                )
            }),
            spare: settings.uses_dma.then(|| {
                buffers(
                    esp_hal::dma_rx_buffer!(LONGEST).expect("room for it"),
                    esp_hal::dma_tx_buffer!(LONGEST).expect("room for it"),
                    octets,
                )
            }),
        }
    }

    /// Octets of a transfer behind the number.
    pub const fn payload(&self) -> usize {
        self.octets - HEAD
    }

    /// Composes the next transfer, if that is not done yet: `compose` writes octets and returns their number.
    pub fn compose(&mut self, compose: impl FnOnce(&mut [u8]) -> usize) {
        if self.is_composed {
            return;
        }
        let room = match (&self.bus, &mut self.next) {
            (Some(Bus::Registers(_)), _) => &mut self.buffer[..],
            (_, Some((_, send))) => send.as_mut_slice(),
            _ => return,
        };
        if let Some((count, room)) = room[..self.octets].split_first_chunk_mut() {
            *count = (compose(room) as u16).to_le_bytes();
            self.is_composed = true;
        }
    }

    /// Begins a transfer if one is composed and its time has come. `receive` gets the octets of one that has ended.
    pub fn poll(&mut self, mut receive: impl FnMut(&[u8])) {
        let is_done = matches!(&self.bus, Some(Bus::Busy(transfer)) if transfer.is_done());
        let ended = if is_done { self.end() } else { None };
        let is_free = !matches!(self.bus, Some(Bus::Busy(_)));
        if self.is_composed && is_free && Instant::now() >= self.free_at {
            self.begin(&mut receive);
        }
        if let Some(buffers) = ended {
            receive(counted(&buffers.0.as_slice()[..self.octets]));
            let place = if self.next.is_none() {
                &mut self.next
            } else {
                &mut self.spare
            };
            *place = Some(buffers);
        }
    }

    /// Ends a transfer by DMA that is done; returns its buffers.
    fn end(&mut self) -> Option<Buffers> {
        let Some(Bus::Busy(transfer)) = self.bus.take() else {
            return None;
        };
        let (spi, buffers) = transfer.wait();
        self.select.set_high();
        self.free_at = Instant::now() + self.pause;
        self.bus = Some(Bus::Idle(spi));
        Some(buffers)
    }

    /// Begins the transfer that is composed, if the last one has ended; without DMA it ends here, too.
    fn begin(&mut self, receive: &mut impl FnMut(&[u8])) {
        let octets = self.octets;
        self.bus = match (self.bus.take(), self.next.take()) {
            (Some(Bus::Registers(mut spi)), _) => {
                let buffer = &mut self.buffer[..octets];
                self.select.set_low();
                let result = spi.transfer(buffer);
                self.select.set_high();
                self.free_at = Instant::now() + self.pause;
                self.is_composed = false;
                result.expect("a transfer without an error of SPI");
                receive(counted(buffer));
                Some(Bus::Registers(spi))
            }
            (Some(Bus::Idle(spi)), Some((receive, send))) => {
                self.select.set_low();
                self.is_composed = false;
                self.next = self.spare.take();
                Some(match spi.transfer_buffers(octets, receive, octets, send) {
                    Ok(transfer) => Bus::Busy(transfer),
                    Err((error, ..)) => panic!("SPI: {error:?}"),
                })
            }
            (bus, next) => {
                self.next = next;
                bus
            }
        };
    }
}

/// Buffers for transfers of `octets`.
fn buffers(mut receive: DmaRxBuf, mut send: DmaTxBuf, octets: usize) -> Buffers {
    receive.set_length(octets);
    send.set_length(octets);
    (receive, send)
}

/// The octets of a transfer that count.
fn counted(octets: &[u8]) -> &[u8] {
    let split = octets.split_first_chunk();
    split.map_or(&[], |(count, rest)| {
        let count = usize::from(u16::from_le_bytes(*count));
        rest.get(..count).unwrap_or_default()
    })
}
