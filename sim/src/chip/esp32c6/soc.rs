//! Everything around the hart: devices at their addresses, their clocks, interrupts and events.

use super::clock::CpuClock;
use super::console::{Console, Port};
use super::report::{Report, ReportKind};
use super::rom::Rom;
use super::storage::{Storage, register_name};
use super::{Config, ResetCause, WatchEvent};
use crate::device::{
    Action, ClockTree, Device, Efuse, FunctionClock, Gpio, I2cAna, IntMtx, IntPri, LpTimer, LpWdt,
    Plic, Rng, SysTimer, TimerGroup, Uart, UsbSerial,
};
use crate::pads::Pads;
use crate::time::{Instant, Span};

/// Number of consecutive equal reads of a register without behaviour that counts as waiting for it.
const POLL_LIMIT: u32 = 1_000_000;

/// A peripheral with behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Uart0,
    Uart1,
    UsbSerial,
    Timg0,
    Timg1,
    SysTimer,
    LpTimer,
    LpWdt,
    Gpio,
    IntPri,
    IntMtx,
    Plic,
    Rng,
    Efuse,
    I2cAna,
    IoMux,
    Pcr,
}

/// Blocks with events: the first ones of the enum.
const EVENT_BLOCKS: [Block; 9] = [
    Block::Uart0,
    Block::Uart1,
    Block::UsbSerial,
    Block::Timg0,
    Block::Timg1,
    Block::SysTimer,
    Block::LpTimer,
    Block::LpWdt,
    Block::Gpio,
];

impl Block {
    /// The block at `addr` and its base (Technical Reference Manual, "System and Memory", table
    /// of peripheral addresses).
    #[inline]
    fn at(addr: u32) -> Option<(Self, u32)> {
        let block = match addr >> 12 {
            0x60000 => Self::Uart0,
            0x60001 => Self::Uart1,
            0x60008 => Self::Timg0,
            0x60009 => Self::Timg1,
            0x6000a => Self::SysTimer,
            0x6000f => Self::UsbSerial,
            0x60010 => Self::IntMtx,
            0x60090 => Self::IoMux,
            0x60091 => Self::Gpio,
            0x60096 => Self::Pcr,
            0x600c5 => Self::IntPri,
            _ => {
                let block = match addr >> 10 {
                    0x80004 => Self::Plic,
                    0x1802be => Self::I2cAna,
                    0x1802c2 => Self::Efuse,
                    0x1802c3 => Self::LpTimer,
                    0x1802c7 => Self::LpWdt,
                    0x1802ca => Self::Rng,
                    _ => return None,
                };
                return Some((block, addr & !0x3ff));
            }
        };
        Some((block, addr & !0xfff))
    }

    /// True if a read takes a byte out of a FIFO.
    fn reads_have_side_effects(self) -> bool {
        matches!(self, Self::Uart0 | Self::Uart1 | Self::UsbSerial)
    }

    /// The interrupt sources of the block's interrupt outputs (Technical Reference Manual,
    /// "Interrupt Matrix", table of peripheral interrupt sources).
    fn sources(self) -> &'static [u8] {
        match self {
            Self::Uart0 => &[43],
            Self::Uart1 => &[44],
            Self::UsbSerial => &[48],
            Self::Timg0 => &[51, 53],
            Self::Timg1 => &[54, 56],
            Self::SysTimer => &[57, 58, 59],
            Self::LpTimer => &[15],
            Self::LpWdt => &[18],
            Self::Gpio => &[30, 31],
            Self::IntPri => &[22, 23, 24, 25],
            _ => &[],
        }
    }
}

/// The last register without behaviour that was read, and how often.
#[derive(Debug, Default)]
struct Poll {
    addr: u32,
    value: u32,
    count: u32,
}

/// The chip without its hart and memory.
#[derive(Debug)]
pub(super) struct Soc {
    pub clock: CpuClock,
    pub console: Console,
    pub rom: Rom,
    pub reports: Vec<Report>,
    pub watch_events: Vec<WatchEvent>,
    /// A requested reset, for which the hart has to stop.
    pub reset: Option<ResetCause>,
    /// The CPU's clock changed: costs in nanoseconds take a different number of cycles now.
    pub clock_changed: bool,
    /// A register that the program polls without effect.
    pub stuck_poll: Option<(u32, u32)>,
    /// Cause of the last reset, as returned by `rtc_get_reset_reason`.
    pub reset_cause: ResetCause,
    pub uart: [Uart; 2],
    pub usb_serial: UsbSerial,
    pub gpio: Gpio,
    pub efuse: Efuse,
    timg: [TimerGroup; 2],
    systimer: SysTimer,
    lp_timer: LpTimer,
    lp_wdt: LpWdt,
    intmtx: IntMtx,
    intpri: IntPri,
    plic: Plic,
    rng: Rng,
    i2c_ana: I2cAna,
    storage: Storage,
    events: [Instant; EVENT_BLOCKS.len()],
    pending: Option<u8>,
    poll: Poll,
    /// The time until which the hart may run, as cycle and as instant, and its limit apart from
    /// events.
    deadline: u64,
    deadline_at: Instant,
    limit: Instant,
    input_cycles: u64,
    interrupt_ns: u64,
}

