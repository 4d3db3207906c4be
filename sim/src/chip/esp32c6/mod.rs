//! The ESP32-C6: one RV32IMAC hart of up to 160 MHz, 512 KiB of RAM, flash behind a cache, and the
//! peripherals that esp-hal and its users touch.
//!
//! It starts in the state that the boot loaders leave: segments at their addresses, PLL running,
//! CPU at 80 MHz, watchdogs off, `mstatus.MIE` set. ESP32-C6 Technical Reference Manual, chapters
//! "System and Memory" (map) and "Reset and Clock".

mod bus;
mod clock;
mod console;
mod digest;
mod fault;
mod line;
mod report;
mod rom;
mod soc;
mod storage;
mod wiring;

use core::ops::Range;

use super::{TimingError, TimingTable};
pub use crate::device::usb_host::UsbHost;
pub use crate::device::{SpiHost, SpiLine};
use crate::elf::{Elf, ElfError};
use crate::mem::{Cache, CacheConfig, Memory, RegionConfig};
use crate::pads::Pads;
use crate::profile::{Activity, Profile, Profiler};
use crate::rv32::{self, Hart, HartConfig};
use crate::time::Instant;
use bus::Bus;
pub use console::{ConsoleByte, Port};
pub use fault::{FaultReport, Frame};
pub use report::{Report, ReportKind};
use soc::Soc;

/// High-performance RAM.
pub const RAM: Range<u32> = 0x4080_0000..0x4088_0000;
/// Window that the flash is mapped into.
pub const FLASH: Range<u32> = 0x4200_0000..0x4300_0000;
/// Low-power RAM; it keeps its contents through resets.
const LP_RAM: Range<u32> = 0x5000_0000..0x5000_4000;
/// ROM: fetches from here are calls of ROM functions.
pub const ROM: Range<u32> = 0x4000_0000..0x4005_0000;

/// The required timing entries of section `chip`.
const TIMING_NAMES: [&str; 13] = [
    "dedicated_input_cycles",
    "gpio_interrupt_ns",
    "flash_cache_bytes",
    "flash_cache_ways",
    "flash_cache_line_bytes",
    "flash_miss_ns",
    "usb_serial_packet_ns",
    "slow_clock_hertz",
    "rom_call_cycles",
    "rom_byte_millicycles",
    "rom_divide_cycles",
    "rom_float_cycles",
    "rom_checksum_byte_cycles",
];

/// Those of them that must be powers of two.
pub const POWERS_OF_TWO: [&str; 3] = [
    "flash_cache_bytes",
    "flash_cache_ways",
    "flash_cache_line_bytes",
];

/// The text of the built-in timing table.
pub const TIMING_TABLE: &str = include_str!("timing.toml");

/// The built-in timing table.
///
/// # Panics
/// Never: a test reads the table.
pub fn timing_table() -> TimingTable {
    parse_timing_table(TIMING_TABLE).expect("the built-in table is complete")
}

/// Reads another timing table for this chip.
///
/// # Errors
/// [`TimingError`] names the entry that is wrong.
pub fn parse_timing_table(text: &str) -> Result<TimingTable, TimingError> {
    let table = TimingTable::parse(text, &TIMING_NAMES)?;
    check_timing_table(&table)?;
    Ok(table)
}

/// Checks that `table` describes a possible chip.
///
/// # Errors
/// [`TimingError::OutOfRange`] names the entry that is wrong.
pub fn check_timing_table(table: &TimingTable) -> Result<(), TimingError> {
    for name in POWERS_OF_TWO {
        let value = table.chip(name);
        if !value.is_power_of_two() || name.ends_with("line_bytes") && value < 4 {
            return Err(TimingError::OutOfRange {
                name: format!("chip.{name}"),
                value,
            });
        }
    }
    let lines = table.chip("flash_cache_bytes") / table.chip("flash_cache_line_bytes");
    for (name, min) in [("flash_cache_bytes", lines), ("slow_clock_hertz", 1)] {
        let value = table.chip(name);
        if value < min || name == "flash_cache_bytes" && lines < table.chip("flash_cache_ways") {
            return Err(TimingError::OutOfRange {
                name: format!("chip.{name}"),
                value,
            });
        }
    }
    Ok(())
}

