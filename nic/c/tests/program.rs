//! A C program with the header and the library, built by the system's compiler.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, built for this test; the file name of cargo's own build varies.
fn library(target: &Path) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "-p", "linerate-nic-c"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success());
    target.join("debug/liblinerate_nic_c.a")
}

/// The C compiler, if there is one.
fn compiler() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["cc", "gcc", "clang"].into_iter().find(works)
}

#[test]
fn a_program_in_c_links_every_function_and_passes_its_memory() {
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
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1"])
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
