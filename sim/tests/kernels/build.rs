//! Links a flat image at the start of the RAM of QEMU's `virt` machine.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    println!("cargo::rerun-if-changed=link.x");
    println!("cargo::rustc-link-arg=-T{here}/link.x");
    println!("cargo::rustc-link-arg=--oformat=binary");
}
