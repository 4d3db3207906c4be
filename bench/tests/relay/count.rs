//! What receivers should make of what passed the relay.

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

/// The same where the client has asked for numbers of 64 bits, as ours does.
pub fn iperf3_wide_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    let wide = |it: &Datagram| u64::from(it.word(8)) << 32 | u64::from(it.word(12));
    datagrams.iter().map(wide).collect()
}

/// What a receiver should count of a stream that begins with number 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The highest number.
    pub sent: u64,
    /// Numbers that never came.
    pub lost: u64,
    /// Numbers that came behind a higher one, each for the first time.
    pub out_of_order: u64,
    /// Numbers that came again.
    pub repeated: u64,
}

impl Expected {
    /// The same where the sender says that it has sent so many.
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

    /// Of numbers in the order in which they went.
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

/// What stock iperf 2 counts of the same: whatever is not newer than the newest is out of order, and all
/// of those are taken off the loss in the end.
pub fn as_iperf2_counts(numbers: impl IntoIterator<Item = u64>) -> Expected {
    let mut it = counted(numbers, |_| {});
    it.lost = it.lost.saturating_sub(it.out_of_order);
    it
}

/// What stock iperf 3 counts: it takes each off the loss that there is by then.
fn as_iperf3_counts(numbers: impl IntoIterator<Item = u64>) -> Expected {
    counted(numbers, |it| it.lost = it.lost.saturating_sub(1))
}

/// `comes_late` is done at each that is not newer than the newest.
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

/// Whether stock iperf 3 may count so many as lost and, if it says so, out of order. It counts no octets
/// that come behind the end of its test, but may go on to count datagrams until it has told the other
/// end: `read` are those with octets.
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
