//! Passes esp-hal's linker script.

fn main() {
    println!("cargo::rustc-link-arg-bins=-Tlinkall.x");
}
