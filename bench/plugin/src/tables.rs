//! The file of counts.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd as _;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tables, in their order in the file.
#[derive(Clone, Copy)]
pub enum Table {
    Executed,
    Reads,
    Writes,
    Library,
    Copied,
    Kind,
}

/// Number of tables.
const TABLES: usize = 6;

/// Kind of an instruction's code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    Own,
    /// Counts for the caller.
    Library,
    /// Counts for the caller, as a copy.
    Copies,
}

/// The file, mapped permanently.
pub struct Tables {
    words: &'static [AtomicU64],
    base: u64,
    slots: usize,
}

impl Tables {
    /// Maps the file that `map=`, `base=` and `octets=` name.
    pub fn open<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let (mut path, mut base, mut octets) = (None, None, None);
        for argument in arguments {
            match argument.split_once('=') {
                Some(("map", value)) => path = Some(value.to_owned()),
                Some(("base", value)) => base = value.parse().ok(),
                Some(("octets", value)) => octets = value.parse::<usize>().ok(),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        let (Some(path), Some(base), Some(octets)) = (path, base, octets) else {
            return Err("map=FILE, base=ADDRESS and octets=LENGTH are needed".to_owned());
        };
        let slots = octets / 2 + 1;
        let words = slots.checked_mul(TABLES);
        let words = words.ok_or_else(|| format!("octets={octets} is too much"))?;
        let words = map(&path, words).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { words, base, slots })
    }

    /// Slot of the instruction at this address.
    pub fn slot(&self, address: u64) -> usize {
        let others = self.slots - 1;
        let from_base = address.checked_sub(self.base).map(|octets| octets / 2);
        from_base.map_or(others, |slot| (slot as usize).min(others))
    }

    /// The word of a count.
    pub fn word(&self, table: Table, slot: usize) -> &'static AtomicU64 {
        &self.words[table as usize * self.slots + slot]
    }

    /// Adds one. There is one processor, so nothing else writes.
    pub fn add(&self, table: Table, slot: usize) {
        let place = self.word(table, slot);
        place.store(place.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Kind of the code in a slot.
    pub fn kind(&self, slot: usize) -> CodeKind {
        match self.word(Table::Kind, slot).load(Ordering::Relaxed) {
            0 => CodeKind::Own,
            1 => CodeKind::Library,
            _ => CodeKind::Copies,
        }
    }
}

fn map(path: &str, words: usize) -> std::io::Result<&'static [AtomicU64]> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let octets = words.checked_mul(size_of::<u64>());
    let octets = octets.ok_or_else(|| std::io::Error::other("its tables are too long"))?;
    if file.metadata()?.len() < octets as u64 {
        return Err(std::io::Error::other("it is too short"));
    }
    // SAFETY: a new mapping of an open file.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            octets,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: mapped permanently, page-aligned; words shared with others are atomic.
    Ok(unsafe { slice::from_raw_parts(at.cast(), words) })
}
