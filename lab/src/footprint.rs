//! RAM and flash of a firmware's PHY and MAC, by the symbols of its ELF.
//!
//! Functions and variables are counted if their names contain the crate `linerate_nic` or
//! `linerate_ether`, the module `esp32c6_bitbang::phy` or the prefix `linerate_line_rate_` (the timed
//! loops); also the ledger and, separately, the receive queue. A function inlined into another counts
//! as part of that one, whichever it belongs to. Constants without a name and the stack are not counted.

use crate::symbols::{Symbol, symbols};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Address range of the ESP32-C6's RAM (Technical Reference Manual, table 5.3-1).
const RAM: Range<u32> = 0x4080_0000..0x4088_0000;
/// End of the name of the variable with the receive queue.
const QUEUE: &str = "::RECEIVER";
/// The variable with the device's counters.
const LEDGER: &str = "LINERATE_LEDGER";
/// Parts of the names of the link's functions and variables.
const LINK: [&str; 5] = [
    "line_rate::link::",
    "::link_timer",
    "::on_link_timer",
    "linerate_nic::link::",
    "phy10::link::",
];
/// Number of largest functions to list.
const NAMED: usize = 20;
/// Target for the code of PHY and MAC in RAM, octets.
pub const CODE_TARGET: u64 = 8 * 1024;

/// The part to which a symbol belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Receive loop and transmit loop.
    Loops,
    /// The receive interrupt, and the rest of the PHY without loops and link.
    Phy,
    /// Link pulses, integrity test, auto-negotiation.
    Link,
    /// The MAC, with its functions for frames and checksums; most of it runs on the main thread.
    Mac,
    /// The receive queue.
    Queue,
}

impl Part {
    const ALL: [Self; 5] = [Self::Loops, Self::Phy, Self::Link, Self::Mac, Self::Queue];

    const fn name(self) -> &'static str {
        match self {
            Self::Loops => "timed loops",
            Self::Phy => "receive interrupt, rest of the PHY",
            Self::Link => "link pulses, negotiation",
            Self::Mac => "MAC, frames, checksums",
            Self::Queue => "receive queue",
        }
    }

    /// The part to which the symbol `name` belongs, if any.
    fn of(name: &str) -> Option<Self> {
        let has = |part: &str| name.contains(part);
        if name.ends_with(QUEUE) {
            Some(Self::Queue)
        } else if name.starts_with("linerate_line_rate_") {
            Some(Self::Loops)
        } else if LINK.iter().any(|part| has(part)) {
            Some(Self::Link)
        } else if has("esp32c6_bitbang::phy::") {
            Some(Self::Phy)
        } else if has("linerate_nic::") || has("linerate_ether::") || name == LEDGER {
            Some(Self::Mac)
        } else {
            None
        }
    }
}

/// Sizes in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sizes {
    code_in_ram: u64,
    data_in_ram: u64,
    flash: u64,
}

/// Footprint of PHY and MAC.
#[derive(Debug, Default)]
pub struct Footprint {
    parts: BTreeMap<Part, Sizes>,
    /// Functions in RAM, the largest first.
    functions: Vec<(u64, String)>,
}

impl Footprint {
    /// Reads the symbols of the firmware at `elf`.
    ///
    /// # Errors
    /// It cannot be read or is not a 32-bit ELF.
    pub fn read(elf: &Path) -> Result<Self> {
        let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        Ok(Self::of(symbols(&bytes)?))
    }

    fn of(symbols: Vec<Symbol>) -> Self {
        let mut ours: Vec<_> = symbols
            .into_iter()
            .filter_map(|symbol| Some((Part::of(&symbol.name)?, symbol)))
            .collect();
        // Two symbols at one address count once.
        ours.sort_by_key(|(_, symbol)| symbol.addr);
        ours.dedup_by_key(|(_, symbol)| symbol.addr);
        let mut all = Self::default();
        for (part, symbol) in ours {
            let sizes = all.parts.entry(part).or_default();
            if RAM.contains(&symbol.addr) {
                if symbol.is_code {
                    sizes.code_in_ram += symbol.size;
                    all.functions.push((symbol.size, symbol.name));
                } else {
                    sizes.data_in_ram += symbol.size;
                }
            }
            if symbol.is_stored {
                sizes.flash += symbol.size;
            }
        }
        all.functions.sort_by(|a, b| b.cmp(a));
        all
    }

