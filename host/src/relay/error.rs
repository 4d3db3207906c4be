use super::impairment::ImpairmentError;
use crate::tap::TapError;
use std::io;

/// Error of the relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// Invalid settings.
    #[error(transparent)]
    Impairment(#[from] ImpairmentError),
    /// An interface cannot be used.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// `ip`, which creates namespaces, cannot be run.
    #[error("cannot run `ip`, which creates network namespaces (Debian package iproute2): {0}")]
    IpUnavailable(io::Error),
    /// `ip` failed.
    #[error("`{command}` failed: {message}{}", if .message.contains("ermission") || .message.contains("not permitted") { NEEDS_ROOT } else { "" })]
    IpFailed {
        /// The command.
        command: String,
        /// Its output on stderr.
        message: String,
    },
    /// The namespace exists already.
    #[error(
        "network namespace {0} already exists: choose another name, or remove it with: sudo ip netns \
         delete {0}"
    )]
    NamespaceExists(String),
    /// The namespace does not exist.
    #[error(
        "there is no network namespace {0} (`ip netns` lists them); create it with: sudo ip netns \
         add {0}"
    )]
    NamespaceNotFound(String),
    /// Invalid namespace name.
    #[error(
        "`{0}` is not a valid name for a network namespace: use letters, digits, `-`, `_` and `.`"
    )]
    InvalidName(String),
    /// A thread could not enter a namespace.
    #[error("cannot enter network namespace {name}: {error}; this requires root (CAP_SYS_ADMIN)")]
    Enter {
        /// The namespace.
        name: String,
        /// Error of the operating system.
        error: io::Error,
    },
    /// An interface failed while in use.
    #[error("interface {name} failed or was removed: {error}")]
    InterfaceLost {
        /// The interface.
        name: String,
        /// Error of the operating system.
        error: io::Error,
    },
    /// Waiting for frames failed.
    #[error("cannot wait for frames: {0}")]
    Poll(io::Error),
}

const NEEDS_ROOT: &str = "; run it as root (sudo) or in a user namespace: unshare \
    --map-root-user --net --mount sh -c 'mount -t tmpfs none /run && linerate relay ...'";
