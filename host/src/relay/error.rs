use super::impairment::ImpairmentError;
use crate::tap::TapError;
use std::io;

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// Settings that cannot be.
    #[error(transparent)]
    Impairment(#[from] ImpairmentError),
    /// An interface cannot be used.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The program that makes namespaces is missing.
    #[error("cannot run `ip`, which makes network namespaces (in Debian's iproute2): {0}")]
    NoIp(io::Error),
    /// It did not do what it was asked for.
    #[error("`{command}` failed: {said}{}", if .said.contains("ermission") || .said.contains("not permitted") { NEEDS_ROOT } else { "" })]
    Ip {
        /// The command.
        command: String,
        /// What it printed.
        said: String,
    },
    /// There is one of this name already.
    #[error(
        "there is a network namespace {0} already: choose another name, or remove it with: sudo ip \
         netns delete {0}"
    )]
    Exists(String),
    /// There is none of this name.
    #[error(
        "there is no network namespace {0}; `ip netns` lists them, and this makes one: sudo ip \
         netns add {0}"
    )]
    Missing(String),
    /// A name that no namespace can have.
    #[error("`{0}` cannot name a network namespace: letters, digits, `-`, `_` and `.` can")]
    Name(String),
    /// A thread could not go into a namespace.
    #[error("cannot enter network namespace {name}: {error}; that takes root (CAP_SYS_ADMIN)")]
    Enter {
        /// The namespace.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// An interface failed while it was in use.
    #[error("interface {name} is gone: {error}")]
    Gone {
        /// The interface.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// Waiting failed.
    #[error("cannot wait for frames: {0}")]
    Wait(io::Error),
}

const NEEDS_ROOT: &str = "; it takes root (sudo), or namespaces of this user: unshare \
    --map-root-user --net --mount sh -c 'mount -t tmpfs none /run && linerate relay ...'";
