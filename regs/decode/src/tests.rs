use linerate_regs::{MAPS, Map};

use super::decode::{Value, decode, text};
use super::diff::{DumpSide, diff};
use super::dump::{RegisterRef, read};
use super::{ChipSelection, Error, list, svd};

const BEFORE: &str = include_str!("../tests/fixtures/registers/imx6-before.txt");
const AFTER: &str = include_str!("../tests/fixtures/registers/imx6-after.txt");
const SWEEP: &str = include_str!("../tests/fixtures/registers/imx6-sweep.txt");
const ETHTOOL_FEC: &str = include_str!("../tests/fixtures/registers/imx6-ethtool-d.txt");
const ETHTOOL_LAN9118: &str = include_str!("../tests/fixtures/registers/lan9118-ethtool-d.txt");
const MII_TOOL: &str = include_str!("../tests/fixtures/registers/mii-tool.txt");
const SVD: &str = include_str!("../tests/fixtures/registers/small.svd");

fn values(dump: &str, selection: ChipSelection) -> Vec<Value> {
    let (values, notes) = decode(dump, &MAPS, selection).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(notes, [], "{dump}");
    values
}

fn one(dump: &str) -> Value {
    let values = values(dump, ChipSelection::default());
    let [value] = values.as_slice() else {
        panic!("{dump}: {values:?}");
    };
    value.clone()
}

fn on_chip(chip: &str) -> ChipSelection<'_> {
    ChipSelection {
        chip: Some(chip),
        ..ChipSelection::default()
    }
}

fn field(values: &[Value], register: &str, field: &str) -> u32 {
    let value = values.iter().rfind(|value| value.register == register);
    let value = value.unwrap_or_else(|| panic!("no {register}"));
    let found = value.fields.iter().find(|found| found.name == field);
    found
        .unwrap_or_else(|| panic!("no {register}.{field}"))
        .value
}

fn error(dump: &str, selection: ChipSelection) -> String {
    match decode(dump, &MAPS, selection) {
        Ok(values) => panic!("{dump}: {values:?}"),
        Err(error) => error.in_file("dump"),
    }
}

/// The register values in the composed dumps are the published ones.
#[test]
fn composed_dumps_have_the_published_values() {
    let Some(folder) = std::env::var_os("LINERATE_DATA") else {
        println!(
            "skipped: the published registers need LINERATE_DATA, the folder with published/imx6_registers.csv"
        );
        return;
    };
    let file = std::path::Path::new(&folder).join("published/imx6_registers.csv");
    let table = std::fs::read_to_string(file).expect("the table of published registers");
    let published = |when: &str| -> Vec<(String, u32)> {
        let rows = table
            .lines()
            .filter_map(|row| row.strip_prefix(when)?.strip_prefix(','));
        let values = rows.map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            let value = cells[2].trim_start_matches("0x");
            let name = cells[0].replacen('_', ".", 1);
            (name, u32::from_str_radix(value, 16).expect("hexadecimal"))
        });
        values.collect()
    };
    let composed = |dump: &str| -> Vec<(String, u32)> {
        let values = values(dump, ChipSelection::default()).into_iter();
        let of_enet = values.filter(|value| value.chip == "imx6");
        of_enet.map(|value| (value.register, value.value)).collect()
    };
    assert_eq!(composed(BEFORE), published("before the pause patch"));
    assert_eq!(composed(AFTER), published("after the pause patch"));
    let sweep = ["200", "400"].map(|load| published(&format!("thresholds set; sweep at {load}")));
    assert_eq!(composed(SWEEP), sweep.concat());
}

#[test]
fn flow_control_in_devregs_and_ethtool_output_is_decoded() {
    for (dump, flow_control) in [(BEFORE, 0), (AFTER, 1)] {
        let values = values(dump, ChipSelection::default());
        assert_eq!(field(&values, "ENET.RCR", "FCE"), flow_control);
        assert_eq!(field(&values, "ENET.RCR", "MAX_FL"), 1518);
        // Bits 10 and 11 of register 4, which ethtool prints as text.
        assert_eq!(field(&values, "MII.ANAR", "PAUSE"), flow_control);
        assert_eq!(field(&values, "MII.ANAR", "ASM_DIR"), 0);
        assert_eq!(field(&values, "MII.CTRL1000", "T_1000_FULL"), 1);
        assert_eq!(field(&values, "MII.BMSR", "LINK_UP"), 1);
    }
    insta::assert_snapshot!("decoded", text(&values(AFTER, ChipSelection::default())));
}

