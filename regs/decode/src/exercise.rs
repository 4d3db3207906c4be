//! Entry points for fuzzers and for tests with mutated inputs: they run any input and assert the invariants.

use crate::counters::InterfaceCounters;
use crate::{ChipSelection, MAPS, Map, decode::decode, diff::diff};

/// Treats `text` as a register dump, and what follows a line `map ` as a register map.
///
/// # Panics
/// If a decoded value contradicts the dump or its map.
pub fn registers(text: &str) {
    let (dump, map) = text.split_once("\nmap ").unwrap_or((text, ""));
    let lines = dump.lines().count();
    // The largest map covers nothing new, and takes most of the time.
    let maps = MAPS.map(|map| {
        if map.name() == "esp32c6" {
            Map("")
        } else {
            map
        }
    });
    match decode(dump, &maps, ChipSelection::default()) {
        Ok((values, notes)) => {
            for value in &values {
                let whole = u64::from(value.value) >> value.width;
                assert_eq!(whole, 0, "{value:?}");
                let mut left = value.value & value.known;
                for field in &value.fields {
                    left ^= field.value << field.low;
                }
                // Bits without a field are reported, except those of an incomplete field.
                assert!(
                    value.known != u32::MAX >> (32 - value.width)
                        || left & !value.unnamed == 0
                        || value.fields.is_empty(),
                    "{value:?}"
                );
                assert!((1..=lines).contains(&value.line));
            }
            assert!(notes.iter().all(|note| (1..=lines).contains(&note.line)));
            let (same, _) =
                diff(dump, dump, &maps, ChipSelection::default()).expect("decoded before");
            assert!(
                same.changed.is_empty()
                    && same.only_before.is_empty()
                    && same.only_after.is_empty()
            );
        }
        Err(error) => assert!(error.in_file("dump").starts_with("dump:"), "{error}"),
    }

    let map = format!("map {map}");
    let map = Map(&map);
    let own = ChipSelection {
        chip: Some(map.name()),
        ..ChipSelection::default()
    };
    for block in map.blocks() {
        for register in block.registers().filter(|_| map.first_error().is_none()) {
            assert!(block.register(register.name).is_some());
            assert!(
                register
                    .fields()
                    .all(|field| register.field(field.name).is_some())
            );
        }
    }
    if map.first_error().is_none() {
        let _ = decode(dump, &[map], own);
    }
}

/// Treats `text` as the output of tools that report counters of an interface.
///
/// # Panics
/// If the counters depend on what follows them.
pub fn interface_counters(text: &str) {
    let counters = InterfaceCounters::parse(text);
    // Lines are independent of what follows them: the first value of each source stays.
    let twice = InterfaceCounters::parse(&format!("{text}\n\n{text}"));
    assert_eq!(counters, twice);
}
