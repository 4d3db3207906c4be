//! Everything around the hart: devices at their addresses, their clocks, interrupts and events.

mod spi_slave;
mod uart_dma;

use super::clock::CpuClock;
use super::console::{Console, Port};
use super::report::{Report, ReportKind};
use super::rom::Rom;
use super::storage::Storage;
use super::wiring::{self, EFUSE, GDMA, SPI2, UART0, UART1, USB_DEVICE, WIRING};
use super::{Config, ResetCause, WatchEvent};
use crate::chip::peripherals::Peripherals;
use crate::device::{
    ClockTree, Device, DmaMemory, Efuse, Gdma, Gpio, IntMtx, MAX_BURST, Plic, SpiController,
    SpiHost, Uart, UsbSerial,
};
use crate::mem::Memory;
use crate::pads::{Pads, SpiOctets};
use crate::time::{Instant, Span};

/// Number of consecutive equal reads of a register without behaviour from which on their positions are compared.
const POLL_LIMIT: u32 = 1_000_000;
/// Number of positions that are compared.
const POLL_SAMPLES: u32 = 8;
/// Maximum number of different positions in a loop that waits.
const POLL_PLACES: usize = 2;

/// A block that is part of the chip itself: its pads, its interrupt path, its clock tree. The devices are in
/// [`WIRING`](super::wiring::WIRING).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Gpio,
    IoMux,
    Pcr,
    IntMtx,
    Plic,
    /// The device with this number.
    Device(usize),
}

/// Interrupt sources of the GPIO block's outputs (Technical Reference Manual, "Interrupt Matrix").
const GPIO_SOURCES: &[u8] = &[30, 31];

/// SPI2 at the DMA controller (Technical Reference Manual, "GDMA Controller", table of peripherals).
const SPI2_DMA: u32 = 0;
/// Signals of SPI2 in the matrix, and their pads with their function in the IO MUX: clock, data of the master, data to
/// the master.
const FSPICLK: (u8, (u8, u8)) = (63, (6, 2));
const FSPID: (u8, (u8, u8)) = (65, (7, 2));
const FSPIQ: (u8, (u8, u8)) = (64, (2, 2));
/// Chip select 0.
const FSPICS0: (u8, (u8, u8)) = (68, (16, 2));

impl DmaMemory for Memory {
    fn read(&self, addr: u32, to: &mut [u8]) -> bool {
        let from = self.slice(addr, to.len());
        from.is_some_and(|from| {
            to.copy_from_slice(from);
            true
        })
    }

    fn write(&mut self, addr: u32, octets: &[u8]) -> bool {
        self.write(addr, octets).is_ok()
    }
}

/// Most clocks of a device.
const MAX_CLOCKS: usize = 2;

/// Base of the clock tree's registers.
const PCR: u32 = 0x6009_6000;

/// Reads of one register without behaviour in a row, with no other access to a register between.
#[derive(Debug, Default)]
struct Poll {
    addr: u32,
    value: u32,
    count: u32,
    /// Positions of the program after the last ones.
    places: Vec<u32>,
}

impl Poll {
    /// True if the hart stops after the last read, so that its position can be recorded.
    fn is_sampled(&self) -> bool {
        (POLL_LIMIT..POLL_LIMIT + POLL_SAMPLES).contains(&self.count)
    }
}

