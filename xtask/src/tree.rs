//! Files of the checkout.

use std::path::{Path, PathBuf};

/// All files below `folder` with this name, sorted, without build output and hidden folders.
pub fn files_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, own) = (entry.path(), entry.file_name());
            if path.is_dir() {
                if own != "target" && !own.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if own == name {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::files_named;
    use crate::sh;

    #[test]
    fn the_lock_files_of_programs_outside_the_workspace_are_found() {
        let locks = files_named(&sh::root(), "Cargo.lock");
        for folder in [
            "",
            "fuzz",
            "link/compare",
            "nic/queue-cost",
            "sim/tests/kernels",
        ] {
            let lock = sh::root().join(folder).join("Cargo.lock");
            assert!(locks.contains(&lock), "{}", lock.display());
        }
    }
}
