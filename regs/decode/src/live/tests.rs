//! Tests against models that behave like the data sheets.

use linerate_regs::{IMX6, LAN91C111, LAN9118, MAPS, MII, VIRTIO};

use super::super::decode::decode;
use super::super::{ChipSelection, flow_control};
use super::*;

/// Answers a read or a write; the value of a write is `Some`.
struct Model<F>(F);

impl<F: FnMut(u32, Option<u32>) -> Result<u32, MemoryError>> Memory for Model<F> {
    fn read(&mut self, address: u32, bits: u8) -> Result<u32, MemoryError> {
        let value = (self.0)(address, None)?;
        assert_eq!(u64::from(value) >> bits, 0, "{address:x}");
        Ok(value)
    }

    fn write(&mut self, address: u32, _: u8, value: u32) -> Result<(), MemoryError> {
        (self.0)(address, Some(value)).map(drop)
    }
}

fn all<'a>(map: Map<'a>, names: &'a [String]) -> ReadRequest<'a> {
    ReadRequest {
        map,
        phys: MII,
        block: None,
        base: Some(0x1000),
        names,
        indirect: true,
        side_effects: false,
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn value(seen: &Readout, register: &str) -> u32 {
    let found = seen.values.iter().find(|it| it.register == register);
    found.unwrap_or_else(|| panic!("no {register}")).value
}

/// A PHY: its identifier, a link, pause frames negotiated.
const fn phy(register: u32) -> u32 {
    match register {
        1 => 0x782d,
        2 => 0x0022,
        3 => 0x1611,
        4 => 0x0de1,
        5 => 0x45e1,
        0x1f => 0x0040,
        _ => 0,
    }
}

/// An ENET with a PHY at address 6.
#[derive(Default)]
struct EnetModel {
    done: bool,
    mmfr: u32,
}

impl EnetModel {
    fn access(&mut self, offset: u32, write: Option<u32>) -> u32 {
        match (offset, write) {
            (0x4, Some(clear)) => self.done &= clear & 1 << 23 == 0,
            (0x4, None) => return u32::from(self.done) << 23,
            (0x40, Some(frame)) => {
                let register = frame >> 18 & 0x1f;
                let is_there = frame >> 23 & 0x1f == 6;
                let data = if is_there { phy(register) } else { 0xffff };
                let is_read = frame >> 28 & 3 == 2;
                self.mmfr = if is_read {
                    frame & !0xffff | data
                } else {
                    frame
                };
                self.done = true;
            }
            (0x40, None) => return self.mmfr,
            (0x44, None) => return 0x18,
            (0x84, None) => return 0x05ee_0264,
            (_, None) => {}
            (offset, Some(_)) => panic!("a write to {offset:x}"),
        }
        0
    }
}

#[test]
fn mac_configuration_and_phy_negotiation_are_read_together() {
    let mut enet = EnetModel::default();
    let mut memory = Model(|at: u32, write| Ok(enet.access(at - 0x1000, write)));
    let wanted = names(&["rcr", "ENET_TCR", "MII.ANAR", "ANLPAR"]);
    let seen = read(&mut memory, &all(IMX6, &wanted)).expect("read");
    let read_values: Vec<(&str, u32)> = seen
        .values
        .iter()
        .map(|v| (&*v.register, v.value))
        .collect();
    assert_eq!(
        read_values,
        [
            ("ENET.RCR", 0x05ee_0264),
            ("ENET.TCR", 0),
            ("MII.ANAR", 0x0de1),
            ("MII.ANLPAR", 0x45e1)
        ]
    );
    assert_eq!(seen.values[0].address, Some(0x1084));
    assert_eq!(seen.notes(), [""; 0]);
    assert_eq!(
        flow_control::summary(&seen.values).expect("a line"),
        "flow control: ENET.RCR.FCE is 1, advertised PAUSE 1 ASM_DIR 1, the partner's PAUSE 1 ASM_DIR 0: \
         pause frames are negotiated in both directions\n"
    );
}

#[test]
fn a_driver_in_the_middle_of_a_transfer_finds_its_state_unchanged() {
    let write = 1 << 28 | 6 << 23 | 4 << 18 | 0x1e1;
    let read_of_identifier = 2 << 28 | 6 << 23 | 2 << 18;
    for (done, frame) in [(false, 0), (true, read_of_identifier), (true, write)] {
        let mut enet = EnetModel::default();
        if done {
            enet.access(0x40, Some(frame));
        }
        let mut memory = Model(|at: u32, write| Ok(enet.access(at - 0x1000, write)));
        read(&mut memory, &all(IMX6, &[])).expect("read");
        assert_eq!(enet.done, done);
        if frame == read_of_identifier {
            assert_eq!(enet.mmfr & 0xffff, 0x22);
        }
    }
}

#[test]
fn further_registers_of_a_phy_are_read_if_it_matches() {
    let mut enet = EnetModel::default();
    let mut memory = Model(|at: u32, write| Ok(enet.access(at - 0x1000, write)));
    let seen = read(&mut memory, &all(IMX6, &[])).expect("read");
    assert_eq!(value(&seen, "KSZ9021.PHY_CONTROL"), 0x40);
    // BMSR has no EXT_STATUS.
    assert!(seen.values.iter().all(|it| it.register != "MII.CTRL1000"));
    let kept: Vec<&str> = seen.skipped.iter().map(|it| &*it.name).collect();
    assert_eq!(
        kept,
        ["MII.MMD_DATA", "KSZ9021.RXER_COUNT", "KSZ9021.INTERRUPT"]
    );
}

#[test]
fn without_a_phy_or_a_clock_the_other_registers_are_read() {
    let mut enet = EnetModel::default();
    let mut memory = Model(|at: u32, write: Option<u32>| {
        let absent = write.map(|frame| frame & !(0x1f << 23));
        Ok(enet.access(at - 0x1000, if at == 0x1040 { absent } else { write }))
    });
    let seen = read(&mut memory, &all(IMX6, &[])).expect("read");
    assert_eq!(value(&seen, "ENET.RCR"), 0x05ee_0264);
    assert_eq!(
        seen.notes(),
        ["not read: MII, KSZ9021: no PHY answers on MDIO"]
    );
    let mut silent = Model(|_, write: Option<u32>| match write {
        None => Ok(0),
        Some(_) => panic!("a write"),
    });
    let seen = read(&mut silent, &all(IMX6, &[])).expect("read");
    let notes = seen.notes();
    assert!(
        notes[0].ends_with("MDIO has no clock (ENET.MSCR.MII_SPEED is 0)"),
        "{notes:?}"
    );
}

#[test]
fn banks_are_read_and_the_drivers_bank_is_restored() {
    let mut bank = 2;
    let mut memory = Model(|at: u32, write| {
        let offset = at - 0x1000;
        match (offset, write) {
            (0xe, Some(number)) => bank = number,
            (0xe, None) => return Ok(0x3300 | bank),
            (_, Some(_)) => panic!("a write to {offset:x}"),
            (0x8, None) if bank == 2 => panic!("DATA was read"),
            (0x6, None) if bank == 0 => panic!("ECR was read"),
            _ => {}
        }
        Ok(bank << 4 | offset)
    });
    let seen = read(&mut memory, &all(LAN91C111, &[])).expect("read");
    assert_eq!(bank, 2);
    assert_eq!(value(&seen, "ALL.BANK"), 0x3302);
    assert_eq!(value(&seen, "BANK1.CTR"), 0x1c);
    assert_eq!(value(&seen, "BANK3.REV"), 0x3a);
    assert_eq!(
        seen.notes(),
        ["not read: BANK0.ECR, BANK2.DATA: reading changes them (--side-effects)"]
    );
    let cautious = ReadRequest {
        indirect: false,
        ..all(LAN91C111, &[])
    };
    let mut memory = Model(|_, write: Option<u32>| match write {
        None => Ok(0x3302),
        Some(_) => panic!("a write"),
    });
    let seen = read(&mut memory, &cautious).expect("read");
    assert_eq!(seen.values.len(), 1);
    assert!(
        seen.notes()[0].starts_with("not read: BANK0, BANK1, BANK2, BANK3: other registers are"),
        "{:?}",
        seen.notes()
    );
}

#[test]
fn the_lan9118s_index_is_gone_through_and_put_back() {
    let (mut command, mut data) = (0, 0xd1d2_d3d4_u32);
    let mut macs = [0_u32; 16];
    macs[7] = 0x7777;
    macs[8] = 2;
    let mut memory = Model(|at: u32, write| {
        match (at - 0x1000, write) {
            (0xa4, Some(value)) => {
                command = value & !(1 << 31);
                let number = (value & 0xff) as usize;
                if value & 1 << 30 != 0 {
                    data = macs[number];
                } else {
                    macs[number] = if number == 6 { data & !1 } else { data };
                    if number == 6 && data & 2 == 0 {
                        macs[7] = phy(data >> 6 & 0x1f);
                    }
                }
            }
            (0xa4, None) => return Ok(command),
            (0xa8, Some(value)) => data = value,
            (0xa8, None) => return Ok(data),
            (0x50, None) => return Ok(0x0118_0000),
            (0x0..0x48 | 0xa0, None) => panic!("a FIFO was read"),
            (offset, Some(_)) => panic!("a write to {offset:x}"),
            _ => {}
        }
        Ok(0)
    });
    let without_peek = names(&["ID_REV", "MAC", "MII", "PHY"]);
    let seen = read(&mut memory, &all(LAN9118, &without_peek)).expect("read");
    assert_eq!((data, macs[7]), (0xd1d2_d3d4, 0x7777));
    assert_eq!(value(&seen, "CSR.ID_REV"), 0x0118_0000);
    assert_eq!(value(&seen, "MII.ANLPAR"), 0x45e1);
    let line = flow_control::summary(&seen.values).expect("a line");
    assert!(
        line.starts_with("flow control: MAC.FLOW.FCEN is 1,"),
        "{line}"
    );
}

#[test]
fn features_are_read_once_the_driver_has_agreed() {
    for (status, is_read) in [(0xf, true), (0x3, false)] {
        let mut select = 7;
        let mut memory = Model(|at: u32, write| {
            match (at - 0x1000, write) {
                (0x14, Some(word)) => select = word,
                (0x10, None) => return Ok(0x100 + select),
                (0x70, None) => return Ok(status),
                (0x0, None) => return Ok(0x7472_6976),
                (0x106, None) => return Ok(1),
                (offset, Some(_)) => panic!("a write to {offset:x}"),
                _ => {}
            }
            Ok(0)
        });
        let seen = read(&mut memory, &all(VIRTIO, &[])).expect("read");
        assert_eq!(value(&seen, "MMIO.MagicValue"), 0x7472_6976);
        assert_eq!(value(&seen, "NET.status"), 1);
        let words = seen
            .values
            .iter()
            .filter(|it| it.register.starts_with("FEATURES"));
        assert_eq!(words.count() > 0, is_read);
        assert_eq!(seen.notes().is_empty(), is_read);
        if is_read {
            assert_eq!(value(&seen, "FEATURES.WORD0"), 0x100);
        }
    }
}

#[test]
fn refused_reads_are_noted_and_a_lost_device_is_an_error() {
    let mut memory = Model(|at: u32, _| match at {
        0x1014 => Err(MemoryError::Refused("the device answers E14".to_owned())),
        0x1010 => Ok(5),
        _ => Ok(0),
    });
    let wanted = names(&["RDAR", "TDAR"]);
    let seen = read(&mut memory, &all(IMX6, &wanted)).expect("read");
    assert_eq!(value(&seen, "ENET.RDAR"), 5);
    assert_eq!(
        seen.notes(),
        ["not read: ENET.TDAR: the device answers E14"]
    );
    let mut lost = Model(|_, _| Err(MemoryError::Lost("it has gone".to_owned())));
    let error = read(&mut lost, &all(IMX6, &wanted)).expect_err("lost");
    assert_eq!(error, Error::Lost("it has gone".to_owned()));
}

#[test]
fn invalid_requests_are_rejected() {
    let mut memory = Model(|_, _| -> Result<u32, MemoryError> { panic!("an access") });
    let unknown = names(&["RXR"]);
    let error = |request: &ReadRequest| {
        super::read(&mut Model(|_, _| Ok(0)), request).expect_err("a fault")
    };
    assert_eq!(
        error(&all(IMX6, &unknown)).to_string(),
        "imx6 has no block or register `RXR`; `linerate regs list imx6` lists its contents"
    );
    let no_base = ReadRequest {
        base: None,
        ..all(LAN9118, &[])
    };
    let no_base = read(&mut memory, &no_base).expect_err("no base");
    assert!(no_base.to_string().contains("--base"), "{no_base}");
    let whole = ReadRequest {
        base: None,
        ..all(linerate_regs::ESP32C6, &[])
    };
    let whole = read(&mut memory, &whole).expect_err("a whole chip");
    assert!(
        whole.to_string().starts_with("esp32c6 is a whole chip"),
        "{whole}"
    );
}

#[test]
fn output_can_be_parsed_again() {
    let mut memory = Model(|at: u32, _| Ok(at & 0x7f));
    for map in [IMX6, LAN9118, LAN91C111, VIRTIO] {
        let direct = ReadRequest {
            indirect: false,
            ..all(map, &[])
        };
        let seen = read(&mut memory, &direct).expect("read");
        assert!(!seen.values.is_empty());
        let json = serde_json::to_string_pretty(&seen.values).expect("JSON");
        for text in [devregs(&seen.values), json] {
            let (values, notes) = decode(&text, &MAPS, ChipSelection::default())
                .unwrap_or_else(|error| panic!("{}: {error}", map.name()));
            assert_eq!(notes, []);
            let bare = |values: &[Value]| -> Vec<(String, u32)> {
                values
                    .iter()
                    .map(|v| (v.register.clone(), v.value))
                    .collect()
            };
            assert_eq!(bare(&values), bare(&seen.values));
        }
    }
}

#[test]
fn a_mac_that_contradicts_the_negotiation_is_reported() {
    let line = |dump: &str| {
        let (values, _) = decode(dump, &MAPS, ChipSelection::default()).expect("decoded");
        flow_control::summary(&values)
    };
    for (rcr, own, partner, verdict) in [
        (
            "05ee0244",
            "0de1",
            "45e1",
            "in both directions, but they are disabled in the MAC",
        ),
        (
            "05ee0264",
            "01e1",
            "45e1",
            "no pause frames are negotiated, but they are enabled in the MAC",
        ),
        (
            "05ee0264",
            "09e1",
            "4de1",
            "pause frames from here are negotiated",
        ),
        (
            "05ee0264",
            "0de1",
            "49e1",
            "pause frames from the partner are negotiated",
        ),
        ("05ee0244", "01e1", "41e1", "no pause frames are negotiated"),
    ] {
        let dump = format!("ENET_RCR {rcr}\nMII_ANAR {own}\nMII_ANLPAR {partner}\n");
        let summary = line(&dump).expect("a line");
        assert!(summary.ends_with(&format!("{verdict}\n")), "{summary}");
    }
    let alone = line("ENET_RCR 05ee0264\n").expect("a line");
    assert_eq!(alone, "flow control: ENET.RCR.FCE is 1\n");
    assert_eq!(line("ENET_TCR 0\n"), None);
}
