//! Board files of systems (`system.toml`), with changes from other files and single figures changed.

use anyhow::{Context, Result};
use std::path::PathBuf;
use toml::{Table, Value};
use xtask::sh;

fn folder() -> PathBuf {
    sh::root().join("boards/rv32-soft-soc")
}

/// The file `name` of the folder of soft systems.
///
/// # Errors
/// It cannot be read, or is no TOML.
pub fn read(name: &str) -> Result<Table> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.parse().with_context(|| path.display().to_string())
}

/// A figure with its source, which a change replaces as a whole.
fn is_figure(table: &Table) -> bool {
    table.contains_key("value")
}

/// Puts the sections and fields of `change` into `table`. A section `removed = true` goes.
pub fn merge(table: &mut Table, change: Table) {
    for (name, value) in change {
        match (table.get_mut(&name), value) {
            (_, Value::Table(section)) if section.get("removed").is_some() => {
                table.remove(&name);
            }
            (Some(Value::Table(old)), Value::Table(new)) if !is_figure(old) && !is_figure(&new) => {
                merge(old, new);
            }
            (_, value) => {
                table.insert(name, value);
            }
        }
    }
}

/// The number at `path`, with its source: its own or that of its section.
pub fn get(table: &Table, path: &str) -> Option<(i64, String)> {
    let (section, field) = path.rsplit_once('.')?;
    let mut at = table;
    for name in section.split('.') {
        at = at.get(name)?.as_table()?;
    }
    let source = |table: &Table| Some(table.get("source")?.as_str()?.to_owned());
    match at.get(field)? {
        Value::Integer(value) => Some((*value, source(at)?)),
        Value::Table(figure) => Some((figure.get("value")?.as_integer()?, source(figure)?)),
        _ => None,
    }
}

/// Sets the number at `path`, or the flag unless `value` is 0; `None` if it does not exist.
pub fn set(table: &mut Table, path: &str, value: i64) -> Option<()> {
    let (section, field) = path.rsplit_once('.')?;
    let mut at = table;
    for name in section.split('.') {
        at = at.get_mut(name)?.as_table_mut()?;
    }
    let place = match at.get_mut(field)? {
        Value::Table(figure) => figure.get_mut("value")?,
        number => number,
    };
    *place = match place {
        Value::Boolean(_) => Value::Boolean(value != 0),
        _ => Value::Integer(value),
    };
    Some(())
}
