//! A link that tests itself in place, beside the traffic of its user.

mod change;
mod config;
mod figures;
mod negotiation;
mod schedule;
mod search;
mod trial;

pub use change::{BASELINE_PERIODS, Baseline, Cause, Change, MAX_CHANGES};
pub use config::{DelayTooShort, SelfTestConfig};
pub use figures::{Direction, DirectionFigures, End, Figures, SIZES, Spread};
pub use search::HighestRate;

use crate::link::{Event, Link};
use crate::measure::{Budget, Identity, Message, Responder, ResponderConfig, VERSION};
use crate::time::{Deadline, Instant};
use crate::wire::{ACKNOWLEDGMENT, frame_octets};
use config::OTHERS;
use schedule::{Schedule, TRAIN};
use search::Search;
use trial::{Counts, Trial};

/// Something that the user of a self-test has to know or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notice {
    /// A period is over: [`SelfTest::figures`] and [`SelfTest::changes`] describe it.
    Period,
    /// The hardware is to be switched to this bit rate.
    SetRate(u32),
    /// The hardware is to be switched back to the bit rate of the link.
    RestoreRate,
    /// The search is over.
    HighestRate(HighestRate),
}

/// An end that measures its link on a schedule and compares each period with a baseline.
///
/// The peer has a `SelfTest` of its own, or a [`Responder`]. The caller uses [`receive`](Self::receive) and
/// [`transmit`](Self::transmit) instead of the link's, calls [`poll`](Self::poll) behind each of them, passes on the
/// link's events, and acts on each [`Notice`].
///
/// User data keeps its place: tests are on the last channel, so a message of the user waits for the rest of one test
/// message at most, for a probe and its answer, and for an acknowledgment: less than `max_delay_us`. During a trial
/// of a bit rate, which only [`find_highest_rate`](Self::find_highest_rate) begins, it waits for
/// [`hold_us`](Self::hold_us) in addition. No user data is lost.
#[derive(Debug, Clone)]
pub struct SelfTest {
    config: SelfTestConfig,
    longest: usize,
    responder: Responder,
    schedule: Schedule,
    /// Figures of the last whole period, and what was worse in it.
    figures: Figures,
    changes: [Option<Change>; MAX_CHANGES],
    baseline: Baseline,
    fifos: [u16; 2],
    peer_name: Option<Identity>,
    trial: Option<Trial>,
    last_trial: (u8, Counts),
    search: Option<Search>,
    trial_number: u8,
    /// Time of the request of the last trial.
    asked: Instant,
    /// User data is held until then.
    held_until: Deadline,
}

impl SelfTest {
    /// An end without a baseline.
    ///
    /// # Errors
    /// The delay is too short.
    pub fn new(config: SelfTestConfig) -> Result<Self, DelayTooShort> {
        let least = (frame_octets(Message::MAX) + OTHERS) as u64 * 1_000_000;
        let rate = config.octets_per_s.max(1);
        let needed = DelayTooShort(least.div_ceil(rate.into()) as u32);
        let longest = config.longest().ok_or(needed)?;
        let burst = (TRAIN * (frame_octets(longest) + ACKNOWLEDGMENT)) as u32;
        let responder = Responder::new(ResponderConfig {
            channels: config.channel..config.channel + 1,
            budget: Budget::new(rate, config.share_permille, burst),
            longest: longest as u16,
            identity: Identity {
                version: VERSION,
                octets_per_s: rate,
                hardware_fifo: config.hardware_fifo,
                ..Identity::default()
            },
        });
        Ok(Self {
            config,
            longest,
            responder,
            schedule: Schedule::new(),
            figures: Figures::default(),
            changes: [None; MAX_CHANGES],
            baseline: Baseline::default(),
            fifos: [config.hardware_fifo, 0],
            peer_name: None,
            trial: None,
            last_trial: (0, Counts::default()),
            search: None,
            trial_number: 0,
            asked: Instant::from_us(0),
            held_until: Deadline::NONE,
        })
    }

