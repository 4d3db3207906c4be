//! MDIO and the PHY behind it: a 10/100/1000 PHY that negotiates (IEEE 802.3 clauses 22.2.4, 28, 40.5).

use super::LineRate;
use super::regs;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// The registers.
mod mii {
    linerate_regs::constants!(linerate_regs::MII, "MII":
        BMCR { RESET AN_ENABLE AN_RESTART }
        BMSR { LINK_UP AN_COMPLETE AN_ABLE EXT_STATUS X_100_FULL X_100_HALF T_10_FULL T_10_HALF }
        PHYID1 PHYID2
        ANAR { TX_100_FULL TX_100_HALF T_10_FULL T_10_HALF PAUSE }
        ANLPAR CTRL1000 { T_1000_FULL } STAT1000 { LP_1000_FULL } ESTATUS { T_1000_FULL }
    );
}

/// Periods of MDC in a frame of clause 22.
const MDIO_BITS: u64 = 64;
/// Identifier of the KSZ9021, whose register map is in `regs/data/mii.regs`.
const IDENTIFIER: [u16; 2] = [0x0022, 0x1611];
const REGISTERS: usize = 32;

/// What the line partner advertises: full duplex at this rate and the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// Its highest rate.
    pub rate: LineRate,
    /// PAUSE frames in both directions.
    pub pause: bool,
}

/// A negotiated mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub rate: LineRate,
    pub pause: bool,
}

/// The PHY.
#[derive(Debug)]
pub(super) struct Phy {
    registers: [u16; REGISTERS],
    partner: Option<Advertisement>,
    /// The link was lost since BMSR was read last.
    has_lost_link: bool,
}

impl Phy {
    fn new() -> Self {
        let mut registers = [0; REGISTERS];
        registers[mii::BMCR.offset as usize] = 0x1140;
        registers[mii::ANAR.offset as usize] = 0x01e1;
        registers[mii::CTRL1000.offset as usize] = 0x0300;
        Self {
            registers,
            partner: None,
            has_lost_link: false,
        }
    }

    pub fn connect(&mut self, partner: Option<Advertisement>) {
        self.has_lost_link |= partner.is_none();
        self.partner = partner;
    }

    fn stored(&self, register: linerate_regs::RegisterRef) -> u32 {
        self.registers[register.offset as usize % REGISTERS].into()
    }

    /// The mode that both sides support, in full duplex; negotiation takes no time.
    pub fn resolve(&self) -> Option<Mode> {
        let partner = self.partner?;
        let own = self.stored(mii::ANAR);
        let gigabit = mii::CTRL1000::T_1000_FULL.is_set(self.stored(mii::CTRL1000));
        let rate = [
            (LineRate::Mbit1000, gigabit),
            (LineRate::Mbit100, mii::ANAR::TX_100_FULL.is_set(own)),
            (LineRate::Mbit10, mii::ANAR::T_10_FULL.is_set(own)),
        ]
        .into_iter()
        .find(|(rate, advertised)| *advertised && *rate <= partner.rate)?
        .0;
        Some(Mode {
            rate,
            pause: partner.pause && mii::ANAR::PAUSE.is_set(own),
        })
    }

    fn read(&mut self, register: u32) -> u16 {
        let is = |it: linerate_regs::RegisterRef| it.offset == register;
        if is(mii::BMSR) {
            let mut status = mii::BMSR::AN_ABLE.mask()
                | mii::BMSR::EXT_STATUS.mask()
                | mii::BMSR::X_100_FULL.mask()
                | mii::BMSR::X_100_HALF.mask()
                | mii::BMSR::T_10_FULL.mask()
                | mii::BMSR::T_10_HALF.mask();
            if self.resolve().is_some() && !core::mem::take(&mut self.has_lost_link) {
                status |= mii::BMSR::LINK_UP.mask() | mii::BMSR::AN_COMPLETE.mask();
            }
            return status as u16;
        }
        if is(mii::PHYID1) || is(mii::PHYID2) {
            return IDENTIFIER[(register - mii::PHYID1.offset) as usize];
        }
        if is(mii::ESTATUS) {
            return mii::ESTATUS::T_1000_FULL.mask() as u16;
        }
        if is(mii::ANLPAR) {
            return self.partner.map_or(0, |partner| {
                // The same bits as in ANAR; the partner has received the message.
                let fast = mii::ANAR::TX_100_FULL.of((partner.rate >= LineRate::Mbit100).into());
                let pause = mii::ANAR::PAUSE.of(partner.pause.into());
                (fast | pause | mii::ANAR::T_10_FULL.mask() | 1 | 1 << 14) as u16
            });
        }
        if is(mii::STAT1000) {
            let rate = self.partner.map(|it| it.rate);
            return mii::STAT1000::LP_1000_FULL.of((rate == Some(LineRate::Mbit1000)).into())
                as u16;
        }
        self.registers[register as usize % REGISTERS]
    }

    fn write(&mut self, register: u32, value: u16) {
        if register == mii::BMCR.offset {
            if mii::BMCR::RESET.is_set(value.into()) {
                let partner = self.partner;
                *self = Self {
                    partner,
                    ..Self::new()
                };
                return;
            }
            let value = value & !(mii::BMCR::AN_RESTART.mask() as u16);
            self.registers[register as usize] = value;
            return;
        }
        self.registers[register as usize % REGISTERS] = value;
    }
}

/// An MDIO transfer in progress.
#[derive(Clone, Copy, Debug)]
struct Running {
    frame: u32,
    done: Instant,
}

/// The management interface.
#[derive(Debug)]
pub(super) struct Mdio {
    address: u8,
    pub phy: Phy,
    running: Option<Running>,
}

impl Mdio {
    pub fn new(address: u8) -> Self {
        Self {
            address,
            phy: Phy::new(),
            running: None,
        }
    }

    /// Starts the transfer in MMFR; MDC is the bus clock divided by `2 * (speed + 1)`.
    pub fn start(&mut self, frame: u32, speed: u32, bus_hertz: u64, now: Instant) {
        let ticks = MDIO_BITS * 2 * u64::from(speed + 1) * TICKS_PER_SECOND / bus_hertz;
        let done = now + Span::from_ticks(ticks);
        self.running = Some(Running { frame, done });
    }

    pub fn done_at(&self) -> Instant {
        self.running.map_or(Instant::NEVER, |it| it.done)
    }

    /// Ends the transfer; returns what was read.
    pub fn finish(&mut self) -> Option<u16> {
        let frame = self.running.take()?.frame;
        let register = regs::MMFR::RA.get(frame);
        let is_here = regs::MMFR::PA.get(frame) == u32::from(self.address);
        match regs::MMFR::OP.get(frame) {
            regs::MMFR::OP::READ if is_here => Some(self.phy.read(register)),
            // An undriven bus is pulled up.
            regs::MMFR::OP::READ => Some(0xffff),
            regs::MMFR::OP::WRITE => {
                if is_here {
                    self.phy.write(register, regs::MMFR::DATA.get(frame) as u16);
                }
                None
            }
            _ => None,
        }
    }
}