/// Configuration of one chip.
#[derive(Clone, Debug)]
pub struct Config {
    /// Seed of the random number generator.
    pub seed: u64,
    /// Base MAC address in the fuses.
    pub mac: [u8; 6],
    /// Latencies.
    pub timing: TimingTable,
}

impl Default for Config {
    /// Seed 0, a locally administered address, the built-in timing table.
    fn default() -> Self {
        Self {
            seed: 0,
            mac: [2, 0, 0, 0, 0, 2],
            timing: timing_table(),
        }
    }
}

/// Cause of a chip reset, with the codes of `rtc_get_reset_reason` (Technical Reference Manual,
/// "Reset and Clock", table of reset sources).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ResetCause {
    /// Power-on.
    PowerOn = 0x01,
    /// The program requested a system reset.
    Software = 0x03,
    /// Watchdog of timer group 0, digital system.
    TimerGroup0 = 0x07,
    /// Watchdog of timer group 1, digital system.
    TimerGroup1 = 0x08,
    /// RTC watchdog, digital system.
    RtcWatchdogCore = 0x09,
    /// Watchdog of timer group 0, CPU only.
    TimerGroup0Cpu = 0x0b,
    /// The program requested a CPU reset.
    SoftwareCpu = 0x0c,
    /// RTC watchdog, CPU only.
    RtcWatchdogCpu = 0x0d,
    /// RTC watchdog, everything.
    RtcWatchdogSystem = 0x10,
    /// Watchdog of timer group 1, CPU only.
    TimerGroup1Cpu = 0x11,
}

impl ResetCause {
    /// The code that the ROM returns.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// A store of the program into a watched range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// Time of the store.
    pub at: Instant,
    /// Address.
    pub addr: u32,
    /// Value, limited to the width of the store.
    pub value: u32,
}

/// Reason that [`Esp32c6::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The requested time or the pads' deadline is reached.
    Deadline,
    /// An exception that the program cannot handle.
    Fault(Box<FaultReport>),
    /// A watchdog or the program reset the chip: [`Esp32c6::reset`] starts it again.
    Reset(ResetCause),
    /// The program waits for an interrupt, and nothing is scheduled that could raise one.
    Asleep,
}

/// Statistics since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions retired.
    pub instructions: u64,
    /// CPU cycles, including idle ones.
    pub cycles: u64,
    /// CPU cycles spent waiting for interrupts.
    pub idle_cycles: u64,
    /// Cache lines fetched from flash.
    pub flash_misses: u64,
}

/// A chip with a program in it.
#[derive(Debug)]
pub struct Esp32c6 {
    config: Config,
    elf: Elf,
    hart: Hart,
    memory: Memory,
    soc: Soc,
    idle_cycles: u64,
    /// Present while the hart is profiled.
    profiler: Option<Box<Profiler>>,
    /// Statistics of the harts and caches before the last reset or clock change.
    before_reset: Stats,
}

fn hart(config: &Config, elf: &Elf) -> Hart {
    Hart::new(HartConfig {
        interrupts_enabled: true,
        rom: ROM,
        ..HartConfig::new(elf.entry(), config.timing.cpu())
    })
}

impl Esp32c6 {
    /// A chip that comes out of its boot loader with `elf` loaded.
    ///
    /// # Errors
    /// [`ElfError::OutsideMemory`] if a segment is outside of the chip's memory.
    pub fn new(config: Config, elf: &Elf) -> Result<Self, ElfError> {
        let soc = Soc::new(&config);
        let region = |range: Range<u32>| (range.start, range.end - range.start);
        let ((ram, ram_size), (lp, lp_size)) = (region(RAM), region(LP_RAM));
        let (flash, flash_size) = region(FLASH);
        let regions = [
            RegionConfig::ram(ram, ram_size),
            RegionConfig::flash(flash, flash_size),
            RegionConfig::ram(lp, lp_size),
        ];
        let mut memory = Memory::new(&regions, cache_config(&config, &soc));
        elf.load(&mut memory)?;
        let mut chip = Self {
            hart: hart(&config, elf),
            config,
            elf: elf.clone(),
            memory,
            soc,
            idle_cycles: 0,
            profiler: None,
            before_reset: Stats::default(),
        };
        chip.soc.clock_changed = false;
        Ok(chip)
    }

