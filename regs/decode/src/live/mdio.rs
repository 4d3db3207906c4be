//! Registers of PHYs (IEEE 802.3 clause 22.2.4), through the MAC that they are connected to.

use super::access::{BlockAccess, IndexAccess, poll};
use super::{Memory, MemoryError};

mod mii {
    linerate_regs::constants!(linerate_regs::MII, "MII":
        BMSR { EXT_STATUS } PHYID1 PHYID2 CTRL1000 STAT1000 ESTATUS
    );
}
mod enet {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET":
        EIR { MII } MMFR { ST OP { READ } PA RA TA DATA } MSCR { MII_SPEED }
    );
}
mod dwmac {
    linerate_regs::constants!(linerate_regs::DWMAC, "ETH":
        MACMIIAR { PA MR CR MB } MACMIIDR { MD }
    );
}
mod mac {
    linerate_regs::constants!(linerate_regs::LAN9118, "MAC":
        MII_ACC { PHY_ADDR MIIRINDA MII_BUSY } MII_DATA
    );
}

/// Number of PHY addresses (clause 22.2.4.5.5).
const ADDRESSES: u32 = 32;
/// Error of a bus whose transfer stays in progress.
const ENDLESS: &str = "a transfer on MDIO does not end";

/// An MDIO bus.
pub(super) trait MdioBus {
    /// First PHY address to try.
    const FIRST_PHY: u32;

    /// Saves the state to restore.
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError>;

    /// Reads a PHY's register.
    fn read(
        &mut self,
        memory: &mut dyn Memory,
        phy: u32,
        register: u32,
    ) -> Result<u32, MemoryError>;

    /// Restores the saved state.
    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError>;
}

/// The first PHY on a bus.
pub(super) struct MdioAccess<B> {
    bus: B,
    /// Required identifier, ignoring the revision.
    phy_id: Option<u32>,
    phy: u32,
    /// BMSR, after it was read: its latched bits are lost in a second read.
    status: Option<u32>,
}

impl<B: MdioBus> MdioAccess<B> {
    pub const fn new(bus: B) -> Self {
        Self {
            bus,
            phy_id: None,
            phy: 0,
            status: None,
        }
    }

    pub const fn with_phy_id(mut self, id: Option<u32>) -> Self {
        self.phy_id = id;
        self
    }

    /// The PHY's identifier (clause 22.2.4.3.1).
    fn find(&mut self, memory: &mut dyn Memory) -> Result<u32, MemoryError> {
        for number in 0..ADDRESSES {
            self.phy = (B::FIRST_PHY + number) % ADDRESSES;
            let high = self.bus.read(memory, self.phy, mii::PHYID1.offset)?;
            let low = self.bus.read(memory, self.phy, mii::PHYID2.offset)?;
            // An undriven bus reads as ones; no manufacturer is 0.
            if !matches!((high, low), (0xffff, 0xffff) | (0, 0)) {
                return Ok(high << 16 | low);
            }
        }
        Err(MemoryError::Refused("no PHY answers on MDIO".to_owned()))
    }
}

impl<B: MdioBus> BlockAccess for MdioAccess<B> {
    fn enter(&mut self, memory: &mut dyn Memory) -> Result<bool, MemoryError> {
        self.bus.enter(memory)?;
        let is_there = self
            .find(memory)
            .map(|found| self.phy_id.is_none_or(|id| found & !0xf == id));
        if !matches!(is_there, Ok(true)) {
            self.bus.leave(memory)?;
        }
        is_there
    }

    /// Without `BMSR.EXT_STATUS` there are no registers for 1000 Mbit/s (clause 22.2.4.2.8).
    fn has(&self, number: u32) -> bool {
        let of_gigabit = [mii::CTRL1000, mii::STAT1000, mii::ESTATUS];
        let is_one = of_gigabit.iter().any(|it| it.offset == number) && self.phy_id.is_none();
        let has_them = |status| mii::BMSR::EXT_STATUS.is_set(status);
        !is_one || self.status.is_none_or(has_them)
    }

    fn read(&mut self, memory: &mut dyn Memory, number: u32, _: u8) -> Result<u32, MemoryError> {
        let value = self.bus.read(memory, self.phy, number)? & 0xffff;
        if number == mii::BMSR.offset {
            self.status = Some(value);
        }
        Ok(value)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.bus.leave(memory)
    }
}

/// The i.MX 6's ENET: writing MMFR starts a transfer, EIR.MII indicates its end.
pub(super) struct Enet {
    base: u32,
    /// State of EIR.MII, which the driver may not have read yet, and the frame it refers to.
    done: bool,
    frame: u32,
}

impl Enet {
    pub const fn new(base: u32) -> Self {
        Self {
            base,
            done: false,
            frame: 0,
        }
    }

    const fn at(&self, place: linerate_regs::RegisterRef) -> u32 {
        self.base.wrapping_add(place.offset)
    }

    fn transfer(&self, memory: &mut dyn Memory, frame: u32) -> Result<u32, MemoryError> {
        self.clear_done(memory)?;
        memory.write(self.at(enet::MMFR), 32, frame)?;
        poll(ENDLESS, || {
            Ok(enet::EIR::MII.is_set(memory.read(self.at(enet::EIR), 32)?))
        })?;
        memory.read(self.at(enet::MMFR), 32)
    }

