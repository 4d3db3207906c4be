//! The function and source file of an address.

use std::collections::BTreeMap;
use std::ops::Range;

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use addr2line::{Context, LookupResult};
use object::{Object as _, ObjectSection as _, ObjectSymbol, SectionKind};

use linerate_results::record::Layer;

use super::layer;

/// Where an instruction's cost is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// This layer.
    Layer(Layer),
    /// The caller.
    Caller,
    /// The caller; it moves, sets or compares octets.
    CopiesForCaller,
}

/// The source location of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Where its cost is counted.
    pub owner: Owner,
    /// The function, inlined or not.
    pub function: String,
    /// Its source file, relative to the folder of the crate.
    pub file: String,
}

/// Names of functions that move, set or compare octets contain one of these.
const COPIES: [&str; 6] = ["memcpy", "memmove", "memset", "memclr", "memcmp", "bcmp"];

/// A firmware's symbols and debug data.
pub struct Symbols<'a> {
    context: Context<EndianSlice<'a, LittleEndian>>,
    /// By address.
    names: BTreeMap<u64, &'a str>,
    code: Range<u64>,
}

impl<'a> Symbols<'a> {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// The error, for messages.
    pub fn read(elf: &'a [u8]) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("its firmware cannot be read: {error}");
        let file = object::File::parse(elf).map_err(|error| wrong(&error))?;
        let sections = file.sections().filter(|it| it.kind() == SectionKind::Text);
        let code = sections
            .map(|it| it.address()..it.address() + it.size())
            .reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
            .ok_or_else(|| wrong(&"it has no code"))?;
        let dwarf = Dwarf::load(|id| {
            let section = file.section_by_name(id.name());
            let octets = section.and_then(|it| it.data().ok()).unwrap_or_default();
            Ok::<_, addr2line::gimli::Error>(EndianSlice::new(octets, LittleEndian))
        });
        let context = dwarf.and_then(Context::from_dwarf);
        let functions = file.symbols().filter(ObjectSymbol::is_definition);
        let names = functions.filter_map(|it| {
            let name = it.name().ok().filter(|name| !name.starts_with('$'))?;
            // The lowest bit of an address marks Thumb code.
            Some((it.address() & !1, name))
        });
        Ok(Self {
            context: context.map_err(|error| wrong(&error))?,
            names: names.collect(),
            code,
        })
    }

    /// From the first to the last address of code.
    #[must_use]
    pub fn code(&self) -> Range<u64> {
        self.code.clone()
    }

    /// The location of the instruction at this address.
    #[must_use]
    pub fn location(&self, address: u64) -> Location {
        let before = self.names.range(..=address).next_back();
        let symbol = before.map_or("", |(_, name)| name);
        self.by_source(address, symbol).unwrap_or_else(|| Location {
            owner: if COPIES.iter().any(|it| symbol.contains(it)) {
                Owner::CopiesForCaller
            } else {
                Owner::Caller
            },
            function: plain(symbol),
            file: String::new(),
        })
    }

    /// The innermost function that is not in a library.
    fn by_source(&self, address: u64, symbol: &str) -> Option<Location> {
        let LookupResult::Output(frames) = self.context.find_frames(address) else {
            return None;
        };
        let mut frames = frames.ok()?;
        while let Some(frame) = frames.next().ok()? {
            let Some(file) = frame.location.and_then(|it| it.file) else {
                continue;
            };
            if let Some(layer) = layer::of(file) {
                let name = frame.function.as_ref();
                let name = name.and_then(|it| it.raw_name().ok());
                return Some(Location {
                    owner: Owner::Layer(layer),
                    function: plain(name.as_deref().unwrap_or(symbol)),
                    file: short(file).to_owned(),
                });
            }
        }
        None
    }
}

/// A function's name without its generic parameters.
fn plain(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    match name.find('<') {
        Some(at) if at > 0 => name[..at].to_owned(),
        _ => name,
    }
}

/// The path without the prefix of the checkout or the crate.
fn short(file: &str) -> &str {
    ["/linerate/", "/crates/"]
        .iter()
        .find_map(|prefix| file.strip_prefix(prefix))
        .unwrap_or(file)
}
