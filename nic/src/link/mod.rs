//! The link to the partner (IEEE 802.3 clauses 14 and 28) as state machines without clock or pins:
//! the PHY driver reports events with their time and gets the pulses to send.
//!
//! - [`Link`]: all of the following combined, for a PHY.
//! - [`Integrity`]: the link integrity test (clause 14.2.1.7).
//! - [`Negotiation`]: auto-negotiation (clause 28), with parallel detection.
//! - [`PulseSender`]: timing of the pulses to send.
//! - [`Polarity`]: detects a swapped receive pair (clause 14.3.1.3, optional there).
//! - [`Jabber`]: cuts off a transmitter that sends for too long (clause 14.2.1.6).
//!
//! Times are [`BitTimes`] on one clock, which wraps; objects that take a time must be called at
//! least once in some 200 s, which the link pulse timer ensures.
//!
//! ```
//! use linerate_nic::{device::LinkState, link::{Duplex, Link, Mode}, mac::BitTimes};
//!
//! let mut link = Link::new(Mode::Forced(Duplex::Half));
//! for n in 1..=4 {
//!     let now = BitTimes(n * 160_000);
//!     link.on_pulse(now);
//!     // The link pulse timer: a pulse of our own goes out, the next one in 16 ms.
//!     let due = link.on_timer(now, None);
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
pub use pulses::{Pulse, PulseSender, TimerAction};
pub use status::{Abilities, Duplex, EstablishedBy, LinkFault, Status};

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

/// Time from `from` to `now`; zero if `now` is earlier.
const fn passed(from: BitTimes, now: BitTimes) -> BitTimes {
    let span = now.since(from).0;
    BitTimes(if span > u32::MAX / 2 { 0 } else { span })
}

/// Configuration of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Without negotiation: link pulses are sent, and received ones bring the link up. A partner
    /// that negotiates detects 10BASE-T and selects half duplex.
    Forced(Duplex),
    /// Auto-negotiation of these abilities, flags of
    /// [`LinkCodeWord`](linerate_ether::phy10::link::LinkCodeWord); with a partner that sends only
    /// link pulses, half duplex by parallel detection.
    Negotiate(u16),
}

/// The link to the partner.
#[derive(Debug)]
pub struct Link {
    mode: Mode,
    integrity: Integrity,
    negotiation: Option<Negotiation>,
    pulses: PulseSender,
    receiver: BitTimeReceiver,
    /// The receive pair is swapped, and link pulses cannot be detected.
    swapped: bool,
    status: Status,
    changed: bool,
}

