//! Clock tree: the frequencies set by the PCR block's registers.
//!
//! ESP32-C6 Technical Reference Manual, chapter "Reset and Clock". Only a view: the registers
//! themselves are plain storage.

use super::clock::{RC_FAST_HZ, XTAL_HZ};

/// Frequency of the PLL in hertz.
const PLL_HZ: u64 = 480_000_000;
/// Frequency of the PLL's fixed output for peripherals in hertz.
const PLL_F80M_HZ: u64 = 80_000_000;

const UART0_CLK_CONF: u32 = 0x04;
const UART1_CLK_CONF: u32 = 0x10;
const TIMG0_TIMER_CLK_CONF: u32 = 0x40;
const TIMG0_WDT_CLK_CONF: u32 = 0x44;
const TIMG1_TIMER_CLK_CONF: u32 = 0x4c;
const TIMG1_WDT_CLK_CONF: u32 = 0x50;
const SPI2_CLKM_CONF: u32 = 0xc4;
const SYSCLK_CONF: u32 = 0x110;
const CPU_FREQ_CONF: u32 = 0x118;

/// A peripheral with a selectable clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionClock {
    /// UART 0 or 1.
    Uart(u8),
    /// The general-purpose timer of group 0 or 1.
    Timer(u8),
    /// The watchdog of group 0 or 1.
    Watchdog(u8),
    /// The general-purpose SPI controller.
    Spi,
}

/// Computes frequencies from the registers.
#[derive(Clone, Copy, Debug)]
pub struct ClockTree<F>(pub F);

impl<F: Fn(u32) -> u32> ClockTree<F> {
    /// Frequency of the CPU in hertz.
    pub fn cpu_hertz(&self) -> u64 {
        let root = (self.0)(SYSCLK_CONF);
        let cpu = (self.0)(CPU_FREQ_CONF);
        let (low, high) = (u64::from(root & 0xff) + 1, u64::from(root >> 8 & 0xff) + 1);
        let (cpu_low, cpu_high) = (u64::from(cpu & 0xff) + 1, u64::from(cpu >> 8 & 0xff) + 1);
        match root >> 16 & 3 {
            1 if cpu >> 16 & 1 != 0 && cpu_high == 1 => 120_000_000,
            1 => PLL_HZ / high / cpu_high,
            2 => RC_FAST_HZ / low / cpu_low,
            _ => XTAL_HZ / low / cpu_low,
        }
    }

    /// Frequency of a peripheral's function clock in hertz; 0 if it is off.
    pub fn function_hertz(&self, clock: FunctionClock) -> u64 {
        let offset = match clock {
            FunctionClock::Uart(0) => UART0_CLK_CONF,
            FunctionClock::Uart(_) => UART1_CLK_CONF,
            FunctionClock::Timer(0) => TIMG0_TIMER_CLK_CONF,
            FunctionClock::Timer(_) => TIMG1_TIMER_CLK_CONF,
            FunctionClock::Watchdog(0) => TIMG0_WDT_CLK_CONF,
            FunctionClock::Watchdog(_) => TIMG1_WDT_CLK_CONF,
            FunctionClock::Spi => SPI2_CLKM_CONF,
        };
        let value = (self.0)(offset);
        let select = value >> 20 & 3;
        match clock {
            FunctionClock::Uart(_) => {
                let source = [0, PLL_F80M_HZ, RC_FAST_HZ, XTAL_HZ][select as usize];
                source / (u64::from(value >> 12 & 0xff) + 1)
            }
            FunctionClock::Spi if value >> 22 & 1 == 0 => 0,
            _ => [XTAL_HZ, PLL_F80M_HZ, RC_FAST_HZ, XTAL_HZ][select as usize],
        }
    }

    /// Register state left by the second-stage boot loader, as (offset, value): PLL, CPU at 80 MHz.
    pub const HAND_OFF: [(u32, u32); 2] =
        [(SYSCLK_CONF, 0x2801_0200), (CPU_FREQ_CONF, 0x0000_0100)];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(sysclk: u32, cpu_freq: u32) -> u64 {
        ClockTree(|offset| {
            if offset == SYSCLK_CONF {
                sysclk
            } else {
                cpu_freq
            }
        })
        .cpu_hertz()
    }

    #[test]
    fn cpu_frequencies() {
        assert_eq!(cpu(0x2800_0200, 0), 40_000_000);
        assert_eq!(cpu(0x2801_0200, 0), 160_000_000);
        assert_eq!(cpu(0x2801_0200, 0x100), 80_000_000);
        assert_eq!(cpu(0x2801_0200, 0x1_0000), 120_000_000);
    }
}
