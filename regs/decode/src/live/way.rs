//! Ways to blocks: in the memory, in banks, behind an index.

use linerate_regs::{Block, Found, Map};

use super::mdio::{Enet, Lan9118, Mdio};
use super::{Error, Fault, Memory, Wanted};

/// The registers that others are reached by.
mod lan9118 {
    linerate_regs::constants!(linerate_regs::LAN9118, "CSR":
        MAC_CSR_CMD { CSR_BUSY R_NOT_W CSR_ADDR } MAC_CSR_DATA
    );
}
mod lan91c111 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "ALL": BANK { BS });
}
mod virtio {
    linerate_regs::constants!(linerate_regs::VIRTIO, "MMIO":
        DeviceFeatures DeviceFeaturesSel Status { FEATURES_OK }
    );
}

/// How often a bit is looked at that has to change. Each look goes through a debugger.
pub(super) const LOOKS: u32 = 100;

/// How the registers of a block are reached.
pub(super) trait Way {
    /// Whether nothing is written for it.
    fn is_direct(&self) -> bool {
        false
    }

    /// Notes what has to be put back. `false`: the device has no such block.
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, Fault>;

    /// Whether the device has the register.
    fn has(&self, _offset: u32) -> bool {
        true
    }

    /// Reads so many bits at `offset`.
    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, Fault>;

    /// Puts it back.
    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), Fault>;

    /// Where that register lies, if it is in the memory.
    fn address(&self, _offset: u32) -> Option<u32> {
        None
    }
}

/// A block and the way to it.
pub(super) struct Part<'a> {
    pub map: Map<'a>,
    pub block: Block<'a>,
    pub way: Box<dyn Way>,
}

impl<'a> Part<'a> {
    /// Every register of the block, those of arrays one by one.
    pub fn found(&self) -> impl Iterator<Item = Found<'a>> + use<'a> {
        found(self.block)
    }
}

/// Every register of the block, those of arrays one by one.
pub(super) fn found(block: Block) -> impl Iterator<Item = Found> {
    block.registers().flat_map(move |register| {
        (0..register.count).map(move |index| Found {
            block,
            register,
            index,
        })
    })
}

/// All that is known a way to.
pub(super) fn parts<'a>(wanted: &Wanted<'a>) -> Result<Vec<Part<'a>>, Error> {
    let map = wanted.map;
    let chosen = match wanted.block {
        Some(name) => Some(super::super::resolve::block_named([map].into_iter(), name)?),
        None => map.blocks().next(),
    };
    let base = wanted.base.or(chosen.and_then(|block| block.base));
    let is_chosen = |block: &Block| chosen.is_some_and(|it| it.name == block.name);
    let mut parts: Vec<Part> = map
        .blocks()
        .filter_map(|block| {
            let direct = if is_chosen(&block) { base } else { block.base };
            let way = match direct {
                Some(at) => Box::new(Direct(at)) as Box<dyn Way>,
                None => behind(map, block, base?)?,
            };
            Some(Part { map, block, way })
        })
        .collect();
    let Some(first) = parts.iter().find(|part| part.way.is_direct()) else {
        return Err(Error::NoBase {
            chip: map.name().to_owned(),
        });
    };
    let is_alone = parts
        .iter()
        .filter(|it| it.way.is_direct() && it.block.base.is_some());
    if wanted.names.is_empty() && wanted.base.is_none() && is_alone.count() > 1 {
        return Err(Error::Whole {
            chip: map.name().to_owned(),
        });
    }
    let at = first.way.address(0);
    for block in wanted.phys.blocks() {
        let mdio = at.and_then(|at| mdio(map, at, block.name));
        parts.extend(mdio.map(|way| Part {
            map: wanted.phys,
            block,
            way,
        }));
    }
    Ok(parts)
}

/// The way to a block that has no address, with the device at `base`.
fn behind(map: Map, block: Block, base: u32) -> Option<Box<dyn Way>> {
    let bank = |number| -> Option<Box<dyn Way>> { Some(Box::new(Bank::new(base, number))) };
    match (map.name(), block.name) {
        ("lan91c111", "BANK0") => bank(0),
        ("lan91c111", "BANK1") => bank(1),
        ("lan91c111", "BANK2") => bank(2),
        ("lan91c111", "BANK3") => bank(3),
        ("lan9118", "MAC") => Some(Box::new(Index::new(base))),
        ("lan9118", "PHY") => Some(Box::new(Mdio::new(Lan9118::new(base)))),
        // Section 4.2.2.
        ("virtio", "NET") => Some(Box::new(Direct(base.checked_add(0x100)?))),
        ("virtio", "FEATURES") => Some(Box::new(Features(base))),
        _ => None,
    }
}

