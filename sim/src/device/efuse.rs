//! eFuse controller: the factory-programmed read-only data.
//!
//! ESP32-C6 Technical Reference Manual, chapter "eFuse Controller".

use super::Device;
use crate::time::Instant;

const RD_MAC_SPI_SYS_0: u32 = 0x44;
const RD_MAC_SPI_SYS_1: u32 = 0x48;
const RD_MAC_SPI_SYS_3: u32 = 0x50;

/// `RD_MAC_SPI_SYS_3`: `WAFER_VERSION_MINOR` 1 and `WAFER_VERSION_MAJOR` 0, so revision v0.1.
const REVISION: u32 = 1 << 18;

/// The fuses; those without meaning here read as their reset values.
#[derive(Clone, Debug)]
pub struct Efuse {
    mac: [u8; 6],
}

impl Efuse {
    /// A chip whose base MAC address is `mac`.
    pub const fn new(mac: [u8; 6]) -> Self {
        Self { mac }
    }

    /// The base MAC address.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }
}

impl Device for Efuse {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        let [high @ .., b2, b3, b4, b5] = self.mac;
        match offset {
            RD_MAC_SPI_SYS_0 => Some(u32::from_be_bytes([b2, b3, b4, b5])),
            RD_MAC_SPI_SYS_1 => Some(u32::from_be_bytes([0, 0, high[0], high[1]])),
            RD_MAC_SPI_SYS_3 => Some(REVISION),
            _ => None,
        }
    }

    fn write(&mut self, offset: u32, _: u32, _: Instant) -> bool {
        matches!(
            offset,
            RD_MAC_SPI_SYS_0 | RD_MAC_SPI_SYS_1 | RD_MAC_SPI_SYS_3
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_stored_last_byte_first() {
        let mut efuse = Efuse::new([2, 0, 0, 0x12, 0x34, 0x56]);
        assert_eq!(
            efuse.read(RD_MAC_SPI_SYS_0, Instant::ZERO),
            Some(0x0012_3456)
        );
        assert_eq!(efuse.read(RD_MAC_SPI_SYS_1, Instant::ZERO), Some(0x0200));
    }
}