impl Soc {
    pub fn new(config: &Config) -> Self {
        let timing = &config.timing;
        let slow = timing.chip("slow_clock_hertz");
        let packet = Span::from_ns(timing.chip("usb_serial_packet_ns"));
        let mut soc = Self {
            clock: CpuClock::new(80_000_000),
            console: Console::default(),
            rom: Rom::new(timing),
            reports: Vec::new(),
            watch_events: Vec::new(),
            reset: None,
            clock_changed: true,
            stuck_poll: None,
            reset_cause: ResetCause::PowerOn,
            uart: [Uart::default(), Uart::default()],
            usb_serial: UsbSerial::new(packet),
            gpio: Gpio::new(),
            efuse: Efuse::new(config.mac),
            timg: [TimerGroup::new(slow), TimerGroup::new(slow)],
            systimer: SysTimer::default(),
            lp_timer: LpTimer::new(slow),
            lp_wdt: LpWdt::new(slow),
            intmtx: IntMtx::default(),
            intpri: IntPri::default(),
            plic: Plic::default(),
            rng: Rng::new(config.seed),
            i2c_ana: I2cAna::default(),
            storage: Storage::new(),
            events: [Instant::NEVER; EVENT_BLOCKS.len()],
            pending: None,
            poll: Poll::default(),
            deadline: 0,
            deadline_at: Instant::ZERO,
            limit: Instant::ZERO,
            input_cycles: timing.chip("dedicated_input_cycles"),
            interrupt_ns: timing.chip("gpio_interrupt_ns"),
        };
        for (offset, value) in ClockTree::<fn(u32) -> u32>::HAND_OFF {
            soc.storage.set(0x6009_6000 + offset, value);
        }
        soc.update_clocks(0);
        soc
    }

    /// Continues from `before` after a reset at `cycle`: time, consoles, reports and the LP timer
    /// are kept.
    pub fn resume_from(&mut self, before: &mut Self, cycle: u64, cause: ResetCause) {
        let hertz = self.clock.hertz();
        self.clock = before.clock;
        self.clock.set_hertz(hertz, cycle);
        self.reset_cause = cause;
        std::mem::swap(&mut self.console, &mut before.console);
        std::mem::swap(&mut self.reports, &mut before.reports);
        std::mem::swap(&mut self.watch_events, &mut before.watch_events);
        std::mem::swap(&mut self.rng, &mut before.rng);
        std::mem::swap(&mut self.lp_timer, &mut before.lp_timer);
        self.storage.keep_access_flags(&before.storage);
        self.rom.inherit_reported(&mut before.rom);
        let now = self.clock.instant(cycle);
        self.systimer.reset(now);
        self.sync_block(Block::LpTimer, now);
    }

    /// The enabled pending interrupt line.
    #[inline]
    pub fn pending(&self) -> Option<u8> {
        self.pending
    }

