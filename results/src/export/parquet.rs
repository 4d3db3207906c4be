//! Apache Parquet: one row per result, one column per axis of the matrix, parameter, metric and limit.
//!
//! The file has one row group, no compression, and no time or host: the same results give the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Map, Value};

use crate::record::{AxisValue, Measurement, Run};

/// A cell of the table.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl Field {
    fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(value) => value.clone(),
        }
    }
}

impl From<&AxisValue> for Field {
    fn from(value: &AxisValue) -> Self {
        match value {
            AxisValue::Bool(value) => Self::Bool(*value),
            AxisValue::Integer(value) => Self::Integer(*value),
            AxisValue::Number(value) => Self::Number(*value),
            AxisValue::Text(value) => Self::Text(value.clone()),
        }
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Bool,
    Integer,
    Number,
    Text,
}

/// A column: a value, or none, per row.
struct Column {
    name: String,
    fields: Vec<Option<Field>>,
}

impl Column {
    /// The narrowest type that holds all its values.
    fn data_type(&self) -> Type {
        let mut types = self.fields.iter().flatten().map(|field| match field {
            Field::Bool(_) => Type::Bool,
            Field::Integer(_) => Type::Integer,
            Field::Number(_) => Type::Number,
            Field::Text(_) => Type::Text,
        });
        let first = types.next().unwrap_or(Type::Text);
        types.fold(first, |all, one| match (all, one) {
            _ if all == one => all,
            (Type::Integer | Type::Number, Type::Integer | Type::Number) => Type::Number,
            _ => Type::Text,
        })
    }
}

/// The columns, in the order of their first appearance.
#[derive(Default)]
struct Columns {
    all: Vec<Column>,
    index: BTreeMap<String, usize>,
}

impl Columns {
    fn set(&mut self, row: usize, name: &str, field: Field) {
        let next = self.all.len();
        let at = *self.index.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.all.push(Column {
                name: name.to_owned(),
                fields: Vec::new(),
            });
        }
        let fields = &mut self.all[at].fields;
        fields.resize(row, None);
        fields.push(Some(field));
    }

    fn of(run: &Run) -> Vec<Column> {
        let mut columns = Self::default();
        for (row, result) in run.results.iter().enumerate() {
            columns.add(row, run, result);
        }
        for column in &mut columns.all {
            column.fields.resize(run.results.len(), None);
        }
        // Axes and parameters first, whatever result has them.
        columns.all.sort_by_key(|column| match &column.name {
            name if name.starts_with("params.") => 1,
            name if name.starts_with("metrics.") => 2,
            name if name.starts_with("limits.") => 3,
            _ => 0,
        });
        columns.all
    }

    fn add(&mut self, row: usize, run: &Run, result: &Measurement) {
        let setting = result.setting();
        self.set(row, "scenario", Field::Text(run.scenario.clone()));
        if let Some(cell) = &setting.cell {
            self.set(row, "cell", Field::Integer(cell.number.cast_signed()));
            for (name, value) in &cell.values {
                self.set(row, name, value.into());
            }
            self.set(row, "seed", Field::Integer(cell.seed.cast_signed()));
        }
        self.set(row, "measurement", Field::Text(result.kind().to_owned()));
        self.set(row, "run", Field::Text(setting.name().to_owned()));
        let value = serde_json::to_value(result).unwrap_or_default();
        for part in ["params", "metrics", "limits"] {
            if let Some(Value::Object(members)) = value.get(part) {
                self.walk(row, part, members);
            }
        }
    }

    fn walk(&mut self, row: usize, prefix: &str, members: &Map<String, Value>) {
        for (name, value) in members {
            let name = format!("{prefix}.{name}");
            if name == "params.cell" {
                continue;
            }
            match value {
                Value::Object(members) => self.walk(row, &name, members),
                Value::Bool(value) => self.set(row, &name, Field::Bool(*value)),
                Value::String(value) => self.set(row, &name, Field::Text(value.clone())),
                Value::Number(value) => {
                    let number = value.as_f64().map(Field::Number);
                    let field = value.as_i64().map(Field::Integer).or(number);
                    self.set(row, &name, field.unwrap_or(Field::Text(value.to_string())));
                }
                // Series have a place in run.json, not in a table with one row per result.
                Value::Array(_) | Value::Null => {}
            }
        }
    }
}

