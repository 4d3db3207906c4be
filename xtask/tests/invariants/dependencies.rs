//! Which crates depend on which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::tree::{metadata, root};

/// Crates on which each crate may depend, directly or indirectly, from the arrows in ARCHITECTURE.md.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("readable");
    let mut allowed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let chains = text.lines().filter(|l| l.contains(" <- "));
    for chain in chains
        .flat_map(|l| l.split("   "))
        .filter(|c| c.contains(" <- "))
    {
        let steps: Vec<Vec<&str>> = chain
            .split(" <- ")
            .map(|step| step.split(',').map(str::trim).collect())
            .collect();
        for pair in steps.windows(2) {
            for from in &pair[1] {
                let entry = allowed.entry((*from).to_owned()).or_default();
                entry.extend(pair[0].iter().map(|to| (*to).to_owned()));
            }
        }
    }
    loop {
        let before = allowed.clone();
        for (from, to) in &before {
            for step in to {
                let further = before.get(step).cloned().unwrap_or_default();
                allowed.entry(from.clone()).or_default().extend(further);
            }
        }
        if allowed == before {
            return allowed;
        }
    }
}

/// Name of a crate in the map: its last folder; of the libraries for C, two folders.
fn name_of(crate_folder: &Path) -> String {
    let name = |folder: &Path| {
        let name = folder.file_name().expect("a folder");
        name.to_string_lossy().into_owned()
    };
    match name(crate_folder).as_str() {
        "c" => format!("{}/c", name(crate_folder.parent().expect("a folder"))),
        other => other.to_owned(),
    }
}

#[test]
fn crates_depend_on_each_other_only_as_in_the_map() {
    let may = arrows();
    assert!(
        may.len() >= 6,
        "the arrows in ARCHITECTURE.md could not be parsed: {may:?}"
    );
    for package in metadata() {
        let from = package["manifest_path"].as_str().expect("path");
        let from = name_of(Path::new(from).parent().expect("a folder"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            // Dev-dependencies are exempt.
            let (Some(path), true) = (dependency["path"].as_str(), dependency["kind"].is_null())
            else {
                continue;
            };
            let to = name_of(Path::new(path));
            assert!(
                may.get(&from).is_some_and(|ok| ok.contains(&to)),
                "{from} depends on {to}; ARCHITECTURE.md has no such arrow"
            );
        }
    }
}

#[test]
fn boards_depend_only_on_the_device_side_and_are_described() {
    for entry in fs::read_dir(root().join("boards"))
        .expect("boards/")
        .flatten()
    {
        let board = entry.path();
        let Ok(manifest) = fs::read_to_string(board.join("Cargo.toml")) else {
            continue;
        };
        let table: toml::Table = manifest.parse().expect("TOML");
        let dependencies = table["dependencies"].as_table().expect("dependencies");
        for (name, value) in dependencies {
            let path = value.get("path").and_then(toml::Value::as_str);
            let folder = path.and_then(|p| Path::new(p).file_name());
            if let Some(folder) = folder {
                assert!(
                    ["ether", "nic", "agent", "smoltcp", "firmware"]
                        .iter()
                        .any(|ok| folder == *ok),
                    "{} depends on {name}",
                    board.display()
                );
            }
        }
        for file in ["board.toml", "README.md", "Cargo.lock"] {
            assert!(
                board.join(file).is_file(),
                "{} has no {file}",
                board.display()
            );
        }
    }
}
