//! Failure of a command: one clear sentence and an exit code.

use std::process::ExitCode;

use linerate_bench::machine::MachineError;
use linerate_bench::measure::MeasureError;
use linerate_bench::run::RunError;

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// A limit or an expectation was not met (exit code 1).
    Limit(Vec<String>),
    /// Invalid usage or input (exit code 2).
    Input(anyhow::Error),
    /// The target failed (exit code 3).
    Target(anyhow::Error),
    /// The user cancelled with Ctrl-C; what was measured is reported (exit code 130).
    Cancelled,
}

impl Failure {
    /// Prints the failure on stderr and returns the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Limit(sentences) => {
                for sentence in sentences {
                    message!("not met: {sentence}");
                }
                ExitCode::from(1)
            }
            Self::Input(error) => {
                message!("error: {error:#}");
                ExitCode::from(2)
            }
            Self::Target(error) => {
                message!("error: {error:#}");
                ExitCode::from(3)
            }
            Self::Cancelled => {
                message!("cancelled: the results are incomplete");
                ExitCode::from(130)
            }
        }
    }
}

/// Errors not known to be caused by the target count as input errors.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Input(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if error.is_target_failure() {
            Self::Target(error.into())
        } else {
            Self::Input(error.into())
        }
    }
}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        if error.is_input() {
            Self::Input(error.into())
        } else {
            Self::Target(error.into())
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Machine(error) => error.into(),
            other => Self::Target(other.into()),
        }
    }
}
