//! Boards: a chip, a wire and a peer, and the events of their run.
//!
//! [`Board`] runs the firmware in virtual time and returns [`Event`]s. [`attribution`] determines
//! the fate of each frame that the peer sent.

pub mod attribution;
mod console;
mod pins;
pub mod soft_soc;
mod spi_slave;
pub mod w5500;

use std::collections::VecDeque;

use linerate_ether::ledger::Counter;

use self::attribution::{Attribution, CounterIncrement};
pub use self::attribution::{Fate, Tally};
use self::console::Lines;
use self::pins::BoardWiring;
pub use self::pins::Pins;
pub use self::soft_soc::SoftBoard;
pub use self::spi_slave::{SpiSlave, SpiTransfer};
use crate::chip::esp32c6::{self, Esp32c6, FaultReport, Port, ResetCause};
use crate::elf::{Elf, ElfError};
use crate::peer::Peer;
use crate::profile::{Activity, Profile};
use crate::time::{Instant, Span};
use crate::trace::{TraceHash, Waveform};
use crate::wire::{self, Link, ReceivedFrame, SentFrame};

/// Configuration of a board.
#[derive(Debug, Clone)]
pub struct Config {
    /// The board's name, for waveforms.
    pub name: String,
    /// The chip.
    pub chip: esp32c6::Config,
    /// Assignment of the pads.
    pub pins: Pins,
    /// The cable and the peer's transmitter.
    pub link: wire::Config,
    /// Symbol of the firmware's counters, an array of words in the order of [`Counter`].
    pub ledger_symbol: String,
    /// Record the pins for this long from the peer's first frame on.
    pub waveform: Option<Span>,
    /// Count cycles by function from the peer's first frame on. Several times slower.
    pub profile: bool,
    /// Record the edges toward the device periodically, for [`Board::take_edges`].
    pub sample_edges: bool,
}

impl Default for Config {
    /// The bit-banged ESP32-C6 board.
    fn default() -> Self {
        Self {
            name: "esp32c6-bitbang".to_owned(),
            chip: esp32c6::Config::default(),
            pins: Pins::default(),
            link: wire::Config::default(),
            ledger_symbol: "LINERATE_LEDGER".to_owned(),
            waveform: None,
            profile: false,
            sample_edges: false,
        }
    }
}

/// Reason that a board cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The firmware cannot be loaded.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The firmware's counters do not match this version.
    #[error(
        "the symbol {symbol} has {found} bytes, but the counters of this version take \
         {expected}: build firmware and simulator from the same source"
    )]
    Ledger {
        /// The symbol.
        symbol: String,
        /// Its size.
        found: u32,
        /// The size that it should have.
        expected: u32,
    },
}

/// An event of a run. Events of one kind are in the order of time; kinds may overtake each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The program printed a line.
    Line {
        /// Time of the first byte.
        at: Instant,
        /// Console.
        port: Port,
        /// The text, without the line's end.
        text: String,
    },
    /// The fate of a frame that the peer sent is final.
    Sent {
        /// Its times on the wire.
        record: SentFrame,
        /// From destination address to FCS.
        octets: Vec<u8>,
        /// Its fate.
        fate: Fate,
    },
    /// The peer received a frame of the device.
    Received {
        /// Its times on the wire, and the verdict of the peer's MAC.
        record: ReceivedFrame,
        /// From destination address to FCS.
        octets: Vec<u8>,
    },
    /// The debug pad was high.
    Pulse {
        /// Rising edge.
        start: Instant,
        /// Falling edge.
        end: Instant,
    },
    /// The chip was reset and restarted.
    Reset {
        /// Time of the reset.
        at: Instant,
        /// Cause of the reset.
        cause: ResetCause,
    },
}

/// Reason that a board's `run` returned; `F` describes an exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop<F = Box<FaultReport>> {
    /// The requested time is reached.
    Reached,
    /// The program waits for an interrupt that nothing can raise.
    Asleep,
    /// An exception that the program cannot handle.
    Fault(F),
}

/// A powered board with its cable plugged in.
#[derive(Debug)]
pub struct Board {
    config: Config,
    chip: Esp32c6,
    wiring: BoardWiring,
    ledger: Option<Ledger>,
    attribution: Attribution,
    /// Transmissions to the device whose fate is not final, in the order of sending, with their
    /// octets once they have ended.
    unsettled: VecDeque<(SentFrame, Option<Vec<u8>>)>,
    lines: Lines,
    events: VecDeque<Event>,
    hash: TraceHash,
    resets: u32,
    settle_at: Instant,
}

/// The firmware's counters, as the simulator saw them change.
#[derive(Debug)]
struct Ledger {
    addr: u32,
    values: [u32; Counter::COUNT],
}

