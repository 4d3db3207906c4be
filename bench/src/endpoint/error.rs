//! Why a target can't be used, or a trial failed.

use linerate_host::load::LoadError;
use linerate_host::sockets::{ConnectFailure, SocketError};
use linerate_results::record::{Cause, Finding};

/// Why a target can't be used, or a trial failed.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The URL is not a target.
    #[error("`{url}` is no target: {what}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it, and how to correct it.
        what: String,
    },
    /// The target does not support this trial.
    #[error("{target} can't do {trial}: {why}")]
    Unsupported {
        /// The target's name.
        target: String,
        /// The requested trial.
        trial: String,
        /// The reason.
        why: &'static str,
    },
    /// The target failed.
    #[error("{target}: {what}")]
    Failed {
        /// The target's name.
        target: String,
        /// What happened, and what the user can do.
        what: String,
    },
    /// No connection to the target came about.
    #[error("{target}: {}: {what}", cause(*.reason))]
    Unreachable {
        /// The target's name.
        target: String,
        /// What the user can do.
        what: String,
        /// The reason.
        reason: ConnectFailure,
    },
    /// This host can't do its part.
    #[error(transparent)]
    Host(#[from] SocketError),
    /// This host can't send or receive raw frames.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A simulated board can't be used, or stopped.
    #[error(transparent)]
    Machine(#[from] crate::machine::MachineError),
}

/// The cause of a connection that did not come about.
const fn cause(reason: ConnectFailure) -> Cause {
    match reason {
        ConnectFailure::Refused => Cause::Refused,
        ConnectFailure::NoAnswer => Cause::NoAnswer,
    }
}

impl TargetError {
    /// The finding of a target to which no connection came about.
    pub fn finding(&self) -> Option<Finding> {
        let Self::Unreachable {
            target,
            what,
            reason,
        } = self
        else {
            return None;
        };
        let (happened, advice) = match reason {
            ConnectFailure::Refused => (
                "refused the connection: the host answers, but nothing listens on this port",
                "Start the server on the device, or correct the port.",
            ),
            ConnectFailure::NoAnswer => (
                "did not answer the request for a connection",
                "Check address, link and power of the device, and firewalls on the path: ping it, and look at `ip neigh`.",
            ),
        };
        Some(Finding {
            cause: cause(*reason),
            confidence: 0.98,
            summary: format!("{target} {happened} ({what})."),
            evidence: std::collections::BTreeMap::new(),
            advice: advice.to_owned(),
        })
    }

    /// True if the input was wrong, false if the target failed.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Unsupported { .. } | Self::Host(_) | Self::Load(_) => true,
            Self::Failed { .. } | Self::Unreachable { .. } => false,
            Self::Machine(error) => error.is_input(),
        }
    }
}
