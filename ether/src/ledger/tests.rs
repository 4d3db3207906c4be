use super::*;
use std::collections::BTreeSet;
use std::string::{String, ToString};
use std::vec::Vec;

#[test]
fn numbers_are_array_indices() {
    for (index, counter) in Counter::ALL.into_iter().enumerate() {
        assert_eq!(counter as usize, index);
    }
    for (index, drop) in DropCause::ALL.into_iter().enumerate() {
        assert_eq!(drop as usize, index);
    }
    assert_eq!(
        (Counter::ALL.len(), DropCause::ALL.len()),
        (Counter::COUNT, DropCause::COUNT)
    );
}

#[test]
fn names_are_unique_and_found_again() {
    let names: BTreeSet<_> = Counter::ALL.iter().map(|counter| counter.name()).collect();
    assert_eq!(names.len(), Counter::COUNT);
    for counter in Counter::ALL {
        assert_eq!(Counter::from_name(counter.name()), Some(counter));
    }
    for drop in DropCause::ALL {
        assert_eq!(DropCause::from_name(drop.name()), Some(drop));
    }
    assert_eq!(Counter::from_name("RxNothing"), None);
}

/// `BadFcs` is called `bad_fcs`: one rule for all causes, so a reader can convert between the two.
#[test]
fn names_of_causes_follow_their_identifiers() {
    for drop in DropCause::ALL {
        let mut snake = String::new();
        for letter in drop.identifier().chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(letter.to_lowercase());
        }
        assert_eq!(drop.name(), snake);
    }
}

/// Two counters for one cause would count a frame twice.
#[test]
fn a_cause_has_at_most_one_counter() {
    for counter in Counter::ALL {
        if let Some(cause) = counter.drop_cause() {
            assert_eq!(cause.counter(), Some(counter), "{cause}");
        }
    }
    assert_eq!(Counter::RxBadFcs.drop_cause(), Some(DropCause::BadFcs));
    assert_eq!(DropCause::Unheard.counter(), None);
}

#[test]
fn standard_names() {
    assert_eq!(
        Counter::RxBadFcs.standard_name(),
        Some("dot3StatsFCSErrors")
    );
    assert_eq!(Counter::TxLinkPulses.standard_name(), None);
    let names = Counter::ALL
        .iter()
        .filter_map(|counter| counter.standard_name());
    let unique: BTreeSet<_> = names.clone().collect();
    assert_eq!(unique.len(), names.count());
}

#[test]
fn every_explanation_is_a_sentence() {
    let counters = Counter::ALL.iter().map(|counter| counter.explanation());
    for text in counters.chain(DropCause::ALL.iter().map(|drop| drop.explanation())) {
        assert!(
            text.ends_with('.') && text.starts_with(char::is_uppercase),
            "{text}"
        );
        assert!(
            !text.contains("  ") && !text.contains('`') && !text.contains('\n'),
            "{text}"
        );
    }
}

#[test]
fn layers_in_results() {
    assert_eq!(DropCause::QueueFull.layer().to_string(), "queue");
    assert_eq!(DropCause::LateCollision.layer(), Layer::Wire);
    // Causes are listed from the wire up, as the report shows them.
    assert!(DropCause::ALL.is_sorted_by_key(|drop| drop.layer()));
    let used: BTreeSet<_> = DropCause::ALL.iter().map(|drop| drop.layer()).collect();
    assert!(used.iter().eq(&Layer::ALL));
}

/// Result files and consoles contain these names, and reports sum causes by them.
#[test]
fn causes_that_a_device_counts() {
    let table: Vec<_> = Counter::ALL
        .into_iter()
        .filter_map(|counter| Some((counter.name(), counter.drop_cause()?.name())))
        .collect();
    assert_eq!(
        table,
        [
            ("TxLateCollisions", "late_collision"),
            ("TxExcessiveCollisions", "excessive_collisions"),
            ("TxExcessiveDeferrals", "excessive_deferral"),
            ("TxCarrierSenseErrors", "carrier_lost"),
            ("TxUnderruns", "fifo_underrun"),
            ("TxOversize", "transmit_oversize"),
            ("TxJabbers", "jabber"),
            ("TxLinkDown", "transmit_link_down"),
            ("TxQueueFull", "transmit_queue_full"),
            ("RxTruncated", "truncated"),
            ("RxSymbolErrors", "symbol_error"),
            ("RxWhileSending", "deaf_while_sending"),
            ("RxQueueFull", "queue_full"),
            ("RxRingFull", "ring_full"),
            ("RxFifoOverruns", "fifo_overrun"),
            ("RxBadSfd", "bad_sfd"),
            ("RxBadFcs", "bad_fcs"),
            ("RxAlignmentErrors", "alignment"),
            ("RxRunts", "runt"),
            ("RxFragments", "collision"),
            ("RxOversize", "oversize"),
            ("RxLengthErrors", "length_mismatch"),
            ("RxFiltered", "filtered"),
            ("RxPause", "mac_control"),
            ("RxUnknownOpcodes", "unknown_opcode"),
            ("RxBadChecksum", "bad_checksum"),
            ("RxStackRejected", "stack_rejected"),
            ("RxSocketFull", "socket_full"),
        ]
    );
}
