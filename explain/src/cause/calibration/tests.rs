use super::*;
use linerate_results::record::Finding;
use std::collections::BTreeMap;

const EVEN: Model = Model {
    intercept: 0.0,
    slope: 1.0,
    late: -1.0,
    between: -2.0,
    several: -1.0,
    causes: &[(Cause::Policed, 1.0)],
};

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 0.006,
        "{found} instead of {expected}"
    );
}

#[test]
fn a_cause_without_labelled_captures_is_judged_like_all_others() {
    close(
        EVEN.confidence(Cause::Refused, Vantage::Sender, false, 0.75),
        0.75,
    );
    // Odds of e times 3.
    close(
        EVEN.confidence(Cause::Policed, Vantage::Sender, false, 0.75),
        0.89,
    );
}

#[test]
fn a_capture_that_shows_less_gives_less_confidence() {
    let of = |vantage| EVEN.confidence(Cause::Refused, vantage, false, 0.9);
    close(of(Vantage::Receiver), 0.9);
    close(of(Vantage::Other), 0.9);
    close(of(Vantage::Late), 0.77);
    close(of(Vantage::Between), 0.55);
}

#[test]
fn a_part_of_a_capture_of_several_paths_gives_less_confidence() {
    let of = |has_several| EVEN.confidence(Cause::Refused, Vantage::Sender, has_several, 0.9);
    close(of(false), 0.9);
    close(of(true), 0.77);
}

#[test]
fn no_answer_is_certain() {
    close(
        EVEN.confidence(Cause::Policed, Vantage::Sender, false, 1.0),
        0.98,
    );
    close(
        EVEN.confidence(Cause::Refused, Vantage::Between, false, 0.0),
        0.02,
    );
}

#[test]
fn the_table_orders_answers_as_their_rules_do() {
    let stated = [0.5, 0.65, 0.8, 0.95].map(|rule| {
        let confidence = MODEL.confidence(Cause::RandomLoss, Vantage::Receiver, false, rule);
        assert!((0.3..=0.98).contains(&confidence), "{confidence}");
        confidence
    });
    assert!(stated.is_sorted(), "{stated:?}");
    // The labelled captures of one cause do not outweigh what its rule states.
    assert!(MODEL.causes.iter().all(|(_, offset)| offset.abs() < 1.0));
}

#[test]
fn two_explanations_of_the_same_time_are_not_both_probable() {
    let finding = |cause, confidence, alternative_to| PathFinding {
        sender: Some("a".to_owned()),
        receiver: Some("b".to_owned()),
        share_of_time: 0.5,
        alternative_to,
        finding: Finding {
            cause,
            confidence,
            summary: String::new(),
            evidence: BTreeMap::new(),
            advice: String::new(),
        },
    };
    let mut found = [
        finding(Cause::HostPacing, 0.85, None),
        finding(Cause::SenderIdle, 0.59, Some(Cause::HostPacing)),
        finding(Cause::RandomLoss, 0.7, None),
    ];
    leave_rest_to_alternatives(&mut found);
    let confidences = found.map(|it| it.finding.confidence);
    close(confidences[1], 0.15);
    close(confidences[2], 0.7);
}
