//! Timing tables that a person brings: what `cycle_counting` printed on a chip, or a "what if".

pub use linerate_sim::chip::{TimingError, TimingTable};

use linerate_sim::chip::esp32c6;
use toml::{Table, Value};

/// Reads a table in the form of `sim/src/chip/esp32c6/timing.toml`, whole or in part: an entry that
/// is not there has the built-in table's figure.
///
/// # Errors
/// [`TimingError`] says which entry is wrong.
pub fn parse(text: &str) -> Result<TimingTable, TimingError> {
    let mut whole: Table = toml::from_str(esp32c6::TIMING_TABLE)?;
    for (name, value) in toml::from_str::<Table>(text)? {
        match (whole.get_mut(&name), value) {
            (Some(Value::Table(section)), Value::Table(entries)) => section.extend(entries),
            (_, value) => _ = whole.insert(name, value),
        }
    }
    esp32c6::parse_timing_table(&whole.to_string())
}

/// The table that is built in.
pub fn built_in() -> TimingTable {
    esp32c6::timing_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_leaves_out_is_the_built_in_one_s() {
        let text = "name = \"mine\"\n[cpu]\n\
            mmio_load = { value = 12, kind = \"measured\", source = \"my board\" }\n";
        let table = parse(text).expect("valid");
        assert_eq!(table.name(), "mine");
        assert_eq!(table.cpu().mmio_load, 12);
        assert_eq!(table.cpu().mmio_store, built_in().cpu().mmio_store);
        let mine = |name: &str| table.guesses().any(|guess| guess.name == name);
        assert!(!mine("cpu.mmio_load") && mine("cpu.mmio_store"));
    }

    #[test]
    fn mistakes_name_the_entry() {
        let unknown = "[cpu]\nmagic = { value = 1, kind = \"guess\", source = \"\" }\n";
        let error = parse(unknown).expect_err("unknown").to_string();
        assert_eq!(error, "timing entry cpu.magic is unknown");
        assert!(parse("[cpu").is_err());
    }
}