#[test]
fn changes_are_named_by_field() {
    let (diff, notes) = diff(BEFORE, AFTER, &MAPS, ChipSelection::default()).expect("decoded");
    assert_eq!(notes, []);
    insta::assert_snapshot!("changed", diff.text());
    let json = serde_json::to_string_pretty(&diff).expect("JSON");
    insta::assert_snapshot!("changed_json", json);
}

#[test]
fn a_register_that_is_read_several_times_is_listed_each_time() {
    let values = values(SWEEP, ChipSelection::default());
    let decoded: Vec<(&str, u32)> = values.iter().map(|v| (&*v.register, v.value)).collect();
    let paused = "ENET.IEEE_T_FDXFC";
    let lost = "ENET.IEEE_R_MACERR";
    assert_eq!(
        decoded,
        [(paused, 0xd6c), (lost, 0), (paused, 0x1ad0), (lost, 0)]
    );
    // In a comparison the last value counts.
    let (diff, _) = diff(
        SWEEP,
        "ENET_IEEE_T_FDXFC 1ad0",
        &MAPS,
        ChipSelection::default(),
    )
    .expect("decoded");
    assert_eq!((diff.changed.len(), diff.equal), (0, 1));
    assert_eq!(diff.only_before, [lost]);
}

#[test]
fn a_dump_of_ethtool_is_read_by_octets_and_by_names() {
    let bytes = values(ETHTOOL_FEC, on_chip("imx6"));
    assert_eq!(field(&bytes, "ENET.RCR", "FCE"), 1);
    assert_eq!(field(&bytes, "ENET.RSEM", "RX_SECTION_EMPTY"), 0x84);
    assert_eq!(field(&bytes, "ENET.OPD", "PAUSE_DUR"), 0xfff0);
    let named = values(ETHTOOL_LAN9118, ChipSelection::default());
    // The driver uses another name for IRQ_CFG: its offset counts.
    assert_eq!(field(&named, "CSR.IRQ_CFG", "IRQ_EN"), 1);
    assert_eq!(field(&named, "MAC.FLOW", "FCEN"), 1);
    assert_eq!(field(&named, "MAC.VLAN2", "VTI2"), 0xffff);
    assert_eq!(field(&named, "MII.ANAR", "ASM_DIR"), 1);
    assert_eq!(field(&named, "MII.ANLPAR", "PAUSE"), 1);
}

#[test]
fn registers_of_a_phy_are_read_from_mii_tool() {
    let values = values(MII_TOOL, ChipSelection::default());
    assert_eq!(values.len(), 16 - 2, "11 and 12 are the maker's");
    assert_eq!(field(&values, "MII.ANAR", "PAUSE"), 1);
    assert_eq!(field(&values, "MII.ESTATUS", "T_1000_FULL"), 1);
}

#[test]
fn pairs_are_read_however_they_are_written() {
    for pair in [
        "ENET_RCR 0x05ee0264",
        "ENET.RCR = 05ee0264",
        "enet.rcr: 0x5EE0264",
        "0x02188084 0x05ee0264",
        "0x2188084: 0x5ee0264",
        "02188084: 05ee0264",
        "2188084 5ee0264",
        "0x2188084 <enet+132>:\t0x05ee0264",
        ":0x02188084\t=0x05ee0264",
        "\u{1b}[36mENET_RCR\u{1b}[0m:0x02188084\t=0x05ee0264",
        "ENET_RCR:0x02188084 == 0x05ee0244...0x05ee0264",
        "ENET_RCR:0x02188084\t=0x05ee0264\n\tFCE             \t 5- 5\t=0x1\r\n",
    ] {
        let value = one(pair);
        assert_eq!(
            (&*value.register, value.value),
            ("ENET.RCR", 0x05ee_0264),
            "{pair}"
        );
        assert_eq!(value.unnamed, 0);
    }
    let memory = "02188080: 00000000 05ee0264 00000000 00000000    ....d...";
    assert_eq!(one(memory).value, 0x05ee_0264);
    let half = "000001f4: 1234 5678";
    let readings = read(half).expect("read");
    let read: Vec<(&RegisterRef, u32)> = readings.iter().map(|r| (&r.register, r.value)).collect();
    assert_eq!(
        read,
        [
            (&RegisterRef::Memory(0x1f4, 2), 0x1234),
            (&RegisterRef::Memory(0x1f6, 2), 0x5678)
        ]
    );
}

