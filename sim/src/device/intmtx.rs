//! Interrupt matrix: routes the peripherals' interrupts to the lines of the CPU.
//!
//! ESP32-C6 Technical Reference Manual, chapter "Interrupt Matrix".

use super::Device;
use crate::time::Instant;

/// Interrupt sources of the ESP32-C6.
pub const SOURCES: usize = 77;

const STATUS: u32 = 0x134;

/// Input: source levels; output: line levels.
#[derive(Clone, Debug)]
pub struct IntMtx {
    map: [u8; SOURCES],
    sources: u128,
}

impl Default for IntMtx {
    fn default() -> Self {
        Self {
            map: [0; SOURCES],
            sources: 0,
        }
    }
}

impl IntMtx {
    /// Sets the level of one source; returns true if it changed.
    pub fn set_source(&mut self, source: usize, level: bool) -> bool {
        let before = self.sources;
        self.sources = before & !(1 << source) | u128::from(level) << source;
        self.sources != before
    }

    /// The levels of the 32 lines: the OR of the sources mapped to each.
    pub fn lines(&self) -> u32 {
        let mut lines = 0;
        let mut left = self.sources;
        while left != 0 {
            lines |= 1 << self.map[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        lines
    }
}

impl Device for IntMtx {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        if let Some(&line) = self.map.get(offset as usize / 4) {
            return Some(u32::from(line));
        }
        let word = offset.checked_sub(STATUS)? / 4;
        (word < 3).then(|| (self.sources >> (32 * word)) as u32)
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        if let Some(line) = self.map.get_mut(offset as usize / 4) {
            *line = value as u8 & 31;
            return true;
        }
        (STATUS..STATUS + 12).contains(&offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_routed_and_shown() {
        let mut matrix = IntMtx::default();
        matrix.write(30 * 4, 17, Instant::ZERO);
        matrix.write(57 * 4, 17, Instant::ZERO);
        assert!(matrix.set_source(30, true));
        assert!(matrix.set_source(57, true));
        assert!(!matrix.set_source(57, true));
        assert_eq!(matrix.lines(), 1 << 17);
        assert_eq!(matrix.read(STATUS, Instant::ZERO), Some(1 << 30));
        assert_eq!(matrix.read(STATUS + 4, Instant::ZERO), Some(1 << 25));
        matrix.set_source(30, false);
        matrix.set_source(57, false);
        assert_eq!(matrix.lines(), 0);
    }
}
