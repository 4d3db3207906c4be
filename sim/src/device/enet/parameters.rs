//! Properties of the MAC that differ between chips and boards.

/// Properties of one chip, or of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Size of the receive FIFO.
    pub receive_fifo: u32,
    /// Size of the transmit FIFO.
    pub transmit_fifo: u32,
    /// Longest burst of a DMA path.
    pub burst: u32,
    /// Rate of each DMA path alone, receive and transmit, in bit/s.
    pub rates: [u64; 2],
    /// Time that the arbiter of the two DMA paths takes to change from one to the other, in ns.
    pub turnaround_ns: u64,
    /// Received frames per interrupt, and the longest time that one waits for it; 0: one each.
    pub coalesced: (u32, u64),
    /// Octets that must be free in the receive FIFO before the end of a frame that an overrun cut off is recorded; 0: it is
    /// recorded at once.
    pub overrun_end: u32,
    /// Width of the MIB counters: 16 or 32.
    pub counter_bits: u32,
    /// MDIO address of the PHY.
    pub phy: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            receive_fifo: 2048,
            transmit_fifo: 4096,
            burst: 64,
            rates: [1_000_000_000; 2],
            turnaround_ns: 0,
            coalesced: (0, 0),
            overrun_end: 0,
            counter_bits: 32,
            phy: 0,
        }
    }
}
