use std::io;

/// Error of a packet ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The interface does not exist.
    #[error("there is no interface {interface} (`ip link` lists the interfaces)")]
    Missing {
        /// Interface name.
        interface: String,
    },
    /// The user lacks the privilege.
    #[error(
        "raw frames on {interface} require CAP_NET_RAW: run as root, or grant it once with `sudo setcap \
         cap_net_raw+ep PROGRAM`"
    )]
    PermissionDenied {
        /// Interface name.
        interface: String,
    },
    /// The interface is down.
    #[error("interface {interface} is down: `ip link set {interface} up`")]
    Down {
        /// Interface name.
        interface: String,
    },
    /// Other error.
    #[error("raw frames on {interface}: {step} failed: {source}")]
    Io {
        /// Interface name.
        interface: String,
        /// Operation that failed.
        step: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// This system has no packet rings.
    #[error("raw frames are supported on Linux only")]
    Unsupported,
}
