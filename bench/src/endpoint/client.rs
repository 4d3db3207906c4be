//! Runs a client of the agent over this host's sockets, to the end of its test.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use linerate_agent::{Instant, Service};
use linerate_results::format;
use linerate_results::record::{Distribution, Interval, TcpConnection};

use super::arrivals::{DataFilter, Gaps};
use super::{TargetError, TrialMonitor};
use linerate_host::sockets::{ConnectFailure, Driver, DriverConfig};

/// Interval at which a client's state is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The length of an [`Interval`].
const INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of connections of a test.
const CONNECTIONS: usize = 256;

/// Advice for a target that answers no request for a connection.
const NO_ANSWER: &str =
    "nothing answers the request for a connection; is this its address, and is its link up?";

/// State of a client.
pub(super) enum ClientState<F> {
    /// Running; octets transferred so far, in each direction.
    Running {
        to_device: u64,
        from_device: u64,
    },
    Done,
    Failed(F),
}

/// Options of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientOptions {
    /// The longest time that it runs, whatever the peer sends.
    pub(super) limit: Duration,
    /// Socket buffers at this end; `None`: the system's default.
    pub(super) buffer_octets: Option<u32>,
    /// Datagrams whose arrival times are measured; `None`: none.
    pub(super) data: Option<DataFilter>,
}

/// Result of a client that is done.
pub(super) struct FinishedClient<S> {
    pub(super) service: S,
    /// When it was done, since its start.
    pub(super) ended: Instant,
    pub(super) to_device: Vec<Interval>,
    pub(super) from_device: Vec<Interval>,
    /// Gaps between the datagrams selected in the options.
    pub(super) gaps: Option<Distribution>,
    /// Datagrams dropped by this host's sockets, if the system counts them.
    pub(super) dropped: Option<u64>,
    /// The user cancelled it before it was done.
    pub(super) is_cancelled: bool,
    /// Its longest time passed before it was done.
    pub(super) is_expired: bool,
    /// The TCP connections, as this host's sockets report them.
    pub(super) connections: Vec<TcpConnection>,
}

/// The local address to send from and to listen on for a peer at `to`.
pub(super) fn local_address(to: SocketAddr) -> IpAddr {
    if to.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    }
}

/// Drives `service`, a client of the peer at `to`, until `state` reports that it is done.
pub(super) fn run<S: Service, F>(
    service: S,
    to: SocketAddr,
    options: ClientOptions,
    monitor: &mut dyn TrialMonitor,
    mut state: impl FnMut(&mut S, Instant) -> ClientState<F>,
    failed: impl FnOnce(F) -> TargetError,
) -> Result<FinishedClient<S>, TargetError> {
    let settings = DriverConfig {
        address: local_address(to),
        connections: CONNECTIONS,
        buffer_octets: options.buffer_octets,
        logs: true,
        ..DriverConfig::default()
    };
    let mut driver = Driver::new(Gaps::wrap(service, options.data), settings)?;
    let limit_ns = u64::try_from(options.limit.as_nanos()).unwrap_or(u64::MAX);
    let mut to_device = IntervalSeries::default();
    let mut from_device = IntervalSeries::default();
    loop {
        driver.turn(POLL_INTERVAL)?;
        let now = driver.now();
        let is_done = match state(&mut driver.service().service, now) {
            ClientState::Running {
                to_device: to,
                from_device: from,
            } => {
                to_device.record(now, to);
                from_device.record(now, from);
                monitor.update(Duration::from_nanos(now.ns()), to + from);
                false
            }
            ClientState::Done => true,
            ClientState::Failed(failure) => {
                let reason = driver.connect_failure();
                return Err(match (reason, failed(failure)) {
                    (Some(reason), TargetError::Failed { target, what }) => {
                        let what = match reason {
                            ConnectFailure::Refused => what,
                            ConnectFailure::NoAnswer => NO_ANSWER.to_owned(),
                        };
                        TargetError::Unreachable {
                            target,
                            what,
                            reason,
                        }
                    }
                    (_, error) => error,
                });
            }
        };
        let is_cancelled = !is_done && monitor.is_cancelled();
        let is_expired = !is_done && now.ns() >= limit_ns;
        if is_done || is_cancelled || is_expired {
            let dropped = driver.dropped_datagrams();
            let connections = driver.take_log();
            let arrivals = driver.into_service();
            return Ok(FinishedClient {
                ended: now,
                gaps: arrivals.tap.distribution(),
                service: arrivals.service,
                to_device: to_device.intervals,
                from_device: from_device.intervals,
                dropped,
                is_cancelled,
                is_expired,
                connections,
            });
        }
    }
}

impl<S> FinishedClient<S> {
    /// Of the octets written to the connection that this host opened, those that the peer acknowledged; `None` if the
    /// system does not report it.
    pub(super) fn acked_octets(&self) -> Option<u64> {
        let mut connections = self.connections.iter();
        let opened = connections.find(|it| it.connect_ns.is_some())?;
        opened.samples.last().map(|it| it.acked_bytes)
    }
}

/// Sentence about a device that does not end a trial.
pub(super) fn expired(limit: Duration, octets: u64) -> String {
    format!(
        "it does not end the transfer: stopped after {} s, {} received by then",
        limit.as_secs(),
        format::bytes(octets)
    )
}

/// Cancels transfers that run beside the one that the user's monitor watches.
pub(super) struct LinkedMonitor<'a>(pub(super) &'a AtomicBool);

impl TrialMonitor for LinkedMonitor<'_> {
    fn update(&mut self, _: Duration, _: u64) {}

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A growing count, divided into intervals.
#[derive(Default)]
pub(super) struct IntervalSeries {
    pub(super) intervals: Vec<Interval>,
    due: Duration,
    octets: u64,
}

impl IntervalSeries {
    /// Records a count of `octets` at `now`, since the start of the transfer.
    pub(super) fn record(&mut self, now: Instant, octets: u64) {
        let now = Duration::from_nanos(now.ns());
        if now < self.due {
            return;
        }
        self.due = now + INTERVAL;
        let new = octets.saturating_sub(self.octets);
        self.octets = octets;
        self.intervals.push(Interval {
            end_ns: now.as_nanos() as u64,
            octets: new,
        });
    }
}
