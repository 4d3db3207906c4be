//! Link settings printed by `ethtool IFACE`, as bits of the PHY's registers: it prints their meaning, not their values.

use super::dump::{Reading, RegisterRef};

const BMCR: u32 = 0;
const BMSR: u32 = 1;
const ANAR: u32 = 4;
const ANLPAR: u32 = 5;
const CTRL1000: u32 = 9;
const STAT1000: u32 = 10;

/// Modes with their bit in the ability registers 4 (own) and 5 (partner) (clause 28.2.4.1.3).
const MODES: [(&str, u32); 4] = [
    ("10baseT/Half", 1 << 5),
    ("10baseT/Full", 1 << 6),
    ("100baseT/Half", 1 << 7),
    ("100baseT/Full", 1 << 8),
];
/// The same for 1000BASE-T (clause 40.5.1.1): in register 9, and in register 10.
const GIGABIT: [(&str, u32, u32); 2] = [
    ("1000baseT/Half", 1 << 8, 1 << 10),
    ("1000baseT/Full", 1 << 9, 1 << 11),
];
const PAUSE: u32 = 1 << 10;
const ASM_DIR: u32 = 1 << 11;

/// Parser of the lines below `Settings for`, up to one that is not indented.
#[derive(Default)]
pub(super) struct Settings {
    inside: bool,
    /// The key of continuation lines with modes.
    key: String,
    /// Index of the current link's first reading.
    own: usize,
    readings: Vec<Reading>,
}

impl Settings {
    /// Parses `line`; true if it is one of them.
    pub fn read_line(&mut self, number: usize, line: &str) -> bool {
        if line.starts_with("Settings for ") {
            self.inside = true;
            self.key.clear();
            self.own = self.readings.len();
            return true;
        }
        self.inside &= line.starts_with([' ', '\t']);
        if !self.inside {
            return false;
        }
        let (key, value) = line.split_once(':').unwrap_or((&self.key, line));
        let key = key.trim().to_owned();
        for (index, value, known) in meaning(&key, value.trim()) {
            let register = RegisterRef::Block("MII", index);
            let mut own = self.readings[self.own..].iter_mut();
            // Each line describes a part of the register.
            if let Some(reading) = own.find(|reading| reading.register == register) {
                reading.value |= value;
                reading.known |= known;
            } else {
                self.readings.push(Reading {
                    line: number,
                    register,
                    value,
                    known,
                });
            }
        }
        self.key = key;
        true
    }

    pub fn readings(self) -> Vec<Reading> {
        self.readings
    }
}

/// Registers with their set bits and known bits.
fn meaning(key: &str, value: &str) -> Vec<(u32, u32, u32)> {
    if value == "Not reported" {
        return Vec::new();
    }
    let ours = match key {
        "Advertised link modes" | "Advertised pause frame use" => true,
        "Link partner advertised link modes" | "Link partner advertised pause frame use" => false,
        "Auto-negotiation" => return vec![(BMCR, u32::from(value == "on") << 12, 1 << 12)],
        "Link detected" => return vec![(BMSR, u32::from(value == "yes") << 2, 1 << 2)],
        _ => return Vec::new(),
    };
    let abilities = if ours { ANAR } else { ANLPAR };
    if key.ends_with("pause frame use") {
        let bits = match value {
            "No" => 0,
            "Symmetric" => PAUSE,
            "Transmit-only" => ASM_DIR,
            "Symmetric Receive-only" => PAUSE | ASM_DIR,
            _ => return Vec::new(),
        };
        return vec![(abilities, bits, PAUSE | ASM_DIR)];
    }
    // Some copies of such output have a space before the slash.
    let value = value.replace(" /", "/");
    let has = |mode: &str| value.split_whitespace().any(|word| word == mode);
    let sum = |bits: &[(&str, u32)]| {
        let set = bits.iter().filter(|(mode, _)| has(mode));
        set.fold(0, |sum, (_, bit)| sum | bit)
    };
    let gigabit = GIGABIT.map(|(mode, here, there)| (mode, if ours { here } else { there }));
    let all = |bits: &[(&str, u32)]| bits.iter().fold(0, |sum, (_, bit)| sum | bit);
    let further = if ours { CTRL1000 } else { STAT1000 };
    vec![
        (abilities, sum(&MODES), all(&MODES)),
        (further, sum(&gigabit), all(&gigabit)),
    ]
}
