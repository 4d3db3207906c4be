//! Sensitivity to guesses: a scenario measured again with each guessed timing entry changed alone.

use linerate_results::format;
use linerate_results::record::{Measurement, Run};
use linerate_sim::chip::{TimingError, TimingTable, esp32c6};
use serde::Serialize;

use crate::progress::Silent;
use crate::run::{self, OpenMachine, Options, Outcome, RunError};
use crate::scenario::Scenario;

/// A changed entry of a timing table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The entry, `section.name`; `None`: the unchanged table.
    pub entry: Option<String>,
    /// Its figure in the table.
    pub from: u64,
    /// Its figure in this run.
    pub to: u64,
}

/// Effect of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The change.
    pub change: Change,
    /// The goodput of each transfer, in the scenario's order: its name and bytes a second.
    pub goodput_bytes_per_s: Vec<(String, f64)>,
    /// Frames that had to be received in conformance cases and points of the loss surface.
    pub frames_sent: u64,
    /// Of these, the frames lost.
    pub frames_lost: u64,
    /// Frames accepted with altered content, or that should have been rejected.
    pub frames_wrong: u64,
    /// The reason if the firmware did not complete and there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The changes to try: for each guess of `table`, or for `entries` if some are named, one less, one
/// more and 30 percent more, each once; for powers of two, half and double. Values that no table may
/// have are omitted.
///
/// # Errors
/// [`TimingError::Unknown`] for a name that the table does not have.
pub fn changes(table: &TimingTable, entries: &[String]) -> Result<Vec<Change>, TimingError> {
    let known: Vec<_> = table.entries().collect();
    if let Some(unknown) = entries
        .iter()
        .find(|name| known.iter().all(|entry| entry.name != **name))
    {
        return Err(TimingError::Unknown(unknown.clone()));
    }
    let guessed: Vec<String> = table.guesses().map(|entry| entry.name.clone()).collect();
    let wanted = if entries.is_empty() {
        &guessed
    } else {
        entries
    };
    let mut changes = Vec::new();
    for entry in known.iter().filter(|entry| wanted.contains(&entry.name)) {
        let from = entry.value;
        let name = entry.name.strip_prefix("chip.");
        let doubles = name.is_some_and(|name| esp32c6::POWERS_OF_TWO.contains(&name));
        let mut figures = if doubles {
            vec![2 * from]
        } else {
            vec![from + 1, (from * 13).div_ceil(10)]
        };
        // No chip has zero cycles, or a cache with zero ways.
        if from > 1 {
            figures.insert(0, if doubles { from / 2 } else { from - 1 });
        }
        figures.dedup();
        // No cache has more ways than lines.
        figures.retain(|&to| {
            let changed = table.clone().with(&entry.name, to);
            changed.is_ok_and(|table| esp32c6::check_timing_table(&table).is_ok())
        });
        changes.extend(figures.into_iter().map(|to| Change {
            entry: Some(entry.name.clone()),
            from,
            to,
        }));
    }
    Ok(changes)
}

/// Measures `scenario` with `table` and then with each of `changes`, and passes each effect as a
/// line to `report` as soon as it is available. The first effect is that of the unchanged table.
///
/// # Errors
/// [`RunError`] if the scenario cannot be measured with the unchanged table. A failure with a
/// change is an effect.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    table: &TimingTable,
    changes: &[Change],
    open: OpenMachine<'_>,
    report: &mut dyn FnMut(&str),
) -> Result<Vec<Effect>, RunError> {
    let unchanged = Change {
        entry: None,
        from: 0,
        to: 0,
    };
    let mut effects = Vec::new();
    for change in std::iter::once(&unchanged).chain(changes) {
        let changed = match &change.entry {
            None => Ok(table.clone()),
            Some(entry) => table.clone().with(entry, change.to),
        };
        // [`changes`] returns only values that this table can have.
        let Ok(timing) = changed else { continue };
        let options = Options {
            timing: Some(timing),
            out: options.out.join(folder(change)),
            ..options.clone()
        };
        let effect =
            match run::run(scenario, &options, open, &Silent).and_then(Outcome::without_failure) {
                Ok(run) => Effect::of(change, &run),
                Err(error) if change.entry.is_none() || !error.is_target_failure() => {
                    return Err(error);
                }
                Err(error) => Effect {
                    failed: Some(error.to_string()),
                    ..Effect::empty(change)
                },
            };
        report(&effect.line(effects.first()));
        effects.push(effect);
    }
    Ok(effects)
}

fn folder(change: &Change) -> String {
    match &change.entry {
        None => "unchanged".to_owned(),
        Some(entry) => format!("{}-{}", entry.replace('.', "-"), change.to),
    }
}

impl Effect {
    fn empty(change: &Change) -> Self {
        Self {
            change: change.clone(),
            goodput_bytes_per_s: Vec::new(),
            frames_sent: 0,
            frames_lost: 0,
            frames_wrong: 0,
            failed: None,
        }
    }

    fn of(change: &Change, run: &Run) -> Self {
        let mut effect = Self::empty(change);
        for result in &run.results {
            let name = || crate::scenario::expect::name(result);
            match result {
                Measurement::HttpGet(get) => effect
                    .goodput_bytes_per_s
                    .push((name(), get.metrics.goodput_bytes_per_s_p50)),
                Measurement::HttpPut(put) => effect
                    .goodput_bytes_per_s
                    .push((name(), put.metrics.goodput_bytes_per_s_p50)),
                Measurement::PhyConformance(phy) => {
                    effect.frames_sent += phy.metrics.frames_sent;
                    effect.frames_lost += phy.metrics.frames_sent - phy.metrics.frames_received;
                    effect.frames_wrong += phy.metrics.frames_wrong;
                }
                Measurement::LossSurface(point) => {
                    effect.frames_sent += point.metrics.frames_sent;
                    effect.frames_lost += point.metrics.frames_sent - point.metrics.frames_received;
                    effect.frames_wrong += point.metrics.frames_wrong;
                }
                _ => {}
            }
        }
        effect
    }

