//! `docs/scenarios.md` checked against the format: it has every field and no other, each default is
//! the actual one, each example is accepted.

use std::collections::{BTreeMap, BTreeSet};

use linerate_sim::peer::generator;
use linerate_sim::wire::config::{Hub, Impairments, Partner};
use toml::{Table, Value};

use super::fields::{self, Field};
use super::{Peer, Scenario, file};
use crate::measure::NAMES;

const REFERENCE: &str = include_str!("../../../docs/scenarios.md");

/// A line of a table of the reference.
struct Row {
    field: String,
    default: Option<String>,
    required: bool,
    example: Option<String>,
    about: String,
}

/// The reference's tables by the name in their headings: `wire` for `[wire]`; empty for the file's.
fn reference() -> BTreeMap<String, Vec<Row>> {
    let mut tables: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut names = Vec::new();
    for line in REFERENCE.lines() {
        if line.starts_with('#') {
            let named = line.split('`').skip(1).step_by(2);
            names = named.map(|name| name.trim_matches(['[', ']'])).collect();
            if names.is_empty() {
                names.push("");
            }
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [field, _, default, example, about] = cells[..] else {
                panic!("five cells: {line}")
            };
            for name in &names {
                tables.entry((*name).to_owned()).or_default().push(Row {
                    field: quoted(field).expect("a name"),
                    default: quoted(default),
                    required: default == "required",
                    example: quoted(example),
                    about: about.to_owned(),
                });
            }
        }
    }
    tables
}

fn quoted(cell: &str) -> Option<String> {
    Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

/// Every field of the format, by table.
fn format() -> BTreeMap<String, Vec<Field>> {
    let mut all = file::fields();
    all.extend(fields::of::<Peer>("peer"));
    all.extend(fields::of::<Impairments>("wire"));
    all.extend(fields::of::<Partner>("partner"));
    all.extend(fields::of::<Hub>("hub"));
    all.extend(fields::of::<generator::Config>("traffic"));
    let mut tables: BTreeMap<String, Vec<Field>> = BTreeMap::new();
    for mut field in all {
        let path = field.path.clone();
        let (table, name) = match path.split_once('.') {
            None => ("", path.as_str()),
            Some(("run", rest)) => match rest.split_once('.') {
                Some((measurement, name)) if NAMES.contains(&measurement) => (measurement, name),
                _ => ("run", rest),
            },
            Some(split) => split,
        };
        name.clone_into(&mut field.path);
        tables.entry(table.to_owned()).or_default().push(field);
    }
    tables
}

#[test]
fn every_field_is_in_the_reference_and_nothing_else_is() {
    let reference = reference();
    let format = format();
    let written = reference.iter().flat_map(|(table, rows)| {
        rows.iter()
            .map(move |row| format!("[{table}] {}", row.field))
    });
    let read = format.iter().flat_map(|(table, fields)| {
        fields
            .iter()
            .map(move |field| format!("[{table}] {}", field.path))
    });
    let (written, read): (BTreeSet<_>, BTreeSet<_>) = (written.collect(), read.collect());
    let missing: Vec<_> = read.difference(&written).collect();
    assert!(missing.is_empty(), "not in docs/scenarios.md: {missing:?}");
    let stale: Vec<_> = written.difference(&read).collect();
    assert!(stale.is_empty(), "only in docs/scenarios.md: {stale:?}");
    for (table, fields) in &format {
        for field in fields {
            let row = reference[table]
                .iter()
                .find(|row| row.field == field.path)
                .expect("compared above");
            for word in field.words {
                assert!(
                    row.about.contains(&format!("`{word}`")),
                    "[{table}] {}: the reference does not name `{word}`",
                    field.path
                );
            }
        }
    }
}

/// Fields that measurements need: the table, field and value.
const NEEDED: [(&str, &str, &str, &str); 4] = [
    ("hub_share", "hub", "stations", "1"),
    ("negotiation", "", "duplex", "\"auto\""),
    ("udp_sweep", "", "board", "\"rv32-enet\""),
    ("udp_sweep", "run", "variant", "\"budgeted\""),
];

/// A field and its value.
type Given = (&'static str, &'static str);

/// Fields that are only read together with others, with those.
const BESIDE: [(&str, &str, &[Given]); 4] = [
    ("expect", "metric", &[("metric", "\"other\""), ("min", "7")]),
    ("expect", "min", &[("metric", "\"other\""), ("max", "7")]),
    ("expect", "max", &[("metric", "\"other\""), ("min", "7")]),
    ("wire", "flap.down_ms", &[("flap.every_ms", "3_000")]),
];

/// A scenario with the table `name` and its required fields.
fn with_table(name: &str, rows: &[Row]) -> Table {
    let text = "schema = 1\nname = \"x\"\nboard = \"esp32c6-bitbang\"\n\
                [[run]]\nvariant = \"line-rate\"\n\
                [[expect]]\nframe_loss_rate_max = 0.9\n";
    let mut scenario: Table = text.parse().expect("TOML");
    // A run needs a measurement.
    if !NAMES.contains(&name) {
        set(&mut scenario, "ping", "count", "1");
    }
    if !matches!(name, "" | "run" | "expect") {
        table(&mut scenario, name);
    }
    for (measurement, within, field, value) in NEEDED {
        if measurement == name {
            set(&mut scenario, within, field, value);
        }
    }
    for row in rows.iter().filter(|row| row.required) {
        let example = row
            .example
            .as_ref()
            .expect("what is required has an example");
        set(&mut scenario, name, &row.field, example);
    }
    scenario
}

/// The table `name` of a scenario, created if missing.
fn table<'t>(scenario: &'t mut Table, name: &str) -> &'t mut Table {
    let first = |list: &'t mut Table, name: &str| match list.get_mut(name) {
        Some(Value::Array(tables)) => tables[0].as_table_mut().expect("a table"),
        _ => panic!("no list {name}"),
    };
    let (within, name) = match name {
        "" => return scenario,
        "run" | "expect" => return first(scenario, name),
        name if NAMES.contains(&name) => (first(scenario, "run"), name),
        name => (scenario, name),
    };
    let made = within.entry(name).or_insert_with(|| Table::new().into());
    made.as_table_mut().expect("a table")
}

