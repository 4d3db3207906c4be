//! Finds the register of each value.

use linerate_regs::{Bits, Block, Found, Map};

use super::dump::{self, Reading, RegisterRef};
use super::index::{Index, LookupError, name};
use super::{Error, chip};

/// The map of PHYs.
const PHYS: &str = "mii";

/// Chip, block and base address, for dumps that do not name them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChipSelection<'a> {
    /// The chip; if absent, the one with the most registers of the dump.
    pub chip: Option<&'a str>,
    /// The block that offsets refer to; if absent, the chip's first.
    pub block: Option<&'a str>,
    /// The address of that block, if different from the map's.
    pub base: Option<u32>,
}

/// A value without a place in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the dump, from 1.
    pub line: usize,
    /// Description.
    pub what: String,
}

/// A value and its register.
pub(super) struct Resolved<'a> {
    pub map: Map<'a>,
    pub found: Found<'a>,
    pub reading: Reading,
}

/// Every value of `text` with a place in a map, and notes about the others.
pub(super) fn resolve<'a>(
    text: &str,
    maps: &[Map<'a>],
    selection: ChipSelection,
) -> Result<(Vec<Resolved<'a>>, Vec<Note>), Error> {
    let readings = dump::read(text)?;
    if readings.is_empty() {
        return Err(Error::Empty);
    }
    let places = RegisterLookup::choose(&readings, maps, selection)?;
    let (mut resolved, mut notes) = (Vec::new(), Vec::new());
    for reading in readings {
        if let RegisterRef::Memory(address, octets) = reading.register {
            resolved.extend(places.within(address, octets, &reading));
            continue;
        }
        match places.find(&reading) {
            Ok((map, found)) => {
                check_width(&reading, &found)?;
                resolved.push(Resolved {
                    map,
                    found,
                    reading,
                });
            }
            Err(_) if matches!(reading.register, RegisterRef::Block(..)) => {}
            Err(what) => notes.push(Note {
                line: reading.line,
                what,
            }),
        }
    }
    match notes.first() {
        Some(Note { line, what }) if resolved.is_empty() => Err(Error::Unknown {
            line: *line,
            what: what.clone(),
        }),
        None if resolved.is_empty() => Err(Error::Empty),
        _ => Ok((resolved, notes)),
    }
}

fn check_width(reading: &Reading, found: &Found) -> Result<(), Error> {
    let width = found.register.width;
    if reading.value & !Bits::all(width).mask() == 0 {
        return Ok(());
    }
    let what = format!(
        "{} has {width} bits, too few for 0x{:x}",
        name(found),
        reading.value
    );
    let line = reading.line;
    Err(Error::Line { line, what })
}

/// The maps, in order of preference.
struct RegisterLookup<'a> {
    maps: Vec<Index<'a>>,
    /// The block that offsets refer to; `is_explicit` if it was requested.
    block: Option<Block<'a>>,
    is_explicit: bool,
    base: Option<u32>,
    /// Start of the message about a missing register: `imx6 has no`.
    lacking: String,
}

impl<'a> RegisterLookup<'a> {
    /// The requested chip, or the one with most of `readings`; and PHYs, which are combined with any chip.
    fn choose(
        readings: &[Reading],
        maps: &[Map<'a>],
        selection: ChipSelection,
    ) -> Result<Self, Error> {
        let mut indexes = match selection.chip {
            Some(name) => vec![Index::new(chip(maps, name)?)],
            None => best_maps(readings, maps, selection.block)?,
        };
        let chosen = indexes.first().map(|index| index.map);
        let guessed = chosen.filter(|map| selection.chip.is_some() || map.name() != PHYS);
        let lacking = guessed.map_or_else(
            || "no map has a".to_owned(),
            |map| format!("{} has no", map.name()),
        );
        let block = match selection.block {
            Some(name) => Some(block_named(chosen.into_iter(), name)?),
            None => chosen.and_then(|map| map.blocks().next()),
        };
        let phys = maps.iter().filter(|map| map.name() == PHYS);
        let others = phys.filter(|phys| chosen.is_none_or(|c| c.name() != phys.name()));
        indexes.extend(others.map(|map| Index::new(*map)));
        Ok(Self {
            maps: indexes,
            block,
            is_explicit: selection.block.is_some(),
            base: selection.base,
            lacking,
        })
    }

    /// The register, or the reason why there is none.
    fn find(&self, reading: &Reading) -> Result<(Map<'a>, Found<'a>), String> {
        match &reading.register {
            RegisterRef::Name(wanted, address) => self.named(wanted, *address),
            RegisterRef::At(address) | RegisterRef::Memory(address, _) => self
                .at(*address)
                .ok_or_else(|| format!("{} register at 0x{address:x}", self.lacking)),
            RegisterRef::Block(block, number) => {
                let mut maps = self.maps.iter().map(|index| index.map);
                maps.find_map(|map| Some((map, map.block(block)?.at(*number)?)))
                    .ok_or_else(|| format!("{block} has no register {number}"))
            }
        }
    }

    fn named(&self, wanted: &str, address: Option<u32>) -> Result<(Map<'a>, Found<'a>), String> {
        let block = self.block.filter(|_| self.is_explicit);
        for index in &self.maps {
            match index.named(wanted, block) {
                Ok(found) => return Ok((index.map, found)),
                Err(LookupError::Ambiguous) if address.is_none() => {
                    return Err(format!(
                        "several blocks of {} have a register {wanted}: write BLOCK.{wanted}, or --block",
                        index.map.name()
                    ));
                }
                Err(_) => {}
            }
        }
        // A number without 0x may look like a name.
        let address = address.or_else(|| u32::from_str_radix(wanted, 16).ok());
        address.and_then(|address| self.at(address)).ok_or_else(|| {
            let at = address.map_or_else(String::new, |at| format!(", and none at 0x{at:x}"));
            format!("{} register {wanted}{at}", self.lacking)
        })
    }

    /// The registers in a little-endian word of memory.
    fn within(&self, address: u32, octets: u8, reading: &Reading) -> Vec<Resolved<'a>> {
        let one = |octet: u32| {
            let (map, found) = self.at(address.checked_add(octet)?)?;
            let mask = Bits::all(found.register.width).mask();
            let mut reading = reading.clone();
            reading.value = reading.value >> (8 * octet) & mask;
            reading.known >>= 8 * octet;
            Some(Resolved {
                map,
                found,
                reading,
            })
        };
        (0..u32::from(octets)).filter_map(one).collect()
    }

