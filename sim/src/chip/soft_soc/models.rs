//! The device models that a soft SoC can have: one line each.

use std::ops::RangeInclusive;

use crate::device::dwmac::{self, Dwmac};
use crate::device::enet::{self, Enet};
use crate::device::{
    Checksum, Device, Direction, Dma, Intc, IntervalTimer, JtagUart, Lan91c111, Sgdma, Tse, Uart,
};
use crate::time::Span;

/// A number that a board file gives for a device.
#[derive(Debug)]
pub struct Parameter {
    /// Its field.
    pub name: &'static str,
    /// The valid values.
    pub valid: RangeInclusive<u64>,
    /// It must be a power of two.
    pub is_power_of_two: bool,
}

/// The streams of packets of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// It has an input.
    pub input: bool,
    /// It has an output, which leads to the input that `stream_to` names.
    pub output: bool,
}

/// A device model.
#[derive(Debug)]
pub struct Model {
    /// Its name in board files.
    pub name: &'static str,
    /// Bytes of its registers.
    pub size: u32,
    /// Number of its bus-master ports.
    pub masters: usize,
    /// Its streams.
    pub streams: Streams,
    /// Its numbers in board files, in the order of `make`'s argument.
    pub parameters: &'static [Parameter],
    /// One-line description.
    pub description: &'static str,
    make: fn(&[u64]) -> Box<dyn Device>,
}

/// Name of the interrupt controller, to which the others' interrupts lead.
pub(super) const INTERRUPT_CONTROLLER: &str = "intc";

/// Every model.
#[rustfmt::skip] // One line each.
static MODELS: &[Model] = &[
    model("checksum", 0x20, 1, "adds up memory as the Internet checksum does (read port)",
        |it| Box::new(Checksum::new(it.first().copied().unwrap_or(4) as u32))).with(NONE, CHECKSUM),
    model("dma", 0x20, 2, "copies memory as a bus master (read port, write port)", |_| Box::new(Dma::default())),
    model("dwmac", dwmac::SIZE, 1, "DesignWare MAC, 10/100 Mbit/s, with DMA and a PHY", |it| Box::new(dwmac(it))).with(NONE, DWMAC),
    model("enet", enet::SIZE, 2, "10/100/1000 Mbit/s MAC with DMA (receive port, transmit port)", |it| Box::new(enet(it))).with(NONE, ENET),
    model(INTERRUPT_CONTROLLER, 0x10, 0, "interrupt controller, 32 lines", |_| Box::new(Intc::default())),
    model("interval-timer", 0x20, 0, "32-bit timer", |_| Box::new(IntervalTimer::default())),
    model("jtag-uart", 0x08, 0, "console", |_| Box::new(JtagUart::default())),
    model("lan91c111", 0x10, 0, "LAN91C111 Ethernet MAC and PHY", |_| Box::new(Lan91c111::default())),
    model("sgdma-from-stream", 0x40, 3, "scatter-gather DMA from a stream (ports: descriptors read, written, data)",
        |it| Box::new(sgdma(Direction::FromStream, it))).with(IN, SGDMA),
    model("sgdma-to-stream", 0x40, 3, "scatter-gather DMA to a stream (ports: descriptors read, written, data)",
        |it| Box::new(sgdma(Direction::ToStream, it))).with(OUT, SGDMA),
    model("tse", 0x400, 0, "Triple-Speed Ethernet MAC with a PHY", |it| Box::new(tse(it))).with(BOTH, TSE),
    model("uart", 0x100, 0, "UART with FIFOs of 128 bytes and a baud rate", |_| Box::new(Uart::default())),
];

const NONE: Streams = Streams {
    input: false,
    output: false,
};
const IN: Streams = Streams {
    input: true,
    output: false,
};
const OUT: Streams = Streams {
    input: false,
    output: true,
};
const BOTH: Streams = Streams {
    input: true,
    output: true,
};

