//! The PHY that keeps up with the line: it recovers the sender's clock, aligns, checks and sums
//! while it receives, and gives up early what is not for this station.
//!
//! The debug pin is high from the entry of the receive interrupt to the end of the transmission,
//! and again until just before the interrupt returns: the second pulse is what it costs to
//! post-process a frame. A link pulse makes one short pulse.

mod interrupt;
mod link;
mod receive;
mod receive_loop;
mod skip;
mod transmit;
mod transmit_loop;

use core::arch::asm;

use esp_hal::{
    gpio::{Event, Input, InputConfig, InputSignal, Level, Output, OutputConfig, OutputSignal},
    interrupt::{DirectBindableCpuInterrupt, Priority, enable_direct},
    peripherals::{GPIO, Interrupt},
};
use linerate_nic::{
    device::LinkState,
    link::{Duplex, Jabber},
    mac::{self, BitTimes, TransmitError},
};

pub use interrupt::{ReceiveInterrupt, Switch};
pub use link::report as report_link;
pub use receive::{PAIR_CYCLES, count_rounds};

use super::{Parts, RX_MASK, RX_PIN, clock, without_interrupts};

/// The sending side, and the view of the medium.
pub struct Phy {
    _pins: (Output<'static>, Input<'static>, Output<'static>),
    jabber: Jabber,
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
        link::start(parts.timer);
        skip::start();
        enable_direct(
            Interrupt::TG0_T0_LEVEL,
            Priority::Priority1,
            DirectBindableCpuInterrupt::Interrupt0,
            interrupt::link_timer_trap,
        );
        enable_direct(
            Interrupt::TG1_T0_LEVEL,
            Priority::Priority2,
            DirectBindableCpuInterrupt::Interrupt2,
            interrupt::skip_trap,
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
            jabber: Jabber::new(),
        }
    }
}

impl mac::Phy for Phy {
    const APPENDS_FCS: bool = true;
    const GAP_PART_2: BitTimes = transmit::GAP_PART_2;
    // Counted in the simulator: without it a back-off of no slot ends 208 bit times after a packet
    // begins that meets another at once, where 64 of preamble, 32 of jam, a gap of 96 and the 6 of a
    // start make 198.
    const SINCE_JAM: BitTimes = BitTimes(10);

    #[inline]
    fn now(&self) -> BitTimes {
        clock::now()
    }

    fn transmit(&mut self, packet: &[u8], start: BitTimes) -> Result<BitTimes, TransmitError> {
        without_interrupts(|| {
            // SAFETY: the PHY is started and interrupts are off.
            let result = unsafe { transmit::packet(packet, start, &mut self.jabber) };
            if result != Err(TransmitError::Busy) {
                link::packet_sent(packet.len(), clock::now());
                // Edges of what was received meanwhile would look like a link pulse. If it goes on,
                // the interrupt finds out by itself.
                if !transmit::carrier() {
                    clear_edges();
                }
            }
            result
        })
    }

    #[inline]
    fn carrier(&self) -> bool {
        link::duplex() == Duplex::Half && transmit::is_taken()
    }

    #[inline]
    fn reception_ended(&self) -> Option<BitTimes> {
        (link::duplex() == Duplex::Half).then(interrupt::reception_ended)
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