    /// Octets of code in RAM.
    pub fn code_in_ram(&self) -> u64 {
        self.parts.values().map(|sizes| sizes.code_in_ram).sum()
    }

    /// Octets of code in RAM that must not wait for flash: loops and receive interrupt.
    pub fn time_critical_code(&self) -> u64 {
        let of = |part| self.parts.get(part).map_or(0, |sizes| sizes.code_in_ram);
        of(&Part::Loops) + of(&Part::Phy)
    }
}

/// Formats a Markdown table of the parts and a list of the largest functions.
impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| octets of | code in RAM | data in RAM | flash |\n|---|---:|---:|---:|"
        )?;
        let mut total = Sizes::default();
        for part in Part::ALL {
            let sizes = self.parts.get(&part).copied().unwrap_or_default();
            if part == Part::Queue {
                row(f, "all of these", total)?;
            }
            row(f, part.name(), sizes)?;
            total.code_in_ram += sizes.code_in_ram;
            total.data_in_ram += sizes.data_in_ram;
            total.flash += sizes.flash;
        }
        writeln!(f, "\nThe largest functions in RAM:\n\n```text")?;
        for (size, name) in self.functions.iter().take(NAMED) {
            writeln!(f, "{size:5} {name}")?;
        }
        writeln!(f, "```")
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, sizes: Sizes) -> fmt::Result {
    let Sizes {
        code_in_ram,
        data_in_ram,
        flash,
    } = sizes;
    writeln!(f, "| {name} | {code_in_ram} | {data_in_ram} | {flash} |")
}

#[cfg(test)]
mod tests {
    use super::{Footprint, Part, RAM, Sizes, Symbol, symbols};
    use object::elf::{SHF_ALLOC, SHT_NOBITS, SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB};
    use object::elf::{STT_FUNC, STT_OBJECT, SymbolType};

    const FLASH: u32 = 0x4200_0000;
    /// Octets of the ELF header.
    const HEADER: u32 = 52;
    const FLAGS: u32 = SHF_ALLOC.0 as u32;

    /// An ELF file with the sections stored (1) and zeroed (2), and these symbols: name, address,
    /// size, type and section.
    fn elf(symbols: &[(&str, u32, u32, SymbolType, u16)]) -> Vec<u8> {
        let words = |values: &[u32]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let mut strings = vec![0];
        let mut table = words(&[0; 4]);
        for &(name, addr, size, kind, section) in symbols {
            table.extend(words(&[strings.len() as u32, addr, size]));
            table.extend([kind.0, 0]);
            table.extend(section.to_le_bytes());
            strings.extend(name.bytes().chain([0]));
        }
        let (symtab, strtab) = (table.len() as u32, strings.len() as u32);
        let headers = [
            [0; 10],
            [0, SHT_PROGBITS.0, FLAGS, 0, 0, 0, 0, 0, 1, 0],
            [0, SHT_NOBITS.0, FLAGS, 0, 0, 0, 0, 0, 1, 0],
            [0, SHT_SYMTAB.0, 0, 0, HEADER, symtab, 4, 1, 4, 16],
            [0, SHT_STRTAB.0, 0, 0, HEADER + symtab, strtab, 0, 0, 1, 0],
        ];
        let mut file = b"\x7fELF\x01\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([2, 0, 243, 0]);
        file.extend(words(&[1, 0, 0, HEADER + symtab + strtab, 0]));
        // e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx
        for half in [HEADER as u16, 0, 0, 40, headers.len() as u16, 4] {
            file.extend(half.to_le_bytes());
        }
        file.extend(table);
        file.extend(strings);
        for header in headers {
            file.extend(words(&header));
        }
        file
    }

