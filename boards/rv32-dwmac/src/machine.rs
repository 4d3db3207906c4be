//! The devices of `system.toml`: console, timer, interrupt controller, MAC.

#[path = "../../riscv/soc.rs"]
mod soc;

pub use soc::{Board, Console, now, stop};

/// Cycles of the hart in some nanoseconds, and their number.
const CYCLES: (u64, u64) = (6, 25);
/// Clock of the MAC's registers and of the timer.
pub const BUS_HZ: u32 = 80_000_000;
/// MDIO address of the PHY.
pub const PHY: u8 = 1;

const CONSOLE: usize = 0x6000_1000;
const TIMER: usize = 0x6000_2000;
const INTC: usize = 0x6000_3000;
const MAC: usize = 0x6000_4000;

/// Lines of the interrupt controller.
const TIMER_LINE: u32 = 1;
const MAC_LINE: u32 = 2;
