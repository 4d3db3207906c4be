//! GPIO: output and input registers, the signal matrix, pad interrupts, and the CPU's dedicated
//! GPIO channels.
//!
//! ESP32-C6 Technical Reference Manual, chapter "IO MUX and GPIO Matrix", and section "Dedicated
//! IO" of chapter "High-Performance CPU". Pads are queried lazily: a level when the program reads
//! it, the next edge when an interrupt waits for it.

use core::hint::select_unpredictable;

use crate::pads::Pads;
use crate::time::{Instant, Span};

/// Pads of the chip: GPIO0 to GPIO30.
pub const PADS: u8 = 31;
/// Bits of all pads.
const ALL_PADS: u32 = (1 << PADS) - 1;
/// Channels of the dedicated GPIO.
pub const DEDICATED_CHANNELS: usize = 8;

const OUT: u32 = 0x04;
const OUT_W1TS: u32 = 0x08;
const OUT_W1TC: u32 = 0x0c;
const ENABLE: u32 = 0x20;
const ENABLE_W1TS: u32 = 0x24;
const ENABLE_W1TC: u32 = 0x28;
const IN: u32 = 0x3c;
const STATUS: u32 = 0x44;
const STATUS_W1TS: u32 = 0x48;
const STATUS_W1TC: u32 = 0x4c;
const PCPU_INT: u32 = 0x5c;
const PCPU_NMI_INT: u32 = 0x60;
const PIN: u32 = 0x74;
const PIN_END: u32 = PIN + 4 * PADS as u32;
const IN_SEL: u32 = 0x154;
const IN_SEL_END: u32 = IN_SEL + 4 * SIGNALS as u32;
const OUT_SEL: u32 = 0x554;
const OUT_SEL_END: u32 = OUT_SEL + 4 * PADS as u32;

/// Input and output signals of the matrix.
const SIGNALS: usize = 128;
/// `CPU_GPIO_IN0` and `CPU_GPIO_OUT0`.
const DEDICATED_SIGNAL: usize = 28;
/// `OUT_SEL`: the pad follows the bit in `OUT`.
const SIMPLE_OUTPUT: u32 = 128;
/// `OUT_SEL`: invert; output enable from `ENABLE`; invert the output enable.
const OUT_INVERT: u32 = 1 << 8;
const OEN_FROM_ENABLE: u32 = 1 << 9;
const OEN_INVERT: u32 = 1 << 10;
/// `IN_SEL`: invert; through the matrix; constant levels.
const IN_INVERT: u32 = 1 << 6;
const IN_MATRIX: u32 = 1 << 7;
const IN_ONE: u32 = 0x38;
/// Function of the IO MUX that leads a pad to the matrix.
const MATRIX_FUNCTION: u8 = 1;

/// `PINn`: trigger of the pad's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    Never,
    Edge { rising: bool, falling: bool },
    Level(bool),
}

impl Trigger {
    fn from_pin(pin: u32) -> Self {
        match pin >> 7 & 7 {
            1 => Self::Edge {
                rising: true,
                falling: false,
            },
            2 => Self::Edge {
                rising: false,
                falling: true,
            },
            3 => Self::Edge {
                rising: true,
                falling: true,
            },
            4 => Self::Level(false),
            5 => Self::Level(true),
            _ => Self::Never,
        }
    }
}

/// An edge that will set a pad's status bit.
#[derive(Clone, Copy, Debug)]
struct Armed {
    edge: Instant,
    latch: Instant,
}

const DISARMED: Armed = Armed {
    edge: Instant::NEVER,
    latch: Instant::NEVER,
};

/// The dedicated channels that read one pad.
#[derive(Clone, Copy, Debug)]
struct ChannelInput {
    pad: u8,
    /// The channels' bits if the pad is high, and if it is low.
    high: u32,
    low: u32,
}

