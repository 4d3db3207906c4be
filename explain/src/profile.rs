//! A profile as text: a table of functions, and folded stacks for other tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use linerate_results::format;
use linerate_results::record::{Profile, ProfileStack};
use linerate_results::stats;

/// Cost of one function, on the main thread or in interrupts.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub function: String,
    /// Cycles in itself.
    pub own: u64,
    /// Cycles in itself and its callees.
    pub total: u64,
    /// Number of calls.
    pub calls: u64,
    /// `own` for each frame that was received.
    pub own_per_frame: f64,
    /// `own` as a share of all cycles, both threads (0 to 1).
    pub share: f64,
}

/// The functions of the interrupts or of the main thread, sorted by own cycles.
pub fn rows(profile: &Profile, interrupt: bool) -> Vec<Row> {
    let mut costs: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for stack in stacks(profile, interrupt) {
        let distinct: BTreeSet<u32> = stack.path.iter().copied().collect();
        for function in distinct {
            costs.entry(function).or_default().1 += stack.cycles;
        }
        if let Some(function) = stack.path.last() {
            let cost = costs.entry(*function).or_default();
            cost.0 += stack.cycles;
            cost.2 += stack.calls;
        }
    }
    let all = cycles(profile);
    let mut rows: Vec<Row> = costs
        .into_iter()
        .map(|(function, (own, total, calls))| Row {
            function: name(profile, function).to_owned(),
            own,
            total,
            calls,
            own_per_frame: stats::ratio(own as f64, profile.frames as f64),
            share: stats::ratio(own as f64, all as f64),
        })
        .collect();
    rows.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.function.cmp(&b.function)));
    rows
}

/// All cycles.
pub fn cycles(profile: &Profile) -> u64 {
    profile.stacks.iter().map(|stack| stack.cycles).sum()
}

/// Cycles of the interrupts or of the main thread.
pub fn cycles_of(profile: &Profile, interrupt: bool) -> u64 {
    stacks(profile, interrupt).map(|stack| stack.cycles).sum()
}

fn stacks(profile: &Profile, interrupt: bool) -> impl Iterator<Item = &ProfileStack> {
    let stacks = profile.stacks.iter();
    stacks.filter(move |stack| stack.interrupt == interrupt)
}

/// The name of a function; `?` if the record has none.
pub fn name(profile: &Profile, function: u32) -> &str {
    let name = profile.functions.get(function as usize);
    name.map_or("?", String::as_str)
}

/// The name of a thread.
pub const fn thread(interrupt: bool) -> &'static str {
    if interrupt {
        "interrupts"
    } else {
        "main thread"
    }
}

/// The tables of both threads as text.
pub fn profile_text(profile: &Profile) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(profile, &mut out);
    out
}

fn write_text(profile: &Profile, out: &mut String) -> std::fmt::Result {
    let all = cycles(profile);
    let seconds = stats::ratio(all as f64, profile.cycles_per_s as f64);
    writeln!(
        out,
        "{} cycles ({}), {} frames received; by function, from the program's symbols. Inlined \
         code counts for the function that it was inlined into.",
        format::count(all),
        format::time((seconds * 1e9) as u64),
        format::count(profile.frames),
    )?;
    for interrupt in [true, false] {
        let cycles = cycles_of(profile, interrupt);
        writeln!(
            out,
            "\n{}: {} cycles, {}, {:.0} per frame\n",
            thread(interrupt),
            format::count(cycles),
            format::percent(stats::ratio(cycles as f64, all as f64)),
            stats::ratio(cycles as f64, profile.frames as f64),
        )?;
        writeln!(
            out,
            "{:>14} {:>12} {:>7} {:>15} {:>10}  function",
            "own cycles", "own/frame", "share", "with callees", "calls"
        )?;
        for row in rows(profile, interrupt) {
            writeln!(
                out,
                "{:>14} {:>12.1} {:>7} {:>15} {:>10}  {}",
                format::count(row.own),
                row.own_per_frame,
                format::percent(row.share),
                format::count(row.total),
                format::count(row.calls),
                row.function,
            )?;
        }
    }
    Ok(())
}

/// One line per stack, `thread;outermost;...;innermost cycles`: the input of flame graph tools.
pub fn folded(profile: &Profile) -> String {
    let mut lines: Vec<String> = profile
        .stacks
        .iter()
        .map(|stack| {
            let mut line = thread(stack.interrupt).to_owned();
            for function in &stack.path {
                line.push(';');
                line.push_str(&name(profile, *function).replace(';', ":"));
            }
            format!("{line} {}\n", stack.cycles)
        })
        .collect();
    lines.sort_unstable();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn cycles_of_all_functions_are_all_cycles() {
        let profile = sample::profile();
        let own: u64 = [true, false]
            .into_iter()
            .flat_map(|interrupt| rows(&profile, interrupt))
            .map(|row| row.own)
            .sum();
        assert_eq!(own, cycles(&profile));
        let folded_cycles: u64 = folded(&profile)
            .lines()
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
            .sum();
        assert_eq!(folded_cycles, cycles(&profile));
    }

    #[test]
    fn recursion_counts_once() {
        let profile = Profile {
            frames: 1,
            functions: vec!["f".into()],
            stacks: vec![ProfileStack {
                path: vec![0, 0, 0],
                cycles: 10,
                ..ProfileStack::default()
            }],
            ..Profile::default()
        };
        assert_eq!(
            (rows(&profile, false)[0].own, rows(&profile, false)[0].total),
            (10, 10)
        );
    }

    #[test]
    fn text_of_a_profile() {
        insta::assert_snapshot!(profile_text(&sample::profile()));
    }
}
