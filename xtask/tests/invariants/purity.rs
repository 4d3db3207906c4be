//! Crates that know no host, and no time source, socket or chip.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::code::{list, numbered_tokens, shipped, std_modules, without_comments};
use crate::imports::modules::Tree;
use crate::tree::{self, crates, files, is, metadata, root, rust_files, short};

/// Crates that read no clock, file, network or environment. The simulator's tests are included.
const PURE: [&str; 5] = ["sim", "results", "capture", "explain", "regs/decode"];
/// Modules of `std` that reach none of these.
const PURE_STD: [&str; 20] = [
    "any",
    "borrow",
    "cell",
    "char",
    "cmp",
    "collections",
    "error",
    "fmt",
    "hash",
    "io",
    "iter",
    "mem",
    "num",
    "ops",
    "rc",
    "slice",
    "str",
    "string",
    "sync",
    "vec",
];
/// Crates without an operating system. Their tests may use `std`.
const NO_STD: [&str; 11] = [
    "ether",
    "regs",
    "agent",
    "agent/c",
    "agent/smoltcp",
    "agent/firmware",
    "agent/size",
    "link",
    "link/size",
    "nic",
    "nic/c",
];
/// The static libraries for a host link `std` for its panic handler, and use nothing of it.
const HOSTED: [(&str, &str); 2] = [("agent/c/src/lib.rs", "std"), ("nic/c/src/lib.rs", "std")];
/// Crates that know no time source, socket or chip, and what they may depend on.
const PASSED_IN: [(&str, &[&str]); 4] = [
    ("linerate-ether", &[]),
    ("linerate-regs", &[]),
    ("linerate-agent", &["linerate-ether"]),
    ("linerate-link", &[]),
];

/// Files of a crate's library or program, without those for tests.
fn shipped_code(package: &str) -> Vec<(String, String)> {
    let roots = ["lib.rs", "main.rs"].map(|name| root().join(package).join("src").join(name));
    let roots = roots.into_iter().filter(|path| path.is_file());
    let modules = roots.flat_map(|root| Tree::read(&root).modules.into_values());
    let found: Vec<_> = modules.map(|it| (short(&it.file), it.code)).collect();
    assert!(!found.is_empty(), "no code in {package}");
    found
}

/// Uses of `std` beyond the modules that a pure crate may use.
fn impure(name: &str, code: &str) -> Vec<String> {
    let modules = std_modules(code).into_iter();
    let mut wrong: Vec<String> = modules
        .filter(|(_, module)| !PURE_STD.contains(&module.as_str()))
        .map(|(line, module)| format!("{name}:{line}: std::{module}"))
        .collect();
    let words = numbered_tokens(code).into_iter();
    let reads = words.filter(|(_, word)| ["stdin", "SystemTime", "option_env"].contains(word));
    wrong.extend(reads.map(|(line, word)| format!("{name}:{line}: {word}")));
    wrong
}

#[test]
fn pure_crates_reach_no_clock_file_network_or_environment() {
    let mut wrong = Vec::new();
    for package in PURE {
        for (name, code) in shipped_code(package) {
            wrong.extend(impure(&name, &code));
        }
    }
    assert!(wrong.is_empty(), "in a pure crate:{}", list(wrong));
}

#[test]
fn the_simulator_uses_no_host_interface_and_no_hash_map() {
    let mut wrong = Vec::new();
    for (name, text) in rust_files("sim/src") {
        let code = without_comments(&text);
        wrong.extend(impure(&name, &code));
        let words = numbered_tokens(&code).into_iter();
        let maps =
            words.filter(|(_, word)| ["HashMap", "HashSet", "RandomState", "rand"].contains(word));
        wrong.extend(maps.map(|(line, word)| format!("{name}:{line}: {word}")));
    }
    assert!(wrong.is_empty(), "in the simulator:{}", list(wrong));
}

#[test]
fn the_device_side_needs_no_operating_system() {
    let mut wrong = Vec::new();
    for package in NO_STD {
        let mut says_so = false;
        for (name, code) in shipped_code(package) {
            says_so |= code.contains("no_std");
            let uses = std_modules(&code).into_iter();
            let uses =
                uses.filter(|(_, module)| !HOSTED.contains(&(name.as_str(), module.as_str())));
            wrong.extend(uses.map(|(line, module)| format!("{name}:{line}: std::{module}")));
        }
        assert!(says_so, "{package} must build without std");
    }
    assert!(
        wrong.is_empty(),
        "without an operating system:{}",
        list(wrong)
    );
}

#[test]
fn frames_and_services_know_no_time_source_socket_or_chip() {
    let packages = metadata();
    for (name, permitted) in PASSED_IN {
        let package = packages
            .iter()
            .find(|it| it["name"] == name)
            .expect("a package");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let needed = dependency["name"].as_str().expect("name");
            assert!(
                dependency["kind"] == "dev" || permitted.contains(&needed),
                "{name} depends on {needed}"
            );
        }
    }
}

/// A file that no crate reaches is seen by none of these tests.
#[test]
fn every_file_belongs_to_a_crate() {
    let mut roots = crates();
    let mut reached = BTreeSet::new();
    while let Some(root) = roots.pop() {
        for module in Tree::read_with_tests(&root).modules.into_values() {
            if reached.insert(module.file.clone()) {
                roots.extend(named_files(&module.file));
            }
        }
    }
    let reached: BTreeSet<_> = reached
        .iter()
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    let all = files().into_iter().filter(|(_, path)| is(path, "rs"));
    let lost = all.filter(|(_, path)| !reached.contains(&path.canonicalize().expect("a file")));
    let lost: Vec<String> = lost.map(|(name, _)| name).collect();
    assert!(lost.is_empty(), "no crate has these files:{}", list(lost));
}

/// Files in `#[path = "..."]` and `include!("...")`.
fn named_files(file: &std::path::Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let folder = file.parent().unwrap_or(file);
    let named = ["#[path = \"", "include!(\""].into_iter().flat_map(|mark| {
        let behind = text.split(mark).skip(1);
        behind.filter_map(|it| Some(folder.join(it.split_once('"')?.0)))
    });
    named.collect()
}

#[test]
fn an_impure_line_after_the_first_test_or_in_a_folder_called_target_is_seen() {
    let code = shipped("#[cfg(test)]\nuse std::fs;\nuse std::{fmt,\n env};");
    assert_eq!(impure("a.rs", &code), ["a.rs:4: std::env"]);
    let folder = std::env::temp_dir().join(format!("linerate-target-{}", std::process::id()));
    let inner = folder.join("target");
    std::fs::create_dir_all(&inner).expect("created");
    std::fs::write(folder.join("lib.rs"), "mod target;").expect("written");
    std::fs::write(inner.join("mod.rs"), "use std::time;").expect("written");
    let modules = Tree::read(&folder.join("lib.rs")).modules;
    let seen: Vec<String> = modules
        .values()
        .flat_map(|it| impure("a", &it.code))
        .collect();
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(seen, ["a:1: std::time"]);
    assert!(tree::is_in("a/b.rs", "a") && !tree::is_in("ab/c.rs", "a"));
}