#[test]
fn the_chip_is_detected_or_has_to_be_given() {
    assert_eq!(
        error("# by hand\nRCR 1", ChipSelection::default()),
        "dump:2: imx6 and lan91c111 have a register RCR: select one with --chip"
    );
    assert_eq!(
        values("RCR 1", on_chip("lan91c111"))[0].register,
        "BANK0.RCR"
    );
    // One name that only one chip has is enough.
    assert_eq!(
        values("RCR 1\nRPCR 0", ChipSelection::default())[0].chip,
        "lan91c111"
    );
    // A PHY is combined with any chip.
    let chips: Vec<String> = values("ENET_RCR 1\nBMCR 1140", ChipSelection::default())
        .into_iter()
        .map(|value| value.chip)
        .collect();
    assert_eq!(chips, ["imx6", "mii"]);
    assert_eq!(
        error("RCR 1", on_chip("imx9")),
        "there is no map `imx9`; there are dwmac, esp32c6, imx6, lan9118, lan91c111, mii, tse, virtio"
    );
}

#[test]
fn offsets_count_from_a_block() {
    assert_eq!(values("84 1", on_chip("imx6"))[0].register, "ENET.RCR");
    assert_eq!(
        values("a4 1", on_chip("lan9118"))[0].register,
        "CSR.MAC_CSR_CMD"
    );
    let block = ChipSelection {
        block: Some("mac"),
        ..on_chip("lan9118")
    };
    assert_eq!(values("8 1", block)[0].register, "MAC.FLOW");
    let elsewhere = ChipSelection {
        base: Some(0x1000_1000),
        ..on_chip("virtio")
    };
    assert_eq!(values("10001070 f", elsewhere)[0].register, "MMIO.Status");
    // The block is often enough to detect the chip.
    let block = ChipSelection {
        block: Some("UART0"),
        ..ChipSelection::default()
    };
    assert_eq!(values("INT_RAW 2", block)[0].register, "UART0.INT_RAW");
    assert_eq!(
        values("6000002c 0", on_chip("esp32c6"))[0].register,
        "UART0.HWFC_CONF"
    );
    let nowhere = ChipSelection {
        block: Some("FEC"),
        ..on_chip("imx6")
    };
    assert_eq!(
        error("84 1", nowhere),
        "imx6 has no block `FEC`; `linerate regs list imx6` lists its contents"
    );
}

#[test]
fn a_word_of_memory_holds_narrow_registers_and_half_a_word_half_a_register() {
    let bank = ChipSelection {
        block: Some("BANK0"),
        ..on_chip("lan91c111")
    };
    let read: Vec<(String, String)> = values("00000000: 4001 0001  0a300404 12345678", bank)
        .into_iter()
        .map(|value| (value.register.clone(), value.number()))
        .collect();
    assert_eq!(
        read,
        [
            ("BANK0.TCR".into(), "0x4001".into()),
            ("BANK0.EPHSR".into(), "0x0001".to_owned())
        ]
    );
    let net = ChipSelection {
        block: Some("NET"),
        base: Some(0x1000_1100),
        ..on_chip("virtio")
    };
    let read: Vec<(String, u32)> = values("10001104: 00013512 05dc0001", net)
        .into_iter()
        .map(|value| (value.register, value.value))
        .collect();
    let expected = [
        ("mac4", 0x12),
        ("mac5", 0x35),
        ("status", 1),
        ("max_virtqueue_pairs", 1),
        ("mtu", 1500),
    ];
    assert_eq!(
        read,
        expected.map(|(name, value)| (format!("NET.{name}"), value))
    );
    let half = values("02188084: 0264 05ee", ChipSelection::default());
    assert_eq!(
        (half.len(), half[0].known, &*half[0].number()),
        (1, 0xffff, "0x00000264 in part")
    );
    assert_eq!(field(&half, "ENET.RCR", "FCE"), 1);
    assert_eq!(
        error("0x0084:\t64 02 ee 05", ChipSelection::default()),
        "dump:1: an offset alone does not identify the chip, and no map has this address: select it with --chip"
    );
}

#[test]
fn an_invalid_value_is_reported_with_its_line() {
    let bits = "dump:1: MII.BMCR has 16 bits, too few for 0x11140";
    assert_eq!(error("BMCR 11140", ChipSelection::default()), bits);
    for (dump, what) in [
        ("\nRCR:0x02188084 =0x105ee0264", "`0x105ee0264`"),
        ("\nRCR:0x02188084 =none", "`none`"),
        ("\nRCR 0x5ee0g", "`0x5ee0g`"),
        ("\nRCR 123456789", "`123456789`"),
        ("\noffset 0x74, HW_CFG = -1", "`-1`"),
    ] {
        let expected = format!("dump:2: {what} is no 32-bit hexadecimal number");
        assert_eq!(error(dump, on_chip("imx6")), expected);
    }
    let empty = error(
        "Speed: 1000Mb/s\n12 Nov 22:10:00\n",
        ChipSelection::default(),
    );
    assert!(
        empty.starts_with("dump: it has no register value."),
        "{empty}"
    );
}

