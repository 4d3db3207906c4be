//! Log of a driver's TCP connections: their times, and a series of their states.

use linerate_agent::Instant;
use linerate_results::record::{Direction, TcpConnection, TcpSample};
use std::time::Duration;

use super::tcp_info::TcpInfo;

/// Interval between samples at first: slow start takes a few round trips.
const FIRST_INTERVAL: Duration = Duration::from_millis(20);
/// Samples of a connection; with more, each second one is dropped and the interval doubles.
const MAX_SAMPLES: usize = 128;
/// Connections in a log. Further ones, of many short transfers, are not logged.
const MAX_CONNECTIONS: usize = 1_000;
/// Connections in the result.
const MAX_REPORTED: usize = 64;
/// Samples of a connection in the result, if there are many connections.
const MAX_ALL_SAMPLES: usize = 1_024;

/// Number of a connection in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogId(usize);

/// A connection in the log.
#[derive(Debug, Default)]
struct Entry {
    connection: TcpConnection,
    requested: Option<Instant>,
    due: Instant,
    interval: Duration,
}

/// Log of connections.
#[derive(Debug, Default)]
pub(super) struct SocketLog {
    entries: Vec<Entry>,
}

impl SocketLog {
    /// Begins the entry of a connection that was requested, if `is_outgoing`, or accepted now.
    pub(super) fn open(&mut self, now: Instant, is_outgoing: bool) -> Option<LogId> {
        if self.entries.len() >= MAX_CONNECTIONS {
            return None;
        }
        self.entries.push(Entry {
            connection: TcpConnection {
                opened_ns: now.ns(),
                ..TcpConnection::default()
            },
            requested: is_outgoing.then_some(now),
            due: now,
            interval: FIRST_INTERVAL,
        });
        Some(LogId(self.entries.len() - 1))
    }

    /// An outgoing connection is established.
    pub(super) fn on_established(&mut self, LogId(at): LogId, now: Instant) {
        let entry = &mut self.entries[at];
        let requested = entry.requested.unwrap_or(now);
        entry.connection.connect_ns = Some(now.ns().saturating_sub(requested.ns()));
        entry.connection.opened_ns = now.ns();
        entry.due = now;
    }

    /// Records the algorithm of congestion control.
    pub(super) fn set_congestion_control(&mut self, LogId(at): LogId, name: String) {
        self.entries[at].connection.congestion_control = name;
    }

    /// Octets were written to the socket.
    pub(super) fn on_write(&mut self, LogId(at): LogId, now: Instant) {
        let connection = &mut self.entries[at].connection;
        connection.first_write_ns.get_or_insert(now.ns());
        if connection.first_read_ns.is_none() {
            connection.request_end_ns = Some(now.ns());
        }
    }

    /// Octets were read from the socket.
    pub(super) fn on_read(&mut self, LogId(at): LogId, now: Instant) {
        let connection = &mut self.entries[at].connection;
        connection.first_read_ns.get_or_insert(now.ns());
    }

    /// True if a sample of the connection is due.
    pub(super) fn is_due(&self, LogId(at): LogId, now: Instant) -> bool {
        now >= self.entries[at].due
    }

    /// Adds a sample.
    pub(super) fn sample(&mut self, LogId(at): LogId, now: Instant, info: &TcpInfo) {
        let entry = &mut self.entries[at];
        let connection = &mut entry.connection;
        connection.has_timestamps = info.has_timestamps;
        connection.has_sack = info.has_sack;
        connection.has_window_scaling = info.has_window_scaling;
        connection.send_mss_bytes = info.send_mss_bytes;
        connection.receive_mss_bytes = info.receive_mss_bytes;
        connection.ended_ns = now.ns();
        connection.samples.push(TcpSample {
            at_ns: now.ns(),
            ..info.sample
        });
        if connection.samples.len() > MAX_SAMPLES {
            halve(&mut connection.samples);
            entry.interval *= 2;
        }
        entry.due = now.after(entry.interval);
    }

