//! Registers without behaviour: they hold the written value and are reported once.

use linerate_regs::ESP32C6;

use super::report::ReportKind;

/// The peripherals' address ranges: those of the CPU subsystem, and all others.
const RANGES: [(u32, u32); 2] = [(0x2000_0000, 0x2000_2000), (0x6000_0000, 0x600d_0000)];

/// One word for each address in [`RANGES`], with the reset values of the registers.
#[derive(Debug)]
pub(super) struct Storage {
    words: Box<[u32]>,
    /// Bit 0: a register is known there; bit 1: it was accessed.
    flags: Box<[u8]>,
}

const KNOWN: u8 = 1;
const TOUCHED: u8 = 2;

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
            ReportKind::Stored {
                name: register_name(addr).unwrap_or_default(),
                write,
            }
        } else {
            let block = ESP32C6
                .blocks()
                .filter(|block| {
                    block
                        .base
                        .is_some_and(|base| (base..base + 0x1000).contains(&addr))
                })
                .last();
            ReportKind::UnknownRegister {
                block: block.map(|block| block.name.to_owned()),
                write,
            }
        })
    }
}

/// `BLOCK.REGISTER` at `addr`.
pub(super) fn register_name(addr: u32) -> Option<String> {
    let found = ESP32C6.at(addr)?;
    let index = found.index.to_string();
    let name = found.register.name.replacen("{}", &index, 1);
    Some(format!("{}.{name}", found.block.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_reported_once_by_name() {
        let mut storage = Storage::new();
        assert_eq!(storage.get(0x6009_6110), 0x2800_0200);
        let report = storage.touch(0x6009_6110, true);
        let name = "PCR.SYSCLK_CONF".to_owned();
        assert_eq!(report, Some(ReportKind::Stored { name, write: true }));
        assert_eq!(storage.touch(0x6009_6110, false), None);
        let report = storage.touch(0x6009_6f00, false);
        let block = Some("PCR".to_owned());
        assert_eq!(
            report,
            Some(ReportKind::UnknownRegister {
                block,
                write: false
            })
        );
    }

    #[test]
    fn array_registers_have_their_index() {
        assert_eq!(
            register_name(0x6009_11e0).unwrap(),
            "GPIO.FUNC35_IN_SEL_CFG"
        );
        assert_eq!(register_name(0x6009_1001), None);
    }
}