const ENET: &[Parameter] = &[
    number("receive_fifo_bytes", 256..=1 << 16),
    number("transmit_fifo_bytes", 1600..=1 << 16),
    number("burst_bytes", 8..=256),
    number("receive_bits_per_s", 1_000_000..=100_000_000_000),
    number("transmit_bits_per_s", 1_000_000..=100_000_000_000),
    number("turnaround_ns", 0..=100_000),
    number("coalesced_frames", 0..=255),
    number("coalesced_us", 0..=100_000),
    number("counter_bits", 16..=32),
    number("phy_address", 0..=31),
    number("overrun_end_bytes", 0..=1 << 12),
];

fn enet(values: &[u64]) -> Enet {
    let value = |index: usize| values.get(index).copied().unwrap_or_default();
    Enet::new(enet::Parameters {
        receive_fifo: value(0) as u32,
        transmit_fifo: value(1) as u32,
        burst: value(2) as u32 & !7,
        rates: [value(3), value(4)],
        turnaround_ns: value(5),
        coalesced: (value(6) as u32, value(7)),
        counter_bits: value(8) as u32,
        phy: value(9) as u8,
        overrun_end: value(10) as u32,
    })
}

const DWMAC: &[Parameter] = &[
    number("receive_fifo_bytes", 512..=1 << 15),
    number("transmit_fifo_bytes", 512..=1 << 15),
    number("pause_level_bytes", 0..=1 << 15),
    number("checksums", 0..=1),
    number("enhanced_descriptors", 0..=1),
    number("dma_first", 0..=1),
    number("phy_address", 0..=31),
    number("negotiation_ms", 0..=5000),
];

fn dwmac(values: &[u64]) -> Dwmac {
    let value = |index: usize| values.get(index).copied().unwrap_or_default();
    Dwmac::new(dwmac::Parameters {
        receive_fifo: value(0) as u32,
        transmit_fifo: value(1) as u32,
        pause_level: value(2) as u32,
        has_checksums: value(3) != 0,
        has_enhanced_descriptors: value(4) != 0,
        dma_first: value(5) != 0,
        phy: value(6) as u8,
        negotiation: Span::from_ms(value(7)),
    })
}

const CHECKSUM: &[Parameter] = &[power("burst_bytes", 4..=32)];

const SGDMA: &[Parameter] = &[
    power("burst_bytes", 4..=32),
    power("fifo_bytes", 32..=4096),
    number("descriptor_cycles", 0..=1000),
];

fn sgdma(direction: Direction, values: &[u64]) -> Sgdma {
    let value = |index: usize| values.get(index).copied().unwrap_or(32);
    Sgdma::new(direction, value(0) as u32, value(1) as u32, value(2) as u32)
}

const TSE: &[Parameter] = &[
    power("transmit_fifo_words", 64..=65_536),
    power("receive_fifo_words", 64..=65_536),
    number("phy_address", 0..=31),
    number("negotiation_ms", 1..=5000),
];

fn tse(values: &[u64]) -> Tse {
    let value = |index: usize| values.get(index).copied().unwrap_or(64);
    let negotiation = Span::from_ms(value(3));
    Tse::new(
        value(0) as u32,
        value(1) as u32,
        value(2) as u8,
        negotiation,
    )
}

const fn number(name: &'static str, valid: RangeInclusive<u64>) -> Parameter {
    Parameter {
        name,
        valid,
        is_power_of_two: false,
    }
}

const fn power(name: &'static str, valid: RangeInclusive<u64>) -> Parameter {
    Parameter {
        name,
        valid,
        is_power_of_two: true,
    }
}

const fn model(
    name: &'static str,
    size: u32,
    masters: usize,
    description: &'static str,
    make: fn(&[u64]) -> Box<dyn Device>,
) -> Model {
    Model {
        name,
        size,
        masters,
        streams: NONE,
        parameters: &[],
        description,
        make,
    }
}

impl Model {
    /// A device with `numbers`, one for each of [`Self::parameters`].
    pub fn create(&self, numbers: &[u64]) -> Box<dyn Device> {
        (self.make)(numbers)
    }

    const fn with(self, streams: Streams, parameters: &'static [Parameter]) -> Self {
        Self {
            streams,
            parameters,
            ..self
        }
    }
}

/// Every model, by name.
pub fn models() -> impl ExactSizeIterator<Item = &'static Model> {
    MODELS.iter()
}

/// The model called `name`.
pub(super) fn find(name: &str) -> Option<&'static Model> {
    models().find(|model| model.name == name)
}
