//! `results.parquet` read by Apache Arrow: another author's reader of the format.

use std::path::Path;
use std::process::Command;

use linerate_results::export::figures;
use serde_json::Value;

use crate::parts::{merge, run, write};

/// Prints the types of the columns and the rows as JSON.
const READER: &str = "import json, sys, pyarrow.parquet as parquet\n\
    table = parquet.read_table(sys.argv[1])\n\
    types = {field.name: str(field.type) for field in table.schema}\n\
    print(json.dumps({'types': types, 'rows': table.to_pylist()}))\n";

/// The Python with pyarrow: that of `cargo xtask setup`, or the system's.
fn python() -> Option<std::ffi::OsString> {
    let candidates = [std::env::var_os("LINERATE_PYARROW"), Some("python3".into())];
    candidates.into_iter().flatten().find(|python| {
        let has = Command::new(python)
            .args(["-c", "import pyarrow.parquet"])
            .output();
        has.is_ok_and(|output| output.status.success())
    })
}

fn read(python: &std::ffi::OsStr, file: &Path) -> Value {
    let output = Command::new(python)
        .args(["-c", READER])
        .arg(file)
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn pyarrow_reads_each_result_with_its_axes_and_figures() {
    let Some(python) = python() else {
        println!("skipped: reading results.parquet needs pyarrow: cargo xtask setup");
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let whole = run(&[0, 1, 2, 3]);
    let parts = [&[0, 1][..], &[2, 3]].map(run);
    let one = write(dir.path(), "one", &parts[0]);
    let two = write(dir.path(), "two", &parts[1]);
    let (code, text) = merge(dir.path(), &[&one, &two]);
    assert_eq!(code, Some(0), "{text}");
    let table = read(&python, &dir.path().join("joined/results.parquet"));
    for (column, expected) in [
        ("scenario", "string"),
        ("cell", "int64"),
        ("turnaround_us", "int64"),
        ("share", "double"),
        ("hub", "bool"),
        ("line", "string"),
        ("seed", "int64"),
        ("metrics.sent", "int64"),
    ] {
        assert_eq!(table["types"][column], expected, "{column}");
    }
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), whole.results.len());
    for (row, result) in rows.iter().zip(&whole.results) {
        let cell = result.setting().cell.as_ref().expect("a cell");
        assert_eq!(row["cell"], cell.number);
        for (axis, value) in &cell.values {
            let value = serde_json::to_value(value).expect("a value");
            assert_eq!(row[axis], value, "{axis}");
        }
        assert_eq!(row["measurement"], result.kind());
        for figure in figures(result) {
            let name = format!("metrics.{}", figure.metric);
            let value = match &row[&name] {
                Value::Bool(value) => f64::from(u8::from(*value)),
                value => value.as_f64().expect("a number"),
            };
            assert!(
                (value - figure.value).abs() <= value.abs() * 1e-12,
                "{name}: {value}, not {}",
                figure.value
            );
        }
        // A column of another measurement is null, not zero.
        let other = match result.kind() {
            "ping" => "metrics.goodput_bytes_per_s_p50",
            _ => "metrics.rtt_ns.p50",
        };
        assert_eq!(row.get(other), Some(&Value::Null), "{other}");
    }
}
