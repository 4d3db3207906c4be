//! The sending side of a train of test messages.

use super::budget::Budget;
use super::message::{Ask, Message, TRAIN_HEAD, filler};
use crate::link::{Link, SendError};
use crate::time::Instant;
use crate::wire::{ACKNOWLEDGMENT, frame_octets};

/// A train that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outgoing {
    ask: Ask,
    sent: u32,
    began: Instant,
    due: Instant,
    is_started: bool,
    is_stopped: bool,
}

/// Most messages of a train that wait for the budget together.
const TOGETHER: u32 = 8;

impl Outgoing {
    /// A train that begins as soon as the budget allows.
    #[must_use]
    pub fn new(now: Instant, ask: Ask) -> Self {
        Self {
            ask: Ask {
                octets: ask.octets.max(TRAIN_HEAD as u16),
                // Further ahead is behind: time wraps around.
                interval_us: ask.interval_us.min(i32::MAX as u32),
                ..ask
            },
            sent: 0,
            began: now,
            due: now,
            is_started: false,
            is_stopped: false,
        }
    }

    /// The train.
    #[must_use]
    pub const fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Messages that were sent.
    #[must_use]
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Sends no more of it.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Sends what is due; returns true when the train is over.
    pub fn advance<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        budget: &mut Budget,
    ) -> bool {
        let limit_us = self.ask.limit_ms.saturating_mul(1000).min(i32::MAX as u32);
        if limit_us > 0 && now.us_since(self.began) >= limit_us {
            return true;
        }
        let len = usize::from(self.ask.octets);
        // The peer's trains cost this end acknowledgments, and there are as many of them.
        let cost = (frame_octets(len) + ACKNOWLEDGMENT) as u32;
        while !self.is_stopped && self.sent < self.ask.count && now.has_reached(self.due) {
            // The messages of a train are to follow each other: the budget is for several.
            let left = (self.ask.count - self.sent).min(TOGETHER);
            if self.sent.is_multiple_of(TOGETHER) && !budget.allows(now, left * cost) {
                return false;
            }
            let mut head = [0; TRAIN_HEAD];
            let index = self.sent;
            Message::Train {
                train: self.ask.train,
                index,
            }
            .emit(&mut head);
            let octet = |at: usize| head.get(at).copied().unwrap_or_else(|| filler(index, at));
            match link.send_with(self.ask.channel.into(), len, octet) {
                Ok(()) => {}
                Err(SendError::Full) => return false,
                Err(_) => return true,
            }
            if !self.is_started {
                self.is_started = true;
                self.began = now;
                self.due = now;
            }
            budget.spend(cost);
            self.sent += 1;
            self.due = self.due.after_us(self.ask.interval_us);
        }
        self.is_stopped || self.sent >= self.ask.count
    }
}
