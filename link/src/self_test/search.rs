//! The search for the highest bit rate that loses nothing.

use super::trial::Counts;
use crate::time::{Deadline, Instant};

/// Times that a message of a trial is repeated.
const TRIES: u8 = 5;

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HighestRate {
    /// Highest rate at which both directions lost nothing; `None`: not even at the lowest one.
    pub lossless: Option<u32>,
    /// The first rate that lost octets; `None`: there was none up to the highest that both ends have.
    pub lossy: Option<u32>,
    /// False if the peer stopped answering, so that no rate above `lossless` was tried.
    pub is_complete: bool,
    /// Highest rate of the list that keeps the margin below `lossless`.
    pub recommended: Option<u32>,
}

/// What the search waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SearchStep {
    /// That users had their turn.
    Pause(Deadline),
    /// To send this: a trial, or a query about it.
    Ask,
    Query,
    /// The answer.
    AwaitAgreed(Deadline),
    AwaitReport(Deadline),
    /// The trial.
    Running,
}

/// A search in progress, over a list of rates in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Search {
    rates: &'static [u32],
    at: usize,
    pub(super) step: SearchStep,
    tries: u8,
    lossless: Option<u32>,
    margin_permille: u16,
}

impl Search {
    pub(super) const fn new(rates: &'static [u32], margin_permille: u16) -> Self {
        Self {
            rates,
            at: 0,
            step: SearchStep::Ask,
            tries: 0,
            lossless: None,
            margin_permille,
        }
    }

    /// The rate to try; `None` behind the last one.
    pub(super) fn rate(&self) -> Option<u32> {
        self.rates.get(self.at).copied()
    }

    /// Waits until then for an answer.
    pub(super) fn await_answer(&mut self, until: Instant) {
        let deadline = Deadline::at(until);
        self.step = match self.step {
            SearchStep::Ask => SearchStep::AwaitAgreed(deadline),
            SearchStep::Query => SearchStep::AwaitReport(deadline),
            other => other,
        };
    }

    /// Begins a trial again that was not answered in time, after a pause; true if it was repeated often enough.
    pub(super) fn on_time(&mut self, now: Instant, pause_us: u32) -> bool {
        match self.step {
            SearchStep::AwaitAgreed(deadline) | SearchStep::AwaitReport(deadline)
                if deadline.is_due(now) =>
            {
                self.tries += 1;
                self.pause(now, pause_us);
            }
            SearchStep::Pause(deadline) if deadline.is_due(now) => self.step = SearchStep::Ask,
            _ => {}
        }
        self.tries >= TRIES
    }

    fn pause(&mut self, now: Instant, pause_us: u32) {
        self.step = SearchStep::Pause(Deadline::at(now.after_us(pause_us)));
    }

    pub(super) fn on_agreed(&mut self) {
        self.step = SearchStep::Running;
        self.tries = 0;
    }

    /// Goes on to the next rate, after a pause.
    pub(super) fn skip(&mut self, now: Instant, pause_us: u32) {
        self.at += 1;
        self.tries = 0;
        self.pause(now, pause_us);
    }

    /// Takes the counts of both ends; true if the rate lost octets, which ends the search.
    pub(super) fn is_lossy(&mut self, own: Counts, peer: Counts) -> bool {
        let is_lossless =
            |from: Counts, to: Counts| from.sent > 0 && to.good == from.sent && to.bad == 0;
        if !is_lossless(own, peer) || !is_lossless(peer, own) {
            return true;
        }
        self.lossless = self.rate();
        false
    }

    /// The result; the rate that is being tried is the first lossy one.
    pub(super) fn result(&self) -> HighestRate {
        let allowed = |rate: &u32| {
            let with_margin = u64::from(*rate) * (1000 + u64::from(self.margin_permille));
            self.lossless
                .is_some_and(|best| with_margin <= u64::from(best) * 1000)
        };
        let is_complete = self.tries < TRIES;
        HighestRate {
            lossless: self.lossless,
            lossy: self.rate().filter(|_| is_complete),
            is_complete,
            recommended: self.rates.iter().copied().filter(allowed).max(),
        }
    }
}
