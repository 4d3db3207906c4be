//! The simulator's timing table (`linerate sim --timing`), calculated from the measurements here: one run on
//! a chip confirms or corrects the entries of `sim/src/chip/esp32c6/timing.toml`. Three are never measured:
//! `dedicated_input_cycles`, `usb_serial_packet_ns` and `slow_clock_hertz`.
//!
//! An ordinary instruction takes one cycle; the excess of a snippet is its entry. `sim/src/rv32/timing.rs`
//! documents the entries.

use esp_println::println;
use esp32c6_bitbang::info;

use crate::{
    flash, rom,
    snippets::{self as code, TIMES, first_round, round},
    traps,
};

/// Cycles in a microsecond.
const CYCLES_PER_US: i64 = 160;

/// One entry: its name, and its figure if there is one.
type Entry = (&'static str, Option<i64>);

/// Measures, and prints the table between two marks.
pub fn report() {
    let hart = hart();
    let figure = |name| {
        let entry = hart.iter().find(|entry| entry.0 == name);
        entry.and_then(|entry| entry.1).unwrap_or_default()
    };
    let csr = figure("csr");
    let traps = traps::count();
    // The vector holds a jump to the handler.
    let jump = figure("jump_miss");
    let interrupt_entry = traps.interrupt.map(|cycles| cycles - 2 * csr - jump);
    let edge = traps.edge.map(|cycles| cycles - csr);
    if let Some(edge) = edge {
        info!(
            "an edge on a pin to its handler's first instruction: {edge} cycles, the vector's jump included"
        );
    }
    let gpio = edge
        .zip(interrupt_entry)
        .map(|(edge, entry)| edge - jump - entry);
    println!("# timing table: begin");
    // The simulator's chip has a locally administered address, which no factory programs.
    println!("# chip: {}", esp_hal::efuse::base_mac_address());
    println!("name = \"cycle_counting\"");
    println!("[cpu]");
    hart.iter().for_each(print);
    print(&("exception_entry", Some(traps.exception - csr)));
    print(&("interrupt_entry", interrupt_entry));
    print(&("mret", Some(traps.mret - csr)));
    println!("[chip]");
    let gpio_ns = gpio.map(|cycles| nanoseconds(cycles * 1000));
    print(&("gpio_interrupt_ns", gpio_ns));
    cache().iter().for_each(print);
    rom(csr + figure("indirect_jump")).iter().for_each(print);
    // A pin connected to itself includes the output delay; the others are not cycles of the hart.
    for name in [
        "dedicated_input_cycles",
        "usb_serial_packet_ns",
        "slow_clock_hertz",
    ] {
        print(&(name, None));
    }
    println!("# timing table: end");
}

fn print((name, value): &Entry) {
    match value {
        Some(value) if is_usable(name, *value) => println!(
            "{name} = {{ value = {value}, kind = \"measured\", source = \"cycle_counting\" }}"
        ),
        // As an entry it would make the simulator reject the whole table.
        Some(value) => println!("# {name}: measured {value}, not usable"),
        None => println!("# {name}: not measured"),
    }
}

/// True if the simulator accepts the value: none is negative, and a cache's are powers of two.
fn is_usable(name: &str, value: i64) -> bool {
    let Ok(value) = u32::try_from(value) else {
        return false;
    };
    !name.starts_with("flash_cache_") || value.is_power_of_two()
}

/// Thousandths, rounded to the nearest integer.
fn whole(thousandths: i64) -> i64 {
    (thousandths + 500).div_euclid(1000)
}

/// Thousandths of a cycle in nanoseconds.
fn nanoseconds(millicycles: i64) -> i64 {
    (millicycles + CYCLES_PER_US / 2) / CYCLES_PER_US
}

/// The hart's entries, traps apart.
fn hart() -> [Entry; 18] {
    let empty = round(&code::EMPTY);
    let each = |ten| whole((round(ten) - empty) / TIMES);
    let hit = whole(empty) - 1;
    let nop = first_round(&code::NOP);
    // Without the cost of the nop.
    let first = |ten| whole((first_round(ten) - nop) / TIMES) + 1;
    let (mispredicted, miss) = (each(&code::BRANCH_TAKEN), first(&code::JUMP));
    let load = round(&code::LOAD);
    // Each jump of the circle targets another one, except the second.
    let jumps = whole(round(&code::TWO_JUMPS)) - 1 - 3 * hit;
    let figures = [
        ("load_use", whole(round(&code::LOAD_USED) - load)),
        ("mispredicted", mispredicted),
        ("jump_hit", hit),
        ("jump_miss", miss),
        ("jump_to_jump", whole(jumps * 1000 / 2)),
        (
            "straddled_after_branch",
            each(&code::BRANCH_STRADDLED) - mispredicted - 2,
        ),
        (
            "straddled_after_jump",
            first(&code::JUMP_STRADDLED) - miss - 2,
        ),
        ("indirect_jump", each(&code::JUMP_INDIRECT) - 1),
        ("mul", each(&code::MUL)),
        ("mulh", each(&code::MULH)),
        ("div", each(&code::DIV)),
        ("csr", each(&code::CSR)),
        ("amo", each(&code::AMO)),
        ("fence", each(&code::FENCE)),
        ("misaligned", whole(round(&code::LOAD_UNALIGNED) - load)),
        ("mmio_load", each(&code::MMIO_LOAD) - 1),
        ("mmio_store", each(&code::MMIO_STORE) - 1),
    ];
    let mut entries = [("target_buffer_entries", code::target_buffer_entries(hit)); 18];
    for (entry, (name, value)) in entries.iter_mut().zip(figures) {
        *entry = (name, Some(value));
    }
    entries
}

/// The flash cache's entries.
fn cache() -> [Entry; 4] {
    let cache = flash::measure();
    [
        ("flash_cache_bytes", cache.bytes),
        ("flash_cache_ways", cache.ways),
        ("flash_cache_line_bytes", cache.line_bytes),
        ("flash_miss_ns", Some(nanoseconds(cache.miss))),
    ]
}

/// The ROM's entries; `around` are the cycles of jump and counter around a call.
fn rom(around: i64) -> [Entry; 5] {
    let rom = rom::count();
    let call = rom.nothing - around;
    [
        ("rom_call_cycles", Some(call)),
        ("rom_byte_millicycles", Some(rom.copy_1000)),
        ("rom_divide_cycles", Some(rom.divide - around - call)),
        ("rom_float_cycles", Some(rom.add - around - call)),
        ("rom_checksum_byte_cycles", Some(whole(rom.checksum_1000))),
    ]
}
