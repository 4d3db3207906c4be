//! A C program with the header and the library, built by the system's compiler.

#![forbid(unsafe_code)]

#[path = "../../../agent/c/tests/support/mod.rs"]
mod support;

#[test]
fn a_program_in_c_links_every_function_and_passes_its_memory() {
    let (folder, temporary) = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_TARGET_TMPDIR"));
    support::run_program(folder, "linerate-nic-c", temporary);
}