fn set(scenario: &mut Table, name: &str, field: &str, value: &str) {
    let parsed: Table = format!("value = {value}")
        .parse()
        .unwrap_or_else(|error| panic!("[{name}] {field} = {value}: {error}"));
    let mut within = table(scenario, name);
    let mut field = field;
    while let Some((outer, inner)) = field.split_once('.') {
        let made = within.entry(outer).or_insert_with(|| Table::new().into());
        within = made.as_table_mut().expect("a table");
        field = inner;
    }
    within.insert(field.to_owned(), parsed["value"].clone());
}

fn read(scenario: &Table) -> String {
    let text = toml::to_string(scenario).expect("TOML");
    match Scenario::parse(&text, "reference") {
        Ok(scenario) => format!("{scenario:?}"),
        Err(error) => panic!("{error}\n{text}"),
    }
}

#[test]
fn each_default_is_the_actual_one() {
    let mut checked = 0;
    for (name, rows) in reference() {
        let plain = with_table(&name, &rows);
        for row in &rows {
            let Some(default) = &row.default else {
                continue;
            };
            let mut given = plain.clone();
            set(&mut given, &name, &row.field, default);
            assert_eq!(read(&given), read(&plain), "[{name}] {}", row.field);
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} defaults");
}

#[test]
fn the_examples_are_accepted_and_differ_from_the_defaults() {
    for (name, rows) in reference() {
        let plain = with_table(&name, &rows);
        let mut all = plain.clone();
        for row in &rows {
            let Some(example) = &row.example else {
                continue;
            };
            set(&mut all, &name, &row.field, example);
            let what = format!("[{name}] {}", row.field);
            let mut without = plain.clone();
            if row.required {
                table(&mut without, &name).remove(&row.field);
                let text = toml::to_string(&without).expect("TOML");
                assert!(Scenario::parse(&text, "reference").is_err(), "{what}");
                continue;
            }
            assert_ne!(row.default.as_ref(), Some(example), "{what}: its default");
            for (_, _, beside) in BESIDE
                .iter()
                .filter(|of| (of.0, of.1) == (&name, &row.field))
            {
                for (field, value) in *beside {
                    set(&mut without, &name, field, value);
                }
            }
            let mut with = without.clone();
            set(&mut with, &name, &row.field, example);
            assert_ne!(read(&with), read(&without), "{what}: ignored");
        }
        read(&all);
    }
    let blocks = REFERENCE.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        if let Err(error) = Scenario::parse(block, "docs/scenarios.md") {
            panic!("{error}\n{block}");
        }
    }
}
