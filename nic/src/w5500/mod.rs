//! W5500 behind SPI, in MACRAW mode: frames go to the stack of the program, not to the chip's own.
//!
//! [`Transport`] performs the SPI transactions: [`SpiTransport`] over embedded-hal's `SpiDevice`, or a board's own, such
//! as one that sends header and data in one transfer by DMA while the processor does something else.
//!
//! SPI is the bottleneck of this chip, and short transactions are mostly idle time. So the driver reads a frame and the
//! length of the next one in one transaction, reads all frames that arrived since the last look at the chip, and
//! returns their memory once. W5500 Datasheet 1.0.9.

mod driver;
mod port;
#[cfg(test)]
mod tests;
mod transport;

pub use driver::{InitError, Settings, TxSlot, W5500};
#[cfg(feature = "embedded-hal")]
pub use transport::SpiTransport;
pub use transport::{Address, Block, Buffer, FRAME_BUFFER, Finished, Transport};
