//! Interrupt controller of a soft SoC: 32 level-triggered lines, an enable bit each.
//!
//! Registers of its own design: `pending` (0), masked by `enable` (4); `raw` (8).

use super::Device;
use crate::time::Instant;

const PENDING: u32 = 0;
const ENABLE: u32 = 4;
const RAW: u32 = 8;

/// The lines and their mask.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intc {
    enable: u32,
    levels: u32,
}

impl Intc {
    /// Sets the level of a line.
    pub fn set_line(&mut self, line: u8, level: bool) {
        let bit = 1 << (line & 31);
        self.levels = self.levels & !bit | if level { bit } else { 0 };
    }

    /// The enabled lines that are high.
    pub fn pending(&self) -> u32 {
        self.levels & self.enable
    }
}

impl Device for Intc {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        match offset {
            PENDING => Some(self.levels & self.enable),
            ENABLE => Some(self.enable),
            RAW => Some(self.levels),
            _ => None,
        }
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        match offset {
            ENABLE => self.enable = value,
            PENDING | RAW => {}
            _ => return false,
        }
        true
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.levels & self.enable != 0)
    }
}