/// The way to a PHY's block.
fn mdio(map: Map, base: u32, block: &str) -> Option<Box<dyn Way>> {
    let is_of_one_kind = match block {
        "MII" => None,
        // Bits 3 to 24 of Micrel's identifier, and model 21 hexadecimal.
        "KSZ9021" => Some(0x0022_1610),
        _ => return None,
    };
    match map.name() {
        "imx6" => Some(Box::new(Mdio::new(Enet::new(base)).only(is_of_one_kind))),
        "lan9118" => Some(Box::new(Mdio::new(Lan9118::new(base)).only(is_of_one_kind))),
        _ => None,
    }
}

/// In the memory.
struct Direct(u32);

impl Way for Direct {
    fn is_direct(&self) -> bool {
        true
    }

    fn enter(&mut self, _: &mut dyn Memory) -> Result<bool, Fault> {
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, Fault> {
        memory.read(self.0.wrapping_add(offset), bits)
    }

    fn leave(&mut self, _: &mut dyn Memory) -> Result<(), Fault> {
        Ok(())
    }

    fn address(&self, offset: u32) -> Option<u32> {
        self.0.checked_add(offset)
    }
}

/// A bank of the LAN91C111 (section 8.4).
struct Bank {
    base: u32,
    number: u32,
    before: u32,
}

impl Bank {
    const fn new(base: u32, number: u32) -> Self {
        Self {
            base,
            number,
            before: 0,
        }
    }

    const fn select(&self) -> u32 {
        self.base.wrapping_add(lan91c111::BANK.offset)
    }
}

impl Way for Bank {
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, Fault> {
        self.before = lan91c111::BANK::BS.get(memory.read(self.select(), 16)?);
        memory.write(self.select(), 16, self.number)?;
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, Fault> {
        memory.read(self.base.wrapping_add(offset), bits)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), Fault> {
        memory.write(self.select(), 16, self.before)
    }

    fn address(&self, offset: u32) -> Option<u32> {
        self.base.checked_add(offset)
    }
}

/// The LAN9118's MAC, by numbers (sections 5.3.20 and 5.3.21).
pub(super) struct Index {
    base: u32,
    /// What the driver has put there for a write, or not yet taken after a read.
    data: u32,
}

impl Index {
    pub const fn new(base: u32) -> Self {
        Self { base, data: 0 }
    }

    const fn at(&self, offset: u32) -> u32 {
        self.base.wrapping_add(offset)
    }

    fn command(&self, memory: &mut dyn Memory, number: u32, direction: u32) -> Result<(), Fault> {
        use lan9118::MAC_CSR_CMD::{CSR_ADDR, CSR_BUSY};
        let command = self.at(lan9118::MAC_CSR_CMD.offset);
        memory.write(
            command,
            32,
            CSR_BUSY.mask() | direction | CSR_ADDR.of(number),
        )?;
        for _ in 0..LOOKS {
            if !CSR_BUSY.is_set(memory.read(command, 32)?) {
                return Ok(());
            }
        }
        Err(Fault::Refused("MAC_CSR_CMD stays busy".to_owned()))
    }

    pub fn write(&self, memory: &mut dyn Memory, number: u32, value: u32) -> Result<(), Fault> {
        memory.write(self.at(lan9118::MAC_CSR_DATA.offset), 32, value)?;
        self.command(memory, number, 0)
    }
}

impl Way for Index {
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, Fault> {
        self.data = memory.read(self.at(lan9118::MAC_CSR_DATA.offset), 32)?;
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, _: u8) -> Result<u32, Fault> {
        self.command(memory, offset, lan9118::MAC_CSR_CMD::R_NOT_W.mask())?;
        memory.read(self.at(lan9118::MAC_CSR_DATA.offset), 32)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), Fault> {
        memory.write(self.at(lan9118::MAC_CSR_DATA.offset), 32, self.data)
    }
}

/// What a virtio device offers, a word at a time (section 4.2.2).
struct Features(u32);

impl Way for Features {
    /// The register that selects the word cannot be read, so it cannot be put back: that does no harm once
    /// the driver has agreed on features and needs it no more.
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, Fault> {
        let status = memory.read(self.0.wrapping_add(virtio::Status.offset), 32)?;
        if virtio::Status::FEATURES_OK.is_set(status) {
            return Ok(true);
        }
        let what = "the driver has not yet agreed on features, and may be about to read them";
        Err(Fault::Refused(what.to_owned()))
    }

    fn read(&mut self, memory: &mut dyn Memory, word: u32, _: u8) -> Result<u32, Fault> {
        let select = self.0.wrapping_add(virtio::DeviceFeaturesSel.offset);
        memory.write(select, 32, word)?;
        memory.read(self.0.wrapping_add(virtio::DeviceFeatures.offset), 32)
    }

    fn leave(&mut self, _: &mut dyn Memory) -> Result<(), Fault> {
        Ok(())
    }
}
