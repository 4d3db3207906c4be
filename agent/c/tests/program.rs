//! A C program with the header and the library, built by the system's compiler.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, built for this test; the file name of cargo's own build varies.
fn library(target: &Path) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "linerate-agent-c",
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success());
    target.join("debug/liblinerate_agent_c.a")
}

/// The C compiler, if there is one.
fn compiler() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["cc", "gcc", "clang"].into_iter().find(works)
}

#[test]
fn a_program_in_c_measures() {
    let Some(compiler) = compiler() else {
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "no C compiler: apt-get install gcc"
        );
        eprintln!("skipped: no C compiler (apt-get install gcc)");
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = made.join("program");
    let output = Command::new(compiler)
        .args([
            "-std=c99",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
        ])
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/program.c"))
        .arg(library(&made.join("library")))
        .args(["-lpthread", "-ldl", "-lm"])
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let run = Command::new(&program).output().expect("it runs");
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{output}");
    assert_eq!(output, "all passed\n");
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
