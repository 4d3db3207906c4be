//! Fields of a scenario, of the description of a board and of a timing table, by their paths.

use linerate_host::nearest;
use linerate_sim::chip::esp32c6;
use toml::{Table, Value};

use crate::board;
use crate::measure;

/// A new value of a field.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    /// Its path.
    pub field: String,
    /// The value.
    pub effect: Effect,
}

/// A value, or a factor of the value in the file.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Replaces it.
    Set(Value),
    /// Multiplies it.
    Scale(f64),
}

/// The files that a cell changes; `None` if unchanged.
pub(super) struct Documents {
    /// The scenario, without its matrix.
    pub scenario: Table,
    /// `system.toml` of its board.
    pub system: Option<Table>,
    /// The timing table of its chip.
    pub timing: Option<Table>,
}

impl Documents {
    pub(super) const fn new(scenario: Table) -> Self {
        Self {
            scenario,
            system: None,
            timing: None,
        }
    }

    /// All of them as one text.
    pub(super) fn text(&self) -> String {
        let part = |table: &Option<Table>| table.as_ref().map(Table::to_string).unwrap_or_default();
        [
            self.scenario.to_string(),
            part(&self.system),
            part(&self.timing),
        ]
        .join("\n---\n")
    }

    /// Changes a field.
    ///
    /// # Errors
    /// There is no such field, or it has no number to multiply.
    pub(super) fn assign(&mut self, assignment: &Assignment) -> Result<(), String> {
        let Assignment { field, effect } = assignment;
        let path: Vec<&str> = field.split('.').collect();
        match path[..] {
            ["system", ref path @ ..] if !path.is_empty() => {
                let system = match &mut self.system {
                    Some(system) => system,
                    none => none.insert(system_of(&self.scenario)?),
                };
                within(system, path, effect, Missing::IsError, field)
            }
            ["timing", ref path @ ..] if !path.is_empty() => {
                let timing = match &mut self.timing {
                    Some(timing) => timing,
                    none => none.insert(
                        esp32c6::TIMING_TABLE
                            .parse()
                            .map_err(|error: toml::de::Error| error.message().to_owned())?,
                    ),
                };
                within(timing, path, effect, Missing::IsError, field)
            }
            ["run", ref path @ ..] if !path.is_empty() => self.assign_runs(path, effect, field),
            [
                "schema" | "name" | "title" | "seed" | "expect" | "matrix" | "record",
                ..,
            ] => Err(format!("`{field}` cannot be an axis")),
            _ => within(&mut self.scenario, &path, effect, Missing::IsMade, field),
        }
    }

    /// Changes a field of each run; that of a measurement in the runs with that measurement.
    fn assign_runs(&mut self, path: &[&str], effect: &Effect, field: &str) -> Result<(), String> {
        let runs = self.scenario.get_mut("run").and_then(Value::as_array_mut);
        let mut count = 0;
        for run in runs.into_iter().flatten() {
            let Some(run) = run.as_table_mut() else {
                continue;
            };
            if path.len() > 1 && measure::NAMES.contains(&path[0]) && !run.contains_key(path[0]) {
                continue;
            }
            within(run, path, effect, Missing::IsMade, field)?;
            count += 1;
        }
        match count {
            0 => Err(format!("`{field}`: no [[run]] has `{}`", path[0])),
            _ => Ok(()),
        }
    }
}

/// The description of the soft SoC of a scenario's board.
fn system_of(scenario: &Table) -> Result<Table, String> {
    let name = scenario.get("board").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    let Some(text) = board::system(name) else {
        return Err(format!("board `{name}` has no system.toml"));
    };
    text.parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())
}

/// What a field without a value means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It has its default.
    IsMade,
    /// There is no such field.
    IsError,
}

fn within(
    table: &mut Table,
    path: &[&str],
    effect: &Effect,
    missing: Missing,
    field: &str,
) -> Result<(), String> {
    let [name, rest @ ..] = path else {
        return Err(format!("`{field}` is no field"));
    };
    if !table.contains_key(*name) && missing == Missing::IsError {
        let known: Vec<&str> = table.keys().map(String::as_str).collect();
        let hint = board::hint(nearest(name, known.iter().copied()));
        return Err(format!(
            "`{field}`: there is no `{name}`{hint}; there are {}",
            known.join(", ")
        ));
    }
    if !rest.is_empty() {
        let made = table
            .entry((*name).to_owned())
            .or_insert_with(|| Table::new().into());
        let Some(inner) = made.as_table_mut() else {
            return Err(format!("`{field}`: `{name}` has no fields"));
        };
        return within(inner, rest, effect, missing, field);
    }
    let mut value = table.get_mut(*name);
    // A figure with its source: `{ value = 1, source = "..." }`.
    if let Some(Value::Table(figure)) = &mut value
        && figure.contains_key("value")
    {
        return within(figure, &["value"], effect, missing, field);
    }
    let new = match effect {
        Effect::Set(new) => new.clone(),
        Effect::Scale(factor) => match value {
            Some(Value::Integer(old)) => Value::Integer((*old as f64 * factor).round() as i64),
            Some(Value::Float(old)) => Value::Float(*old * factor),
            Some(_) => return Err(format!("`{field}` is no number to be multiplied")),
            None => {
                return Err(format!(
                    "`{field}` has no value to be multiplied: give it one in the scenario"
                ));
            }
        },
    };
    table.insert((*name).to_owned(), new);
    Ok(())
}