/// The GPIO block. Interrupt output 0 is the maskable interrupt, 1 the non-maskable one.
#[derive(Clone, Debug)]
pub struct Gpio {
    out: u32,
    enable: u32,
    status: u32,
    pins: [u32; PADS as usize],
    in_sel: [u32; SIGNALS],
    out_sel: [u32; PADS as usize],
    /// Pads with the input buffer enabled by the IO MUX.
    input_enable: u32,
    /// Functions of the pads in the IO MUX.
    functions: [u8; PADS as usize],
    dedicated_out: u32,
    dedicated_enable: u32,
    /// Pads that the chip drives, and their levels.
    driving: u32,
    level: u32,
    /// Pads that each dedicated channel drives.
    channel_pads: [u32; DEDICATED_CHANNELS],
    /// Pads that dedicated channels read, and the levels of all other channels.
    channel_inputs: Vec<ChannelInput>,
    channel_constants: u32,
    armed: [Armed; PADS as usize],
    next_latch: Instant,
    /// Time of the latest query; queries are in the order of time.
    last_query: Instant,
    /// Delay from a pad to the input register.
    input_delay: Span,
    /// Delay from an edge to the status bit and the interrupt line.
    interrupt_delay: Span,
}

impl Gpio {
    /// All pads inputs, nothing routed.
    pub fn new() -> Self {
        let mut gpio = Self {
            out: 0,
            enable: 0,
            status: 0,
            pins: [0; PADS as usize],
            in_sel: [0x3c; SIGNALS],
            out_sel: [SIMPLE_OUTPUT; PADS as usize],
            input_enable: 0,
            functions: [0; PADS as usize],
            dedicated_out: 0,
            dedicated_enable: 0,
            driving: 0,
            level: 0,
            channel_pads: [0; DEDICATED_CHANNELS],
            channel_inputs: Vec::new(),
            channel_constants: 0,
            armed: [DISARMED; PADS as usize],
            next_latch: Instant::NEVER,
            last_query: Instant::ZERO,
            input_delay: Span::ZERO,
            interrupt_delay: Span::ZERO,
        };
        gpio.route_inputs();
        gpio
    }

    /// Sets the delays of the input synchroniser and of an interrupt.
    pub fn set_delays(&mut self, input: Span, interrupt: Span) {
        (self.input_delay, self.interrupt_delay) = (input, interrupt);
    }

    /// The IO MUX switches the input buffer of `pad`.
    pub fn set_input_enable<P: Pads>(&mut self, pad: u8, on: bool, now: Instant, pads: &mut P) {
        let bit = 1 << pad;
        if (self.input_enable & bit != 0) != on {
            self.input_enable ^= bit;
            self.arm(pad, now, pads);
        }
    }

    /// The IO MUX selects a function of `pad`.
    pub const fn set_function(&mut self, pad: u8, function: u8) {
        self.functions[pad as usize] = function;
    }

    /// Pads that carry output `signal`: through the matrix, and `direct`, a pad and its function in the IO MUX.
    pub fn output_pads(&self, signal: u8, direct: (u8, u8)) -> u32 {
        let routed = |pad: &u8| {
            let select = self.out_sel[usize::from(*pad)] & 0xff;
            self.functions[usize::from(*pad)] == MATRIX_FUNCTION && select == u32::from(signal)
        };
        let direct = (self.functions[usize::from(direct.0)] == direct.1).then_some(direct.0);
        let pads = (0..PADS).filter(routed).chain(direct);
        pads.fold(0, |mask, pad| mask | 1 << pad)
    }

    /// The pad that input `signal` comes from: through the matrix or from `direct`, a pad and its function in the IO
    /// MUX. `None` if its input buffer is off, or a constant is selected.
    pub fn input_pad(&self, signal: u8, direct: (u8, u8)) -> Option<u8> {
        let select = self.in_sel[usize::from(signal)];
        let pad = if select & IN_MATRIX != 0 {
            (select & 0x3f) as u8
        } else {
            direct.0
        };
        (pad < PADS && self.input_enable >> pad & 1 != 0).then_some(pad)
    }

    /// The level of `pad` that reaches the inputs at `at`.
    #[inline]
    fn pad_level<P: Pads>(&mut self, pad: u8, at: Instant, pads: &mut P) -> bool {
        let bit = 1 << pad;
        if self.input_enable & bit == 0 {
            return false;
        }
        if self.driving & bit != 0 {
            return self.level & bit != 0;
        }
        self.last_query = self.last_query.max(at);
        pads.level(pad, self.last_query)
    }

