//! The functions in the chip's ROM, executed natively and charged with their time.
//!
//! Names and addresses: `rom.symbols`. A long function does its work at its entry and then waits
//! there, so that interrupts are taken as in the real one.

mod format;
mod memory;
mod numbers;

use super::bus::Bus;
use super::report::ReportKind;
use super::{ResetCause, TimingTable};
use crate::device::PADS;
use crate::mem::Memory;
use crate::pads::Pads;
use crate::rv32::RomCall;

/// Functions that charge more than this wait at their entry.
const LONG_CYCLES: u64 = 64;

/// A call that has not returned yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    pc: u32,
    sp: u32,
    ra: u32,
    until_cycle: u64,
}

/// Names, costs, and the ROM's few variables.
#[derive(Debug)]
pub(super) struct Rom {
    /// By address.
    names: Vec<(u32, &'static str)>,
    waiting: Vec<Waiting>,
    ticks_per_us: u32,
    reported: Vec<u32>,
    costs: Costs,
}

/// Cycles that the functions take.
#[derive(Clone, Copy, Debug)]
struct Costs {
    call: u64,
    byte_millicycles: u64,
    divide: u64,
    float: u64,
    checksum_byte: u64,
}

impl Rom {
    pub fn new(timing: &TimingTable) -> Self {
        let names = include_str!("rom.symbols").lines().filter_map(|line| {
            let (addr, name) = line.split_once(' ')?;
            Some((u32::from_str_radix(addr, 16).ok()?, name))
        });
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        Self {
            names,
            waiting: Vec::new(),
            ticks_per_us: 80,
            reported: Vec::new(),
            costs: Costs {
                call: timing.chip("rom_call_cycles"),
                byte_millicycles: timing.chip("rom_byte_millicycles"),
                divide: timing.chip("rom_divide_cycles"),
                float: timing.chip("rom_float_cycles"),
                checksum_byte: timing.chip("rom_checksum_byte_cycles"),
            },
        }
    }

    /// The function that begins at `addr`.
    pub fn name(&self, addr: u32) -> Option<&'static str> {
        self.names
            .binary_search_by_key(&addr, |&(addr, _)| addr)
            .ok()
            .map(|i| self.names[i].1)
    }

    /// The waiting call at this position, if any; calls that were left in another way (by a jump
    /// out of an interrupt) are discarded.
    fn resume(&mut self, pc: u32, regs: &[u32; 32]) -> Option<Waiting> {
        let (ra, sp) = (regs[1], regs[2]);
        while let Some(&waiting) = self.waiting.last() {
            if (waiting.pc, waiting.sp, waiting.ra) == (pc, sp, ra) {
                return Some(waiting);
            }
            // An interrupted call is higher on the stack than the running code.
            if waiting.sp > sp {
                return None;
            }
            self.waiting.pop();
        }
        None
    }

    /// Keeps the list of reported functions, so that none is reported again.
    pub fn inherit_reported(&mut self, before: &mut Self) {
        self.reported = std::mem::take(&mut before.reported);
    }

    fn mark_reported(&mut self, pc: u32) -> bool {
        let first = !self.reported.contains(&pc);
        if first {
            self.reported.push(pc);
        }
        first
    }
}

/// Outcome of a function.
enum Outcome {
    /// Returns after this many cycles.
    Cycles(u64),
    /// Returns at this absolute cycle.
    At(u64),
    /// Has done nothing yet; to be called again at this absolute cycle.
    Retry(u64),
    /// Never returns: the chip is about to be reset.
    NeverReturns,
    /// An argument points to unmapped memory.
    BadPointer,
    /// Not implemented.
    Unknown,
}

