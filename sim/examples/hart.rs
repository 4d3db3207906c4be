//! How fast the hart is: simulated MIPS on an image of the kernels in `tests/kernels`.
//!
//! `cargo run --release -p linerate-sim --example hart -- IMAGE [ROUNDS]`

use linerate_sim::mem::{CacheConfig, Memory, RegionConfig};
use linerate_sim::rv32::{
    AccessFault, Hart, HartConfig, IllegalCsr, Platform, RomCall, Stop, Timing, Width,
};

/// QEMU's `virt` as far as the kernels need it, and the dedicated GPIO of the ESP32-C6.
#[derive(Default)]
struct Virt {
    output: Vec<u8>,
    off: bool,
    toggles: u64,
}

impl Platform for Virt {
    fn load(&mut self, _: u32, _: Width, _: u64) -> Result<u32, AccessFault> {
        Err(AccessFault)
    }
    fn store(&mut self, addr: u32, _: Width, value: u32, _: u64) -> Result<(), AccessFault> {
        match addr {
            0x1000_0000 => self.output.push(value as u8),
            0x0010_0000 => self.off = true,
            _ => return Err(AccessFault),
        }
        Ok(())
    }
    fn csr_read(&mut self, csr: u16, _: u64) -> Result<u32, IllegalCsr> {
        if csr == 0x805 { Ok(0) } else { Err(IllegalCsr) }
    }
    fn csr_write(&mut self, csr: u16, _: u32, cycle: u64) -> Result<(), IllegalCsr> {
        self.toggles ^= cycle;
        if csr == 0x805 { Ok(()) } else { Err(IllegalCsr) }
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

const CODE: u32 = 0x8000_0000;
const DATA: u32 = 0x8010_0000;

/// CPU time of this process: on a busy machine it says more than the wall clock.
fn cpu_seconds() -> f64 {
    let nanoseconds = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    nanoseconds.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn run(image: &[u8], kernels: u32, rounds: u32, flash: bool) -> (f64, u64, u64, Vec<u8>) {
    let code = if flash { RegionConfig::flash } else { RegionConfig::ram };
    let regions = [RegionConfig::ram(DATA, 0x10_0000), code(CODE, 0x10_0000)];
    let mut memory =
        Memory::new(&regions, CacheConfig { miss_cycles: 160, ..CacheConfig::default() });
    memory.write(CODE, image).unwrap();
    memory.write_u32(CODE + 4, kernels).unwrap();
    memory.write_u32(CODE + 8, rounds).unwrap();
    let mut timing = Timing::ideal();
    for (name, value) in [
        ("load_use", 1),
        ("mispredicted", 3),
        ("jump_miss", 2),
        ("jump_to_jump", 1),
        ("branch_behind_branch", 1),
        ("straddled_after_branch", 1),
        ("straddled_after_jump", 1),
        ("target_buffer_entries", 16),
        ("indirect_jump", 3),
        ("div", 34),
    ] {
        *timing.entry(name).unwrap() = value;
    }
    let mut hart = Hart::new(HartConfig::new(CODE, timing));
    let mut virt = Virt::default();
    let start = cpu_seconds();
    let stop = hart.run(&mut memory, &mut virt);
    let seconds = cpu_seconds() - start;
    assert_eq!(stop, Stop::Deadline, "{:?}", virt.output);
    (seconds, hart.instret(), hart.cycle(), virt.output)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let image = std::fs::read(args.next().expect("an image")).unwrap();
    let scale: u32 = args.next().map_or(1, |n| n.parse().unwrap());
    let only: Option<u32> = args.next().map(|n| n.parse().unwrap());
    let flash: Option<bool> = args.next().map(|n| n == "flash");
    for (name, kernels, rounds) in [
        ("fill + crc, 1 KiB table", 1, 3000),
        ("crc, 8 KiB table", 3, 2000),
        ("memcpy", 4, 5000),
        ("checksum", 8, 10000),
        ("crc, bitwise", 16, 10000),
        ("branchy", 32, 400),
        ("all", 0x3f, 300),
    ] {
        if only.is_some_and(|only| only != kernels) {
            continue;
        }
        let rounds = rounds * scale / 10;
        print!("{name:24}");
        for is_flash in [false, true] {
            if flash.is_some_and(|f| f != is_flash) {
                continue;
            }
            let runs = if only.is_some() { 1 } else { 5 };
            let mut best = f64::INFINITY;
            let (mut instret, mut cycles) = (0, 0);
            for _ in 0..runs {
                let seconds;
                (seconds, instret, cycles, _) = run(&image, kernels, rounds, is_flash);
                best = best.min(seconds);
            }
            let mips = instret as f64 / best / 1e6;
            let cpi = cycles as f64 / instret as f64;
            print!("  {} {mips:5.0} MIPS {cpi:.2} cycles/instruction", ["RAM", "flash"][usize::from(is_flash)]);
            if only.is_some() {
                print!(" {instret} instructions");
            }
        }
        println!();
    }
}
