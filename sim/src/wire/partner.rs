//! Link pulses of the link partner: link integrity test (IEEE 802.3 clause 14.2.1.7) and
//! auto-negotiation (clause 28.2).
//!
//! Written from the standard's state diagrams, independently of the device's implementation, so that
//! each tests the other.

mod integrity;

use linerate_ether::phy10::link::{LinkCodeWord, LinkEvent, LinkReceiver};

use self::integrity::LinkIntegrityTest;
use super::config::{Config, Duplex, Partner, Pulses};
use crate::time::{Instant, Span};

/// Silence that makes the other end restart (`break_link_timer`: 1200 to 1500 ms).
const BREAK_LINK: Span = Span::from_ms(1250);
/// Time for a negotiated link to come up (`link_fail_inhibit_timer`: 750 to 1000 ms).
const LINK_FAIL_INHIBIT: Span = Span::from_ms(900);
/// Wait in parallel detection (`autoneg_wait_timer`: 500 to 1000 ms).
const AUTONEG_WAIT: Span = Span::from_ms(700);
/// Time without a burst after which the device no longer negotiates (`nlp_test_max_timer`: 50 to
/// 150 ms).
const NLP_TEST_MAX: Span = Span::from_ms(100);
/// Bursts with the acknowledge bit sent after the device's (clause 28.2.1.2.4: 6 to 8).
const REMAINING_ACKS: u32 = 7;
/// Consecutive equal words required to accept a word (clause 28.2.1.2.4).
const MATCHING_WORDS: u32 = 3;
/// Maximum time after a pulse at which the same burst can continue.
const BURST_TIMEOUT: Span = Span::from_us(200);

/// Method by which the link was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// As configured, without negotiation.
    Forced,
    /// Both stations advertised it.
    AutoNegotiation,
    /// The device sent normal link pulses only.
    ParallelDetection,
}

/// The partner's view of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkReport {
    /// The link is up.
    pub up: bool,
    /// Duplex mode; never [`Duplex::Auto`].
    pub duplex: Duplex,
    /// How it was established.
    pub resolution: Resolution,
    /// The device's advertised word last accepted.
    pub device_word: Option<LinkCodeWord>,
    /// Number of transitions to up.
    pub ups: u32,
    /// Number of transitions to down.
    pub downs: u32,
}

/// Counts of received bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BurstCounts {
    /// Complete bursts.
    pub bursts: u64,
    /// Pulse sequences that are not a valid burst.
    pub broken: u64,
    /// Word of the last complete burst.
    pub last: Option<LinkCodeWord>,
}

/// State of auto-negotiation: the non-transient states of Figure 28-18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// TRANSMIT DISABLE: sends nothing.
    TransmitDisable { until: Instant },
    /// ABILITY DETECT: sends its abilities and waits for the device's.
    AbilityDetect,
    /// ACKNOWLEDGE DETECT: the device's abilities are known.
    AcknowledgeDetect,
    /// COMPLETE ACKNOWLEDGE: the device knows ours; `bursts` bursts remain to be sent.
    CompleteAcknowledge { bursts: u32 },
    /// LINK STATUS CHECK: the device does not appear to negotiate.
    LinkStatusCheck { until: Instant },
    /// FLP LINK GOOD CHECK: the link must come up before `until`.
    FlpLinkGoodCheck { until: Instant },
    /// FLP LINK GOOD.
    FlpLinkGood,
    /// Auto-negotiation is disabled.
    Disabled,
}

/// The link partner.
#[derive(Debug)]
pub struct LinkPartner {
    config: Partner,
    duplex: Duplex,
    interval: Option<Span>,
    link_test: bool,
    receiver: LinkReceiver,
    last_pulse: Option<Instant>,
    integrity: LinkIntegrityTest,
    state: State,
    /// The last word received, without the acknowledge bit; number of consecutive receptions, and of
    /// those with the acknowledge bit.
    word: u16,
    matches: u32,
    acknowledges: u32,
    last_burst: Instant,
    /// The accepted word.
    accepted: Option<LinkCodeWord>,
    /// Start of the burst being sent, and its next pulse in ns after that.
    burst: Option<(Instant, u64)>,
    next_send: Instant,
    report: LinkReport,
    counts: BurstCounts,
}

