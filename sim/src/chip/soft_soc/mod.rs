//! A soft SoC that is described by values: an RV32 hart with caches, buses, memories and devices,
//! as in an FPGA.
//!
//! It starts where the ELF begins, with interrupts off and caches empty. All interrupts of devices
//! arrive through the interrupt controller as machine external interrupt (line 11).
//!
//! # Time
//! The hart runs ahead to the next event of a device or bus master. An access to memory or to a
//! device goes through [`HartPorts`] and the [`Fabric`]; before each request
//! of the hart, other masters perform theirs up to that time (`soc.rs`).

mod bus;
pub mod file;

mod models;
mod soc;

use crate::device::{Device, LineFrame, LinkMode, Partner};
use crate::elf::{Elf, ElfError};
use crate::mem::{Memory, RegionConfig, Unmapped, Window};
use crate::memsys::{
    DramStatistics, Fabric, HartPorts, MasterStatistics, PortConfig, PortStatistics, Topology,
    TopologyError,
};
use crate::rv32::{self, Fault, Hart, HartConfig, Timing};
use crate::time::{Instant, Span};
use bus::Bus;
pub use models::{Model, Parameter, Streams, models};
use soc::Soc;

/// A range of memory that programs are loaded into; its time is that of the target at its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Name.
    pub name: String,
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceConfig {
    /// Name.
    pub name: String,
    /// Name of its model: see [`models`].
    pub model: String,
    /// First address; the model has the size.
    pub base: u32,
    /// Line of the interrupt controller for its output 0.
    pub interrupt: Option<u8>,
    /// Frequency of its clock in hertz.
    pub hertz: u64,
    /// The master of each of its ports: numbers in [`Topology::masters`].
    pub masters: Vec<usize>,
    /// The device that its stream output leads to: a number in [`Config::devices`].
    pub stream_to: Option<usize>,
    /// The values of [`Model::parameters`].
    pub parameters: Vec<u64>,
}

/// Description of a soft SoC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name.
    pub name: String,
    /// Costs in the hart's pipeline.
    pub pipeline: Timing,
    /// Time from the interrupt that ends a `wfi` to the next instruction.
    pub wfi_exit: Span,
    /// Lines of the interrupt controller, a bit each, that do not end a `wfi`.
    pub wfi_ignores: u32,
    /// The hart's caches and ports.
    pub ports: PortConfig,
    /// Buses, bridges, targets and masters.
    pub topology: Topology,
    /// Memories, the one of the program first: its accesses are simulated fastest.
    pub memories: Vec<MemoryConfig>,
    /// Further addresses of memories; never cached.
    pub windows: Vec<Window>,
    /// Devices.
    pub devices: Vec<DeviceConfig>,
}

/// Reason that a soft SoC cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Buses or addresses do not fit.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The program does not fit.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// No such model.
    #[error("{device} has the model {model}; there are {}", models().map(|it| it.name).collect::<Vec<_>>().join(", "))]
    Model {
        /// The device.
        device: String,
        /// The requested model.
        model: String,
    },
}

/// No device of the board has a network line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no device of the board has a network line; the models that have one are enet, lan91c111 and tse"
)]
pub struct NoLine;

/// Reason that [`SoftSoc::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The requested time is reached.
    Deadline,
    /// An exception that the program cannot handle.
    Fault(Fault),
    /// The program waits for an interrupt that no device can raise before [`SoftSoc::send`] or
    /// [`SoftSoc::receive_frame`].
    Asleep,
    /// A device has sent a frame: [`SoftSoc::take_frame`].
    Sent,
}

/// A soft SoC with a program in it.
#[derive(Debug)]
pub struct SoftSoc {
    hart: Hart,
    memory: Memory,
    soc: Soc,
    wfi_exit: Span,
    wfi_ignores: u32,
    /// It is in a `wfi`, and leaves it then.
    is_asleep: bool,
    awake_at: Option<Instant>,
    /// Cycles of the hart in which it waited for an interrupt.
    asleep_cycles: u64,
}

impl SoftSoc {
    /// The SoC described by `config` with the program `elf` in its memory.
    ///
    /// # Errors
    /// [`Error`] names what does not fit.
    pub fn new(config: &Config, elf: &Elf) -> Result<Self, Error> {
        let fabric = Fabric::new(&config.topology)?;
        let ports = HartPorts::new(config.ports.clone());
        let region = |memory: &MemoryConfig| RegionConfig::timed(memory.base, memory.size);
        let regions: Vec<_> = config.memories.iter().map(region).collect();
        let mut memory = Memory::timed(&regions, &config.windows, ports.fetch_line_bytes());
        elf.load(&mut memory)?;
        let hart = Hart::new(HartConfig {
            masked_by_mie: true,
            ..HartConfig::new(elf.entry(), config.pipeline)
        });
        Ok(Self {
            hart,
            memory,
            soc: Soc::new(config, fabric, ports)?,
            wfi_exit: config.wfi_exit,
            wfi_ignores: config.wfi_ignores,
            is_asleep: false,
            awake_at: None,
            asleep_cycles: 0,
        })
    }

