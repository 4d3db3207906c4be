//! Paths in code, resolved to the files that define what they name.

use std::collections::BTreeSet;

use super::graph::Edge;
use super::modules::{Module, ModulePath, Tree};
use crate::code::{is_word, tokens};

/// Dependencies between files.
pub fn edges(tree: &Tree) -> Vec<Edge> {
    let mut found = BTreeSet::new();
    for (at, module) in &tree.modules {
        let imports = imports(&module.code);
        let used = imports.iter().filter(|import| !import.is_re_export);
        let used = used.map(|import| import.path.clone());
        for path in used.chain(inline_paths(&module.code)) {
            let path = through_imports(&path, &imports);
            let Some((file, name)) = resolve(tree, at, &path, 0) else {
                continue;
            };
            if file.file != module.file {
                found.insert((module.file.clone(), file.file.clone(), name));
            }
        }
    }
    found.into_iter().collect()
}

/// All paths that code names, in a `use` or inline.
pub fn named(code: &str) -> Vec<Vec<String>> {
    let imports = imports(code).into_iter().map(|import| import.path);
    imports.chain(inline_paths(code)).collect()
}

/// A name imported by a `use`.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    name: String,
    is_re_export: bool,
}

/// Replaces an imported first name of a path by the path of its import.
fn through_imports(path: &[String], imports: &[Import]) -> Vec<String> {
    let rooted = ["crate", "self", "super"].contains(&path[0].as_str());
    let import = imports
        .iter()
        .find(|it| it.name == path[0] && it.path != path);
    match import.filter(|_| !rooted) {
        Some(import) => import.path.iter().chain(&path[1..]).cloned().collect(),
        None => path.to_vec(),
    }
}

/// The module that defines the item of `path`, which is written in module `at`, and the item's name.
fn resolve<'a>(
    tree: &'a Tree,
    at: &ModulePath,
    path: &[String],
    depth: usize,
) -> Option<(&'a Module, String)> {
    let mut here = at.clone();
    let mut rest = path;
    let mut rooted = false;
    while let Some((first, behind)) = rest.split_first() {
        match first.as_str() {
            "crate" => here.clear(),
            "self" => {}
            "super" => drop(here.pop()),
            _ => break,
        }
        (rest, rooted) = (behind, true);
    }
    let mut entered = false;
    while let Some((first, behind)) = rest.split_first() {
        here.push(first.clone());
        if !tree.modules.contains_key(&here) {
            here.pop();
            break;
        }
        (rest, entered) = (behind, true);
    }
    if !rooted && !entered {
        return None;
    }
    let module = tree.modules.get(&here)?;
    // A path of a module alone names no item.
    let name = rest.first()?;
    if name == "*" || module.defines.contains(name) {
        return Some((module, name.clone()));
    }
    if depth > 8 {
        return None;
    }
    let imports = imports(&module.code);
    let named = imports.iter().find(|it| it.name == *name);
    let globs = imports.iter().filter(|it| it.name == "*");
    for import in named.into_iter().chain(globs) {
        let mut path = import.path.clone();
        if import.name == "*" {
            path.pop();
            path.push(name.clone());
        }
        path.extend(rest[1..].iter().cloned());
        if let Some(found) = resolve(tree, &here, &path, depth + 1) {
            return Some(found);
        }
    }
    None
}

/// Names in `mod name;`.
pub fn child_modules(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let declared = tokens
        .windows(3)
        .filter(|it| it[0] == "mod" && it[2] == ";");
    declared.map(|it| it[1].to_owned()).collect()
}

/// Names of defined items, including members, which do no harm: they are never the first name of a path.
pub fn definitions(code: &str) -> Vec<String> {
    const KINDS: [&str; 8] = [
        "struct", "enum", "union", "trait", "type", "const", "static", "fn",
    ];
    let tokens = tokens(code);
    let mut found: Vec<String> = tokens
        .windows(2)
        .filter(|it| KINDS.contains(&it[0]) && it[1].starts_with(is_word))
        .map(|it| it[1].to_owned())
        .collect();
    let consts = tokens
        .windows(3)
        .filter(|it| it[0] == "const" && it[1] == "fn");
    found.extend(consts.map(|it| it[2].to_owned()));
    let macros = tokens
        .windows(3)
        .filter(|it| it[0] == "macro_rules" && it[1] == "!");
    found.extend(macros.map(|it| it[2].to_owned()));
    found
}

/// All names imported by `use`.
fn imports(code: &str) -> Vec<Import> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, it)| **it == "use") {
        let length = tokens[at..].iter().position(|it| *it == ";").unwrap_or(0);
        let is_re_export = at > 0 && (tokens[at - 1] == "pub" || is_restricted(&tokens[..at]));
        let mut tree = &tokens[at + 1..at + length.max(1)];
        let mut names = Vec::new();
        use_tree(&mut tree, &mut Vec::new(), &mut names);
        found.extend(names.into_iter().map(|(path, name)| Import {
            path,
            name,
            is_re_export,
        }));
    }
    found
}

/// True if `tokens` ends with `pub(...)`.
fn is_restricted(tokens: &[&str]) -> bool {
    tokens.ends_with(&[")"]) && tokens.iter().rev().take(6).any(|token| *token == "pub")
}

fn use_tree(
    tokens: &mut &[&str],
    prefix: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, String)>,
) {
    let depth = prefix.len();
    while let Some((first, rest)) = tokens.split_first() {
        match *first {
            "{" => {
                *tokens = rest;
                while !tokens.is_empty() && tokens[0] != "}" {
                    use_tree(tokens, prefix, found);
                    if tokens.first() == Some(&",") {
                        *tokens = &tokens[1..];
                    }
                }
                *tokens = tokens.get(1..).unwrap_or_default();
                prefix.truncate(depth);
                return;
            }
            "::" => *tokens = rest,
            "," | "}" => break,
            "as" => {
                let alias = rest.first().copied().unwrap_or_default();
                found.push((prefix.clone(), alias.to_owned()));
                *tokens = rest.get(1..).unwrap_or_default();
                prefix.truncate(depth);
                return;
            }
            "self" if depth > 0 && prefix.len() == depth => *tokens = rest,
            name => {
                prefix.push(name.to_owned());
                *tokens = rest;
            }
        }
    }
    if let Some(name) = prefix.last() {
        found.push((prefix.clone(), name.clone()));
    }
    prefix.truncate(depth);
}

/// All paths with `::` outside `use`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            at += tokens[at..].iter().position(|it| *it == ";").unwrap_or(1);
        }
        let mut path = Vec::new();
        while at < tokens.len() && tokens[at].starts_with(is_word) {
            path.push(tokens[at].to_owned());
            at += 1;
            if tokens.get(at) != Some(&"::") {
                break;
            }
            at += 1;
        }
        if path.len() > 1 {
            found.push(path);
        } else if path.is_empty() {
            at += 1;
        }
    }
    found
}
