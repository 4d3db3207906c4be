use std::io;
use std::net::SocketAddr;

/// Error of the socket driver.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// A port cannot be bound.
    #[error(
        "cannot listen on {protocol} {address}: {source}; choose another port, or stop the program that uses it (`ss -tulpn`)"
    )]
    Bind {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// Address.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The event queue could not be created or failed.
    #[error("waiting for sockets failed: {0}")]
    Poll(#[from] io::Error),
    /// A thread could not be created.
    #[error("cannot create a thread: {0}")]
    Thread(#[source] io::Error),
}
