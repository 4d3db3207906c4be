//! No dependency circle between files of different folders: files that depend on each other belong in one folder.
//!
//! A file depends on another if it names an item that the other defines, in a `use` or in a path. Re-exports are followed
//! to the file that defines the item; a `pub use` alone is no dependency. Test-only code is ignored.

use std::collections::BTreeSet;

use crate::imports::modules::Tree;
use crate::imports::{graph, paths};
use crate::tree::{crates, short};

#[test]
fn no_circle_spans_folders() {
    let mut described = Vec::new();
    for root in crates() {
        let edges = paths::edges(&Tree::read(&root));
        for circle in graph::circles(&edges) {
            let folders: BTreeSet<_> = circle.iter().map(|file| file.parent()).collect();
            if folders.len() < 2 {
                continue;
            }
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
    let tree = Tree::from_files(&[
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
    let tree = Tree::from_files(&[
        ("src/lib.rs", "mod a;\nmod b;"),
        ("src/a/mod.rs", "use crate::b::B;\npub struct A;"),
        (
            "src/b/mod.rs",
            "// use crate::a::A;\npub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
        ),
    ]);
    assert!(graph::circles(&paths::edges(&tree)).is_empty());
}
