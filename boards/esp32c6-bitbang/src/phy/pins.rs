//! The PHY's pins: pads of the line, and their routing to the dedicated GPIO CSRs.

use core::arch::asm;

use esp_hal::{
    gpio::{Event, Input, InputConfig, InputSignal, Level, Output, OutputConfig, OutputSignal},
    peripherals::{GPIO, GPIO5, GPIO6, GPIO10},
};

/// The dedicated output that drives the transmit pin, as a mask in CSR 0x805.
pub(super) const TX: u32 = 1 << 0;

/// The dedicated output that drives the debug pin, as a mask in CSR 0x805.
pub(super) const DEBUG: u32 = 1 << 1;

/// The receive pin, as a mask in the GPIO registers.
const RX_PIN: usize = 6;
const RX_MASK: u32 = 1 << RX_PIN;

/// The dedicated inputs.
const INPUTS: [InputSignal; 8] = [
    InputSignal::CPU_GPIO_0,
    InputSignal::CPU_GPIO_1,
    InputSignal::CPU_GPIO_2,
    InputSignal::CPU_GPIO_3,
    InputSignal::CPU_GPIO_4,
    InputSignal::CPU_GPIO_5,
    InputSignal::CPU_GPIO_6,
    InputSignal::CPU_GPIO_7,
];

/// The configured pins.
pub(super) struct Pins {
    _tx: Output<'static>,
    rx: Input<'static>,
    _debug: Output<'static>,
}

impl Pins {
    /// Routes transmit and debug pin to dedicated outputs, both low, and the receive pin to all
    /// dedicated inputs.
    pub(super) fn new(tx: GPIO5<'static>, rx: GPIO6<'static>, debug: GPIO10<'static>) -> Self {
        let tx = Output::new(tx, Level::Low, OutputConfig::default());
        let debug = Output::new(debug, Level::Low, OutputConfig::default());
        let rx = Input::new(rx, InputConfig::default());

        // SAFETY: both outputs (CSR 0x805) low, then enabled (CSR 0x803); the PHY owns them.
        unsafe {
            asm!(
                "csrc 0x805, {outputs}",
                "csrs 0x803, {outputs}",
                outputs = in(reg) TX | DEBUG,
            );
        }
        OutputSignal::CPU_GPIO_0.connect_to(&tx);
        OutputSignal::CPU_GPIO_1.connect_to(&debug);
        let line = rx.peripheral_input().with_input_inverter(true);
        for input in INPUTS {
            input.connect_to(&line);
        }
        Self {
            _tx: tx,
            rx,
            _debug: debug,
        }
    }

    /// Enables interrupts at each edge of the receive pin. Only after the handler is bound: before that, an
    /// edge would call esp-hal's handler, which disables the pin's interrupt.
    pub(super) fn enable_edge_interrupts(&mut self) {
        self.rx.listen(Event::AnyEdge);
    }
}

/// Enables or disables the CPU interrupt at edges of the receive pin.
#[inline(always)]
pub(super) fn interrupt_at_edges(enabled: bool) {
    // SAFETY: 0 = no interrupt for this pin, 1 = CPU interrupt.
    GPIO::regs()
        .pin(RX_PIN)
        .modify(|_, w| unsafe { w.int_ena().bits(u8::from(enabled)) });
}

/// Inverts the dedicated inputs for a swapped pair, or restores them. The pin's interrupt is for edges, which
/// are unaffected.
#[cfg(feature = "line-rate")]
#[inline(always)]
pub(super) fn invert_inputs(inverted: bool) {
    for input in INPUTS {
        GPIO::regs()
            .func_in_sel_cfg(input as usize)
            .modify(|_, w| w.in_inv_sel().bit(!inverted));
    }
}

/// Clears edges of the receive pin not yet handled by the interrupt.
#[inline(always)]
pub(super) fn clear_edges() {
    // SAFETY: clears this pin's latch only.
    GPIO::regs()
        .status_w1tc()
        .write(|w| unsafe { w.bits(RX_MASK) });
}

/// As [`clear_edges`]; returns true if there were any. The latch is set while interrupts are off, too.
#[cfg(feature = "line-rate")]
#[inline(always)]
pub(super) fn take_edges() -> bool {
    let any = GPIO::regs().status().read().bits() & RX_MASK != 0;
    if any {
        clear_edges();
    }
    any
}
