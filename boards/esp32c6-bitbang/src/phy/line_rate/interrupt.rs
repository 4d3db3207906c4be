//! The PHY's interrupts. All are bound directly to the vector table and enter through handlers
//! without prologue. They run with interrupts off, so none disturbs another's timing.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use linerate_nic::bitbang::FRAME_OFFSET;
use linerate_nic::filter::FilterWords;
use linerate_nic::mac::{self, BitTimes, ReceiveSwitch, Reception};

use super::{
    super::{
        pins::{clear_edges, interrupt_at_edges},
        trap::{Slot, trap},
    },
    clock, link, polarity,
    receive::{self, Heard, LOOKED_AT},
    skip, transmit, without_interrupts,
};
use crate::stage;

/// The MAC's part in the receive interrupt.
pub type ReceiveInterrupt =
    mac::InterruptHalf<'static, stage::Receive, Switch, { stage::QUEUE_WORDS }>;

/// Pairs of preamble bits without which it was no packet but some pulse.
const PULSE_PAIRS: u32 = 1;

/// When the last reception ended, pulses apart, by the cycle counter.
pub(super) static RECEPTION_ENDED: AtomicU32 = AtomicU32::new(0);

/// When the last reception ended.
#[inline]
pub(super) fn reception_ended() -> BitTimes {
    clock::at(RECEPTION_ENDED.load(Ordering::Relaxed))
}

/// A reception is over.
#[inline(always)]
pub(super) fn ended() {
    RECEPTION_ENDED.store(clock::cycles(), Ordering::Relaxed);
}

/// The queue has no room: edges are to stay off.
static SUSPENDED: AtomicBool = AtomicBool::new(false);

static RECEIVE: Slot<ReceiveInterrupt> = Slot::new();

/// Gives the interrupt what it needs.
///
/// # Safety
/// It is not enabled yet.
pub(super) unsafe fn install(receive: ReceiveInterrupt) {
    // SAFETY: the caller's promise.
    unsafe { RECEIVE.install(receive) }
}

/// Interrupts at edges from now on, unless the queue has no room or a transmission is skipped. To
/// be called with interrupts off.
#[inline(always)]
pub(super) fn edges_on() {
    if SUSPENDED.load(Ordering::Relaxed) || skip::is_active() {
        return;
    }
    // What came meanwhile is over or is noticed by its further edges.
    clear_edges();
    interrupt_at_edges(true);
}

/// Switches the receive interrupt, while the queue has no room.
#[derive(Clone, Copy)]
pub struct Switch;

impl ReceiveSwitch for Switch {
    #[inline]
    fn suspend(&self) {
        SUSPENDED.store(true, Ordering::Relaxed);
        interrupt_at_edges(false);
    }

    #[cold]
    #[inline(never)]
    fn resume(&self) {
        without_interrupts(|| {
            SUSPENDED.store(false, Ordering::Relaxed);
            if skip::is_active() {
                return;
            }
            if transmit::carrier() {
                // Most of it is over, and the full queue was counted: not to be found in its middle.
                skip::begin(None);
            } else {
                edges_on();
            }
        });
    }
}

trap!(
    /// An edge on the receive pin.
    receive_trap calls on_receive, "csrsi 0x805, {debug}", "csrci 0x805, {debug}"
);
trap!(
    /// A link pulse may be due.
    link_timer_trap calls on_link_timer, "", "/* {debug} */"
);
trap!(
    /// A transmission that is skipped may be over.
    skip_trap calls on_skip, "", "/* {debug} */"
);

/// Receives what is on the line. In RAM: the preamble does not wait for the flash.
#[esp_hal::ram]
extern "C" fn on_receive() {
    // SAFETY: this is the interrupt that it belongs to.
    let Some(mac) = (unsafe { RECEIVE.get() }) else {
        return;
    };
    let filter = mac.next_filter();
    // On a full queue the MAC has suspended reception itself.
    let _ = mac.receive(|buffer| {
        // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off; buffers
        // of the queue are words.
        match unsafe { receive::transmission(buffer, &filter) } {
            Ok(summed) => {
                ended();
                if accepts(buffer, summed.octets, &filter) {
                    Reception::Frame(summed)
                } else {
                    refused(&filter)
                }
            }
            Err(heard) => without_frame(heard, buffer, &filter),
        }
    });
    // Last, so that the edges of TP_IDL are forgotten, too.
    clear_edges();
}

/// What a reception is that brought no frame. Begins to skip what is still on the line.
#[cold]
#[esp_hal::ram]
fn without_frame(heard: Heard, buffer: &[u8], filter: &FilterWords) -> Reception {
    let heard = polarity::seen(heard);
    if let Heard::Idle | Heard::Lost(0..PULSE_PAIRS) = heard {
        // SAFETY: this is the receive interrupt; interrupts are off in it.
        unsafe {
            if polarity::pulse() {
                link::pulse_heard(clock::now());
            }
        }
        return Reception::Nothing;
    }
    ended();
    match heard {
        Heard::Idle | Heard::Tail => return Reception::Truncated,
        // On a line that idles high a fragment that ends in its preamble is a preamble without end.
        Heard::Lost(_) | Heard::NoSfd if !transmit::carrier() => return Reception::Truncated,
        Heard::Lost(pairs) => {
            // SAFETY: this is the receive interrupt.
            unsafe { polarity::without_sfd(pairs) }
            skip::begin(None);
        }
        Heard::NoSfd | Heard::Oversize => skip::begin(None),
        Heard::Refused => {
            let octets = skip::predicted_octets(buffer);
            skip::begin(octets.map(|octets| octets.saturating_sub(LOOKED_AT)));
        }
    }
    match heard {
        Heard::Refused => refused(filter),
        Heard::Oversize => Reception::Oversize,
        _ => Reception::NoSfd,
    }
}

/// What a frame is that the filter does not let pass.
#[inline(always)]
fn refused(filter: &FilterWords) -> Reception {
    // Broadcast is always wanted, unless the queue is short of room.
    if filter.hash == [0; 2] {
        Reception::Shed
    } else {
        Reception::Filtered
    }
}

/// Whether the filter lets the frame of so many octets in `buffer` pass.
#[inline(always)]
fn accepts(buffer: &[u8], octets: u16, filter: &FilterWords) -> bool {
    // The loop has looked at the longer ones, groups apart.
    let looked_at = u32::from(octets) >= LOOKED_AT;
    looked_at && buffer[FRAME_OFFSET] & 1 == 0 || accepts_at_last(buffer, filter)
}

/// The same for a frame that the loop has not looked at.
#[cold]
#[esp_hal::ram]
fn accepts_at_last(buffer: &[u8], filter: &FilterWords) -> bool {
    let Some(to) = buffer.get(FRAME_OFFSET..FRAME_OFFSET + 6) else {
        return false;
    };
    if to[0] & 1 != 0 {
        return receive::is_wanted_group(to, filter) || filter.promiscuous != 0;
    }
    let half = |at: usize| u16::from_le_bytes([to[at], to[at + 1]]);
    let own = (half(0) ^ filter.own[0]) | (half(2) ^ filter.own[1]) | (half(4) ^ filter.own[2]);
    own == 0 || filter.promiscuous != 0
}

/// Looks whether a transmission that is skipped is over.
#[esp_hal::ram]
extern "C" fn on_skip() {
    skip::look();
}

/// Sends a link pulse and looks after what goes by periods.
#[esp_hal::ram]
extern "C" fn on_link_timer() {
    // SAFETY: interrupts are off in this one.
    unsafe { link::on_timer() }
}
