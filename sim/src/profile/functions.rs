//! The program's functions by address.

use std::collections::BTreeMap;
use std::ops::Range;

use super::activity::Work;
use crate::elf::Elf;

/// Number of a function in [`Functions`].
pub(super) type FunctionId = u32;

/// Functions by address, found in the ELF's symbols and among the ROM's entries.
#[derive(Debug)]
pub(super) struct Functions {
    list: Vec<Function>,
    /// Functions that do not overlap, by their first address.
    by_addr: BTreeMap<u32, FunctionId>,
}

#[derive(Debug)]
struct Function {
    range: Range<u32>,
    name: String,
    work: Work,
}

impl Functions {
    /// The functions of `elf` and, at their entries within `rom`, those named by `rom_name`.
    pub fn new(elf: &Elf, rom: Range<u32>, rom_name: &dyn Fn(u32) -> Option<&'static str>) -> Self {
        let mut functions = Self {
            list: Vec::new(),
            by_addr: BTreeMap::new(),
        };
        let symbols: Vec<_> = elf.symbols().iter().filter(|s| s.is_function).collect();
        for (at, symbol) in symbols.iter().enumerate() {
            // Several names may have one address; a symbol without a size reaches to the next one.
            let next = symbols[at + 1..].iter().find(|s| s.addr > symbol.addr);
            let end = match symbol.size {
                0 => next.map_or(symbol.addr.saturating_add(2), |next| next.addr),
                size => symbol.addr.saturating_add(size),
            };
            let end = next.map_or(end, |next| end.min(next.addr));
            let name = format!("{:#}", rustc_demangle::demangle(&symbol.name));
            functions.add(symbol.addr..end, name);
        }
        for addr in rom.step_by(2) {
            if let Some(name) = rom_name(addr) {
                functions.add(addr..addr + 2, format!("{name} (ROM)"));
            }
        }
        functions
    }

    fn add(&mut self, range: Range<u32>, name: String) -> FunctionId {
        let id = self.list.len() as FunctionId;
        self.by_addr.insert(range.start, id);
        let work = Work::of_function(&name);
        self.list.push(Function { range, name, work });
        id
    }

    /// The function at `addr`; code without a symbol becomes one.
    pub fn at(&mut self, addr: u32) -> FunctionId {
        let before = self.by_addr.range(..=addr).next_back();
        if let Some((_, &id)) = before
            && self.range(id).contains(&addr)
        {
            return id;
        }
        let next = self.by_addr.range(addr..).next();
        // Code without symbols is grouped by pages of 256 bytes.
        let page = addr & !0xff;
        let start = before.map_or(page, |(_, &id)| self.range(id).end.max(page));
        let end = page.saturating_add(0x100);
        let end = next.map_or(end, |(&start, _)| end.min(start));
        self.add(
            start.min(addr)..end.max(addr.saturating_add(2)),
            format!("{page:#010x}"),
        )
    }

    /// Address range of function `id`.
    pub fn range(&self, id: FunctionId) -> Range<u32> {
        self.list[id as usize].range.clone()
    }

    /// Its name.
    pub fn name(&self, id: FunctionId) -> &str {
        &self.list[id as usize].name
    }

    /// Its kind of work.
    pub fn work(&self, id: FunctionId) -> Work {
        self.list[id as usize].work
    }
}
