use super::*;

const ROWS: [Row; 3] = [
    (Cause::Policed, Vantage::Sender, 16.0, 16.0),
    (Cause::Policed, Vantage::Late, 0.0, 8.0),
    (Cause::RandomLoss, Vantage::Sender, 2.0, 4.0),
];

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 0.006,
        "{found} instead of {expected}"
    );
}

#[test]
fn a_cause_without_labelled_captures_keeps_the_confidence_of_its_rule() {
    close(
        confidence(&ROWS, Cause::Refused, Vantage::Sender, 0.95),
        0.95,
    );
    close(confidence(&[], Cause::Policed, Vantage::Sender, 1.0), 1.0);
}

#[test]
fn right_answers_raise_the_confidence_where_they_were_given() {
    // All places: (16 + 8 x 0.75) / (24 + 8).
    let of_cause = 22.0 / 32.0;
    let [sender, late, elsewhere] = [Vantage::Sender, Vantage::Late, Vantage::Between]
        .map(|it| confidence(&ROWS, Cause::Policed, it, 0.75));
    close(sender, (16.0 + 8.0 * of_cause) / 24.0);
    close(late, 8.0 * of_cause / 16.0);
    close(elsewhere, of_cause);
}

#[test]
fn the_table_has_shares_and_each_place_once() {
    for (at, (cause, vantage, right, of)) in TABLE.iter().enumerate() {
        assert!(*right >= 0.0 && right <= of && *of > 0.0, "{cause:?}");
        let again = TABLE[..at]
            .iter()
            .any(|it| (it.0, it.1) == (*cause, *vantage));
        assert!(!again, "{cause:?} {vantage:?} twice");
    }
}
