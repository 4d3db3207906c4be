//! The link to the partner (IEEE 802.3 clauses 14 and 28) as state machines without a clock or a
//! pin of their own: whoever drives the pins says what was heard and when, and asks what to send.
//!
//! - [`Link`]: everything together, for a PHY.
//! - [`Integrity`]: the link integrity test (clause 14.2.1.7).
//! - [`Negotiation`]: auto-negotiation (clause 28), with parallel detection.
//! - [`Pulses`]: when to send which pulse.
//! - [`Polarity`]: whether the receive pair is swapped (clause 14.3.1.3, an option there).
//! - [`Jabber`]: cuts a transmitter off that does not end (clause 14.2.1.6).
//!
//! Times are [`BitTimes`] on one clock, which wraps; what is called with them must be called at
//! least once in some 200 s, which the link pulse timer does.
//!
//! ```
//! use linerate_nic::{device::LinkState, link::{Duplex, Link, Mode}, mac::BitTimes};
//!
//! let mut link = Link::new(Mode::Forced(Duplex::Half));
//! for n in 1..=4 {
//!     let now = BitTimes(n * 160_000);
//!     link.pulse(now);
//!     // The link pulse timer: a pulse of our own goes out, the next one in 16 ms.
//!     let due = link.timer(now, None);
//!     assert!(due.pulse.is_some() && due.next == BitTimes(160_000));
//! }
//! assert_eq!(link.status().state, LinkState::Up);
//! ```

mod integrity;
mod jabber;
mod negotiation;
mod polarity;
mod pulses;
mod status;

pub use integrity::Integrity;
pub use jabber::Jabber;
pub use negotiation::Negotiation;
pub use polarity::{Polarity, Sense};
pub use pulses::{Due, Pulse, Pulses};
pub use status::{Abilities, By, Duplex, Fault, Status};

use crate::device::LinkState;
use crate::mac::BitTimes;
use linerate_ether::phy10::BIT_NS;
use linerate_ether::phy10::link::{LinkEvent, LinkReceiver};

/// Bit times in `ms` milliseconds.
const fn from_ms(ms: u32) -> BitTimes {
    from_ns(ms as u64 * 1_000_000)
}

/// Bit times in `ns` nanoseconds, rounded down.
const fn from_ns(ns: u64) -> BitTimes {
    BitTimes((ns / BIT_NS) as u32)
}

/// What has passed from `from` to `now`; nothing if `now` is the earlier one.
const fn passed(from: BitTimes, now: BitTimes) -> BitTimes {
    let span = now.since(from).0;
    BitTimes(if span > u32::MAX / 2 { 0 } else { span })
}

/// How the link comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Without negotiation: link pulses go out, and any that come in bring the link up. The partner,
    /// if it negotiates, finds out that we do 10BASE-T and takes half duplex.
    Forced(Duplex),
    /// By auto-negotiation of these abilities, flags of
    /// [`LinkCodeWord`](linerate_ether::phy10::link::LinkCodeWord); a partner that sends link
    /// pulses only gets half duplex by parallel detection.
    Negotiate(u16),
}

/// The link to the partner.
#[derive(Debug)]
pub struct Link {
    mode: Mode,
    integrity: Integrity,
    negotiation: Option<Negotiation>,
    pulses: Pulses,
    heard: Heard,
    /// The receive pair is swapped, and link pulses are not seen.
    swapped: bool,
    status: Status,
    changed: bool,
}

