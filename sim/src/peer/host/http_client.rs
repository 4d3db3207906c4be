//! An HTTP/1.1 client that fetches files and computes their CRC-32.

use linerate_ether::fcs::Crc32;

use crate::peer::tcp::{ConnectionId, Endpoint, State, Tcp};
use crate::time::{Instant, Span};

/// A longer response head is rejected.
const HEAD_LIMIT: usize = 8 * 1024;

/// Configuration of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The server.
    pub server: Endpoint,
    /// Paths, fetched sequentially with one request each.
    pub paths: Vec<String>,
    /// Start time.
    pub start: Instant,
    /// Pause between two requests.
    pub pause: Span,
    /// A request that takes longer is aborted.
    pub timeout: Span,
}

/// Reason for a failed fetch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The connection was refused, reset or timed out.
    #[error("the connection ended early")]
    Connection,
    /// The response was not complete within [`Config::timeout`].
    #[error("no complete answer in time")]
    TimedOut,
    /// The response is not HTTP/1.x.
    #[error("the answer is no HTTP response")]
    Malformed,
    /// The response ended before its Content-Length.
    #[error("{received} of {expected} octets received")]
    Short {
        /// Octets of the body received.
        received: u64,
        /// Octets announced by Content-Length.
        expected: u64,
    },
}

/// One request and its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// Requested path.
    pub path: String,
    /// When the connection was opened.
    pub started_at: Instant,
    /// When the last octet of the body was read.
    pub finished_at: Option<Instant>,
    /// Status of the response.
    pub status: Option<u16>,
    /// Octets of the body.
    pub octets: u64,
    /// CRC-32 of the body.
    pub crc32: u32,
    /// Error, if the fetch failed.
    pub error: Option<FetchError>,
}

/// The HTTP client.
#[derive(Debug)]
pub struct Client {
    config: Config,
    fetches: Vec<Fetch>,
    current: Option<Transfer>,
    next_at: Instant,
}

/// End of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Unknown: the head is incomplete.
    Unknown,
    /// After this many octets, by Content-Length.
    ContentLength(u64),
    /// At the end of the connection.
    UntilClose,
}

#[derive(Debug)]
struct Transfer {
    id: ConnectionId,
    requested: bool,
    head: Vec<u8>,
    /// Known once the head was read.
    body: Body,
    crc: Crc32<'static>,
}

impl Client {
    /// A client that fetches the paths of `config`.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        let next_at = config.start;
        Self {
            config,
            fetches: Vec::new(),
            current: None,
            next_at,
        }
    }

    /// All fetches so far.
    #[must_use]
    pub fn fetches(&self) -> &[Fetch] {
        &self.fetches
    }

    /// True if every path was fetched.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.current.is_none() && self.fetches.len() >= self.config.paths.len()
    }

    /// Next time [`Self::poll`] must be called if no segment arrives.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match (&self.current, self.fetches.last()) {
            (Some(_), Some(fetch)) => fetch.started_at + self.config.timeout,
            _ if self.is_done() => Instant::NEVER,
            _ => self.next_at,
        }
    }

    /// Opens connections, writes requests and reads responses as far as possible.
    pub fn poll(&mut self, tcp: &mut Tcp, now: Instant) {
        if self.current.is_none()
            && now >= self.next_at
            && let Some(path) = self.config.paths.get(self.fetches.len())
        {
            self.fetches.push(Fetch {
                path: path.clone(),
                started_at: now,
                finished_at: None,
                status: None,
                octets: 0,
                crc32: 0,
                error: None,
            });
            self.current = Some(Transfer {
                id: tcp.connect(self.config.server, now),
                requested: false,
                head: Vec::new(),
                body: Body::Unknown,
                crc: Crc32::new(),
            });
        }
        let (Some(transfer), Some(fetch)) = (&mut self.current, self.fetches.last_mut()) else {
            return;
        };
        let late = now >= fetch.started_at + self.config.timeout;
        let outcome = match transfer.poll(tcp, fetch, self.config.server) {
            None if late => Some(Err(FetchError::TimedOut)),
            outcome => outcome,
        };
        let Some(outcome) = outcome else { return };
        fetch.crc32 = transfer.crc.finish();
        match outcome {
            Ok(()) => fetch.finished_at = Some(now),
            Err(error) => {
                fetch.error = Some(error);
                if let Some(connection) = tcp.get_mut(transfer.id) {
                    connection.abort();
                }
            }
        }
        if let Some(connection) = tcp.get_mut(transfer.id) {
            connection.close();
        }
        tcp.remove_closed(transfer.id);
        self.current = None;
        self.next_at = now + self.config.pause;
    }
}

impl Transfer {
    /// Continues; `Some` when the response is complete or has failed.
    fn poll(
        &mut self,
        tcp: &mut Tcp,
        fetch: &mut Fetch,
        server: Endpoint,
    ) -> Option<Result<(), FetchError>> {
        let Some(connection) = tcp.get_mut(self.id) else {
            return Some(Err(FetchError::Connection));
        };
        if !self.requested && connection.state() == State::Established {
            let (path, host) = (&fetch.path, server.address);
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            connection.write(request.as_bytes(), false);
            self.requested = true;
        }
        let octets = connection.read(usize::MAX);
        let ended = connection.is_at_end();
        if let Err(error) = self.consume(&octets, fetch) {
            return Some(Err(error));
        }
        match self.body {
            Body::ContentLength(expected) if fetch.octets >= expected => Some(Ok(())),
            Body::UntilClose if ended => Some(Ok(())),
            Body::ContentLength(expected) if ended => Some(Err(FetchError::Short {
                received: fetch.octets,
                expected,
            })),
            Body::Unknown if ended => Some(Err(FetchError::Connection)),
            _ => None,
        }
    }

    fn consume(&mut self, octets: &[u8], fetch: &mut Fetch) -> Result<(), FetchError> {
        let mut rest = octets;
        let kept;
        if self.body == Body::Unknown {
            self.head.extend(octets);
            let Some(end) = self
                .head
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
            else {
                let too_long = self.head.len() > HEAD_LIMIT;
                return if too_long {
                    Err(FetchError::Malformed)
                } else {
                    Ok(())
                };
            };
            kept = self.head.split_off(end + 4);
            rest = &kept;
            let text = String::from_utf8_lossy(&self.head);
            let status = text
                .strip_prefix("HTTP/1.")
                .and_then(|text| text.get(2..5))
                .and_then(|status| status.parse().ok());
            fetch.status = Some(status.ok_or(FetchError::Malformed)?);
            let length = text
                .split("\r\n")
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok());
            self.body = length.map_or(Body::UntilClose, Body::ContentLength);
        }
        if let Body::ContentLength(expected) = self.body {
            let missing = expected - fetch.octets.min(expected);
            rest = &rest[..rest
                .len()
                .min(usize::try_from(missing).unwrap_or(usize::MAX))];
        }
        self.crc.update(rest);
        fetch.octets += rest.len() as u64;
        Ok(())
    }
}
