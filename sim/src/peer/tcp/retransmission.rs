//! The retransmission queue: segments sent and not yet acknowledged, with the SACK scoreboard.

use std::collections::VecDeque;

use crate::time::{Instant, Span};

/// A segment that was sent. Positions are stream positions ([`super::segment::to_position`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentSegment {
    /// First position.
    pub start: u64,
    /// Position after the last, including a FIN.
    pub end: u64,
    /// It ends with a FIN.
    pub fin: bool,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// Number of transmissions.
    pub transmissions: u32,
    /// The receiver reported it by SACK.
    pub sacked: bool,
    /// It is assumed lost.
    pub lost: bool,
    /// A retransmission of it is assumed to be in flight.
    pub retransmitting: bool,
}

impl SentSegment {
    /// A segment sent for the first time at `at`.
    #[must_use]
    pub const fn new(start: u64, end: u64, fin: bool, at: Instant) -> Self {
        Self {
            start,
            end,
            fin,
            sent_at: at,
            transmissions: 1,
            sacked: false,
            lost: false,
            retransmitting: false,
        }
    }

    /// True if the segment waits for retransmission.
    #[must_use]
    const fn needs_retransmission(&self) -> bool {
        self.lost && !self.sacked && !self.retransmitting
    }
}

/// Effect of an acknowledgment on the segments sent.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    /// Segments now known to be delivered, cumulatively or by SACK.
    pub delivered_segments: u32,
    /// Segments removed from the queue.
    pub acknowledged: u32,
    /// Bytes acknowledged cumulatively.
    pub advanced: u64,
    /// Segments newly reported by SACK.
    pub sacked: u32,
    /// A retransmitted segment was acknowledged cumulatively: no round trip can be measured.
    pub retransmitted: bool,
    /// A segment below the recovery point was delivered that was sent only once.
    pub original_delivered: bool,
    /// Round trip of the first segment acknowledged cumulatively that was sent once.
    pub first_ack_rtt: Option<Span>,
    /// Round trip of the first segment newly reported by SACK that was sent once.
    pub first_sack_rtt: Option<Span>,
    /// Round trip of the last of these segments: the closest to that of the path.
    pub last_ack_rtt: Option<Span>,
    /// See [`Self::last_ack_rtt`].
    pub last_sack_rtt: Option<Span>,
    /// A segment sent once arrived after one with a higher position.
    pub reordered: bool,
    /// A SACK block reported octets received twice (RFC 2883).
    pub dsack: Option<(u64, u64)>,
}

/// Unacknowledged segments in the order of position.
#[derive(Debug, Clone, Default)]
pub struct RetransmissionQueue {
    segments: VecDeque<SentSegment>,
    highest_sacked: u64,
}

impl RetransmissionQueue {
    /// Adds a segment sent for the first time.
    pub fn push(&mut self, sent: SentSegment) {
        self.segments.push_back(sent);
    }

