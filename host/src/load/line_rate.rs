//! Line rate of an interface of this machine.

use crate::link::{INTERFACES, link};
use std::path::Path;

/// Line rate of interface `name`, bits per second.
///
/// # Errors
/// A sentence: there is no such interface, or it reports no speed (link down, WLAN, loopback).
pub fn interface_line_rate(name: &str) -> Result<u64, String> {
    speed(Path::new(INTERFACES), name)
}

fn speed(interfaces: &Path, name: &str) -> Result<u64, String> {
    let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    if !is_name || !interfaces.join(name).is_dir() {
        return Err(format!("there is no interface `{name}`"));
    }
    link(interfaces, name).line_bits_per_s.ok_or_else(|| {
        format!(
            "interface `{name}` reports no speed; is its link up? Otherwise give the rate in bit/s"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_rate_or_the_reason_without_one_is_returned() {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, speed) in [
            ("eth0", "100\n"),
            ("wlan0", "-1\n"),
            ("odd", "4294967295\n"),
        ] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
            std::fs::write(dir.path().join(name).join("speed"), speed).expect("written");
        }
        std::fs::create_dir(dir.path().join("lo")).expect("made");
        assert_eq!(speed(dir.path(), "eth0"), Ok(100_000_000));
        for name in ["wlan0", "odd", "lo"] {
            let why = speed(dir.path(), name).expect_err("none");
            assert!(why.contains("is its link up?"), "{why}");
        }
        for name in ["eth1", "", "..", "eth0/../eth0"] {
            let why = speed(dir.path(), name).expect_err("none");
            assert!(why.starts_with("there is no interface"), "{why}");
        }
    }
}
