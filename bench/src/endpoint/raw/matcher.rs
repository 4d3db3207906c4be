//! Matches answers with the frames sent, by their numbers.

use linerate_agent::frame::{FrameKind, Mac, TestHeader};

use crate::endpoint::RoundTripSample;

/// The frames expected back.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedReplies {
    /// The sender's address.
    pub(super) own: Mac,
    /// The station's address.
    pub(super) station: Mac,
    /// The stream: answers of an earlier trial do not count.
    pub(super) stream: u8,
    /// Octets of each, without FCS.
    pub(super) octets: usize,
    /// The number of frames.
    pub(super) count: u64,
}

/// The frames received back.
#[derive(Debug)]
pub(super) struct ReplyMatcher {
    expected: ExpectedReplies,
    /// A bit for each number, set once it is answered.
    seen: Vec<u64>,
    /// The highest number seen, plus one.
    next: u64,
    /// A sample for each answered frame.
    pub(super) samples: Vec<RoundTripSample>,
    /// Answers received after one to a later frame.
    pub(super) out_of_order: u64,
    /// Duplicate answers.
    pub(super) duplicates: u64,
    /// Received with another content or length than sent: not counted as answers.
    pub(super) altered: u64,
}

impl ReplyMatcher {
    /// A matcher without any answers.
    pub(super) fn new(expected: ExpectedReplies) -> Self {
        Self {
            expected,
            seen: vec![0; expected.count.div_ceil(64) as usize],
            next: 0,
            samples: Vec::new(),
            out_of_order: 0,
            duplicates: 0,
            altered: 0,
        }
    }

    /// Processes any received frame of `len` octets; `at_ns` is its time by the sender's clock.
    pub(super) fn receive(&mut self, frame: &[u8], len: usize, at_ns: u64) {
        let Some(head) = TestHeader::parse(frame) else {
            return;
        };
        let expected = &self.expected;
        let is_ours = head.kind == FrameKind::Reflected
            && head.stream == expected.stream
            && frame[..6] == expected.own
            && frame[6..12] == expected.station;
        if !is_ours {
            return;
        }
        let is_possible = head.number < expected.count && head.sent_ns <= at_ns;
        if !is_possible || len != expected.octets || !head.is_intact(frame) {
            self.altered += 1;
            return;
        }
        let (word, bit) = ((head.number / 64) as usize, 1 << (head.number % 64));
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        self.out_of_order += u64::from(head.number < self.next);
        self.next = self.next.max(head.number + 1);
        self.samples.push(RoundTripSample {
            sent_ns: head.sent_ns,
            round_trip_ns: at_ns - head.sent_ns,
        });
    }

    /// Number of frames answered.
    pub(super) fn answered(&self) -> u64 {
        self.samples.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_agent::Instant;
    use linerate_agent::frame::{Blast, Fill, Plan, ReflectFilter, reflect, renumber};

    const OWN: Mac = [2, 0, 0, 0, 0, 1];
    const STATION: Mac = [2, 0, 0, 0, 0, 2];
    const EXPECTED: ExpectedReplies = ExpectedReplies {
        own: OWN,
        station: STATION,
        stream: 5,
        octets: 100,
        count: 70,
    };

    fn outward(number: u64, stream: u8) -> [u8; 100] {
        let plan = Plan {
            to: STATION,
            from: OWN,
            stream,
            sizes: &[100],
            fill: Fill::Octet(0),
            reflect: true,
            count: 1,
            rate_bits_per_s: 0,
        };
        let mut frame = [0; 100];
        let mut blast = Blast::new(plan, Instant::from_ns(0));
        assert_eq!(blast.next(&mut frame, Instant::from_ns(0)), Some(100));
        renumber(&mut frame, number, 1_000 * number);
        frame
    }

    fn answer(number: u64) -> [u8; 100] {
        let mut frame = outward(number, 5);
        assert!(reflect(&mut frame, STATION, ReflectFilter::Marked));
        frame
    }

    fn take(matched: &mut ReplyMatcher, frame: &[u8]) {
        matched.receive(frame, frame.len(), 100_000);
    }

    #[test]
    fn answers_are_distinguished_from_late_and_repeated_ones() {
        let mut matched = ReplyMatcher::new(EXPECTED);
        for number in [0, 2, 1, 69, 2, 3, 69] {
            take(&mut matched, &answer(number));
        }
        let ReplyMatcher {
            out_of_order,
            duplicates,
            altered,
            ..
        } = matched;
        assert_eq!((matched.answered(), out_of_order), (5, 2));
        assert_eq!((duplicates, altered), (2, 0));
        let first = RoundTripSample {
            sent_ns: 2_000,
            round_trip_ns: 98_000,
        };
        assert_eq!(matched.samples[1], first);
    }

    #[test]
    fn other_frames_are_not_answers() {
        let mut matched = ReplyMatcher::new(EXPECTED);
        let mut of_another = outward(0, 6);
        assert!(reflect(&mut of_another, STATION, ReflectFilter::Marked));
        let mut from_another = answer(0);
        from_another[11] = 9;
        let mut to_another = answer(0);
        to_another[5] = 9;
        for frame in [outward(0, 5), of_another, from_another, to_another] {
            take(&mut matched, &frame);
        }
        for len in 0..60 {
            take(&mut matched, &answer(0)[..len.min(37)]);
        }
        assert_eq!((matched.answered(), matched.altered), (0, 0));
    }

    #[test]
    fn an_altered_frame_is_no_answer() {
        let mut matched = ReplyMatcher::new(EXPECTED);
        let mut changed = answer(0);
        changed[99] ^= 1;
        take(&mut matched, &changed);
        take(&mut matched, &answer(0)[..99]);
        // A number that was never sent, and a time in the future.
        take(&mut matched, &answer(70));
        let mut early = answer(0);
        renumber(&mut early, u64::MAX, u64::MAX);
        take(&mut matched, &early);
        assert_eq!((matched.answered(), matched.altered), (0, 4));
    }
}
