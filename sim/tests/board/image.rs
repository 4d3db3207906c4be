//! Executables with a symbol.

use linerate_sim::elf::Elf;

use crate::asm::Program;

/// Size of an ELF section header and of a symbol.
const SECTION: u32 = 40;
const SYMBOL: u32 = 16;

/// `program` with one variable called `name`.
pub fn with_symbol(program: &Program, name: &str, addr: u32, size: u32) -> Elf {
    let mut file = program.elf_bytes();
    file.resize(file.len().next_multiple_of(4), 0);
    let strings = file.len() as u32;
    let mut names = b"\0".to_vec();
    names.extend(name.bytes());
    names.push(0);
    let names_len = names.len() as u32;
    file.extend(names);
    file.resize(file.len().next_multiple_of(4), 0);

    let symbols = file.len() as u32;
    file.extend([0; SYMBOL as usize]);
    for word in [1, addr, size] {
        file.extend(word.to_le_bytes());
    }
    // Global object, default visibility, absolute section.
    file.extend([0x11, 0, 0xf1, 0xff]);

    let sections = file.len() as u32;
    file.extend([0; SECTION as usize]);
    // name, type, flags, addr, offset, size, link, info, align, entry size.
    let symbol_table = [0, 2, 0, 0, symbols, 2 * SYMBOL, 2, 1, 4, SYMBOL];
    let string_table = [0, 3, 0, 0, strings, names_len, 0, 0, 1, 0];
    for word in symbol_table.into_iter().chain(string_table) {
        file.extend(u32::to_le_bytes(word));
    }
    // e_shoff, e_shnum, e_shstrndx.
    file[32..36].copy_from_slice(&sections.to_le_bytes());
    file[48..50].copy_from_slice(&3_u16.to_le_bytes());
    file[50..52].copy_from_slice(&2_u16.to_le_bytes());
    Elf::parse(&file).unwrap()
}
