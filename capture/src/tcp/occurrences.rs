//! Packet numbers of an event in a capture.

/// Numbers of the packets in which an event occurred first, last and worst; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// First packet in its capture.
    pub first: u64,
    /// Last packet.
    pub last: u64,
    /// Worst packet.
    pub worst: u64,
    worst_weight: u64,
}

impl Occurrences {
    /// Records an event in `packet`; the highest `weight` is the worst.
    #[inline]
    pub fn record(&mut self, packet: u64, weight: u64) {
        self.last = packet;
        if self.first == 0 {
            self.first = packet;
        } else if weight <= self.worst_weight {
            return;
        }
        self.worst = packet;
        self.worst_weight = weight;
    }

    /// Occurrences of either event.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        if self.first == 0 || other.first == 0 {
            return if self.first == 0 { other } else { self };
        }
        let worst = if other.worst_weight > self.worst_weight {
            other
        } else {
            self
        };
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            ..worst
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_last_and_worst_of_two() {
        let (mut one, mut other) = (Occurrences::default(), Occurrences::default());
        assert_eq!(one.merged(other), one);
        one.record(5, 0);
        one.record(7, 9);
        one.record(8, 3);
        assert_eq!((one.first, one.worst, one.last), (5, 7, 8));
        assert_eq!((one.merged(other), other.merged(one)), (one, one));
        other.record(2, 10);
        let both = one.merged(other);
        assert_eq!((both.first, both.worst, both.last), (2, 2, 8));
    }
}
