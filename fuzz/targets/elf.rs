//! Any bytes as a firmware file, loaded into the chip's memory.
#![no_main]

use linerate_sim::elf::Elf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(elf) = Elf::parse(data) else { return };
    for symbol in elf.symbols() {
        assert!(elf.symbol(&symbol.name).is_some());
        let _ = elf.function_at(symbol.addr);
    }
    let entry = elf.entry();
    assert!(
        elf.segments()
            .iter()
            .any(|segment| entry.wrapping_sub(segment.addr) < segment.size)
    );
});
