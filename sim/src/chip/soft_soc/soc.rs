//! Devices, buses and the hart's ports of a soft SoC: who does what when.

use std::collections::VecDeque;

use super::models::{self, INTERRUPT_CONTROLLER};
use super::{Config, DeviceConfig, Error};
use crate::chip::peripherals::Peripherals;
use crate::device::{Device, Intc, LineFrame, LinkMode, Partner, Transfer};
use crate::mem::{Memory, Window};
use crate::memsys::{self, Completion, Fabric, HartPorts, PortStatistics, Request};
use crate::time::Instant;

/// Machine external interrupt (RISC-V privileged architecture, 3.1.9).
const EXTERNAL_INTERRUPT: u8 = 11;

/// How a device is connected.
#[derive(Debug)]
struct Wiring {
    name: String,
    interrupt: Option<u8>,
    /// The bus master of each port, and the period of its clock.
    masters: Vec<(usize, u64)>,
    /// The devices that its stream output leads to, and that its input comes from.
    stream_to: Option<usize>,
    stream_from: Option<usize>,
}

/// All but the hart and the contents of memory.
#[derive(Debug)]
pub(super) struct Soc {
    ports: HartPorts,
    rest: Rest,
    /// Period of the hart's clock in ticks.
    period: u64,
    limit: Instant,
    /// The first cycle at which the hart must not begin an instruction.
    deadline: u64,
    /// Reads and writes of devices' registers by the hart.
    accesses: [u64; 2],
}

/// What the hart's ports lead to.
#[derive(Debug)]
struct Rest {
    fabric: Fabric,
    windows: Vec<Window>,
    peripherals: Peripherals,
    wiring: Vec<Wiring>,
    controller: Option<usize>,
    console: Vec<(Instant, u8)>,
    /// The device with the network line, and the frames that it has sent.
    line: Option<usize>,
    sent: VecDeque<LineFrame>,
    /// The next event of a device or of a port of one.
    next_event: Instant,
    interrupt: Option<u8>,
}

/// An access of the hart.
#[derive(Clone, Copy, Debug)]
pub(super) enum HartAccess {
    /// A line of instructions.
    Fetch { line: u32 },
    /// Data.
    Load { addr: u32, bytes: u32 },
    /// Data.
    Store { addr: u32, bytes: u32 },
}

/// [`Rest`] with the contents of memory, for the requests of the hart's ports.
struct Connected<'a> {
    rest: &'a mut Rest,
    memory: &'a mut Memory,
}

impl memsys::Bus for Connected<'_> {
    fn request(&mut self, request: Request, at: u64) -> Option<Completion> {
        self.rest.advance(Instant::from_ticks(at), self.memory);
        self.rest.request(request, at)
    }
}

impl Soc {
    /// Everything as after power-on.
    ///
    /// # Errors
    /// [`Error::Model`] if a device has no known model.
    pub fn new(config: &Config, fabric: Fabric, ports: HartPorts) -> Result<Self, Error> {
        let mut peripherals = Peripherals::default();
        let mut wiring = Vec::new();
        let mut controller = None;
        let mut line = None;
        for (number, device) in config.devices.iter().enumerate() {
            let model = models::find(&device.model).ok_or_else(|| Error::Model {
                device: device.name.clone(),
                model: device.model.clone(),
            })?;
            let mut made = model.create(&device.parameters);
            made.set_clocks(&[device.hertz], Instant::ZERO);
            if made.line().is_some() {
                line = line.or(Some(number));
            }
            // The topology has checked the addresses.
            peripherals.add(device.base..device.base + model.size, made);
            if model.name == INTERRUPT_CONTROLLER {
                controller = Some(number);
            }
            let masters = device.masters.iter();
            let leads_here = |it: &DeviceConfig| it.stream_to == Some(number);
            wiring.push(Wiring {
                name: device.name.clone(),
                interrupt: device.interrupt,
                masters: masters
                    .map(|&master| (master, config.topology.masters[master].period))
                    .collect(),
                stream_to: device.stream_to,
                stream_from: config.devices.iter().position(leads_here),
            });
        }
        Ok(Self {
            period: config.ports.period,
            ports,
            rest: Rest {
                fabric,
                windows: config.windows.clone(),
                peripherals,
                wiring,
                controller,
                console: Vec::new(),
                line,
                sent: VecDeque::new(),
                next_event: Instant::NEVER,
                interrupt: None,
            },
            limit: Instant::ZERO,
            deadline: 0,
            accesses: [0; 2],
        })
    }