impl Link {
    /// A link in its initial state, down.
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
            pulses: PulseSender::new(),
            receiver: BitTimeReceiver::new(),
            swapped: false,
            changed: false,
        }
    }

    /// Processes a link pulse, or one pulse of a burst, received at `at`. Returns the event that it
    /// completes.
    pub fn on_pulse(&mut self, at: BitTimes) -> Option<LinkEvent> {
        let event = self.receiver.on_pulse(at);
        if let Some((event, began)) = event {
            self.on_event(event, began);
        }
        if self.counts_all_pulses() {
            self.integrity.on_pulse(at);
        }
        self.update_status(at);
        event.map(|(event, _)| event)
    }

    /// Processes a transmission of the partner, received until `at`.
    pub fn on_frame(&mut self, at: BitTimes) {
        if self
            .negotiation
            .as_ref()
            .is_none_or(Negotiation::accepts_frames)
        {
            self.integrity.on_frame(at);
        }
        self.update_status(at);
    }

    /// Sets, at `now`, whether the receive pair is swapped, for a receiver that then detects frames
    /// but no link pulses.
    ///
    /// The link integrity test (clause 14.2.1.7) requires pulses or frames every 50 to 150 ms, and
    /// a partner without traffic sends only pulses. If these cannot be detected the test has no
    /// input: frames bring the link up, and it stays up, as if the test were disabled.
    pub fn set_swapped(&mut self, swapped: bool, now: BitTimes) {
        if self.swapped && !swapped && self.integrity.state() == LinkState::Up {
            // The test is active again from here on.
            self.integrity.on_frame(now);
        }
        self.swapped = swapped;
        self.update_status(now);
    }

    /// Processes activity shortly before `now`, while the station was sending; pulses and frames
    /// cannot be distinguished then.
    ///
    /// The link integrity test (clause 14.2.1.7) requires either, and is independent of what the
    /// station sends: a receiver has its own pair. So this keeps a link up. It does not bring a
    /// link up, which requires pulses that can be counted, and no burst is decoded from it.
    pub fn on_activity_while_sending(&mut self, now: BitTimes) {
        self.integrity.on_activity(now);
    }

    /// Processes the link pulse timer at `now`: returns the pulse to send at once, the time of the
    /// next call, and the event completed by the [silence](Self::handle_silence) until `now`. `sent` is
    /// the end of the last packet sent, which replaces a link pulse.
    pub fn on_timer(&mut self, now: BitTimes, sent: Option<BitTimes>) -> TimerAction {
        let completed = self.handle_silence(now);
        let negotiation = self.negotiation.as_ref();
        let word = negotiation.map_or(pulses::PulseRequest::Normal, Negotiation::pulse_request);
        let idle = sent.map_or(BitTimes(u32::MAX), |sent| passed(sent, now));
        let due = self.pulses.on_timer(now, idle, word);
        if due.pulse == Some(Pulse::Last)
            && let Some(negotiation) = &mut self.negotiation
        {
            negotiation.on_burst_sent();
        }
        self.update_status(now);
        TimerAction { completed, ..due }
    }

    /// Processes silence until `now`: call it from the timer, and before reading the status.
    /// Returns the event that the silence completes.
    pub fn handle_silence(&mut self, now: BitTimes) -> Option<LinkEvent> {
        let (event, began) = self.receiver.on_silence(now)?;
        self.on_event(event, began);
        self.update_status(now);
        Some(event)
    }

    /// Status of the link.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Status of the link, if it has changed since the last call.
    pub fn take_change(&mut self) -> Option<Status> {
        core::mem::take(&mut self.changed).then_some(self.status)
    }

    /// True if all pulses, including those of bursts, count for the link integrity test: unless
    /// negotiation is still in progress and a partner that does not negotiate must be
    /// distinguished.
    fn counts_all_pulses(&self) -> bool {
        self.negotiation
            .as_ref()
            .is_none_or(Negotiation::is_resolved)
    }

    fn on_event(&mut self, event: LinkEvent, began: BitTimes) {
        let Some(negotiation) = &mut self.negotiation else {
            return;
        };
        match event {
            LinkEvent::Burst(word) => negotiation.on_burst(word, began),
            LinkEvent::NormalPulse if !negotiation.is_resolved() => self.integrity.on_pulse(began),
            LinkEvent::NormalPulse | LinkEvent::Malformed(_) => {}
        }
    }

    /// Updates the state machines and the status.
    fn update_status(&mut self, now: BitTimes) {
        if !self.swapped {
            self.integrity.update(now);
        }
        if let Some(negotiation) = &mut self.negotiation
            && negotiation.update(self.integrity.state(), now)
        {
            self.integrity = Integrity::new();
        }
        let status = status(self.mode, self.negotiation.as_ref(), self.integrity.state());
        self.changed |= status != self.status;
        self.status = status;
    }

    /// State of the link.
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
struct BitTimeReceiver {
    receiver: LinkReceiver,
    last: BitTimes,
    last_ns: u64,
    /// Start time of the pulse or burst in progress.
    began: BitTimes,
}

impl BitTimeReceiver {
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

    /// The completed event, and its start time.
    fn on_pulse(&mut self, at: BitTimes) -> Option<(LinkEvent, BitTimes)> {
        let at_ns = self.ns(at);
        let event = self.receiver.on_pulse(at_ns);
        let began = self.began;
        if self.receiver.began_ns() == Some(at_ns) {
            self.began = at;
        }
        Some((event?, began))
    }

    fn on_silence(&mut self, now: BitTimes) -> Option<(LinkEvent, BitTimes)> {
        let now_ns = self.ns(now);
        Some((self.receiver.on_silence(now_ns)?, self.began))
    }
}
