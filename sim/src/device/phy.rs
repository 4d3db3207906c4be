//! A PHY behind an MDIO bus (IEEE 802.3 clause 22.2.4): registers, and auto-negotiation with the partner. It resolves
//! full duplex only.

use super::port::{LinkMode, Partner};
use crate::time::{Instant, Span};

/// The registers.
mod mii {
    linerate_regs::constants!(linerate_regs::MII, "MII":
        BMCR { RESET LOOPBACK SPEED0 SPEED1 AN_ENABLE AN_RESTART POWER_DOWN DUPLEX }
        BMSR { LINK_UP AN_COMPLETE AN_ABLE EXT_STATUS EXT_CAPABLE X_100_FULL X_100_HALF T_10_FULL T_10_HALF }
        PHYID1 PHYID2
        ANAR { TX_100_FULL TX_100_HALF T_10_FULL T_10_HALF PAUSE SELECTOR { IEEE_802_3 } }
        ANLPAR { ACK TX_100_FULL T_10_FULL PAUSE }
        CTRL1000 { T_1000_FULL }
        STAT1000 { LP_1000_FULL }
        ESTATUS { T_1000_FULL }
    );
}

/// Identifier: of no manufacturer.
const IDENTIFIER: [u16; 2] = [0x4c52, 0x0010];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Down,
    Negotiating { until: Instant },
    Up(LinkMode),
}

/// The PHY.
#[derive(Clone, Debug)]
pub struct Phy {
    is_gigabit: bool,
    /// Duration of a negotiation.
    negotiation: Span,
    control: u16,
    advertised: u16,
    gigabit: u16,
    partner: Option<Partner>,
    state: State,
    /// The link was down since the last read of the status.
    latched_down: bool,
}

impl Phy {
    /// A PHY whose negotiation takes `negotiation`, up to 100 Mbit/s or to 1000.
    pub fn new(is_gigabit: bool, negotiation: Span) -> Self {
        let mut phy = Self {
            is_gigabit,
            negotiation,
            control: 0,
            advertised: 0,
            gigabit: 0,
            partner: None,
            state: State::Down,
            latched_down: true,
        };
        phy.reset(Instant::ZERO);
        phy
    }

    fn reset(&mut self, now: Instant) {
        self.control = (mii::BMCR::AN_ENABLE.mask() | mii::BMCR::DUPLEX.mask()) as u16;
        self.advertised = mii::ANAR.reset as u16;
        self.gigabit = if self.is_gigabit {
            mii::CTRL1000::T_1000_FULL.mask() as u16
        } else {
            0
        };
        self.restart(now);
    }

    /// Connects a partner, or nobody.
    pub fn connect(&mut self, partner: Option<Partner>, now: Instant) {
        self.partner = partner;
        self.restart(now);
    }

    /// Mode of the link; `None` while it is down.
    pub fn mode(&self) -> Option<LinkMode> {
        match self.state {
            State::Up(mode) => Some(mode),
            State::Down | State::Negotiating { .. } => None,
        }
    }

    /// Time at which a negotiation ends.
    pub fn next_event(&self) -> Instant {
        match self.state {
            State::Negotiating { until } => until,
            State::Down | State::Up(_) => Instant::NEVER,
        }
    }

    /// Ends a negotiation that is due.
    pub fn advance(&mut self, now: Instant) {
        if self.next_event() <= now {
            let mode = self.resolve();
            self.state = mode.map_or(State::Down, State::Up);
        }
    }

    /// True if both stations have advertised pause frames.
    pub fn has_pause(&self) -> bool {
        let own = mii::ANAR::PAUSE.is_set(self.advertised.into());
        self.mode().is_some() && own && self.partner.is_some_and(|it| it.pause)
    }

    fn restart(&mut self, now: Instant) {
        let control = u32::from(self.control);
        self.state = if self.partner.is_none() || mii::BMCR::POWER_DOWN.is_set(control) {
            State::Down
        } else {
            let until = now + self.negotiation;
            State::Negotiating { until }
        };
        // It may take no time.
        self.advance(now);
        self.latched_down |= self.mode().is_none();
    }

    /// The fastest speed that both stations have.
    fn resolve(&self) -> Option<LinkMode> {
        let partner = self.partner?;
        let control = u32::from(self.control);
        let own = |mbit_per_s| {
            if !mii::BMCR::AN_ENABLE.is_set(control) {
                return mbit_per_s == self.forced_speed();
            }
            match mbit_per_s {
                1000 => mii::CTRL1000::T_1000_FULL.is_set(self.gigabit.into()),
                100 => mii::ANAR::TX_100_FULL.is_set(self.advertised.into()),
                _ => mii::ANAR::T_10_FULL.is_set(self.advertised.into()),
            }
        };
        let common = |speed: &u32| *speed <= partner.mbit_per_s && own(*speed);
        let mbit_per_s = [1000, 100, 10].into_iter().find(common)?;
        Some(LinkMode { mbit_per_s })
    }

    fn forced_speed(&self) -> u32 {
        let control = u32::from(self.control);
        match (
            mii::BMCR::SPEED1.is_set(control),
            mii::BMCR::SPEED0.is_set(control),
        ) {
            (true, _) => 1000,
            (false, true) => 100,
            (false, false) => 10,
        }
    }

