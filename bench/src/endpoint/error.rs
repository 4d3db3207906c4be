//! Why a target can't be used, or a trial failed.

use linerate_host::load::LoadError;
use linerate_host::sockets::SocketError;

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

impl TargetError {
    /// True if the input was wrong, false if the target failed.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Unsupported { .. } | Self::Host(_) | Self::Load(_) => true,
            Self::Failed { .. } => false,
            Self::Machine(error) => error.is_input(),
        }
    }
}