    /// The `GPIO_IN` CSR at `now`: one bit per dedicated channel.
    #[inline]
    pub fn dedicated_in<P: Pads>(&mut self, now: Instant, pads: &mut P) -> u32 {
        let at = now - self.input_delay;
        let mut value = self.channel_constants;
        for i in 0..self.channel_inputs.len() {
            let ChannelInput { pad, high, low } = self.channel_inputs[i];
            // The level depends on data: a branch on it would be mispredicted half of the time.
            value |= select_unpredictable(self.pad_level(pad, at, pads), high, low);
        }
        value
    }

    /// The `GPIO_OUT` CSR.
    pub fn dedicated_out(&self) -> u32 {
        self.dedicated_out
    }

    /// The `GPIO_OEN` CSR: which channels drive pads that take their output enable from the
    /// peripheral.
    pub fn dedicated_enable(&self) -> u32 {
        self.dedicated_enable
    }

    /// Writes the `GPIO_OUT` CSR.
    pub fn set_dedicated_out<P: Pads>(&mut self, value: u32, now: Instant, pads: &mut P) {
        let changed = (self.dedicated_out ^ value) & 0xff;
        self.dedicated_out = value & 0xff;
        self.update_channels(changed, now, pads);
    }

    /// Writes the `GPIO_OEN` CSR.
    pub fn set_dedicated_enable<P: Pads>(&mut self, value: u32, now: Instant, pads: &mut P) {
        let changed = (self.dedicated_enable ^ value) & 0xff;
        self.dedicated_enable = value & 0xff;
        self.update_channels(changed, now, pads);
    }

    fn update_channels<P: Pads>(&mut self, mut channels: u32, now: Instant, pads: &mut P) {
        while channels != 0 {
            let channel = channels.trailing_zeros() as usize;
            channels &= channels - 1;
            self.update_outputs(self.channel_pads[channel], now, pads);
        }
    }

    /// The driver's state of `pad`: enabled, and level.
    fn output(&self, pad: u8) -> (bool, bool) {
        let select = self.out_sel[usize::from(pad)];
        let signal = select & 0xff;
        let enabled = self.enable >> pad & 1 != 0;
        let channel = (signal as usize).wrapping_sub(DEDICATED_SIGNAL);
        let (level, peripheral_enable) = if signal == SIMPLE_OUTPUT {
            (self.out >> pad & 1 != 0, enabled)
        } else if channel < DEDICATED_CHANNELS {
            (
                self.dedicated_out >> channel & 1 != 0,
                self.dedicated_enable >> channel & 1 != 0,
            )
        } else {
            // Peripherals whose signals are not modelled idle high (UARTs) and always drive.
            (true, true)
        };
        let enable = if select & OEN_FROM_ENABLE != 0 {
            enabled
        } else {
            peripheral_enable
        };
        (
            enable != (select & OEN_INVERT != 0),
            level != (select & OUT_INVERT != 0),
        )
    }

    /// Drives the pads in `mask` to the levels in the registers. A pad that is no longer driven
    /// counts as low outside: nothing pulls it up.
    fn update_outputs<P: Pads>(&mut self, mut mask: u32, now: Instant, pads: &mut P) {
        while mask != 0 {
            let pad = mask.trailing_zeros() as u8;
            mask &= mask - 1;
            let bit = 1 << pad;
            let (driven, level) = self.output(pad);
            let before = self.driving & self.level & bit != 0;
            let was_driven = self.driving & bit != 0;
            self.driving = self.driving & !bit | u32::from(driven) << pad;
            self.level = self.level & !bit | u32::from(driven && level) << pad;
            let after = driven && level;
            if before != after || driven && !was_driven {
                self.last_query = self.last_query.max(now);
                pads.drive(pad, after, now);
            }
            if Trigger::from_pin(self.pins[usize::from(pad)]) != Trigger::Never {
                if driven && was_driven {
                    self.on_own_edge(pad, before, after, now);
                } else if driven != was_driven {
                    self.arm(pad, now, pads);
                }
            }
        }
    }

    /// The chip's own output reaches the input of an armed pad.
    fn on_own_edge(&mut self, pad: u8, before: bool, after: bool, now: Instant) {
        let bit = 1 << pad;
        if before == after || self.input_enable & bit == 0 || self.status & bit != 0 {
            return;
        }
        let fires = match Trigger::from_pin(self.pins[usize::from(pad)]) {
            Trigger::Never => false,
            Trigger::Edge { rising, falling } => {
                if after {
                    rising
                } else {
                    falling
                }
            }
            Trigger::Level(level) => after == level,
        };
        if fires && self.armed[usize::from(pad)].latch == Instant::NEVER {
            self.set_armed(pad, now);
        }
    }

