//! Properties of `link/c` with any octets, frames and damage: `properties.c`, with the sanitizers of the compiler if it has
//! them; 1,000 cases of each, or 300,000 with `LINERATE_LONG`.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::Command;

const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

#[test]
fn no_octets_harm_the_c_end() {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(compiler) = ["cc", "gcc", "clang"].into_iter().find(works) else {
        let how = "the properties of the C end need a compiler: apt-get install gcc";
        let required = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
        assert!(!required, "{how}");
        eprintln!("skipped: {how}");
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("link-properties");
    let build = |sanitizers: &[&str]| {
        Command::new(compiler)
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-O1"])
            .args(sanitizers)
            .args(["-DLL_MAX_FRAGMENT=128", "-I"])
            .arg(here.join("c"))
            .arg("-o")
            .arg(&program)
            .arg(here.join("tests/c/properties.c"))
            .output()
            .expect("the compiler runs")
    };
    if !build(&SANITIZERS).status.success() {
        let output = build(&[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        eprintln!("without sanitizers, which {compiler} does not have");
    }
    let is_long = std::env::var_os("LINERATE_LONG").is_some();
    let output = Command::new(&program)
        .arg(if is_long { "300000" } else { "1000" })
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    print!("{}", String::from_utf8_lossy(&output.stdout));
}