    /// The connections that carried most, in that order.
    pub(super) fn finish(self) -> Vec<TcpConnection> {
        let mut all: Vec<TcpConnection> = self
            .entries
            .into_iter()
            .map(|entry| entry.connection)
            .filter(|connection| !connection.samples.is_empty())
            .map(with_direction)
            .collect();
        all.sort_by_key(|connection| std::cmp::Reverse(payload(connection)));
        all.truncate(MAX_REPORTED);
        let limit = (MAX_ALL_SAMPLES / all.len().max(1)).max(4);
        for connection in &mut all {
            while connection.samples.len() > limit {
                halve(&mut connection.samples);
            }
        }
        all
    }
}

/// Drops each second sample, but keeps the first and the last one.
fn halve(samples: &mut Vec<TcpSample>) {
    let last = samples.len().saturating_sub(1);
    let mut at = 0;
    samples.retain(|_| {
        let keeps = at % 2 == 0 || at == last;
        at += 1;
        keeps
    });
}

fn last(connection: &TcpConnection) -> TcpSample {
    connection.samples.last().copied().unwrap_or_default()
}

fn payload(connection: &TcpConnection) -> u64 {
    let last = last(connection);
    last.acked_bytes.max(last.received_bytes)
}

fn with_direction(connection: TcpConnection) -> TcpConnection {
    let last = last(&connection);
    let direction = if last.received_bytes > last.acked_bytes {
        Direction::FromDevice
    } else {
        Direction::ToDevice
    };
    TcpConnection {
        direction,
        ..connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn info(acked_bytes: u64, received_bytes: u64) -> TcpInfo {
        TcpInfo {
            sample: TcpSample {
                acked_bytes,
                received_bytes,
                ..TcpSample::default()
            },
            ..TcpInfo::default()
        }
    }

    #[test]
    fn the_times_of_request_and_answer_are_kept() {
        let mut log = SocketLog::default();
        let id = log.open(at(1), true).expect("room");
        log.on_established(id, at(3));
        log.on_write(id, at(4));
        log.on_write(id, at(5));
        log.on_read(id, at(500));
        log.on_write(id, at(600));
        log.sample(id, at(700), &info(10, 2_000));
        let connections = log.finish();
        let it = &connections[0];
        assert_eq!(it.connect_ns, Some(2_000_000));
        assert_eq!(it.first_write_ns, Some(4_000_000));
        assert_eq!(it.request_end_ns, Some(5_000_000));
        assert_eq!(it.first_read_ns, Some(500_000_000));
        assert_eq!((it.opened_ns, it.ended_ns), (3_000_000, 700_000_000));
        assert_eq!(it.direction, Direction::FromDevice);
    }

    #[test]
    fn a_long_series_becomes_coarser_and_keeps_its_ends() {
        let mut log = SocketLog::default();
        let id = log.open(at(0), false).expect("room");
        let mut taken = 0;
        for ms in 0..100_000 {
            if log.is_due(id, at(ms)) {
                taken += 1;
                log.sample(id, at(ms), &info(ms, 0));
            }
        }
        log.sample(id, at(100_000), &info(100_000, 0));
        let samples = &log.finish()[0].samples;
        assert!(samples.len() <= MAX_SAMPLES, "{}", samples.len());
        assert!(samples.len() >= MAX_SAMPLES / 2, "{}", samples.len());
        assert!(taken < 1_000, "{taken}");
        assert_eq!(samples[0].acked_bytes, 0);
        assert_eq!(samples.last().map(|it| it.acked_bytes), Some(100_000));
    }

    #[test]
    fn the_connection_that_carried_most_is_the_first() {
        let mut log = SocketLog::default();
        for octets in [100, 5_000, 1_000] {
            let id = log.open(at(0), false).expect("room");
            log.sample(id, at(1), &info(octets, 0));
        }
        // Without a sample nothing is known about it.
        let _ = log.open(at(0), true);
        let octets: Vec<u64> = log.finish().iter().map(payload).collect();
        assert_eq!(octets, [5_000, 1_000, 100]);
    }
}
