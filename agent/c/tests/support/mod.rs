//! Builds and runs a C program with a static library and its header; the C functions of `nic` use it, too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `tests/program.c` of the package at `folder` against its library with the system's compiler, and runs it: it has
/// to print `all passed`. Skipped by name without a compiler.
pub fn run_program(folder: &str, package: &str, temporary: &str) {
    let Some(compiler) = compiler() else {
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "no C compiler: apt-get install gcc"
        );
        eprintln!("skipped: no C compiler (apt-get install gcc)");
        return;
    };
    let (folder, made) = (Path::new(folder), Path::new(temporary));
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
        .arg(folder.join("include"))
        .arg(folder.join("tests/program.c"))
        .arg(library(folder, package, &made.join("library")))
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

/// The library, built for this test; the file name of cargo's own build varies.
fn library(folder: &Path, package: &str, target: &Path) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", package])
        .arg("--target-dir")
        .arg(target)
        .current_dir(folder)
        .status()
        .expect("cargo runs");
    assert!(status.success());
    target.join(format!("debug/lib{}.a", package.replace('-', "_")))
}

/// The C compiler, if there is one.
fn compiler() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["cc", "gcc", "clang"].into_iter().find(works)
}
