//! The file's format, and the checks beyond it.

use std::ops::Range;
use std::sync::Arc;

use linerate_ether::ledger::DropCause;
use linerate_sim::peer;
use linerate_sim::peer::generator;
use linerate_sim::wire::{self, config::Duplex};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Spanned, Table};

use super::expect::LossMetric;
use super::matrix;
use super::{Environment, Expectation, Limit, Peer, Record, Run, Scenario, ScenarioError};
use crate::board::{self, Board};
use crate::measure::{self, Plan, Section, measurements};
use linerate_host::nearest;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: Spanned<u32>,
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    board: Spanned<String>,
    duplex: Option<Duplex>,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    record: Record,
    peer: Option<Spanned<Table>>,
    wire: Option<Spanned<Table>>,
    partner: Option<Spanned<Table>>,
    hub: Option<Spanned<Table>>,
    traffic: Option<Spanned<Table>>,
    /// Read by `matrix`, whose errors have positions.
    matrix: Option<Spanned<Table>>,
    run: Spanned<Vec<FileRun>>,
    #[serde(default)]
    expect: Vec<Spanned<FileExpectation>>,
}

/// A `[[run]]`: the fields of every run, and one field per measurement.
macro_rules! file_run {
    ($($measurement:ident: $section:ty,)*) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct FileRun {
            name: Option<Spanned<String>>,
            variant: Spanned<String>,
            duplex: Option<Duplex>,
            peer: Option<Spanned<Table>>,
            wire: Option<Spanned<Table>>,
            partner: Option<Spanned<Table>>,
            hub: Option<Spanned<Table>>,
            traffic: Option<Spanned<Table>>,
            #[serde(default)]
            profile: bool,
            $($measurement: Option<Spanned<$section>>,)*
        }

        impl FileRun {
            /// The measurements, in the order of the list.
            fn plans(
                &mut self,
                checker: &Checker<'_>,
                environment: &Environment,
            ) -> Result<Vec<Arc<dyn Plan>>, ScenarioError> {
                let mut plans = Vec::new();
                $(plans.extend(checker.plans(self.$measurement.take(), environment)?);)*
                Ok(plans)
            }
        }
    };
}
measurements!(file_run);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileExpectation {
    run: Option<Spanned<String>>,
    variant: Option<Spanned<String>>,
    measurement: Option<Spanned<String>>,
    bytes: Option<u64>,
    case: Option<String>,
    #[serde(default)]
    whole_version_only: bool,
    metric: Option<Spanned<String>>,
    min: Option<Spanned<f64>>,
    max: Option<Spanned<f64>>,
    reason: Option<Spanned<String>>,
    goodput_bytes_per_s_min: Option<f64>,
    goodput_bytes_per_s_max: Option<f64>,
    frame_loss_rate_min: Option<f64>,
    frame_loss_rate_max: Option<f64>,
}

const fn one() -> u64 {
    1
}

/// The version of the format that this code reads.
const SCHEMA: u32 = 1;

pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
    let parsed: File =
        toml::from_str(text).map_err(|error| ScenarioError::syntax(file, text, &error))?;
    let matrix = match &parsed.matrix {
        Some(_) => matrix::parse(text, file, parsed.seed)?,
        None => None,
    };
    let scenario = Checker { file, text }.check(parsed)?;
    Ok(Scenario { matrix, ..scenario })
}

struct Checker<'a> {
    file: &'a str,
    text: &'a str,
}

