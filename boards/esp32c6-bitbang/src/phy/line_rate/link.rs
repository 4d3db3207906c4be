//! The link to the partner: connects the state machines of [`linerate_nic::link`] to the link pulse timer,
//! the receive interrupt and the main thread.
//!
//! Half duplex is advertised: the transmit loop detects a simultaneous transmission, but cannot receive it.
//! `LINERATE_DUPLEX=half` or `full`, set at build time, forces a duplex without negotiation.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use esp_hal::{
    peripherals::TIMG0,
    time::Duration,
    timer::{Timer as _, timg::TimerGroup},
};
use linerate_ether::{
    ledger::Counter,
    phy10::link::{LinkCodeWord, LinkEvent},
};
use linerate_nic::{
    device::LinkState,
    link::{Abilities, Duplex, Link, LinkFault, Mode, Pulse, Status},
    mac::BitTimes,
};

use super::{super::trap::Slot, clock, interrupt, polarity, transmit};
use crate::{LINERATE_LEDGER, event, info, phy::without_interrupts};

/// Timer ticks per bit time: the crystal's 40 MHz, which esp-hal selects, divided by 2, the minimum divider.
const TICKS_PER_BIT: u32 = 2;

/// The mode configured at build time.
const fn mode() -> Mode {
    match option_env!("LINERATE_DUPLEX") {
        None => Mode::Negotiate(LinkCodeWord::TEN_HALF),
        Some(text) => match text.as_bytes() {
            b"auto" => Mode::Negotiate(LinkCodeWord::TEN_HALF),
            b"half" => Mode::Forced(Duplex::Half),
            b"full" => Mode::Forced(Duplex::Full),
            _ => panic!("LINERATE_DUPLEX is not auto, half or full"),
        },
    }
}

const MODE: Mode = mode();

/// Accessed with interrupts off only.
static LINK: Slot<Link> = Slot::new();
static UP: AtomicBool = AtomicBool::new(false);
static FULL_DUPLEX: AtomicBool = AtomicBool::new(false);
/// A change that [`report`] has not yet printed.
static CHANGED: AtomicBool = AtomicBool::new(false);
/// End of the last reception that was passed to the link, by the cycle counter.
static RX_END: AtomicU32 = AtomicU32::new(0);
/// Time of the last packet sent.
static SENT_AT: AtomicU32 = AtomicU32::new(0);
/// The timer's interrupt has passed receptions to the link; due transmissions are still pending.
static PASSED: AtomicBool = AtomicBool::new(false);
/// A reception during an own packet since the timer's last interrupt.
static ACTIVITY_WHILE_SENDING: AtomicBool = AtomicBool::new(false);
static REMOTE_FAULT: AtomicBool = AtomicBool::new(false);

/// Starts the link and its timer. Call it before the interrupts are enabled.
pub(super) fn start(timer: TIMG0<'static>) {
    // SAFETY: no interrupt uses it yet.
    unsafe { LINK.install(Link::new(MODE)) }
    FULL_DUPLEX.store(MODE == Mode::Forced(Duplex::Full), Ordering::Relaxed);
    let timer = TimerGroup::new(timer).timer0;
    timer
        .load_value(Duration::from_millis(16))
        .expect("16 ms fit the timer");
    timer.enable_auto_reload(true);
    timer.enable_interrupt(true);
    timer.start();
}

/// Calls `f` with the link, and publishes the resulting state.
///
/// # Safety
/// Interrupts are off, and `f` does not call this.
#[inline(always)]
unsafe fn with_link<T: Default>(f: impl FnOnce(&mut Link) -> T) -> T {
    // SAFETY: the caller guarantees that this is the only reference.
    let Some(link) = (unsafe { LINK.get() }) else {
        return T::default();
    };
    let result = f(link);
    if let Some(status) = link.take_change() {
        publish(status);
    }
    result
}

#[cold]
fn publish(status: Status) {
    let up = status.state == LinkState::Up;
    if UP.swap(up, Ordering::Relaxed) != up {
        LINERATE_LEDGER.count(if up {
            Counter::LinkUps
        } else {
            Counter::LinkDowns
        });
    }
    let fault = status.fault == Some(LinkFault::Remote);
    if !REMOTE_FAULT.swap(fault, Ordering::Relaxed) && fault {
        LINERATE_LEDGER.count(Counter::RemoteFaults);
    }
    FULL_DUPLEX.store(status.duplex == Duplex::Full, Ordering::Relaxed);
    CHANGED.store(true, Ordering::Relaxed);
}

/// Handles a pulse for which the receive interrupt was called at `at`. Counts the completed link event.
///
/// # Safety
/// Interrupts are off.
#[inline(always)]
pub(super) unsafe fn on_pulse(at: BitTimes) {
    // SAFETY: guaranteed by the caller.
    count(unsafe { with_link(|link| link.on_pulse(at)) });
}

/// Records that the inputs were inverted, or restored.
///
/// # Safety
/// Interrupts are off.
pub(super) unsafe fn set_swapped(swapped: bool) {
    // SAFETY: guaranteed by the caller.
    unsafe { with_link(|link| link.set_swapped(swapped, clock::now())) }
    CHANGED.store(true, Ordering::Relaxed);
}

fn count(event: Option<LinkEvent>) {
    match event {
        Some(LinkEvent::NormalPulse) => LINERATE_LEDGER.count(Counter::RxLinkPulses),
        Some(LinkEvent::Burst(_)) => LINERATE_LEDGER.count(Counter::RxLinkBursts),
        Some(LinkEvent::Malformed(_)) | None => {}
    }
}

