//! Tests with scripted PHYs.

extern crate std;

use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::vec;
use std::vec::Vec;

/// A PHY at address 6 that records writes.
struct Script {
    registers: RefCell<[u16; 32]>,
    written: RefCell<Vec<(u32, u16)>>,
    /// Reads of BMCR that still show the reset.
    reset_for: RefCell<u32>,
}

impl Script {
    /// A PHY of 10 and 100 Mbit/s.
    fn new() -> Self {
        let mut registers = [0; 32];
        registers[1] = 0x7809;
        registers[2] = 0x0007;
        registers[3] = 0xc0d1;
        Self {
            registers: RefCell::new(registers),
            written: RefCell::default(),
            reset_for: RefCell::new(3),
        }
    }

    /// A KSZ9021's abilities.
    fn gigabit() -> Self {
        let phy = Self::new();
        phy.set(1, 0x7949);
        phy.set(15, 0x3000);
        phy
    }

    fn set(&self, register: usize, value: u16) {
        self.registers.borrow_mut()[register] = value;
    }
}

impl MdioBus for Script {
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError> {
        let value = self.registers.borrow()[register.offset as usize];
        if phy != 6 {
            return Ok(0xffff);
        }
        if register == mii::BMCR {
            let mut left = self.reset_for.borrow_mut();
            *left = left.saturating_sub(1);
            return Ok(if *left > 0 { value } else { value & 0x7fff });
        }
        Ok(value)
    }

    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError> {
        assert_eq!(phy, 6);
        self.set(register.offset as usize, value);
        self.written.borrow_mut().push((register.offset, value));
        Ok(())
    }
}

#[test]
fn a_phy_is_found_and_identified() {
    let bus = Script::new();
    let phy = Phy::find(&bus).expect("there");
    assert_eq!(phy.address(), 6);
    // SMSC's 00-80-0f: its bits 3 to 24.
    let identity = Identity {
        manufacturer: 0x0001f0,
        model: 0x0d,
        revision: 1,
    };
    assert_eq!(phy.identity(), identity);
    assert_eq!(Phy::at(&bus, 5), Err(MdioError::NoPhy(5)));
    bus.set(2, 0xffff);
    bus.set(3, 0xffff);
    assert_eq!(Phy::find(&bus), Err(MdioError::NoPhy(31)));
}

#[test]
fn a_reset_is_waited_for() {
    let bus = Script::new();
    let phy = Phy::at(&bus, 6).expect("there");
    assert_eq!(phy.reset(&bus), Ok(()));
    *bus.reset_for.borrow_mut() = u32::MAX;
    assert_eq!(phy.reset(&bus), Err(MdioError::InReset(6)));
}

#[test]
fn unsupported_modes_are_not_advertised() {
    let all = Abilities::ALL_SPEEDS.with_flow_control();
    let bus = Script::new();
    let phy = Phy::at(&bus, 6).expect("there");
    let offered = phy.negotiate(&bus, all);
    assert_eq!(offered, Ok(all.up_to(Speed::Mbit100)));
    // All of clause 28's with both bits for pause; then a restart.
    assert_eq!(*bus.written.borrow(), [(4, 0x0de1), (0, 0x1200)]);

    let bus = Script::gigabit();
    // Manually configured as master.
    bus.set(9, 0x1800);
    let slow = all.up_to(Speed::Mbit100).full_duplex();
    assert_eq!(phy.negotiate(&bus, slow), Ok(slow));
    assert_eq!(phy.negotiate(&bus, all), Ok(all));
    let written = vec![
        (4, 0x0d41),
        (9, 0x1800),
        (0, 0x1200),
        (4, 0x0de1),
        (9, 0x1b00),
        (0, 0x1200),
    ];
    assert_eq!(*bus.written.borrow(), written);
}

