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

use super::status::{Duplex, EstablishedBy, LinkFault, Status};
use super::{from_ms, passed, pulses::PulseRequest};
use crate::device::LinkState;
use crate::mac::BitTimes;
use linerate_ether::phy10::link::LinkCodeWord;

/// Silence that signals to the partner that the link is dropped (`break_link_timer`: 1.2 to 1.5 s).
const BREAK_LINK: BitTimes = from_ms(1_250);
/// Time for which link pulses must be present to be accepted (`autoneg_wait_timer`: 0.5 to 1 s).
const AUTONEG_WAIT: BitTimes = from_ms(510);
/// Time limit for the link to come up (`link_fail_inhibit_timer`: 0.75 to 1 s).
const LINK_FAIL_INHIBIT: BitTimes = from_ms(800);
/// Words further apart than this are not consecutive (`nlp_test_max_timer`: 50 to 150 ms).
const NLP_TEST_MAX: BitTimes = from_ms(100);
/// Consecutive equal words that are accepted (`ability_match`, `acknowledge_match`).
const MATCH_COUNT: u32 = 3;
/// Bursts with the acknowledge bit sent after that of the partner was received (6 to 8).
const ACKNOWLEDGE_BURSTS: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// TRANSMIT DISABLE.
    TransmitDisable,
    /// ABILITY DETECT.
    AbilityDetect,
    /// LINK STATUS CHECK.
    LinkStatusCheck,
    /// ACKNOWLEDGE DETECT.
    AcknowledgeDetect,
    /// COMPLETE ACKNOWLEDGE; number of bursts left to send.
    CompleteAcknowledge { left: u32 },
    /// FLP LINK GOOD CHECK.
    FlpLinkGoodCheck,
    /// FLP LINK GOOD.
    FlpLinkGood,
}

/// Consecutive words that are equal except for the acknowledge bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MatchRun {
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
    run: Option<MatchRun>,
    /// Link code word of the partner, once three were equal.
    partner: Option<LinkCodeWord>,
    established_by: EstablishedBy,
    fault: Option<LinkFault>,
    /// The apparent signs of a partner that does not negotiate were part of its bursts.
    false_parallel_detection: bool,
}

impl Negotiation {
    /// Offers `abilities`, flags of [`LinkCodeWord`].
    #[must_use]
    pub const fn new(abilities: u16) -> Self {
        Self {
            ours: LinkCodeWord::base_page(abilities),
            state: State::TransmitDisable,
            since: None,
            run: None,
            partner: None,
            established_by: EstablishedBy::Negotiation,
            fault: None,
            false_parallel_detection: false,
        }
    }

    /// Processes a received burst that began at `at`.
    pub fn on_burst(&mut self, word: LinkCodeWord, at: BitTimes) {
        let plain = LinkCodeWord(word.0 & !LinkCodeWord::ACKNOWLEDGE);
        let acknowledge = word.has(LinkCodeWord::ACKNOWLEDGE);
        let before = self
            .run
            .filter(|run| run.word == plain && passed(run.last, at).0 <= NLP_TEST_MAX.0);
        let (count, acknowledged) = before.map_or((0, 0), |run| (run.count, run.acknowledged));
        let run = MatchRun {
            word: plain,
            count: count + 1,
            acknowledged: if acknowledge { acknowledged + 1 } else { 0 },
            last: at,
        };
        self.run = Some(run);
        match self.state {
            State::AbilityDetect | State::LinkStatusCheck if run.count >= MATCH_COUNT => {
                self.false_parallel_detection = true;
                self.partner = Some(plain);
                self.enter(State::AcknowledgeDetect, at);
                self.acknowledge(run, at);
            }
            // This partner negotiates, whatever link pulses arrived before.
            State::AbilityDetect | State::LinkStatusCheck => {
                self.false_parallel_detection = true;
                self.enter(State::AbilityDetect, at);
            }
            State::AcknowledgeDetect => self.acknowledge(run, at),
            _ => {}
        }
    }

    fn acknowledge(&mut self, run: MatchRun, at: BitTimes) {
        if run.acknowledged < MATCH_COUNT {
            return;
        }
        if self.partner != Some(run.word) {
            // No consistency_match: the word has changed.
            return self.restart(at);
        }
        self.established_by = EstablishedBy::Negotiation;
        self.fault = if self.resolved_duplex().is_none() {
            Some(LinkFault::NothingInCommon)
        } else {
            let remote = run.word.has(LinkCodeWord::REMOTE_FAULT);
            remote.then_some(LinkFault::Remote)
        };
        self.enter(
            State::CompleteAcknowledge {
                left: ACKNOWLEDGE_BURSTS,
            },
            at,
        );
    }

