//! What a scenario asks for.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use linerate_sim::peer::generator::{self, ConfigError};
use linerate_sim::wire::config::OutOfRange;

use super::Observer;
use crate::machine::MachineConfig;
use crate::scenario::Environment;

/// One firmware's worth of measuring.
pub trait Plan: Any + Debug + Send + Sync {
    /// The board's program that it needs.
    fn program(&self) -> &'static str;

    /// What it is called in a run, for messages and file names.
    fn label(&self) -> String;

    /// Virtual seconds after which it has failed.
    fn limit_s(&self) -> u64;

    /// Says whether it can be done in `around`.
    ///
    /// # Errors
    /// What it needs that is not there, in one sentence.
    fn check(&self, _around: &Environment) -> Result<(), String> {
        Ok(())
    }

    /// Changes what surrounds the board to what it needs.
    fn arrange(&self, _order: &mut MachineConfig) {}

    /// The observer on a firmware of `variant` in the surroundings of `order`.
    fn observer(&self, variant: &str, config: &MachineConfig) -> Box<dyn Observer>;

    /// The same with `factor` times as many frames or seconds, as far as the result still means
    /// something; `None` where nothing is counted in those.
    fn scaled(&self, _factor: f64) -> Option<Arc<dyn Plan>> {
        None
    }
}

/// What a `[[run]]` says of one measurement.
pub trait Section: DeserializeOwned {
    /// What there is to do, in order.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    fn plans(self) -> Result<Vec<Arc<dyn Plan>>, String>;
}

/// Whether a generator sends frames of so many `octets`.
pub(super) fn check_frame_octets(octets: u16) -> Result<(), String> {
    let traffic = generator::Config {
        frame_octets: octets,
        ..generator::Config::default()
    };
    traffic.check().map_err(|error| match error {
        // What a section calls it.
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