    /// Runs the program until `until`, or until the pads' deadline if that is earlier; at most one
    /// instruction (or one call of a short ROM function) past it.
    pub fn run<P: Pads>(&mut self, until: Instant, pads: &mut P) -> Stop {
        let now = self.now();
        self.soc.refresh_pads(now, pads);
        loop {
            let now = self.now();
            self.soc.advance(now);
            self.soc.transfer(now, &mut self.memory, pads);
            self.soc.move_uart_octets(now, &mut self.memory);
            if let Some(stop) = self.handle_soc_requests(now) {
                return stop;
            }
            if now >= until.min(pads.deadline()) {
                return Stop::Deadline;
            }
            self.soc.set_limit(until, pads);
            let mut bus = Bus {
                soc: &mut self.soc,
                pads,
            };
            let stop = match &mut self.profiler {
                None => self.hart.run(&mut self.memory, &mut bus),
                Some(profiler) => profiler.run(&mut self.hart, &mut self.memory, &mut bus),
            };
            match stop {
                rv32::Stop::Deadline => {}
                rv32::Stop::Wfi => {
                    if self.soc.reset.is_some() {
                        continue;
                    }
                    let wake = until.min(pads.deadline()).min(self.soc.next_event());
                    if wake == Instant::NEVER {
                        return Stop::Asleep;
                    }
                    let cycle = self.soc.clock.cycle_at(wake).max(self.hart.cycle());
                    self.idle_cycles += cycle - self.hart.cycle();
                    self.hart.advance_to(cycle);
                }
                rv32::Stop::Fault(fault) => return Stop::Fault(Box::new(self.fault_report(fault))),
            }
        }
    }

    /// Handles the event that made the hart stop early.
    fn handle_soc_requests(&mut self, now: Instant) -> Option<Stop> {
        if self.soc.clock_changed {
            self.soc.clock_changed = false;
            if let Some(profiler) = &mut self.profiler {
                profiler.clear(self.hart.cycle());
            }
            self.before_reset.flash_misses += self.memory.cache().misses();
            *self.memory.cache_mut() = Cache::new(cache_config(&self.config, &self.soc));
        }
        if self.soc.is_polling && self.soc.sample_poll(self.hart.pc()) {
            let function = self.function_at(self.hart.pc());
            self.soc.report_poll(function, now);
        }
        self.soc.reset.map(Stop::Reset)
    }

    /// Restarts the program as after a reset by `cause`: time, consoles, reports and statistics
    /// continue, low-power RAM keeps its contents unless a segment overwrites it.
    pub fn reset(&mut self, cause: ResetCause) {
        let stats = self.stats();
        let mut soc = Soc::new(&self.config);
        soc.resume_from(&mut self.soc, self.hart.cycle(), cause);
        let cycle = self.hart.cycle();
        self.soc = soc;
        self.hart = hart(&self.config, &self.elf);
        self.hart.advance_to(cycle);
        if let Some(profiler) = &mut self.profiler {
            profiler.restart(self.elf.entry(), cycle);
        }
        *self.memory.cache_mut() = Cache::new(cache_config(&self.config, &self.soc));
        self.soc.clock_changed = false;
        self.before_reset = Stats {
            instructions: stats.instructions,
            flash_misses: stats.flash_misses,
            ..self.before_reset
        };
        // The segments were loaded before, so they fit.
        let _ = self.elf.load(&mut self.memory);
    }

    /// Start time of the next instruction.
    pub fn now(&self) -> Instant {
        self.soc.clock.instant(self.hart.cycle())
    }

    /// Frequency of the CPU in hertz.
    pub fn cpu_hertz(&self) -> u64 {
        self.soc.clock.hertz()
    }

    /// Console bytes printed since the last call.
    pub fn console(&mut self) -> Vec<ConsoleByte> {
        self.soc.console.drain()
    }

