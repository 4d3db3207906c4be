//! Random steps of a driver and of its link partner.

use linerate_ether::frame::MacAddress;

/// A step.
pub enum Step {
    /// The partner sends a frame.
    Arrive(Vec<u8>),
    /// The driver looks for a frame.
    Receive,
    Send(Vec<u8>),
    Unmask,
    Mask,
    /// The driver halts and resumes; frames that were not looked for are lost.
    Restart,
}

/// Pages of the receiver.
const RX_PAGES: usize = 2;

/// Numbers from a seed (xorshift, G. Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// 64 octets to the longest without FCS.
    fn frame(&mut self, to: [u8; 6]) -> Vec<u8> {
        let len = match self.below(4) {
            0 => 64,
            1 => 1514,
            _ => 64 + self.below(1451),
        };
        let mut frame: Vec<u8> = (0..len).map(|_| self.below(256) as u8).collect();
        frame[..6].copy_from_slice(&to);
        // No tag.
        frame[12] = 8;
        frame
    }
}

/// `count` steps. No frame arrives that finds no page, because QEMU keeps such frames back.
pub fn random(seed: u64, own: MacAddress, count: usize) -> Vec<Step> {
    let mut numbers = Numbers(seed * 2 + 0x9e37_79b9_7f4a_7c15);
    let mut waiting = 0;
    let steps = (0..count).map(|_| match numbers.below(20) {
        0..7 if waiting < RX_PAGES => {
            waiting += 1;
            Step::Arrive(numbers.frame(own.0))
        }
        0..13 => {
            waiting = waiting.saturating_sub(1);
            Step::Receive
        }
        13..17 => Step::Send(numbers.frame([2, 0, 0, 0, 0, 1])),
        17 => Step::Unmask,
        18 => Step::Mask,
        _ => {
            waiting = 0;
            Step::Restart
        }
    });
    steps.collect()
}

/// The frames that the steps send, and those that they receive.
pub fn frames(steps: &[Step]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut sent, mut received, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Arrive(frame) => waiting.push(frame.clone()),
            Step::Receive if !waiting.is_empty() => received.push(waiting.remove(0)),
            Step::Restart => waiting.clear(),
            Step::Send(frame) => sent.push(frame.clone()),
            Step::Receive | Step::Unmask | Step::Mask => {}
        }
    }
    (sent, received)
}