impl Link {
    /// A link on which nothing has happened yet. It is down.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        let negotiation = match mode {
            Mode::Forced(_) => None,
            Mode::Negotiate(abilities) => Some(Negotiation::new(abilities)),
        };
        let integrity = Integrity::new();
        Self {
            status: status(mode, negotiation.as_ref(), integrity.state()),
            mode,
            integrity,
            negotiation,
            pulses: Pulses::new(),
            heard: Heard::new(),
            swapped: false,
            changed: false,
        }
    }

    /// A link pulse, or one pulse of a burst, was heard at `at`. Says what it completed.
    pub fn pulse(&mut self, at: BitTimes) -> Option<LinkEvent> {
        let event = self.heard.pulse(at);
        if let Some((event, began)) = event {
            self.complete(event, began);
        }
        if self.integrity_hears_all() {
            self.integrity.pulse(at);
        }
        self.settle(at);
        event.map(|(event, _)| event)
    }

    /// A transmission of the partner's was heard up to `at`.
    pub fn frame(&mut self, at: BitTimes) {
        if self
            .negotiation
            .as_ref()
            .is_none_or(Negotiation::takes_frames)
        {
            self.integrity.active(at);
        }
        self.settle(at);
    }

    /// From `now` on the receive pair is taken to be swapped, by a receiver that then sees frames but
    /// no link pulses; or not any more.
    ///
    /// The link integrity test (clause 14.2.1.7) asks for pulses or frames every 50 to 150 ms, and a
    /// partner that has nothing to say sends pulses only. Where these cannot be seen it has nothing to
    /// go by: frames bring the link up, and it stays so, as if the test were switched off.
    pub fn set_swapped(&mut self, swapped: bool, now: BitTimes) {
        if self.swapped && !swapped && self.integrity.state() == LinkState::Up {
            // From here on the test counts again.
            self.integrity.active(now);
        }
        self.swapped = swapped;
        self.settle(now);
    }

    /// Shortly before `now` something came in while the station was sending; whether a pulse or a frame
    /// cannot be told.
    ///
    /// The link integrity test (clause 14.2.1.7) asks for either, and knows nothing of what the station
    /// sends: a receiver has a pair of its own. So this keeps a link up. It brings none up, which takes
    /// pulses that can be counted, and no burst is read from it.
    pub fn heard_while_sending(&mut self, now: BitTimes) {
        self.integrity.stirred(now);
    }

    /// The link pulse timer fires at `now`: says which pulse to send at once, when to call again, and
    /// what the [silence](Self::silence) up to `now` completed. The last packet was `sent` then; it
    /// stands for a link pulse.
    pub fn timer(&mut self, now: BitTimes, sent: Option<BitTimes>) -> Due {
        let completed = self.silence(now);
        let negotiation = self.negotiation.as_ref();
        let word = negotiation.map_or(pulses::Wanted::Normal, Negotiation::sends);
        let idle = sent.map_or(BitTimes(u32::MAX), |sent| passed(sent, now));
        let due = self.pulses.timer(now, idle, word);
        if due.pulse == Some(Pulse::Last)
            && let Some(negotiation) = &mut self.negotiation
        {
            negotiation.sent();
        }
        self.settle(now);
        Due { completed, ..due }
    }

    /// Nothing more was heard up to `now`: for the timer, and before a look at what was heard.
    /// Says what the silence completed.
    pub fn silence(&mut self, now: BitTimes) -> Option<LinkEvent> {
        let (event, began) = self.heard.silence(now)?;
        self.complete(event, began);
        self.settle(now);
        Some(event)
    }

    /// How things stand.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.status
    }

    /// How things stand, if that has changed since the last call.
    pub fn take_change(&mut self) -> Option<Status> {
        core::mem::take(&mut self.changed).then_some(self.status)
    }

    /// Whether all pulses speak for the link, those of bursts too: unless a partner's negotiation
    /// is to be told from a partner that does not negotiate.
    fn integrity_hears_all(&self) -> bool {
        self.negotiation
            .as_ref()
            .is_none_or(Negotiation::has_chosen)
    }

    fn complete(&mut self, event: LinkEvent, began: BitTimes) {
        let Some(negotiation) = &mut self.negotiation else {
            return;
        };
        match event {
            LinkEvent::Burst(word) => negotiation.burst(word, began),
            LinkEvent::NormalPulse if !negotiation.has_chosen() => self.integrity.pulse(began),
            LinkEvent::NormalPulse | LinkEvent::Broken(_) => {}
        }
    }

    /// Draws the conclusions from what was heard.
    fn settle(&mut self, now: BitTimes) {
        if !self.swapped {
            self.integrity.look(now);
        }
        if let Some(negotiation) = &mut self.negotiation
            && negotiation.look(self.integrity.state(), now)
        {
            self.integrity = Integrity::new();
        }
        let status = status(self.mode, self.negotiation.as_ref(), self.integrity.state());
        self.changed |= status != self.status;
        self.status = status;
    }

    /// Whether the partner is there.
    #[must_use]
    pub const fn state(&self) -> LinkState {
        self.status.state
    }
}

fn status(mode: Mode, negotiation: Option<&Negotiation>, integrity: LinkState) -> Status {
    match (negotiation, mode) {
        (Some(negotiation), _) => negotiation.status(integrity),
        (None, Mode::Forced(duplex)) => Status::forced(duplex, integrity),
        (None, Mode::Negotiate(_)) => Status::forced(Duplex::Half, LinkState::Down),
    }
}

/// [`LinkReceiver`] on a clock of bit times that wraps.
#[derive(Debug)]
struct Heard {
    receiver: LinkReceiver,
    last: BitTimes,
    last_ns: u64,
    /// When the pulse or burst under way began.
    began: BitTimes,
}

impl Heard {
    const fn new() -> Self {
        Self {
            receiver: LinkReceiver::new(),
            last: BitTimes(0),
            last_ns: 0,
            began: BitTimes(0),
        }
    }

    fn ns(&mut self, at: BitTimes) -> u64 {
        self.last_ns += u64::from(at.since(self.last).0) * BIT_NS;
        self.last = at;
        self.last_ns
    }

    /// What was completed, and when it had begun.
    fn pulse(&mut self, at: BitTimes) -> Option<(LinkEvent, BitTimes)> {
        let at_ns = self.ns(at);
        let event = self.receiver.pulse(at_ns);
        let began = self.began;
        if self.receiver.began_ns() == Some(at_ns) {
            self.began = at;
        }
        Some((event?, began))
    }

    fn silence(&mut self, now: BitTimes) -> Option<(LinkEvent, BitTimes)> {
        let now_ns = self.ns(now);
        Some((self.receiver.silence(now_ns)?, self.began))
    }
}