    /// Number of segments not acknowledged cumulatively.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    /// True if everything is acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The segment at `index`, oldest first.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut SentSegment> {
        self.segments.get_mut(index)
    }

    /// The oldest segment.
    #[must_use]
    pub fn head(&self) -> Option<&SentSegment> {
        self.segments.front()
    }

    /// All segments, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &SentSegment> {
        self.segments.iter()
    }

    /// All segments, oldest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut SentSegment> {
        self.segments.iter_mut()
    }

    /// Number of segments reported by SACK.
    #[must_use]
    pub fn sacked(&self) -> u32 {
        self.segments.iter().filter(|sent| sent.sacked).count() as u32
    }

    /// Estimated number of segments in the network: sent, not sacked, not lost; plus retransmissions.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let in_flight = |sent: &&SentSegment| !sent.sacked && (!sent.lost || sent.retransmitting);
        // A segment counts twice if its original and its retransmission are both in flight.
        let twice = |sent: &&SentSegment| !sent.sacked && !sent.lost && sent.retransmitting;
        (self.segments.iter().filter(in_flight).count()
            + self.segments.iter().filter(twice).count()) as u32
    }

    /// Index of the first segment that waits for retransmission.
    #[must_use]
    pub fn first_lost(&self) -> Option<usize> {
        self.segments
            .iter()
            .position(SentSegment::needs_retransmission)
    }

    /// Applies SACK blocks. Calls `delivered` with each segment newly reported.
    pub fn apply_sack(
        &mut self,
        blocks: &[(u64, u64)],
        recovery_point: u64,
        now: Instant,
        delivery: &mut Delivery,
        mut delivered: impl FnMut(&SentSegment),
    ) {
        let highest_before = self.highest_sacked;
        for &(start, end) in blocks {
            for sent in &mut self.segments {
                if sent.sacked || sent.start < start || sent.end > end {
                    continue;
                }
                delivered(sent);
                if sent.transmissions == 1 {
                    let after = now.since(sent.sent_at);
                    delivery.first_sack_rtt.get_or_insert(after);
                    delivery.last_sack_rtt = Some(after);
                    delivery.original_delivered |= sent.end <= recovery_point;
                    delivery.reordered |= sent.start < highest_before;
                }
                sent.sacked = true;
                sent.lost = false;
                sent.retransmitting = false;
                delivery.sacked += 1;
                delivery.delivered_segments += 1;
                self.highest_sacked = self.highest_sacked.max(sent.end);
            }
        }
    }

    /// Removes segments below `position`. Calls `delivered` with each segment that no SACK had
    /// reported before.
    pub fn apply_cumulative_ack(
        &mut self,
        position: u64,
        recovery_point: u64,
        now: Instant,
        delivery: &mut Delivery,
        mut delivered: impl FnMut(&SentSegment),
    ) {
        while let Some(sent) = self.segments.front_mut() {
            if sent.end > position {
                // Partly acknowledged: the rest is a shorter segment.
                sent.start = sent.start.max(position);
                break;
            }
            if sent.transmissions > 1 {
                delivery.retransmitted = true;
            } else if !sent.sacked {
                let after = now.since(sent.sent_at);
                delivery.first_ack_rtt.get_or_insert(after);
                delivery.last_ack_rtt = Some(after);
                delivery.original_delivered |= sent.end <= recovery_point;
                delivery.reordered |= sent.start < self.highest_sacked;
            }
            if !sent.sacked {
                delivery.delivered_segments += 1;
                delivered(sent);
            }
            delivery.acknowledged += 1;
            self.segments.pop_front();
        }
        if self.segments.is_empty() {
            self.highest_sacked = 0;
        }
    }

    /// Marks every segment as lost, with its retransmission, unless it is sacked or `keeps` it.
    pub fn mark_all_lost(&mut self, keeps: impl Fn(usize, &SentSegment) -> bool) {
        for (index, sent) in self.segments.iter_mut().enumerate() {
            if !sent.sacked && !keeps(index, sent) {
                sent.lost = true;
                sent.retransmitting = false;
            }
        }
    }

    /// Clears all loss marks: they were spurious.
    pub fn clear_loss_marks(&mut self) {
        for sent in &mut self.segments {
            sent.lost = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(segments: u64) -> RetransmissionQueue {
        let mut queue = RetransmissionQueue::default();
        for index in 0..segments {
            let start = 1 + index * 10;
            queue.push(SentSegment::new(
                start,
                start + 10,
                false,
                Instant::from_ns(index),
            ));
        }
        queue
    }

    fn sack(queue: &mut RetransmissionQueue, blocks: &[(u64, u64)]) -> Delivery {
        let mut delivery = Delivery::default();
        queue.apply_sack(blocks, 0, Instant::from_ns(100), &mut delivery, |_| ());
        delivery
    }

    fn acknowledge(queue: &mut RetransmissionQueue, position: u64) -> Delivery {
        let mut delivery = Delivery::default();
        queue.apply_cumulative_ack(position, 0, Instant::from_ns(100), &mut delivery, |_| ());
        delivery
    }

    #[test]
    fn sack_blocks_report_whole_segments_once() {
        let mut queue = queue(4);
        let first = sack(&mut queue, &[(11, 36)]);
        assert_eq!((first.sacked, queue.sacked(), queue.in_flight()), (2, 2, 2));
        assert_eq!(first.first_sack_rtt, Some(Span::from_ns(99)));
        assert_eq!(sack(&mut queue, &[(11, 36)]).sacked, 0);
        let filled = acknowledge(&mut queue, 31);
        assert_eq!((filled.acknowledged, filled.delivered_segments), (3, 1));
        assert!(filled.reordered, "the first arrived after the second");
    }

    #[test]
    fn a_partial_acknowledgment_shortens_the_segment() {
        let mut queue = queue(2);
        assert_eq!(acknowledge(&mut queue, 15).acknowledged, 1);
        assert_eq!(
            queue.head().map(|sent| (sent.start, sent.end)),
            Some((15, 21))
        );
        assert_eq!(acknowledge(&mut queue, 21).acknowledged, 1);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_retransmission_gives_no_round_trip() {
        let mut queue = queue(1);
        queue.get_mut(0).unwrap().transmissions = 2;
        let delivery = acknowledge(&mut queue, 11);
        assert!(delivery.retransmitted);
        assert_eq!(delivery.first_ack_rtt, None);
    }

    #[test]
    fn what_is_lost_is_not_in_flight_until_sent_again() {
        let mut queue = queue(3);
        queue.mark_all_lost(|index, _| index == 2);
        assert_eq!((queue.in_flight(), queue.first_lost()), (1, Some(0)));
        queue.get_mut(0).unwrap().retransmitting = true;
        assert_eq!((queue.in_flight(), queue.first_lost()), (2, Some(1)));
        queue.clear_loss_marks();
        assert_eq!(queue.first_lost(), None);
    }
}
