//! Index of a map by names and addresses.

use std::collections::{BTreeMap, btree_map::Entry};

use linerate_regs::{Block, Found, Map, Register};

/// A map with indexes.
pub(super) struct Index<'a> {
    pub map: Map<'a>,
    /// By lower-case name, with and without the block; with the original spelling.
    names: BTreeMap<String, Vec<(String, Found<'a>)>>,
    addresses: BTreeMap<u32, Found<'a>>,
}

/// Reason why a name does not identify one register.
pub(super) enum LookupError {
    NotFound,
    /// Several blocks have such a register.
    Ambiguous,
}

impl<'a> Index<'a> {
    pub fn new(map: Map<'a>) -> Self {
        let mut index = Self {
            map,
            names: BTreeMap::new(),
            addresses: BTreeMap::new(),
        };
        for block in map.blocks() {
            for register in block.registers() {
                for (number, offset) in (0..).zip(register.offsets()) {
                    index.add(block, register, number, offset);
                }
            }
        }
        index
    }

    fn add(&mut self, block: Block<'a>, register: Register<'a>, index: u32, offset: u32) {
        let found = Found {
            block,
            register,
            index,
        };
        let bare = numbered(&register, index);
        let names = [
            format!("{}.{bare}", block.name),
            format!("{}_{bare}", block.name),
            bare,
        ];
        for name in names {
            let lower = name.to_ascii_lowercase();
            self.names.entry(lower).or_default().push((name, found));
        }
        if let Some(address) = block.base.and_then(|base| base.checked_add(offset))
            && let Entry::Vacant(free) = self.addresses.entry(address)
        {
            free.insert(found);
        }
    }

    /// Finds `ENET_RCR`, `ENET.RCR` or `RCR`, ignoring case; `block` is preferred.
    pub fn named(&self, wanted: &str, block: Option<Block>) -> Result<Found<'a>, LookupError> {
        let Some(all) = self.names.get(&wanted.to_ascii_lowercase()) else {
            return Err(LookupError::NotFound);
        };
        let preferred = |(_, found): &&(String, Found<'a>)| {
            block.is_some_and(|block| block.name == found.block.name)
        };
        // Some names differ only in case.
        let exact = |(name, _): &&(String, Found<'a>)| name == wanted;
        match (all.as_slice(), all.iter().find(preferred)) {
            ([(_, found)], _) | (_, Some((_, found))) => Ok(*found),
            _ => match all.iter().filter(exact).collect::<Vec<_>>()[..] {
                [(_, found)] => Ok(*found),
                _ => Err(LookupError::Ambiguous),
            },
        }
    }

    pub fn at(&self, address: u32) -> Option<Found<'a>> {
        self.addresses.get(&address).copied()
    }
}

/// The register's name, with its array index.
pub(super) fn numbered(register: &Register, index: u32) -> String {
    register.name.replacen("{}", &index.to_string(), 1)
}

/// `BLOCK.REGISTER`.
pub(super) fn name(found: &Found) -> String {
    format!(
        "{}.{}",
        found.block.name,
        numbered(&found.register, found.index)
    )
}
