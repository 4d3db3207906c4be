//! The PHY of the article's stages: its receiver is free-running, its transmitter senses the carrier only
//! before it sends.
//!
//! The debug pin is high from the entry of the receive interrupt to the end of the transmission,
//! and again until just before the interrupt returns: the second pulse is what it costs to
//! post-process a frame. A link pulse makes one short pulse.

mod interrupt;
mod link;
mod receive;
mod transmit;

use core::sync::atomic::Ordering;

use esp_hal::{
    interrupt::{DirectBindableCpuInterrupt, Priority, enable_direct},
    peripherals::{Interrupt, TIMG0},
    time::Duration,
    timer::{Timer as _, timg::TimerGroup},
};
use linerate_nic::{
    device::LinkState,
    mac::{self, BitTimes, TransmitError, TxStart},
};

pub use interrupt::{ReceiveInterrupt, Switch};
pub use transmit::count_loops;

use super::{
    Parts, clock,
    pins::{Pins, clear_edges},
    without_interrupts,
};

/// Time between link pulses: 16 ms, +-8 allowed (IEEE 802.3 clause 14.2.1.1).
const LINK_PULSE_PERIOD: Duration = Duration::from_millis(16);

/// The transmitter, and the state of the medium: half duplex, as a partner assumes that receives link pulses
/// without auto-negotiation (IEEE 802.3 clause 28.2.3.1, parallel detection).
pub struct Phy {
    _pins: Pins,
}

impl Phy {
    /// Starts the PHY: pulses are sent and frames are received from now on.
    ///
    /// The CPU must run at 160 MHz.
    pub fn start(parts: Parts, receive: ReceiveInterrupt) -> Self {
        clock::start();
        let mut pins = Pins::new(parts.tx, parts.rx, parts.debug);
        // SAFETY: it is enabled below.
        unsafe { interrupt::install(receive) }
        let timer = TimerGroup::new(parts.timer).timer0;
        timer
            .load_value(LINK_PULSE_PERIOD)
            .expect("16 ms fit the timer");
        timer.enable_auto_reload(true);
        timer.enable_interrupt(true);
        timer.start();
        enable_direct(
            Interrupt::TG0_T0_LEVEL,
            Priority::Priority1,
            DirectBindableCpuInterrupt::Interrupt0,
            interrupt::link_timer_trap,
        );
        enable_direct(
            Interrupt::GPIO,
            Priority::max(),
            DirectBindableCpuInterrupt::Interrupt1,
            interrupt::receive_trap,
        );
        pins.enable_edge_interrupts();
        Self { _pins: pins }
    }
}

impl mac::Phy for Phy {
    #[inline]
    fn now(&self) -> BitTimes {
        clock::now()
    }

    fn transmit(&mut self, packet: &[u8], _start: TxStart) -> Result<BitTimes, TransmitError> {
        without_interrupts(|| {
            // A transmission that began in the last moments has not been detected by the receive interrupt.
            if receive::carrier() {
                return Err(TransmitError::Busy);
            }
            // SAFETY: the PHY is started and interrupts are off.
            unsafe { transmit::packet(packet) }
            // The packet replaces a link pulse: the next one is due in 16 ms.
            // SAFETY: any value reloads the counter.
            TIMG0::regs()
                .t(0)
                .load()
                .write(|w| unsafe { w.load().bits(1) });
            // Edges of receptions meanwhile would look like a link pulse. If the transmission continues, the
            // interrupt detects it.
            if !receive::carrier() {
                clear_edges();
            }
            Ok(clock::now())
        })
    }

    #[inline]
    fn carrier(&self) -> bool {
        receive::carrier()
    }

    #[inline]
    fn reception_ended(&self) -> Option<BitTimes> {
        Some(BitTimes(interrupt::RECEPTION_ENDED.load(Ordering::Relaxed)))
    }

    #[inline]
    fn link_state(&self) -> LinkState {
        link::state()
    }
}
