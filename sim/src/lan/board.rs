//! A soft SoC with an ENET, a switch at the other end of its line, and a station behind that.

use std::collections::VecDeque;

use super::switch::SwitchPort;
use crate::chip::soft_soc::{self, Config, SoftSoc};
use crate::device::LineFrame;
use crate::device::enet::Enet;
use crate::elf::Elf;
use crate::peer::Station;
use crate::rv32::Fault;
use crate::time::{Instant, Span};

/// Longest time between two exchanges of frames. The station answers no faster.
const EXCHANGE: Span = Span::from_us(2);
const MODEL: &str = "enet";

/// Reason that a board cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The SoC cannot.
    #[error(transparent)]
    Soc(#[from] soft_soc::Error),
    /// It has no ENET.
    #[error("the board {0} has no device of the model enet")]
    NoEnet(String),
}

/// Reason that [`EnetBoard::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The requested time is reached.
    Reached,
    /// An exception that the program cannot handle.
    Fault(Fault),
}

/// The board with its cable plugged in.
#[derive(Debug)]
pub struct EnetBoard<S> {
    /// The SoC.
    pub soc: SoftSoc,
    /// The other end of the line.
    pub port: SwitchPort<S>,
    /// Name of the ENET in the board file.
    enet: String,
    /// Frames of the board that have not arrived, in the order of their ends.
    in_transit: VecDeque<LineFrame>,
    is_plugged: bool,
}

impl<S: Station> EnetBoard<S> {
    /// The board that `config` describes with the program `elf`, connected to `port`.
    ///
    /// # Errors
    /// [`Error`] if the SoC cannot start or has no ENET.
    pub fn new(config: &Config, elf: &Elf, port: SwitchPort<S>) -> Result<Self, Error> {
        let enet = config.devices.iter().find(|it| it.model == MODEL);
        let enet = enet.ok_or_else(|| Error::NoEnet(config.name.clone()))?;
        let mut this = Self {
            soc: SoftSoc::new(config, elf)?,
            enet: enet.name.clone(),
            port,
            in_transit: VecDeque::new(),
            is_plugged: false,
        };
        this.plug(true);
        Ok(this)
    }

    /// Plugs the cable in, or pulls it out.
    pub fn plug(&mut self, is_plugged: bool) {
        self.is_plugged = is_plugged;
        let partner = is_plugged.then(|| self.port.partner());
        // `new` has found the ENET, which has a line.
        let _ = self.soc.connect(partner);
    }

    /// Calls `with` on the ENET.
    fn with_enet<R>(&mut self, with: impl FnOnce(&mut Enet, Instant) -> R) -> Option<R> {
        self.soc.with_device(&self.enet, with)
    }

    /// A counter of the ENET (its offset in the register map), with its full width.
    pub fn counter(&mut self, offset: u32) -> u64 {
        self.with_enet(|enet, _| enet.counter(offset))
            .unwrap_or_default()
    }

    /// Frames whose end an overrun lost, so that the next one was joined to them.
    pub fn lost_ends(&mut self) -> u64 {
        self.with_enet(|enet, _| enet.lost_ends())
            .unwrap_or_default()
    }

    /// Runs the program until `until`, at most one instruction longer.
    pub fn run(&mut self, until: Instant) -> Stop {
        loop {
            let now = self.soc.now();
            if now >= until {
                return Stop::Reached;
            }
            let arrival = self.in_transit.front().map(|it| it.end);
            let next = self
                .port
                .next_event()
                .min(arrival.unwrap_or(Instant::NEVER))
                .min(now + EXCHANGE)
                .min(until)
                .max(now + Span::from_ticks(1));
            match self.soc.run(next) {
                soft_soc::Stop::Deadline | soft_soc::Stop::Sent => {}
                soft_soc::Stop::Asleep => self.soc.sleep_until(next),
                soft_soc::Stop::Fault(fault) => return Stop::Fault(fault),
            }
            self.exchange();
        }
    }

    fn exchange(&mut self) {
        let now = self.soc.now();
        let mode = self.soc.link_mode();
        let may_pause = self.with_enet(|enet, _| enet.may_pause_partner());
        self.port.set_link(mode, may_pause.unwrap_or_default());
        while let Some(frame) = self.soc.take_frame() {
            // A link that is down carries nothing.
            if mode.is_some() {
                self.in_transit.push_back(frame);
            }
        }
        while let Some(frame) = self.in_transit.pop_front_if(|it| it.end <= now) {
            self.port.receive(&frame);
        }
        if let Some(frame) = self.port.poll(now) {
            self.soc.receive_frame(frame);
        }
    }
}
