//! One trial of a bit rate: both ends switch to it, send a sequence for a while, and switch back.
//!
//! From the request on, both ends hold user data, so requests and answers take less than a guard *g*. No octet of the link
//! is on its way while an end switches: user data waits and is not lost, whichever message is lost. An end that gets no
//! answer stays quiet until the other one must be back. With a window *w*, times since the peer accepted (at 0) and
//! since this end learned it (at 0 < *d* < *g*):
//!
//! | | end that accepts | end that asks, since *d* |
//! |---|---|---|
//! | link stops | *g* | 0 |
//! | new rate | 2*g* | 1.5*g* |
//! | sequence | 3*g* to 3*g* + *w* | 2.5*g* to 2.5*g* + *w* |
//! | old rate | 5*g* + *w* | 4.5*g* + *w* |
//! | link continues | 6.5*g* + *w* | 6*g* + *w* |

use crate::time::Instant;

/// Trial in progress, and its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Trial {
    pub(super) number: u8,
    pub(super) rate: u32,
    began: Instant,
    /// Times since then: link stops, new rate, sequence begins and ends, old rate, link continues.
    stops_us: u32,
    switches_us: u32,
    sends_us: u32,
    ends_us: u32,
    returns_us: u32,
    continues_us: u32,
    is_switched: bool,
    is_returned: bool,
    pub(super) counts: Counts,
    next_out: u8,
    next_in: Option<u8>,
}

/// A switch of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    To(u32),
    Back,
}

/// Octets of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Counts {
    pub(super) sent: u32,
    pub(super) good: u32,
    pub(super) bad: u32,
}

/// The octet behind `octet` in the sequence, which has each of the 256 once: a full period (Hull and Dobell 1962).
const fn successor(octet: u8) -> u8 {
    octet.wrapping_mul(205).wrapping_add(59)
}

/// First octet of the sequence.
const FIRST: u8 = 0x55;

/// Longest time for which an end holds user data, microseconds: a request and its answer, the trial, a query and its
/// answer.
pub(super) const fn hold_us(guard_us: u32, window_us: u32) -> u32 {
    10 * guard_us + window_us
}

impl Trial {
    pub(super) const fn new(
        now: Instant,
        (number, rate): (u8, u32),
        (guard_us, window_us): (u32, u32),
        is_asker: bool,
    ) -> Self {
        let half = guard_us / 2;
        let early = if is_asker { half } else { 0 };
        let sends_us = 3 * guard_us - early;
        Self {
            number,
            rate,
            began: now,
            stops_us: if is_asker { 0 } else { guard_us },
            switches_us: 2 * guard_us - early,
            sends_us,
            ends_us: sends_us + window_us,
            returns_us: 5 * guard_us - early + window_us,
            continues_us: 6 * guard_us + half - early + window_us,
            is_switched: false,
            is_returned: false,
            counts: Counts {
                sent: 0,
                good: 0,
                bad: 0,
            },
            next_out: FIRST,
            next_in: None,
        }
    }

    /// The switch that is due now.
    pub(super) fn switch(&mut self, now: Instant) -> Option<Switch> {
        let at = now.us_since(self.began);
        if !self.is_switched && at >= self.switches_us {
            self.is_switched = true;
            return Some(Switch::To(self.rate));
        }
        if !self.is_returned && at >= self.returns_us {
            self.is_returned = true;
            return Some(Switch::Back);
        }
        None
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.is_returned && now.us_since(self.began) >= self.continues_us
    }

    /// True while the link must not send.
    pub(super) const fn holds(&self, now: Instant) -> bool {
        now.us_since(self.began) >= self.stops_us
    }

    /// True while what arrives is not of the link.
    pub(super) const fn owns_received(&self) -> bool {
        self.is_switched && !self.is_returned
    }

    /// Writes octets of the sequence; returns their number.
    pub(super) fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize {
        let at = now.us_since(self.began);
        if at < self.sends_us || at >= self.ends_us || !self.owns_received() {
            return 0;
        }
        for octet in &mut *out {
            *octet = self.next_out;
            self.next_out = successor(self.next_out);
        }
        self.counts.sent += out.len() as u32;
        out.len()
    }

    pub(super) fn receive(&mut self, octets: &[u8]) {
        for octet in octets {
            // The first octet is known, so a lost beginning is noticed, too.
            if *octet == self.next_in.unwrap_or(FIRST) {
                self.counts.good += 1;
            } else {
                self.counts.bad += 1;
            }
            self.next_in = Some(successor(*octet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn the_sequence_has_every_octet_once() {
        let mut seen = [false; 256];
        let mut octet = 0;
        for _ in 0..256 {
            assert!(!core::mem::replace(&mut seen[usize::from(octet)], true));
            octet = successor(octet);
        }
        assert_eq!(octet, 0);
    }
}