/// A chip that resets this often is in a reset loop.
const MAX_RESETS: u32 = 100;
/// Interval between checks for final fates, each of which visits every queued frame.
const SETTLE_PERIOD: Span = Span::from_ms(1);

impl Board {
    /// Switches the board on with the firmware `elf` and `peer` at the other end of the cable.
    ///
    /// # Errors
    /// [`Error`] when the firmware does not fit the chip, or its counters do not match this
    /// version. A firmware without counters runs; frames' fates are then unknown.
    pub fn new(config: Config, elf: &Elf, peer: Box<dyn Peer>) -> Result<Self, Error> {
        let mut chip = Esp32c6::new(config.chip.clone(), elf)?;
        let expected = (Counter::COUNT * size_of::<u32>()) as u32;
        let ledger = match chip.symbol(&config.ledger_symbol) {
            Some((addr, size)) if size == expected => {
                chip.watch(addr..addr + size);
                Some(Ledger {
                    addr,
                    values: [0; Counter::COUNT],
                })
            }
            Some((_, found)) => {
                let symbol = config.ledger_symbol;
                return Err(Error::Ledger {
                    symbol,
                    found,
                    expected,
                });
            }
            None => None,
        };
        if config.profile {
            chip.start_profile();
        }
        let link = Link::new(config.link, peer);
        let wiring = BoardWiring::new(config.pins, link, config.sample_edges);
        Ok(Self {
            config,
            chip,
            wiring,
            ledger,
            attribution: Attribution::new(),
            unsettled: VecDeque::new(),
            lines: Lines::default(),
            events: VecDeque::new(),
            hash: TraceHash::new(),
            resets: 0,
            settle_at: Instant::ZERO,
        })
    }

    /// Runs the program until `until`, at most one instruction longer.
    pub fn run(&mut self, until: Instant) -> Stop {
        loop {
            let stop = self.chip.run(until, &mut self.wiring);
            let now = self.chip.now();
            self.wiring.poll(now);
            self.collect(now);
            match stop {
                esp32c6::Stop::Deadline if now >= until => return Stop::Reached,
                esp32c6::Stop::Deadline => {}
                esp32c6::Stop::Asleep => return Stop::Asleep,
                esp32c6::Stop::Fault(fault) => return Stop::Fault(fault),
                esp32c6::Stop::Reset(cause) => {
                    self.resets += 1;
                    self.events.push_back(Event::Reset { at: now, cause });
                    if self.resets > MAX_RESETS {
                        return Stop::Asleep;
                    }
                    self.chip.reset(cause);
                    if let Some(ledger) = &mut self.ledger {
                        ledger.values = [0; Counter::COUNT];
                    }
                    self.attribution.on_reset();
                }
            }
        }
    }

    /// The current virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.chip.now()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The chip, for its reports and figures.
    #[must_use]
    pub const fn chip(&self) -> &Esp32c6 {
        &self.chip
    }

    /// The far end of a console sends `bytes`.
    pub fn console_input(&mut self, port: Port, bytes: &[u8]) {
        self.chip.console_input(port, bytes);
    }

    /// The peer, for its report.
    #[must_use]
    pub fn peer(&self) -> &dyn Peer {
        self.wiring.link.station().as_ref()
    }

    /// Calls `with` on the peer, which may have something to send afterwards.
    pub fn with_peer<R>(&mut self, with: impl FnOnce(&mut dyn Peer) -> R) -> R {
        let result = with(self.wiring.link.station_mut().as_mut());
        let now = self.chip.now();
        self.wiring.link.poll(now);
        self.collect(now);
        result
    }

    /// Counts at the peer's end of the cable.
    #[must_use]
    pub const fn wire(&self) -> &wire::Statistics {
        self.wiring.link.statistics()
    }

    /// Current statistics of each transmitter to the device: the peer's, then those of further stations on the hub.
    pub fn stations(&self) -> impl Iterator<Item = &wire::StationStatistics> {
        self.wiring.link.stations()
    }

