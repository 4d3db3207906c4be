//! The measurements that a scenario requests.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use linerate_sim::peer::generator::{self, ConfigError};
use linerate_sim::wire::config::OutOfRange;

use super::Observer;
use crate::machine::MachineConfig;
use crate::scenario::Environment;

/// A measurement with one firmware.
pub trait Plan: Any + Debug + Send + Sync {
    /// The board's program that it needs.
    fn program(&self) -> &'static str;

    /// Its label in a run, for messages and file names.
    fn label(&self) -> String;

    /// Timeout in virtual seconds.
    fn limit_s(&self) -> u64;

    /// Checks that it is possible in `environment`.
    ///
    /// # Errors
    /// The missing requirement, in one sentence.
    fn check(&self, _around: &Environment) -> Result<(), String> {
        Ok(())
    }

    /// Changes the board's environment as needed.
    fn arrange(&self, _order: &mut MachineConfig) {}

    /// The observer of a firmware in the environment of `config`.
    fn observer(&self, config: &MachineConfig) -> Box<dyn Observer>;

    /// The same with `factor` times as many frames or seconds, as far as the result remains
    /// meaningful; `None` if nothing is counted in those.
    fn scaled(&self, _factor: f64) -> Option<Arc<dyn Plan>> {
        None
    }
}

/// The section of a `[[run]]` for one measurement.
pub trait Section: DeserializeOwned {
    /// Its measurements, in order.
    ///
    /// # Errors
    /// The error, in one sentence.
    fn plans(self) -> Result<Vec<Arc<dyn Plan>>, String>;
}

/// Checks that a generator can send frames of `octets`.
pub(super) fn check_frame_octets(octets: u16) -> Result<(), String> {
    let traffic = generator::Config {
        frame_octets: octets,
        ..generator::Config::default()
    };
    traffic.check().map_err(|error| match error {
        // The field's name in a section.
        ConfigError::OutOfRange(error) => OutOfRange {
            field: "octets",
            ..error
        }
        .to_string(),
        error @ ConfigError::UnknownCase(_) => error.to_string(),
    })
}

/// `count` times `factor`, at least `least` unless `count` is less.
pub(super) fn scaled(count: u64, factor: f64, least: u64) -> u64 {
    ((count as f64 * factor) as u64).max(least.min(count))
}