    /// Octets of the longest test message.
    #[must_use]
    pub const fn longest_message(&self) -> usize {
        self.longest
    }

    /// Longest time for which user data waits during a trial of a bit rate, microseconds.
    #[must_use]
    pub const fn hold_us(&self) -> u32 {
        trial::hold_us(self.config.guard_us, self.config.window_us)
    }

    /// Figures of the last whole period.
    #[must_use]
    pub const fn figures(&self) -> &Figures {
        &self.figures
    }

    /// What got worse in the last whole period, the most telling first; nothing before the baseline is complete.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().flatten()
    }

    /// The baseline.
    #[must_use]
    pub const fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Uses a stored baseline; the default one is made anew from the next periods, after a change that is to stay.
    pub fn set_baseline(&mut self, baseline: Baseline) {
        self.baseline = baseline;
    }

    /// Counts the octets that the program has just taken from the line, or from the hardware's FIFO.
    pub fn on_service(&mut self, octets: usize) {
        self.responder.on_service(octets);
        self.schedule.on_service(octets);
    }

    /// Takes an event of the link.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::Up => {
                self.responder.restart();
                self.schedule.restart();
                self.peer_name = None;
            }
            Event::Probe(probe) => self.schedule.on_probe(probe),
            Event::PeerRestarted | Event::Incompatible(_) => {}
        }
    }

    /// One end at a time: tries the rates of the configuration one by one, up to the first that loses an octet; [`Notice::HighestRate`]
    /// has the result. The rate to be recommended is lower than the highest lossless one by the margin.
    pub fn find_highest_rate(&mut self, margin_permille: u16) {
        self.search = Some(Search::new(self.config.rates, margin_permille));
    }

    /// Handles received octets; `now` is the time of the last one.
    pub fn receive<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        octets: &[u8],
    ) {
        match &mut self.trial {
            Some(trial) if trial.owns_received() => trial.receive(octets),
            _ => link.receive(now, octets),
        }
    }

    /// Writes the next octets of the wire to `out`; returns their number.
    pub fn transmit<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        out: &mut [u8],
    ) -> usize {
        match &mut self.trial {
            Some(trial) if trial.holds(now) => trial.transmit(now, out),
            _ => link.transmit(now, out),
        }
    }

    /// Handles test messages and sends what is due.
    pub fn poll<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
    ) -> Option<Notice> {
        let mut other = None;
        let schedule = &mut self.schedule;
        self.responder
            .poll(now, link, |_, responder, message| match message {
                Message::Report(report) => schedule.on_report(report),
                Message::Done { train, sent } => {
                    schedule.on_done(&responder.arrivals().report(*train, *sent));
                }
                message => other = Some(*message),
            });
        if let Some(message) = other {
            self.on_message(now, link, &message);
        }
        if let Some(notice) = self.advance_trial(now) {
            return Some(notice);
        }
        if self.held_until.is_due(now) {
            self.held_until = Deadline::NONE;
        }
        let is_held = self.held_until.is_set();
        link.hold_below(if is_held { self.config.channel } else { 0 });
        if self.trial.is_none() && link.is_up() {
            let notice = self.advance_search(now, link);
            if notice.is_some() {
                return notice;
            }
            if self.search.is_none() {
                self.measure(now, link);
            }
        }
        self.end_period(now, link)
    }

    /// Sends what the schedule asks for.
    fn measure<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
    ) {
        if self.peer_name.is_none() && self.schedule.may_identify(now) {
            self.responder
                .send(link, self.config.channel, &Message::Identify);
        }
        let (config, longest) = (&self.config, self.longest);
        self.schedule
            .advance(now, link, &mut self.responder, config, longest);
    }

    fn end_period<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &Link<B, N>,
    ) -> Option<Notice> {
        self.figures = self
            .schedule
            .end_period(now, self.config.period_us, link.counters())?;
        self.changes = [None; MAX_CHANGES];
        if self.baseline.is_complete() {
            self.changes = self.baseline.compare(&self.figures, self.fifos);
        } else {
            self.baseline.add(&self.figures);
        }
        Some(Notice::Period)
    }
}
