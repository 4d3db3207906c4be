//! The 10BASE-T PHY (IEEE 802.3 clause 14): two GPIOs, dedicated GPIO CSRs and counted cycles.
//!
//! | pin | use |
//! |---|---|
//! | GPIO5 | transmit, dedicated output 0 |
//! | GPIO6 | receive, all dedicated inputs, inverted: the pad is low while the line is high |
//! | GPIO10 | debug, dedicated output 1: high while the receive interrupt runs, for an oscilloscope |
//!
//! There are two implementations: that of the article's stages (`article`) and the one that keeps up with the
//! line (`line_rate`). A firmware contains one of them; the shared parts are here.

#[cfg(not(feature = "line-rate"))]
mod article;
mod clock;
mod interrupts;
#[cfg(feature = "line-rate")]
mod line_rate;
mod loop_count;
mod pins;
mod trap;

use esp_hal::peripherals::{GPIO5, GPIO6, GPIO10, TIMG0};

use interrupts::without_interrupts;
pub use loop_count::LoopCount;

#[cfg(not(feature = "line-rate"))]
pub use article::{Phy, ReceiveInterrupt, Switch, count_loops};
#[cfg(feature = "line-rate")]
pub use line_rate::{Phy, ReceiveInterrupt, Switch, count_loops};

/// Peripherals of the PHY.
pub struct Parts {
    /// The transmit pin.
    pub tx: GPIO5<'static>,
    /// The receive pin.
    pub rx: GPIO6<'static>,
    /// The debug pin.
    pub debug: GPIO10<'static>,
    /// Timer 0 of this group times the link pulses.
    pub timer: TIMG0<'static>,
}

/// Prints the link state on the console if it has changed since the last call. Called now and then on the
/// main thread; the article's stages report nothing.
#[inline(always)]
pub fn report_link() {
    #[cfg(feature = "line-rate")]
    line_rate::report_link();
}

/// Counts the loops of `line-rate`, and prints whether they take the designed cycles on this core. Call it
/// before the PHY is started.
#[inline(always)]
pub fn report_loops() {
    #[cfg(feature = "line-rate")]
    line_rate::report_loops();
}

/// Sleeps until an interrupt, unless `idle` returns false. Interrupts are off meanwhile, so none can occur
/// between the check and the sleep; a pending one ends the sleep.
#[inline]
pub fn sleep_if(idle: impl FnOnce() -> bool) {
    without_interrupts(|| {
        if idle() {
            esp_hal::interrupt::wait_for_interrupt();
        }
    });
}