/// A call of the function at `pc`.
pub(super) fn call<P: Pads>(
    bus: &mut Bus<'_, P>,
    pc: u32,
    regs: &mut [u32; 32],
    memory: &mut Memory,
    cycle: u64,
) -> RomCall {
    if let Some(waiting) = bus.soc.rom.resume(pc, regs) {
        if cycle < waiting.until_cycle {
            return RomCall::Wait {
                until_cycle: waiting.until_cycle,
            };
        }
        bus.soc.rom.waiting.pop();
        return RomCall::Done { cycles: 1 };
    }
    let name = bus.soc.rom.name(pc);
    let outcome = match name {
        Some(name) => execute(bus, name, regs, memory, cycle),
        None => Outcome::Unknown,
    };
    let until_cycle = match outcome {
        Outcome::Cycles(cycles) if cycles <= LONG_CYCLES => return RomCall::Done { cycles },
        // The return takes the last cycle.
        Outcome::Cycles(cycles) => cycle + cycles - 1,
        Outcome::At(until) if until <= cycle => return RomCall::Done { cycles: 1 },
        Outcome::At(until) => until,
        Outcome::Retry(until_cycle) => return RomCall::Wait { until_cycle },
        Outcome::NeverReturns => {
            return RomCall::Wait {
                until_cycle: cycle + 1,
            };
        }
        Outcome::BadPointer | Outcome::Unknown => {
            if bus.soc.rom.mark_reported(pc) {
                let at = bus.soc.clock.instant(cycle);
                bus.soc.report(pc, ReportKind::RomFunction { name }, at);
            }
            return RomCall::Unknown;
        }
    };
    let (ra, sp) = (regs[1], regs[2]);
    bus.soc.rom.waiting.push(Waiting {
        pc,
        sp,
        ra,
        until_cycle,
    });
    RomCall::Wait { until_cycle }
}