#[test]
fn a_link_is_known_when_it_is_up_and_negotiated() {
    let bus = Script::gigabit();
    let phy = Phy::at(&bus, 6).expect("there");
    let all = Abilities::ALL_SPEEDS.with_flow_control();
    assert_eq!(phy.negotiate(&bus, all), Ok(all));
    // The partner: everything, pause in both directions.
    bus.set(5, 0x45e1);
    bus.set(10, 0x3c00);
    for status in [0x7949, 0x794d, 0x7969] {
        bus.set(1, status);
        assert_eq!(phy.link(&bus), Ok(None));
    }
    bus.set(1, 0x796d);
    let mut link = LinkSettings {
        speed: Speed::Mbit1000,
        full_duplex: true,
        flow_control: FlowControl {
            send: true,
            receive: true,
        },
    };
    assert_eq!(phy.link(&bus), Ok(Some(link)));
    let words = std::format!("{link}");
    assert_eq!(words, "1000 Mbit/s, full duplex, pause frames: both ways");
    // A partner that does not negotiate is detected as 100BASE-TX.
    bus.set(5, 0x0080);
    bus.set(10, 0);
    link.speed = Speed::Mbit100;
    link.full_duplex = false;
    link.flow_control = FlowControl::default();
    assert_eq!(phy.link(&bus), Ok(Some(link)));
    // Nothing in common.
    bus.set(5, 0x0001);
    assert_eq!(phy.link(&bus), Ok(None));
}

/// Annex 28B Table 28B-3: own `PAUSE` and `ASM_DIR`, those of the partner, and the directions that
/// result.
#[test]
fn pause_frames_are_resolved_by_the_table() {
    let table = [
        ("00", "xx", ""),
        ("01", "0x", ""),
        ("01", "10", ""),
        ("01", "11", "send"),
        ("10", "0x", ""),
        ("10", "1x", "send receive"),
        ("11", "00", ""),
        ("11", "01", "receive"),
        ("11", "1x", "send receive"),
    ];
    let is = |pattern: char, bit: bool| pattern == 'x' || (pattern == '1') == bit;
    let mut cases = 0;
    for (own, partner, pauses) in table {
        for bits in 0_u8..16 {
            let bit = |n: u8| bits >> n & 1 != 0;
            let pattern: Vec<char> = own.chars().chain(partner.chars()).collect();
            if !(0..4).all(|n| is(pattern[usize::from(n)], bit(n))) {
                continue;
            }
            cases += 1;
            let [one, other] = [0, 2].map(|n| {
                let mut side = Abilities::ALL_SPEEDS;
                (side.pause, side.asymmetric) = (bit(n), bit(n + 1));
                side
            });
            let link = one.resolve(other).expect("all in common");
            assert_eq!(
                link.flow_control.send,
                pauses.contains("send"),
                "{own} {partner}"
            );
            let receive = pauses.contains("receive");
            assert_eq!(link.flow_control.receive, receive, "{own} {partner}");
        }
    }
    assert_eq!(cases, 16);
}

proptest! {
    /// Both ends resolve to the same mode, each seen from its side, and to nothing that either did
    /// not advertise.
    #[test]
    fn both_partners_agree(ours: [u16; 2], partners: [u16; 2]) {
        let side = |[base, gigabit]: [u16; 2]| Abilities::advertised(base, gigabit);
        let (one, other) = (side(ours), side(partners));
        let (here, there) = (one.resolve(other), other.resolve(one));
        prop_assert_eq!(here.is_some(), there.is_some());
        if let (Some(here), Some(there)) = (here, there) {
            prop_assert_eq!((here.speed, here.full_duplex), (there.speed, there.full_duplex));
            prop_assert_eq!(here.flow_control.send, there.flow_control.receive);
            prop_assert_eq!(here.flow_control.receive, there.flow_control.send);
            prop_assert!(here.full_duplex || here.flow_control == FlowControl::default());
            prop_assert!(one.up_to(here.speed).resolve(other) == Some(here));
        }
        // The advertised abilities survive the registers unchanged.
        prop_assert_eq!(Abilities::advertised(one.base_page(), one.gigabit()), one);
    }
}
