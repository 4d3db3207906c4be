//! The devices of `system.toml`: console, timer, interrupt controller, ENET.

#[path = "../../riscv/soc.rs"]
mod soc;

use linerate_nic::mmio::Mmio;

#[allow(unused_imports, reason = "of some programs")]
pub use soc::{Board, Console, cycles, is_interrupted, now, stop};

/// Clock of the hart, and its cycles in some nanoseconds with their number.
pub const HERTZ: u64 = 800_000_000;
const CYCLES: (u64, u64) = (HERTZ * 5 / 1_000_000_000, 5);
/// Clock of the MAC's registers and of the timer.
pub const BUS_HZ: u32 = 66_666_667;
/// MDIO address of the PHY.
pub const PHY: u8 = 6;

const CONSOLE: usize = 0x0800_1000;
const TIMER: usize = 0x0800_2000;
const INTC: usize = 0x0800_3000;
const MAC: usize = 0x0800_4000;

/// Lines of the interrupt controller.
const TIMER_LINE: u32 = 1;
const MAC_LINE: u32 = 2;

#[allow(dead_code, reason = "of two of the programs")]
/// Another handle of the ENET's registers, for those that the driver leaves alone.
pub fn enet() -> Mmio {
    soc::device(MAC)
}