impl Checker<'_> {
    fn check(&self, parsed: File) -> Result<Scenario, ScenarioError> {
        if *parsed.schema.get_ref() != SCHEMA {
            let message = format!(
                "schema {} is not known; this linerate reads schema {SCHEMA}",
                parsed.schema.get_ref()
            );
            return Err(self.error(parsed.schema.span(), message));
        }
        self.check_name(&parsed.name)?;
        let board = board::find_simulated(parsed.board.get_ref())
            .map_err(|error| self.error(parsed.board.span(), error.to_string()))?;
        if parsed.run.get_ref().is_empty() {
            return Err(self.error(
                parsed.run.span(),
                "there is no [[run]]: nothing to measure".to_owned(),
            ));
        }
        let layers = Layers {
            duplex: parsed.duplex,
            tables: [
                parsed.peer,
                parsed.wire,
                parsed.partner,
                parsed.hub,
                parsed.traffic,
            ],
        };
        let none = Layers::default();
        let common = self.environment(&layers, &none)?;
        let mut runs: Vec<Run> = Vec::new();
        for run in parsed.run.into_inner() {
            let checked = self.run(run, &board, &layers, &runs)?;
            runs.push(checked);
        }
        let expect = parsed
            .expect
            .into_iter()
            .map(|expected| self.expectation(expected, &runs))
            .collect::<Result<_, ScenarioError>>()?;
        Ok(Scenario {
            name: parsed.name.into_inner(),
            title: parsed.title,
            board,
            seed: parsed.seed,
            common,
            record: parsed.record,
            runs,
            expect,
            system: None,
            timing: None,
            matrix: None,
        })
    }

    fn run(
        &self,
        mut run: FileRun,
        board: &Board,
        common: &Layers,
        before: &[Run],
    ) -> Result<Run, ScenarioError> {
        self.check_known(
            &run.variant,
            "variant",
            board.firmware.variants.iter().map(String::as_str),
        )?;
        let name = run.name.as_ref().unwrap_or(&run.variant);
        self.check_name(name)?;
        if before.iter().any(|other| other.name == *name.get_ref()) {
            let message = format!(
                "`{}` has a [[run]] already: give this one a `name` of its own",
                name.get_ref()
            );
            return Err(self.error(name.span(), message));
        }
        let name = name.get_ref().clone();
        let own = Layers {
            duplex: run.duplex,
            tables: [
                run.peer.take(),
                run.wire.take(),
                run.partner.take(),
                run.hub.take(),
                run.traffic.take(),
            ],
        };
        let environment = self.environment(common, &own)?;
        let plans = run.plans(self, &environment)?;
        if plans.is_empty() {
            let message = format!(
                "this [[run]] measures nothing: give it one of {}",
                measure::NAMES
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            return Err(self.error(run.variant.span(), message));
        }
        if let Some(plan) = plans
            .iter()
            .find(|plan| !board.firmware.programs.contains_key(plan.program()))
        {
            let message = format!(
                "board {} has no program `{}`, which `{}` needs",
                board.name,
                plan.program(),
                plan.label()
            );
            return Err(self.error(run.variant.span(), message));
        }
        Ok(Run {
            name,
            variant: run.variant.into_inner(),
            environment,
            plans,
            profile: run.profile,
        })
    }

    fn plans<S: Section>(
        &self,
        section: Option<Spanned<S>>,
        environment: &Environment,
    ) -> Result<Vec<Arc<dyn Plan>>, ScenarioError> {
        let Some(section) = section else {
            return Ok(Vec::new());
        };
        let span = section.span();
        let plans = section.into_inner().plans().and_then(|plans| {
            plans.iter().try_for_each(|plan| plan.check(environment))?;
            Ok(plans)
        });
        plans.map_err(|message| self.error(span, message))
    }

    fn environment(&self, common: &Layers, own: &Layers) -> Result<Environment, ScenarioError> {
        let [peer, signal, partner, hub, traffic] =
            std::array::from_fn(|at| (common.tables[at].as_ref(), own.tables[at].as_ref()));
        let span = |(common, own): (Option<&Spanned<Table>>, Option<&Spanned<Table>>)| {
            own.or(common).map_or(0..0, Spanned::span)
        };
        let made = Environment {
            duplex: own.duplex.or(common.duplex).unwrap_or(Duplex::Half),
            peer: self.layered::<Peer>(peer)?,
            wire: self.layered(signal)?,
            partner: self.layered(partner)?,
            hub: self.layered(hub)?,
            traffic: match traffic {
                (None, None) => None,
                layers => Some(self.layered::<generator::Config>(layers)?),
            },
        };
        if peer::kind(&made.peer.kind).is_none() {
            let kinds: Vec<&str> = peer::KINDS.iter().map(|kind| kind.name).collect();
            let hint = board::hint(nearest(&made.peer.kind, kinds.iter().copied()));
            let message = format!(
                "there is no peer `{}`{hint}; there are {}",
                made.peer.kind,
                kinds.join(", ")
            );
            return Err(self.error(span(peer), message));
        }
        let wrong = |span, error: String| self.error(span, error);
        let link = wire::Config {
            impairments: made.wire,
            hub: made.hub,
            ..wire::Config::default()
        };
        let hub_is_given = hub.0.or(hub.1).is_some();
        link.check().map_err(|error| {
            let of_hub = error.field.starts_with("hub.") && hub_is_given;
            wrong(span(if of_hub { hub } else { signal }), error.to_string())
        })?;
        if let Some(config) = &made.traffic {
            config
                .check()
                .map_err(|error| wrong(span(traffic), error.to_string()))?;
        }
        Ok(made)
    }

    /// A table of the scenario, with its fields replaced by those of a run.
    fn layered<T: DeserializeOwned>(
        &self,
        (common, own): (Option<&Spanned<Table>>, Option<&Spanned<Table>>),
    ) -> Result<T, ScenarioError> {
        let span = own.or(common).map(Spanned::span);
        let mut table = Table::new();
        for layer in [common, own].into_iter().flatten() {
            for (name, value) in layer.get_ref() {
                table.insert(name.clone(), value.clone());
            }
        }
        T::deserialize(toml::Value::Table(table)).map_err(|error| {
            let mut named = ScenarioError::syntax(self.file, self.text, &error);
            if let Some(span) = span {
                let at = self.error(span, String::new());
                (named.line, named.column) = (at.line, at.column);
            }
            named
        })
    }

    fn expectation(
        &self,
        expected: Spanned<FileExpectation>,
        runs: &[Run],
    ) -> Result<Expectation, ScenarioError> {
        let span = expected.span();
        let expected = expected.into_inner();
        if let Some(variant) = &expected.variant {
            let known = runs.iter().map(|run| run.variant.as_str());
            self.check_known(variant, "variant with a [[run]]", known)?;
        }
        if let Some(run) = &expected.run {
            let known = runs.iter().map(|run| run.name.as_str());
            self.check_known(run, "[[run]]", known)?;
        }
        if let Some(kind) = &expected.measurement {
            self.check_known(kind, "measurement", measure::NAMES.iter().copied())?;
        }
        let mut limits = Vec::new();
        let mut limit = |metric: &str, min: Option<f64>, max: Option<f64>| {
            if min.is_some() || max.is_some() {
                let metric = metric.to_owned();
                limits.push(Limit { metric, min, max });
            }
        };
        limit(
            "goodput_bytes_per_s_p50",
            expected.goodput_bytes_per_s_min,
            expected.goodput_bytes_per_s_max,
        );
        limit(
            "frame_loss_rate",
            expected.frame_loss_rate_min,
            expected.frame_loss_rate_max,
        );
        if let Some(metric) = &expected.metric {
            if expected.min.is_none() && expected.max.is_none() {
                let message = "this [[expect]] needs a `min` or a `max`".to_owned();
                return Err(self.error(metric.span(), message));
            }
            self.check_loss(metric, expected.max.as_ref(), expected.reason.as_ref())?;
            let figure = |limit: Option<Spanned<f64>>| limit.map(Spanned::into_inner);
            limit(metric.get_ref(), figure(expected.min), figure(expected.max));
        } else {
            for (name, given) in [("min", &expected.min), ("max", &expected.max)] {
                if let Some(given) = given {
                    let message = format!("`{name}` needs the `metric` that it limits");
                    return Err(self.error(given.span(), message));
                }
            }
        }
        if limits.is_empty() {
            let message = "this [[expect]] has no limit: nothing could fail it".to_owned();
            return Err(self.error(span, message));
        }
        Ok(Expectation {
            run: expected.run.map(Spanned::into_inner),
            variant: expected.variant.map(Spanned::into_inner),
            measurement: expected.measurement.map(Spanned::into_inner),
            bytes: expected.bytes,
            case: expected.case,
            whole_version_only: expected.whole_version_only,
            reason: expected.reason.map(Spanned::into_inner),
            limits,
        })
    }

    /// A limit of the ledger names a cause, and a reason if it permits a loss.
    fn check_loss(
        &self,
        metric: &Spanned<String>,
        max: Option<&Spanned<f64>>,
        reason: Option<&Spanned<String>>,
    ) -> Result<(), ScenarioError> {
        let Some(loss) = LossMetric::parse(metric.get_ref()) else {
            return Ok(());
        };
        if loss.cause.is_none() {
            let name = metric.get_ref().split('.').next_back().unwrap_or_default();
            let names = DropCause::ALL.iter().map(|cause| cause.name());
            let hint = board::hint(nearest(name, names));
            let message = format!("there is no cause of loss `{name}`{hint}");
            return Err(self.error(metric.span(), message));
        }
        let is_stated = reason.is_some_and(|reason| !reason.get_ref().trim().is_empty());
        match max {
            Some(max) if *max.get_ref() > 0.0 && !is_stated => {
                let message = "a permitted loss needs its physical `reason`".to_owned();
                Err(self.error(max.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a name can be part of a file name.
    fn check_name(&self, name: &Spanned<String>) -> Result<(), ScenarioError> {
        let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if name.get_ref().is_empty() || !name.get_ref().chars().all(plain) {
            let message =
                "`name` becomes part of file names: use letters, digits, `-` and `_`".to_owned();
            return Err(self.error(name.span(), message));
        }
        Ok(())
    }

    fn check_known<'k>(
        &self,
        written: &Spanned<String>,
        what: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<(), ScenarioError> {
        let name = written.get_ref();
        if known.clone().any(|known| known == name) {
            return Ok(());
        }
        let hint = board::hint(nearest(name, known.clone()));
        let known: Vec<&str> = known.collect();
        let message = format!(
            "there is no {what} `{name}`{hint}; there are {}",
            known.join(", ")
        );
        Err(self.error(written.span(), message))
    }

    fn error(&self, span: Range<usize>, message: String) -> ScenarioError {
        ScenarioError::at(self.file, self.text, Some(span), message)
    }
}

/// Every field that a file may have; for the tables of the environment, only their names.
#[cfg(test)]
pub fn fields() -> Vec<super::fields::Field> {
    super::fields::of::<File>("")
}

/// The tables of a file or a run that describe the environment: `peer`, `wire`, `partner`, `hub`,
/// `traffic`.
#[derive(Default)]
struct Layers {
    duplex: Option<Duplex>,
    tables: [Option<Spanned<Table>>; 5],
}
