//! What a client is told, and what it says.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::parameters::Test;
use super::super::results::Count;

/// What a client is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The server.
    pub to: SocketAddr,
    /// The test.
    pub test: Test,
    /// Another one for each test: the cookie that joins its connections is made of it.
    pub seed: u64,
    /// How long nothing may come that is to come.
    pub patience: Duration,
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The server can't be connected to.
    NotReached,
    /// A connection broke.
    Broken,
    /// Nothing came for as long as the plan allows.
    NoAnswer,
    /// The server is busy with another client (state -1).
    AccessDenied,
    /// The server has given the test up (state 11).
    Terminated,
    /// The server says that it can't do the test (state -2).
    ServerError {
        /// The number that iperf gives the error (`iperf_api.h`).
        number: i32,
        /// The number that the server's operating system gives it, or 0.
        system: i32,
    },
    /// The server announced a state that does not follow.
    UnexpectedState(i8),
    /// The server's results are no JSON, or more than anybody has to say.
    BadResults,
    /// The test has more streams than this client has room for, or none.
    TooManyStreams,
}

/// How far a client is.
pub type Progress = crate::Progress<Failure>;

/// What a client found, of all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What it sent.
    pub sent: Option<Count>,
    /// What the server says to have received of it.
    pub reported: Option<Count>,
    /// What it received.
    pub received: Option<Count>,
}
