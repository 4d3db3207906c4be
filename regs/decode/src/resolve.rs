//! Which register a value is of.

use linerate_regs::{Bits, Block, Found, Map};

use super::dump::{self, Of, Reading};
use super::index::{Index, NotOne, name};
use super::{Error, chip};

/// The map of PHYs.
const PHYS: &str = "mii";

/// How to find registers, where the dump leaves it open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chooser<'a> {
    /// The chip; else that which knows most of the registers.
    pub chip: Option<&'a str>,
    /// The block that offsets count from; else the chip's first.
    pub block: Option<&'a str>,
    /// The address of that block, if it is not the map's.
    pub base: Option<u32>,
}

/// A value that has no place in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the dump, from 1.
    pub line: usize,
    /// What is not known.
    pub what: String,
}

/// A value and its register.
pub(super) struct Resolved<'a> {
    pub map: Map<'a>,
    pub found: Found<'a>,
    pub reading: Reading,
}

/// Every value of `text` that has a place, and notes about the others.
pub(super) fn resolve<'a>(
    text: &str,
    maps: &[Map<'a>],
    choice: Chooser,
) -> Result<(Vec<Resolved<'a>>, Vec<Note>), Error> {
    let readings = dump::read(text)?;
    if readings.is_empty() {
        return Err(Error::Empty);
    }
    let places = Places::choose(&readings, maps, choice)?;
    let (mut resolved, mut notes) = (Vec::new(), Vec::new());
    for reading in readings {
        if let Of::Memory(address, octets) = reading.of {
            resolved.extend(places.within(address, octets, &reading));
            continue;
        }
        match places.find(&reading) {
            Ok((map, found)) => {
                fits(&reading, &found)?;
                resolved.push(Resolved {
                    map,
                    found,
                    reading,
                });
            }
            Err(_) if matches!(reading.of, Of::Block(..)) => {}
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

fn fits(reading: &Reading, found: &Found) -> Result<(), Error> {
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

/// Where to look, in this order.
struct Places<'a> {
    maps: Vec<Index<'a>>,
    /// Where offsets count from, and whether that was said.
    block: Option<Block<'a>>,
    said: bool,
    base: Option<u32>,
    /// Who does not have a register: `imx6 has no`.
    lacking: String,
}

impl<'a> Places<'a> {
    /// The chip that was named, or that which knows most of `readings`; and PHYs, which go with any chip.
    fn choose(readings: &[Reading], maps: &[Map<'a>], choice: Chooser) -> Result<Self, Error> {
        let mut indexes = match choice.chip {
            Some(name) => vec![Index::new(chip(maps, name)?)],
            None => most(readings, maps, choice.block)?,
        };
        let chosen = indexes.first().map(|index| index.map);
        let guessed = chosen.filter(|map| choice.chip.is_some() || map.name() != PHYS);
        let lacking = guessed.map_or_else(
            || "no map has a".to_owned(),
            |map| format!("{} has no", map.name()),
        );
        let block = match choice.block {
            Some(name) => Some(block_named(chosen.into_iter(), name)?),
            None => chosen.and_then(|map| map.blocks().next()),
        };
        let phys = maps.iter().filter(|map| map.name() == PHYS);
        let others = phys.filter(|phys| chosen.is_none_or(|c| c.name() != phys.name()));
        indexes.extend(others.map(|map| Index::new(*map)));
        Ok(Self {
            maps: indexes,
            block,
            said: choice.block.is_some(),
            base: choice.base,
            lacking,
        })
    }

    /// The register, or why there is none.
    fn find(&self, reading: &Reading) -> Result<(Map<'a>, Found<'a>), String> {
        match &reading.of {
            Of::Name(wanted, address) => self.named(wanted, *address),
            Of::At(address) | Of::Memory(address, _) => self
                .at(*address)
                .ok_or_else(|| format!("{} register at 0x{address:x}", self.lacking)),
            Of::Block(block, number) => {
                let mut maps = self.maps.iter().map(|index| index.map);
                maps.find_map(|map| Some((map, map.block(block)?.at(*number)?)))
                    .ok_or_else(|| format!("{block} has no register {number}"))
            }
        }
    }

    fn named(&self, wanted: &str, address: Option<u32>) -> Result<(Map<'a>, Found<'a>), String> {
        let block = self.block.filter(|_| self.said);
        for index in &self.maps {
            match index.named(wanted, block) {
                Ok(found) => return Ok((index.map, found)),
                Err(NotOne::Several) if address.is_none() => {
                    return Err(format!(
                        "several blocks of {} have a register {wanted}: write BLOCK.{wanted}, or --block",
                        index.map.name()
                    ));
                }
                Err(_) => {}
            }
        }
        // A number without 0x can look like a name.
        let address = address.or_else(|| u32::from_str_radix(wanted, 16).ok());
        address.and_then(|address| self.at(address)).ok_or_else(|| {
            let at = address.map_or_else(String::new, |at| format!(", and none at 0x{at:x}"));
            format!("{} register {wanted}{at}", self.lacking)
        })
    }

    /// The registers that lie in a word of memory, which holds its low octet first.
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

    /// An address, else an offset.
    fn at(&self, address: u32) -> Option<(Map<'a>, Found<'a>)> {
        let index = self.maps.first()?;
        let absolute = || index.at(address);
        let found = match self.base {
            Some(base) => self.block?.at(address.checked_sub(base)?),
            None if self.said => self.block?.at(address).or_else(absolute),
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
    Err(Error::NoSuch {
        chip: chips.join(" or "),
        kind: "block",
        name: name.to_owned(),
    })
}

/// The map that knows most of the values; that of PHYs, which go with any chip, where no other knows any.
fn most<'a>(
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
    let score = |index: &Index| known(index, readings);
    let (phys, chips): (Vec<Index>, Vec<Index>) = having
        .into_iter()
        .partition(|index| index.map.name() == PHYS);
    let best = chips.iter().map(score).max().unwrap_or_default();
    if best == (0, 0) {
        let nameless = |reading: &&Reading| matches!(reading.of, Of::At(_) | Of::Memory(..));
        return match readings.iter().find(nameless) {
            Some(Reading { line, .. }) if phys.iter().map(score).all(|score| score == (0, 0)) => {
                Err(Error::Nameless { line: *line })
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
        equal.iter().all(|index| known(index, one) > (0, 0))
    };
    let first = readings.iter().find(by_all).unwrap_or(&readings[0]);
    Err(Error::Ambiguous {
        line: first.line,
        name: match &first.of {
            Of::Name(name, _) => format!("a register {name}"),
            _ => "such registers".to_owned(),
        },
        chips: equal
            .iter()
            .map(|index| index.map.name().to_owned())
            .collect(),
    })
}

/// How many of the values are of one register, and how many names several blocks have.
fn known(index: &Index, readings: &[Reading]) -> (usize, usize) {
    let (mut one, mut several) = (0, 0);
    for reading in readings {
        let (name, address) = match &reading.of {
            Of::Name(name, address) => (Some(name), *address),
            Of::At(address) | Of::Memory(address, _) => (None, Some(*address)),
            Of::Block(block, _) => {
                one += usize::from(index.map.block(block).is_some());
                continue;
            }
        };
        match name.map_or(Err(NotOne::Nothing), |name| index.named(name, None)) {
            Ok(_) => one += 1,
            _ if address.is_some_and(|address| index.at(address).is_some()) => one += 1,
            Err(NotOne::Several) => several += 1,
            Err(NotOne::Nothing) => {}
        }
    }
    (one, several)
}