    /// Start time of a cycle of the hart.
    pub fn instant(&self, cycle: u64) -> Instant {
        Instant::from_ticks(cycle * self.period)
    }

    /// The first cycle that begins at or after `at`.
    pub fn cycle_at(&self, at: Instant) -> u64 {
        at.ticks().div_ceil(self.period)
    }

    /// Counts of the hart's ports.
    pub fn ports(&self) -> PortStatistics {
        self.ports.statistics()
    }

    /// Buses and memories.
    pub fn fabric(&self) -> &Fabric {
        &self.rest.fabric
    }

    /// The bytes that consoles printed, each with its time.
    pub fn take_console(&mut self) -> Vec<(Instant, u8)> {
        std::mem::take(&mut self.rest.console)
    }

    /// Time of the next event.
    pub fn next_event(&self) -> Instant {
        self.rest.next_event
    }

    /// The far end of a device sends `bytes`.
    pub fn receive(&mut self, name: &str, bytes: &[u8], now: Instant) {
        let device = self.rest.wiring.iter().position(|it| it.name == name);
        if let Some(number) = device {
            self.rest.peripherals.device(number).receive(bytes, now);
            self.rest.sync(number, now);
        }
    }

    /// True if a frame was sent that [`Self::take_frame`] has not returned yet.
    pub fn has_sent(&self) -> bool {
        !self.rest.sent.is_empty()
    }

    /// The next frame that was sent.
    pub fn take_frame(&mut self) -> Option<LineFrame> {
        self.rest.sent.pop_front()
    }

    /// Connects a partner, or nobody, to the network line; `None` if there is none.
    pub fn connect(&mut self, partner: Option<Partner>, now: Instant) -> Option<()> {
        let number = self.rest.line?;
        let line = self.rest.peripherals.device(number).line()?;
        line.connect(partner, now);
        self.rest.sync(number, now);
        Some(())
    }

    /// Mode of the network line.
    pub fn link_mode(&mut self) -> Option<LinkMode> {
        self.rest.peripherals.device(self.rest.line?).line()?.mode()
    }

    /// `frame` arrives on the network line.
    pub fn receive_frame(&mut self, frame: LineFrame) {
        if let Some(number) = self.rest.line
            && let Some(line) = self.rest.peripherals.device(number).line()
        {
            let now = frame.start;
            line.receive_frame(frame);
            self.rest.update(number, now);
        }
    }

    /// Calls `with` on the device called `name`, if its model is `D`.
    pub fn with_device<D: Device, R>(
        &mut self,
        name: &str,
        now: Instant,
        with: impl FnOnce(&mut D) -> R,
    ) -> Option<R> {
        let number = self.rest.wiring.iter().position(|it| it.name == name)?;
        let result = with(self.rest.peripherals.model(number)?);
        self.rest.sync(number, now);
        Some(result)
    }

    /// Lets the hart run until `limit` or the next event.
    pub fn set_limit(&mut self, limit: Instant) {
        self.limit = limit;
        self.update_deadline();
    }

    fn update_deadline(&mut self) {
        self.deadline = if self.has_sent() {
            // The frame's receiver is outside.
            0
        } else {
            self.cycle_at(self.limit.min(self.rest.next_event))
        };
    }

    #[inline]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// True if an enabled line outside `ignored` is high.
    pub fn wakes(&mut self, ignored: u32) -> bool {
        let controller = self.rest.controller();
        controller.is_some_and(|it| it.pending() & !ignored != 0)
    }

