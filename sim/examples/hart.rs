//! Speed of the hart: simulated MIPS with timing and cache, on the image of `tests/kernels`.
//!
//! `cargo run --release -p linerate-sim --example hart -- IMAGE [KERNEL|toggling ram|flash]`
//!
//! Each figure is the best of a few runs, of the time in which the thread had a core: other programs then slow it only
//! through shared caches. `cargo xtask bench` builds the image and compares with QEMU.

use std::time::{Duration, Instant};

use linerate_sim::chip::soft_soc::file;
use linerate_sim::mem::{CacheConfig, Memory, RegionConfig};
use linerate_sim::memsys::{Fabric, HartPorts};
use linerate_sim::rv32::{
    AccessFault, Hart, HartConfig, IllegalCsr, Platform, RomCall, Stop, Timing, Width,
};

/// Time of this thread on a core; elapsed time on systems that do not state it.
struct Stopwatch {
    on_core: Option<Duration>,
    start: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            on_core: on_core(),
            start: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        let on_core = on_core()
            .zip(self.on_core)
            .map(|(now, start)| now.saturating_sub(start));
        on_core
            .unwrap_or_else(|| self.start.elapsed())
            .as_secs_f64()
    }
}

/// Nanoseconds on a core: the first field of `schedstat` (Linux, Documentation/scheduler/sched-stats.rst).
fn on_core() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ns))
}

/// The parts of QEMU's `virt` that the kernels need, and the dedicated GPIO of the ESP32-C6.
#[derive(Default)]
struct Virt {
    off: bool,
    pins: u32,
    last_toggle: u64,
}

impl Platform for Virt {
    fn load(&mut self, _: u32, _: Width, _: u64) -> Result<u32, AccessFault> {
        Err(AccessFault)
    }

    fn store(&mut self, addr: u32, _: Width, _: u32, _: u64) -> Result<(), AccessFault> {
        match addr {
            UART => Ok(()),
            POWER => {
                self.off = true;
                Ok(())
            }
            _ => Err(AccessFault),
        }
    }

    fn csr_read(&mut self, _: u16, _: u64) -> Result<u32, IllegalCsr> {
        Ok(self.pins)
    }

    fn csr_write(&mut self, _: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        (self.pins, self.last_toggle) = (value, cycle);
        Ok(())
    }

    fn watched_store(&mut self, _: u32, _: Width, _: u32, _: u64) {}

    fn rom_call(&mut self, _: u32, _: &mut [u32; 32], _: &mut Memory, _: u64) -> RomCall {
        RomCall::Unknown
    }

    fn deadline(&self) -> u64 {
        if self.off { 0 } else { u64::MAX }
    }

    fn interrupt(&self) -> Option<u8> {
        None
    }
}

/// The same behind the caches, buses and DDR of a soft SoC.
struct Timed {
    virt: Virt,
    ports: HartPorts,
    fabric: Fabric,
    period: u64,
}

impl Timed {
    fn stall(
        &mut self,
        cycle: u64,
        access: impl FnOnce(&mut HartPorts, u64, &mut Fabric) -> u64,
    ) -> u32 {
        let at = cycle * self.period;
        let ready = access(&mut self.ports, at, &mut self.fabric);
        ((ready - at) as u32).div_ceil(self.period as u32)
    }
}

impl Platform for Timed {
    const TIMES_MEMORY: bool = true;

    fn hits_fetch(&self, line: u32) -> bool {
        self.ports.hits_fetch(line)
    }

    fn hits_load(&self, addr: u32) -> bool {
        self.ports.hits_load(addr)
    }

    fn hits_store(&self, addr: u32) -> bool {
        self.ports.hits_store(addr)
    }

    fn fetch_stall(&mut self, line: u32, _: &mut Memory, cycle: u64) -> u32 {
        self.stall(cycle, |ports, at, bus| ports.fetch(line, at, bus))
    }

    fn load_stall(&mut self, addr: u32, width: Width, _: &mut Memory, cycle: u64) -> u32 {
        self.stall(cycle, |ports, at, bus| {
            ports.load(addr, width.bytes(), at, bus)
        })
    }

