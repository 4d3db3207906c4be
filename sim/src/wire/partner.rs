//! The link partner's side of link pulses: link integrity test (IEEE 802.3 clause 14.2.1.7) and
//! auto-negotiation (clause 28.2).
//!
//! Written from the standard's state diagrams and apart from the device's own, so that the two can
//! prove each other wrong.

mod integrity;

use linerate_ether::phy10::link::{LinkCodeWord, LinkEvent, LinkReceiver};

use self::integrity::Integrity;
use super::config::{Config, Duplex, Partner, Pulses};
use crate::time::{Instant, Span};

/// Silence that makes the other end start anew (`break_link_timer`: 1200 to 1500 ms).
const BREAK_LINK: Span = Span::from_ms(1250);
/// How long a negotiated link may take to come up (`link_fail_inhibit_timer`: 750 to 1000 ms).
const LINK_FAIL_INHIBIT: Span = Span::from_ms(900);
/// How long a partner that does not negotiate is watched (`autoneg_wait_timer`: 500 to 1000 ms).
const AUTONEG_WAIT: Span = Span::from_ms(700);
/// No burst for so long: the partner has stopped negotiating (`nlp_test_max_timer`: 50 to 150 ms).
const BURSTS_LOST: Span = Span::from_ms(100);
/// Bursts with the acknowledge bit that are sent after the partner's (clause 28.2.1.2.4: 6 to 8).
const MORE_ACKNOWLEDGES: u32 = 7;
/// Equal words in a row that are believed (clause 28.2.1.2.4).
const MATCH: u32 = 3;
/// Nothing that belongs to a burst comes later than this after a pulse.
const AFTER_PULSE: Span = Span::from_us(200);

/// How a link came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// As configured, without asking the device.
    Forced,
    /// Both stations offered it.
    AutoNegotiation,
    /// The device sent plain link pulses only.
    ParallelDetection,
}

/// The state of the link as the partner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkReport {
    /// Frames pass.
    pub up: bool,
    /// Who may send when: never [`Duplex::Auto`].
    pub duplex: Duplex,
    /// How it came to that.
    pub by: Resolution,
    /// What the device offered, as it was last believed.
    pub heard: Option<LinkCodeWord>,
    /// Times the link came up.
    pub ups: u32,
    /// Times it went down.
    pub downs: u32,
}

/// Bursts that the partner has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BurstCounts {
    /// Whole ones.
    pub bursts: u64,
    /// Pulses that resemble no burst.
    pub broken: u64,
    /// What the last whole one said.
    pub last: Option<LinkCodeWord>,
}

/// Where auto-negotiation is: the states of Figure 28-18 that last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// TRANSMIT DISABLE: silent.
    Silent { until: Instant },
    /// ABILITY DETECT: offers, and listens.
    Offering,
    /// ACKNOWLEDGE DETECT: the device's offer is known.
    Acknowledging,
    /// COMPLETE ACKNOWLEDGE: the device knows ours; so many bursts are left to send.
    Completing { bursts: u32 },
    /// LINK STATUS CHECK: the device seems not to negotiate.
    Watching { until: Instant },
    /// FLP LINK GOOD CHECK: the link has to come up until then.
    Checking { until: Instant },
    /// FLP LINK GOOD.
    Good,
    /// It does not negotiate.
    Off,
}

/// The link partner.
#[derive(Debug)]
pub struct LinkPartner {
    config: Partner,
    duplex: Duplex,
    interval: Option<Span>,
    tests_link: bool,
    receiver: LinkReceiver,
    last_pulse: Option<Instant>,
    integrity: Integrity,
    state: State,
    /// The word heard last, without the acknowledge bit; how often in a row, and of these with it.
    word: u16,
    matches: u32,
    acknowledges: u32,
    last_burst: Instant,
    /// The word that was believed.
    believed: Option<LinkCodeWord>,
    /// When the burst that is sent began, and its pulse that comes next, ns after that.
    burst: Option<(Instant, u64)>,
    next_send: Instant,
    report: LinkReport,
    counts: BurstCounts,
}