    fn clear_done(&self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        memory.write(self.at(enet::EIR), 32, enet::EIR::MII.mask())
    }
}

impl MdioBus for Enet {
    const FIRST_PHY: u32 = 0;

    fn enter(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        if !enet::MSCR::MII_SPEED.is_set(memory.read(self.at(enet::MSCR), 32)?) {
            let what = "MDIO has no clock (ENET.MSCR.MII_SPEED is 0)";
            return Err(MemoryError::Refused(what.to_owned()));
        }
        self.done = enet::EIR::MII.is_set(memory.read(self.at(enet::EIR), 32)?);
        self.frame = memory.read(self.at(enet::MMFR), 32)?;
        Ok(())
    }

    fn read(
        &mut self,
        memory: &mut dyn Memory,
        phy: u32,
        register: u32,
    ) -> Result<u32, MemoryError> {
        use enet::MMFR::{DATA, OP, PA, RA, ST, TA};
        let frame = ST.of(1) | OP.of(OP::READ) | PA.of(phy) | RA.of(register) | TA.of(2);
        let frame = self.transfer(memory, frame)?;
        Ok(DATA.get(frame))
    }

    /// A driver that was about to poll finds the end of a transfer, and if it was reading, its value.
    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        use enet::MMFR::OP;
        if self.done && OP.get(self.frame) == OP::READ {
            return self.transfer(memory, self.frame).map(drop);
        }
        if self.done {
            return Ok(());
        }
        self.clear_done(memory)
    }
}

/// The LAN9118's MAC, through its index register (sections 5.4.6 and 5.4.7).
pub(super) struct Lan9118 {
    index: IndexAccess,
    data: u32,
}

impl Lan9118 {
    pub const fn new(base: u32) -> Self {
        Self {
            index: IndexAccess::new(base),
            data: 0,
        }
    }

    fn mac(&mut self, memory: &mut dyn Memory, number: u32) -> Result<u32, MemoryError> {
        BlockAccess::read(&mut self.index, memory, number, 32)
    }
}

impl MdioBus for Lan9118 {
    /// Address of the internal PHY (section 5.4.6).
    const FIRST_PHY: u32 = 1;

    fn enter(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.index.enter(memory)?;
        self.data = self.mac(memory, mac::MII_DATA.offset)?;
        Ok(())
    }

    fn read(
        &mut self,
        memory: &mut dyn Memory,
        phy: u32,
        register: u32,
    ) -> Result<u32, MemoryError> {
        use mac::MII_ACC::{MII_BUSY, MIIRINDA, PHY_ADDR};
        let which = PHY_ADDR.of(phy) | MIIRINDA.of(register);
        self.index
            .write(memory, mac::MII_ACC.offset, MII_BUSY.mask() | which)?;
        poll(ENDLESS, || {
            Ok(!MII_BUSY.is_set(self.mac(memory, mac::MII_ACC.offset)?))
        })?;
        self.mac(memory, mac::MII_DATA.offset)
    }

    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.index.write(memory, mac::MII_DATA.offset, self.data)?;
        self.index.leave(memory)
    }
}

/// The `DesignWare` MAC: writing MACMIIAR starts a transfer, and its bit MB is set until the end.
pub(super) struct Dwmac {
    base: u32,
    /// Content of both registers, which the driver may not have read yet.
    address: u32,
    data: u32,
}

impl Dwmac {
    pub const fn new(base: u32) -> Self {
        Self {
            base,
            address: 0,
            data: 0,
        }
    }

    const fn at(&self, place: linerate_regs::RegisterRef) -> u32 {
        self.base.wrapping_add(place.offset)
    }

    fn wait(&self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        poll(ENDLESS, || {
            let command = memory.read(self.at(dwmac::MACMIIAR), 32)?;
            Ok(!dwmac::MACMIIAR::MB.is_set(command))
        })
    }
}

impl MdioBus for Dwmac {
    const FIRST_PHY: u32 = 0;

    fn enter(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        self.wait(memory)?;
        self.address = memory.read(self.at(dwmac::MACMIIAR), 32)?;
        self.data = memory.read(self.at(dwmac::MACMIIDR), 32)?;
        Ok(())
    }

    fn read(
        &mut self,
        memory: &mut dyn Memory,
        phy: u32,
        register: u32,
    ) -> Result<u32, MemoryError> {
        use dwmac::MACMIIAR::{CR, MB, MR, PA};
        // The driver's clock of MDC is kept.
        let clock = CR.mask() & self.address;
        let start = MB.mask() | PA.of(phy) | MR.of(register) | clock;
        memory.write(self.at(dwmac::MACMIIAR), 32, start)?;
        self.wait(memory)?;
        let data = memory.read(self.at(dwmac::MACMIIDR), 32)?;
        Ok(dwmac::MACMIIDR::MD.get(data))
    }

    /// A driver that was about to read a value finds it.
    fn leave(&mut self, memory: &mut dyn Memory) -> Result<(), MemoryError> {
        memory.write(self.at(dwmac::MACMIIDR), 32, self.data)
    }
}
