//! The invariants of ARCHITECTURE.md that a machine can check.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders where code may be `unsafe`: the queue, registers and DMA, the functions for C, QEMU's plugin, the rings of the host, the
/// boards, and the bare-metal programs that tests run.
const UNSAFE_IN: [&str; 11] = [
    "nic/src/queue",
    "nic/src/mmio.rs",
    "nic/src/dma/",
    "agent/c/src/",
    "agent/size/src/",
    "link/size/src/",
    "bench/plugin/src/",
    "host/ring/src/",
    "boards/",
    "nic/queue-cost/",
    "sim/tests/kernels/",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the checkout")
        .to_path_buf()
}

/// All files of the checkout with their path from the root, without build output.
fn files() -> Vec<(String, PathBuf)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable").flatten() {
            let path = entry.path();
            // In a linked worktree `.git` is a file.
            if ["target", ".git"].iter().any(|skip| path.ends_with(skip)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).expect("below the root");
            found.push((name.to_string_lossy().replace('\\', "/"), path.clone()));
        }
    }
    found.sort();
    found
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

fn rust_files(below: &str) -> Vec<(String, String)> {
    let found: Vec<_> = files()
        .into_iter()
        .filter(|(name, path)| name.starts_with(below) && is(path, "rs"))
        .map(|(name, path)| (name, fs::read_to_string(path).expect("UTF-8")))
        .collect();
    assert!(!found.is_empty(), "no Rust file below {below}");
    found
}

/// Lines with their number, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line.split("//").next().unwrap_or_default()))
}

fn has_word(line: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    line.match_indices(word).any(|(at, _)| {
        boundary(line[..at].chars().next_back()) && boundary(line[at + word.len()..].chars().next())
    })
}

#[test]
fn unsafe_code_is_forbidden_outside_the_queue_and_the_boards() {
    for package in metadata() {
        let name = package["name"].as_str().expect("name");
        for target in package["targets"].as_array().expect("targets") {
            let kinds = target["kind"].to_string();
            if !kinds.contains("lib") && !kinds.contains("\"bin\"") {
                continue;
            }
            let file = target["src_path"].as_str().expect("path");
            let text = fs::read_to_string(file).expect("readable");
            let allowed = [
                "linerate-nic",
                "linerate-agent-c",
                "linerate-agent-size",
                "linerate-link-size",
                "linerate-qemu-plugin",
                "linerate-ring",
            ]
            .contains(&name);
            assert!(
                allowed || text.contains("#![forbid(unsafe_code)]"),
                "{file} does not forbid unsafe code"
            );
        }
    }
}

#[test]
fn every_unsafe_block_is_in_an_allowed_folder_and_has_a_reason() {
    for (name, text) in rust_files("") {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in code(&text) {
            let is_quoted = line.contains('"') || line.contains("unsafe_");
            let opens = line.contains("unsafe {") || line.contains("unsafe impl");
            if !has_word(line, "unsafe") || is_quoted || !opens {
                continue;
            }
            assert!(
                UNSAFE_IN.iter().any(|ok| name.starts_with(ok)),
                "{name}:{number}: unsafe code outside {UNSAFE_IN:?}"
            );
            let before = &lines[number.saturating_sub(12)..number];
            assert!(
                before.iter().any(|l| l.contains("SAFETY:")),
                "{name}:{number}: an unsafe block without a reason (// SAFETY: ...)"
            );
        }
    }
}

#[test]
fn the_simulator_uses_no_host_interface_and_no_hash_map() {
    let host = [
        "std::time",
        "std::env",
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "rand::",
        "HashMap",
        "HashSet",
    ];
    for (name, text) in rust_files("sim/src/") {
        for (number, line) in code(&text) {
            for word in host {
                assert!(
                    !line.contains(word),
                    "{name}:{number}: {word} in the simulator"
                );
            }
        }
    }
}

