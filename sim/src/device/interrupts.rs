//! The four interrupt registers that almost every peripheral has.

/// Raw status, enable, masked status and clear, as in the reference manual's "Interrupt" sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterruptRegisters {
    /// `INT_RAW`: events that occurred.
    pub raw: u32,
    /// `INT_ENA`: events that may interrupt.
    pub enable: u32,
}

impl InterruptRegisters {
    /// `INT_ST`: events that interrupt.
    pub const fn status(self) -> u32 {
        self.raw & self.enable
    }

    /// A write of `INT_CLR`.
    pub const fn clear(&mut self, bits: u32) {
        self.raw &= !bits;
    }

    /// Level of the interrupt output, 0 or 1.
    pub const fn level(self) -> u32 {
        (self.status() != 0) as u32
    }
}
