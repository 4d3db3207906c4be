//! Invariants of all maps, and each map against an independent source.

use linerate_regs::{
    Bits, DWMAC, ESP32C6, IMX6, Index, LAN91C111, LAN9118, MAPS, MII, Map, Register, TSE, VIRTIO,
};

#[test]
fn every_line_is_read() {
    for map in MAPS {
        assert_eq!(map.first_error(), None, "{}", map.name());
        let lines = map.0.lines().filter(|line| !line.starts_with(['#', ' ']));
        let read: usize = map.blocks().map(|b| 1 + b.registers().count()).sum();
        assert_eq!(read + 2, lines.count(), "{}", map.name());
        assert!(!map.title().is_empty() && !map.source().is_empty());
    }
    assert!(
        ESP32C6
            .blocks()
            .map(|b| b.registers().count())
            .sum::<usize>()
            > 1900
    );
}

#[test]
fn names_are_found_again() {
    for map in MAPS {
        for block in map.blocks() {
            let lines = &block.index::<1000>();
            let index = Index { block, lines };
            assert_eq!(index.register("XYZ"), None);
            for register in block.registers() {
                // The ESP32-C6 has two registers with the same name at the same address.
                let found = block.register(register.name).expect("found");
                assert_eq!(found.name, register.name);
                assert_eq!(index.register(register.name), Some(found));
                for field in register.fields() {
                    assert_eq!(register.field(field.name), Some(field), "{}", register.name);
                }
            }
        }
    }
}

#[test]
fn values_after_reset_fit_and_models_exist() {
    for map in MAPS {
        for block in map.blocks() {
            for register in block.registers() {
                let name = format!("{}.{}", block.name, register.name);
                assert!([8, 16, 32].contains(&register.width), "{name}");
                assert_eq!(
                    register.reset & !Bits::all(register.width).mask(),
                    0,
                    "{name}"
                );
            }
        }
        for (_, line) in map.0.split("like=").enumerate().skip(1) {
            let model = line.split([' ', '\n']).next().expect("a name");
            let found = map.blocks().find_map(|block| block.register(model));
            assert!(found.is_some_and(|m| m.fields().count() > 0), "{model}");
        }
    }
}

/// Of a user's map: `like` names a register by what may be a mistake.
#[test]
fn a_register_like_itself_has_no_fields() {
    let map = Map("map own\nblock MAC 1000 /16\n0 CR 0 like=CR\n4 SR 0 like=IR\n8 IR 0 like=SR\n");
    let block = map.block("MAC").expect("a block");
    for name in ["CR", "SR", "IR"] {
        let register = block.register(name).expect("a register");
        assert_eq!(register.fields().count(), 0, "{name}");
    }
}

#[test]
fn no_two_registers_share_an_address() {
    for map in MAPS {
        let mut all: Vec<(u32, String)> = Vec::new();
        for (number, block) in map.blocks().enumerate() {
            // Registers that are not memory-mapped have their own address space.
            let base = block.base.unwrap_or(number as u32 * 0x1000);
            for register in block.registers() {
                let name = format!("{}.{}", block.name, register.name);
                all.extend(
                    register
                        .offsets()
                        .map(|offset| (base + offset, name.clone())),
                );
            }
        }
        all.sort();
        for pair in all.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "{} and {}", pair[0].1, pair[1].1);
        }
    }
}

#[test]
fn registers_are_found_by_address() {
    let found = IMX6.at(0x0218_8084).expect("RCR");
    assert_eq!((found.block.name, found.register.name), ("ENET", "RCR"));
    let found = ESP32C6.at(0x6009_11e0).expect("of an array");
    assert_eq!(
        (found.register.name, found.index),
        ("FUNC{}_IN_SEL_CFG", 35)
    );
    assert!(IMX6.at(0x0218_8086).is_none() && IMX6.at(0).is_none());
    assert!(MII.at(4).is_none(), "not memory-mapped");
}

/// Addresses that unmodified programs on esp-hal 1.2.2 were seen to access.
#[test]
fn esp32c6_agrees_with_what_programs_use() {
    let addr = |block: &str, register: &str| {
        let block = ESP32C6.block(block).expect("block");
        block.base.expect("base") + block.register(register).expect("register").offset
    };
    assert_eq!(addr("GPIO", "FUNC{}_IN_SEL_CFG"), 0x6009_1154);
    assert_eq!(addr("SYSTIMER", "UNIT{}_OP"), 0x6000_a004);
    assert_eq!(addr("LP_TIMER", "UPDATE"), 0x600b_0c10);
    assert_eq!(addr("LPPERI", "RNG_DATA"), 0x600b_2808);
    assert_eq!(addr("PLIC_MX", "MXINT_THRESH"), 0x2000_1090);
    assert_eq!(addr("INTMTX", "CORE_0_INTR_STATUS{}"), 0x6001_0134);
    assert_eq!(addr("PCR", "TIMERGROUP0.TIMER_CLK_CONF"), 0x6009_6040);
}

