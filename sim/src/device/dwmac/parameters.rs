//! Properties of the MAC that differ between chips and boards.

use crate::time::Span;

/// Properties of one chip, or of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Size of the receive FIFO in bytes.
    pub receive_fifo: u32,
    /// Size of the transmit FIFO in bytes.
    pub transmit_fifo: u32,
    /// Level in bytes from which a receive FIFO below 4 KiB sends PAUSE frames; 0: never. Larger ones have thresholds.
    pub pause_level: u32,
    /// It inserts and verifies checksums.
    pub has_checksums: bool,
    /// It has descriptors of 8 words.
    pub has_enhanced_descriptors: bool,
    /// The DMA registers come first, as on the ESP32.
    pub dma_first: bool,
    /// MDIO address of the PHY.
    pub phy: u8,
    /// Duration of the PHY's negotiation.
    pub negotiation: Span,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            receive_fifo: 2048,
            transmit_fifo: 2048,
            pause_level: 1536,
            has_checksums: true,
            has_enhanced_descriptors: true,
            dma_first: false,
            phy: 0,
            negotiation: Span::ZERO,
        }
    }
}
