use linerate_ring::RingError;
use std::io;
use std::net::SocketAddr;

/// Why there is no load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A payload that can't be numbered, or sent.
    #[error(
        "a payload of {octets} octets: it takes {least} to number it, and a datagram holds {most}"
    )]
    Payload {
        /// What was asked for.
        octets: usize,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// A frame that is none.
    #[error("a frame of {octets} octets without FCS: {least} to {most} make one")]
    Frame {
        /// What was asked for.
        octets: usize,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// A rate that is none.
    #[error("a rate of 0 packets/s sends nothing: at least 1, or as fast as it goes")]
    NoRate,
    /// An interface that does not say what it has.
    #[error(
        "interface {interface} does not say its {what}: {source} (`ip link` names those there are)"
    )]
    Interface {
        /// Its name.
        interface: String,
        /// What was to be read.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// An address that can't be bound or sent to.
    #[error("{step} {address} failed: {source}")]
    Socket {
        /// What was tried.
        step: &'static str,
        /// With which address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Raw frames.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The operating system gives no thread.
    #[error("no thread can be had: {0}")]
    Thread(#[source] io::Error),
}
