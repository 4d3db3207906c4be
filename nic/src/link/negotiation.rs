//! Auto-negotiation: the arbitration function (IEEE 802.3 clause 28.3, Figure 28-18) of a station
//! whose only technology is 10BASE-T, without next pages.
//!
//! ```text
//! TransmitDisable --1.25 s--> AbilityDetect --3 equal words--> AcknowledgeDetect
//!    ^                             |                                    | 3 with acknowledge
//!    |                      link pulses only                            v
//!    |                             v                           CompleteAcknowledge
//!    +---------- lost ------ LinkStatusCheck                            | 7 bursts
//!                                  | 0.51 s, still present              v
//!                                  +-----------------------> FlpLinkGoodCheck --> FlpLinkGood
//! ```
//!
//! Every failure, and the loss of the link, returns to the start. Where the standard allows a
//! range, the value used is near its lower end, so that the link comes up quickly.

use super::status::{By, Duplex, Fault, Status};
use super::{from_ms, passed, pulses::Wanted};
use crate::device::LinkState;
use crate::mac::BitTimes;
use linerate_ether::phy10::link::LinkCodeWord;

/// Silence that signals to the partner that the link is dropped (`break_link_timer`: 1.2 to 1.5 s).
const BREAK_LINK: BitTimes = from_ms(1_250);
/// Time for which link pulses must be present to be accepted (`autoneg_wait_timer`: 0.5 to 1 s).
const WATCH: BitTimes = from_ms(510);
/// Time limit for the link to come up (`link_fail_inhibit_timer`: 0.75 to 1 s).
const CHECK: BitTimes = from_ms(800);
/// Words further apart than this are not consecutive (`nlp_test_max_timer`: 50 to 150 ms).
const APART: BitTimes = from_ms(100);
/// Consecutive equal words that are accepted (`ability_match`, `acknowledge_match`).
const MATCH: u32 = 3;
/// Bursts with the acknowledge bit sent after that of the partner was received (6 to 8).
const COMPLETE: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// TRANSMIT DISABLE.
    Silent,
    /// ABILITY DETECT.
    Offering,
    /// LINK STATUS CHECK.
    Watching,
    /// ACKNOWLEDGE DETECT.
    Acknowledging,
    /// COMPLETE ACKNOWLEDGE; number of bursts left to send.
    Completing { left: u32 },
    /// FLP LINK GOOD CHECK.
    Checking,
    /// FLP LINK GOOD.
    Good,
}

/// Consecutive words that are equal except for the acknowledge bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    word: LinkCodeWord,
    count: u32,
    /// Number of the last ones that had the acknowledge bit.
    acknowledged: u32,
    last: BitTimes,
}

/// Arbitration function of one station.
#[derive(Debug)]
pub struct Negotiation {
    ours: LinkCodeWord,
    state: State,
    /// Time when the state was entered; `None` before the first update.
    since: Option<BitTimes>,
    row: Option<Row>,
    /// Link code word of the partner, once three were equal.
    partner: Option<LinkCodeWord>,
    by: By,
    fault: Option<Fault>,
    /// The apparent signs of a partner that does not negotiate were part of its bursts.
    misled: bool,
}

impl Negotiation {
    /// Offers `abilities`, flags of [`LinkCodeWord`].
    #[must_use]
    pub const fn new(abilities: u16) -> Self {
        Self {
            ours: LinkCodeWord::base_page(abilities),
            state: State::Silent,
            since: None,
            row: None,
            partner: None,
            by: By::Negotiation,
            fault: None,
            misled: false,
        }
    }

    /// Processes a received burst that began at `at`.
    pub fn burst(&mut self, word: LinkCodeWord, at: BitTimes) {
        let plain = LinkCodeWord(word.0 & !LinkCodeWord::ACKNOWLEDGE);
        let acknowledge = word.has(LinkCodeWord::ACKNOWLEDGE);
        let before = self
            .row
            .filter(|row| row.word == plain && passed(row.last, at).0 <= APART.0);
        let (count, acknowledged) = before.map_or((0, 0), |row| (row.count, row.acknowledged));
        let row = Row {
            word: plain,
            count: count + 1,
            acknowledged: if acknowledge { acknowledged + 1 } else { 0 },
            last: at,
        };
        self.row = Some(row);
        match self.state {
            State::Offering | State::Watching if row.count >= MATCH => {
                self.misled = true;
                self.partner = Some(plain);
                self.enter(State::Acknowledging, at);
                self.acknowledge(row, at);
            }
            // Whatever link pulses there were, this partner negotiates.
            State::Offering | State::Watching => {
                self.misled = true;
                self.enter(State::Offering, at);
            }
            State::Acknowledging => self.acknowledge(row, at),
            _ => {}
        }
    }

