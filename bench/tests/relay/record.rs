//! What passed the relay, frame by frame, and what a receiver should make of it.

use linerate_bench::relay::{Delivered, Fate, Verdict, Way, Witness};
use std::collections::{BTreeMap, BTreeSet};

/// Octets of a frame that are kept: down to the first of a UDP payload.
const KEPT: usize = 14 + 20 + 8 + 16;

/// A UDP datagram: its ports and the beginning of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub from: u16,
    pub to: u16,
    pub octets: u64,
    pub head: [u8; 16],
}

impl Datagram {
    fn of(frame: &[u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_at_checked(14)?;
        let is_udp = ethernet[12..] == [8, 0] && *packet.first()? == 0x45 && *packet.get(9)? == 17;
        let udp = packet.get(20..).filter(|_| is_udp)?;
        let port = |at: usize| Some(u16::from_be_bytes([*udp.get(at)?, *udp.get(at + 1)?]));
        let mut head = [0; 16];
        let payload = udp.get(8..)?;
        let len = payload.len().min(16);
        head[..len].copy_from_slice(&payload[..len]);
        Some(Self {
            from: port(0)?,
            to: port(2)?,
            octets: u64::from(port(4)?) - 8,
            head,
        })
    }

    /// The 32 bits at `at` of its payload.
    pub fn word(&self, at: usize) -> u32 {
        let word: [u8; 4] = self.head[at..at + 4].try_into().expect("four octets");
        u32::from_be_bytes(word)
    }
}

/// All datagrams in the order in which they went.
#[derive(Debug, Default)]
pub struct Record {
    went: Vec<(Way, Datagram)>,
    corrupted: BTreeSet<(bool, u64)>,
    pub corrupted_went: u64,
}

impl Witness for Record {
    fn came(&mut self, way: Way, _: &[u8], verdict: Verdict) {
        for fate in [Some(verdict.frame), verdict.copy].into_iter().flatten() {
            if let Fate::Passed {
                number,
                corrupted_bits: 1..,
            } = fate
            {
                self.corrupted.insert((way == Way::Forward, number));
            }
        }
    }

    fn went(&mut self, way: Way, delivered: &Delivered, is_taken: bool) {
        if self
            .corrupted
            .contains(&(way == Way::Forward, delivered.number))
        {
            self.corrupted_went += 1;
            return;
        }
        let kept = delivered.frame.len().min(KEPT);
        if let Some(datagram) = Datagram::of(&delivered.frame[..kept]).filter(|_| is_taken) {
            self.went.push((way, datagram));
        }
    }
}

impl Record {
    /// Datagrams with payloads of at least `octets` that went unharmed, by their ports.
    pub fn went(&self, way: Way, octets: u64) -> BTreeMap<(u16, u16), Vec<Datagram>> {
        let mut streams: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let those = self
            .went
            .iter()
            .filter(|(it, datagram)| *it == way && datagram.octets >= octets);
        for (_, datagram) in those {
            let ports = (datagram.from, datagram.to);
            streams.entry(ports).or_default().push(datagram.clone());
        }
        streams
    }
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
    let mut it = Expected::default();
    for number in numbers {
        if number > it.sent {
            it.lost += number - it.sent - 1;
            it.sent = number;
        } else {
            it.out_of_order += 1;
        }
    }
    it.lost = it.lost.saturating_sub(it.out_of_order);
    it
}

/// What stock iperf 3 counts: it takes each off the loss that there is by then.
fn as_iperf3_counts(numbers: impl IntoIterator<Item = u64>) -> Expected {
    let mut it = Expected::default();
    for number in numbers {
        if number > it.sent {
            it.lost += number - it.sent - 1;
            it.sent = number;
        } else {
            it.out_of_order += 1;
            it.lost = it.lost.saturating_sub(1);
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