impl LinkPartner {
    /// A partner that is already powered on at time zero.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let partner = config.partner;
        let negotiates = partner.pulses() == Pulses::Flp;
        let interval = config
            .link_pulse_interval
            .filter(|_| partner.pulses() != Pulses::None);
        let tests = partner
            .link_test
            .unwrap_or(negotiates || config.impairments.flap.is_enabled());
        Self {
            config: partner,
            duplex: config.duplex,
            interval,
            link_test: tests || negotiates,
            receiver: LinkReceiver::new(),
            last_pulse: None,
            integrity: LinkIntegrityTest::default(),
            state: if negotiates {
                State::AbilityDetect
            } else {
                State::Disabled
            },
            word: 0,
            matches: 0,
            acknowledges: 0,
            last_burst: Instant::ZERO,
            accepted: None,
            burst: None,
            next_send: interval.map_or(Instant::NEVER, |every| Instant::ZERO + every),
            report: LinkReport {
                up: !tests && !negotiates,
                duplex: match config.duplex {
                    Duplex::Auto => Duplex::Half,
                    forced => forced,
                },
                resolution: Resolution::Forced,
                device_word: None,
                ups: 0,
                downs: 0,
            },
            counts: BurstCounts::default(),
        }
    }

    /// Burst counts so far.
    #[must_use]
    pub const fn counts(&self) -> BurstCounts {
        self.counts
    }

    /// State of the link.
    #[must_use]
    pub const fn report(&self) -> LinkReport {
        LinkReport {
            device_word: self.accepted,
            ..self.report
        }
    }

    /// A pulse of the device arrives at `at`.
    pub fn pulse_received(&mut self, at: Instant) {
        let event = self.receiver.on_pulse(at.as_ns());
        self.process(event, at);
        self.last_pulse = Some(at);
        if self.state == State::Disabled {
            self.integrity.pulse(at);
        }
        self.advance_state(at);
    }

    /// A frame of the device ends at `at`.
    pub fn frame_received(&mut self, at: Instant) {
        self.integrity.frame(at);
        self.advance_state(at);
    }

    /// A frame to the device ends at `at`: the next link pulse follows it after the pulse interval.
    pub fn frame_sent(&mut self, at: Instant) {
        if self.burst.is_none() {
            self.next_send = self.interval.map_or(Instant::NEVER, |every| at + every);
        }
    }

    /// Next time [`Self::poll`] must be called. No pulse is sent while the line is `busy`.
    #[must_use]
    pub fn deadline(&self, busy: bool) -> Instant {
        let silence = self
            .last_pulse
            .map_or(Instant::NEVER, |last| last + BURST_TIMEOUT);
        let state = match self.state {
            State::TransmitDisable { until }
            | State::LinkStatusCheck { until }
            | State::FlpLinkGoodCheck { until } => until,
            State::AcknowledgeDetect => self.last_burst + NLP_TEST_MAX,
            _ => Instant::NEVER,
        };
        let integrity = if self.link_test {
            self.integrity.fails_at()
        } else {
            Instant::NEVER
        };
        let pulse = if busy { Instant::NEVER } else { self.next_send };
        pulse.min(silence).min(state).min(integrity)
    }

    /// Performs what is due at `now`; true if a pulse is to be sent. None is sent while the line is
    /// `busy`.
    pub fn poll(&mut self, now: Instant, busy: bool) -> bool {
        if self
            .last_pulse
            .is_some_and(|last| last + BURST_TIMEOUT <= now)
        {
            self.last_pulse = None;
            let event = self.receiver.on_silence(now.as_ns());
            self.process(event, now);
        }
        if self.integrity.fails_at() <= now {
            self.integrity = LinkIntegrityTest::default();
        }
        self.advance_state(now);
        let sends = !busy && self.next_send <= now;
        if sends {
            self.schedule_next_pulse(now);
        }
        sends
    }

    /// Schedules the next pulse after the one at `now`.
    fn schedule_next_pulse(&mut self, now: Instant) {
        let Some(interval) = self.interval else {
            self.next_send = Instant::NEVER;
            return;
        };
        let Some(word) = self.current_word() else {
            self.burst = None;
            self.next_send = now + interval;
            return;
        };
        let (start, gone) = match self.burst {
            Some((start, next)) => (start, next),
            None => (now, 0),
        };
        if let Some(next) = word.pulses_ns().find(|&at| at > gone) {
            self.burst = Some((start, next));
            self.next_send = start + Span::from_ns(next);
        } else {
            self.burst = None;
            self.next_send = start + interval;
            self.burst_sent(now);
        }
    }

    /// The word that bursts carry in this state.
    fn current_word(&self) -> Option<LinkCodeWord> {
        let acknowledge = match self.state {
            State::AbilityDetect => 0,
            State::AcknowledgeDetect | State::CompleteAcknowledge { .. } => {
                LinkCodeWord::ACKNOWLEDGE
            }
            _ => return None,
        };
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        Some(LinkCodeWord::base_page(
            self.config.advertise.bits()
                | flag(self.config.next_page, LinkCodeWord::NEXT_PAGE)
                | flag(self.config.remote_fault, LinkCodeWord::REMOTE_FAULT)
                | acknowledge,
        ))
    }

    /// Processes an event of the pulse receiver.
    fn process(&mut self, event: Option<LinkEvent>, at: Instant) {
        match event {
            Some(LinkEvent::Burst(word)) => {
                self.last_burst = at;
                self.counts.bursts += 1;
                self.counts.last = Some(word);
                if self.state == State::FlpLinkGood {
                    self.integrity.pulse(at);
                }
                let bare = word.0 & !LinkCodeWord::ACKNOWLEDGE;
                let same = bare == self.word && self.matches > 0;
                self.word = bare;
                self.matches = if same { self.matches + 1 } else { 1 };
                let acknowledged = word.has(LinkCodeWord::ACKNOWLEDGE);
                self.acknowledges = match (same, acknowledged) {
                    (true, true) => self.acknowledges + 1,
                    (false, true) => 1,
                    _ => 0,
                };
            }
            Some(LinkEvent::Malformed(_)) => self.counts.broken += 1,
            Some(LinkEvent::NormalPulse) if self.state != State::Disabled => {
                self.integrity.pulse(at);
            }
            _ => {}
        }
    }

    /// A burst was sent completely.
    fn burst_sent(&mut self, now: Instant) {
        if let State::CompleteAcknowledge { bursts } = &mut self.state {
            *bursts = bursts.saturating_sub(1);
            if *bursts == 0 {
                self.integrity = LinkIntegrityTest::default();
                self.state = State::FlpLinkGoodCheck {
                    until: now + LINK_FAIL_INHIBIT,
                };
            }
        }
    }

    /// Performs the state transition that is due.
    fn advance_state(&mut self, now: Instant) {
        match self.state {
            // The test covers both directions: without its own pulses the partner's link is down.
            State::Disabled if self.link_test => {
                self.set_link_up(self.integrity.is_passing() && self.interval.is_some());
            }
            State::TransmitDisable { until } if until <= now => self.begin_ability_detect(now),
            State::AbilityDetect if self.matches >= MATCHING_WORDS => {
                self.accepted = Some(LinkCodeWord(self.word));
                self.state = State::AcknowledgeDetect;
                self.acknowledges = 0;
            }
            State::AbilityDetect if self.integrity.is_passing() && self.supports_10base_t() => {
                self.stop_sending();
                self.state = State::LinkStatusCheck {
                    until: now + AUTONEG_WAIT,
                };
            }
            State::AcknowledgeDetect if self.acknowledges >= MATCHING_WORDS => {
                if self.accepted == Some(LinkCodeWord(self.word)) {
                    self.state = State::CompleteAcknowledge {
                        bursts: REMAINING_ACKS,
                    };
                } else {
                    self.restart(now);
                }
            }
            State::AcknowledgeDetect if self.last_burst + NLP_TEST_MAX <= now => self.restart(now),
            State::LinkStatusCheck { until } if until <= now => {
                if self.integrity.is_passing() {
                    self.resolve(Duplex::Half, Resolution::ParallelDetection, now);
                } else {
                    self.restart(now);
                }
            }
            State::FlpLinkGoodCheck { .. }
                if self.integrity.is_passing() && self.common_duplex().is_some() =>
            {
                let duplex = self.common_duplex().unwrap_or(Duplex::Half);
                self.resolve(duplex, Resolution::AutoNegotiation, now);
            }
            State::FlpLinkGoodCheck { until } if until <= now => self.restart(now),
            State::FlpLinkGood if !self.integrity.is_passing() => self.restart(now),
            _ => {}
        }
    }

    const fn supports_10base_t(&self) -> bool {
        self.config.advertise.bits() & (LinkCodeWord::TEN_HALF | LinkCodeWord::TEN_FULL) != 0
    }

    /// Duplex mode of the best common ability if it is 10BASE-T; this cable has no 100 Mbit/s link.
    fn common_duplex(&self) -> Option<Duplex> {
        let own = LinkCodeWord::base_page(self.config.advertise.bits());
        match own.best_in_common(self.accepted?)? {
            LinkCodeWord::TEN_FULL => Some(Duplex::Full),
            LinkCodeWord::TEN_HALF => Some(Duplex::Half),
            _ => None,
        }
    }

    fn resolve(&mut self, duplex: Duplex, resolution: Resolution, now: Instant) {
        self.state = State::FlpLinkGood;
        self.burst = None;
        if self.next_send == Instant::NEVER {
            self.next_send = now;
        }
        self.report.resolution = resolution;
        if self.duplex == Duplex::Auto {
            self.report.duplex = duplex;
        }
        self.set_link_up(true);
    }

    fn restart(&mut self, now: Instant) {
        self.set_link_up(false);
        self.stop_sending();
        self.state = State::TransmitDisable {
            until: now + BREAK_LINK,
        };
    }

    fn stop_sending(&mut self) {
        self.burst = None;
        self.next_send = Instant::NEVER;
    }

    fn begin_ability_detect(&mut self, now: Instant) {
        self.state = State::AbilityDetect;
        self.integrity = LinkIntegrityTest::default();
        (self.matches, self.acknowledges) = (0, 0);
        self.accepted = None;
        self.next_send = now;
    }

    const fn set_link_up(&mut self, up: bool) {
        if up && !self.report.up {
            self.report.ups += 1;
        } else if !up && self.report.up {
            self.report.downs += 1;
        }
        self.report.up = up;
    }
}

#[cfg(test)]
mod tests;