    fn set_armed(&mut self, pad: u8, edge: Instant) {
        let latch = if edge == Instant::NEVER {
            edge
        } else {
            edge + self.interrupt_delay
        };
        self.armed[usize::from(pad)] = Armed { edge, latch };
        self.update_next_latch();
    }

    fn update_next_latch(&mut self) {
        self.next_latch = self
            .armed
            .iter()
            .map(|armed| armed.latch)
            .min()
            .unwrap_or(Instant::NEVER);
    }

    /// Looks for the next event after `since` that sets the status bit of `pad`.
    fn arm<P: Pads>(&mut self, pad: u8, since: Instant, pads: &mut P) {
        let bit = 1 << pad;
        let trigger = Trigger::from_pin(self.pins[usize::from(pad)]);
        let masked = (self.input_enable & !self.status) & bit == 0;
        if trigger == Trigger::Never || masked {
            self.set_armed(pad, Instant::NEVER);
            return;
        }
        let since = since.max(self.last_query);
        let level = self.pad_level(pad, since, pads);
        let driven = self.driving & bit != 0;
        let mut next = |after| {
            if driven {
                Instant::NEVER
            } else {
                pads.next_edge(pad, after)
            }
        };
        let edge = match trigger {
            Trigger::Never => Instant::NEVER,
            Trigger::Level(wanted) if level == wanted => since,
            Trigger::Edge { rising, falling } => {
                let first = next(since);
                let fires = if level { falling } else { rising };
                if fires || first == Instant::NEVER {
                    first
                } else {
                    next(first)
                }
            }
            Trigger::Level(_) => next(since),
        };
        self.set_armed(pad, edge);
    }

    /// Queries the pads again for edges: the outside may have scheduled some since the last query.
    pub fn refresh<P: Pads>(&mut self, now: Instant, pads: &mut P) {
        let since = now - self.interrupt_delay;
        for pad in 0..PADS {
            let index = usize::from(pad);
            let waits = Trigger::from_pin(self.pins[index]) != Trigger::Never
                && self.input_enable & !self.status & 1 << pad != 0;
            // An edge that is on its way to the status bit already stays.
            if waits && self.armed[index].edge > since {
                self.arm(pad, since, pads);
            }
        }
    }

    /// Time at which the next status bit is set.
    pub fn next_event(&self) -> Instant {
        self.next_latch
    }

    /// Sets the status bits that are due.
    pub fn advance(&mut self, now: Instant) {
        if self.next_latch > now {
            return;
        }
        for (pad, armed) in self.armed.iter_mut().enumerate() {
            if armed.latch <= now {
                *armed = DISARMED;
                self.status |= 1 << pad;
            }
        }
        self.update_next_latch();
    }

    fn interrupting_pads(&self, enable_bit: u32) -> u32 {
        let mut left = self.status;
        let mut pads = 0;
        while left != 0 {
            let pad = left.trailing_zeros();
            left &= left - 1;
            pads |= (self.pins[pad as usize] >> enable_bit & 1) << pad;
        }
        pads
    }

    /// Levels of the interrupt outputs.
    pub fn interrupts(&self) -> u32 {
        if self.status == 0 {
            return 0;
        }
        u32::from(self.interrupting_pads(13) != 0) | u32::from(self.interrupting_pads(14) != 0) << 1
    }

    fn set_status<P: Pads>(&mut self, status: u32, now: Instant, pads: &mut P) {
        let mut cleared = self.status & !status;
        self.status = status & ALL_PADS;
        while cleared != 0 {
            let pad = cleared.trailing_zeros() as u8;
            cleared &= cleared - 1;
            self.arm(pad, now - self.interrupt_delay, pads);
        }
    }

