//! The loader: validates an executable's memory layout once, so that later code can trust it.
//!
//! Segments are at their virtual address (`p_vaddr`). On the ESP32-C6 the boot loader copies RAM
//! segments and maps flash segments there; start-up code does not copy `.data`.

use std::collections::BTreeMap;

use object::elf::{EM_RISCV, ET_EXEC, FileHeader32, PF_X, PT_LOAD, STT_FUNC, STT_OBJECT};
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use object::{LittleEndian, elf};

use crate::mem::Memory;

/// Limit for the memory of all segments together: every chip here has less.
const MAX_MEMORY: u32 = 64 << 20;

/// Reason that a file cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// The file does not begin with an ELF header.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file for another kind of machine.
    #[error("made for {found}, needs a 32-bit little-endian RISC-V executable")]
    WrongMachine {
        /// The machine in the header.
        found: String,
    },
    /// An object file or a shared library.
    #[error("not linked into an executable (ELF type {e_type})")]
    NotExecutable {
        /// `e_type` of the header.
        e_type: u16,
    },
    /// A table or segment reaches past the end of the file.
    #[error("truncated or damaged: {what}")]
    Truncated {
        /// The part that could not be read.
        what: String,
    },
    /// Nothing to load.
    #[error("no segment to load")]
    NoSegments,
    /// A segment that wraps around the address space, or makes the program larger than any memory.
    #[error("segment at {addr:#010x} of {size} bytes is impossible")]
    BadSegment {
        /// Its address.
        addr: u32,
        /// Its size in memory.
        size: u32,
    },
    /// The entry point is in no executable segment.
    #[error("entry point {entry:#010x} is in no executable segment")]
    NoEntry {
        /// The entry point.
        entry: u32,
    },
    /// The program has no such variable.
    #[error("it has no variable `{0}`")]
    NoVariable(String),
    /// A variable has no room for its content.
    #[error("`{name}` has room for {room} octets, not for {octets}")]
    TooLong {
        /// Its name.
        name: String,
        /// Octets of the content.
        octets: usize,
        /// Octets of the variable.
        room: usize,
    },
    /// A segment is outside of the chip's memory.
    #[error("segment at {addr:#010x} of {size} bytes is outside of the chip's memory")]
    OutsideMemory {
        /// Its address.
        addr: u32,
        /// Its size in memory.
        size: u32,
    },
}

/// One part of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address at which the program sees it.
    pub addr: u32,
    /// Its first bytes; the rest up to `size` is zero.
    pub data: Vec<u8>,
    /// Bytes in memory, at least `data.len()`.
    pub size: u32,
    /// True if instructions may be fetched from it.
    pub executable: bool,
}

impl Segment {
    fn contains(&self, addr: u32) -> bool {
        addr.wrapping_sub(self.addr) < self.size
    }
}

/// A function or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name as in the file (mangled).
    pub name: String,
    /// Its first address.
    pub addr: u32,
    /// Its size in bytes; 0 if the file does not specify it.
    pub size: u32,
    /// True if it is a function.
    pub is_function: bool,
}

/// A checked executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    entry: u32,
    segments: Vec<Segment>,
    symbols: Vec<Symbol>,
    by_name: BTreeMap<String, usize>,
}

fn truncated(what: &str) -> impl Fn(object::read::Error) -> ElfError + '_ {
    move |error| ElfError::Truncated {
        what: format!("{what}: {error}"),
    }
}

impl Elf {
    /// Reads a 32-bit little-endian RISC-V executable. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// [`ElfError`] names the first problem.
    pub fn parse(bytes: &[u8]) -> Result<Self, ElfError> {
        let ident = bytes
            .get(..20)
            .filter(|ident| ident.starts_with(b"\x7fELF"));
        let ident = ident.ok_or(ElfError::NotElf)?;
        let machine = u16::from_le_bytes([ident[18], ident[19]]);
        let e_type = u16::from_le_bytes([ident[16], ident[17]]);
        if ident[4] != elf::ELFCLASS32.0 || ident[5] != elf::ELFDATA2LSB.0 || machine != EM_RISCV.0
        {
            return Err(ElfError::WrongMachine {
                found: describe(ident),
            });
        }
        if e_type != ET_EXEC.0 {
            return Err(ElfError::NotExecutable { e_type });
        }
        let header =
            FileHeader32::<LittleEndian>::parse(bytes).map_err(truncated("file header"))?;
        let segments = load_segments(header, bytes)?;
        let entry = header.e_entry(LittleEndian);
        if !segments.iter().any(|s| s.executable && s.contains(entry)) {
            return Err(ElfError::NoEntry { entry });
        }
        let symbols = symbols(header, bytes)?;
        let by_name = symbols
            .iter()
            .enumerate()
            .map(|(i, s)| (s.name.clone(), i))
            .collect();
        Ok(Self {
            entry,
            segments,
            symbols,
            by_name,
        })
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// The segments to load, by rising address.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Functions and variables, by rising address.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol `name`.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.by_name.get(name).map(|&i| &self.symbols[i])
    }

