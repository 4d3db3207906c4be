//! `unsafe` only where ARCHITECTURE.md permits it, each block with its reason.

use std::fs;

use crate::code::{list, numbered_tokens, without_comments};
use crate::tree::{is_in, metadata, rust_files};

/// Where code may be `unsafe`: the queue, registers and DMA, the functions for C, QEMU's plugin, the rings of the host,
/// the boards, and the bare-metal programs that tests run.
const PERMITTED: [&str; 15] = [
    "nic/src/queue",
    "nic/src/mmio.rs",
    "nic/src/dma",
    "nic/c",
    "agent/c",
    "agent/size/src",
    "link/size/src",
    "bench/plugin/src",
    "host/ring/src",
    "boards",
    "nic/queue-cost",
    "sim/tests/kernels",
    // Programs of a generator that call the system without a dependency; outside the workspace.
    "lab/access",
    // Between smoltcp and the programs of a generator, in C and in Go; outside the workspace.
    "lab/mixed/stacks",
    "lab/virtual/board",
];
/// Packages of the workspace with such code.
const PACKAGES: [&str; 7] = [
    "linerate-nic",
    "linerate-nic-c",
    "linerate-agent-c",
    "linerate-agent-size",
    "linerate-link-size",
    "linerate-qemu-plugin",
    "linerate-ring",
];
/// A reason is at most this many lines above its block.
const REASON_LINES: usize = 12;

#[test]
fn every_other_crate_forbids_unsafe_code() {
    for package in metadata() {
        let name = package["name"].as_str().expect("name");
        for target in package["targets"].as_array().expect("targets") {
            let kinds = target["kind"].to_string();
            if !kinds.contains("lib") && !kinds.contains("\"bin\"") {
                continue;
            }
            let file = target["src_path"].as_str().expect("path");
            let text = fs::read_to_string(file).expect("readable");
            assert!(
                PACKAGES.contains(&name)
                    || without_comments(&text).contains("#![forbid(unsafe_code)]"),
                "{file} does not forbid unsafe code"
            );
        }
    }
}

#[test]
fn unsafe_code_is_only_in_permitted_folders_and_each_block_has_a_reason() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (name, text) in rust_files("") {
        let is_permitted = PERMITTED.iter().any(|folder| is_in(&name, folder));
        for (line, opens_block) in unsafe_lines(&text) {
            seen += 1;
            if !is_permitted {
                wrong.push(format!("{name}:{line}: unsafe code"));
            }
            if opens_block && !has_reason(&text, line) {
                wrong.push(format!("{name}:{line}: no reason (// SAFETY: ...)"));
            }
        }
    }
    assert!(seen > 50, "only {seen} uses of `unsafe` were found");
    assert!(
        wrong.is_empty(),
        "permitted are {PERMITTED:?}:{}",
        list(wrong)
    );
}

/// Lines with the word `unsafe`, and true if it begins a block or an implementation.
fn unsafe_lines(text: &str) -> Vec<(usize, bool)> {
    let code = without_comments(text);
    let tokens = numbered_tokens(&code);
    let next = |at: usize| tokens.get(at + 1).map_or("", |(_, token)| *token);
    (0..tokens.len())
        .filter(|at| tokens[*at].1 == "unsafe")
        .map(|at| (tokens[at].0, ["{", "impl"].contains(&next(at))))
        .collect()
}

fn has_reason(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let above = &lines[line.saturating_sub(REASON_LINES)..line];
    above.iter().any(|line| line.contains("SAFETY:"))
}

#[test]
fn unsafe_code_beside_a_literal_is_seen() {
    let text = "log(\"x\", unsafe { read() });\n#[unsafe(no_mangle)]\nconst A: &str = \"unsafe {\"; // unsafe\nunsafe\n{ a }";
    assert_eq!(unsafe_lines(text), [(1, true), (2, false), (4, true)]);
    assert!(!has_reason(text, 1));
    assert!(has_reason("// SAFETY: it is.\nunsafe { a }", 2));
}
