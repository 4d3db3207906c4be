//! Properties of `link/python` with any octets, frames and messages: `properties.py`, 40 cases of each, or 5,000 with
//! `LINERATE_LONG`.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::Command;

#[test]
fn no_octets_harm_the_python_end() {
    if Command::new("python3").arg("--version").output().is_err() {
        let how = "the properties of the Python end need python3: apt-get install python3";
        let required = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
        assert!(!required, "{how}");
        eprintln!("skipped: {how}");
        return;
    }
    let is_long = std::env::var_os("LINERATE_LONG").is_some();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(here.join("tests/python/properties.py"))
        .arg(if is_long { "5000" } else { "40" })
        .env("PYTHONPATH", here.join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    print!("{}", String::from_utf8_lossy(&output.stdout));
}
