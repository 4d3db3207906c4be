//! Passes esp-hal's linker script, and with `LINERATE_CODE_IN_RAM` the fragments that place all code and constants in RAM.

use std::{env, fs, path::PathBuf};

/// esp-hal's linker script includes the two hooks at the end of `.rwtext` and in `.data`.
const HOOKS: [(&str, &str); 2] = [
    ("rwtext_hook.x", ". = ALIGN(4);\n*(.text .text.*)\n"),
    (
        "rwdata_hook.x",
        "*(.rodata .rodata.*)\n*(.srodata .srodata.*)\n",
    ),
];

fn main() {
    let variable = "LINERATE_CODE_IN_RAM";
    println!("cargo::rerun-if-env-changed={variable}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (hook, in_ram) in HOOKS {
        let text = if env::var_os(variable).is_some() {
            in_ram
        } else {
            ""
        };
        fs::write(out.join(hook), text).expect("OUT_DIR is writable");
    }
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlinkall.x");
}
