//! A board with a soft SoC: its network line leads to a peer.

use std::collections::VecDeque;

use linerate_ether::ledger::Counter;

use super::console::Lines;
use super::{Event, Fate};
use crate::chip::esp32c6::{ConsoleByte, Port};
use crate::chip::soft_soc::{Config, Error, NoLine, SoftSoc, Stop};
use crate::elf::Elf;
use crate::peer::Peer;
use crate::rv32::Fault;
use crate::time::{Instant, Span};
use crate::trace::TraceHash;
use crate::wire::{self, FrameLink, FrameLinkConfig};

/// Reason that a board cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoftError {
    /// The SoC cannot start.
    #[error(transparent)]
    Soc(#[from] Error),
    /// The SoC has no network line.
    #[error(transparent)]
    NoLine(#[from] NoLine),
}

/// An instruction that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Its address. The first instruction of an interrupt or exception handler has the address of the interrupted one.
    pub address: u32,
    /// Registers of devices that it read, and wrote.
    pub accesses: [u64; 2],
}

/// Function that is called for each instruction.
struct Observer(Box<dyn FnMut(Executed)>);

impl core::fmt::Debug for Observer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Observer")
    }
}

/// A powered board with its cable plugged in.
#[derive(Debug)]
pub struct SoftBoard {
    soc: SoftSoc,
    observer: Option<Observer>,
    link: FrameLink<Box<dyn Peer>>,
    /// Address of the firmware's counters.
    ledger: Option<u32>,
    lines: Lines,
    events: VecDeque<Event>,
    hash: TraceHash,
}

impl SoftBoard {
    /// Switches on the board that `config` describes, with the program `elf` and `peer` at the other end of the cable.
    /// `ledger_symbol` is the symbol of the firmware's counters, an array of words in the order of [`Counter`].
    ///
    /// # Errors
    /// [`SoftError`].
    pub fn new(
        config: &Config,
        elf: &Elf,
        link: FrameLinkConfig,
        peer: Box<dyn Peer>,
        ledger_symbol: &str,
    ) -> Result<Self, SoftError> {
        let mut soc = SoftSoc::new(config, elf)?;
        soc.connect(Some(link.partner))?;
        let counters = (Counter::COUNT * size_of::<u32>()) as u32;
        let ledger = elf.symbol(ledger_symbol).filter(|it| it.size == counters);
        Ok(Self {
            soc,
            observer: None,
            link: FrameLink::new(link, peer),
            ledger: ledger.map(|it| it.addr),
            lines: Lines::default(),
            events: VecDeque::new(),
            hash: TraceHash::new(),
        })
    }

    /// Calls `observe` for each instruction from now on. The simulation stays the same, but takes several times as long.
    pub fn observe(&mut self, observe: impl FnMut(Executed) + 'static) {
        self.observer = Some(Observer(Box::new(observe)));
    }

    fn run_soc(&mut self, until: Instant) -> Stop {
        let Self { soc, observer, .. } = self;
        let Some(Observer(observe)) = observer else {
            return soc.run(until);
        };
        loop {
            // A program that waits executes nothing before the next event.
            let next = soc.waits_until().unwrap_or(soc.now());
            let next = next.max(soc.now() + Span::from_ticks(1)).min(until);
            let (address, before) = (soc.hart().pc(), soc.register_accesses());
            let executed = soc.hart().instret();
            let stop = soc.run(next);
            if soc.hart().instret() != executed {
                let after = soc.register_accesses();
                observe(Executed {
                    address,
                    accesses: [after[0] - before[0], after[1] - before[1]],
                });
            }
            if stop != Stop::Deadline || soc.now() >= until {
                return stop;
            }
        }
    }

