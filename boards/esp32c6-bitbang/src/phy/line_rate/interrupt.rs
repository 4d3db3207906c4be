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
    receive::{self, ADDRESS_CHECKED_OCTETS, NoFrame},
    skip, transmit, without_interrupts,
};
use crate::stage;

/// The MAC's part in the receive interrupt.
pub type ReceiveInterrupt =
    mac::InterruptHalf<'static, stage::Receive, Switch, { stage::QUEUE_WORDS }>;

/// Minimum pairs of preamble bits; anything shorter is a pulse, not a packet.
const PULSE_PAIRS: u32 = 1;

/// End of the last reception except pulses, by the cycle counter.
pub(super) static RECEPTION_ENDED: AtomicU32 = AtomicU32::new(0);

/// Time of the end of the last reception.
#[inline]
pub(super) fn reception_ended() -> BitTimes {
    clock::at(RECEPTION_ENDED.load(Ordering::Relaxed))
}

/// Records the end of a reception.
#[inline(always)]
pub(super) fn record_end() {
    RECEPTION_ENDED.store(clock::cycles(), Ordering::Relaxed);
}

/// The queue is full: edge interrupts must stay off.
static SUSPENDED: AtomicBool = AtomicBool::new(false);

static RECEIVE: Slot<ReceiveInterrupt> = Slot::new();

/// Passes the interrupt its data.
///
/// # Safety
/// It is not yet enabled.
pub(super) unsafe fn install(receive: ReceiveInterrupt) {
    // SAFETY: guaranteed by the caller.
    unsafe { RECEIVE.install(receive) }
}

/// Enables edge interrupts, unless the queue is full or a transmission is skipped. Call it with interrupts
/// off.
#[inline(always)]
pub(super) fn edges_on() {
    if SUSPENDED.load(Ordering::Relaxed) || skip::is_active() {
        return;
    }
    // Transmissions in the meantime are over, or are detected by their further edges.
    clear_edges();
    interrupt_at_edges(true);
}

/// Switches the receive interrupt off while the queue is full.
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
                // Most of it is over, and it was counted as queue overflow: reception must not begin in its
                // middle.
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
    /// A skipped transmission may be over.
    skip_trap calls on_skip, "", "/* {debug} */"
);

/// Receives a transmission. In RAM: a flash access would take longer than the preamble.
#[esp_hal::ram]
extern "C" fn on_receive() {
    // SAFETY: this is the interrupt that owns it.
    let Some(mac) = (unsafe { RECEIVE.get() }) else {
        return;
    };
    let filter = mac.next_filter();
    // With a full queue the MAC has suspended reception.
    let _ = mac.receive(|buffer| {
        // SAFETY: this interrupt is enabled by a started PHY and runs with interrupts off; buffers of the
        // queue are words.
        match unsafe { receive::transmission(buffer, &filter) } {
            Ok(summed) => {
                record_end();
                if accepts(buffer, summed.octets, &filter) {
                    Reception::Frame(summed)
                } else {
                    rejected(&filter)
                }
            }
            Err(reason) => without_frame(reason, buffer, &filter),
        }
    });
    // Last, to include the edges of TP_IDL.
    clear_edges();
}

/// Classifies a reception without a frame. Begins to skip the rest of the transmission.
#[cold]
#[esp_hal::ram]
fn without_frame(reason: NoFrame, buffer: &[u8], filter: &FilterWords) -> Reception {
    let reason = polarity::corrected(reason);
    if let NoFrame::Idle | NoFrame::Lost(0..PULSE_PAIRS) = reason {
        // SAFETY: this is the receive interrupt; interrupts are off in it.
        unsafe {
            if polarity::on_pulse() {
                link::on_pulse(clock::now());
            }
        }
        return Reception::Nothing;
    }
    record_end();
    match reason {
        NoFrame::Idle | NoFrame::Tail => return Reception::Truncated,
        // On a line that idles high, a fragment that ends in its preamble looks like an endless preamble.
        NoFrame::Lost(_) | NoFrame::NoSfd if !transmit::carrier() => return Reception::Truncated,
        NoFrame::Lost(pairs) => {
            // SAFETY: this is the receive interrupt.
            unsafe { polarity::on_inverted_preamble(pairs) }
            skip::begin(None);
        }
        NoFrame::NoSfd | NoFrame::Oversize => skip::begin(None),
        NoFrame::Refused => {
            let octets = skip::predicted_octets(buffer);
            skip::begin(octets.map(|octets| octets.saturating_sub(ADDRESS_CHECKED_OCTETS)));
        }
    }
    match reason {
        NoFrame::Refused => rejected(filter),
        NoFrame::Oversize => Reception::Oversize,
        _ => Reception::NoSfd,
    }
}

/// Classifies a frame rejected by the filter.
#[inline(always)]
fn rejected(filter: &FilterWords) -> Reception {
    // Broadcast is always accepted, unless the queue is nearly full.
    if filter.hash == [0; 2] {
        Reception::Shed
    } else {
        Reception::Filtered
    }
}

/// True if the filter accepts the frame of `octets` octets in `buffer`.
#[inline(always)]
fn accepts(buffer: &[u8], octets: u16, filter: &FilterWords) -> bool {
    // The loop has checked the longer ones, except for groups.
    let is_checked = u32::from(octets) >= ADDRESS_CHECKED_OCTETS;
    is_checked && buffer[FRAME_OFFSET] & 1 == 0 || accepts_short(buffer, filter)
}

/// As [`accepts`] for a frame that the loop has not checked.
#[cold]
#[esp_hal::ram]
fn accepts_short(buffer: &[u8], filter: &FilterWords) -> bool {
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

/// Checks whether a skipped transmission is over.
#[esp_hal::ram]
extern "C" fn on_skip() {
    skip::on_timer();
}

/// Sends a link pulse and handles periodic tasks.
#[esp_hal::ram]
extern "C" fn on_link_timer() {
    // SAFETY: interrupts are off in this one.
    unsafe { link::on_timer() }
}
