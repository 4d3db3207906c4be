//! The PHY of the article's stages: its receiver samples free-running, its transmitter listens only
//! before it sends.
//!
//! The debug pin is high from the entry of the receive interrupt to the end of the transmission,
//! and again until just before the interrupt returns: the second pulse is what it costs to
//! post-process a frame. A link pulse makes one short pulse.

mod interrupt;
pub(super) mod link;
pub(super) mod receive;
pub(super) mod transmit;

use core::{arch::asm, sync::atomic::Ordering};

use esp_hal::{
    gpio::{Event, Input, InputConfig, InputSignal, Level, Output, OutputConfig, OutputSignal},
    interrupt::{DirectBindableCpuInterrupt, Priority, enable_direct},
    peripherals::{GPIO, Interrupt, TIMG0},
    timer::{Timer as _, timg::TimerGroup},
};
use linerate_nic::{
    device::LinkState,
    mac::{self, BitTimes, TransmitError},
};

pub use interrupt::{ReceiveInterrupt, Switch};

use super::{LINK_PULSE_PERIOD, Parts, RX_MASK, RX_PIN, clock, without_interrupts};

/// The sending side, and the view of the medium: half duplex, as a partner finds it that gets link
/// pulses and no auto-negotiation (IEEE 802.3 clause 28.2.3.1, parallel detection).
pub struct Phy {
    _pins: (Output<'static>, Input<'static>, Output<'static>),
}

impl Phy {
    /// Starts the PHY: pulses go out and frames come in from here on.
    ///
    /// The CPU must run at 160 MHz.
    pub fn start(parts: Parts, receive: ReceiveInterrupt) -> Self {
        clock::start();
        let tx = Output::new(parts.tx, Level::Low, OutputConfig::default());
        let debug = Output::new(parts.debug, Level::Low, OutputConfig::default());
        let mut rx = Input::new(parts.rx, InputConfig::default());

        // SAFETY: both outputs (CSR 0x805) low, then enabled (CSR 0x803); they are ours.
        unsafe {
            asm!(
                "csrc 0x805, {outputs}",
                "csrs 0x803, {outputs}",
                outputs = in(reg) transmit::TX | receive::DEBUG,
            );
        }
        OutputSignal::CPU_GPIO_0.connect_to(&tx);
        OutputSignal::CPU_GPIO_1.connect_to(&debug);
        let line = rx.peripheral_input().with_input_inverter(true);
        for input in [
            InputSignal::CPU_GPIO_0,
            InputSignal::CPU_GPIO_1,
            InputSignal::CPU_GPIO_2,
            InputSignal::CPU_GPIO_3,
            InputSignal::CPU_GPIO_4,
            InputSignal::CPU_GPIO_5,
            InputSignal::CPU_GPIO_6,
            InputSignal::CPU_GPIO_7,
        ] {
            input.connect_to(&line);
        }

        interrupt::install(receive);
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
        // Only now: until its own handler is bound, an edge would end up in esp-hal's, which
        // switches the pin's interrupt off.
        rx.listen(Event::AnyEdge);
        Self {
            _pins: (tx, rx, debug),
        }
    }
}

impl mac::Phy for Phy {
    #[inline]
    fn now(&self) -> BitTimes {
        clock::now()
    }

    fn transmit(&mut self, packet: &[u8], _start: BitTimes) -> Result<BitTimes, TransmitError> {
        without_interrupts(|| {
            // Whoever began in the last moments has not been seen by the receive interrupt yet.
            if receive::carrier() {
                return Err(TransmitError::Busy);
            }
            // SAFETY: the PHY is started and interrupts are off.
            unsafe { transmit::packet(packet) }
            // The packet stands for a link pulse: the next one is due in 16 ms.
            // SAFETY: any value reloads the counter.
            TIMG0::regs()
                .t(0)
                .load()
                .write(|w| unsafe { w.load().bits(1) });
            // Edges of what was received meanwhile would look like a link pulse. If it goes on,
            // the interrupt finds out by itself.
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

/// Forgets the edges on the receive pin that the interrupt has not seen.
#[inline(always)]
fn clear_edges() {
    // SAFETY: clears this pin's latch only.
    GPIO::regs()
        .status_w1tc()
        .write(|w| unsafe { w.bits(RX_MASK) });
}
