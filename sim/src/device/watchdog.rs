//! The four-stage watchdog that the timer groups and the LP system share.

use super::ClockDomain;
use crate::time::Instant;

/// Writing this to `WDTWPROTECT` unlocks the other registers.
pub(super) const UNLOCK_KEY: u32 = 0x50d8_3aa1;

/// Action at the end of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// The stage does not exist.
    #[default]
    Off,
    /// Raises the watchdog's interrupt.
    Interrupt,
    /// Resets the CPU.
    ResetCpu,
    /// Resets the digital system.
    ResetCore,
    /// Resets everything, the LP system too.
    ResetSystem,
}

impl Action {
    /// The action that a stage's field selects.
    pub const fn from_field(field: u32) -> Self {
        match field {
            1 => Self::Interrupt,
            2 => Self::ResetCpu,
            3 => Self::ResetCore,
            4 => Self::ResetSystem,
            _ => Self::Off,
        }
    }

    /// True if the action is a reset.
    pub const fn is_reset(self) -> bool {
        matches!(self, Self::ResetCpu | Self::ResetCore | Self::ResetSystem)
    }
}

/// Stages that follow each other unless the watchdog is fed.
#[derive(Clone, Debug)]
pub struct Watchdog {
    /// The counter that the stages are timed with.
    pub clock: ClockDomain,
    enabled: bool,
    actions: [Action; 4],
    timeouts: [u64; 4],
    stage: usize,
}

impl Watchdog {
    /// A disabled watchdog that counts `clock`.
    pub const fn new(clock: ClockDomain, timeouts: [u64; 4]) -> Self {
        Self {
            clock,
            enabled: false,
            actions: [Action::Off; 4],
            timeouts,
            stage: 0,
        }
    }

    /// Enables or disables the watchdog; a change restarts at stage 0.
    pub fn configure(&mut self, enabled: bool, actions: [Action; 4], now: Instant) {
        if enabled != self.enabled {
            self.feed(now);
        }
        self.enabled = enabled;
        self.actions = actions;
    }

    /// Sets the duration of a stage, in counts.
    pub fn set_timeout(&mut self, stage: usize, counts: u64) {
        self.timeouts[stage] = counts;
    }

    /// Restarts at stage 0.
    pub fn feed(&mut self, now: Instant) {
        self.stage = 0;
        self.clock.load(0, now);
    }

    /// End of the current stage.
    pub fn next_event(&self) -> Instant {
        if !self.enabled || self.actions.iter().all(|&action| action == Action::Off) {
            return Instant::NEVER;
        }
        self.clock.instant(self.timeouts[self.stage])
    }

    /// The action of the stage that ended by `now`, if one did; the next stage begins.
    pub fn expire(&mut self, now: Instant) -> Option<Action> {
        let end = self.next_event();
        if end > now {
            return None;
        }
        let action = self.actions[self.stage];
        self.stage = (self.stage + 1) % 4;
        // A stage of zero length must not repeat the same instant endlessly.
        self.clock.load(
            0,
            if self.timeouts[self.stage] == 0 {
                now
            } else {
                end
            },
        );
        if self.timeouts.iter().all(|&counts| counts == 0) {
            self.enabled = false;
        }
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn stages_follow_each_other_until_fed() {
        let mut watchdog = Watchdog::new(ClockDomain::new(1000), [5, 10, 0, 0]);
        let actions = [
            Action::Interrupt,
            Action::ResetCore,
            Action::Off,
            Action::Off,
        ];
        watchdog.configure(true, actions, Instant::ZERO);
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        assert_eq!(watchdog.next_event(), at(5));
        assert_eq!(watchdog.expire(at(4)), None);
        assert_eq!(watchdog.expire(at(5)), Some(Action::Interrupt));
        assert_eq!(watchdog.next_event(), at(15));
        watchdog.feed(at(10));
        assert_eq!(watchdog.next_event(), at(15));
        assert_eq!(watchdog.expire(at(15)), Some(Action::Interrupt));
        assert_eq!(watchdog.expire(at(25)), Some(Action::ResetCore));
    }
}
