//! Internal I2C master that reaches the analogue blocks (PLL, bias, ADC).
//!
//! Not in the reference manual; behaviour as esp-hal and ESP-IDF use it (`regi2c_ctrl_ll.h`).

use std::collections::BTreeMap;

use super::Device;
use crate::time::Instant;

const CTRL0: u32 = 0x00;
const CTRL1: u32 = 0x04;
const ANA_CONF0: u32 = 0x18;

/// `CTRL`: the transfer is a write.
const WRITE: u32 = 1 << 24;
/// `CTRL`: a transfer is in progress. Transfers take no time here.
const BUSY: u32 = 1 << 25;
/// `ANA_CONF0`: the PLL's calibration has ended.
const CALIBRATION_DONE: u32 = 1 << 24;

/// Both masters and the registers behind them, initially all 0.
#[derive(Clone, Debug, Default)]
pub struct I2cAna {
    control: [u32; 2],
    ana_conf0: u32,
    /// Value by (block, register).
    registers: BTreeMap<(u8, u8), u8>,
}

impl I2cAna {
    fn transfer(&mut self, command: u32) -> u32 {
        let [block, register, value, _] = command.to_le_bytes();
        if command & WRITE != 0 {
            self.registers.insert((block, register), value);
        }
        let value = self.registers.get(&(block, register)).copied().unwrap_or(0);
        command & !(0xff << 16 | BUSY) | u32::from(value) << 16
    }
}

impl Device for I2cAna {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            CTRL0 => self.control[0],
            CTRL1 => self.control[1],
            ANA_CONF0 => self.ana_conf0 | CALIBRATION_DONE,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        match offset {
            CTRL0 => self.control[0] = self.transfer(value),
            CTRL1 => self.control[1] = self.transfer(value),
            ANA_CONF0 => self.ana_conf0 = value,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back_and_no_transfer_is_ever_busy() {
        let mut i2c = I2cAna::default();
        i2c.write(
            CTRL0,
            WRITE | BUSY | 0x5a << 16 | 0x05 << 8 | 0x66,
            Instant::ZERO,
        );
        i2c.write(CTRL0, 0x06 << 8 | 0x66, Instant::ZERO);
        assert_eq!(i2c.read(CTRL0, Instant::ZERO), Some(0x06 << 8 | 0x66));
        i2c.write(CTRL0, 0x05 << 8 | 0x66, Instant::ZERO);
        assert_eq!(
            i2c.read(CTRL0, Instant::ZERO),
            Some(0x5a << 16 | 0x05 << 8 | 0x66)
        );
    }
}
