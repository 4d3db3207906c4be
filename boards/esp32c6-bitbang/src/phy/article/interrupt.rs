//! The PHY's two interrupts. Both are bound directly to the vector table, past esp-hal's
//! dispatcher, which takes longer than the preamble is long. They run with interrupts off, so
//! neither disturbs the other's timing.

use core::{
    arch::naked_asm,
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, Ordering},
};

use esp_hal::peripherals::{GPIO, TIMG0};
use linerate_ether::{frame, ledger::Counter};
use linerate_nic::mac::{self, ReceiveSwitch, Reception};

use super::{
    super::clock,
    RX_MASK, RX_PIN, clear_edges, link,
    receive::{self, DEBUG, End},
    transmit,
};
use crate::{LINERATE_LEDGER, stage};

/// The MAC's part in the receive interrupt.
pub type ReceiveInterrupt = mac::Interrupt<'static, stage::Receive, Switch, { stage::QUEUE_WORDS }>;

/// What a frame takes at least: 64 octets, and the SFD before it.
const SHORTEST: usize = frame::MIN_LEN + 1;
/// What a lone pulse looks like when the loop happens to catch it: next to nothing.
const PULSE: usize = 1;

/// When the last reception ended, in bit times.
pub(super) static RECEPTION_ENDED: AtomicU32 = AtomicU32::new(0);

struct Slot(UnsafeCell<Option<ReceiveInterrupt>>);

// SAFETY: `install` writes before the interrupt is enabled; after that only the interrupt, which
// does not nest, touches it.
unsafe impl Sync for Slot {}

static RECEIVE: Slot = Slot(UnsafeCell::new(None));

/// Gives the interrupt what it needs. Once, before it is enabled.
pub(super) fn install(receive: ReceiveInterrupt) {
    // SAFETY: see `Slot`.
    unsafe { *RECEIVE.0.get() = Some(receive) }
}

/// Switches the receive interrupt, while the queue has no room.
#[derive(Clone, Copy)]
pub struct Switch;

impl ReceiveSwitch for Switch {
    #[inline]
    fn suspend(&self) {
        // SAFETY: 0 = no interrupt for this pin.
        GPIO::regs()
            .pin(RX_PIN)
            .modify(|_, w| unsafe { w.int_ena().bits(0) });
    }

    #[inline]
    fn resume(&self) {
        // What came meanwhile is over or is noticed by its further edges.
        clear_edges();
        // SAFETY: 1 = CPU interrupt.
        GPIO::regs()
            .pin(RX_PIN)
            .modify(|_, w| unsafe { w.int_ena().bits(1) });
    }
}

/// A trap handler that saves what a function may change, calls it and returns from the trap.
/// `first` and `last` are the instructions right at the entry and right before the return.
macro_rules! trap {
    ($(#[$meta:meta])* $name:ident calls $function:path, $first:literal, $last:literal) => {
        $(#[$meta])*
        #[unsafe(naked)]
        #[unsafe(link_section = ".rwtext.interrupt.linerate")]
        pub(super) unsafe extern "C" fn $name() {
            naked_asm!(
                $first,
                "addi sp, sp, -64",
                "sw ra, 0(sp)",
                "sw t0, 4(sp)",
                "sw t1, 8(sp)",
                "sw t2, 12(sp)",
                "sw t3, 16(sp)",
                "sw t4, 20(sp)",
                "sw t5, 24(sp)",
                "sw t6, 28(sp)",
                "sw a0, 32(sp)",
                "sw a1, 36(sp)",
                "sw a2, 40(sp)",
                "sw a3, 44(sp)",
                "sw a4, 48(sp)",
                "sw a5, 52(sp)",
                "sw a6, 56(sp)",
                "sw a7, 60(sp)",
                "call {function}",
                "lw ra, 0(sp)",
                "lw t0, 4(sp)",
                "lw t1, 8(sp)",
                "lw t2, 12(sp)",
                "lw t3, 16(sp)",
                "lw t4, 20(sp)",
                "lw t5, 24(sp)",
                "lw t6, 28(sp)",
                "lw a0, 32(sp)",
                "lw a1, 36(sp)",
                "lw a2, 40(sp)",
                "lw a3, 44(sp)",
                "lw a4, 48(sp)",
                "lw a5, 52(sp)",
                "lw a6, 56(sp)",
                "lw a7, 60(sp)",
                "addi sp, sp, 64",
                $last,
                "mret",
                function = sym $function,
                debug = const DEBUG,
            )
        }
    };
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
    // SAFETY: see `Slot`.
    let Some(mac) = (unsafe { &mut *RECEIVE.0.get() }) else {
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

// The pin's number and mask are two names for one thing.
const _: () = assert!(RX_MASK == 1 << RX_PIN);