    /// Processes the end of a burst sent by this station.
    pub(super) fn on_burst_sent(&mut self) {
        if let State::CompleteAcknowledge { left } = &mut self.state {
            *left = left.saturating_sub(1);
        }
    }

    /// Pulses to send now.
    pub(super) fn pulse_request(&self) -> PulseRequest {
        match self.state {
            State::TransmitDisable | State::LinkStatusCheck => PulseRequest::Silence,
            State::AbilityDetect => PulseRequest::Bursts(self.ours),
            State::AcknowledgeDetect | State::CompleteAcknowledge { .. } => {
                PulseRequest::Bursts(LinkCodeWord(self.ours.0 | LinkCodeWord::ACKNOWLEDGE))
            }
            State::FlpLinkGoodCheck if self.resolved_duplex().is_none() => PulseRequest::Silence,
            State::FlpLinkGoodCheck | State::FlpLinkGood => PulseRequest::Normal,
        }
    }

    /// True if the negotiation is resolved and only the link has to come up.
    #[must_use]
    pub const fn is_resolved(&self) -> bool {
        matches!(self.state, State::FlpLinkGoodCheck | State::FlpLinkGood)
    }

    /// True if a transmission counts as proof of the link.
    #[must_use]
    pub fn accepts_frames(&self) -> bool {
        match self.state {
            State::TransmitDisable
            | State::AcknowledgeDetect
            | State::CompleteAcknowledge { .. } => false,
            State::FlpLinkGoodCheck => self.resolved_duplex().is_some(),
            State::AbilityDetect | State::LinkStatusCheck | State::FlpLinkGood => true,
        }
    }

    /// Updates the state to the time `now`, given the result of the link integrity test. Returns
    /// `true` if that test must restart.
    pub fn update(&mut self, integrity: LinkState, now: BitTimes) -> bool {
        if core::mem::take(&mut self.false_parallel_detection) {
            return true;
        }
        let since = *self.since.get_or_insert(now);
        let for_long = |limit: BitTimes| passed(since, now).0 >= limit.0;
        let up = integrity == LinkState::Up;
        match self.state {
            State::TransmitDisable if for_long(BREAK_LINK) => {
                self.run = None;
                self.enter(State::AbilityDetect, now);
                true
            }
            State::AbilityDetect if up => {
                self.enter(State::LinkStatusCheck, now);
                false
            }
            State::LinkStatusCheck if !up => {
                self.fault = Some(LinkFault::ParallelDetection);
                self.restart(now);
                true
            }
            State::LinkStatusCheck if for_long(AUTONEG_WAIT) => {
                (self.established_by, self.fault, self.partner) =
                    (EstablishedBy::ParallelDetection, None, None);
                self.enter(State::FlpLinkGoodCheck, now);
                false
            }
            State::AcknowledgeDetect
                if self
                    .run
                    .is_none_or(|run| passed(run.last, now).0 > NLP_TEST_MAX.0) =>
            {
                // The partner became silent (flp_receive_idle).
                self.restart(now);
                true
            }
            State::CompleteAcknowledge { left: 0 } => {
                self.enter(State::FlpLinkGoodCheck, now);
                true
            }
            State::FlpLinkGoodCheck if up && self.resolved_duplex().is_some() => {
                self.enter(State::FlpLinkGood, now);
                false
            }
            State::FlpLinkGoodCheck if for_long(LINK_FAIL_INHIBIT) => {
                self.restart(now);
                true
            }
            State::FlpLinkGood if !up => {
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
        let good = self.state == State::FlpLinkGood && integrity == LinkState::Up;
        // Nothing is reported while words are still being exchanged.
        let settled = self.fault.is_some()
            || !matches!(
                self.state,
                State::AcknowledgeDetect | State::CompleteAcknowledge { .. }
            );
        Status {
            state: if good { LinkState::Up } else { LinkState::Down },
            duplex: self.resolved_duplex().unwrap_or(Duplex::Half),
            established_by: self.established_by,
            partner: self.partner.filter(|_| settled),
            fault: self.fault,
        }
    }

    /// Common mode with the highest priority, limited to 10BASE-T; half duplex by parallel
    /// detection (clause 28.2.3.1).
    fn resolved_duplex(&self) -> Option<Duplex> {
        if self.established_by == EstablishedBy::ParallelDetection {
            return Some(Duplex::Half);
        }
        match self.ours.best_in_common(self.partner?)? {
            LinkCodeWord::TEN_FULL => Some(Duplex::Full),
            LinkCodeWord::TEN_HALF => Some(Duplex::Half),
            _ => None,
        }
    }

    fn restart(&mut self, now: BitTimes) {
        self.run = None;
        self.enter(State::TransmitDisable, now);
    }

    fn enter(&mut self, state: State, now: BitTimes) {
        self.state = state;
        self.since = Some(now);
    }
}