    fn route_inputs(&mut self) {
        self.channel_inputs.clear();
        self.channel_constants = 0;
        for channel in 0..DEDICATED_CHANNELS {
            let select = self.in_sel[DEDICATED_SIGNAL + channel];
            let (source, invert) = (select & 0x3f, select & IN_INVERT != 0);
            if select & IN_MATRIX != 0 && source < u32::from(PADS) {
                let pad = source as u8;
                let known = self
                    .channel_inputs
                    .iter()
                    .position(|input| input.pad == pad);
                let i = known.unwrap_or_else(|| {
                    self.channel_inputs.push(ChannelInput {
                        pad,
                        high: 0,
                        low: 0,
                    });
                    self.channel_inputs.len() - 1
                });
                let input = &mut self.channel_inputs[i];
                *(if invert {
                    &mut input.low
                } else {
                    &mut input.high
                }) |= 1 << channel;
            } else {
                let one = select & IN_MATRIX != 0 && source == IN_ONE;
                self.channel_constants |= u32::from(one != invert) << channel;
            }
        }
    }

    fn route_outputs(&mut self) {
        self.channel_pads = [0; DEDICATED_CHANNELS];
        for (pad, &select) in self.out_sel.iter().enumerate() {
            let channel = ((select & 0xff) as usize).wrapping_sub(DEDICATED_SIGNAL);
            if let Some(pads) = self.channel_pads.get_mut(channel) {
                *pads |= 1 << pad;
            }
        }
    }

    /// Reads a register; `None` if it is plain storage.
    pub fn read<P: Pads>(&mut self, offset: u32, now: Instant, pads: &mut P) -> Option<u32> {
        let index = |base: u32| ((offset - base) / 4) as usize;
        Some(match offset {
            OUT => self.out,
            ENABLE => self.enable,
            IN => {
                let at = now - self.input_delay;
                let enabled = (0..PADS).filter(|pad| self.input_enable >> pad & 1 != 0);
                let enabled: Vec<u8> = enabled.collect();
                let levels = enabled
                    .into_iter()
                    .map(|pad| (pad, self.pad_level(pad, at, pads)));
                levels.fold(0, |value, (pad, level)| value | u32::from(level) << pad)
            }
            STATUS => self.status,
            PCPU_INT => self.interrupting_pads(13),
            PCPU_NMI_INT => self.interrupting_pads(14),
            OUT_W1TS | OUT_W1TC | ENABLE_W1TS | ENABLE_W1TC | STATUS_W1TS | STATUS_W1TC => 0,
            PIN..PIN_END => self.pins[index(PIN)],
            IN_SEL..IN_SEL_END => self.in_sel[index(IN_SEL)],
            OUT_SEL..OUT_SEL_END => self.out_sel[index(OUT_SEL)],
            _ => return None,
        })
    }

    /// Writes a register; `false` if it is plain storage.
    pub fn write<P: Pads>(&mut self, offset: u32, value: u32, now: Instant, pads: &mut P) -> bool {
        let index = |base: u32| ((offset - base) / 4) as usize;
        let (out, enable) = (self.out, self.enable);
        match offset {
            OUT => self.out = value,
            OUT_W1TS => self.out |= value,
            OUT_W1TC => self.out &= !value,
            ENABLE => self.enable = value,
            ENABLE_W1TS => self.enable |= value,
            ENABLE_W1TC => self.enable &= !value,
            STATUS => self.set_status(value, now, pads),
            STATUS_W1TS => self.set_status(self.status | value, now, pads),
            STATUS_W1TC => self.set_status(self.status & !value, now, pads),
            IN | PCPU_INT | PCPU_NMI_INT => {}
            PIN..PIN_END => {
                let pad = index(PIN);
                let before = Trigger::from_pin(self.pins[pad]);
                self.pins[pad] = value;
                if Trigger::from_pin(value) != before {
                    self.arm(pad as u8, now, pads);
                }
            }
            IN_SEL..IN_SEL_END => {
                self.in_sel[index(IN_SEL)] = value;
                self.route_inputs();
            }
            OUT_SEL..OUT_SEL_END => {
                let pad = index(OUT_SEL);
                self.out_sel[pad] = value;
                self.route_outputs();
                self.update_outputs(1 << pad, now, pads);
            }
            _ => return false,
        }
        let changed = (out ^ self.out) | (enable ^ self.enable);
        self.update_outputs(changed & ALL_PADS, now, pads);
        true
    }
}

impl Default for Gpio {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
