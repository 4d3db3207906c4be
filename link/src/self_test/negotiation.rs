//! Trials of bit rates as both ends agree on them, and the search that asks for them.

use super::search::SearchStep;
use super::trial::{self, Counts, Switch, Trial};
use super::{Notice, SelfTest};
use crate::link::Link;
use crate::measure::Message;
use crate::time::{Deadline, Instant};

/// Longest guard and window that an end agrees to, microseconds.
const MAX_GUARD_US: u32 = 1_000_000;
const MAX_WINDOW_US: u32 = 10_000_000;

impl SelfTest {
    /// Handles messages of trials, and the peer's name.
    pub(super) fn on_message<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
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
    pub(super) fn advance_trial(&mut self, now: Instant) -> Option<Notice> {
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
    pub(super) fn advance_search<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
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