/// The link pulse timer's interrupt. It occurs twice each time, for receiving and for sending: a frame that
/// begins meanwhile must not wait until its preamble is over, so it is received in between.
///
/// # Safety
/// Interrupts are off.
#[inline(always)]
pub(super) unsafe fn on_timer() {
    let passed = PASSED.load(Ordering::Relaxed);
    PASSED.store(!passed, Ordering::Relaxed);
    // SAFETY: guaranteed by the caller.
    unsafe {
        if passed {
            send_due();
        } else {
            pass_receptions();
        }
    }
}

/// Passes receptions to the link. The timer's interrupt stays pending.
///
/// # Safety
/// Interrupts are off.
#[inline(always)]
unsafe fn pass_receptions() {
    let now = clock::now();
    // SAFETY: guaranteed by the caller.
    let event = unsafe {
        with_link(|link| {
            pass_activity(link, now);
            link.handle_silence(now)
        })
    };
    count(event);
}

/// Passes the frames up to `now` to the link, which the receive interrupt has no time for, and receptions
/// during own packets.
#[inline(always)]
fn pass_activity(link: &mut Link, now: BitTimes) {
    let ended = interrupt::RECEPTION_ENDED.load(Ordering::Relaxed);
    if RX_END.swap(ended, Ordering::Relaxed) != ended {
        link.on_frame(interrupt::reception_ended());
    }
    if ACTIVITY_WHILE_SENDING.load(Ordering::Relaxed) {
        ACTIVITY_WHILE_SENDING.store(false, Ordering::Relaxed);
        link.on_activity_while_sending(now);
    }
}

/// Sends what is due. A frame may have been received since the check: 1.2 ms.
///
/// # Safety
/// Interrupts are off.
#[inline(always)]
unsafe fn send_due() {
    let now = clock::now();
    let sent = BitTimes(SENT_AT.load(Ordering::Relaxed));
    // SAFETY: guaranteed by the caller.
    let due = unsafe {
        with_link(|link| {
            pass_activity(link, now);
            Some(link.on_timer(now, Some(sent)))
        })
    };
    let Some(due) = due else { return };
    count(due.completed);
    if let Some(pulse) = due.pulse {
        // SAFETY: the PHY is started and interrupts are off.
        unsafe { transmit::link_pulse() }
        match pulse {
            Pulse::Normal => LINERATE_LEDGER.count(Counter::TxLinkPulses),
            Pulse::Last => LINERATE_LEDGER.count(Counter::TxLinkBursts),
            Pulse::Burst => {}
        }
    }
    clock::tick();
    let timer = TIMG0::regs();
    timer.int_clr().write(|w| w.t(0).clear_bit_by_one());
    // The counter was reset to 0 by the alarm.
    // SAFETY: any alarm does.
    timer
        .t(0)
        .alarmlo()
        .write(|w| unsafe { w.bits(due.next.0 * TICKS_PER_BIT) });
    // The alarm disables itself each time.
    timer.t(0).config().modify(|_, w| w.alarm_en().set_bit());
}

/// Records that a packet was sent until `at`. It replaces a link pulse.
#[inline(always)]
pub(super) fn on_packet_sent(at: BitTimes) {
    SENT_AT.store(at.0, Ordering::Relaxed);
}

/// Records a reception during an own packet. Call it with interrupts off.
#[inline(always)]
pub(super) fn on_activity_while_sending() {
    ACTIVITY_WHILE_SENDING.store(true, Ordering::Relaxed);
}

/// Link state.
#[inline(always)]
pub(super) fn state() -> LinkState {
    if UP.load(Ordering::Relaxed) {
        LinkState::Up
    } else {
        LinkState::Down
    }
}

/// Duplex mode.
#[inline(always)]
pub(super) fn duplex() -> Duplex {
    if FULL_DUPLEX.load(Ordering::Relaxed) {
        Duplex::Full
    } else {
        Duplex::Half
    }
}

/// Prints the link state on the console if it has changed since the last call.
#[inline(always)]
pub fn report() {
    if CHANGED.load(Ordering::Relaxed) {
        print_state();
    }
}

/// In flash: after a change of the link, the interrupts may be delayed. esp-hal's scripts place a section of
/// this name there, and `ld/all_code.x` does not include it.
#[cold]
#[unsafe(link_section = ".literal.linerate_link")]
fn print_state() {
    let status = without_interrupts(|| {
        CHANGED.store(false, Ordering::Relaxed);
        // SAFETY: interrupts are off.
        unsafe { LINK.get() }.map(|link| link.status())
    });
    let Some(status) = status else { return };
    let state = match status.state {
        LinkState::Up => "up",
        LinkState::Down => "down",
    };
    let (duplex, by) = (status.duplex.name(), status.established_by.name());
    let partner = Partner(status.partner);
    let fault = status.fault.map_or("", LinkFault::name);
    let polarity = if polarity::is_swapped() {
        "swapped"
    } else {
        "normal"
    };
    info!(
        "Link {state}: {duplex} duplex by {by}; partner: {partner}; polarity: {polarity}; {fault}"
    );
    event!(
        "link",
        "\"state\":\"{state}\",\"duplex\":\"{duplex}\",\"by\":\"{by}\",\"partner\":\"{partner}\",\"polarity\":\"{polarity}\",\"fault\":\"{fault}\""
    );
}

/// The partner's advertisement, if any.
struct Partner(Option<LinkCodeWord>);

impl core::fmt::Display for Partner {
    #[unsafe(link_section = ".literal.linerate_link")]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(word) => Abilities(word).fmt(f),
            None => Ok(()),
        }
    }
}
