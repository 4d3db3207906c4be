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

/// What a frame takes at least: 64 octets, and the SFD before it.
const SHORTEST: usize = frame::MIN_LEN + 1;
/// What a lone pulse looks like when the loop happens to catch it: next to nothing.
const PULSE: usize = 1;

/// When the last reception ended, in bit times.
pub(super) static RECEPTION_ENDED: AtomicU32 = AtomicU32::new(0);

static RECEIVE: Slot<ReceiveInterrupt> = Slot::new();

/// Gives the interrupt what it needs.
///
/// # Safety
/// It is not enabled yet.
pub(super) unsafe fn install(receive: ReceiveInterrupt) {
    // SAFETY: the caller's promise.
    unsafe { RECEIVE.install(receive) }
}

/// Switches the receive interrupt, while the queue has no room.
#[derive(Clone, Copy)]
pub struct Switch;

impl ReceiveSwitch for Switch {
    #[inline]
    fn suspend(&self) {
        interrupt_at_edges(false);
    }

    #[inline]
    fn resume(&self) {
        // What came meanwhile is over or is noticed by its further edges.
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

/// Receives what is on the line. In RAM in every stage: the preamble does not wait for the flash.
/// What the stage does with a reception is not, unless the stage says so.
#[esp_hal::ram]
extern "C" fn on_receive() {
    // SAFETY: this is the interrupt that it belongs to.
    let Some(mac) = (unsafe { RECEIVE.get() }) else {
        return;
    };
    // On a full queue the MAC has suspended reception itself.
    let _ = mac.receive(|buffer| {
        // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off.
        let (len, end) = unsafe { receive::transmission(buffer) };
        RECEPTION_ENDED.store(clock::now().0, Ordering::Relaxed);
        link::heard();
        match end {
            End::Idle => Reception::LinkPulse,
            End::Idl if len >= SHORTEST => Reception::Packet(len),
            End::Idl | End::Silence if len <= PULSE => Reception::LinkPulse,
            End::Idl | End::Silence | End::Tail => Reception::Truncated,
            End::Overlong => Reception::Oversize,
        }
    });
    // Last, so that the edges of TP_IDL are forgotten, too.
    clear_edges();
}

/// Sends a link pulse and looks after what goes by periods.
#[esp_hal::ram]
extern "C" fn on_link_timer() {
    // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off.
    unsafe { transmit::link_pulse() }
    LINERATE_LEDGER.count(Counter::TxLinkPulses);
    clock::tick();
    link::tick();
    let timer = TIMG0::regs();
    timer.int_clr().write(|w| w.t(0).clear_bit_by_one());
    // The alarm switches itself off each time.
    timer.t(0).config().modify(|_, w| w.alarm_en().set_bit());
}
