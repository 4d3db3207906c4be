//! A link that tests itself in place, beside the traffic of its user.

mod change;
mod figures;
mod schedule;
mod search;
mod trial;

pub use change::{BASELINE_PERIODS, Baseline, Cause, Change, MAX_CHANGES};
pub use figures::{Direction, DirectionFigures, End, Figures, SIZES, Spread};
pub use search::HighestRate;

use crate::link::{Event, Link};
use crate::measure::{Budget, Identity, Message, Responder, ResponderConfig, VERSION};
use crate::time::{Deadline, Instant};
use crate::wire::{ACKNOWLEDGMENT, PROBE, frame_octets};
use schedule::{Schedule, TRAIN};
use search::{Search, SearchStep};
use trial::{Counts, Switch, Trial};

/// Longest test message: up to here each frame has the same overhead.
const LONGEST: usize = 240;
/// Octets of a probe on the wire.
const PROBE_FRAME: usize = frame_octets(PROBE);
/// What a user's message may wait for besides a test message: a probe, an answer, an acknowledgment of tests.
const OTHERS: usize = 2 * PROBE_FRAME + ACKNOWLEDGMENT;

/// Longest guard and window that an end agrees to, microseconds.
const MAX_GUARD_US: u32 = 1_000_000;
const MAX_WINDOW_US: u32 = 10_000_000;

/// Settings of a [`SelfTest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SelfTestConfig {
    /// Channel of the tests: the last of both ends, unreliable, with memory for five of its longest messages
    /// each way, as its longest messages are a fifth of it: 1000 octets are enough.
    pub channel: usize,
    /// Rate of the line, octets a second: a tenth of the baud rate of a UART.
    pub octets_per_s: u32,
    /// Octets of this end's hardware receive FIFO; 0 without one.
    pub hardware_fifo: u16,
    /// Time from report to report, microseconds.
    pub period_us: u32,
    /// Most that the tests of this end may take of its direction, per mille.
    pub share_permille: u16,
    /// Longest time that they may add to a message of the user, microseconds.
    pub max_delay_us: u32,
    /// Bit rates that this end has, ascending: empty if it takes no part in a search.
    pub rates: &'static [u32],
    /// Time in which a message goes out and arrives, at most, microseconds: the pause before and behind a trial.
    pub guard_us: u32,
    /// Time for which each rate is tried, microseconds.
    pub window_us: u32,
}

impl SelfTestConfig {
    /// A report every 10 s, 5% of the line, at most 5 ms of delay, and no search for a rate.
    #[must_use]
    pub const fn new(channel: usize, octets_per_s: u32) -> Self {
        Self {
            channel,
            octets_per_s,
            hardware_fifo: 0,
            period_us: 10_000_000,
            share_permille: 50,
            max_delay_us: 5_000,
            rates: &[],
            guard_us: 10_000,
            window_us: 100_000,
        }
    }

    /// Octets of the longest test message that keeps the delay; `None` if none does.
    fn longest(&self) -> Option<usize> {
        let octets = u64::from(self.max_delay_us) * u64::from(self.octets_per_s) / 1_000_000;
        let fits = |len: &usize| (frame_octets(*len) + OTHERS) as u64 <= octets;
        (Message::MAX..=LONGEST).rev().find(fits)
    }
}

/// The delay is too short even for the shortest report: at least this many microseconds are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DelayTooShort(pub u32);