#[test]
fn the_result_side_and_the_frame_side_are_pure() {
    const HOST: &[&str] = &["std::net", "std::time", "std::env", "std::process"];
    for (folder, words) in [
        (
            "ether/src/",
            &["std::", "smoltcp", "embassy", "esp_hal"][..],
        ),
        ("link/src/", &["std::"]),
        ("results/src/", HOST),
        ("capture/src/", HOST),
        ("explain/src/", HOST),
        ("regs/decode/src/", HOST),
    ] {
        for (name, text) in rust_files(folder) {
            if name.ends_with("tests.rs") || name.contains("/tests/") {
                continue;
            }
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in code(shipped) {
                for word in words {
                    assert!(!line.contains(word), "{name}:{number}: {word}");
                }
            }
        }
    }
    let ether = fs::read_to_string(root().join("ether/src/lib.rs")).expect("readable");
    assert!(ether.contains("no_std"), "ether must build without std");
}

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

fn metadata() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    json["packages"].as_array().expect("packages").clone()
}

fn folder_of(manifest: &str) -> String {
    let folder = Path::new(manifest).parent().and_then(Path::file_name);
    folder.expect("a folder").to_string_lossy().into_owned()
}

#[test]
fn crates_depend_on_each_other_only_as_in_the_map() {
    let may = arrows();
    assert!(
        may.len() >= 6,
        "the arrows in ARCHITECTURE.md could not be parsed: {may:?}"
    );
    for package in metadata() {
        let from = folder_of(package["manifest_path"].as_str().expect("path"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            // Dev-dependencies are exempt.
            let (Some(path), true) = (dependency["path"].as_str(), dependency["kind"].is_null())
            else {
                continue;
            };
            let to = Path::new(path)
                .file_name()
                .expect("a folder")
                .to_string_lossy();
            assert!(
                may.get(&from).is_some_and(|ok| ok.contains(&*to)),
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

/// The text files of the tree.
fn texts() -> impl Iterator<Item = (String, String)> {
    files()
        .into_iter()
        .filter(|(_, path)| !is(path, "lock"))
        .filter_map(|(name, path)| Some((name, fs::read_to_string(path).ok()?)))
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    // Split, so that this file does not contain them.
    let homes = ["work", "root", "farm"].map(|name| format!("/{name}/"));
    for (file, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            for home in &homes {
                let found = line.match_indices(home.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_ascii_alphanumeric() && !"._-*>{})".contains(c))
                });
                assert!(!found, "{file}:{}: names {home}", number + 1);
            }
        }
    }
}

#[test]
fn links_between_documents_have_a_target() {
    for (name, text) in texts().filter(|(name, _)| is(Path::new(name), "md")) {
        let folder = root().join(&name);
        let folder = folder.parent().expect("a folder");
        for (at, _) in text.match_indices("](") {
            let target: String = text[at + 2..].chars().take_while(|c| *c != ')').collect();
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            assert!(
                folder.join(path).exists(),
                "{name}: the target of the link {target} does not exist"
            );
        }
    }
}

/// Also checks paths in code spans such as `path/to/file.rs`.
#[test]
fn files_that_documents_name_exist() {
    let mut seen = 0;
    for (name, text) in texts().filter(|(name, _)| is(Path::new(name), "md")) {
        let here = root().join(&name);
        let here = here.parent().expect("a folder");
        for word in text.split('`').skip(1).step_by(2) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
            let path = Path::new(word);
            let known = ["rs", "toml", "md", "x"].iter().any(|e| is(path, e));
            if !known
                || !word.contains('/')
                || !word.chars().all(plain)
                || word.starts_with("target/")
            {
                continue;
            }
            seen += 1;
            assert!(
                root().join(word).exists() || here.join(word).exists(),
                "{name} names {word}, which does not exist"
            );
        }
    }
    assert!(
        seen > 10,
        "only {seen} file names found: the search may be wrong"
    );
}