    #[test]
    fn symbols_of_phy_and_mac_are_counted_by_part_and_memory() {
        let ram = RAM.start;
        let file = elf(&[
            ("linerate_line_rate_receive", ram, 3000, STT_FUNC, 1),
            (
                "_ZN12linerate_nic3mac4send17h0123456789abcdefE",
                ram + 4096,
                100,
                STT_FUNC,
                1,
            ),
            (
                "_ZN14linerate_ether3fcs4also17h0123456789abcdefE",
                ram + 4096,
                100,
                STT_FUNC,
                1,
            ),
            (
                "_ZN12linerate_nic4link4Link4idle17h0123456789abcdefE",
                FLASH,
                70,
                STT_FUNC,
                1,
            ),
            (
                "_ZN7smoltcp4poll17h0123456789abcdefE",
                ram + 8192,
                900,
                STT_FUNC,
                1,
            ),
            ("LINERATE_LEDGER", ram + 9216, 200, STT_OBJECT, 2),
            (
                "_ZN15esp32c6_bitbang3net8RECEIVER17h0123456789abcdefE",
                ram + 10240,
                5000,
                STT_OBJECT,
                2,
            ),
            (
                "_ZN15esp32c6_bitbang3phy9line_rate6TABLES17h0123456789abcdefE",
                ram + 20480,
                1280,
                STT_OBJECT,
                1,
            ),
            (
                "_ZN15esp32c6_bitbang3phy5clock3END17h0123456789abcdefE",
                ram + 30720,
                0,
                STT_OBJECT,
                1,
            ),
        ]);
        let footprint = Footprint::of(symbols(&file).expect("a whole file"));
        let of = |part| footprint.parts.get(&part).copied().unwrap_or_default();
        let sizes = |code_in_ram, data_in_ram, flash| Sizes {
            code_in_ram,
            data_in_ram,
            flash,
        };
        assert_eq!(of(Part::Loops), sizes(3000, 0, 3000));
        assert_eq!(of(Part::Phy), sizes(0, 1280, 1280));
        assert_eq!(of(Part::Link), sizes(0, 0, 70));
        assert_eq!(of(Part::Mac), sizes(100, 200, 100));
        assert_eq!(of(Part::Queue), sizes(0, 5000, 0));
        assert_eq!(
            (footprint.code_in_ram(), footprint.time_critical_code()),
            (3100, 3000)
        );
        let text = footprint.to_string();
        assert!(
            text.contains("| all of these | 3100 | 1480 | 4450 |"),
            "{text}"
        );
        assert!(text.contains("  100 linerate_nic::mac::send\n"), "{text}");
    }

    #[test]
    fn sizes_beyond_32_bits_are_summed() {
        let file = elf(&[
            (
                "_ZN12linerate_nic3mac4send17h0123456789abcdefE",
                FLASH,
                u32::MAX,
                STT_FUNC,
                1,
            ),
            (
                "_ZN12linerate_nic3mac4read17h0123456789abcdefE",
                FLASH + 4,
                u32::MAX,
                STT_FUNC,
                1,
            ),
        ]);
        let footprint = Footprint::of(symbols(&file).expect("a whole file"));
        let text = footprint.to_string();
        assert!(
            text.contains("| all of these | 0 | 0 | 8589934590 |"),
            "{text}"
        );
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        assert!(symbols(b"\x7fELF").is_err());
    }

    #[test]
    fn generic_code_of_other_crates_counts_for_its_type_parameters() {
        let symbol = |name: &str| Symbol {
            name: name.to_owned(),
            addr: RAM.start,
            size: 8,
            is_code: true,
            is_stored: true,
        };
        for (name, octets) in [
            (
                "core::ptr::drop_in_place<linerate_nic::mac::receive::RxFrame<(),1>>",
                8,
            ),
            (
                "<esp32c6_bitbang::net::one::Reply as smoltcp::phy::TxToken>::consume",
                0,
            ),
        ] {
            assert_eq!(
                Footprint::of(vec![symbol(name)]).code_in_ram(),
                octets,
                "{name}"
            );
        }
    }
}
