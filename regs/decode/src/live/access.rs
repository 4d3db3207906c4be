//! Access to blocks: in memory, in banks, through an index register.

use linerate_regs::{Block, Found, Map};

use super::mdio::{Dwmac, Enet, Lan9118, MdioAccess};
use super::{Error, Memory, MemoryError, ReadRequest};

/// The registers for indirect access.
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

/// Maximum number of polls of a bit. Each poll goes through a debugger.
const MAX_POLLS: u32 = 100;

/// Reads until `is_done`; `what` is the error if that never is.
pub(super) fn poll(
    what: &str,
    mut is_done: impl FnMut() -> Result<bool, MemoryError>,
) -> Result<(), MemoryError> {
    for _ in 0..MAX_POLLS {
        if is_done()? {
            return Ok(());
        }
    }
    Err(MemoryError::Refused(what.to_owned()))
}

/// Access to the registers of a block.
pub(super) trait BlockAccess {
    /// True if nothing is written for it.
    fn is_direct(&self) -> bool {
        false
    }

    /// Saves the state to restore. `false`: the device has no such block.
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, MemoryError>;

    /// True if the device has the register.
    fn has(&self, _offset: u32) -> bool {
        true
    }

    /// Reads `bits` bits at `offset`.
    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, MemoryError>;

    /// Restores the saved state.
    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError>;

    /// Address of that register, if it is in memory.
    fn address(&self, _offset: u32) -> Option<u32> {
        None
    }
}

/// A block with its access.
pub(super) struct BlockReader<'a> {
    pub map: Map<'a>,
    pub block: Block<'a>,
    pub access: Box<dyn BlockAccess>,
}

impl<'a> BlockReader<'a> {
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

/// All blocks that can be accessed.
pub(super) fn parts<'a>(request: &ReadRequest<'a>) -> Result<Vec<BlockReader<'a>>, Error> {
    let map = request.map;
    let chosen = match request.block {
        Some(name) => Some(super::super::resolve::block_named([map].into_iter(), name)?),
        None => map.blocks().next(),
    };
    let base = request.base.or(chosen.and_then(|block| block.base));
    let is_chosen = |block: &Block| chosen.is_some_and(|it| it.name == block.name);
    let mut parts: Vec<BlockReader> = map
        .blocks()
        .filter_map(|block| {
            let direct = if is_chosen(&block) { base } else { block.base };
            let access = match direct {
                Some(at) => Box::new(DirectAccess(at)) as Box<dyn BlockAccess>,
                None => indirect_access(map, block, base?)?,
            };
            Some(BlockReader { map, block, access })
        })
        .collect();
    let Some(first) = parts.iter().find(|part| part.access.is_direct()) else {
        return Err(Error::NoBase {
            chip: map.name().to_owned(),
        });
    };
    let is_alone = parts
        .iter()
        .filter(|it| it.access.is_direct() && it.block.base.is_some());
    if request.names.is_empty() && request.base.is_none() && is_alone.count() > 1 {
        return Err(Error::WholeChip {
            chip: map.name().to_owned(),
        });
    }
    let at = first.access.address(0);
    for block in request.phys.blocks() {
        let mdio = at.and_then(|at| mdio_access(map, at, block.name));
        parts.extend(mdio.map(|access| BlockReader {
            map: request.phys,
            block,
            access,
        }));
    }
    Ok(parts)
}

/// Access to a block without an address, with the device at `base`.
fn indirect_access(map: Map, block: Block, base: u32) -> Option<Box<dyn BlockAccess>> {
    let bank =
        |number| -> Option<Box<dyn BlockAccess>> { Some(Box::new(BankAccess::new(base, number))) };
    match (map.name(), block.name) {
        ("lan91c111", "BANK0") => bank(0),
        ("lan91c111", "BANK1") => bank(1),
        ("lan91c111", "BANK2") => bank(2),
        ("lan91c111", "BANK3") => bank(3),
        ("lan9118", "MAC") => Some(Box::new(IndexAccess::new(base))),
        ("lan9118", "PHY") => Some(Box::new(MdioAccess::new(Lan9118::new(base)))),
        // Section 4.2.2.
        ("virtio", "NET") => Some(Box::new(DirectAccess(base.checked_add(0x100)?))),
        ("virtio", "FEATURES") => Some(Box::new(FeatureAccess(base))),
        _ => None,
    }
}

