//! The matrix of a scenario: its axes, and the cell of a result.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AxisValue {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word, or the name of a setting.
    Text(String),
}

impl AxisValue {
    /// Its value, if it is a number.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// The cell of the matrix that a result belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixCell {
    /// Its number among the cells of the matrix, from 0.
    pub number: u64,
    /// Its seed.
    pub seed: u64,
    /// The value of each axis, by the name of the axis.
    pub values: BTreeMap<String, AxisValue>,
}

/// `axis = value`, joined by commas, and the seed.
impl fmt::Display for MatrixCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.values {
            write!(f, "{name} = {value}, ")?;
        }
        write!(f, "seed {}", self.seed)
    }
}

/// An axis of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixAxis {
    /// Its name: a column of the table.
    pub name: String,
    /// The field that it varies; left out if it varies several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// True if its values are factors of the field's own value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_factor: bool,
    /// The value to compare others with.
    pub default: AxisValue,
}

/// The metric that selects the best cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// Name in the results' `metrics`, with dots between the parts of its path.
    pub metric: String,
    /// True if the lowest value is the best.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lowest_best: bool,
}

/// The matrix of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// Its axes, the slowest first.
    pub axes: Vec<MatrixAxis>,
    /// Number of cells after filters, all seeds together.
    pub cells: u64,
    /// The metric that selects the best cell, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
}