    #[inline]
    pub fn interrupt(&self) -> Option<u8> {
        self.rest.interrupt
    }

    #[inline]
    pub fn hart_ports(&self) -> &HartPorts {
        &self.ports
    }

    /// Performs what is due before the instruction that begins at `cycle`.
    pub fn advance(&mut self, cycle: u64, memory: &mut Memory) {
        let now = self.instant(cycle);
        while self.rest.next_event <= now {
            let at = self.rest.next_event;
            let mut bus = Connected {
                rest: &mut self.rest,
                memory,
            };
            self.ports.write_until(at.ticks(), &mut bus);
            self.rest.advance(at, memory);
        }
    }

    /// An access of the hart's ports that begins at `cycle`; returns the cycles that it waits.
    pub fn stall(&mut self, cycle: u64, memory: &mut Memory, access: HartAccess) -> u32 {
        let at = cycle * self.period;
        let before = (self.rest.next_event, self.rest.interrupt);
        let mut bus = Connected {
            rest: &mut self.rest,
            memory,
        };
        let ready = match access {
            HartAccess::Fetch { line } => self.ports.fetch(line, at, &mut bus),
            HartAccess::Load { addr, bytes } => self.ports.load(addr, bytes, at, &mut bus),
            HartAccess::Store { addr, bytes } => self.ports.store(addr, bytes, at, &mut bus),
        };
        if (self.rest.next_event, self.rest.interrupt) != before || self.has_sent() {
            self.update_deadline();
            if self.rest.interrupt.is_some() {
                // The hart checks interrupts only when it stops.
                self.deadline = 0;
            }
        }
        // A wait is shorter than a second, so 32 bits suffice, and divide faster.
        ((ready - at) as u32).div_ceil(self.period as u32)
    }

    /// Removes the line of `addr` from the data cache.
    pub fn flush(&mut self, addr: u32, cycle: u64) {
        self.ports.flush(addr, cycle * self.period);
    }

    /// Empties the data cache's place of `addr`.
    pub fn flush_set(&mut self, addr: u32, cycle: u64) {
        self.ports.flush_set(addr, cycle * self.period);
    }

    /// Reads and writes of devices' registers by the hart.
    pub fn accesses(&self) -> [u64; 2] {
        self.accesses
    }

    /// Reads the device register at `addr`; `None` if there is none.
    pub fn read(&mut self, addr: u32, enables: u8, cycle: u64) -> Option<u32> {
        let now = self.instant(cycle);
        let value = self.rest.read(addr, enables, now);
        self.accesses[0] += 1;
        self.update_deadline();
        value
    }

    /// Writes the device register at `addr`; `None` if there is none.
    pub fn write(&mut self, addr: u32, value: u32, enables: u8, cycle: u64) -> Option<()> {
        let now = self.instant(cycle);
        let written = self.rest.write(addr, value, enables, now);
        self.accesses[1] += 1;
        self.update_deadline();
        written
    }
}

impl Rest {
    fn request(&mut self, request: Request, at: u64) -> Option<Completion> {
        let target = |window: &Window| window.target(request.addr);
        let addr = self.windows.iter().find_map(target).unwrap_or(request.addr);
        self.fabric.request(Request { addr, ..request }, at)
    }

    /// Performs the events and transfers that are due at `now` or before, in their order.
    fn advance(&mut self, now: Instant, memory: &mut Memory) {
        while self.next_event <= now {
            let at = self.next_event;
            for number in 0..self.wiring.len() {
                if self.peripherals.is_due(number, at) {
                    self.peripherals.device(number).advance(at);
                    self.transfer(number, at, memory);
                    self.sync(number, at);
                }
            }
        }
    }

