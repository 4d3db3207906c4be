//! No dependency circle between files of different folders: files that depend on each other belong in one folder.
//!
//! A file depends on another if it names an item that the other defines, in a `use` or in a path. Re-exports are followed
//! to the file that defines the item; a `pub use` alone is no dependency. Test-only code is ignored.
#![forbid(unsafe_code)]

mod graph;
mod modules;
mod paths;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Root files of all crates in the checkout: `lib.rs`, `main.rs`, and the programs in `src/bin`.
fn roots() -> Vec<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the checkout");
    let mut found = Vec::new();
    let mut folders = vec![checkout.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable").flatten() {
            let path = entry.path();
            if !path.is_dir() {
                continue;
            }
            if path.ends_with("src") {
                for name in ["lib.rs", "main.rs"] {
                    found.extend(Some(path.join(name)).filter(|root| root.is_file()));
                }
            }
            let skipped = ["target", ".git", "tests", "examples"];
            if !skipped.iter().any(|skip| path.ends_with(skip)) {
                folders.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "crates were not found: {found:?}");
    found
}

#[test]
fn no_circle_spans_folders() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checkout = checkout.canonicalize().expect("the checkout");
    let mut described = Vec::new();
    for root in roots() {
        let tree = modules::Tree::read(&root);
        let edges = paths::edges(&tree);
        for circle in graph::circles(&edges) {
            let folders: BTreeSet<_> = circle.iter().map(|file| file.parent()).collect();
            if folders.len() < 2 {
                continue;
            }
            let short = |file: &Path| {
                let file = file.strip_prefix(&checkout).unwrap_or(file);
                file.display().to_string()
            };
            let inside = edges
                .iter()
                .filter(|(from, to, _)| circle.contains(from) && circle.contains(to));
            let lines: Vec<String> = inside
                .map(|(from, to, name)| format!("  {} -> {}: {name}", short(from), short(to)))
                .collect();
            described.push(format!(
                "circle of {} files\n{}",
                circle.len(),
                lines.join("\n")
            ));
        }
    }
    assert!(
        described.is_empty(),
        "{} circles between files of different folders; move the shared code to a file below them:\n{}",
        described.len(),
        described.join("\n")
    );
}

#[test]
fn a_circle_is_found_and_a_re_export_makes_none() {
    let tree = modules::Tree::from_files(&[
        ("src/lib.rs", "mod a;\nmod b;\npub use a::A;"),
        ("src/a/mod.rs", "use crate::b::B;\npub struct A;"),
        ("src/b/mod.rs", "use crate::A;\npub struct B;"),
    ]);
    let found = graph::circles(&paths::edges(&tree));
    let names: Vec<_> = found
        .iter()
        .flatten()
        .map(|file| file.display().to_string())
        .collect();
    assert_eq!(names, ["src/a/mod.rs", "src/b/mod.rs"]);
}

#[test]
fn tests_and_comments_are_no_dependencies() {
    let tree = modules::Tree::from_files(&[
        ("src/lib.rs", "mod a;\nmod b;"),
        ("src/a/mod.rs", "use crate::b::B;\npub struct A;"),
        (
            "src/b/mod.rs",
            "// use crate::a::A;\npub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
        ),
    ]);
    assert!(graph::circles(&paths::edges(&tree)).is_empty());
}