    /// The far end of a console sends `bytes` from now on.
    pub fn console_input(&mut self, port: Port, bytes: &[u8]) {
        let now = self.now();
        self.soc.console_input(port, bytes, now);
    }

    /// Address and size of a function or variable of the program.
    pub fn symbol(&self, name: &str) -> Option<(u32, u32)> {
        self.elf
            .symbol(name)
            .map(|symbol| (symbol.addr, symbol.size))
    }

    /// The memories, for inspection without taking time.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The hart, for inspection.
    pub fn hart(&self) -> &Hart {
        &self.hart
    }

    /// Records every store of the program into `range` from now on.
    pub fn watch(&mut self, range: Range<u32>) {
        self.memory.watch(range);
    }

    /// The stores into watched ranges since the last call, by time.
    pub fn watch_events(&mut self) -> Vec<WatchEvent> {
        std::mem::take(&mut self.soc.watch_events)
    }

    /// Accesses of the program to unmodelled addresses and functions, by the time of the first
    /// access.
    pub fn reports(&self) -> &[Report] {
        &self.soc.reports
    }

    /// Names of the registers without behaviour that the program used, in the order of the first access. Each holds
    /// what was written to it.
    pub fn plain_registers(&self) -> Vec<String> {
        let plain = self
            .soc
            .reports
            .iter()
            .filter(|report| matches!(report.kind, ReportKind::Stored { .. }))
            .filter_map(|report| report::register_name(report.addr));
        plain.collect()
    }

    /// Statistics since power-on.
    pub fn stats(&self) -> Stats {
        Stats {
            instructions: self.before_reset.instructions + self.hart.instret(),
            cycles: self.hart.cycle(),
            idle_cycles: self.idle_cycles,
            flash_misses: self.before_reset.flash_misses + self.memory.cache().misses(),
        }
    }

    /// Counts cycles by function from now on; the simulation then runs several times slower, with
    /// the same result. A change of the CPU's clock restarts the count.
    pub fn start_profile(&mut self) {
        let cycle = self.hart.cycle();
        let rom = &self.soc.rom;
        let (elf, pc) = (&self.elf, self.hart.pc());
        let profiler = self
            .profiler
            .get_or_insert_with(|| Box::new(Profiler::new(elf, pc, ROM, |addr| rom.name(addr))));
        profiler.clear(cycle);
    }

    /// Cycles by function, if they are counted.
    pub fn profile(&mut self) -> Option<Profile> {
        let cycle = self.hart.cycle();
        let profiler = self.profiler.as_mut()?;
        Some(profiler.profile(cycle))
    }

    /// Activities of the hart since the last call, if cycles are counted.
    pub fn activities(&mut self) -> Vec<Activity> {
        let (clock, cycle) = (&self.soc.clock, self.hart.cycle());
        self.profiler.as_mut().map_or_else(Vec::new, |profiler| {
            profiler.activities(cycle, |cycle| clock.instant(cycle))
        })
    }

    /// The timing table in use.
    pub fn timing(&self) -> &TimingTable {
        &self.config.timing
    }

    /// A hash of the chip's state and of everything that it printed: equal runs have equal ones.
    pub fn digest(&self) -> u64 {
        let mut hash = digest::add(self.soc.console.hash(), self.hart.cycle());
        hash = digest::add(hash, self.stats().instructions);
        hash = digest::add(hash, u64::from(self.hart.pc()));
        for &register in self.hart.regs() {
            hash = digest::add(hash, u64::from(register));
        }
        for range in [RAM, LP_RAM] {
            let len = (range.end - range.start) as usize;
            if let Some(bytes) = self.memory.slice(range.start, len) {
                hash = digest::add_bytes(hash, bytes);
            }
        }
        hash
    }
}

fn cache_config(config: &Config, soc: &Soc) -> CacheConfig {
    let timing = &config.timing;
    CacheConfig {
        size: timing.chip("flash_cache_bytes") as u32,
        ways: timing.chip("flash_cache_ways") as u32,
        line: timing.chip("flash_cache_line_bytes") as u32,
        miss_cycles: soc.clock.cycles_of_ns(timing.chip("flash_miss_ns")) as u32,
    }
}
