//! Functions and variables of a firmware, from the symbols of its ELF.

use anyhow::Result;
use object::LittleEndian;
use object::elf::{FileHeader32, SHF_ALLOC, SHT_NOBITS, STT_FUNC, STT_OBJECT};
use object::read::elf::{FileHeader, SectionHeader, Sym};

/// A function or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Demangled, without the hash.
    pub name: String,
    pub addr: u32,
    pub size: u64,
    pub is_code: bool,
    /// True if the file contains its bytes: they are also in flash, from where the boot loader copies them.
    pub is_stored: bool,
}

/// Functions and variables of the ELF file `bytes`.
pub fn symbols(bytes: &[u8]) -> Result<Vec<Symbol>> {
    let header = FileHeader32::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let table = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB)?;
    let mut found = Vec::new();
    for (index, symbol) in table.enumerate() {
        let kind = symbol.st_type();
        let is_code = kind == STT_FUNC;
        let size = u64::from(symbol.st_size(endian));
        if size == 0 || !is_code && kind != STT_OBJECT {
            continue;
        }
        let Some(section) = table.symbol_section(endian, symbol, index)? else {
            continue;
        };
        let section = sections.section(section)?;
        if !section.sh_flags(endian).contains(SHF_ALLOC) {
            continue;
        }
        let name = String::from_utf8_lossy(symbol.name(endian, table.strings())?).into_owned();
        found.push(Symbol {
            name: format!("{:#}", rustc_demangle::demangle(&name)),
            addr: symbol.st_value(endian),
            size,
            is_code,
            is_stored: section.sh_type(endian) != SHT_NOBITS,
        });
    }
    Ok(found)
}
