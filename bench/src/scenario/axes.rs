//! The format of `[matrix]`.

use std::ops::Range;

use linerate_host::nearest;
use linerate_results::record::{AxisValue, MatrixAxis, Objective};
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::ScenarioError;
use super::assign::{Assignment, Effect};
use crate::board;

/// Makes an error at a position.
type At<'a> = &'a dyn Fn(Range<usize>, String) -> ScenarioError;

#[derive(Deserialize)]
struct Outer {
    matrix: Option<Spanned<Fields>>,
}

/// `[matrix]`, and its position.
pub(super) struct FileMatrix {
    fields: Fields,
    pub(super) span: Range<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    seeds: Option<Spanned<Seeds>>,
    maximize: Option<Spanned<String>>,
    minimize: Option<Spanned<String>>,
    #[serde(default)]
    axis: Vec<Spanned<FileAxis>>,
    #[serde(default)]
    only: Vec<Spanned<Table>>,
    #[serde(default)]
    exclude: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of seeds or a list of them")]
enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileAxis {
    name: Option<Spanned<String>>,
    field: Option<Spanned<String>>,
    values: Option<Vec<Spanned<Value>>>,
    factors: Option<Vec<Spanned<f64>>>,
    settings: Option<Vec<Spanned<Table>>>,
    default: Option<Spanned<Value>>,
}

/// An axis that was checked.
pub(super) struct Axis {
    pub(super) about: MatrixAxis,
    pub(super) values: Vec<AxisPoint>,
}

/// A value of an axis.
pub(super) struct AxisPoint {
    pub(super) label: AxisValue,
    pub(super) assignments: Vec<Assignment>,
    pub(super) span: Range<usize>,
}

/// Filters: for each axis, the indices of the permitted values.
pub(super) struct Filters {
    only: Vec<Vec<Option<Vec<usize>>>>,
    exclude: Vec<Vec<Option<Vec<usize>>>>,
}

impl Filters {
    /// True if the combination is a cell.
    pub(super) fn keeps(&self, combination: &[usize]) -> bool {
        let fits = |filter: &Vec<Option<Vec<usize>>>| {
            let mut axes = filter.iter().zip(combination);
            axes.all(|(values, at)| values.as_ref().is_none_or(|it| it.contains(at)))
        };
        (self.only.is_empty() || self.only.iter().any(fits)) && !self.exclude.iter().any(fits)
    }
}

/// Names of the table's other columns.
const RESERVED: [&str; 5] = ["scenario", "cell", "seed", "measurement", "run"];

impl FileMatrix {
    /// Reads the section of the scenario `text`, if it has one.
    pub(super) fn parse(text: &str, file: &str) -> Result<Option<Self>, ScenarioError> {
        let outer: Outer =
            toml::from_str(text).map_err(|error| ScenarioError::syntax(file, text, &error))?;
        Ok(outer.matrix.map(|matrix| Self {
            span: matrix.span(),
            fields: matrix.into_inner(),
        }))
    }

