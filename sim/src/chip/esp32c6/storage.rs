//! Registers without behaviour: they hold the written value and are reported once.

use linerate_regs::ESP32C6;

use super::report::ReportKind;

/// The peripherals' address ranges: those of the CPU subsystem, and all others.
const RANGES: [(u32, u32); 2] = [(0x2000_0000, 0x2000_2000), (0x6000_0000, 0x600d_0000)];

/// One word for each address in [`RANGES`], with the reset values of the registers.
#[derive(Debug)]
pub(super) struct Storage {
    words: Box<[u32]>,
    /// Bit 0: a register is known there; bit 1: it was accessed; bit 2: it was polled.
    flags: Box<[u8]>,
}

const KNOWN: u8 = 1;
const TOUCHED: u8 = 2;
const POLLED: u8 = 4;

fn index(addr: u32) -> Option<usize> {
    let mut words = 0;
    for (begin, end) in RANGES {
        if (begin..end).contains(&addr) {
            return Some((words + (addr - begin) / 4) as usize);
        }
        words += (end - begin) / 4;
    }
    None
}

impl Storage {
    pub fn new() -> Self {
        let words: u32 = RANGES.iter().map(|(begin, end)| (end - begin) / 4).sum();
        let mut storage = Self {
            words: vec![0; words as usize].into_boxed_slice(),
            flags: vec![0; words as usize].into_boxed_slice(),
        };
        for block in ESP32C6.blocks() {
            for register in block.registers() {
                for offset in register.offsets() {
                    if let Some(i) = block.base.and_then(|base| index(base + offset)) {
                        storage.words[i] = register.reset;
                        storage.flags[i] = KNOWN;
                    }
                }
            }
        }
        storage
    }

    /// True if `addr` is in a peripheral's range.
    pub fn covers(addr: u32) -> bool {
        index(addr).is_some()
    }

    pub fn get(&self, addr: u32) -> u32 {
        index(addr).map_or(0, |i| self.words[i])
    }

    pub fn set(&mut self, addr: u32, value: u32) {
        if let Some(i) = index(addr) {
            self.words[i] = value;
        }
    }

    /// Keeps the accessed registers, so that none is reported again.
    pub fn keep_access_flags(&mut self, before: &Self) {
        self.flags.copy_from_slice(&before.flags);
    }

    /// Records an access; returns the report for the first one.
    pub fn touch(&mut self, addr: u32, write: bool) -> Option<ReportKind> {
        let flags = index(addr).map(|i| &mut self.flags[i])?;
        if *flags & TOUCHED != 0 {
            return None;
        }
        *flags |= TOUCHED;
        Some(if *flags & KNOWN != 0 {
            ReportKind::Stored { write }
        } else {
            ReportKind::UnknownRegister { write }
        })
    }

    /// Records that the register is polled; true the first time.
    pub fn mark_polled(&mut self, addr: u32) -> bool {
        let Some(flags) = index(addr).map(|i| &mut self.flags[i]) else {
            return false;
        };
        let is_first = *flags & POLLED == 0;
        *flags |= POLLED;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_reported_once() {
        let mut storage = Storage::new();
        assert_eq!(storage.get(0x6009_6110), 0x2800_0200);
        let report = storage.touch(0x6009_6110, true);
        assert_eq!(report, Some(ReportKind::Stored { write: true }));
        assert_eq!(storage.touch(0x6009_6110, false), None);
        let report = storage.touch(0x6009_6f00, false);
        assert_eq!(report, Some(ReportKind::UnknownRegister { write: false }));
    }
}
