//! Writes the linker script fragments that select the code and data in RAM, per stage.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let stage = [
        "ISR_ALL",
        "MAIN_THREAD",
        "ZERO_COPY",
        "WINDOWED",
        "LINE_RATE",
    ];
    assert_eq!(
        stage.iter().filter(|s| has(s)).count(),
        1,
        "pick one stage: --no-default-features --features \
         isr-all|isr-ram|main-thread|zero-copy|windowed|line-rate"
    );
    // The part of the hook's code or data that is in RAM.
    let in_ram = if has("LINE_RATE") {
        Some("all")
    } else if has("ZERO_COPY") || has("WINDOWED") || has("ISR_RAM") {
        Some("hot")
    } else {
        None
    };

    // esp-hal's linker script includes the two hooks at the end of `.rwtext` and in `.data`.
    for (hook, part) in [("rwtext_hook.x", "code"), ("rwdata_hook.x", "data")] {
        let text = if let Some(which) = in_ram {
            let source = format!("ld/{which}_{part}.x");
            println!("cargo::rerun-if-changed={source}");
            fs::read_to_string(source).expect("the fragment is part of the crate")
        } else {
            String::from("/* This stage runs from flash, except for items marked for RAM. */\n")
        };
        fs::write(out.join(hook), text).expect("OUT_DIR is writable");
    }
    println!("cargo::rerun-if-changed=ld/memory_functions.x");
    fs::copy("ld/memory_functions.x", out.join("memory_functions.x")).expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlinkall.x");
    println!("cargo::rustc-link-arg-bins=-Tmemory_functions.x");
    for name in [
        "IPV4",
        "PEER",
        "ADDRESSING",
        "DUPLEX",
        "SIZES",
        "QUEUE",
        "WITHOUT",
    ] {
        println!("cargo::rerun-if-env-changed=LINERATE_{name}");
    }
}