/// The transfer of a master outside, with SPI2 as its slave.
#[derive(Debug, Default)]
struct OutsideTransfer {
    /// The slave takes part; decided by the first clock.
    is_heard: Option<bool>,
    /// Octets of the master that are not in memory yet.
    received: Vec<u8>,
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
    /// The hart stopped after a read that may be one of a loop: its position is to be recorded.
    pub is_polling: bool,
    /// Address of the last register that was read.
    pub last_read: Option<u32>,
    /// Cause of the last reset, as returned by `rtc_get_reset_reason`.
    pub reset_cause: ResetCause,
    pub gpio: Gpio,
    gpio_event: Instant,
    intmtx: IntMtx,
    plic: Plic,
    peripherals: Peripherals,
    storage: Storage,
    outside: OutsideTransfer,
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
        let mut soc = Self {
            clock: CpuClock::new(80_000_000),
            console: Console::default(),
            rom: Rom::new(timing),
            reports: Vec::new(),
            watch_events: Vec::new(),
            reset: None,
            clock_changed: true,
            is_polling: false,
            last_read: None,
            reset_cause: ResetCause::PowerOn,
            gpio: Gpio::new(),
            gpio_event: Instant::NEVER,
            intmtx: IntMtx::default(),
            plic: Plic::default(),
            peripherals: wiring::peripherals(config),
            storage: Storage::new(),
            outside: OutsideTransfer::default(),
            pending: None,
            poll: Poll::default(),
            deadline: 0,
            deadline_at: Instant::ZERO,
            limit: Instant::ZERO,
            input_cycles: timing.chip("dedicated_input_cycles"),
            interrupt_ns: timing.chip("gpio_interrupt_ns"),
        };
        for (offset, value) in ClockTree::<fn(u32) -> u32>::HAND_OFF {
            soc.storage.set(PCR + offset, value);
        }
        soc.update_clocks(0);
        soc
    }

    /// Continues from `before` after a reset at `cycle`: time, consoles, reports and the devices that the wiring
    /// marks are kept.
    pub fn resume_from(&mut self, before: &mut Self, cycle: u64, cause: ResetCause) {
        let hertz = self.clock.hertz();
        self.clock = before.clock;
        self.clock.set_hertz(hertz, cycle);
        self.reset_cause = cause;
        std::mem::swap(&mut self.console, &mut before.console);
        std::mem::swap(&mut self.reports, &mut before.reports);
        std::mem::swap(&mut self.watch_events, &mut before.watch_events);
        self.storage.keep_access_flags(&before.storage);
        self.rom.inherit_reported(&mut before.rom);
        let now = self.clock.instant(cycle);
        for (number, line) in WIRING.iter().enumerate() {
            if line.keeps_state {
                self.peripherals.swap(&mut before.peripherals, number);
                self.sync_device(number, now);
            } else {
                self.peripherals.device(number).restart(now);
            }
        }
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
        self.reports.push(Report {
            at,
            addr,
            kind,
            function: None,
        });
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
    fn stop_now(&mut self) {
        self.deadline_at = Instant::ZERO;
        self.deadline = 0;
    }

    /// Time of the next device event.
    pub fn next_event(&self) -> Instant {
        self.peripherals.next_event().min(self.gpio_event)
    }

    /// Processes the device events that are due at `now`.
    pub fn advance(&mut self, now: Instant) {
        for number in 0..WIRING.len() {
            if self.peripherals.is_due(number, now) {
                self.peripherals.device(number).advance(now);
                self.sync_device(number, now);
            }
        }
        if self.gpio_event <= now {
            self.gpio.advance(now);
            self.sync_gpio();
        }
    }

    /// Performs the parts of SPI transfers that are complete at `now`: in memory, and with the circuit at the pads.
    pub fn transfer<P: Pads>(&mut self, now: Instant, memory: &mut Memory, pads: &mut P) {
        while self.peripherals.is_due(SPI2, now) {
            let Some(mut burst) = self.spi().burst() else {
                return;
            };
            if burst.from_host.is_some() && !self.is_slave_wired() {
                burst.disconnect();
            }
            let mut sent = burst.sent;
            if burst.sends_by_dma {
                self.gdma().take(SPI2_DMA, &mut sent[..burst.len], memory);
            }
            let mut received = [0xff; MAX_BURST];
            if let Some(from_host) = burst.from_host {
                received = from_host;
            } else {
                let octets = SpiOctets {
                    start: burst.start,
                    octet: burst.octet,
                    clock_pads: self.gpio.output_pads(FSPICLK.0, FSPICLK.1),
                    data_pads: self.gpio.output_pads(FSPID.0, FSPID.1),
                    receive_pad: self.gpio.input_pad(FSPIQ.0, FSPIQ.1),
                    sent: &sent[..burst.len],
                };
                pads.exchange(&octets, &mut received[..burst.len]);
            }
            if burst.receives_by_dma {
                let received = &received[..burst.len];
                self.gdma().put(SPI2_DMA, received, burst.is_last, memory);
            }
            if burst.from_host.is_some() && self.gpio.output_pads(FSPIQ.0, FSPIQ.1) == 0 {
                sent = [0xff; MAX_BURST];
            }
            self.spi().complete(&burst, sent, received);
            self.sync_device(SPI2, now);
            if burst.sends_by_dma || burst.receives_by_dma {
                self.sync_device(GDMA, now);
            }
            if burst.is_last {
                // The far end may have changed other pads, such as an interrupt.
                self.refresh_pads(now, pads);
            }
            self.shorten_deadline(pads.deadline());
        }
    }

    /// True if the inputs of SPI2 as a slave have pads: clock, chip select, data.
    fn is_slave_wired(&self) -> bool {
        let inputs = [FSPICLK, FSPICS0, FSPID];
        let has_pad = |(signal, direct)| self.gpio.input_pad(signal, direct).is_some();
        inputs.into_iter().all(has_pad)
    }

    /// Connects a master to SPI2.
    pub fn connect_spi(&mut self, host: SpiHost, now: Instant) {
        self.spi().connect(host, now);
        self.sync_device(SPI2, now);
    }

    /// SPI2.
    pub fn spi(&mut self) -> &mut SpiController {
        self.peripherals
            .model(SPI2)
            .expect("wired as an SPI controller")
    }

    fn gdma(&mut self) -> &mut Gdma {
        self.peripherals
            .model(GDMA)
            .expect("wired as a DMA controller")
    }

    /// True if the block has an event between the hart's last stop and this access.
    fn is_due(&self, block: Block, now: Instant) -> bool {
        match block {
            Block::Device(number) => self.peripherals.is_due(number, now),
            Block::Gpio => self.gpio_event <= now,
            _ => false,
        }
    }

    /// Queries the pads again for the edges that interrupts wait for.
    pub fn refresh_pads<P: Pads>(&mut self, now: Instant, pads: &mut P) {
        self.gpio.refresh(now, pads);
        self.sync_gpio();
    }

    /// The block at `addr` and the offset in it.
    #[inline]
    fn block_at(&mut self, addr: u32) -> Option<(Block, u32)> {
        let block = match addr >> 12 {
            0x60010 => Block::IntMtx,
            0x60090 => Block::IoMux,
            0x60091 => Block::Gpio,
            0x60096 => Block::Pcr,
            _ if addr >> 10 == 0x80004 => return Some((Block::Plic, addr & 0x3ff)),
            _ => {
                let (number, offset) = self.peripherals.at(addr)?;
                return Some((Block::Device(number), offset));
            }
        };
        Some((block, addr & 0xfff))
    }

    /// UART 0 or 1.
    pub fn uart(&mut self, number: u32) -> &mut Uart {
        let uart = if number == 1 { UART1 } else { UART0 };
        self.peripherals.model(uart).expect("wired as a UART")
    }

    /// The USB Serial/JTAG.
    pub fn usb_serial(&mut self) -> &mut UsbSerial {
        self.peripherals
            .model(USB_DEVICE)
            .expect("wired as a USB Serial/JTAG")
    }

    /// The fuses.
    pub fn efuse(&mut self) -> &mut Efuse {
        self.peripherals.model(EFUSE).expect("wired as fuses")
    }

    /// Applies the changes after an access to UART 0.
    pub fn sync_uart0(&mut self, now: Instant) {
        self.sync_device(UART0, now);
    }

    /// Applies the changes after an access to a device or its event: interrupt levels, the next event, console
    /// output, a reset.
    fn sync_device(&mut self, number: usize, now: Instant) {
        let line = &WIRING[number];
        let levels = self.peripherals.device(number).interrupts();
        self.set_sources(line.interrupts, levels);
        let next = self.peripherals.update_event(number);
        self.shorten_deadline(next);
        if let Some(port) = line.console {
            let sent = self.peripherals.device(number).take_sent();
            self.console.push(port, &sent, now);
        }
        if let Some(cause) = line.resets
            && let Some(action) = self.peripherals.device(number).take_reset()
        {
            self.request_reset(cause(action));
        }
        self.update_uart_dma(number, now);
    }

    /// The same for the pads.
    fn sync_gpio(&mut self) {
        self.set_sources(GPIO_SOURCES, self.gpio.interrupts());
        self.update_gpio_event();
    }

    /// Sets interrupt sources to the levels of a device's outputs.
    #[inline]
    fn set_sources(&mut self, sources: &[u8], levels: u32) {
        let mut changed = false;
        for (output, &source) in sources.iter().enumerate() {
            changed |= self
                .intmtx
                .set_source(usize::from(source), levels >> output & 1 != 0);
        }
        if changed {
            self.route_interrupts();
        }
    }

    /// Finds the pending interrupt line again, after a change of sources, matrix or controller.
    fn route_interrupts(&mut self) {
        self.plic.set_lines(self.intmtx.lines());
        self.pending = self.plic.pending();
    }

    /// Takes over the time of a GPIO interrupt, which an output that is looped back may have set.
    #[inline]
    pub fn update_gpio_event(&mut self) {
        self.gpio_event = self.gpio.next_event();
        self.shorten_deadline(self.gpio_event);
    }

    /// Resets the chip at the end of the current instruction.
    pub fn request_reset(&mut self, cause: ResetCause) {
        self.reset = Some(cause);
        self.stop_now();
    }

    /// Reads the word at `addr`, which [`Storage`] covers.
    pub fn read<P: Pads>(&mut self, addr: u32, now: Instant, pads: &mut P) -> u32 {
        self.last_read = Some(addr);
        if let Some((block, offset)) = self.block_at(addr) {
            if self.is_due(block, now) {
                self.advance(now);
            }
            let value = match block {
                Block::Device(number) => self.read_device(number, offset, now),
                Block::Gpio => {
                    let value = self.gpio.read(offset, now, pads);
                    self.shorten_deadline(pads.deadline());
                    value
                }
                Block::IntMtx => self.intmtx.read(offset, now),
                Block::Plic => self.plic.read(offset, now),
                Block::IoMux | Block::Pcr => Some(self.storage.get(addr)),
            };
            if let Some(value) = value {
                self.poll.count = 0;
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

    fn read_device(&mut self, number: usize, offset: u32, now: Instant) -> Option<u32> {
        let device = self.peripherals.device(number);
        let value = device.read(offset, now);
        if device.reads_have_side_effects() {
            self.sync_device(number, now);
        }
        value
    }

    fn count_poll(&mut self, addr: u32, value: u32) {
        let poll = &mut self.poll;
        if (poll.addr, poll.value) != (addr, value) {
            (poll.addr, poll.value, poll.count) = (addr, value, 0);
        }
        poll.count = poll.count.saturating_add(1);
        if poll.is_sampled() {
            self.is_polling = true;
            self.stop_now();
        }
    }

    /// Records the position of the program after a read that may be one of a loop; returns true if they all are.
    pub fn sample_poll(&mut self, pc: u32) -> bool {
        let poll = &mut self.poll;
        self.is_polling = false;
        if poll.count == POLL_LIMIT {
            poll.places.clear();
        }
        if !poll.places.contains(&pc) {
            poll.places.push(pc);
        }
        poll.count + 1 == POLL_LIMIT + POLL_SAMPLES
            && poll.places.len() <= POLL_PLACES
            && self.storage.mark_polled(poll.addr)
    }

    /// Reports the register that the program polls in `function`.
    pub fn report_poll(&mut self, function: Option<String>, at: Instant) {
        let Poll { addr, value, .. } = self.poll;
        self.reports.push(Report {
            at,
            addr,
            kind: ReportKind::Polled { value },
            function,
        });
    }

    /// Writes the word at `addr`, which [`Storage`] covers. Bits outside of `mask` are not written:
    /// a device reads them as zero, storage keeps them.
    pub fn write<P: Pads>(&mut self, addr: u32, value: u32, mask: u32, cycle: u64, pads: &mut P) {
        self.poll.count = 0;
        let now = self.clock.instant(cycle);
        if let Some((block, offset)) = self.block_at(addr) {
            if self.is_due(block, now) {
                self.advance(now);
            }
            let written = value & mask;
            let is_handled = match block {
                Block::Device(number) => {
                    let is_handled = self.peripherals.device(number).write(offset, written, now);
                    self.sync_device(number, now);
                    is_handled
                }
                Block::Gpio => {
                    let is_handled = self.gpio.write(offset, written, now, pads);
                    self.shorten_deadline(pads.deadline());
                    self.sync_gpio();
                    is_handled
                }
                Block::IntMtx => {
                    let is_handled = self.intmtx.write(offset, written, now);
                    self.route_interrupts();
                    is_handled
                }
                Block::Plic => {
                    let is_handled = self.plic.write(offset, written, now);
                    self.route_interrupts();
                    is_handled
                }
                Block::IoMux => {
                    self.store(addr, value, mask);
                    self.update_pad(addr, offset, now, pads);
                    true
                }
                Block::Pcr => {
                    self.store(addr, value, mask);
                    self.update_clocks(cycle);
                    true
                }
            };
            if is_handled {
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

    /// Applies the IO MUX register of a pad: `FUN_IE`.
    fn update_pad<P: Pads>(&mut self, addr: u32, offset: u32, now: Instant, pads: &mut P) {
        let Some(pad @ 0..=30) = (offset / 4).checked_sub(1) else {
            return;
        };
        let value = self.storage.get(addr);
        let on = value >> 9 & 1 != 0;
        self.gpio.set_function(pad as u8, (value >> 12 & 7) as u8);
        self.gpio.set_input_enable(pad as u8, on, now, pads);
        self.sync_gpio();
        self.shorten_deadline(pads.deadline());
    }

    /// Applies the clock tree's registers.
    fn update_clocks(&mut self, cycle: u64) {
        let now = self.clock.instant(cycle);
        let storage = &self.storage;
        let tree = ClockTree(|offset| storage.get(PCR + offset));
        let hertz = tree.cpu_hertz();
        for (number, line) in WIRING.iter().enumerate() {
            let mut clocks = [0; MAX_CLOCKS];
            for (hertz, &clock) in clocks.iter_mut().zip(line.clocks) {
                *hertz = tree.function_hertz(clock);
            }
            if !line.clocks.is_empty() {
                let device = self.peripherals.device(number);
                device.set_clocks(&clocks[..line.clocks.len()], now);
            }
        }
        if hertz != self.clock.hertz() || self.clock_changed {
            self.clock.set_hertz(hertz, cycle);
            self.clock_changed = true;
            let input = self.clock.instant(cycle + self.input_cycles).since(now);
            self.gpio
                .set_delays(input, Span::from_ns(self.interrupt_ns));
            self.stop_now();
        }
        for (number, line) in WIRING.iter().enumerate() {
            if !line.clocks.is_empty() {
                self.sync_device(number, now);
            }
        }
    }

    /// The far end of a console sends `bytes`.
    pub fn console_input(&mut self, port: Port, bytes: &[u8], now: Instant) {
        let number = WIRING.iter().position(|line| line.console == Some(port));
        if let Some(number) = number {
            self.peripherals.device(number).receive(bytes, now);
            self.sync_device(number, now);
        }
    }

    /// True if `addr` is in a peripheral's range.
    pub fn covers(addr: u32) -> bool {
        Storage::covers(addr)
    }
}
