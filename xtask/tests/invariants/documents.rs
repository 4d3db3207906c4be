//! Documents and messages: what they name exists.

use std::path::Path;

use crate::tree::{is, root, texts};

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