#[test]
fn unknown_registers_are_noted_and_only_an_error_without_known_ones() {
    let (values, notes) = decode(
        "ENET_RCR 1\nENET_RXR 2\n0x99 3\nINT_RAW 4",
        &MAPS,
        ChipSelection::default(),
    )
    .expect("one is known");
    assert_eq!(values.len(), 1);
    let decoded: Vec<(usize, &str)> = notes.iter().map(|n| (n.line, &*n.what)).collect();
    assert_eq!(
        decoded,
        [
            (2, "imx6 has no register ENET_RXR"),
            (3, "imx6 has no register at 0x99"),
            (4, "imx6 has no register INT_RAW"),
        ]
    );
    assert_eq!(
        error("\nRXR 1", on_chip("imx6")),
        "dump:2: imx6 has no register RXR, and no other register in it is known"
    );
    assert_eq!(
        error("RXR 1", ChipSelection::default()),
        "dump:1: no map has a register RXR, and no other register in it is known"
    );
    let several = error("INT_RAW 1", ChipSelection::default());
    assert!(
        several.contains("several blocks of esp32c6 have a register INT_RAW: write BLOCK.INT_RAW"),
        "{several}"
    );
}

#[test]
fn ethtool_settings_of_two_links_are_kept_apart() {
    let two = format!("{BEFORE}{AFTER}");
    let pauses: Vec<u32> = values(&two, ChipSelection::default())
        .iter()
        .filter(|value| value.register == "MII.ANAR")
        .flat_map(|value| value.fields.iter().filter(|f| f.name == "PAUSE"))
        .map(|field| field.value)
        .collect();
    assert_eq!(pauses, [0, 1]);
    let partner = "Settings for eth0:\n\
        \tLink partner advertised link modes:  100baseT/Full 1000baseT/Full\n\
        \tLink partner advertised pause frame use: Transmit-only\n\
        \tLink partner advertised FEC modes: Not reported\n\
        \tAuto-negotiation: off\n";
    let values = values(partner, ChipSelection::default());
    assert_eq!(field(&values, "MII.ANLPAR", "ASM_DIR"), 1);
    assert_eq!(field(&values, "MII.ANLPAR", "TX_100_HALF"), 0);
    assert_eq!(field(&values, "MII.STAT1000", "LP_1000_FULL"), 1);
    assert_eq!(field(&values, "MII.BMCR", "AN_ENABLE"), 0);
    let unknown = "Settings for eth0:\n\tAdvertised pause frame use: Not reported\n";
    assert_eq!(read(unknown), Ok(Vec::new()));
}

#[test]
fn errors_of_either_dump_are_distinguished() {
    let fails = |before, after| diff(before, after, &MAPS, on_chip("imx6")).expect_err("a fault");
    assert_eq!(fails("", "RCR 1"), (DumpSide::Before, Error::Empty));
    assert_eq!(fails("RCR 1", ""), (DumpSide::After, Error::Empty));
    let bits = diff("RCR 400", "RCR 0", &MAPS, on_chip("imx6"))
        .expect("decoded")
        .0;
    assert_eq!(
        (bits.changed[0].unnamed, bits.changed[0].fields.len()),
        (0x400, 0)
    );
}

#[test]
fn maps_are_listed() {
    insta::assert_snapshot!("maps", list::chips(&MAPS));
    let map = |name| super::chip(&MAPS, name).expect("a map");
    let rcr = list::chip(map("imx6"), Some("rcr")).expect("RCR");
    insta::assert_snapshot!("register", rcr.text(true));
    let bank = list::chip(map("lan91c111"), Some("bank2")).expect("a block");
    insta::assert_snapshot!("block", bank.text(true));
    let missing = list::chip(map("mii"), Some("RCR")).expect_err("none");
    assert_eq!(
        missing.to_string(),
        "mii has no block or register `RCR`; `linerate regs list mii` lists its contents"
    );
}

#[test]
fn maps_come_from_svd_files() {
    let (text, left_out) = svd::map(SVD).expect("an SVD file");
    assert_eq!(left_out, 2, "a register of each has 64 bits");
    insta::assert_snapshot!("svd", text);
    let map = Map(&text);
    assert_eq!(map.first_error(), None);
    let (values, _) = decode(
        "EMAC1.CTRL 3\n0x40021010 2",
        &[map],
        ChipSelection::default(),
    )
    .expect("decoded");
    assert_eq!(field(&values, "EMAC1.CTRL", "MODE"), 1);
    assert_eq!(values[0].fields[0].meaning.as_deref(), Some("RMII"));
    assert_eq!(values[1].register, "EMAC1.QUEUE1_HEAD");
    let error = svd::map("<device/>").expect_err("no SVD file").to_string();
    assert!(!error.is_empty() && !error.contains('\n'), "{error}");
}