/// Something that the user of a self-test has to know or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notice {
    /// A period is over: [`SelfTest::figures`] and [`SelfTest::changes`] tell about it.
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

    /// Makes a new baseline from the next periods: after a change that is to stay.
    pub fn renew_baseline(&mut self) {
        self.baseline = Baseline::default();
    }

    /// Uses a stored baseline.
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

    /// Handles messages of trials, and the peer's name.
    fn on_message<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        message: &Message,
    ) {
        let channel = self.config.channel;
        match *message {
            Message::Identity(identity) => {
                self.fifos[1] = identity.hardware_fifo;
                self.peer_name = Some(identity);
            }
            Message::Trial {
                number,
                rate,
                guard_us,
                window_us,
            } if self.trial.is_none() && self.search.is_none() => {
                let times = (guard_us.min(MAX_GUARD_US), window_us.min(MAX_WINDOW_US));
                let is_accepted = self.config.rates.contains(&rate);
                let agreed = Message::Agreed {
                    number,
                    is_accepted,
                };
                if self.responder.send(link, channel, &agreed) && is_accepted {
                    self.hold(now, trial::hold_us(times.0, times.1));
                    self.trial = Some(Trial::new(now, (number, rate), times, false));
                }
            }
            Message::Agreed {
                number,
                is_accepted,
            } => self.on_agreed(now, number, is_accepted),
            Message::TrialQuery { number } => {
                // The query may come before this end's pause behind the trial is over.
                let current = self.trial.map(|trial| (trial.number, trial.counts));
                let (last, counts) = current.unwrap_or(self.last_trial);
                let Counts { sent, good, bad } = if number == last {
                    counts
                } else {
                    Counts::default()
                };
                let report = Message::TrialReport {
                    number,
                    sent,
                    good,
                    bad,
                };
                self.responder.send(link, channel, &report);
            }
            Message::TrialReport {
                number,
                sent,
                good,
                bad,
            } => self.on_trial_report(now, number, Counts { sent, good, bad }),
            _ => {}
        }
    }

    /// Begins the trial that the peer agreed to.
    fn on_agreed(&mut self, now: Instant, number: u8, is_accepted: bool) {
        let times = (self.config.guard_us, self.config.window_us);
        let hold_us = self.hold_us();
        let Some(search) = &mut self.search else {
            return;
        };
        if number != self.trial_number || !matches!(search.step, SearchStep::AwaitAgreed(_)) {
            return;
        }
        // An answer that took too long is ignored: the peer's trial has begun without this end.
        let Some(rate) = search.rate() else {
            return;
        };
        if !is_accepted {
            search.skip(now, hold_us);
            self.held_until = Deadline::NONE;
        } else if now.us_since(self.asked) < times.0 {
            search.on_agreed();
            self.trial = Some(Trial::new(now, (number, rate), times, true));
        }
    }

    /// Takes the peer's counts of a trial.
    fn on_trial_report(&mut self, now: Instant, number: u8, peer: Counts) {
        let hold_us = self.hold_us();
        let Some(search) = &mut self.search else {
            return;
        };
        if number != self.trial_number || !matches!(search.step, SearchStep::AwaitReport(_)) {
            return;
        }
        self.held_until = Deadline::NONE;
        if search.is_lossy(self.last_trial.1, peer) {
            self.schedule.found = Some(search.result());
            self.search = None;
        } else {
            search.skip(now, hold_us);
        }
    }

    /// Holds user data.
    fn hold(&mut self, now: Instant, us: u32) {
        self.held_until = Deadline::at(now.after_us(us));
    }

    /// Switches the rate when its time has come.
    fn advance_trial(&mut self, now: Instant) -> Option<Notice> {
        let trial = self.trial.as_mut()?;
        match trial.switch(now) {
            Some(Switch::To(rate)) => return Some(Notice::SetRate(rate)),
            Some(Switch::Back) => return Some(Notice::RestoreRate),
            None => {}
        }
        if trial.is_over(now) {
            self.last_trial = (trial.number, trial.counts);
            self.trial = None;
            if let Some(search) = &mut self.search
                && search.step == SearchStep::Running
            {
                search.step = SearchStep::Query;
            }
        }
        None
    }

    /// Sends the next message of a search; returns its result.
    fn advance_search<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
    ) -> Option<Notice> {
        if let Some(result) = self.schedule.found.take() {
            return Some(Notice::HighestRate(result));
        }
        let (guard_us, window_us) = (self.config.guard_us, self.config.window_us);
        let hold_us = self.hold_us();
        let search = self.search.as_mut()?;
        let is_given_up = search.on_time(now, hold_us);
        let Some(rate) = search.rate().filter(|_| !is_given_up) else {
            let result = search.result();
            self.search = None;
            self.held_until = Deadline::NONE;
            return Some(Notice::HighestRate(result));
        };
        let (message, until) = match search.step {
            // Behind a train, the request would take longer than the guard.
            SearchStep::Ask
                if self.responder.is_sending() || link.pending(self.config.channel) > 0 =>
            {
                return None;
            }
            SearchStep::Ask => {
                self.trial_number = self.trial_number.wrapping_add(1);
                let trial = Message::Trial {
                    number: self.trial_number,
                    rate,
                    guard_us,
                    window_us,
                };
                // Without an answer the peer may be in a trial alone.
                self.hold(now, hold_us);
                self.asked = now;
                (trial, now.after_us(hold_us))
            }
            SearchStep::Query => {
                let query = Message::TrialQuery {
                    number: self.trial_number,
                };
                (query, now.after_us(2 * guard_us))
            }
            _ => return None,
        };
        link.hold_below(self.config.channel);
        if self.responder.send(link, self.config.channel, &message)
            && let Some(search) = &mut self.search
        {
            search.await_answer(until);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{DelayTooShort, OTHERS, SelfTest, SelfTestConfig};
    use crate::wire::frame_octets;

    fn longest(max_delay_us: u32) -> Result<usize, DelayTooShort> {
        let config = SelfTestConfig {
            max_delay_us,
            ..SelfTestConfig::new(2, 100_000)
        };
        SelfTest::new(config).map(|it| it.longest_message())
    }

    #[test]
    fn the_longest_message_and_what_comes_with_it_keep_the_delay() {
        for max_delay_us in [1_500, 2_000, 3_000] {
            let longest = longest(max_delay_us).expect("long enough");
            let us = |len: usize| (frame_octets(len) + OTHERS) * 10;
            assert!(
                us(longest) <= max_delay_us as usize,
                "{max_delay_us}: {longest}"
            );
            assert!(
                us(longest + 1) > max_delay_us as usize,
                "{max_delay_us}: {longest}"
            );
        }
        assert_eq!(longest(100_000), Ok(240));
        let Err(DelayTooShort(least)) = longest(100) else {
            panic!("a report does not fit");
        };
        assert!(longest(least).is_ok() && longest(least - 10).is_err());
    }
}