    /// True if the receive loop still locks: nothing lost, nothing wrong.
    fn locks(&self) -> bool {
        self.failed.is_none() && self.frames_lost == 0 && self.frames_wrong == 0
    }

    fn line(&self, first: Option<&Self>) -> String {
        let cells = self.cells(first);
        cells.join(", ")
    }

    fn cells(&self, first: Option<&Self>) -> Vec<String> {
        let mut cells = vec![match &self.change.entry {
            None => "as it is".to_owned(),
            Some(entry) => format!("{entry} {} → {}", self.change.from, self.change.to),
        }];
        if let Some(why) = &self.failed {
            cells.push(format!("failed: {why}"));
            return cells;
        }
        for (at, (name, goodput)) in self.goodput_bytes_per_s.iter().enumerate() {
            let before = first.and_then(|first| first.goodput_bytes_per_s.get(at));
            let moved = before.map_or(String::new(), |(_, before)| {
                format!(" ({:+.2}%)", 100.0 * (goodput / before - 1.0))
            });
            cells.push(format!("{name}: {}{moved}", format::rate(*goodput)));
        }
        if self.frames_sent > 0 {
            cells.push(format!(
                "{} of {} frames lost, {} wrong",
                self.frames_lost, self.frames_sent, self.frames_wrong
            ));
        }
        cells
    }
}

/// The effects as a JSON list, ending in a newline.
pub fn json(effects: &[Effect]) -> String {
    // Nothing in them can fail to be written.
    let mut text = serde_json::to_string_pretty(effects).unwrap_or_default();
    text.push('\n');
    text
}

/// The effects as a Markdown page: the critical entries, and the effect of each change.
pub fn markdown(effects: &[Effect]) -> String {
    let mut page = Vec::from(["# What rests on guesses\n".to_owned()]);
    let first = effects.first();
    let changed = || {
        effects
            .iter()
            .filter(|effect| effect.change.entry.is_some())
    };
    let critical: Vec<String> = changed()
        .filter(|effect| !effect.locks())
        .map(|effect| effect.cells(first)[0].clone())
        .collect();
    page.push(match critical.as_slice() {
        [] => format!(
            "{} changes of guessed timing entries, each alone: with none of them a frame is lost.\n",
            changed().count()
        ),
        critical => format!("Critical: {}.\n", critical.join("; ")),
    });
    for effect in effects {
        let mut cells = effect.cells(first);
        let name = cells.remove(0);
        page.push(format!("- `{name}`: {}", cells.join("; ")));
    }
    page.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guess_is_changed_both_ways_and_by_a_third() {
        let table = esp32c6::timing_table();
        let all = changes(&table, &[]).expect("the table's own entries");
        let guesses = table.guesses().count();
        assert!(all.len() >= 2 * guesses && all.len() <= 3 * guesses);
        let one = changes(&table, &["cpu.mmio_load".to_owned()]).expect("known");
        let figures: Vec<u64> = one.iter().map(|change| change.to).collect();
        assert_eq!(figures, [7, 9, 11]);
        let cache = changes(&table, &["chip.flash_cache_ways".to_owned()]).expect("known");
        let figures: Vec<u64> = cache.iter().map(|change| change.to).collect();
        assert_eq!(figures, [2, 8]);
        let unknown = changes(&table, &["cpu.magic".to_owned()]).expect_err("unknown");
        assert_eq!(unknown.to_string(), "timing entry cpu.magic is unknown");
    }

    #[test]
    fn a_cache_that_no_table_may_have_is_not_tried() {
        // A line a way: neither twice the ways nor lines of twice the length are left.
        let text = "[chip]\n\
            flash_cache_bytes = { value = 64, kind = \"guess\", source = \"\" }\n\
            flash_cache_ways = { value = 2, kind = \"guess\", source = \"\" }\n\
            flash_cache_line_bytes = { value = 32, kind = \"guess\", source = \"\" }\n";
        let table = crate::timing::parse(text).expect("valid").table;
        let figures = |name: &str| -> Vec<u64> {
            let tried = changes(&table, &[format!("chip.flash_cache_{name}")]).expect("known");
            tried.iter().map(|change| change.to).collect()
        };
        assert_eq!(figures("ways"), [1]);
        assert_eq!(figures("line_bytes"), [16]);
        assert_eq!(figures("bytes"), [128]);
    }

    #[test]
    fn critical_changes_are_named_first() {
        let effect = |entry: Option<&str>, goodput: f64, lost: u64| Effect {
            change: Change {
                entry: entry.map(str::to_owned),
                from: 8,
                to: 9,
            },
            goodput_bytes_per_s: vec![("get".to_owned(), goodput)],
            frames_sent: 100,
            frames_lost: lost,
            frames_wrong: 0,
            failed: None,
        };
        let page = markdown(&[
            effect(None, 1e6, 0),
            effect(Some("cpu.a"), 0.99e6, 0),
            effect(Some("cpu.b"), 1e6, 3),
        ]);
        assert!(page.contains("Critical: cpu.b 8 → 9."), "{page}");
        assert!(
            page.contains("- `cpu.a 8 → 9`: get: 7.92 Mbit/s (990 kB/s) (-1.00%); 0 of 100"),
            "{page}"
        );
    }
}
