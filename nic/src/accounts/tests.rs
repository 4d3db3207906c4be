//! The account of a short script, the same for every driver.

extern crate std;

use super::*;
use std::vec::Vec;

/// Asserts the counters after this script: five frames of 64 octets are received, all to the broadcast address. One has
/// the error `error`, the stack consumes one and drops one, and two wait when the device is halted. Of two such frames
/// to send one is sent; the other waits when the device is halted. Then the device resumes.
pub(crate) fn assert_script(ledger: &Ledger, error: Counter) {
    let is_of_frames =
        |counter: &Counter| !matches!(counter, Counter::LinkUps | Counter::LinkDowns);
    let counted: Vec<_> = ledger
        .non_zero()
        .filter(|(it, _)| is_of_frames(it))
        .collect();
    let mut expected = Vec::from([
        (Counter::TxFrames, 1),
        (Counter::TxOctets, 64),
        (Counter::TxBroadcast, 1),
        (Counter::TxLinkDown, 1),
        (Counter::RxFrames, 5),
        (error, 1),
        (Counter::RxValid, 4),
        (Counter::RxOctets, 4 * 64),
        (Counter::RxBroadcast, 4),
        (Counter::RxDelivered, 1),
        (Counter::RxStackRejected, 3),
    ]);
    expected.sort_unstable();
    assert_eq!(counted, expected);
}

#[test]
fn a_frame_to_send_is_padded_in_the_account() {
    let ledger = Ledger::new();
    for (start, octets) in [(&[2_u8; 6][..], 14), (&[3; 60], 60), (&[0xFF; 6], 1514)] {
        let frame = OutgoingFrame::new(start, octets);
        let returned = OutgoingFrame::from_bits(frame.bits());
        returned.count_sent(&ledger, Collisions::None);
    }
    let counted: Vec<_> = ledger.non_zero().collect();
    let expected = [
        (Counter::TxFrames, 3),
        (Counter::TxOctets, 64 + 64 + 1518),
        (Counter::TxMulticast, 1),
        (Counter::TxBroadcast, 1),
    ];
    assert_eq!(counted, expected);
}