    /// The first cycle at which the hart must not begin an instruction.
    #[inline]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    pub fn report(&mut self, addr: u32, kind: ReportKind, at: Instant) {
        self.reports.push(Report { at, addr, kind });
    }

    /// Lets the hart run until `limit`, the pads' deadline or the next event.
    pub fn set_limit<P: Pads>(&mut self, limit: Instant, pads: &P) {
        self.limit = limit;
        self.deadline_at = Instant::NEVER;
        self.deadline = self.clock.cycle_at(Instant::NEVER);
        self.shorten_deadline(limit.min(pads.deadline()));
        self.shorten_deadline(self.next_event());
    }

    /// The hart must return at `at` at the latest.
    #[inline]
    pub fn shorten_deadline(&mut self, at: Instant) {
        if at < self.deadline_at {
            self.set_deadline(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_deadline(&mut self, at: Instant) {
        self.deadline_at = at;
        self.deadline = self.clock.cycle_at(at);
    }

    /// Makes the hart return before its next instruction.
    pub fn stop_now(&mut self) {
        self.deadline_at = Instant::ZERO;
        self.deadline = 0;
    }

    /// Time of the next device event.
    pub fn next_event(&self) -> Instant {
        self.events.iter().copied().min().unwrap_or(Instant::NEVER)
    }

    /// Processes the device events that are due at `now`.
    pub fn advance(&mut self, now: Instant) {
        for (i, block) in EVENT_BLOCKS.into_iter().enumerate() {
            if self.events[i] <= now {
                match self.device(block) {
                    Some(device) => device.advance(now),
                    None => self.gpio.advance(now),
                }
                self.sync_block(block, now);
            }
        }
    }

    /// True if the block has an event between the hart's last stop and this access.
    fn is_due(&self, block: Block, now: Instant) -> bool {
        self.events
            .get(block as usize)
            .is_some_and(|&event| event <= now)
    }

    /// Queries the pads again for the edges that interrupts wait for.
    pub fn refresh_pads<P: Pads>(&mut self, now: Instant, pads: &mut P) {
        self.gpio.refresh(now, pads);
        self.sync_block(Block::Gpio, now);
    }

    fn device(&mut self, block: Block) -> Option<&mut dyn Device> {
        Some(match block {
            Block::Uart0 => &mut self.uart[0],
            Block::Uart1 => &mut self.uart[1],
            Block::UsbSerial => &mut self.usb_serial,
            Block::Timg0 => &mut self.timg[0],
            Block::Timg1 => &mut self.timg[1],
            Block::SysTimer => &mut self.systimer,
            Block::LpTimer => &mut self.lp_timer,
            Block::LpWdt => &mut self.lp_wdt,
            Block::IntPri => &mut self.intpri,
            Block::IntMtx => &mut self.intmtx,
            Block::Plic => &mut self.plic,
            Block::Rng => &mut self.rng,
            Block::Efuse => &mut self.efuse,
            Block::I2cAna => &mut self.i2c_ana,
            Block::Gpio | Block::IoMux | Block::Pcr => return None,
        })
    }

    /// Applies the changes after an access to `block` or its event: interrupt levels, the next
    /// event, console output, a reset.
    pub fn sync_block(&mut self, block: Block, now: Instant) {
        let (levels, next) = match self.device(block) {
            Some(device) => (device.interrupts(), device.next_event()),
            None if block == Block::Gpio => (self.gpio.interrupts(), self.gpio.next_event()),
            None => return,
        };
        let mut changed = matches!(block, Block::IntMtx | Block::Plic);
        for (output, &source) in block.sources().iter().enumerate() {
            changed |= self
                .intmtx
                .set_source(usize::from(source), levels >> output & 1 != 0);
        }
        if changed {
            self.plic.set_lines(self.intmtx.lines());
            self.pending = self.plic.pending();
        }
        if let Some(event) = self.events.get_mut(block as usize) {
            *event = next;
            self.shorten_deadline(next);
        }
        match block {
            Block::Uart0 if self.uart[0].has_sent() => {
                self.console
                    .push(Port::Uart0, &self.uart[0].take_sent(), now);
            }
            Block::Uart1 if self.uart[1].has_sent() => {
                self.console
                    .push(Port::Uart1, &self.uart[1].take_sent(), now);
            }
            Block::UsbSerial if self.usb_serial.has_sent() => {
                self.console
                    .push(Port::UsbSerial, &self.usb_serial.take_sent(), now);
            }
            Block::Timg0 | Block::Timg1 => {
                let group = usize::from(block == Block::Timg1);
                if let Some(action) = self.timg[group].take_reset() {
                    self.request_reset(ResetCause::of_timer_group(group, action));
                }
            }
            Block::LpWdt => {
                if let Some(action) = self.lp_wdt.take_reset() {
                    self.request_reset(match action {
                        Action::ResetCpu => ResetCause::RtcWatchdogCpu,
                        Action::ResetCore => ResetCause::RtcWatchdogCore,
                        _ => ResetCause::RtcWatchdogSystem,
                    });
                }
            }
            _ => {}
        }
    }

    /// Takes over the time of a GPIO interrupt, which an output that is looped back may have set.
    #[inline]
    pub fn update_gpio_event(&mut self) {
        let next = self.gpio.next_event();
        self.events[Block::Gpio as usize] = next;
        self.shorten_deadline(next);
    }

    /// Resets the chip at the end of the current instruction.
    pub fn request_reset(&mut self, cause: ResetCause) {
        self.reset = Some(cause);
        self.stop_now();
    }

    /// Reads the word at `addr`, which [`Storage`] covers.
    pub fn read<P: Pads>(&mut self, addr: u32, now: Instant, pads: &mut P) -> u32 {
        if let Some((block, base)) = Block::at(addr) {
            let offset = addr - base;
            if self.is_due(block, now) {
                self.advance(now);
            }
            let value = match self.device(block) {
                Some(device) => device.read(offset, now),
                None if block == Block::Gpio => {
                    let value = self.gpio.read(offset, now, pads);
                    self.shorten_deadline(pads.deadline());
                    value
                }
                None => Some(self.storage.get(addr)),
            };
            if block.reads_have_side_effects() {
                self.sync_block(block, now);
            }
            if let Some(value) = value {
                return value;
            }
        }
        if let Some(kind) = self.storage.touch(addr, false) {
            self.report(addr, kind, now);
        }
        let value = self.storage.get(addr);
        self.count_poll(addr, value);
        value
    }

    fn count_poll(&mut self, addr: u32, value: u32) {
        if (self.poll.addr, self.poll.value) != (addr, value) {
            self.poll = Poll {
                addr,
                value,
                count: 0,
            };
        }
        self.poll.count = self.poll.count.saturating_add(1);
        if self.poll.count == POLL_LIMIT {
            self.stuck_poll = Some((addr, value));
            self.stop_now();
        }
    }

    /// Reports the register that the program polls in `function`.
    pub fn report_poll(&mut self, function: Option<String>, now: Instant) {
        if let Some((addr, value)) = self.stuck_poll.take() {
            let name = register_name(addr).unwrap_or_else(|| "a register".to_owned());
            self.report(
                addr,
                ReportKind::Polled {
                    name,
                    value,
                    function,
                },
                now,
            );
        }
    }

    /// Writes the word at `addr`, which [`Storage`] covers. Bits outside of `mask` are not written:
    /// a device reads them as zero, storage keeps them.
    pub fn write<P: Pads>(&mut self, addr: u32, value: u32, mask: u32, cycle: u64, pads: &mut P) {
        let now = self.clock.instant(cycle);
        if let Some((block, base)) = Block::at(addr) {
            let offset = addr - base;
            if self.is_due(block, now) {
                self.advance(now);
            }
            let handled = if let Some(device) = self.device(block) {
                device.write(offset, value & mask, now)
            } else if block == Block::Gpio {
                let handled = self.gpio.write(offset, value & mask, now, pads);
                self.shorten_deadline(pads.deadline());
                handled
            } else {
                self.store(addr, value, mask);
                if block == Block::Pcr {
                    self.update_clocks(cycle);
                } else if let Some(pad @ 0..=30) = (offset / 4).checked_sub(1) {
                    // IO MUX: FUN_IE.
                    let on = self.storage.get(addr) >> 9 & 1 != 0;
                    self.gpio.set_input_enable(pad as u8, on, now, pads);
                    self.sync_block(Block::Gpio, now);
                    self.shorten_deadline(pads.deadline());
                }
                true
            };
            self.sync_block(block, now);
            if handled {
                return;
            }
        }
        if let Some(kind) = self.storage.touch(addr, true) {
            self.report(addr, kind, now);
        }
        self.store(addr, value, mask);
    }

    fn store(&mut self, addr: u32, value: u32, mask: u32) {
        let kept = self.storage.get(addr) & !mask;
        self.storage.set(addr, kept | value & mask);
    }

    /// Applies the clock tree's registers.
    fn update_clocks(&mut self, cycle: u64) {
        let now = self.clock.instant(cycle);
        let storage = &self.storage;
        let tree = ClockTree(|offset| storage.get(0x6009_6000 + offset));
        let hertz = tree.cpu_hertz();
        for n in 0..2 {
            let i = usize::from(n);
            self.uart[i].set_clock(tree.function_hertz(FunctionClock::Uart(n)));
            let timer = tree.function_hertz(FunctionClock::Timer(n));
            let watchdog = tree.function_hertz(FunctionClock::Watchdog(n));
            self.timg[i].set_clocks(timer, watchdog, now);
        }
        if hertz != self.clock.hertz() || self.clock_changed {
            self.clock.set_hertz(hertz, cycle);
            self.clock_changed = true;
            let input = self.clock.instant(cycle + self.input_cycles).since(now);
            self.gpio
                .set_delays(input, Span::from_ns(self.interrupt_ns));
            self.stop_now();
        }
        self.sync_block(Block::Timg0, now);
        self.sync_block(Block::Timg1, now);
    }

    /// The far end of a console sends `bytes`.
    pub fn console_input(&mut self, port: Port, bytes: &[u8], now: Instant) {
        let block = match port {
            Port::Uart0 => {
                self.uart[0].receive(bytes, now);
                Block::Uart0
            }
            Port::Uart1 => {
                self.uart[1].receive(bytes, now);
                Block::Uart1
            }
            Port::UsbSerial => {
                self.usb_serial.receive(bytes);
                Block::UsbSerial
            }
        };
        self.sync_block(block, now);
    }

    /// True if `addr` is in a peripheral's range.
    pub fn covers(addr: u32) -> bool {
        Storage::covers(addr)
    }
}