    /// Performs the transfers of a device that begin by `now`.
    fn transfer(&mut self, number: usize, now: Instant, memory: &mut Memory) {
        for port in 0..self.wiring[number].masters.len() {
            let device = self.peripherals.device(number);
            let Some(transfer) = device.transfer(port).filter(|it| it.from <= now) else {
                continue;
            };
            let (master, period) = self.wiring[number].masters[port];
            let at = transfer.from.ticks().next_multiple_of(period);
            let Transfer {
                addr, bytes, data, ..
            } = transfer;
            let request = Request {
                master,
                addr,
                bytes,
                write: data.is_some(),
            };
            let done = self.request(request, at).map_or(at, |done| done.last);
            let read = match data {
                Some(data) => {
                    // Nothing is there: the bus has answered, the data are lost.
                    let _ = memory.write(memory.resolve(addr), &data);
                    Vec::new()
                }
                None => memory
                    .slice(addr, bytes as usize)
                    .map_or_else(Vec::new, <[u8]>::to_vec),
            };
            // At least a cycle, so that time goes on.
            let done = Instant::from_ticks(done.max(at + period));
            let device = self.peripherals.device(number);
            device.transferred(port, &read, done);
        }
    }

    /// Applies the changes at `now` after an access to a device or its event: streams first.
    fn sync(&mut self, number: usize, now: Instant) {
        let Wiring {
            stream_to,
            stream_from,
            ..
        } = self.wiring[number];
        for (from, to) in [(stream_from, Some(number)), (Some(number), stream_to)] {
            if let (Some(from), Some(to)) = (from, to)
                && self.stream(from, to, now)
            {
                // It may go on to the next device.
                self.sync(if from == number { to } else { from }, now);
            }
        }
        self.update(number, now);
    }

    /// Moves what one device has ready for another, which takes no time; returns true if that was something.
    fn stream(&mut self, from: usize, to: usize, now: Instant) -> bool {
        let mut moved = false;
        loop {
            let room = self.peripherals.device(to).stream_room(now);
            if room == 0 {
                return moved;
            }
            let fragment = self.peripherals.device(from).stream_output(room, now);
            let Some(fragment) = fragment else {
                return moved;
            };
            self.peripherals.device(to).stream_input(fragment, now);
            moved = true;
        }
    }

    /// Applies the state of a device.
    fn update(&mut self, number: usize, now: Instant) {
        let device = self.peripherals.device(number);
        let (levels, sent) = (device.interrupts(), device.take_sent());
        let ports = 0..self.wiring[number].masters.len();
        let transfers = ports.filter_map(|port| Some(device.transfer(port)?.from));
        let next = transfers.fold(device.next_event(), Instant::min);
        if self.line == Some(number)
            && let Some(line) = device.line()
        {
            while let Some(frame) = line.take_frame() {
                self.sent.push_back(frame);
            }
        }
        self.peripherals.set_event(number, next);
        self.next_event = self.peripherals.next_event();
        self.console
            .extend(sent.into_iter().map(|byte| (now, byte)));
        if let Some(line) = self.wiring[number].interrupt
            && let Some(controller) = self.controller()
        {
            controller.set_line(line, levels & 1 != 0);
        }
        let pending = self.controller().is_some_and(|it| it.interrupts() != 0);
        self.interrupt = pending.then_some(EXTERNAL_INTERRUPT);
    }

    fn controller(&mut self) -> Option<&mut Intc> {
        self.peripherals.model(self.controller?)
    }

    fn read(&mut self, addr: u32, enables: u8, now: Instant) -> Option<u32> {
        let (number, offset) = self.peripherals.at(addr)?;
        let value = self
            .peripherals
            .device(number)
            .read_bytes(offset, enables, now);
        self.sync(number, now);
        // A register without behaviour reads as zero.
        Some(value.unwrap_or(0))
    }

    fn write(&mut self, addr: u32, value: u32, enables: u8, now: Instant) -> Option<()> {
        let (number, offset) = self.peripherals.at(addr)?;
        self.peripherals
            .device(number)
            .write_bytes(offset, value, enables, now);
        self.sync(number, now);
        Some(())
    }
}