    /// By address, else by offset.
    fn at(&self, address: u32) -> Option<(Map<'a>, Found<'a>)> {
        let index = self.maps.first()?;
        let absolute = || index.at(address);
        let found = match self.base {
            Some(base) => self.block?.at(address.checked_sub(base)?),
            None if self.is_explicit => self.block?.at(address).or_else(absolute),
            None => absolute().or_else(|| self.block?.at(address)),
        };
        Some((index.map, found?))
    }
}

pub(super) fn block_named<'a>(
    maps: impl Iterator<Item = Map<'a>>,
    name: &str,
) -> Result<Block<'a>, Error> {
    let mut chips = Vec::new();
    for map in maps {
        if let Some(block) = map
            .blocks()
            .find(|block| block.name.eq_ignore_ascii_case(name))
        {
            return Ok(block);
        }
        chips.push(map.name().to_owned());
    }
    Err(Error::NotFound {
        chip: chips.join(" or "),
        kind: "block",
        name: name.to_owned(),
    })
}

/// The map with most of the values; that of PHYs, which are combined with any chip, if no other has any.
fn best_maps<'a>(
    readings: &[Reading],
    maps: &[Map<'a>],
    block: Option<&str>,
) -> Result<Vec<Index<'a>>, Error> {
    let has_block =
        |map: &Map| block.is_none_or(|name| block_named([*map].into_iter(), name).is_ok());
    let having: Vec<Index> = maps
        .iter()
        .copied()
        .filter(has_block)
        .map(Index::new)
        .collect();
    if having.len() == 1 {
        return Ok(having);
    }
    let score = |index: &Index| match_counts(index, readings);
    let (phys, chips): (Vec<Index>, Vec<Index>) = having
        .into_iter()
        .partition(|index| index.map.name() == PHYS);
    let best = chips.iter().map(score).max().unwrap_or_default();
    if best == (0, 0) {
        let nameless = |reading: &&Reading| {
            matches!(
                reading.register,
                RegisterRef::At(_) | RegisterRef::Memory(..)
            )
        };
        return match readings.iter().find(nameless) {
            Some(Reading { line, .. }) if phys.iter().map(score).all(|score| score == (0, 0)) => {
                Err(Error::OffsetOnly { line: *line })
            }
            _ => Ok(phys),
        };
    }
    let equal: Vec<Index> = chips
        .into_iter()
        .filter(|index| score(index) == best)
        .collect();
    if equal.len() == 1 {
        return Ok(equal);
    }
    let by_all = |reading: &&Reading| {
        let one = std::slice::from_ref(*reading);
        equal.iter().all(|index| match_counts(index, one) > (0, 0))
    };
    let first = readings.iter().find(by_all).unwrap_or(&readings[0]);
    Err(Error::Ambiguous {
        line: first.line,
        name: match &first.register {
            RegisterRef::Name(name, _) => format!("a register {name}"),
            _ => "such registers".to_owned(),
        },
        chips: equal
            .iter()
            .map(|index| index.map.name().to_owned())
            .collect(),
    })
}

/// Number of values that match one register, and of names that several blocks have.
fn match_counts(index: &Index, readings: &[Reading]) -> (usize, usize) {
    let (mut one, mut several) = (0, 0);
    for reading in readings {
        let (name, address) = match &reading.register {
            RegisterRef::Name(name, address) => (Some(name), *address),
            RegisterRef::At(address) | RegisterRef::Memory(address, _) => (None, Some(*address)),
            RegisterRef::Block(block, _) => {
                one += usize::from(index.map.block(block).is_some());
                continue;
            }
        };
        match name.map_or(Err(LookupError::NotFound), |name| index.named(name, None)) {
            Ok(_) => one += 1,
            _ if address.is_some_and(|address| index.at(address).is_some()) => one += 1,
            Err(LookupError::Ambiguous) => several += 1,
            Err(LookupError::NotFound) => {}
        }
    }
    (one, several)
}