    fn store_stall(&mut self, addr: u32, width: Width, _: &mut Memory, cycle: u64) -> u32 {
        self.stall(cycle, |ports, at, bus| {
            ports.store(addr, width.bytes(), at, bus)
        })
    }

    fn load(&mut self, addr: u32, width: Width, cycle: u64) -> Result<u32, AccessFault> {
        self.virt.load(addr, width, cycle)
    }

    fn store(&mut self, addr: u32, width: Width, value: u32, at: u64) -> Result<(), AccessFault> {
        self.virt.store(addr, width, value, at)
    }

    fn csr_read(&mut self, csr: u16, cycle: u64) -> Result<u32, IllegalCsr> {
        self.virt.csr_read(csr, cycle)
    }

    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        self.virt.csr_write(csr, value, cycle)
    }

    fn watched_store(&mut self, _: u32, _: Width, _: u32, _: u64) {}

    fn rom_call(&mut self, _: u32, _: &mut [u32; 32], _: &mut Memory, _: u64) -> RomCall {
        RomCall::Unknown
    }

    fn deadline(&self) -> u64 {
        self.virt.deadline()
    }

    fn interrupt(&self) -> Option<u8> {
        None
    }
}

/// The soft SoC, with its DDR where the image is.
fn soft_soc() -> file::Description {
    let text = include_str!("../../boards/rv32-soft-soc/system.toml");
    let text = text.replacen("base = { value = 0, ", "base = { value = 0x8000_0000, ", 1);
    file::parse(&text, "system.toml").expect("a board file")
}

/// As [`run`], on a soft SoC.
fn run_timed(image: &[u8]) -> (f64, u64, u64) {
    let board = soft_soc();
    let config = board.config;
    let ports = HartPorts::new(config.ports.clone());
    let regions = [RegionConfig::timed(CODE, 0x20_0000)];
    let mut memory = Memory::timed(&regions, &[], ports.fetch_line_bytes());
    memory.write(CODE, image).expect("it fits");
    let mut hart = Hart::new(HartConfig::new(CODE, config.pipeline));
    let mut timed = Timed {
        virt: Virt::default(),
        fabric: Fabric::new(&config.topology).expect("checked"),
        period: config.ports.period,
        ports,
    };
    let start = Stopwatch::start();
    let stop = hart.run(&mut memory, &mut timed);
    let seconds = start.seconds();
    assert_eq!(stop, Stop::Deadline);
    (seconds, hart.instret(), hart.cycle())
}

const UART: u32 = 0x1000_0000;
const POWER: u32 = 0x0010_0000;
const CODE: u32 = 0x8000_0000;
const DATA: u32 = 0x8010_0000;

/// A kernel of the image: its bit, and rounds for about a tenth of a second.
struct Kernel {
    name: &'static str,
    bits: u32,
    rounds: u32,
}

const KERNELS: [Kernel; 7] = [
    Kernel {
        name: "CRC-32, 1 KiB of tables",
        bits: 1,
        rounds: 1000,
    },
    Kernel {
        name: "CRC-32, 8 KiB of tables",
        bits: 3,
        rounds: 800,
    },
    Kernel {
        name: "memcpy",
        bits: 4,
        rounds: 2000,
    },
    Kernel {
        name: "checksum",
        bits: 8,
        rounds: 5000,
    },
    Kernel {
        name: "CRC-32, bitwise",
        bits: 16,
        rounds: 4000,
    },
    Kernel {
        name: "protocol-like (branches, calls)",
        bits: 32,
        rounds: 120,
    },
    Kernel {
        name: "all",
        bits: 0x3f,
        rounds: 100,
    },
];

/// The pipeline figures of the ESP32-C6.
fn esp32c6() -> Timing {
    let text = include_str!("../src/chip/esp32c6/timing.toml");
    let table: toml::Table = text.parse().expect("a timing table");
    let mut timing = Timing::ideal();
    for name in Timing::NAMES {
        let value = table["cpu"][name]["value"].as_integer().expect("a number");
        *timing.entry(name).expect("listed") = u32::try_from(value).expect("small");
    }
    timing
}

