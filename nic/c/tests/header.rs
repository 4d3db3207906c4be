//! The header declares exactly the functions and sizes that the library has.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(path).expect("readable")
}

#[test]
fn the_header_declares_all_functions() {
    let header = read("include/linerate_nic.h");
    let code = header
        .split("*/")
        .filter_map(|part| part.split("/*").next());
    let code: String = code.collect::<Vec<_>>().concat();
    let mut declared: Vec<&str> = code
        .split('(')
        .filter_map(|before| before.split([' ', '*', '\n']).next_back())
        // A pointer to a function ends in a parenthesis.
        .filter(|name| name.starts_with("linerate_nic_") && !name.ends_with(')'))
        .collect();
    let source = ["src/start.rs", "src/drive.rs"].map(read).concat();
    let mut defined: Vec<&str> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .filter_map(|behind| behind.split('(').next())
        .filter(|name| name.starts_with("linerate_nic_"))
        .collect();
    declared.sort_unstable();
    defined.sort_unstable();
    assert!(defined.len() > 10);
    assert_eq!(declared, defined);
}

#[test]
fn the_header_states_the_sizes_that_the_library_asserts() {
    let source = read("src/start.rs").replace('_', "");
    let header = read("include/linerate_nic.h");
    let sizes = header.lines().filter_map(|line| {
        let (name, size) = line
            .strip_prefix("#define LINERATE_NIC_")?
            .split_once(' ')?;
        let is_size = name.ends_with("_STATE") || name.ends_with("_MEMORY");
        is_size.then(|| (name.to_owned(), size.to_owned()))
    });
    let sizes: Vec<_> = sizes.collect();
    assert_eq!(sizes.len(), 8);
    for (name, size) in sizes {
        let asserted = [format!("({size})"), format!("<= {size}")];
        assert!(
            asserted.iter().any(|it| source.contains(it)),
            "{name} {size}"
        );
    }
}