impl LinkPartner {
    /// A partner that has been switched on for a while at time zero.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let partner = config.partner;
        let negotiates = partner.pulses() == Pulses::Flp;
        let interval = config
            .link_pulse_interval
            .filter(|_| partner.pulses() != Pulses::None);
        let tests = partner
            .link_test
            .unwrap_or(negotiates || config.impairments.flap.happens());
        Self {
            config: partner,
            duplex: config.duplex,
            interval,
            tests_link: tests || negotiates,
            receiver: LinkReceiver::new(),
            last_pulse: None,
            integrity: Integrity::default(),
            state: if negotiates {
                State::Offering
            } else {
                State::Off
            },
            word: 0,
            matches: 0,
            acknowledges: 0,
            last_burst: Instant::ZERO,
            believed: None,
            burst: None,
            next_send: interval.map_or(Instant::NEVER, |every| Instant::ZERO + every),
            report: LinkReport {
                up: !tests && !negotiates,
                duplex: match config.duplex {
                    Duplex::Auto => Duplex::Half,
                    forced => forced,
                },
                by: Resolution::Forced,
                heard: None,
                ups: 0,
                downs: 0,
            },
            counts: BurstCounts::default(),
        }
    }

    /// Bursts so far.
    #[must_use]
    pub const fn counts(&self) -> BurstCounts {
        self.counts
    }

    /// The link's state.
    #[must_use]
    pub const fn report(&self) -> LinkReport {
        LinkReport {
            heard: self.believed,
            ..self.report
        }
    }

    /// The device's pulse is heard at `at`.
    pub fn pulse_heard(&mut self, at: Instant) {
        let event = self.receiver.on_pulse(at.as_ns());
        self.take(event, at);
        self.last_pulse = Some(at);
        if self.state == State::Off {
            self.integrity.pulse(at);
        }
        self.settle(at);
    }

    /// A frame of the device's is heard at `at`.
    pub fn frame_heard(&mut self, at: Instant) {
        self.integrity.frame(at);
        self.settle(at);
    }

    /// A frame to the device ends at `at`: the next link pulse is as long after it as after a pulse.
    pub fn frame_sent(&mut self, at: Instant) {
        if self.burst.is_none() {
            self.next_send = self.interval.map_or(Instant::NEVER, |every| at + every);
        }
    }

    /// When [`Self::poll`] has something to do. No pulse is sent while the line is `busy`.
    #[must_use]
    pub fn deadline(&self, busy: bool) -> Instant {
        let silence = self
            .last_pulse
            .map_or(Instant::NEVER, |last| last + AFTER_PULSE);
        let state = match self.state {
            State::Silent { until } | State::Watching { until } | State::Checking { until } => {
                until
            }
            State::Acknowledging => self.last_burst + BURSTS_LOST,
            _ => Instant::NEVER,
        };
        let integrity = if self.tests_link {
            self.integrity.fails_at()
        } else {
            Instant::NEVER
        };
        let pulse = if busy { Instant::NEVER } else { self.next_send };
        pulse.min(silence).min(state).min(integrity)
    }

    /// Does what is due at `now`; true if a pulse is to be sent. None is while the line is `busy`.
    pub fn poll(&mut self, now: Instant, busy: bool) -> bool {
        if self
            .last_pulse
            .is_some_and(|last| last + AFTER_PULSE <= now)
        {
            self.last_pulse = None;
            let event = self.receiver.on_silence(now.as_ns());
            self.take(event, now);
        }
        if self.integrity.fails_at() <= now {
            self.integrity = Integrity::default();
        }
        self.settle(now);
        let sends = !busy && self.next_send <= now;
        if sends {
            self.advance(now);
        }
        sends
    }

    /// Where the next pulse is after the one at `now`.
    fn advance(&mut self, now: Instant) {
        let Some(interval) = self.interval else {
            self.next_send = Instant::NEVER;
            return;
        };
        let Some(word) = self.sending() else {
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

    /// The word that bursts carry now.
    fn sending(&self) -> Option<LinkCodeWord> {
        let acknowledge = match self.state {
            State::Offering => 0,
            State::Acknowledging | State::Completing { .. } => LinkCodeWord::ACKNOWLEDGE,
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

    /// What the pulses so far amount to.
    fn take(&mut self, event: Option<LinkEvent>, at: Instant) {
        match event {
            Some(LinkEvent::Burst(word)) => {
                self.last_burst = at;
                self.counts.bursts += 1;
                self.counts.last = Some(word);
                if self.state == State::Good {
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
            Some(LinkEvent::NormalPulse) if self.state != State::Off => self.integrity.pulse(at),
            _ => {}
        }
    }

    /// A burst is out.
    fn burst_sent(&mut self, now: Instant) {
        if let State::Completing { bursts } = &mut self.state {
            *bursts = bursts.saturating_sub(1);
            if *bursts == 0 {
                self.integrity = Integrity::default();
                self.state = State::Checking {
                    until: now + LINK_FAIL_INHIBIT,
                };
            }
        }
    }

    /// Goes on to the state that follows.
    fn settle(&mut self, now: Instant) {
        match self.state {
            // The test is one of both directions: who sends no pulses takes no link to be up.
            State::Off if self.tests_link => {
                self.set_up(self.integrity.passes() && self.interval.is_some());
            }
            State::Silent { until } if until <= now => self.offer(now),
            State::Offering if self.matches >= MATCH => {
                self.believed = Some(LinkCodeWord(self.word));
                self.state = State::Acknowledging;
                self.acknowledges = 0;
            }
            State::Offering if self.integrity.passes() && self.can_ten() => {
                self.silence();
                self.state = State::Watching {
                    until: now + AUTONEG_WAIT,
                };
            }
            State::Acknowledging if self.acknowledges >= MATCH => {
                if self.believed == Some(LinkCodeWord(self.word)) {
                    self.state = State::Completing {
                        bursts: MORE_ACKNOWLEDGES,
                    };
                } else {
                    self.restart(now);
                }
            }
            State::Acknowledging if self.last_burst + BURSTS_LOST <= now => self.restart(now),
            State::Watching { until } if until <= now => {
                if self.integrity.passes() {
                    self.resolve(Duplex::Half, Resolution::ParallelDetection, now);
                } else {
                    self.restart(now);
                }
            }
            State::Checking { .. } if self.integrity.passes() && self.in_common().is_some() => {
                let duplex = self.in_common().unwrap_or(Duplex::Half);
                self.resolve(duplex, Resolution::AutoNegotiation, now);
            }
            State::Checking { until } if until <= now => self.restart(now),
            State::Good if !self.integrity.passes() => self.restart(now),
            _ => {}
        }
    }

    const fn can_ten(&self) -> bool {
        self.config.advertise.bits() & (LinkCodeWord::TEN_HALF | LinkCodeWord::TEN_FULL) != 0
    }

    /// What both offer, of 10BASE-T; a link of 100 Mbit/s comes to nothing on this cable.
    fn in_common(&self) -> Option<Duplex> {
        let own = LinkCodeWord::base_page(self.config.advertise.bits());
        match own.best_in_common(self.believed?)? {
            LinkCodeWord::TEN_FULL => Some(Duplex::Full),
            LinkCodeWord::TEN_HALF => Some(Duplex::Half),
            _ => None,
        }
    }

    fn resolve(&mut self, duplex: Duplex, by: Resolution, now: Instant) {
        self.state = State::Good;
        self.burst = None;
        if self.next_send == Instant::NEVER {
            self.next_send = now;
        }
        self.report.by = by;
        if self.duplex == Duplex::Auto {
            self.report.duplex = duplex;
        }
        self.set_up(true);
    }

    fn restart(&mut self, now: Instant) {
        self.set_up(false);
        self.silence();
        self.state = State::Silent {
            until: now + BREAK_LINK,
        };
    }

    fn silence(&mut self) {
        self.burst = None;
        self.next_send = Instant::NEVER;
    }

    fn offer(&mut self, now: Instant) {
        self.state = State::Offering;
        self.integrity = Integrity::default();
        (self.matches, self.acknowledges) = (0, 0);
        self.believed = None;
        self.next_send = now;
    }

    const fn set_up(&mut self, up: bool) {
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