    /// The axes.
    pub(super) fn axes(&self, at: At<'_>) -> Result<Vec<Axis>, ScenarioError> {
        let mut axes: Vec<Axis> = Vec::new();
        for axis in &self.fields.axis {
            let span = axis.span();
            let axis = axis.get_ref().check(span.clone(), at)?;
            let name = &axis.about.name;
            if axes.iter().any(|other| other.about.name == *name) {
                return Err(at(span, format!("there is an axis `{name}` already")));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    /// The seeds of each combination.
    pub(super) fn seeds(&self, first: u64, at: At<'_>) -> Result<Vec<u64>, ScenarioError> {
        let Some(seeds) = &self.fields.seeds else {
            return Ok(vec![first]);
        };
        let all: Vec<u64> = match seeds.get_ref() {
            Seeds::Count(count) => (first..first.saturating_add(*count)).collect(),
            Seeds::List(all) => all.clone(),
        };
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        match () {
            () if all.is_empty() => Err(at(seeds.span(), "there is no seed".to_owned())),
            () if sorted.len() < all.len() => {
                Err(at(seeds.span(), "a seed is given twice".to_owned()))
            }
            () => Ok(all),
        }
    }

    /// The metric that selects the best cell.
    pub(super) fn objective(&self, at: At<'_>) -> Result<Option<Objective>, ScenarioError> {
        let objective = |metric: &Spanned<String>, is_lowest_best| Objective {
            metric: metric.get_ref().clone(),
            is_lowest_best,
        };
        match (&self.fields.maximize, &self.fields.minimize) {
            (Some(_), Some(metric)) => Err(at(
                metric.span(),
                "there is a `maximize` already: only one metric selects the best cell".to_owned(),
            )),
            (Some(metric), None) => Ok(Some(objective(metric, false))),
            (None, Some(metric)) => Ok(Some(objective(metric, true))),
            (None, None) => Ok(None),
        }
    }

    /// The filters.
    pub(super) fn filters(&self, axes: &[Axis], at: At<'_>) -> Result<Filters, ScenarioError> {
        let read = |filters: &[Spanned<Table>]| -> Result<Vec<_>, ScenarioError> {
            let filters = filters.iter();
            filters.map(|one| filter(one, axes, at)).collect()
        };
        Ok(Filters {
            only: read(&self.fields.only)?,
            exclude: read(&self.fields.exclude)?,
        })
    }
}

fn filter(
    one: &Spanned<Table>,
    axes: &[Axis],
    at: At<'_>,
) -> Result<Vec<Option<Vec<usize>>>, ScenarioError> {
    let mut permitted = vec![None; axes.len()];
    for (name, value) in one.get_ref() {
        let names = || axes.iter().map(|axis| axis.about.name.as_str());
        let Some(index) = names().position(|known| known == name) else {
            let hint = board::hint(nearest(name, names()));
            return Err(at(one.span(), format!("there is no axis `{name}`{hint}")));
        };
        let values = match value {
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        let mut indices = Vec::new();
        for value in values {
            let label = label(&value);
            let all = &axes[index].values;
            let Some(found) = all.iter().position(|it| is_same(&it.label, &label)) else {
                let message = format!("axis `{name}` has no value `{label}`");
                return Err(at(one.span(), message));
            };
            indices.push(found);
        }
        permitted[index] = Some(indices);
    }
    Ok(permitted)
}

impl FileAxis {
    fn check(&self, span: Range<usize>, at: At<'_>) -> Result<Axis, ScenarioError> {
        let field = self.field.as_ref().map(|it| it.get_ref().clone());
        let need_field = || {
            field.clone().ok_or_else(|| {
                let message = "this axis needs the `field` that it varies".to_owned();
                at(span.clone(), message)
            })
        };
        let values: Vec<AxisPoint> = match (&self.values, &self.factors, &self.settings) {
            (Some(values), None, None) => {
                let field = need_field()?;
                let point = |value: &Spanned<Value>| AxisPoint {
                    label: label(value.get_ref()),
                    assignments: vec![Assignment {
                        field: field.clone(),
                        effect: Effect::Set(value.get_ref().clone()),
                    }],
                    span: value.span(),
                };
                values.iter().map(point).collect()
            }
            (None, Some(factors), None) => {
                let field = need_field()?;
                for factor in factors {
                    if !(*factor.get_ref() > 0.0 && factor.get_ref().is_finite()) {
                        let message = "a factor must be greater than 0".to_owned();
                        return Err(at(factor.span(), message));
                    }
                }
                let point = |factor: &Spanned<f64>| AxisPoint {
                    label: AxisValue::Number(*factor.get_ref()),
                    assignments: vec![Assignment {
                        field: field.clone(),
                        effect: Effect::Scale(*factor.get_ref()),
                    }],
                    span: factor.span(),
                };
                factors.iter().map(point).collect()
            }
            (None, None, Some(settings)) => {
                if let Some(field) = &self.field {
                    let message = "an axis of `settings` has no `field`: its settings name theirs";
                    return Err(at(field.span(), message.to_owned()));
                }
                let settings = settings.iter();
                settings
                    .map(|it| setting(it, at))
                    .collect::<Result<_, _>>()?
            }
            _ => {
                let message = "an axis has one of `values`, `factors` and `settings`".to_owned();
                return Err(at(span, message));
            }
        };
        let Some(first) = values.first() else {
            return Err(at(span, "this axis has no value".to_owned()));
        };
        for (index, value) in values.iter().enumerate() {
            if values[..index]
                .iter()
                .any(|it| is_same(&it.label, &value.label))
            {
                let message = format!("`{}` is given twice", value.label);
                return Err(at(value.span.clone(), message));
            }
        }
        let is_one = |it: &&AxisPoint| is_same(&it.label, &AxisValue::Number(1.0));
        let default = match &self.default {
            Some(default) => {
                let wanted = label(default.get_ref());
                let found = values.iter().find(|it| is_same(&it.label, &wanted));
                found.ok_or_else(|| {
                    at(
                        default.span(),
                        format!("the default `{wanted}` is none of its values"),
                    )
                })?
            }
            None if self.factors.is_some() => values.iter().find(is_one).unwrap_or(first),
            None => first,
        };
        let default = default.label.clone();
        let last = |field: &str| field.rsplit('.').next().unwrap_or(field).to_owned();
        let name = match (&self.name, &field) {
            (Some(name), _) => name.get_ref().clone(),
            (None, Some(field)) => last(field),
            (None, None) => {
                return Err(at(span, "an axis of `settings` needs a `name`".to_owned()));
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) || RESERVED.contains(&name.as_str()) {
            let message = format!(
                "`{name}` cannot name a column: use letters, digits, `-` and `_`, and none of {}",
                RESERVED.join(", ")
            );
            let span = self.name.as_ref().map_or(span, Spanned::span);
            return Err(at(span, message));
        }
        Ok(Axis {
            about: MatrixAxis {
                name,
                field: field.unwrap_or_default(),
                is_factor: self.factors.is_some(),
                default,
            },
            values,
        })
    }
}

/// A named group of fields.
fn setting(one: &Spanned<Table>, at: At<'_>) -> Result<AxisPoint, ScenarioError> {
    let mut fields = one.get_ref().clone();
    let Some(Value::String(name)) = fields.remove("name") else {
        let message = "a setting needs a `name`".to_owned();
        return Err(at(one.span(), message));
    };
    let assignments = fields.into_iter().map(|(field, value)| Assignment {
        field,
        effect: Effect::Set(value),
    });
    Ok(AxisPoint {
        label: AxisValue::Text(name),
        assignments: assignments.collect(),
        span: one.span(),
    })
}

/// A value as a column has it.
fn label(value: &Value) -> AxisValue {
    match value {
        Value::Boolean(value) => AxisValue::Bool(*value),
        Value::Integer(value) => AxisValue::Integer(*value),
        Value::Float(value) => AxisValue::Number(*value),
        Value::String(value) => AxisValue::Text(value.clone()),
        other => AxisValue::Text(other.to_string()),
    }
}

/// True if both are the same value; 1 and 1.0 are.
fn is_same(a: &AxisValue, b: &AxisValue) -> bool {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
        _ => a == b,
    }
}