    /// Runs the program until `until`, at most one instruction longer.
    pub fn run(&mut self, until: Instant) -> super::Stop<Fault> {
        loop {
            let limit = until.min(self.link.deadline());
            let stop = if limit > self.soc.now() {
                self.run_soc(limit)
            } else {
                Stop::Deadline
            };
            let stopped = match stop {
                Stop::Deadline | Stop::Sent => None,
                Stop::Asleep if self.link.deadline() == Instant::NEVER => Some(super::Stop::Asleep),
                Stop::Asleep => {
                    self.soc.sleep_until(limit);
                    None
                }
                Stop::Fault(fault) => Some(super::Stop::Fault(fault)),
            };
            let now = self.soc.now();
            self.exchange(now);
            self.collect();
            if stopped.is_some() {
                return stopped.unwrap_or(super::Stop::Asleep);
            }
            if now >= until {
                return super::Stop::Reached;
            }
        }
    }

    /// Moves frames between device and link up to `now`.
    fn exchange(&mut self, now: Instant) {
        self.link.set_mode(self.soc.link_mode());
        while let Some(frame) = self.soc.take_frame() {
            self.link.receive(frame);
        }
        while self.link.deadline() <= now {
            let due = self.link.deadline();
            self.link.poll(due);
        }
        while let Some(frame) = self.link.take_frame() {
            self.soc.receive_frame(frame);
        }
    }

    fn collect(&mut self) {
        while let Some(event) = self.link.poll_event() {
            match event {
                wire::Event::Started(_) => {}
                wire::Event::Sent(record, octets) => {
                    self.hash.event(b's', record.start, &octets);
                    self.hash.number(record.end.ticks());
                    let fate = record.fault.map_or(Fate::Delivered, Fate::Lost);
                    self.events.push_back(Event::Sent {
                        record,
                        octets,
                        fate,
                    });
                }
                wire::Event::Received(record, octets) => {
                    self.hash.event(b'h', record.start, &octets);
                    self.hash.number(record.end.ticks());
                    self.events.push_back(Event::Received { record, octets });
                }
            }
        }
        for (at, byte) in self.soc.timed_console() {
            let port = Port::Uart0;
            self.hash.event(b'c', at, &[port as u8, byte]);
            self.lines
                .push(ConsoleByte { at, port, byte }, &mut self.events);
        }
    }

    /// The current virtual time.
    pub fn now(&self) -> Instant {
        self.soc.now()
    }

    /// The next event. A frame to the device is [`Fate::Delivered`] when it was on the line: what MAC and driver make of
    /// it is in their counters.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The SoC, for inspection.
    pub const fn soc(&self) -> &SoftSoc {
        &self.soc
    }

    /// The link, for its mode and counts.
    pub const fn link(&self) -> &FrameLink<Box<dyn Peer>> {
        &self.link
    }

    /// The far end of the device called `name` sends `bytes`: typed on a console.
    pub fn send(&mut self, name: &str, bytes: &[u8]) {
        self.soc.send(name, bytes);
    }

    /// Unplugs the cable, or plugs it in again.
    ///
    /// # Errors
    /// [`NoLine`].
    pub fn set_cable(&mut self, is_plugged: bool) -> Result<(), NoLine> {
        let partner = is_plugged.then_some(self.link.config().partner);
        self.soc.connect(partner)?;
        self.link.set_mode(self.soc.link_mode());
        Ok(())
    }

    /// The peer, for its report.
    pub fn peer(&self) -> &dyn Peer {
        self.link.station().as_ref()
    }

    /// Calls `with` on the peer, which may have something to send afterwards.
    pub fn with_peer<R>(&mut self, with: impl FnOnce(&mut dyn Peer) -> R) -> R {
        let now = self.soc.now();
        with(self.link.station_at(now).as_mut())
    }

    /// A counter of the firmware; `None` without counters.
    pub fn counter(&self, counter: Counter) -> Option<u32> {
        let address = self.ledger? + 4 * counter as u32;
        self.soc.memory().read_u32(address)
    }

    /// A hash of everything on the wire and on the consoles.
    pub const fn trace_hash(&self) -> TraceHash {
        self.hash
    }

    /// Ends the run: incomplete lines are returned as events.
    pub fn finish(&mut self) {
        self.lines.finish(&mut self.events);
    }
}
