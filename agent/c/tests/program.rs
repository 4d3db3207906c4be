//! A C program with the header and the library, built by the system's compiler.

#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::path::Path;

#[test]
fn a_program_in_c_measures() {
    let (folder, temporary) = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_TARGET_TMPDIR"));
    support::run_program(folder, "linerate-agent-c", temporary);
}

/// The sizes in the header are those that the library asserts on every target.
#[test]
fn the_header_states_the_sizes_that_the_library_asserts() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(here.join("include/linerate_agent.h")).expect("readable");
    let make = fs::read_to_string(here.join("src/make.rs")).expect("readable");
    let sizes = |line: &str| {
        let (name, size) = line
            .strip_prefix("#define LINERATE_")?
            .split_once("_OCTETS ")?;
        Some((name.replace('_', ""), size.to_owned()))
    };
    let stated: Vec<_> = header.lines().filter_map(sizes).collect();
    assert_eq!(stated.len(), 7);
    for (name, size) in stated {
        let held = |line: &str| {
            let line = line.to_uppercase();
            line.contains(&format!("FITS::<{name}>({size})"))
        };
        assert!(make.lines().any(held), "{name} {size}");
    }
}

/// The header declares exactly the functions that exist.
#[test]
fn the_header_declares_all_functions() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(here.join("include/linerate_agent.h")).expect("readable");
    let code = header
        .split("*/")
        .filter_map(|part| part.split("/*").next());
    let code: String = code.collect::<Vec<_>>().concat();
    let mut declared: Vec<&str> = code
        .split('(')
        .filter_map(|before| before.split([' ', '*', '\n']).next_back())
        .filter(|name| name.starts_with("linerate_"))
        .collect();
    let sources = ["make.rs", "drive.rs", "results.rs"];
    let read = |file| fs::read_to_string(here.join("src").join(file)).expect("readable");
    let source = sources.map(read).concat();
    let mut defined: Vec<&str> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .filter_map(|behind| behind.split('(').next())
        .collect();
    declared.sort_unstable();
    defined.sort_unstable();
    assert!(defined.len() > 20);
    assert_eq!(declared, defined);
}