fn execute<P: Pads>(
    bus: &mut Bus<'_, P>,
    name: &'static str,
    regs: &mut [u32; 32],
    memory: &mut Memory,
    cycle: u64,
) -> Outcome {
    let costs = bus.soc.rom.costs;
    let args: [u32; 8] = core::array::from_fn(|i| regs[10 + i]);
    if let Some((value, divides)) = numbers::integer(name, args) {
        [regs[10], regs[11]] = value;
        return Outcome::Cycles(costs.call + if divides { costs.divide } else { 0 });
    }
    if let Some(value) = numbers::float(name, args) {
        [regs[10], regs[11]] = value;
        return Outcome::Cycles(costs.call + costs.float);
    }
    if let Some(done) = memory::call(name, args, memory) {
        let Some((value, bytes)) = done else {
            return Outcome::BadPointer;
        };
        regs[10] = value;
        return Outcome::Cycles(costs.call + u64::from(bytes) * costs.byte_millicycles / 1000);
    }
    if let Some(done) = memory::checksum(name, args, memory) {
        let Some((value, bytes)) = done else {
            return Outcome::BadPointer;
        };
        regs[10] = value;
        return Outcome::Cycles(costs.call + u64::from(bytes) * costs.checksum_byte);
    }
    let result = &mut regs[10];
    match name {
        "rtc_get_reset_reason" => *result = bus.soc.reset_cause.code(),
        "rtc_get_wakeup_cause" | "ets_get_printf_channel" => *result = 0,
        "ets_delay_us" => {
            let cycles = u64::from(args[0]) * u64::from(bus.soc.rom.ticks_per_us);
            return Outcome::At(cycle + costs.call + cycles);
        }
        "ets_update_cpu_frequency" => bus.soc.rom.ticks_per_us = args[0],
        "ets_get_cpu_frequency" => *result = bus.soc.rom.ticks_per_us,
        "ets_clk_get_xtal_freq" => *result = 40_000_000,
        "ets_clk_get_cpu_freq" => *result = bus.soc.clock.hertz() as u32,
        "uart_tx_one_char" | "uart_tx_one_char2" | "ets_write_char_uart" => {
            *result = 0;
            return transmit(bus, args[0] as u8, cycle);
        }
        "uart_tx_flush" | "uart_tx_wait_idle" => {
            let idle_at = bus.soc.uart(args[0]).idle_at();
            return Outcome::At(bus.soc.clock.cycle_at(idle_at));
        }
        "uart_rx_one_char" => {
            let byte = bus.soc.uart(0).read_byte();
            if let Some(byte) = byte
                && memory.write(args[0], &[byte]).is_err()
            {
                return Outcome::BadPointer;
            }
            *result = u32::from(byte.is_none());
        }
        "ets_printf" => {
            let Some(text) = format::printf(args, regs[2], memory) else {
                return Outcome::BadPointer;
            };
            regs[10] = text.len() as u32;
            return print(bus, &text, cycle);
        }
        "software_reset" => {
            bus.soc.request_reset(ResetCause::Software);
            return Outcome::NeverReturns;
        }
        "software_reset_cpu" => {
            bus.soc.request_reset(ResetCause::SoftwareCpu);
            return Outcome::NeverReturns;
        }
        "ets_efuse_get_mac" => {
            let mac = bus.soc.efuse().mac();
            if memory.write(args[0], &mac).is_err() {
                return Outcome::BadPointer;
            }
            *result = 0;
        }
        "intr_matrix_set" => {
            bus.soc
                .write(0x6001_0000 + 4 * args[1], args[2], !0, cycle, bus.pads);
        }
        "gpio_matrix_in" => {
            let select = args[0] & 0x3f | u32::from(args[2] != 0) << 6 | 1 << 7;
            bus.soc.write(
                0x6009_1154 + 4 * (args[1] & 127),
                select,
                !0,
                cycle,
                bus.pads,
            );
        }
        "gpio_matrix_out" if args[0] < u32::from(PADS) => {
            let select = args[1] & 0xff | u32::from(args[2] != 0) << 8;
            let select = select | u32::from(args[3] != 0) << 10;
            bus.soc
                .write(0x6009_1554 + 4 * args[0], select, !0, cycle, bus.pads);
        }
        // Caches, console selection and watchdogs of the boot loader: nothing to do.
        "Cache_Invalidate_ICache_All"
        | "Cache_Invalidate_ICache_Items"
        | "Cache_Invalidate_Addr"
        | "Cache_Suspend_ICache"
        | "Cache_Resume_ICache"
        | "Cache_Disable_ICache"
        | "Cache_Enable_ICache"
        | "Cache_Freeze_ICache_Enable"
        | "Cache_Freeze_ICache_Disable"
        | "Cache_Suspend_ICache_Autoload"
        | "Cache_Resume_ICache_Autoload"
        | "uart_tx_switch"
        | "ets_install_uart_printf"
        | "ets_install_usb_printf"
        | "disable_default_watchdog"
        | "esp_rom_set_rtc_wake_addr"
        | "rtc_unhold_all_pads" => {
            *result = 0;
            let addr = bus
                .soc
                .rom
                .names
                .iter()
                .find(|(_, n)| *n == name)
                .map_or(0, |&(a, _)| a);
            if bus.soc.rom.mark_reported(addr) {
                let at = bus.soc.clock.instant(cycle);
                bus.soc.report(addr, ReportKind::RomStub { name }, at);
            }
        }
        _ => return Outcome::Unknown,
    }
    Outcome::Cycles(costs.call)
}

/// Writes a byte to UART 0 as soon as its FIFO has room.
fn transmit<P: Pads>(bus: &mut Bus<'_, P>, byte: u8, cycle: u64) -> Outcome {
    let now = bus.soc.clock.instant(cycle);
    let ready = bus.soc.uart(0).tx_ready_at(now);
    if ready > now {
        return Outcome::Retry(bus.soc.clock.cycle_at(ready));
    }
    bus.soc.uart(0).transmit(byte, now);
    bus.soc.sync_uart0(now);
    Outcome::Cycles(bus.soc.rom.costs.call)
}

/// Prints text on UART 0; returns when the last byte has been written.
fn print<P: Pads>(bus: &mut Bus<'_, P>, text: &[u8], cycle: u64) -> Outcome {
    let mut now = bus.soc.clock.instant(cycle);
    for &byte in text {
        now = bus.soc.uart(0).tx_ready_at(now);
        bus.soc.uart(0).transmit(byte, now);
        bus.soc.sync_uart0(now);
    }
    Outcome::At(bus.soc.clock.cycle_at(now) + bus.soc.rom.costs.call)
}
