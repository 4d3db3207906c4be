//! Why a target can't be used, or a trial came to nothing.

use linerate_host::load::LoadError;
use linerate_host::sockets::HostError;

/// Why a target can't be used, or a trial came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// What was written is no target.
    #[error("`{url}` is no target: {what}")]
    Url {
        /// What was written.
        url: String,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// The target can't do this trial, by its nature.
    #[error("{target} can't do {trial}: {why}")]
    Unsupported {
        /// The target's name.
        target: String,
        /// What was asked for.
        trial: String,
        /// Why.
        why: &'static str,
    },
    /// It does not answer as it should.
    #[error("{target}: {what}")]
    Failed {
        /// The target's name.
        target: String,
        /// What happened, and what can be done.
        what: String,
    },
    /// This machine can't do its part.
    #[error(transparent)]
    Host(#[from] HostError),
    /// This machine can't send or receive raw frames.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A simulated board can't be used, or stopped.
    #[error(transparent)]
    Machine(#[from] crate::machine::MachineError),
}

impl TargetError {
    /// Whether the input was wrong, rather than the target failing.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Unsupported { .. } | Self::Host(_) | Self::Load(_) => true,
            Self::Failed { .. } => false,
            Self::Machine(error) => error.is_input(),
        }
    }
}
