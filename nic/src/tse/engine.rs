//! One engine of the scatter-gather DMA.

use crate::mmio::Registers;

/// The registers.
pub(super) mod csr {
    linerate_regs::constants!(linerate_regs::TSE, "SGDMA":
        STATUS { ERROR EOP_ENCOUNTERED DESCRIPTOR_COMPLETED CHAIN_COMPLETED BUSY }
        CONTROL { CLEAR_INTERRUPT SW_RESET RUN IE_GLOBAL IE_CHAIN_COMPLETED IE_DESCRIPTOR_COMPLETED }
        NEXT
    );
}

const EVENTS: u32 = csr::STATUS::ERROR.mask()
    | csr::STATUS::EOP_ENCOUNTERED.mask()
    | csr::STATUS::DESCRIPTOR_COMPLETED.mask()
    | csr::STATUS::CHAIN_COMPLETED.mask();

/// Maximum polls until the current descriptor is done.
const MAX_POLLS: u32 = 100_000;

/// An engine.
#[derive(Debug)]
pub(super) struct Engine<R>(pub R);

impl<R: Registers> Engine<R> {
    /// Stops it at once; it accesses no memory after that.
    pub fn reset(&self) {
        self.0.write(csr::CONTROL, csr::CONTROL::SW_RESET.mask());
        self.0.write(csr::CONTROL, 0);
        self.0.write(csr::STATUS, EVENTS);
    }

    /// True if it works on a chain.
    #[inline]
    pub fn is_busy(&self) -> bool {
        csr::STATUS::BUSY.is_set(self.0.read(csr::STATUS))
    }

    /// Starts it at the descriptor at `address`, without interrupts.
    pub fn start(&self, address: usize) {
        self.0.write(csr::CONTROL, 0);
        self.0.write(csr::STATUS, EVENTS);
        self.0.write(csr::NEXT, address as u32);
        self.0.write(csr::CONTROL, csr::CONTROL::RUN.mask());
    }

    /// Stops it at the end of the current descriptor.
    pub fn finish(&self) {
        self.0.write(csr::CONTROL, 0);
        let _ = (0..MAX_POLLS).any(|_| !self.is_busy());
    }

    /// Enables the interrupt at the end of the chain, and after each descriptor if `each`.
    pub fn unmask(&self, each: bool) {
        let control = csr::CONTROL::RUN.mask()
            | csr::CONTROL::IE_GLOBAL.mask()
            | csr::CONTROL::IE_CHAIN_COMPLETED.mask()
            | csr::CONTROL::IE_DESCRIPTOR_COMPLETED.of(each.into());
        self.0.write(csr::CONTROL, control);
    }

    /// Disables the interrupt and clears a pending one.
    pub fn mask(&self) {
        let control = csr::CONTROL::RUN.mask() | csr::CONTROL::CLEAR_INTERRUPT.mask();
        self.0.write(csr::CONTROL, control);
        self.0.write(csr::STATUS, EVENTS);
    }
}