/// Each map against tables by others; `reference/` names their sources.
#[test]
fn maps_agree_with_tables_by_others() {
    for (map, reference) in [
        (DWMAC, include_str!("reference/dwmac.txt")),
        (IMX6, include_str!("reference/imx6.txt")),
        (LAN9118, include_str!("reference/lan9118.txt")),
        (LAN91C111, include_str!("reference/lan91c111.txt")),
        (MII, include_str!("reference/mii.txt")),
        (TSE, include_str!("reference/tse.txt")),
        (VIRTIO, include_str!("reference/virtio.txt")),
    ] {
        for line in reference.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let (name, offset) = (words.next().expect("name"), words.next().expect("offset"));
            let ours = register(map, name);
            assert_eq!(ours.offset, hex(offset), "{line}");
            for word in words {
                let (what, value) = word.split_once('=').expect("a value");
                let field = ours.field(what).map(|field| field.bits.mask());
                let ours = if what == "reset" {
                    Some(ours.reset)
                } else {
                    field
                };
                assert_eq!(ours, Some(hex(value)), "{name}: {word}");
            }
        }
    }
}

fn hex(digits: &str) -> u32 {
    u32::from_str_radix(digits, 16).expect("hexadecimal")
}

fn register(map: Map<'static>, name: &str) -> Register<'static> {
    let (block, register) = name.split_once('.').expect("BLOCK.REGISTER");
    let found = map.block(block).and_then(|block| block.register(register));
    found.unwrap_or_else(|| panic!("{} has no {name}", map.name()))
}

#[test]
fn mib_counters_leave_one_gap() {
    let enet = IMX6.block("ENET").expect("ENET");
    let counters = enet
        .registers()
        .filter(|r| (0x200..0x2e4).contains(&r.offset));
    let offsets: Vec<u32> = counters.map(|r| r.offset).collect();
    let expected: Vec<u32> = (0x200..0x278).chain(0x284..0x2e4).step_by(4).collect();
    assert_eq!(offsets, expected);
}

#[test]
fn commands_of_the_lan91c111_have_names() {
    let command = register(LAN91C111, "BANK2.MMUCR")
        .field("COMMAND")
        .expect("COMMAND");
    assert_eq!(
        command.value("ALLOC").map(|v| command.bits.of(v.number)),
        Some(1 << 5)
    );
    assert_eq!(command.value("ENQUEUE").map(|v| v.number), Some(6));
    assert_eq!(command.values().count(), 8);
}

/// `struct virtio_net_config` is packed.
#[test]
fn the_configuration_of_virtio_net_has_no_gap() {
    let mut at = 0;
    for register in VIRTIO.block("NET").expect("NET").registers() {
        assert_eq!(register.offset, at, "{}", register.name);
        at += u32::from(register.width / 8);
    }
    assert_eq!(at, 24);
    assert_eq!(
        register(VIRTIO, "MMIO.MagicValue").reset.to_le_bytes(),
        *b"virt"
    );
}

#[test]
fn values_are_decoded_to_the_named_bit() {
    let rcr = register(IMX6, "ENET.RCR");
    let set = |word| {
        let set = rcr.decode(word).filter(|d| d.value != 0);
        set.map(|d| (d.field.name, d.value)).collect::<Vec<_>>()
    };
    // Output of devregs before and after the patch that enabled flow control.
    let before = [
        ("MAX_FL", 1518),
        ("RMII_10T", 1),
        ("RGMII_EN", 1),
        ("MII_MODE", 1),
    ];
    assert_eq!(set(0x05ee_0244), before);
    let after = [
        ("MAX_FL", 1518),
        ("RMII_10T", 1),
        ("RGMII_EN", 1),
        ("FCE", 1),
        ("MII_MODE", 1),
    ];
    assert_eq!(set(0x05ee_0264), after);
    assert_eq!(rcr.unnamed(), 0x0000_0c80);

    let anar = register(MII, "MII.ANAR");
    let pause = |word, name| anar.field(name).expect("a field").bits.is_set(word);
    assert!(pause(0x0de1, "PAUSE") && pause(0x0de1, "ASM_DIR"));
    assert!(!pause(0x01e1, "PAUSE") && !pause(0x01e1, "ASM_DIR"));
    let selector = anar.decode(0x01e1).last().expect("the lowest field");
    assert_eq!(selector.meaning.map(|m| m.name), Some("IEEE_802_3"));
}
