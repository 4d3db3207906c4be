//! Configuration and results of a client.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::parameters::Test;
use super::super::results::Count;

/// Configuration of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The server.
    pub to: SocketAddr,
    /// The test.
    pub test: Test,
    /// A different number for each test: the cookie, which identifies its connections, is derived from it.
    pub seed: u64,
    /// Timeout without any expected data.
    pub timeout: Duration,
}

/// Reason for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection to the server could not be established.
    NotReached,
    /// A connection broke.
    Broken,
    /// Timeout: nothing arrived.
    NoAnswer,
    /// The server is busy with another client (state -1).
    AccessDenied,
    /// The server has aborted the test (state 11).
    Terminated,
    /// The server reports an error (state -2).
    ServerError {
        /// iperf's error number (`iperf_api.h`).
        number: i32,
        /// The server's operating system error number, or 0.
        system: i32,
    },
    /// The server announced an unexpected state.
    UnexpectedState(i8),
    /// The server's results are not JSON, or too long.
    BadResults,
    /// The test has more streams than this client supports, or none.
    TooManyStreams,
}

/// Progress of a client.
pub type Progress = crate::Progress<Failure>;

/// Results of a client, all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Sent by the client.
    pub sent: Option<Count>,
    /// The server's counters of it.
    pub reported: Option<Count>,
    /// Received by the client.
    pub received: Option<Count>,
}
