use std::io;

/// Why an interface gives no ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// It does not exist.
    #[error("there is no interface {interface} (`ip link` names those there are)")]
    Missing {
        /// Its name.
        interface: String,
    },
    /// This user may not.
    #[error(
        "raw frames on {interface} take CAP_NET_RAW: run it as root, or give it the right once with \
         `sudo setcap cap_net_raw+ep PROGRAM`"
    )]
    Rights {
        /// The interface.
        interface: String,
    },
    /// The interface is down.
    #[error("interface {interface} is down: `ip link set {interface} up`")]
    Down {
        /// Its name.
        interface: String,
    },
    /// Something else.
    #[error("raw frames on {interface}: {step} failed: {source}")]
    Io {
        /// The interface.
        interface: String,
        /// What was tried.
        step: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// This system has no such rings.
    #[error("raw frames are sent and received on Linux only")]
    Unsupported,
}
