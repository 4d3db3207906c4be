//! The causes that were named for each provoked cause.

use super::Set;
use super::case::Case;
use linerate_results::record::Cause;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Result of one run.
#[derive(Debug)]
pub struct Row {
    /// Name of the case.
    pub name: String,
    set: Set,
    /// `None` for a control.
    expected: Option<Cause>,
    named: Vec<Cause>,
}

impl Row {
    /// A run of `case` with the causes that were `named`.
    pub fn new(case: &Case, set: Set, mut named: Vec<Cause>) -> Self {
        // Line rate is no cause.
        named.retain(|cause| *cause != Cause::AtLineRate);
        Self {
            name: case.name.clone(),
            set,
            expected: case.expected,
            named,
        }
    }

    /// True for a run without a fault.
    pub fn is_control(&self) -> bool {
        self.expected.is_none()
    }

    /// True if the right cause was named first, or none for a control: the rate of a full path is the limit of a healthy transfer.
    pub fn is_right(&self) -> bool {
        match self.expected {
            None => self.named.iter().all(|it| *it == Cause::PathRate),
            expected => self.named.first().copied() == expected,
        }
    }

    /// The run as one line.
    pub fn line(&self) -> String {
        let named: Vec<String> = self.named.iter().map(|it| name(Some(*it))).collect();
        let named = if named.is_empty() {
            name(None)
        } else {
            named.join(", ")
        };
        let wrong = if self.is_right() { "" } else { "   WRONG" };
        format!("{named}{wrong}")
    }
}

/// Name of a cause as in results.
fn name(cause: Option<Cause>) -> String {
    let Some(cause) = cause else {
        return "none".to_owned();
    };
    let text = serde_json::to_string(&cause).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

/// Share of the held-out runs with a cause in which it was named first, 0 to 1; 1 without such runs.
pub fn held_out_share(rows: &[Row]) -> f64 {
    let counted = |row: &&Row| row.set == Set::HeldOut && !row.is_control();
    let all = rows.iter().filter(counted).count();
    let right = rows.iter().filter(counted).filter(|row| row.is_right());
    if all == 0 {
        1.0
    } else {
        right.count() as f64 / all as f64
    }
}

/// Formats the confusion matrix of each set that was run: one line per case, with the causes named first and their
/// number of runs.
pub fn format(rows: &[Row]) -> String {
    let mut text = String::new();
    for (set, title) in [
        (Set::Development, "development"),
        (Set::HeldOut, "held out"),
    ] {
        let of_set: Vec<&Row> = rows.iter().filter(|row| row.set == set).collect();
        if !of_set.is_empty() {
            table(&mut text, title, &of_set);
        }
    }
    text
}

fn table(text: &mut String, title: &str, rows: &[&Row]) {
    let _ = writeln!(
        text,
        "{:<24} {:<28} {:>7}  others that came first",
        title, "expected", "right"
    );
    let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    names.dedup();
    for case in names {
        let of_case: Vec<&&Row> = rows.iter().filter(|row| row.name == case).collect();
        let mut others = BTreeMap::<String, usize>::new();
        for row in of_case.iter().filter(|row| !row.is_right()) {
            *others.entry(name(row.named.first().copied())).or_default() += 1;
        }
        let others: Vec<String> = others.iter().map(|(it, n)| format!("{it} {n}")).collect();
        let right = of_case.iter().filter(|row| row.is_right()).count();
        let line = format!(
            "{case:<24} {:<28} {:>7}  {}",
            name(of_case[0].expected),
            format!("{right}/{}", of_case.len()),
            others.join(", "),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let (controls, causes): (Vec<&&Row>, Vec<&&Row>) =
        rows.iter().partition(|row| row.is_control());
    let right = |rows: &[&&Row]| rows.iter().filter(|row| row.is_right()).count();
    let _ = writeln!(
        text,
        "{} of {} causes ({:.1}%), {} of {} controls\n",
        right(&causes),
        causes.len(),
        100.0 * right(&causes) as f64 / causes.len().max(1) as f64,
        right(&controls),
        controls.len(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(expected: Option<Cause>, named: &[Cause]) -> Row {
        Row {
            name: "case".to_owned(),
            set: Set::Development,
            expected,
            named: named.to_vec(),
        }
    }

    #[test]
    fn the_first_cause_counts_and_others_are_listed() {
        let rows = [
            row(Some(Cause::RandomLoss), &[Cause::RandomLoss, Cause::Paused]),
            row(Some(Cause::RandomLoss), &[Cause::Paused]),
            row(Some(Cause::RandomLoss), &[]),
        ];
        let text = format(&rows);
        assert!(text.contains("1/3  none 1, paused 1"), "{text}");
        assert!(text.contains("1 of 3 causes (33.3%)"), "{text}");
    }

    #[test]
    fn controls_do_not_count_in_the_held_out_share() {
        let held_out_row = |expected, named: &[Cause]| Row {
            set: Set::HeldOut,
            ..row(expected, named)
        };
        let mut rows = vec![row(Some(Cause::RandomLoss), &[]), held_out_row(None, &[])];
        assert!((held_out_share(&rows) - 1.0).abs() < 1e-9);
        rows.push(held_out_row(Some(Cause::RandomLoss), &[Cause::Paused]));
        rows.push(held_out_row(Some(Cause::Paused), &[Cause::Paused]));
        assert!((held_out_share(&rows) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_control_is_right_without_a_cause() {
        assert!(row(None, &[]).is_right());
        assert!(row(None, &[Cause::PathRate]).is_right());
        assert!(!row(None, &[Cause::PathRate, Cause::Paused]).is_right());
    }
}
