//! The device models that a soft SoC can have: one line each.

use crate::device::enet::{self, Enet};
use crate::device::{Device, Dma, Intc, IntervalTimer, JtagUart};

/// A device model.
#[derive(Debug)]
pub struct Model {
    /// Its name in board files.
    pub name: &'static str,
    /// Bytes of its registers.
    pub size: u32,
    /// Number of its bus-master ports.
    pub masters: usize,
    /// Its parameters in board files, each with its smallest and its largest value.
    pub parameters: &'static [(&'static str, u64, u64)],
    /// One-line description.
    pub description: &'static str,
    pub(super) make: fn() -> Box<dyn Device>,
}

/// Name of the interrupt controller, to which the others' interrupts lead.
pub(super) const INTERRUPT_CONTROLLER: &str = "intc";

/// Every model.
#[rustfmt::skip] // One line each.
static MODELS: &[Model] = &[
    model("dma", 0x20, 2, "copies memory as a bus master (read port, write port)", || Box::new(Dma::default())),
    Model { parameters: enet::PARAMETERS, ..model("enet", enet::SIZE, 2, "10/100/1000 Mbit/s MAC with DMA (receive port, transmit port)", || Box::new(Enet::default())) },
    model(INTERRUPT_CONTROLLER, 0x10, 0, "interrupt controller, 32 lines", || Box::new(Intc::default())),
    model("interval-timer", 0x20, 0, "32-bit timer", || Box::new(IntervalTimer::default())),
    model("jtag-uart", 0x08, 0, "console", || Box::new(JtagUart::default())),
];

const fn model(
    name: &'static str,
    size: u32,
    masters: usize,
    description: &'static str,
    make: fn() -> Box<dyn Device>,
) -> Model {
    Model {
        name,
        size,
        masters,
        parameters: &[],
        description,
        make,
    }
}

/// Every model, by name.
pub fn models() -> impl Iterator<Item = &'static Model> {
    MODELS.iter()
}

/// The model called `name`.
pub(super) fn find(name: &str) -> Option<&'static Model> {
    models().find(|model| model.name == name)
}
