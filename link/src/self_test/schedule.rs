//! The order of trains and probes within a period.

use super::SelfTestConfig;
use super::figures::{Direction, Figures};
use super::search::HighestRate;
use crate::counters::Counters;
use crate::link::{Link, memory_octets};
use crate::measure::{Ask, Message, Report, Responder};
use crate::probe::Probe;
use crate::time::{Deadline, Instant};
use crate::wire::{PROBE, frame_octets};

/// Messages of a train.
pub(super) const TRAIN: usize = 8;
/// Probes of a period.
const PROBES: u32 = 32;
/// Octets of short and middle test messages.
const SHORT: usize = 16;
const MIDDLE: usize = 64;
/// Sizes in the order of the rounds: the long one gives the bit rate.
const ROUNDS: [usize; 4] = [2, 1, 2, 0];
/// Long messages that the memory of the channel holds: a stretch of [`Pace`](crate::measure::Pace), and the one before.
const IN_MEMORY: usize = 5;
/// Set in the number of a train that the peer is asked for.
const ASKED: u8 = 0x80;
/// Time that an answer may take beside the budget of a train, microseconds.
const ANSWER_US: u32 = 300_000;

/// What the schedule waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// The end of a pause.
    Send,
    Ask,
    Report(Deadline),
    Done(Deadline),
}

/// The round that is being measured, and the figures so far.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    step: Step,
    round: u8,
    train: u8,
    tally: Figures,
    period_end: Deadline,
    probe_at: Deadline,
    identify_at: Deadline,
    own_counters: (u32, u32),
    /// The peer's counts of frames at the begin of the period, and the last ones.
    peer_counters: Option<(u32, u32)>,
    peer_newest: Option<(u32, u32)>,
    /// Result of a search that was not reported.
    pub(super) found: Option<HighestRate>,
}

impl Schedule {
    pub(super) fn new() -> Self {
        Self {
            step: Step::Send,
            round: 0,
            train: 0,
            tally: Figures::default(),
            period_end: Deadline::NONE,
            probe_at: Deadline::NONE,
            identify_at: Deadline::NONE,
            own_counters: (0, 0),
            peer_counters: None,
            peer_newest: None,
            found: None,
        }
    }

    /// Begins again with a peer that may have restarted.
    pub(super) fn restart(&mut self) {
        self.step = Step::Send;
        self.peer_counters = None;
        self.peer_newest = None;
    }

    fn size(&self) -> usize {
        ROUNDS[usize::from(self.round) % ROUNDS.len()]
    }

    pub(super) fn on_service(&mut self, octets: usize) {
        let fullest = &mut self.tally.fullest[0];
        *fullest = (*fullest).max(octets.min(0xFFFF) as u16);
    }

    pub(super) fn on_probe(&mut self, probe: &Probe) {
        self.tally.add_probe(probe);
    }

    /// The peer's report on a train of this end.
    pub(super) fn on_report(&mut self, report: &Report) {
        let [_, fullest] = &mut self.tally.fullest;
        *fullest = (*fullest).max(report.fullest);
        let [_, high_water] = &mut self.tally.high_water;
        *high_water = (*high_water).max(report.high_water);
        self.tally.reports += 1;
        let newest = (report.frames, report.damaged);
        self.peer_counters.get_or_insert(newest);
        self.peer_newest = Some(newest);
        if matches!(self.step, Step::Report(_)) && report.train == self.train {
            let size = self.size();
            self.tally
                .direction_mut(Direction::ToPeer)
                .add_report(report, size);
            self.step = Step::Ask;
        }
    }

    /// This end's report on a train that the peer was asked for.
    pub(super) fn on_done(&mut self, report: &Report) {
        if matches!(self.step, Step::Done(_)) && report.train == self.train | ASKED {
            let size = self.size();
            self.tally
                .direction_mut(Direction::FromPeer)
                .add_report(report, size);
            self.step = Step::Send;
            self.round = self.round.wrapping_add(1);
        }
    }

    /// True once in a while.
    pub(super) fn may_identify(&mut self, now: Instant) -> bool {
        let may = !self.identify_at.is_set() || self.identify_at.is_due(now);
        if may {
            self.identify_at = Deadline::at(now.after_us(ANSWER_US));
        }
        may
    }

    /// Sends a probe or begins a train if it is time.
    pub(super) fn advance<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        responder: &mut Responder,
        config: &SelfTestConfig,
        longest: usize,
    ) {
        let probe = frame_octets(PROBE);
        if (!self.probe_at.is_set() || self.probe_at.is_due(now))
            && responder.allows(now, 2 * probe)
        {
            self.probe_at = Deadline::at(now.after_us(config.period_us / PROBES));
            // The answers to the peer's probes are as many.
            responder.spend(2 * probe);
            link.probe();
        }
        let octets = match self.size() {
            0 => SHORT,
            1 => MIDDLE,
            // A stretch of a train has to fit the memory, or it pauses for acknowledgments.
            _ => {
                let memory = link.max_message(config.channel).unwrap_or(0);
                longest
                    .min((memory / IN_MEMORY).saturating_sub(memory_octets(0)))
                    .max(MIDDLE)
            }
        };
        let mut ask = Ask {
            train: self.train,
            channel: config.channel as u8,
            octets: octets as u16,
            count: TRAIN as u32,
            interval_us: 0,
            limit_ms: 0,
        };
        // Both ends may have to save up for the train, and for one of the other end before.
        let cost = (4 * TRAIN * frame_octets(octets)) as u64 * 1_000_000_000;
        let share = u64::from(config.octets_per_s) * u64::from(config.share_permille.max(1));
        let wait_us = ANSWER_US + (cost / share.max(1)).min(60_000_000) as u32;
        match self.step {
            Step::Send if !responder.is_sending() => {
                self.train = self.train.wrapping_add(1) & !ASKED;
                ask.train = self.train;
                responder.send_train(now, ask);
                self.step = Step::Report(Deadline::at(now.after_us(wait_us)));
            }
            Step::Ask => {
                ask.train |= ASKED;
                if responder.send(link, config.channel, &Message::Ask(ask)) {
                    self.step = Step::Done(Deadline::at(now.after_us(wait_us)));
                }
            }
            // An answer is lost: the next step, or the next round.
            Step::Report(deadline) if deadline.is_due(now) => self.step = Step::Ask,
            Step::Done(deadline) if deadline.is_due(now) => {
                self.step = Step::Send;
                self.round = self.round.wrapping_add(1);
            }
            _ => {}
        }
        for channel in 0..N {
            let unread = link.unread(channel).min(0xFFFF) as u16;
            let [high_water, _] = &mut self.tally.high_water;
            *high_water = (*high_water).max(unread);
        }
    }

    /// The figures, when a period is over.
    pub(super) fn end_period(
        &mut self,
        now: Instant,
        period_us: u32,
        counters: &Counters,
    ) -> Option<Figures> {
        let own = (counters.frames, counters.damaged);
        if !self.period_end.is_set() {
            self.period_end = Deadline::at(now.after_us(period_us));
            self.own_counters = own;
        }
        if !self.period_end.is_due(now) {
            return None;
        }
        self.period_end = Deadline::at(now.after_us(period_us));
        let mut figures = core::mem::take(&mut self.tally);
        figures
            .direction_mut(Direction::FromPeer)
            .count_frames(own, self.own_counters);
        self.own_counters = own;
        if let (Some(begin), Some(end)) = (self.peer_counters, self.peer_newest) {
            figures
                .direction_mut(Direction::ToPeer)
                .count_frames(end, begin);
            self.peer_counters = self.peer_newest;
        }
        Some(figures)
    }
}
