//! Waits for the end of an irrelevant transmission while the CPU is free for other work.
//!
//! The edge interrupt is off meanwhile. A timer wakes shortly before the end that the frame's header
//! predicts, or every few microseconds without a prediction, checks whether the line is still busy, and
//! enables edge interrupts when it is not. A gap between two frames, 9.6 us or the 4.7 that are left of it
//! behind repeaters, is longer than the time between two checks. A babbling station is checked less often
//! after a while: at most the first frame after it is missed.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use esp_hal::{
    peripherals::TIMG1,
    timer::{Timer as _, timg::TimerGroup},
};
use linerate_ether::fcs;
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, TypeOrLength};
use linerate_nic::bitbang::FRAME_OFFSET;

use super::{super::pins::interrupt_at_edges, interrupt, transmit::carrier, without_interrupts};

/// Timer ticks per microsecond: the crystal's 40 MHz, which esp-hal selects, divided by 2, the minimum
/// divider.
const TICKS_PER_US: u32 = 20;
/// Interval between two checks of the line.
const CHECK_INTERVAL_US: u32 = 2;
const CHECK_INTERVAL_TICKS: u32 = CHECK_INTERVAL_US * TICKS_PER_US;
/// The same while a station babbles.
const BABBLE_CHECK_INTERVAL_TICKS: u32 = 200 * TICKS_PER_US;
/// Checks until it counts as babbling: 20 ms, the minimum that a jabber function allows (IEEE 802.3 clause
/// 14.2.1.6).
const BABBLE_CHECKS: u32 = 20_000 / CHECK_INTERVAL_US;
/// Lead of the timer before the predicted end, and number of checks of the line then.
const LEAD_TICKS: u32 = 2 * TICKS_PER_US;
const CHECKS_AT_END: u32 = 32;
/// Ticks per octet: 0.8 us.
const TICKS_PER_OCTET: u32 = TICKS_PER_US * 8 / 10;

static ACTIVE: AtomicBool = AtomicBool::new(false);
static CHECKS: AtomicU32 = AtomicU32::new(0);

/// Prepares the timer.
pub(super) fn start() {
    // SAFETY: nobody else uses this timer group.
    let timer = TimerGroup::new(unsafe { TIMG1::steal() }).timer0;
    timer.enable_interrupt(true);
}

/// True while a transmission is being skipped: edge interrupts must stay off.
#[inline(always)]
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// The same, after a check of the line: a station that waits for the medium notices the end at once, and
/// defers for the gap like all others.
#[inline(always)]
pub(super) fn is_still_active() -> bool {
    is_active()
        && without_interrupts(|| {
            if is_active() && !carrier() && !carrier() {
                end();
            }
            is_active()
        })
}

#[esp_hal::ram]
fn end() {
    ACTIVE.store(false, Ordering::Relaxed);
    interrupt::record_end();
    interrupt::edges_on();
}

/// Length in octets of the frame that begins in `buffer`, by its header; `None` if the header does not state
/// it. [`ADDRESS_CHECK_OCTETS`](super::receive::ADDRESS_CHECK_OCTETS) of it are received.
#[inline(always)]
pub(super) fn predicted_octets(buffer: &[u8]) -> Option<u32> {
    let field = |at: usize| {
        let bytes = buffer.get(FRAME_OFFSET + at..FRAME_OFFSET + at + 2);
        bytes.map_or(0, |bytes| u32::from(bytes[0]) << 8 | u32::from(bytes[1]))
    };
    let data = match TypeOrLength::from_bits(field(ADDRESSES_LEN) as u16) {
        TypeOrLength::Length(length) => u32::from(length),
        TypeOrLength::Type(EtherType::IPV4) => field(HEADER_LEN + 2),
        TypeOrLength::Type(EtherType::IPV6) => 40 + field(HEADER_LEN + 4),
        _ => return None,
    };
    let octets = (HEADER_LEN + fcs::LEN) as u32 + data;
    (octets <= 1518).then_some(octets)
}

/// Skips the current transmission, of which `octets` are left, if known.
#[esp_hal::ram]
pub(super) fn begin(octets: Option<u32>) {
    ACTIVE.store(true, Ordering::Relaxed);
    CHECKS.store(0, Ordering::Relaxed);
    interrupt_at_edges(false);
    let ticks = octets.map_or(0, |octets| octets * TICKS_PER_OCTET);
    set_timer(ticks.saturating_sub(LEAD_TICKS).max(CHECK_INTERVAL_TICKS));
}

/// Sets the timer's interrupt this number of ticks from now.
#[inline(always)]
fn set_timer(ticks: u32) {
    let timer = TIMG1::regs().t(0);
    // SAFETY: any counter and alarm values are valid.
    unsafe {
        timer.loadlo().write(|w| w.bits(0));
        timer.load().write(|w| w.bits(1));
        timer.alarmlo().write(|w| w.bits(ticks));
        timer.config().write(|w| {
            w.divider().bits(2);
            w.increase().set_bit().en().set_bit().alarm_en().set_bit()
        });
    }
}

/// The timer's interrupt: checks whether the transmission is over.
#[inline(always)]
pub(super) fn on_timer() {
    TIMG1::regs().int_clr().write(|w| w.t(0).clear_bit_by_one());
    if !is_active() {
        return;
    }
    let checks = CHECKS.load(Ordering::Relaxed);
    CHECKS.store(checks.saturating_add(1), Ordering::Relaxed);
    // At the first check the end is near, if it was predicted.
    let checks_now = if checks == 0 { CHECKS_AT_END } else { 1 };
    for _ in 0..checks_now {
        // Twice: with jitter, a level may last a little longer than one check.
        if !carrier() && !carrier() {
            return end();
        }
    }
    set_timer(if checks < BABBLE_CHECKS {
        CHECK_INTERVAL_TICKS
    } else {
        BABBLE_CHECK_INTERVAL_TICKS
    });
}
