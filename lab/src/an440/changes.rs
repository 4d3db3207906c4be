//! The changes of `--axes`: fields of the board file, macros of the program, the compiler's options, the line.

use super::cells::{Direction, System};
use super::system::Parameters;

/// A change, and the cells that have what it changes.
pub struct Change {
    pub name: String,
    pub systems: fn(System) -> bool,
    pub directions: &'static [Direction],
    pub changed: Parameters,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
    /// UDP with the change is compared with UDP without it, in place of TCP.
    pub is_udp: bool,
}

/// Bytes of a FIFO of the TSE; the program is compiled for the depth, since the core has no register with it.
const FIFOS: [i64; 5] = [256, 512, 1024, 2048, 4096];
/// A clock of the systems at 83 MHz: MHz, and times of a DDR-266 chip in its cycles (JESD79: `ras` 45 ns, `rc` 65 ns, `rfc`
/// 75 ns, `refi` 7.8 us; `cas`, `rcd`, `rp`, `wr` and `rrd` of 15 ns stay two cycles up to 133 MHz).
const CLOCKS: [(i64, [(&str, i64); 4]); 2] = [
    (100, [("ras", 5), ("rc", 7), ("rfc", 8), ("refi", 780)]),
    (125, [("ras", 6), ("rc", 9), ("rfc", 10), ("refi", 975)]),
];
/// Macros of `boards/rv32-soft-soc/stack`, and the compiler's options; the last of several `-O` counts.
const FLAGS: [(&str, &[&str]); 16] = [
    ("code moved by 512 bytes", &["-DPADDING=512"]),
    ("-O0", &["-O0"]),
    ("-O1", &["-O1"]),
    ("-O2", &["-O2"]),
    ("-Os", &["-Os"]),
    (
        "checksum in plain C, 16 bits a step",
        &["-DLWIP_CHKSUM_ALGORITHM=1"],
    ),
    ("calls of 128 bytes", &["-DSEND_BYTES=128"]),
    ("calls of 512 bytes", &["-DSEND_BYTES=512"]),
    ("calls of 5832 bytes, four segments", &["-DSEND_BYTES=5832"]),
    (
        "about 1,000 instructions of the application for each call",
        &["-DCALL_BLOCKS=31"],
    ),
    ("about 10,000", &["-DCALL_BLOCKS=312"]),
    (
        "application at the stack's priority",
        &["-DAPPLICATION_PRIORITY=5"],
    ),
    ("application above the stack", &["-DAPPLICATION_PRIORITY=6"]),
    ("Nagle's algorithm", &["-DNAGLE"]),
    (
        "the same with calls of 128 bytes",
        &["-DNAGLE", "-DSEND_BYTES=128"],
    ),
    (
        "the same with calls of 512 bytes",
        &["-DNAGLE", "-DSEND_BYTES=512"],
    ),
];
/// Sections of the board file that take the place of its own.
const SECTIONS: [(&str, &str); 3] = [
    (
        "one transfer at a time on the main bus",
        "[bus.main]\narbitration = \"shared\"",
    ),
    (
        "8 shares for the processor's data",
        "[hart.cpu]\ndata_shares = 8",
    ),
    (
        "8 shares for the processor's instructions and data",
        "[hart.cpu]\ninstruction_shares = 8\ndata_shares = 8",
    ),
];
/// Costs of the pipeline.
const PIPELINE: [(&str, &str, i64); 3] = [
    (
        "multiplication in 33 cycles, as without a multiplier",
        "mul",
        33,
    ),
    (
        "a wrongly predicted branch in 2 cycles in place of 4",
        "mispredicted",
        2,
    ),
    (
        "loaded values at once, in place of 2 cycles later",
        "load_use",
        0,
    ),
];

fn any(_: System) -> bool {
    true
}

fn is_tse(system: System) -> bool {
    system != System::Lan91c111
}

fn is_lan91c111(system: System) -> bool {
    system == System::Lan91c111
}

fn is_slow(system: System) -> bool {
    system != System::TseOptimised
}

/// All of them, each beside the fitted `parameters`.
pub fn all(parameters: &Parameters) -> Vec<Change> {
    let change = |name: &str, change: &dyn Fn(&mut Parameters)| {
        let mut changed = parameters.clone();
        change(&mut changed);
        Change {
            name: name.to_owned(),
            systems: any,
            directions: &Direction::ALL,
            changed,
            flags: Vec::new(),
            is_udp: false,
        }
    };
    let field = |name: &str, path: String, value: i64| {
        change(name, &|it| it.changes.push((path.clone(), value)))
    };
    let compiled = |name: &str, flags: &[&str]| Change {
        flags: flags.iter().map(|it| (*it).to_owned()).collect(),
        ..change(name, &|_| ())
    };
    let mut all = Vec::new();
    for kib in [1, 2, 4, 8, 16, 32] {
        for cache in ["instruction", "data"] {
            let path = format!("hart.cpu.{cache}_cache.size");
            all.push(field(
                &format!("{cache} cache of {kib} KiB"),
                path,
                kib * 1024,
            ));
        }
    }
    all.extend(
        PIPELINE
            .map(|(name, cost, cycles)| field(name, format!("hart.cpu.pipeline.{cost}"), cycles)),
    );
    all.extend(SECTIONS.map(|(name, section)| change(name, &|it| it.sections = Some(section))));
    all.extend(CLOCKS.map(|(mhz, ddr)| Change {
        systems: is_slow,
        ..change(&format!("clock of {mhz} MHz"), &|it| {
            let hertz = ("clock.system.hertz".to_owned(), mhz * 1_000_000);
            let ddr = ddr.map(|(time, cycles)| (format!("memory.ddr.{time}"), cycles));
            it.changes.extend([hertz].into_iter().chain(ddr));
        })
    }));
    all.extend(FIFOS.map(|bytes| Change {
        systems: is_tse,
        flags: vec![format!("-DFIFO_WORDS={}", bytes / 4)],
        ..change(&format!("FIFOs of {bytes} bytes in the TSE"), &|it| {
            for fifo in ["receive_fifo_words", "transmit_fifo_words"] {
                it.changes.push((format!("device.mac.{fifo}"), bytes / 4));
            }
        })
    }));
    all.push(Change {
        systems: is_tse,
        flags: vec!["-DLINE_MBIT=100".to_owned()],
        ..change("line of 100 Mbit/s", &|it| it.link_mbit_per_s = Some(100))
    });
    all.push(Change {
        systems: is_lan91c111,
        ..compiled(
            "16 data lines of the LAN91C111 in place of 32",
            &["-DDATA_BITS=16"],
        )
    });
    all.push(change("a switch that stores each frame for 10 us", &|it| {
        it.path.is_switched = true;
    }));
    for us in [100, 1_000, 5_000] {
        all.push(change(
            &format!("line with a latency of {us} us each way"),
            &|it| {
                it.path.latency_us = us;
            },
        ));
    }
    for us in [200, 1_000, 5_000] {
        all.push(change(
            &format!("workstation reacts after {us} us"),
            &|it| {
                it.workstation_us = us;
            },
        ));
    }
    all.extend(FLAGS.map(|(name, flags)| compiled(name, flags)));
    all.push(Change {
        directions: &[Direction::Rx],
        ..compiled(
            "received data read where the stack has them",
            &["-DNO_COPY"],
        )
    });
    let no_checksum = ["-DCHECKSUM_GEN_UDP=0", "-DCHECKSUM_CHECK_UDP=0"];
    all.push(Change {
        is_udp: true,
        ..compiled("UDP without checksum, over UDP", &no_checksum)
    });
    all
}
