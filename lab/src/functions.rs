//! Functions of a firmware by address, from the linker's map.

use anyhow::{Context, Result, bail};
use std::path::Path;

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function<L> {
    pub name: String,
    pub layer: L,
}

/// The functions by address.
#[derive(Debug)]
pub struct Functions<L> {
    pub list: Vec<Function<L>>,
    /// Of each halfword from address 0.
    by_address: Vec<u16>,
}

const UNKNOWN: u16 = u16::MAX;

impl<L: Copy> Functions<L> {
    /// Reads the linker's map beside `elf`; `of` returns the layer of a function in the source file of this stem.
    ///
    /// # Errors
    /// It cannot be read, or lists no function.
    pub fn read(elf: &Path, of: fn(&str, &str) -> L) -> Result<Self> {
        let path = elf.with_extension("map");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let functions = Self::parse(&text, of);
        if functions.list.is_empty() {
            bail!("{} lists no functions", path.display());
        }
        Ok(functions)
    }

    /// A section of a function is ` .text.NAME ADDRESS SIZE FILE`, in one line or in two.
    fn parse(map: &str, of: fn(&str, &str) -> L) -> Self {
        let mut functions = Self {
            list: Vec::new(),
            by_address: Vec::new(),
        };
        let (_, map) = map
            .split_once("Linker script and memory map")
            .unwrap_or(("", map));
        let mut words = map.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if word != ".text" && !word.starts_with(".text.") {
                continue;
            }
            let mut rest = words.clone();
            let mut hex = || {
                let digits = rest.next()?.strip_prefix("0x")?;
                u32::from_str_radix(digits, 16).ok()
            };
            let (Some(address), Some(size)) = (hex(), hex()) else {
                continue;
            };
            let Some(file) = rest.next().filter(|it| it.contains(".o")) else {
                continue;
            };
            let stem = file.rsplit('/').next().unwrap_or(file);
            let stem = stem.split(".o").next().unwrap_or(stem);
            let stem = stem.split_once('-').map_or(stem, |(_, stem)| stem);
            let name = word.strip_prefix(".text.").unwrap_or(stem);
            // Parts that the compiler has cut off belong to their function.
            let name = name.split('.').next().unwrap_or(name);
            functions.add(address, size, name, of(name, stem));
        }
        functions
    }

    fn add(&mut self, address: u32, size: u32, name: &str, layer: L) {
        let id = self.list.len() as u16;
        let name = name.to_owned();
        self.list.push(Function { name, layer });
        let (first, end) = (address as usize / 2, (address + size) as usize / 2);
        if self.by_address.len() < end {
            self.by_address.resize(end, UNKNOWN);
        }
        self.by_address[first..end].fill(id);
    }

    /// The number of the function at `pc`.
    pub fn at(&self, pc: u32) -> Option<usize> {
        let id = *self.by_address.get(pc as usize / 2)?;
        (id != UNKNOWN).then_some(id.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_map_are_found_by_address() {
        let map = "Discarded\n .text.gone 0x0 0x10 a/1-x.o\nLinker script and memory map\n\
                   .text           0x00000000    0x100\n .text.start    0x00000000       0x20 a/9-start.o\n \
                   .text.xQueueSemaphoreTake\n                0x00000020       0x40 a/12-queue.o\n \
                   .text.neighbour_find.isra.0\n                0x00000060       0x20 a/3-frame.o\n";
        // The layer is the file.
        let functions = Functions::parse(map, |_, stem| stem.len());
        let at = |pc| functions.at(pc).map(|it| &functions.list[it]);
        assert_eq!(
            at(0x20).map(|it| it.name.as_str()),
            Some("xQueueSemaphoreTake")
        );
        assert_eq!(at(0x5e).map(|it| it.layer), Some("queue".len()));
        assert_eq!(at(0x7e).map(|it| it.layer), Some("frame".len()));
        assert_eq!(at(0x80), None);
        assert_eq!(functions.list.len(), 3);
    }
}
