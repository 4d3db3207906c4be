//! The scores as text.

use super::tally::{Count, Outcome, Tally, name};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The outcomes by case, the totals, and each cause.
pub fn format(part: &str, outcomes: &[&Outcome], tally: &Tally) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{part:<26} {:<24} {:>7} {:>7}  others that came first",
        "expected", "first", "in two"
    );
    let mut cases: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !cases.contains(&outcome.case()) {
            cases.push(outcome.case());
        }
    }
    for case in cases {
        let of_case = outcomes.iter().filter(|it| it.case() == case);
        line(&mut text, case, &of_case.copied().collect::<Vec<_>>());
    }
    totals(&mut text, tally);
    causes(&mut text, tally);
    text + "\n" + &tally.confidence.lines()
}

fn line(text: &mut String, case: &str, outcomes: &[&Outcome]) {
    let [first, two] = [1, 2].map(|it| outcomes.iter().filter(|o| o.is_right_in(it)).count());
    let mut others = BTreeMap::<String, usize>::new();
    for outcome in outcomes.iter().filter(|it| !it.is_right()) {
        let other = if outcome.is_control() {
            outcome.false_alarm()
        } else {
            outcome.first()
        };
        *others.entry(name(other)).or_default() += 1;
    }
    let others: Vec<String> = others.iter().map(|(it, n)| format!("{it} {n}")).collect();
    let of = outcomes.len();
    let line = format!(
        "{case:<26} {:<24} {:>7} {:>7}  {}",
        outcomes
            .first()
            .map_or_else(String::new, |it| name(it.expected())),
        format!("{first}/{of}"),
        format!("{two}/{of}"),
        others.join(", "),
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

/// Count and per cent.
pub fn share(count: Count) -> String {
    format!("{}/{} ({:.1}%)", count.right, count.of, count.percent())
}

fn totals(text: &mut String, tally: &Tally) {
    let _ = writeln!(text, "\nright cause first      {}", share(tally.first));
    let _ = writeln!(text, "in the first two       {}", share(tally.first_two));
    let _ = writeln!(
        text,
        "controls without alarm {}",
        share(tally.controls_clean)
    );
    for (kind, count) in &tally.kinds {
        let controls = tally
            .controls_by_kind
            .get(kind)
            .copied()
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "  {kind:<20} {}, controls {}",
            share(*count),
            share(controls)
        );
    }
    if tally.undecided.of > 0 {
        let _ = writeln!(text, "  undecided            {}", share(tally.undecided));
    }
    let gains = tally.gains;
    let near = Count {
        right: gains.right,
        of: gains.of,
    };
    let _ = writeln!(
        text,
        "gain within 1.5x       {}, not given {}, worst {:.1} times too high\n",
        share(near),
        gains.not_given,
        gains.worst_overestimate
    );
}

fn causes(text: &mut String, tally: &Tally) {
    let _ = writeln!(text, "{:<26} {:>18} {:>18}", "cause", "precision", "recall");
    for (cause, it) in &tally.causes {
        let [precision, recall] = [it.precision, it.recall].map(|count| {
            if count.of == 0 {
                "-".to_owned()
            } else {
                share(count)
            }
        });
        let _ = writeln!(text, "{cause:<26} {precision:>18} {recall:>18}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::outcome;
    use super::*;
    use linerate_results::record::Cause;

    #[test]
    fn each_case_has_a_line_with_the_others() {
        let outcomes = [
            outcome("sender", &[Cause::Policed], &[Cause::Policed]),
            outcome(
                "receiver",
                &[Cause::Policed],
                &[Cause::Paused, Cause::Policed],
            ),
            outcome("late-receiver", &[Cause::Policed], &[]),
        ];
        let outcomes: Vec<&Outcome> = outcomes.iter().collect();
        let text = format("frozen", &outcomes, &Tally::of(&outcomes));
        assert!(
            text.contains("    1/3     2/3  none 1, paused 1\n"),
            "{text}"
        );
        assert!(
            text.contains("right cause first      1/3 (33.3%)"),
            "{text}"
        );
        assert!(
            text.contains("  late                 0/1 (0.0%), controls 0/0 (100.0%)"),
            "{text}"
        );
    }
}
