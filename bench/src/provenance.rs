//! Version and host of the bench itself.

use std::time::SystemTime;

use linerate_results::record::{Provenance, SourceKind};

use crate::machine::Identity;

/// The commit that this program was built from.
const GIT: &str = env!("LINERATE_GIT");

/// The provenance known before a machine is switched on: this program, this host, the time.
pub fn current() -> Provenance {
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: GIT.to_owned(),
        host: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: cpu(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        ..Provenance::default()
    }
}

/// Adds the provenance of a machine.
pub fn add_identity(provenance: &mut Provenance, identity: Identity) {
    provenance.board = identity.board;
    provenance.timing_table = identity.timing_table;
    provenance.guesses = identity
        .timing
        .iter()
        .filter(|entry| entry.kind == SourceKind::Guess)
        .map(|entry| entry.name.clone())
        .collect();
    provenance.timing = identity.timing;
    provenance.elf_sha256.extend(identity.images);
}

/// The processor's name and the number of threads.
fn cpu() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    format!("{threads} x {model}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_empty() {
        let current = current();
        for text in [&current.version, &current.git, &current.host, &current.cpu] {
            assert!(!text.is_empty());
        }
        assert!(
            current.started.ends_with('Z') && current.started.len() == 20,
            "{}",
            current.started
        );
    }
}
