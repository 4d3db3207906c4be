//! Counts by address: in a file shared with QEMU (`bench/plugin` documents its format), or of a simulated board.

use std::io;
use std::ops::{Range, Sub};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use linerate_results::record::Layer;

use super::symbols::{Location, Owner, Symbols};

/// Tables in the file, each with a word for each half word of the code and one for all other code.
const TABLES: usize = 6;
const WORD: usize = size_of::<u64>();

/// Counts at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Executions of the instruction.
    pub executed: u64,
    /// Reads of a device.
    pub reads: u64,
    /// Writes to a device.
    pub writes: u64,
    /// Library instructions executed on its behalf.
    pub library: u64,
    /// Separately, those that moved, set or compared octets on its behalf.
    pub copied: u64,
}

impl Sub for Count {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            executed: self.executed - earlier.executed,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            library: self.library - earlier.library,
            copied: self.copied - earlier.copied,
        }
    }
}

/// The location of each half word of the code, and of all other code.
fn locations(symbols: &Symbols<'_>) -> Vec<Location> {
    let addresses = symbols.code().step_by(2);
    let mut locations: Vec<Location> = addresses.map(|it| symbols.location(it)).collect();
    locations.push(Location {
        owner: Owner::Layer(Layer::Unknown),
        function: "outside of the firmware".to_owned(),
        file: String::new(),
    });
    locations
}

/// The differences of two readings with their locations, without zero counts.
fn between(locations: &[Location], from: &[Count], to: &[Count]) -> Vec<(Location, Count)> {
    let counts = from.iter().zip(to).map(|(from, to)| *to - *from);
    let all = locations.iter().cloned().zip(counts);
    all.filter(|(_, count)| *count != Count::default())
        .collect()
}

/// The counts of a simulated board, by the same rules as those of QEMU's plugin.
#[derive(Debug)]
pub struct SimulatedCounts {
    code: Range<u64>,
    locations: Vec<Location>,
    /// The counts, and the caller of library code: the slot of the last instruction outside of libraries.
    counts: Mutex<(Vec<Count>, usize)>,
}

impl SimulatedCounts {
    /// Zero counts of this program.
    #[must_use]
    pub fn new(symbols: &Symbols<'_>) -> Self {
        Self::of(symbols.code(), locations(symbols))
    }

    pub(super) fn of(code: Range<u64>, locations: Vec<Location>) -> Self {
        Self {
            code,
            counts: Mutex::new((vec![Count::default(); locations.len()], 0)),
            locations,
        }
    }

    /// Counts an instruction at `address` that reads and writes registers of devices.
    pub fn executed(&self, address: u32, [reads, writes]: [u64; 2]) {
        let address = u64::from(address);
        let other = self.locations.len() - 1;
        let slot = if self.code.contains(&address) {
            ((address - self.code.start) / 2) as usize
        } else {
            other
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, caller) = &mut *counts;
        counts[slot].executed += 1;
        counts[slot].reads += reads;
        counts[slot].writes += writes;
        match self.locations[slot].owner {
            Owner::Layer(_) => *caller = slot,
            Owner::Caller => counts[*caller].library += 1,
            Owner::CopiesForCaller => counts[*caller].copied += 1,
        }
    }

    /// The counts so far, by address.
    #[must_use]
    pub fn read(&self) -> Vec<Count> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0.clone()
    }

    /// The differences of two readings with their locations, without zero counts.
    #[must_use]
    pub fn between(&self, from: &[Count], to: &[Count]) -> Vec<(Location, Count)> {
        between(&self.locations, from, to)
    }
}

/// The file of counts of one machine.
pub struct Counts {
    path: PathBuf,
    code: Range<u64>,
    locations: Vec<Location>,
}

impl Counts {
    /// Creates the file with zero counts, for a machine that is not running yet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(path: &Path, symbols: &Symbols<'_>) -> io::Result<Self> {
        let code = symbols.code();
        let locations = locations(symbols);
        let mut file = vec![0; (TABLES - 1) * locations.len() * WORD];
        for location in &locations {
            let kind: u64 = match location.owner {
                Owner::Layer(_) => 0,
                Owner::Caller => 1,
                Owner::CopiesForCaller => 2,
            };
            file.extend(kind.to_ne_bytes());
        }
        std::fs::write(path, file)?;
        Ok(Self {
            path: path.to_owned(),
            code,
            locations,
        })
    }

    /// The arguments of the plugin.
    #[must_use]
    pub fn arguments(&self) -> String {
        let octets = self.code.end - self.code.start;
        format!(
            "map={},base={},octets={octets}",
            self.path.display(),
            self.code.start
        )
    }

    /// The counts so far, by address.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> io::Result<Vec<Count>> {
        let file = std::fs::read(&self.path)?;
        let (words, _) = file.as_chunks::<WORD>();
        let slots = self.locations.len();
        let word = |table: usize, slot: usize| {
            let word = words.get(table * slots + slot);
            word.map_or(0, |it| u64::from_ne_bytes(*it))
        };
        let count = |slot| Count {
            executed: word(0, slot),
            reads: word(1, slot),
            writes: word(2, slot),
            library: word(3, slot),
            copied: word(4, slot),
        };
        Ok((0..slots).map(count).collect())
    }

    /// The differences of two readings with their locations, without zero counts.
    pub fn between(&self, from: &[Count], to: &[Count]) -> Vec<(Location, Count)> {
        between(&self.locations, from, to)
    }
}