    /// Runs the program until `until`, at most one instruction past it.
    pub fn run(&mut self, until: Instant) -> Stop {
        loop {
            self.soc.advance(self.hart.cycle(), &mut self.memory);
            if self.soc.has_sent() {
                return Stop::Sent;
            }
            if self.now() >= until {
                return Stop::Deadline;
            }
            if self.wakes_at(until) {
                continue;
            }
            if self.is_asleep && self.soc.interrupt().is_some() {
                // Only lines that do not wake the hart are high.
                let next = self.soc.next_event();
                if next == Instant::NEVER {
                    return Stop::Asleep;
                }
                self.sleep_until(next.min(until));
                continue;
            }
            self.soc.set_limit(until);
            let mut bus = Bus { soc: &mut self.soc };
            match self.hart.run(&mut self.memory, &mut bus) {
                rv32::Stop::Deadline => {}
                rv32::Stop::Fault(fault) => return Stop::Fault(fault),
                rv32::Stop::Wfi => {
                    self.is_asleep = true;
                    let wake = self.soc.next_event();
                    if wake == Instant::NEVER {
                        return Stop::Asleep;
                    }
                    let wake = wake.min(until);
                    self.sleep_until(wake);
                }
            }
        }
    }

    /// Lets the time of leaving a `wfi` pass, up to `until` or the next event, which may send a frame; returns true while
    /// there is some.
    fn wakes_at(&mut self, until: Instant) -> bool {
        if self.is_asleep && self.awake_at.is_none() && self.soc.wakes(self.wfi_ignores) {
            self.awake_at = Some(self.now() + self.wfi_exit);
        }
        let Some(awake) = self.awake_at else {
            return false;
        };
        if self.now() < awake {
            self.sleep_until(awake.min(until).min(self.soc.next_event()));
            return true;
        }
        (self.is_asleep, self.awake_at) = (false, None);
        false
    }

    /// Start time of the next instruction.
    pub fn now(&self) -> Instant {
        self.soc.instant(self.hart.cycle())
    }

    /// The bytes that the consoles printed since the last call.
    pub fn console(&mut self) -> Vec<u8> {
        self.timed_console().into_iter().map(|it| it.1).collect()
    }

    /// The same, each byte with its time.
    pub fn timed_console(&mut self) -> Vec<(Instant, u8)> {
        self.soc.take_console()
    }

    /// The far end of the device called `name` sends `bytes`.
    pub fn send(&mut self, name: &str, bytes: &[u8]) {
        let now = self.now();
        self.soc.receive(name, bytes, now);
    }

    /// Passes the time until `at`, in which a program that is [`Stop::Asleep`] does nothing.
    pub fn sleep_until(&mut self, at: Instant) {
        let cycle = self.soc.cycle_at(at);
        self.asleep_cycles += cycle.saturating_sub(self.hart.cycle());
        self.hart.advance_to(cycle);
    }

    /// Calls `with` on the device called `name`, if its model is `D`, and with the time.
    pub fn with_device<D: Device, R>(
        &mut self,
        name: &str,
        with: impl FnOnce(&mut D, Instant) -> R,
    ) -> Option<R> {
        let now = self.now();
        self.soc.with_device(name, now, |device| with(device, now))
    }

    /// Writes to memory as a boot loader does, before the program runs.
    ///
    /// # Errors
    /// [`Unmapped`] if no memory is there.
    pub fn load(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Unmapped> {
        self.memory.write(addr, bytes)
    }

    /// Cycles of the hart in which it waited for an interrupt.
    pub fn asleep_cycles(&self) -> u64 {
        self.asleep_cycles
    }

    /// Reads and writes of devices' registers by the program.
    pub fn register_accesses(&self) -> [u64; 2] {
        self.soc.accesses()
    }

    /// The earliest time at which a program that waits for an interrupt can go on; `None` while it executes.
    pub fn waits_until(&self) -> Option<Instant> {
        let waits = self.hart.is_waiting() && self.soc.interrupt().is_none();
        waits.then(|| self.soc.next_event())
    }

    /// True if the program waits for an interrupt.
    pub fn is_waiting(&self) -> bool {
        self.hart.is_waiting()
    }

    /// Connects `partner`, or nobody, to the network line.
    ///
    /// # Errors
    /// [`NoLine`].
    pub fn connect(&mut self, partner: Option<Partner>) -> Result<(), NoLine> {
        let now = self.now();
        self.soc.connect(partner, now).ok_or(NoLine)
    }

    /// Mode of the network line as its PHY has resolved it; `None` while it is down.
    pub fn link_mode(&mut self) -> Option<LinkMode> {
        self.soc.link_mode()
    }

    /// The next frame that was sent on the network line.
    pub fn take_frame(&mut self) -> Option<LineFrame> {
        self.soc.take_frame()
    }

    /// `frame` begins to arrive on the network line at its start, which is not in the past.
    pub fn receive_frame(&mut self, frame: LineFrame) {
        self.soc.receive_frame(frame);
    }

    /// The hart, for inspection.
    pub fn hart(&self) -> &Hart {
        &self.hart
    }

    /// The contents of memory, for inspection.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Counts of the hart's ports.
    pub fn ports(&self) -> PortStatistics {
        self.soc.ports()
    }

    /// Counts of a master, by its number in [`Topology::masters`].
    pub fn master(&self, master: usize) -> MasterStatistics {
        self.soc.fabric().statistics(master)
    }

    /// Counts of a target that is a DRAM, by its number in [`Topology::targets`].
    pub fn dram(&self, target: usize) -> Option<DramStatistics> {
        self.soc.fabric().dram_statistics(target)
    }
}
