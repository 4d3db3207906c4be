//! A test bench for a hart: RAM and flash, and a chip that records every access with its cycle.

use std::collections::BTreeMap;

use linerate_sim::mem::{CacheConfig, Memory, RegionConfig};
use linerate_sim::rv32::{
    AccessFault, Hart, HartConfig, IllegalCsr, Platform, RomCall, Stop, Timing, Width,
};

pub const RAM: u32 = 0x8000_0000;
pub const RAM_SIZE: u32 = 0x20_0000;
pub const FLASH: u32 = 0x4200_0000;
pub const FLASH_SIZE: u32 = 0x1_0000;
pub const ROM: u32 = 0x4000_0000;
/// Registers of the chip: plain storage.
pub const MMIO: u32 = 0x6000_0000;
const MMIO_END: u32 = MMIO + 0x1000;
/// A CSR of the chip: plain storage.
pub const PINS: u32 = 0x805;
/// QEMU's `virt`: a byte stored here is output, a word stored there ends the run.
pub const UART: u32 = 0x1000_0000;
pub const POWER: u32 = 0x0010_0000;

/// An access of the hart to the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Load(u32, u64),
    Store(u32, u32, u64),
    ReadCsr(u16, u64),
    WriteCsr(u16, u32, u64),
    Watched(u32, u32, u64),
    Rom(u32, u64),
}

/// The chip.
#[derive(Default)]
pub struct Chip {
    pub events: Vec<Event>,
    pub output: Vec<u8>,
    pub off: bool,
    pub limit: u64,
    /// Interrupt lines by the cycle at which they are raised; a store to [`MMIO`] lowers the first.
    pub raise: Vec<(u64, u8)>,
    pub now: u64,
    registers: BTreeMap<u32, u32>,
    pins: u32,
}

impl Chip {
    fn at(&mut self, event: Event, cycle: u64) {
        self.now = self.now.max(cycle);
        self.events.push(event);
    }
}

impl Platform for Chip {
    fn load(&mut self, addr: u32, _: Width, cycle: u64) -> Result<u32, AccessFault> {
        self.at(Event::Load(addr, cycle), cycle);
        if !(MMIO..MMIO_END).contains(&addr) {
            return Err(AccessFault);
        }
        Ok(self.registers.get(&addr).copied().unwrap_or(0))
    }

    fn store(&mut self, addr: u32, _: Width, value: u32, cycle: u64) -> Result<(), AccessFault> {
        match addr {
            UART => self.output.push(value as u8),
            POWER => self.off = true,
            MMIO..MMIO_END => {
                self.at(Event::Store(addr, value, cycle), cycle);
                self.registers.insert(addr, value);
                if addr == MMIO && !self.raise.is_empty() {
                    self.raise.remove(0);
                }
            }
            _ => return Err(AccessFault),
        }
        Ok(())
    }

    fn csr_read(&mut self, csr: u16, cycle: u64) -> Result<u32, IllegalCsr> {
        self.at(Event::ReadCsr(csr, cycle), cycle);
        if u32::from(csr) == PINS {
            Ok(self.pins)
        } else {
            Err(IllegalCsr)
        }
    }

    fn csr_write(&mut self, csr: u16, value: u32, cycle: u64) -> Result<(), IllegalCsr> {
        self.at(Event::WriteCsr(csr, value, cycle), cycle);
        self.pins = value;
        if u32::from(csr) == PINS {
            Ok(())
        } else {
            Err(IllegalCsr)
        }
    }

    fn watched_store(&mut self, addr: u32, _: Width, value: u32, cycle: u64) {
        self.at(Event::Watched(addr, value, cycle), cycle);
    }

    fn rom_call(&mut self, pc: u32, x: &mut [u32; 32], _: &mut Memory, cycle: u64) -> RomCall {
        self.at(Event::Rom(pc, cycle), cycle);
        match pc - ROM {
            0 => {
                x[10] += 1;
                RomCall::Done { cycles: 7 }
            }
            // Waits until cycle a0.
            4 if cycle < u64::from(x[10]) => RomCall::Wait {
                until_cycle: u64::from(x[10]),
            },
            4 => RomCall::Done { cycles: 0 },
            _ => RomCall::Unknown,
        }
    }

    fn deadline(&self) -> u64 {
        if self.off {
            return 0;
        }
        let event = self.raise.first().filter(|(at, _)| *at > self.now);
        event.map_or(self.limit, |(at, _)| self.limit.min(*at))
    }

    fn interrupt(&self) -> Option<u8> {
        self.raise
            .first()
            .filter(|(at, _)| *at <= self.now)
            .map(|(_, line)| *line)
    }
}

/// A hart with memory and chip.
pub struct Bench {
    pub hart: Hart,
    pub memory: Memory,
    pub chip: Chip,
}

/// The timing table of the ESP32-C6.
pub fn esp32c6() -> Timing {
    let text = include_str!("../../src/chip/esp32c6/timing.toml");
    let table: toml::Table = text.parse().unwrap();
    let mut timing = Timing::ideal();
    for name in Timing::NAMES {
        let value = table["cpu"][name]["value"].as_integer().unwrap();
        *timing.entry(name).unwrap() = u32::try_from(value).unwrap();
    }
    timing
}

impl Bench {
    /// A bench with `image` at `at`, and the hart starting there.
    pub fn new(image: &[u8], at: u32, timing: Timing) -> Self {
        let regions = [
            RegionConfig::ram(RAM, RAM_SIZE),
            RegionConfig::flash(FLASH, FLASH_SIZE),
        ];
        let cache = CacheConfig {
            size: 1024,
            ways: 2,
            line: 32,
            miss_cycles: 20,
        };
        let mut memory = Memory::new(&regions, cache);
        memory.write(at, image).unwrap();
        let config = HartConfig {
            rom: ROM..ROM + 0x100,
            ..HartConfig::new(at, timing)
        };
        let chip = Chip {
            limit: u64::MAX,
            ..Chip::default()
        };
        Self {
            hart: Hart::new(config),
            memory,
            chip,
        }
    }

    /// Runs like a chip: takes control back at each deadline and advances the time.
    pub fn run_until(&mut self, cycle: u64) -> Stop {
        loop {
            self.chip.limit = cycle;
            let stop = self.hart.run(&mut self.memory, &mut self.chip);
            self.chip.now = self.chip.now.max(self.hart.cycle());
            if stop == Stop::Deadline && self.hart.cycle() < cycle && !self.chip.off {
                continue;
            }
            return stop;
        }
    }

    /// Runs until the hart stops.
    pub fn run_to_end(&mut self) -> Stop {
        self.run_until(u64::MAX)
    }

    /// All state visible to a program.
    pub fn state(&self) -> (u32, [u32; 32], u64, u64, Vec<Event>, Vec<u8>) {
        (
            self.hart.pc(),
            *self.hart.regs(),
            self.hart.cycle(),
            self.hart.instret(),
            self.chip.events.clone(),
            self.memory.slice(RAM, RAM_SIZE as usize).unwrap().to_vec(),
        )
    }
}
