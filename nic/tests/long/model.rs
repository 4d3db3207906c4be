//! Expected fate of each frame: room in the queue, its position there, and the counters.

use crate::traffic::{Arrival, Fate};
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::bitbang::MAX_RAW_LEN;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{Reception, receiver_words};
use std::collections::VecDeque;
use std::fmt;

/// Capacity of the firmware's queue.
const FRAMES: usize = 9;
pub const WORDS: usize = receiver_words(FRAMES);
/// Words that a reception of any length may need, including its length word.
const LONGEST_WORDS: usize = 1 + MAX_RAW_LEN.div_ceil(4);

/// Content that a stage puts into the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// All receptions.
    Receptions,
    /// Frames that passed the checks in the interrupt, without FCS.
    GoodFrames,
}

struct Held {
    /// Index of the word after it.
    end: usize,
    fate: Fate,
}

/// The receiver as documented.
pub struct Model {
    keeps: Keeps,
    held: VecDeque<Held>,
    write: usize,
    read: usize,
    pub suspended: bool,
    counts: [u32; Counter::COUNT],
    /// Frames sent on the wire.
    pub sent: u64,
    /// Frames sent while reception was disabled: no device can count them.
    pub unheard: u64,
    /// Frames, not pulses, that found the queue full.
    refused: u64,
}

impl Model {
    pub fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            held: VecDeque::new(),
            write: 0,
            read: 0,
            suspended: false,
            counts: [0; Counter::COUNT],
            sent: 0,
            unheard: 0,
            refused: 0,
        }
    }

    fn count(&mut self, counter: Counter) {
        self.counts[counter as usize] += 1;
    }

    /// Position for the longest reception: contiguous, and one word of the ring stays free.
    fn room(&self) -> Option<usize> {
        if self.write < self.read {
            return (self.read - self.write > LONGEST_WORDS).then_some(self.write);
        }
        let behind = WORDS - self.write - usize::from(self.read == 0);
        if behind >= LONGEST_WORDS {
            Some(self.write)
        } else {
            (self.read > LONGEST_WORDS).then_some(0)
        }
    }

    /// Receive interrupt; returns `true` if there was room.
    pub fn arrive(&mut self, arrival: Arrival) -> bool {
        let Some(at) = self.room() else {
            assert!(self.held.len() >= FRAMES, "the queue always takes {FRAMES}");
            self.count(Counter::RxQueueFull);
            self.refused += u64::from(arrival.is_frame);
            self.suspended = true;
            return false;
        };
        if arrival.reception != Reception::Nothing && arrival.counted_at_once != Counter::RxFrames {
            self.count(arrival.counted_at_once);
        }
        let Reception::Packet(raw_len) = arrival.reception else {
            if arrival.reception == Reception::Oversize {
                self.count(Counter::RxFrames);
            }
            return true;
        };
        self.count(Counter::RxFrames);
        let len = match (&arrival.fate, self.keeps) {
            (Fate::Lost(counter), Keeps::GoodFrames) => {
                self.count(*counter);
                return true;
            }
            (Fate::Good(frame) | Fate::Filtered(frame), Keeps::GoodFrames) => frame.len(),
            (_, Keeps::Receptions) => raw_len,
        };
        let end = at + 1 + len.div_ceil(4);
        self.write = if end == WORDS { 0 } else { end };
        self.held.push_back(Held {
            end: self.write,
            fate: arrival.fate,
        });
        true
    }

    /// The main thread requests a frame: bad ones are dropped, the first good one is returned.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let frame = match &self.held.front()?.fate {
                Fate::Good(frame) => frame.clone(),
                Fate::Filtered(_) => {
                    self.count(Counter::RxFiltered);
                    self.release();
                    continue;
                }
                Fate::Lost(counter) => {
                    let counter = *counter;
                    self.count(counter);
                    self.release();
                    continue;
                }
            };
            self.count(Counter::RxValid);
            self.counts[Counter::RxOctets as usize] += frame.len() as u32 + 4;
            let to = MacAddress::from_bytes(&frame).unwrap();
            if to.is_broadcast() {
                self.count(Counter::RxBroadcast);
            } else if to.is_multicast() {
                self.count(Counter::RxMulticast);
            }
            return Some(frame);
        }
    }

    /// The returned frame was read, or dropped unread.
    pub fn release_front(&mut self, read: bool) {
        self.count(if read {
            Counter::RxDelivered
        } else {
            Counter::RxStackRejected
        });
        self.release();
    }

    fn release(&mut self) {
        let held = self.held.pop_front().expect("something is held");
        self.read = held.end;
        if self.room().is_some() {
            self.suspended = false;
        }
    }

    /// Receptions in the queue.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn get(&self, counter: Counter) -> u64 {
        u64::from(self.counts[counter as usize])
    }

    /// Asserts that the device has the same counts.
    pub fn check(&self, ledger: &Ledger, name: &str) {
        for counter in Counter::ALL {
            let (counted, expected) = (ledger.get(counter), self.counts[counter as usize]);
            assert_eq!(counted, expected, "{name}: {counter}");
        }
    }

    /// Asserts that every frame sent is delivered or in one loss counter, and that each cause
    /// occurred.
    pub fn check_sums(&self, name: &str) {
        let mut losses = self.unheard + self.refused;
        for counter in Counter::ALL {
            if counter.drop_cause().is_some() && counter != Counter::RxQueueFull {
                losses += self.get(counter);
            }
        }
        let delivered = self.get(Counter::RxDelivered);
        assert_eq!(self.sent, delivered + losses, "{name}");
        for counter in [
            Counter::RxDelivered,
            Counter::RxLinkPulses,
            Counter::RxLinkBursts,
            Counter::RxTruncated,
            Counter::RxSymbolErrors,
            Counter::RxQueueFull,
            Counter::RxBadSfd,
            Counter::RxBadFcs,
            Counter::RxRunts,
            Counter::RxOversize,
            Counter::RxLengthErrors,
            Counter::RxFiltered,
            Counter::RxMulticast,
            Counter::RxBroadcast,
            Counter::RxStackRejected,
        ] {
            assert!(self.get(counter) > 0, "{name}: no {counter}");
        }
        assert!(self.unheard > 0 && self.refused > 0, "{name}");
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sent {}, unheard {}", self.sent, self.unheard)?;
        for counter in Counter::ALL {
            if self.get(counter) > 0 {
                write!(f, ", {counter} {}", self.get(counter))?;
            }
        }
        Ok(())
    }
}
