use linerate_ring::RingError;
use std::io;
use std::net::SocketAddr;

/// Error of the load generator or a receiver.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Payload size out of range.
    #[error(
        "invalid payload of {octets} octets: the packet header needs {min}, the maximum is {max}"
    )]
    Payload {
        /// Requested size.
        octets: usize,
        /// Minimum.
        min: usize,
        /// Maximum.
        max: usize,
    },
    /// Frame size out of range.
    #[error("invalid frame size of {octets} octets without FCS: the range is {min} to {max}")]
    Frame {
        /// Requested size.
        octets: usize,
        /// Minimum.
        min: usize,
        /// Maximum.
        max: usize,
    },
    /// Rate of 0.
    #[error("invalid rate of 0 packets/s: use at least 1, or max")]
    ZeroRate,
    /// An attribute of an interface cannot be read.
    #[error(
        "cannot read {what} of interface {interface}: {source} (`ip link` lists the interfaces)"
    )]
    Interface {
        /// Interface name.
        interface: String,
        /// Attribute.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A socket operation failed.
    #[error("{step} {address} failed: {source}")]
    Socket {
        /// Operation that failed.
        step: &'static str,
        /// Address.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Error of raw frames.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A thread could not be created.
    #[error("cannot create a thread: {0}")]
    Thread(#[source] io::Error),
}
