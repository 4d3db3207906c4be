//! Settings that a program finds in a variable.

use linerate_sim::elf::{Elf, ElfError};

use crate::asm::{CODE, Program};
use crate::image::with_symbol;

const NAME: &str = "BOOT_LINE";
/// Behind the two instructions of [`program`], where the file has no octets.
const AT: u32 = CODE + 8;
const ROOM: u32 = 16;

fn program() -> Elf {
    with_symbol(Program::new().nop().stay(), NAME, AT, ROOM)
}

/// What the program finds in the variable.
fn content(elf: &Elf) -> &[u8] {
    let segment = &elf.segments()[0];
    let at = (AT - segment.addr) as usize;
    &segment.data[at..at + ROOM as usize]
}

#[test]
fn settings_replace_what_was_there_and_nothing_else() {
    let mut elf = program();
    let code = elf.segments()[0].data.clone();
    elf.set_variable(NAME, b"sizes=10000x5").expect("it fits");
    elf.set_variable(NAME, b"pings=3").expect("it fits");
    assert_eq!(content(&elf), b"pings=3\0\0\0\0\0\0\0\0\0");
    assert!(elf.segments()[0].data.starts_with(&code));
}

#[test]
fn settings_that_have_no_place_are_refused_and_change_nothing() {
    let mut elf = program();
    let before = elf.clone();
    let too_long = elf.set_variable(NAME, &[b'x'; ROOM as usize + 1]);
    assert_eq!(
        too_long.expect_err("no room").to_string(),
        "`BOOT_LINE` has room for 16 octets, not for 17"
    );
    let absent = elf.set_variable("OTHER", b"x");
    assert_eq!(absent, Err(ElfError::NoVariable("OTHER".to_owned())));
    assert_eq!(elf, before);
}
