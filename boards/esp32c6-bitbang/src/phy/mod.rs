//! The 10BASE-T PHY (IEEE 802.3 clause 14): two GPIOs, dedicated GPIO CSRs and counted cycles.
//!
//! | pin | use |
//! |---|---|
//! | GPIO5 | transmit, dedicated output 0 |
//! | GPIO6 | receive, all dedicated inputs, inverted: the pad is low while the line is high |
//! | GPIO10 | debug, dedicated output 1: when the receive interrupt works, for an oscilloscope |
//!
//! There are two of it: the one of the article's stages (`article`) and the one that keeps up with
//! the line (`line_rate`). A firmware has one of them; what they share is here.

#[cfg(not(feature = "line-rate"))]
mod article;
mod clock;
#[cfg(feature = "line-rate")]
mod line_rate;
mod pins;
mod trap;

use core::arch::asm;

use esp_hal::peripherals::{GPIO5, GPIO6, GPIO10, TIMG0};

#[cfg(not(feature = "line-rate"))]
pub use article::{Phy, ReceiveInterrupt, Switch, count_loops};
#[cfg(feature = "line-rate")]
pub use line_rate::{Phy, ReceiveInterrupt, Switch, count_loops};

/// What the PHY is made of.
pub struct Parts {
    /// The transmit pin.
    pub tx: GPIO5<'static>,
    /// The receive pin.
    pub rx: GPIO6<'static>,
    /// The debug pin.
    pub debug: GPIO10<'static>,
    /// Timer 0 of this group makes the link pulses.
    pub timer: TIMG0<'static>,
}

/// Tells on the console how the link stands, if that has changed since the last call. To be called
/// now and then on the main thread; the article's stages have nothing to tell.
#[inline(always)]
pub fn report_link() {
    #[cfg(feature = "line-rate")]
    line_rate::report_link();
}

/// How long one of the loops takes on this core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopCount {
    /// Which loop, and what a round of it is.
    pub what: &'static str,
    /// Cycles that were counted.
    pub cycles: u32,
    /// In so many rounds.
    pub rounds: u32,
    /// Cycles that a round was written to take.
    pub written: u32,
}

impl LoopCount {
    /// Cycles of a round, in thousandths.
    pub const fn millicycles(&self) -> u32 {
        self.cycles * 1000 / self.rounds
    }

    /// Whether it takes what it was written to take; a loop that keeps to the clock may be a cycle
    /// ahead or behind in the end.
    ///
    /// The transmit loop keeps to it while it is counted, too: it shows 128 even where an octet takes
    /// it a cycle more or less by itself. That is what it makes up for on the line.
    pub const fn holds(&self) -> bool {
        self.cycles.abs_diff(self.written * self.rounds) <= 1
    }
}

/// Counts the loops of `line-rate`, and tells on the console whether they take the cycles that they
/// were written for on this core. To be called before the PHY is started.
#[inline(always)]
pub fn report_loops() {
    #[cfg(feature = "line-rate")]
    line_rate::report_loops();
}

/// Sleeps until an interrupt, unless `idle` finds that there is something to do. Interrupts are off
/// meanwhile, so that none comes between looking and sleeping; one that is pending ends the sleep.
#[inline]
pub fn sleep_if(idle: impl FnOnce() -> bool) {
    without_interrupts(|| {
        if idle() {
            esp_hal::interrupt::wait_for_interrupt();
        }
    });
}

/// Runs `f` with interrupts off.
#[inline(always)]
fn without_interrupts<T>(f: impl FnOnce() -> T) -> T {
    let status: u32;
    // SAFETY: turns interrupts off (mstatus.MIE).
    unsafe { asm!("csrrci {}, mstatus, 8", out(reg) status) }
    let result = f();
    // SAFETY: restores what was.
    unsafe { asm!("csrs mstatus, {}", in(reg) status & 8) }
    result
}
