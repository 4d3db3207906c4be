//! The PHY's two interrupts. Both are bound directly to the vector table, past esp-hal's
//! dispatcher, which takes longer than the preamble is long. They run with interrupts off, so
//! neither disturbs the other's timing.

use core::sync::atomic::{AtomicU32, Ordering};

use esp_hal::peripherals::TIMG0;
use linerate_ether::{frame, ledger::Counter};
use linerate_nic::mac::{self, ReceiveSwitch, Reception};

use super::{
    super::{
        clock,
        pins::{clear_edges, interrupt_at_edges},
        trap::{Slot, trap},
    },
    link,
    receive::{self, End},
    transmit,
};
use crate::{LINERATE_LEDGER, stage};

/// The MAC's part in the receive interrupt.
pub type ReceiveInterrupt =
    mac::InterruptHalf<'static, stage::Receive, Switch, { stage::QUEUE_WORDS }>;

/// Minimum length of a frame: 64 octets, and the SFD before it.
const SHORTEST: usize = frame::MIN_LEN + 1;
/// Maximum length of a lone pulse, if the loop samples it at all.
const PULSE: usize = 1;

/// End of the last reception, in bit times.
pub(super) static RECEPTION_ENDED: AtomicU32 = AtomicU32::new(0);

static RECEIVE: Slot<ReceiveInterrupt> = Slot::new();

/// Passes the interrupt its data.
///
/// # Safety
/// It is not yet enabled.
pub(super) unsafe fn install(receive: ReceiveInterrupt) {
    // SAFETY: guaranteed by the caller.
    unsafe { RECEIVE.install(receive) }
}

/// Switches the receive interrupt off while the queue is full.
#[derive(Clone, Copy)]
pub struct Switch;

impl ReceiveSwitch for Switch {
    #[inline]
    fn suspend(&self) {
        interrupt_at_edges(false);
    }

    #[inline]
    fn resume(&self) {
        // Transmissions in the meantime are over, or are detected by their further edges.
        clear_edges();
        interrupt_at_edges(true);
    }
}

trap!(
    /// An edge on the receive pin.
    receive_trap calls on_receive, "csrsi 0x805, {debug}", "csrci 0x805, {debug}"
);
trap!(
    /// 16 ms without a packet sent.
    link_timer_trap calls on_link_timer, "", "/* {debug} */"
);

/// Receives a transmission. In RAM in every stage: a flash access would take longer than the preamble. The
/// stage's processing of a reception is not, unless the stage requires it.
#[esp_hal::ram]
extern "C" fn on_receive() {
    // SAFETY: this is the interrupt that owns it.
    let Some(mac) = (unsafe { RECEIVE.get() }) else {
        return;
    };
    // With a full queue the MAC has suspended reception.
    let _ = mac.receive(|buffer| {
        // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off.
        let (len, end) = unsafe { receive::transmission(buffer) };
        RECEPTION_ENDED.store(clock::now().0, Ordering::Relaxed);
        link::on_reception();
        match end {
            End::Idle => Reception::LinkPulse,
            End::Idl if len >= SHORTEST => Reception::Packet(len),
            End::Idl | End::Silence if len <= PULSE => Reception::LinkPulse,
            End::Idl | End::Silence | End::Tail => Reception::Truncated,
            End::Overlong => Reception::Oversize,
        }
    });
    // Last, to include the edges of TP_IDL.
    clear_edges();
}

/// Sends a link pulse and handles periodic tasks.
#[esp_hal::ram]
extern "C" fn on_link_timer() {
    // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off.
    unsafe { transmit::link_pulse() }
    LINERATE_LEDGER.count(Counter::TxLinkPulses);
    clock::tick();
    link::end_period();
    let timer = TIMG0::regs();
    timer.int_clr().write(|w| w.t(0).clear_bit_by_one());
    // The alarm disables itself each time.
    timer.t(0).config().modify(|_, w| w.alarm_en().set_bit());
}