    fn acknowledge(&mut self, row: Row, at: BitTimes) {
        if row.acknowledged < MATCH {
            return;
        }
        if self.partner != Some(row.word) {
            // No consistency_match: the word has changed.
            return self.restart(at);
        }
        self.by = By::Negotiation;
        self.fault = if self.chosen().is_none() {
            Some(Fault::NothingInCommon)
        } else {
            let remote = row.word.has(LinkCodeWord::REMOTE_FAULT);
            remote.then_some(Fault::Remote)
        };
        self.enter(State::Completing { left: COMPLETE }, at);
    }

    /// Processes the end of a burst sent by this station.
    pub(super) fn sent(&mut self) {
        if let State::Completing { left } = &mut self.state {
            *left = left.saturating_sub(1);
        }
    }

    /// Pulses to send now.
    pub(super) fn sends(&self) -> Wanted {
        match self.state {
            State::Silent | State::Watching => Wanted::Silence,
            State::Offering => Wanted::Bursts(self.ours),
            State::Acknowledging | State::Completing { .. } => {
                Wanted::Bursts(LinkCodeWord(self.ours.0 | LinkCodeWord::ACKNOWLEDGE))
            }
            State::Checking if self.chosen().is_none() => Wanted::Silence,
            State::Checking | State::Good => Wanted::Normal,
        }
    }

    /// True if the negotiation is resolved and only the link has to come up.
    #[must_use]
    pub const fn has_chosen(&self) -> bool {
        matches!(self.state, State::Checking | State::Good)
    }

    /// True if a transmission counts as proof of the link.
    #[must_use]
    pub fn takes_frames(&self) -> bool {
        match self.state {
            State::Silent | State::Acknowledging | State::Completing { .. } => false,
            State::Checking => self.chosen().is_some(),
            State::Offering | State::Watching | State::Good => true,
        }
    }

    /// Updates the state to the time `now`, given the result of the link integrity test. Returns
    /// `true` if that test must restart.
    pub fn look(&mut self, integrity: LinkState, now: BitTimes) -> bool {
        if core::mem::take(&mut self.misled) {
            return true;
        }
        let since = *self.since.get_or_insert(now);
        let for_long = |limit: BitTimes| passed(since, now).0 >= limit.0;
        let up = integrity == LinkState::Up;
        match self.state {
            State::Silent if for_long(BREAK_LINK) => {
                self.row = None;
                self.enter(State::Offering, now);
                true
            }
            State::Offering if up => {
                self.enter(State::Watching, now);
                false
            }
            State::Watching if !up => {
                self.fault = Some(Fault::ParallelDetection);
                self.restart(now);
                true
            }
            State::Watching if for_long(WATCH) => {
                (self.by, self.fault, self.partner) = (By::ParallelDetection, None, None);
                self.enter(State::Checking, now);
                false
            }
            State::Acknowledging
                if self.row.is_none_or(|row| passed(row.last, now).0 > APART.0) =>
            {
                // The partner became silent (flp_receive_idle).
                self.restart(now);
                true
            }
            State::Completing { left: 0 } => {
                self.enter(State::Checking, now);
                true
            }
            State::Checking if up && self.chosen().is_some() => {
                self.enter(State::Good, now);
                false
            }
            State::Checking if for_long(CHECK) => {
                self.restart(now);
                true
            }
            State::Good if !up => {
                (self.fault, self.partner) = (None, None);
                self.restart(now);
                true
            }
            _ => false,
        }
    }

    /// Status of the link.
    #[must_use]
    pub(super) fn status(&self, integrity: LinkState) -> Status {
        let good = self.state == State::Good && integrity == LinkState::Up;
        // Nothing is reported while words are still being exchanged.
        let settled = self.fault.is_some()
            || !matches!(self.state, State::Acknowledging | State::Completing { .. });
        Status {
            state: if good { LinkState::Up } else { LinkState::Down },
            duplex: self.chosen().unwrap_or(Duplex::Half),
            by: self.by,
            partner: self.partner.filter(|_| settled),
            fault: self.fault,
        }
    }

    /// Common mode with the highest priority, limited to 10BASE-T; half duplex by parallel
    /// detection (clause 28.2.3.1).
    fn chosen(&self) -> Option<Duplex> {
        if self.by == By::ParallelDetection {
            return Some(Duplex::Half);
        }
        match self.ours.best_in_common(self.partner?)? {
            LinkCodeWord::TEN_FULL => Some(Duplex::Full),
            LinkCodeWord::TEN_HALF => Some(Duplex::Half),
            _ => None,
        }
    }

    fn restart(&mut self, now: BitTimes) {
        self.row = None;
        self.enter(State::Silent, now);
    }

    fn enter(&mut self, state: State, now: BitTimes) {
        self.state = state;
        self.since = Some(now);
    }
}