    /// Number of frames that the peer has handed to its MAC and that were never on the wire.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.wiring.link.waiting()
    }

    /// True if a transmission of the device has begun and the peer has not received it yet.
    #[must_use]
    pub fn is_device_sending(&self) -> bool {
        self.wiring.link.is_receiving()
    }

    /// The link as the peer sees it: up or down, and the duplex that it uses.
    #[must_use]
    pub fn link(&self) -> wire::LinkReport {
        self.wiring.link.report()
    }

    /// True if the firmware has counters, so frames' fates are known.
    #[must_use]
    pub const fn has_ledger(&self) -> bool {
        self.ledger.is_some()
    }

    /// A counter of the device, as the simulator saw it change.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u32 {
        self.ledger
            .as_ref()
            .map_or(0, |ledger| ledger.values[counter as usize])
    }

    /// The peer's frames by fate: delivered, lost by cause, in flight or in a queue.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.attribution.tally(self.chip.now())
    }

    /// The pins' levels, if they are recorded and the peer has sent a frame.
    #[must_use]
    pub const fn waveform(&self) -> Option<&Waveform> {
        self.wiring.waveform.as_ref()
    }

    /// Cycles by function, if they are counted.
    pub fn profile(&mut self) -> Option<Profile> {
        self.chip.profile()
    }

    /// Activities of the hart since the last call, if cycles are counted.
    pub fn activities(&mut self) -> Vec<Activity> {
        self.chip.activities()
    }

    /// Edges toward the device recorded since the last call, of whole transmissions: a few
    /// milliseconds several times a second.
    pub fn take_edges(&mut self) -> Vec<(Instant, bool)> {
        self.wiring.take_edges()
    }

    /// A hash of everything on the wire and on the consoles.
    #[must_use]
    pub const fn trace_hash(&self) -> TraceHash {
        self.hash
    }

    /// Ends the run: open frames and lines are returned as events in their current state.
    pub fn finish(&mut self) {
        let now = self.chip.now();
        self.collect(now);
        for fate in self.attribution.settle_all(now) {
            if let Some((record, octets)) = self.unsettled.pop_front() {
                let octets = octets.unwrap_or_default();
                self.events.push_back(Event::Sent {
                    record,
                    octets,
                    fate,
                });
            }
        }
        self.lines.finish(&mut self.events);
    }

    /// Collects the events up to `now`.
    fn collect(&mut self, now: Instant) {
        while let Some(event) = self.wiring.link.poll_event() {
            self.wire_event(event);
        }
        self.count_stores();
        self.wiring.take_pulses(&mut self.events, &mut self.hash);
        for byte in self.chip.console() {
            self.hash
                .event(b'c', byte.at, &[byte.port as u8, byte.byte]);
            self.lines.push(byte, &mut self.events);
        }
        if now >= self.settle_at {
            self.settle_at = now + SETTLE_PERIOD;
            self.settle(now);
        }
    }

    /// Appends the frames whose fate is final.
    fn settle(&mut self, now: Instant) {
        while let Some((_, Some(_))) = self.unsettled.front()
            && let Some(fate) = self.attribution.settle(now)
            && let Some((record, Some(octets))) = self.unsettled.pop_front()
        {
            self.events.push_back(Event::Sent {
                record,
                octets,
                fate,
            });
        }
    }

    fn wire_event(&mut self, event: wire::Event) {
        match event {
            wire::Event::Started(sent) => {
                if self.config.profile && sent.id == 0 {
                    self.chip.start_profile();
                }
                // Counts may refer to it before it ends.
                self.attribution.on_frame_start(sent.start, sent.end);
                if let Some(length) = self.config.waveform.take() {
                    self.wiring.record(Waveform::new(sent.start, length));
                }
                self.unsettled.push_back((sent, None));
            }
            wire::Event::Sent(sent, octets) => {
                let number = sent.id as usize;
                self.attribution
                    .on_frame_end(number, sent.end, sent.fault, sent.noisy);
                self.hash.event(b's', sent.start, &octets);
                self.hash.number(sent.end.ticks());
                let ours = |(open, _): &&mut (SentFrame, _)| open.id == sent.id;
                if let Some(open) = self.unsettled.iter_mut().rev().find(ours) {
                    *open = (sent, Some(octets));
                }
            }
            wire::Event::Received(record, octets) => {
                self.hash.event(b'h', record.start, &octets);
                self.hash.number(record.end.ticks());
                self.events.push_back(Event::Received { record, octets });
            }
        }
    }

    /// Processes the stores into the counters.
    fn count_stores(&mut self) {
        let stores = self.chip.watch_events();
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        for store in stores {
            let index = (store.addr.wrapping_sub(ledger.addr) / 4) as usize;
            let Some(value) = ledger.values.get_mut(index) else {
                continue;
            };
            let more = store.value.wrapping_sub(*value);
            *value = store.value;
            let counter = Counter::ALL[index];
            let (in_interrupt, last_edge) = self.wiring.debug_at(store.at);
            // A counter that is set to zero, or counts octets, does not count frames.
            for _ in 0..if more > 16 { 0 } else { more } {
                self.attribution.on_count(CounterIncrement {
                    at: store.at,
                    counter,
                    in_interrupt,
                    // The receive loop lowers and raises the pin when it has detected the end. A
                    // firmware that counts elsewhere has no such mark.
                    last_sample: if in_interrupt { last_edge } else { store.at },
                });
            }
        }
    }
}
