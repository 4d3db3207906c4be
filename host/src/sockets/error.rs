use std::io;
use std::net::SocketAddr;

/// What keeps a service from its sockets.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A port can't be had.
    #[error(
        "{protocol} {address} can't be listened on: {source}; another program may have it (`ss -tulpn` names it), or choose another port"
    )]
    Bind {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The operating system gives no event queue, or it fails.
    #[error("waiting for sockets failed: {0}")]
    Poll(#[from] io::Error),
    /// The operating system gives no thread.
    #[error("no thread can be had: {0}")]
    Thread(#[source] io::Error),
}