    /// The function that contains `addr`: the last one that starts at or before it, if its size is
    /// unknown or reaches that far.
    pub fn function_at(&self, addr: u32) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|s| s.addr <= addr);
        let last = self.symbols[..end].iter().rev().find(|s| s.is_function)?;
        (last.size == 0 || addr - last.addr < last.size).then_some(last)
    }

    /// Replaces the initial content of the variable `name` with `octets` and zeroes, as a boot loader would that changes
    /// the program's settings.
    ///
    /// # Errors
    /// [`ElfError::NoVariable`], [`ElfError::TooLong`]: nothing is changed.
    pub fn set_variable(&mut self, name: &str, octets: &[u8]) -> Result<(), ElfError> {
        let absent = || ElfError::NoVariable(name.to_owned());
        let symbol = self.symbol(name).filter(|it| !it.is_function);
        let &Symbol { addr, size, .. } = symbol.ok_or_else(absent)?;
        let room = size as usize;
        if octets.len() > room {
            let (name, octets) = (name.to_owned(), octets.len());
            return Err(ElfError::TooLong { name, octets, room });
        }
        let holds = |it: &&mut Segment| {
            let at = addr.wrapping_sub(it.addr);
            it.contains(addr) && it.size - at >= size
        };
        let segment = self.segments.iter_mut().find(holds).ok_or_else(absent)?;
        let at = (addr - segment.addr) as usize;
        if segment.data.len() < at + room {
            segment.data.resize(at + room, 0);
        }
        let (content, rest) = segment.data[at..at + room].split_at_mut(octets.len());
        content.copy_from_slice(octets);
        rest.fill(0);
        Ok(())
    }

    /// Writes every segment into `memory`, zeroes included.
    ///
    /// # Errors
    /// [`ElfError::OutsideMemory`] for the first segment that does not fit; earlier ones are then
    /// written already.
    pub fn load(&self, memory: &mut Memory) -> Result<(), ElfError> {
        for segment in &self.segments {
            let Segment { addr, size, .. } = *segment;
            let zeroes = vec![0; size as usize - segment.data.len()];
            memory
                .write(addr, &segment.data)
                .and_then(|()| memory.write(addr + segment.data.len() as u32, &zeroes))
                .map_err(|_| ElfError::OutsideMemory { addr, size })?;
        }
        Ok(())
    }
}

fn load_segments(
    header: &FileHeader32<LittleEndian>,
    bytes: &[u8],
) -> Result<Vec<Segment>, ElfError> {
    let headers = header
        .program_headers(LittleEndian, bytes)
        .map_err(truncated("program headers"))?;
    let mut segments = Vec::new();
    let mut total = 0;
    for header in headers.iter().filter(|h| h.p_type(LittleEndian) == PT_LOAD) {
        let (addr, size) = (header.p_vaddr(LittleEndian), header.p_memsz(LittleEndian));
        let data = header
            .data(LittleEndian, bytes)
            .map_err(|()| ElfError::Truncated {
                what: format!("segment at {addr:#010x} reaches past the end of the file"),
            })?;
        if size == 0 {
            continue;
        }
        total = size.saturating_add(total);
        let possible = total <= MAX_MEMORY && addr.checked_add(size - 1).is_some();
        if !possible || data.len() > size as usize {
            return Err(ElfError::BadSegment { addr, size });
        }
        let executable = header.p_flags(LittleEndian).0 & PF_X.0 != 0;
        segments.push(Segment {
            addr,
            data: data.to_vec(),
            size,
            executable,
        });
    }
    if segments.is_empty() {
        return Err(ElfError::NoSegments);
    }
    segments.sort_by_key(|s| s.addr);
    Ok(segments)
}

fn symbols(header: &FileHeader32<LittleEndian>, bytes: &[u8]) -> Result<Vec<Symbol>, ElfError> {
    let sections = header
        .sections(LittleEndian, bytes)
        .map_err(truncated("section headers"))?;
    let table = sections
        .symbols(LittleEndian, bytes, elf::SHT_SYMTAB)
        .map_err(truncated("symbol table"))?;
    let mut symbols: Vec<Symbol> = table
        .iter()
        .filter(|symbol| !symbol.is_undefined(LittleEndian))
        .filter_map(|symbol| {
            let kind = symbol.st_type();
            if kind != STT_FUNC && kind != STT_OBJECT && kind != elf::STT_NOTYPE {
                return None;
            }
            let name = table.symbol_name(LittleEndian, symbol).ok()?;
            let name = core::str::from_utf8(name).ok()?;
            // "$x" and ".L" names mark instruction sets and places inside functions.
            if name.is_empty() || name.starts_with('$') || name.starts_with(".L") {
                return None;
            }
            Some(Symbol {
                name: name.to_owned(),
                addr: symbol.st_value(LittleEndian),
                size: symbol.st_size(LittleEndian),
                is_function: kind == STT_FUNC,
            })
        })
        .collect();
    symbols.sort_by(|a, b| (a.addr, a.size, &a.name).cmp(&(b.addr, b.size, &b.name)));
    Ok(symbols)
}

/// Description of the machine in an ELF header.
fn describe(ident: &[u8]) -> String {
    let class = match ident[4] {
        1 => "32-bit",
        2 => "64-bit",
        _ => "unknown-width",
    };
    let big = ident[5] == elf::ELFDATA2MSB.0;
    let order = if big { "big-endian" } else { "little-endian" };
    let bytes = [ident[18], ident[19]];
    let machine = if big {
        u16::from_be_bytes(bytes)
    } else {
        u16::from_le_bytes(bytes)
    };
    let machine = match machine {
        3 => "x86".to_owned(),
        40 => "ARM".to_owned(),
        62 => "x86-64".to_owned(),
        94 => "Xtensa".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    };
    format!("{class} {order} {machine}")
}
