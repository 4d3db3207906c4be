/// Words of the history, of 32 bits each, unless less memory is to be used.
pub const DEFAULT_HISTORY: usize = 32;

/// Classification of a datagram by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The expected number.
    InOrder,
    /// A gap: this many numbers are missing before it, for now.
    Gap(u64),
    /// Was missing before: out of order.
    Late,
    /// Received before.
    Duplicate,
    /// Late or duplicate: too far behind to distinguish.
    Stale,
}

/// Distinguishes lost, late and duplicate datagrams by their numbers.
///
/// It keeps as many of the last numbers as `HISTORY` words have bits: 1024 in 128 octets. iperf keeps no history: it
/// takes a duplicate for a late datagram and subtracts it from the loss.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<const HISTORY: usize = DEFAULT_HISTORY> {
    first: u64,
    /// The highest number received plus one.
    next: u64,
    received: u64,
    late: u32,
    duplicates: u32,
    stale: u32,
    /// One bit per number.
    seen: [u32; HISTORY],
}

impl<const HISTORY: usize> Sequence<HISTORY> {
    /// Distance behind the highest number up to which a late datagram can be distinguished from a duplicate.
    const WINDOW: u64 = HISTORY as u64 * u32::BITS as u64;

    /// Creates an empty sequence for a sender that counts from `first`.
    #[must_use]
    pub const fn new(first: u64) -> Self {
        assert!(HISTORY.is_power_of_two());
        Self {
            first,
            next: first,
            received: 0,
            late: 0,
            duplicates: 0,
            stale: 0,
            seen: [0; HISTORY],
        }
    }

    /// Restarts an empty sequence with the number `first`.
    pub(crate) const fn restart(&mut self, first: u64) {
        self.first = first;
        self.next = first;
    }

    /// Records a datagram with this number.
    pub fn arrived(&mut self, number: u64) -> Arrival {
        self.received += 1;
        let (word, bit) = Self::place(number);
        let (count, arrival) = if number >= self.next {
            let missing = number - self.next;
            self.forget(missing);
            self.next = number.saturating_add(1);
            self.seen[word] |= bit;
            return if missing == 0 {
                Arrival::InOrder
            } else {
                Arrival::Gap(missing)
            };
        } else if number < self.first || self.next - number > Self::WINDOW {
            (&mut self.stale, Arrival::Stale)
        } else if self.seen[word] & bit != 0 {
            (&mut self.duplicates, Arrival::Duplicate)
        } else {
            self.seen[word] |= bit;
            (&mut self.late, Arrival::Late)
        };
        *count = count.saturating_add(1);
        arrival
    }

    /// Datagrams received, duplicates included.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Datagrams that arrived after one with a higher number, duplicates excluded.
    #[must_use]
    pub const fn out_of_order(&self) -> u64 {
        self.late as u64
    }

    /// Datagrams received again.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates as u64
    }

    /// Datagrams too late to distinguish from duplicates.
    #[must_use]
    pub const fn stale(&self) -> u64 {
        self.stale as u64
    }

    /// Number of datagrams sent, as far as the numbers show.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.next - self.first
    }

    /// The next expected number.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Number of datagrams lost. `sent` is the sender's own count, if it reported one.
    #[must_use]
    pub fn lost(&self, sent: Option<u64>) -> u64 {
        let different = self.received - self.duplicates() - self.stale();
        sent.unwrap_or(0).max(self.sent()).saturating_sub(different)
    }

    /// Makes room for `missing` skipped numbers and one more.
    fn forget(&mut self, missing: u64) {
        if missing >= Self::WINDOW {
            self.seen = [0; HISTORY];
            return;
        }
        for behind in 0..=missing as u32 {
            let (word, bit) = Self::place((self.next as u32).wrapping_add(behind).into());
            self.seen[word] &= !bit;
        }
    }

    /// Word and bit of a number.
    const fn place(number: u64) -> (usize, u32) {
        let number = number as u32;
        ((number / 32) as usize % HISTORY, 1 << (number % 32))
    }
}

#[cfg(test)]
mod tests {
    use super::Arrival;
    use proptest::prelude::*;
    use std::collections::HashSet;

    type Sequence = super::Sequence;
    const WINDOW: u64 = Sequence::WINDOW;

    #[test]
    fn loss_lateness_and_repetition_are_distinguished() {
        let mut sequence = Sequence::new(1);
        let arrivals = [1, 2, 4, 3, 3, 4, 7].map(|number| sequence.arrived(number));
        assert_eq!(
            arrivals,
            [
                Arrival::InOrder,
                Arrival::InOrder,
                Arrival::Gap(1),
                Arrival::Late,
                Arrival::Duplicate,
                Arrival::Duplicate,
                Arrival::Gap(2),
            ]
        );
        assert_eq!(sequence.lost(None), 2);
        assert_eq!(sequence.lost(Some(10)), 5);
        assert_eq!((sequence.out_of_order(), sequence.duplicates()), (1, 2));
    }

    #[test]
    fn datagrams_that_are_too_late_are_not_classified() {
        let mut sequence = Sequence::new(1);
        sequence.arrived(WINDOW + 2);
        assert_eq!(sequence.arrived(1), Arrival::Stale);
        assert_eq!(sequence.arrived(3), Arrival::Late);
        assert_eq!(sequence.stale(), 1);
    }

    #[test]
    fn a_shorter_history_tells_fewer_numbers_apart() {
        let mut sequence = super::Sequence::<8>::new(1);
        sequence.arrived(258);
        let arrivals = [1, 3, 3, 200, 258].map(|number| sequence.arrived(number));
        assert_eq!(
            arrivals,
            [
                Arrival::Stale,
                Arrival::Late,
                Arrival::Duplicate,
                Arrival::Late,
                Arrival::Duplicate,
            ]
        );
    }

    #[test]
    fn the_largest_number_overflows_nothing() {
        let mut sequence = Sequence::new(1);
        sequence.arrived(u64::MAX);
        sequence.arrived(u64::MAX);
        sequence.arrived(0);
        assert!(sequence.lost(Some(u64::MAX)) > 0);
    }

    proptest! {
        /// Within the window, the counts are those of a set.
        #[test]
        fn counts_are_those_of_a_set(numbers in prop::collection::vec(1..WINDOW, 1..2000)) {
            let mut sequence = Sequence::new(1);
            let (mut set, mut late, mut highest) = (HashSet::new(), 0, 0);
            for number in &numbers {
                sequence.arrived(*number);
                if set.insert(*number) && *number < highest {
                    late += 1;
                }
                highest = highest.max(*number);
            }
            prop_assert_eq!(sequence.lost(None), highest - set.len() as u64);
            prop_assert_eq!(sequence.duplicates(), (numbers.len() - set.len()) as u64);
            prop_assert_eq!(sequence.out_of_order(), late);
            prop_assert_eq!(sequence.stale(), 0);
        }

        /// A sliding window forgets the right numbers.
        #[test]
        fn sliding_forgets_nothing_too_early(steps in prop::collection::vec(1..200_u64, 1..500)) {
            let mut sequence = Sequence::new(0);
            let (mut number, mut seen) = (0, HashSet::new());
            for step in steps {
                number += step;
                sequence.arrived(number);
                seen.insert(number);
                let before = number.saturating_sub(WINDOW / 2 + step);
                if number + 1 - before <= WINDOW {
                    let expected = if seen.insert(before) { Arrival::Late } else { Arrival::Duplicate };
                    prop_assert_eq!(sequence.arrived(before), expected);
                }
            }
        }
    }
}
