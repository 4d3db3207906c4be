//! The PHY that keeps up with the line: it recovers the sender's clock; aligns, checks and sums during
//! reception; and aborts frames for other stations early.
//!
//! The debug pin is high from the entry of the receive interrupt to the end of the transmission,
//! and again until just before the interrupt returns: the second pulse is what it costs to
//! post-process a frame. A link pulse makes one short pulse.

mod count;
mod interrupt;
mod link;
mod polarity;
mod receive;
mod receive_loop;
mod skip;
mod tables;
mod transmit;
mod transmit_loop;

use esp_hal::{
    interrupt::{DirectBindableCpuInterrupt, Priority, enable_direct},
    peripherals::Interrupt,
};
use linerate_nic::{
    device::LinkState,
    link::{Duplex, Jabber},
    mac::{self, BitTimes, TransmitError, TxStart},
};

pub use count::{count_loops, report as report_loops};
pub use interrupt::{ReceiveInterrupt, Switch};
pub use link::report as report_link;

use super::{
    Parts, clock,
    pins::{Pins, take_edges},
    without_interrupts,
};

/// The transmitter, and the state of the medium.
pub struct Phy {
    _pins: Pins,
    jabber: Jabber,
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
        pins.enable_edge_interrupts();
        Self {
            _pins: pins,
            jabber: Jabber::new(),
        }
    }
}

impl mac::Phy for Phy {
    const APPENDS_FCS: bool = true;
    const GAP_PART_2: BitTimes = transmit::GAP_PART_2;
    // Measured in the simulator: without it a back-off of zero slots ends 208 bit times after the start of a
    // packet that collides at once, although 64 of preamble, 32 of jam, a gap of 96 and the 6 of a start make
    // 198.
    const COLLISION_REPORT_DELAY: BitTimes = BitTimes(10);

    #[inline]
    fn now(&self) -> BitTimes {
        clock::now()
    }

    fn transmit(&mut self, packet: &[u8], start: TxStart) -> Result<BitTimes, TransmitError> {
        without_interrupts(|| {
            // SAFETY: the PHY is started and interrupts are off.
            let (octets, result) = unsafe { transmit::packet(packet, start, &mut self.jabber) };
            // A rejected packet is no sign of life to the partner.
            if octets > 0 {
                link::on_packet_sent(clock::now());
                // Edges of receptions meanwhile would look like a link pulse, and may be one; but its time is
                // unknown. If the transmission continues, the interrupt detects it.
                if !transmit::carrier() && take_edges() {
                    link::on_activity_while_sending();
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