/// Seconds, instructions and cycles until the image switches the machine off.
fn run(image: &[u8], in_flash: bool) -> (f64, u64, u64) {
    let code = if in_flash {
        RegionConfig::flash
    } else {
        RegionConfig::ram
    };
    let regions = [RegionConfig::ram(DATA, 0x10_0000), code(CODE, 0x10_0000)];
    // The main RAM is the first region.
    let all = [RegionConfig::ram(CODE, 0x20_0000)];
    let regions = if in_flash { &regions[..] } else { &all[..] };
    let mut memory = Memory::new(
        regions,
        CacheConfig {
            miss_cycles: 160,
            ..CacheConfig::default()
        },
    );
    memory.write(CODE, image).expect("it fits");
    let mut hart = Hart::new(HartConfig::new(CODE, esp32c6()));
    let mut virt = Virt::default();
    let start = Stopwatch::start();
    let stop = hart.run(&mut memory, &mut virt);
    let seconds = start.seconds();
    assert_eq!(stop, Stop::Deadline);
    (seconds, hart.instret(), hart.cycle())
}

/// The image with its kernels and rounds patched.
fn patched(image: &[u8], bits: u32, rounds: u32) -> Vec<u8> {
    let mut image = image.to_vec();
    image[4..8].copy_from_slice(&bits.to_le_bytes());
    image[8..12].copy_from_slice(&rounds.to_le_bytes());
    image
}

/// Sets and clears a pin 16 times in a loop, as a transmitter does.
fn toggling() -> Vec<u8> {
    let csr = |funct3: u32| 0x805 << 20 | 1 << 15 | funct3 << 12 | 0x73;
    // lui x10, rounds
    let mut words = vec![0x200 << 12 | 10 << 7 | 0x37_u32];
    for i in 0..32 {
        words.push(csr(6 + i % 2));
    }
    // addi x10, x10, -1; bne x10, x0, -132
    words.push(0xfff << 20 | 10 << 15 | 10 << 7 | 0x13);
    let offset = -132_i32 as u32;
    words.push(
        (offset >> 12 & 1) << 31
            | (offset >> 5 & 63) << 25
            | 10 << 15
            | 1 << 12
            | (offset >> 1 & 15) << 8
            | (offset >> 11 & 1) << 7
            | 0x63,
    );
    // lui x11, POWER; sw x0, 0(x11)
    words.extend([POWER | 11 << 7 | 0x37, 11 << 15 | 2 << 12 | 0x23]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The fastest of a few runs.
fn best(image: &[u8], in_flash: bool) -> String {
    best_of(|| run(image, in_flash))
}

fn best_of(run: impl Fn() -> (f64, u64, u64)) -> String {
    let runs = (0..5).map(|_| run());
    let (seconds, instret, cycles) = runs
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("there are some");
    let (mips, cpi) = (
        instret as f64 / seconds / 1e6,
        cycles as f64 / instret as f64,
    );
    format!("{mips:5.0} MIPS {cpi:.2} cycles/instruction")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let image = std::fs::read(args.first().expect("an image")).expect("an image");
    if let [_, kernel, place] = &args[..] {
        // One run, for a profiler.
        if kernel == "toggling" {
            println!("toggling: {} instructions", run(&toggling(), false).1);
            return;
        }
        let kernel = &KERNELS[kernel.parse::<usize>().expect("a number")];
        let (_, instret, _) = run(
            &patched(&image, kernel.bits, kernel.rounds),
            place == "flash",
        );
        println!("{}: {instret} instructions", kernel.name);
        return;
    }
    for Kernel { name, bits, rounds } in KERNELS {
        let image = patched(&image, bits, rounds);
        println!(
            "{name:32}  RAM {}  flash {}",
            best(&image, false),
            best(&image, true)
        );
    }
    for Kernel { name, bits, rounds } in KERNELS {
        let image = patched(&image, bits, rounds / 4);
        let speed = best_of(|| run_timed(&image));
        println!("soft SoC: {name:32}  caches and DDR {speed}");
    }
    println!(
        "{:32}  RAM {}",
        "GPIO toggling by CSR",
        best(&toggling(), false)
    );
}