/// Access to a PHY's block.
fn mdio_access(map: Map, base: u32, block: &str) -> Option<Box<dyn BlockAccess>> {
    let phy_id = match block {
        "MII" => None,
        // Bits 3 to 24 of Micrel's identifier, and model 0x21.
        "KSZ9021" => Some(0x0022_1610),
        _ => return None,
    };
    match map.name() {
        "dwmac" => Some(Box::new(
            MdioAccess::new(Dwmac::new(base)).with_phy_id(phy_id),
        )),
        "imx6" => Some(Box::new(
            MdioAccess::new(Enet::new(base)).with_phy_id(phy_id),
        )),
        "lan9118" => Some(Box::new(
            MdioAccess::new(Lan9118::new(base)).with_phy_id(phy_id),
        )),
        _ => None,
    }
}

/// Access in memory.
struct DirectAccess(u32);

impl BlockAccess for DirectAccess {
    fn is_direct(&self) -> bool {
        true
    }

    fn enter(&mut self, _: &mut dyn Memory) -> Result<bool, MemoryError> {
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, MemoryError> {
        memory.read(self.0.wrapping_add(offset), bits)
    }

    fn leave(&mut self, _: &mut dyn Memory) -> Result<(), MemoryError> {
        Ok(())
    }

    fn address(&self, offset: u32) -> Option<u32> {
        self.0.checked_add(offset)
    }
}

/// A bank of the LAN91C111 (section 8.4).
struct BankAccess {
    base: u32,
    number: u32,
    before: u32,
}

impl BankAccess {
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

impl BlockAccess for BankAccess {
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, MemoryError> {
        self.before = lan91c111::BANK::BS.get(memory.read(self.select(), 16)?);
        memory.write(self.select(), 16, self.number)?;
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, bits: u8) -> Result<u32, MemoryError> {
        memory.read(self.base.wrapping_add(offset), bits)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        memory.write(self.select(), 16, self.before)
    }

    fn address(&self, offset: u32) -> Option<u32> {
        self.base.checked_add(offset)
    }
}

/// The LAN9118's MAC, by register number (sections 5.3.20 and 5.3.21).
pub(super) struct IndexAccess {
    base: u32,
    /// Data that the driver wrote there for a write, or has not read yet.
    data: u32,
}

impl IndexAccess {
    pub const fn new(base: u32) -> Self {
        Self { base, data: 0 }
    }

    const fn at(&self, offset: u32) -> u32 {
        self.base.wrapping_add(offset)
    }

    fn command(
        &self,
        memory: &mut dyn Memory,
        number: u32,
        direction: u32,
    ) -> Result<(), MemoryError> {
        use lan9118::MAC_CSR_CMD::{CSR_ADDR, CSR_BUSY};
        let command = self.at(lan9118::MAC_CSR_CMD.offset);
        memory.write(
            command,
            32,
            CSR_BUSY.mask() | direction | CSR_ADDR.of(number),
        )?;
        poll("MAC_CSR_CMD stays busy", || {
            Ok(!CSR_BUSY.is_set(memory.read(command, 32)?))
        })
    }

    pub fn write(
        &self,
        memory: &mut dyn Memory,
        number: u32,
        value: u32,
    ) -> Result<(), MemoryError> {
        memory.write(self.at(lan9118::MAC_CSR_DATA.offset), 32, value)?;
        self.command(memory, number, 0)
    }
}

impl BlockAccess for IndexAccess {
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, MemoryError> {
        self.data = memory.read(self.at(lan9118::MAC_CSR_DATA.offset), 32)?;
        Ok(true)
    }

    fn read(&mut self, memory: &mut dyn Memory, offset: u32, _: u8) -> Result<u32, MemoryError> {
        self.command(memory, offset, lan9118::MAC_CSR_CMD::R_NOT_W.mask())?;
        memory.read(self.at(lan9118::MAC_CSR_DATA.offset), 32)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        memory.write(self.at(lan9118::MAC_CSR_DATA.offset), 32, self.data)
    }
}

/// Device features of a virtio device, one word at a time (section 4.2.2).
struct FeatureAccess(u32);

impl BlockAccess for FeatureAccess {
    /// The register that selects the word is write-only, so it cannot be restored: that is harmless once the driver has
    /// negotiated features.
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, MemoryError> {
        let status = memory.read(self.0.wrapping_add(virtio::Status.offset), 32)?;
        if virtio::Status::FEATURES_OK.is_set(status) {
            return Ok(true);
        }
        let what = "the driver has not yet agreed on features, and may be about to read them";
        Err(MemoryError::Refused(what.to_owned()))
    }

    fn read(&mut self, memory: &mut dyn Memory, word: u32, _: u8) -> Result<u32, MemoryError> {
        let select = self.0.wrapping_add(virtio::DeviceFeaturesSel.offset);
        memory.write(select, 32, word)?;
        memory.read(self.0.wrapping_add(virtio::DeviceFeatures.offset), 32)
    }

    fn leave(&mut self, _: &mut dyn Memory) -> Result<(), MemoryError> {
        Ok(())
    }
}