    /// Reads register `number`.
    pub fn read(&mut self, number: u32, now: Instant) -> u16 {
        self.advance(now);
        let is = |register: linerate_regs::RegisterRef| register.offset == number;
        let value = if is(mii::BMCR) {
            return self.control;
        } else if is(mii::BMSR) {
            self.read_status()
        } else if is(mii::PHYID1) || is(mii::PHYID2) {
            return IDENTIFIER[usize::from(is(mii::PHYID2))];
        } else if is(mii::ANAR) {
            return self.advertised;
        } else if is(mii::ANLPAR) {
            self.partner_page()
        } else if is(mii::CTRL1000) {
            return self.gigabit;
        } else if is(mii::STAT1000) && self.mode().is_some() {
            let gigabit = self.partner.is_some_and(|it| it.mbit_per_s >= 1000);
            mii::STAT1000::LP_1000_FULL.of(gigabit.into())
        } else if is(mii::ESTATUS) {
            mii::ESTATUS::T_1000_FULL.of(self.is_gigabit.into())
        } else {
            0
        };
        value as u16
    }

    fn read_status(&mut self) -> u32 {
        let is_up = self.mode().is_some() && !self.latched_down;
        self.latched_down = self.mode().is_none();
        let negotiates = mii::BMCR::AN_ENABLE.is_set(self.control.into());
        mii::BMSR::X_100_FULL.mask()
            | mii::BMSR::X_100_HALF.mask()
            | mii::BMSR::T_10_FULL.mask()
            | mii::BMSR::T_10_HALF.mask()
            | mii::BMSR::AN_ABLE.mask()
            | mii::BMSR::EXT_CAPABLE.mask()
            | mii::BMSR::EXT_STATUS.of(self.is_gigabit.into())
            | mii::BMSR::LINK_UP.of(is_up.into())
            | mii::BMSR::AN_COMPLETE.of((negotiates && self.mode().is_some()).into())
    }

    fn partner_page(&self) -> u32 {
        let (Some(partner), Some(_)) = (self.partner, self.mode()) else {
            return 0;
        };
        mii::ANLPAR::ACK.mask()
            | mii::ANLPAR::TX_100_FULL.of((partner.mbit_per_s >= 100).into())
            | mii::ANLPAR::T_10_FULL.mask()
            | mii::ANLPAR::PAUSE.of(partner.pause.into())
            | mii::ANAR::SELECTOR.of(mii::ANAR::SELECTOR::IEEE_802_3)
    }

    /// Writes register `number`.
    pub fn write(&mut self, number: u32, value: u16, now: Instant) {
        self.advance(now);
        let is = |register: linerate_regs::RegisterRef| register.offset == number;
        if is(mii::BMCR) {
            self.write_control(value, now);
        } else if is(mii::ANAR) {
            self.advertised = value;
        } else if is(mii::CTRL1000) && self.is_gigabit {
            self.gigabit = value;
        }
    }

    fn write_control(&mut self, value: u16, now: Instant) {
        if mii::BMCR::RESET.is_set(value.into()) {
            self.reset(now);
            return;
        }
        let restart = mii::BMCR::AN_RESTART.mask() as u16;
        let changed = self.control != value & !restart;
        self.control = value & !restart;
        if changed || value & restart != 0 {
            self.restart(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEGOTIATION: Span = Span::from_ms(100);
    const GIGABIT: Partner = Partner {
        mbit_per_s: 1000,
        pause: true,
    };
    const fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn speed(phy: &Phy) -> Option<u32> {
        phy.mode().map(|mode| mode.mbit_per_s)
    }

    #[test]
    fn the_fastest_common_speed_is_negotiated_after_a_while() {
        let mut phy = Phy::new(true, NEGOTIATION);
        assert_eq!(phy.read(1, ms(0)) & 0x24, 0);
        phy.connect(Some(GIGABIT), ms(1));
        phy.advance(ms(100));
        assert_eq!(speed(&phy), None);
        phy.advance(ms(101));
        assert_eq!(speed(&phy), Some(1000));
        // A loss is reported once.
        assert_eq!(phy.read(1, ms(102)) & 0x24, 0x20);
        assert_eq!(phy.read(1, ms(102)) & 0x24, 0x24);
        phy.write(9, 0, ms(103));
        phy.write(0, 0x1200, ms(103));
        assert_eq!(speed(&phy), None);
        phy.advance(ms(203));
        assert_eq!(speed(&phy), Some(100));
        assert_eq!(phy.read(5, ms(204)) & 0x540, 0x540);
        phy.connect(None, ms(205));
        assert_eq!((speed(&phy), phy.next_event()), (None, Instant::NEVER));
    }

    #[test]
    fn without_a_common_speed_the_link_stays_down_and_a_forced_one_needs_no_advertisement() {
        let mut phy = Phy::new(true, NEGOTIATION);
        phy.write(4, 1, ms(0));
        let slow = Partner {
            mbit_per_s: 100,
            pause: false,
        };
        phy.connect(Some(slow), ms(0));
        phy.advance(ms(100));
        assert_eq!(speed(&phy), None);
        phy.write(0, 0x0100, ms(100));
        phy.advance(ms(200));
        assert_eq!(speed(&phy), Some(10));
        assert_eq!(phy.read(0, ms(200)), 0x0100);
    }
}