/// The file; its bytes depend on the results only.
///
/// # Errors
/// A table that the format does not hold: none that is known.
pub fn parquet(run: &Run) -> Result<Vec<u8>, ParquetError> {
    let columns = Columns::of(run);
    let mut schema = "message results {\n".to_owned();
    for column in &columns {
        let name = &column.name;
        // Writing to a string cannot fail.
        let _ = match column.data_type() {
            Type::Bool => writeln!(schema, "optional boolean {name};"),
            Type::Integer => writeln!(schema, "optional int64 {name};"),
            Type::Number => writeln!(schema, "optional double {name};"),
            Type::Text => writeln!(schema, "optional binary {name} (string);"),
        };
    }
    schema.push('}');
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder()
        .set_created_by("linerate".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    if !run.results.is_empty() {
        let mut group = writer.next_row_group()?;
        for column in &columns {
            if let Some(mut out) = group.next_column()? {
                write(column, &mut out)?;
                out.close()?;
            }
        }
        group.close()?;
    }
    writer.into_inner()
}

fn write(column: &Column, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
    let is_given = column.fields.iter().map(|it| i16::from(it.is_some()));
    let levels: Vec<i16> = is_given.collect();
    let levels = Some(&levels[..]);
    let fields = column.fields.iter().flatten();
    match column.data_type() {
        Type::Bool => {
            let values: Vec<bool> = fields.map(|it| *it == Field::Bool(true)).collect();
            out.typed::<BoolType>().write_batch(&values, levels, None)?;
        }
        Type::Integer => {
            let value = |field: &Field| match field {
                Field::Integer(value) => *value,
                _ => 0,
            };
            let values: Vec<i64> = fields.map(value).collect();
            out.typed::<Int64Type>()
                .write_batch(&values, levels, None)?;
        }
        Type::Number => {
            let value = |field: &Field| match field {
                Field::Integer(value) => *value as f64,
                Field::Number(value) => *value,
                _ => f64::NAN,
            };
            let values: Vec<f64> = fields.map(value).collect();
            out.typed::<DoubleType>()
                .write_batch(&values, levels, None)?;
        }
        Type::Text => {
            let value = |field: &Field| ByteArray::from(field.text().into_bytes());
            let values: Vec<ByteArray> = fields.map(value).collect();
            out.typed::<ByteArrayType>()
                .write_batch(&values, levels, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::MatrixCell;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn fixture() -> Run {
        let mut run = Run::from_json(include_str!("../../tests/fixtures/run.json"))
            .expect("the fixture is valid");
        for (number, result) in run.results.iter_mut().enumerate() {
            let values = [
                ("turnaround_us", AxisValue::Integer(80)),
                ("share", AxisValue::Number(number as f64 / 4.0)),
                ("setting", AxisValue::Text("a, \"b\"".to_owned())),
            ];
            result.setting_mut().cell = Some(MatrixCell {
                number: number as u64,
                seed: 7,
                values: values.map(|(name, it)| (name.to_owned(), it)).into(),
            });
        }
        run
    }

    #[test]
    fn each_result_is_a_row_with_axes_metrics_and_limits() {
        let run = fixture();
        let bytes = parquet(&run).expect("written");
        assert_eq!(bytes, parquet(&run).expect("written"));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("readable");
        let rows: Vec<serde_json::Value> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| {
                let row = row.expect("a row");
                let fields = row.get_column_iter();
                let fields = fields.map(|(name, it)| (name.clone(), it.to_string().into()));
                serde_json::Value::Object(fields.collect())
            })
            .collect();
        assert_eq!(rows.len(), run.results.len());
        for (number, (row, result)) in rows.iter().zip(&run.results).enumerate() {
            assert_eq!(row["cell"], number.to_string());
            assert_eq!(row["turnaround_us"], "80");
            assert_eq!(row["setting"], "\"a, \"b\"\"");
            assert_eq!(row["measurement"], format!("{:?}", result.kind()));
            for figure in super::super::figures(result) {
                let name = format!("metrics.{}", figure.metric);
                let text = row[&name].as_str().expect("a column").to_owned();
                let value = match text.as_str() {
                    "true" => 1.0,
                    "false" => 0.0,
                    text => text.parse::<f64>().unwrap_or(f64::NAN),
                };
                assert!(
                    (value - figure.value).abs() <= value.abs() * 1e-12,
                    "{name}: {text}"
                );
            }
        }
    }

    #[test]
    fn a_run_without_results_is_an_empty_table() {
        let mut run = fixture();
        run.results.clear();
        let bytes = parquet(&run);
        assert!(bytes.is_ok_and(|bytes| bytes.starts_with(b"PAR1")));
    }
}
