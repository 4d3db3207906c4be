//! The counts that receivers should report for the datagrams that passed the relay.

use super::record::Datagram;
use std::collections::BTreeSet;

/// Lost, all, out of order.
pub type Counts = (u64, u64, u64);

/// An iperf 2 stream until its end, whose number is negative.
pub fn iperf2_until_end(datagrams: &[Datagram]) -> &[Datagram] {
    let end = datagrams.iter().position(|it| (it.word(0) as i32) < 0);
    &datagrams[..end.map_or(datagrams.len(), |end| end + 1)]
}

/// Numbers of an iperf 2 stream until its end.
pub fn iperf2_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    let numbers = iperf2_until_end(datagrams).iter();
    let number = |it: &Datagram| u64::from((it.word(0) as i32).unsigned_abs());
    numbers.map(number).collect()
}

pub fn iperf3_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    datagrams.iter().map(|it| u64::from(it.word(8))).collect()
}

/// The same with 64-bit numbers, which a client can request, as ours does.
pub fn iperf3_wide_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    let wide = |it: &Datagram| u64::from(it.word(8)) << 32 | u64::from(it.word(12));
    datagrams.iter().map(wide).collect()
}

/// The expected counts of a stream that begins with number 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The highest number.
    pub sent: u64,
    /// Numbers never received.
    pub lost: u64,
    /// Numbers received after a higher one, each for the first time.
    pub out_of_order: u64,
    /// Numbers received again.
    pub repeated: u64,
}

impl Expected {
    /// The same with the number sent, as reported by the sender.
    pub fn of_sent(self, sent: u64) -> Self {
        Self {
            sent: sent.max(self.sent),
            lost: self.lost + sent.saturating_sub(self.sent),
            ..self
        }
    }

    pub fn counts(&self) -> Counts {
        (self.lost, self.sent, self.out_of_order)
    }

    /// The counts of numbers in the order of their departure.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let (mut seen, mut it) = (BTreeSet::new(), Self::default());
        for number in numbers {
            if !seen.insert(number) {
                it.repeated += 1;
            } else if number < it.sent {
                it.out_of_order += 1;
            }
            it.sent = it.sent.max(number);
        }
        it.lost = it.sent - seen.len() as u64;
        it
    }
}

/// The counts of stock iperf 2: any number that is not above the highest is out of order, and all of
/// those are subtracted from the loss at the end.
pub fn as_iperf2_counts(numbers: impl IntoIterator<Item = u64>) -> Expected {
    let mut it = counted(numbers, |_| {});
    it.lost = it.lost.saturating_sub(it.out_of_order);
    it
}

/// The counts of stock iperf 3: it subtracts each at once from the loss so far.
fn as_iperf3_counts(numbers: impl IntoIterator<Item = u64>) -> Expected {
    counted(numbers, |it| it.lost = it.lost.saturating_sub(1))
}

/// `comes_late` is called for each number that is not above the highest.
fn counted(numbers: impl IntoIterator<Item = u64>, comes_late: impl Fn(&mut Expected)) -> Expected {
    let mut it = Expected::default();
    for number in numbers {
        if number > it.sent {
            it.lost += number - it.sent - 1;
            it.sent = number;
        } else {
            it.out_of_order += 1;
            comes_late(&mut it);
        }
    }
    it
}

/// True if stock iperf 3 may report these counts of lost and, if given, out-of-order datagrams. It
/// counts no octets after the end of its test, but may continue to count datagrams until it has notified
/// the other end: `read` are those with octets.
pub fn iperf3_may_count(numbers: &[u64], read: u64, lost: u64, out_of_order: Option<u64>) -> bool {
    let read = read as usize;
    assert!(
        0 < read && read <= numbers.len(),
        "{read} of {}",
        numbers.len()
    );
    (read..=numbers.len()).any(|end| {
        let it = as_iperf3_counts(numbers[..end].iter().copied());
        it.lost == lost && out_of_order.is_none_or(|counted| it.out_of_order == counted)
    })
}
