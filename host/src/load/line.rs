//! What a line carries, where this machine knows it.

use std::path::Path;

/// The rate of this machine's interface `name`, bits a second.
///
/// # Errors
/// A sentence: there is no such interface, or it says no rate (a link that is down, WLAN, loopback).
pub fn line_of_interface(name: &str) -> Result<u64, String> {
    speed(Path::new("/sys/class/net"), name)
}

/// `interfaces/NAME/speed` has Mbit/s; −1 or an error for none.
fn speed(interfaces: &Path, name: &str) -> Result<u64, String> {
    let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    let folder = interfaces.join(name);
    if !is_name || !folder.is_dir() {
        return Err(format!("there is no interface `{name}` here"));
    }
    let text = std::fs::read_to_string(folder.join("speed")).unwrap_or_default();
    match text.trim().parse::<u64>() {
        Ok(mbit) if mbit > 0 && mbit < u64::from(u32::MAX) => Ok(mbit * 1_000_000),
        _ => Err(format!(
            "interface `{name}` does not say how fast it is; is its link up? Else give bits a second"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_says_its_rate_or_why_not() {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, said) in [
            ("eth0", "100\n"),
            ("wlan0", "-1\n"),
            ("odd", "4294967295\n"),
        ] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
            std::fs::write(dir.path().join(name).join("speed"), said).expect("written");
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
