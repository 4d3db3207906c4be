//! SPI2 as the slave of a master outside, such as another chip.
//!
//! The master clocks octets and learns those of the slave at once. What it sends gets to memory with the next octets or when
//! chip select rises, because only then is it known which ones are the last of the transfer.

use super::{FSPIQ, OutsideTransfer, SPI2_DMA, Soc};
use crate::chip::esp32c6::wiring::{GDMA, SPI2};
use crate::mem::Memory;
use crate::pads::SpiOctets;
use crate::time::Instant;

impl Soc {
    /// The master clocks `octets`; the slave's are put into `sent`.
    pub fn clock_slave(&mut self, octets: &SpiOctets<'_>, sent: &mut [u8], memory: &mut Memory) {
        sent.fill(0xff);
        let is_ready = self.is_slave_wired() && self.spi().is_armed(octets.start);
        if !*self.outside.is_heard.get_or_insert(is_ready) {
            return;
        }
        self.receive_from_outside(false, memory);
        let (sends, _) = self.spi().slave_dma();
        let mut answer = vec![0; sent.len()];
        if sends {
            self.gdma().take(SPI2_DMA, &mut answer, memory);
        }
        if self.gpio.output_pads(FSPIQ.0, FSPIQ.1) != 0 {
            sent.copy_from_slice(&answer);
        }
        self.outside.received.extend(octets.sent);
    }

    /// The master's chip select rises; returns true if the slave took part in the transfer.
    pub fn release_slave(&mut self, now: Instant, memory: &mut Memory) -> bool {
        let is_heard = self.outside.is_heard == Some(true);
        if is_heard {
            self.receive_from_outside(true, memory);
            self.spi().release();
            self.sync_device(SPI2, now);
            self.sync_device(GDMA, now);
        }
        self.outside = OutsideTransfer::default();
        is_heard
    }

    fn receive_from_outside(&mut self, is_last: bool, memory: &mut Memory) {
        let received = std::mem::take(&mut self.outside.received);
        let (_, receives) = self.spi().slave_dma();
        if receives && !received.is_empty() {
            self.gdma().put(SPI2_DMA, &received, is_last, memory);
        }
    }
}
