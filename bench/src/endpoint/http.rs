//! `http://HOST:PORT/PATH`: a web server, downloaded from and uploaded to.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use linerate_agent::Progress;
use linerate_agent::http::{Client, Failure, Plan, Upload};
use linerate_results::record::{CountedAt, Direction, Flow, Interval, Observation, TcpConnection};

use super::client::{self, ClientState};
use super::{
    Amount, NoMonitor, Options, Outcome, Stream, Target, TargetError, Trial, TrialMonitor, Url,
};

const PORT: u16 = 80;
/// Sizes of the first and of the largest transfer in a timed test: a slow device should not exceed its
/// time by much, a fast one should not get too many requests.
const FIRST_OCTETS: u64 = 16_000;
const MAX_OCTETS: u64 = 1_000_000;
/// Maximum growth of a transfer over the previous one: a short one gives an inaccurate rate.
const GROWTH: u64 = 4;
/// Maximum number of connections in the result: one for each request.
const MAX_CONNECTIONS: usize = 200;

struct Http {
    to: SocketAddr,
    /// The file; empty: `/N`, as on linerate's server.
    path: String,
    timeout: Duration,
}

/// Opens the server that `url` names.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    let query: Vec<String> = url
        .query
        .iter()
        .map(|(name, value)| match value.as_str() {
            "" => name.clone(),
            value => format!("{name}={value}"),
        })
        .collect();
    let path = match url.path.as_str() {
        "/" | "" if query.is_empty() => String::new(),
        "" => format!("/?{}", query.join("&")),
        path if query.is_empty() => path.to_owned(),
        path => format!("{path}?{}", query.join("&")),
    };
    Ok(Box::new(Http {
        to: url.address(PORT)?,
        path,
        timeout: options.timeout,
    }))
}

/// Total of consecutive transfers.
struct TransferTotal {
    began: Instant,
    octets: u64,
    span_ns: u64,
    intervals: Vec<Interval>,
    is_cancelled: bool,
    does_not_match: bool,
    connections: Vec<TcpConnection>,
}

impl TransferTotal {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            octets: 0,
            span_ns: 0,
            intervals: Vec::new(),
            is_cancelled: false,
            does_not_match: false,
            connections: Vec::new(),
        }
    }

    /// Size of the next transfer with `left` time remaining, after one of `before` octets.
    fn next_piece(&self, before: u64, left: Duration) -> u64 {
        let octets = self.octets as f64 * left.as_nanos() as f64 / self.span_ns.max(1) as f64;
        (octets as u64).clamp(FIRST_OCTETS, MAX_OCTETS.min(before * GROWTH))
    }

    fn flow(self) -> Flow {
        Flow {
            intervals: self.intervals,
            ..Flow::stream(self.octets, self.span_ns, CountedAt::Host)
        }
    }
}

/// Reports the progress of a transfer as a continuation of the previous ones.
struct OffsetMonitor<'a> {
    monitor: &'a mut dyn TrialMonitor,
    began: Instant,
    octets: u64,
}

impl TrialMonitor for OffsetMonitor<'_> {
    fn update(&mut self, _: Duration, octets: u64) {
        self.monitor
            .update(self.began.elapsed(), self.octets + octets);
    }

    fn is_cancelled(&self) -> bool {
        self.monitor.is_cancelled()
    }
}

impl Http {
    fn failed(&self, what: String) -> TargetError {
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }

    /// Runs the whole amount of `stream`, one way.
    fn one_way(
        &self,
        upload: bool,
        stream: &Stream,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<TransferTotal, TargetError> {
        let mut total = TransferTotal::new();
        match stream.amount {
            Amount::Octets(octets) => self.transfer(upload, octets, stream, &mut total, monitor)?,
            Amount::Span(span) => {
                let mut piece = FIRST_OCTETS;
                while total.began.elapsed() < span && !total.is_cancelled {
                    self.transfer(upload, piece, stream, &mut total, monitor)?;
                    piece = total.next_piece(piece, span.saturating_sub(total.began.elapsed()));
                }
            }
        }
        Ok(total)
    }

    fn transfer(
        &self,
        upload: bool,
        octets: u64,
        stream: &Stream,
        total: &mut TransferTotal,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<(), TargetError> {
        let path = match self.path.as_str() {
            "" => format!("/{octets}"),
            path => path.to_owned(),
        };
        let plan = Plan {
            to: self.to,
            path: &path,
            upload: upload.then_some(Upload {
                octets,
                chunked: false,
            }),
            check: !upload && self.path.is_empty(),
            timeout: self.timeout,
        };
        let step = |client: &mut Client<'_>, now| match client.progress(now) {
            Progress::Done => ClientState::Done,
            Progress::Failed(failure) => ClientState::Failed(failure),
            Progress::Running => {
                let outcome = client.outcome();
                ClientState::Running {
                    to_device: if upload { outcome.sent } else { 0 },
                    from_device: if upload { 0 } else { outcome.received },
                }
            }
        };
        let failed = |failure| {
            self.failed(match failure {
                Failure::BadPath => format!("`{path}` is not a valid path"),
                Failure::NotReached => "nobody listens there; is this the right port?".to_owned(),
                Failure::Broken => format!("it aborted the transfer of {path}"),
                Failure::NoAnswer => {
                    let wait = self.timeout.as_secs();
                    format!("no progress for {wait} s during {path}")
                }
                Failure::NotHttp => "its response is not HTTP".to_owned(),
            })
        };
        let options = client::ClientOptions {
            buffer_octets: stream.window_octets,
            data: None,
        };
        let mut offset_monitor = OffsetMonitor {
            monitor,
            began: total.began,
            octets: total.octets,
        };
        let finished = client::run(
            Client::new(plan),
            self.to,
            options,
            &mut offset_monitor,
            step,
            failed,
        )?;
        let outcome = finished.service.outcome();
        total.connections.extend(finished.connections);
        total.is_cancelled |= finished.is_cancelled;
        if !finished.is_cancelled && !(200..300).contains(&outcome.status) {
            return Err(self.failed(format!("it answers {} to {path}", outcome.status)));
        }
        total.does_not_match |= outcome.mismatch_at.is_some();
        let (octets, intervals) = if upload {
            (
                outcome.confirmed.unwrap_or(outcome.sent),
                finished.to_device,
            )
        } else {
            (outcome.received, finished.from_device)
        };
        let before = total.span_ns;
        let moved = intervals.into_iter().map(|interval| Interval {
            end_ns: before + interval.end_ns,
            ..interval
        });
        total.intervals.extend(moved);
        total.octets += octets;
        total.span_ns += outcome.span.as_nanos() as u64;
        Ok(())
    }
}

impl Target for Http {
    fn name(&self) -> String {
        format!("HTTP at {}", self.to)
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Stream(Stream {
                write_octets: 1.., ..
            }) => Err("HTTP has no configurable write size; use iperf2:// or iperf3://"),
            Trial::Stream(Stream { streams: 0 | 1, .. }) => Ok(()),
            Trial::Stream(_) => Err("HTTP uses one connection at a time here"),
            Trial::Datagrams(_) => Err("HTTP is TCP; use iperf2:// or iperf3:// for UDP"),
            Trial::RoundTrips(_) => Err("use stamp:// for round trips"),
            Trial::Frames(_) => Err("HTTP is no Ethernet frame; use raw:// or sim://"),
        }
    }

    fn address(&self) -> Option<std::net::IpAddr> {
        Some(self.to.ip())
    }

    fn path_mtu(&self) -> Option<u32> {
        super::path::mtu(self.to)
    }

    fn run(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let stream = match (self.supports(trial), trial) {
            (Ok(()), Trial::Stream(stream)) => stream,
            (Ok(()), _) => return Ok(Outcome::default()),
            (Err(why), _) => return Err(super::unsupported(self, trial, why)),
        };
        let this = &*self;
        let (to, from) = match stream.direction {
            Direction::ToDevice => (Some(this.one_way(true, stream, monitor)?), None),
            Direction::FromDevice => (None, Some(this.one_way(false, stream, monitor)?)),
            Direction::Both => std::thread::scope(|scope| {
                let up = scope.spawn(|| this.one_way(true, stream, &mut NoMonitor));
                let down = this.one_way(false, stream, monitor);
                let up = up
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok::<_, TargetError>((Some(up?), Some(down?)))
            })?,
        };
        let both = [&to, &from];
        let mut notes = Vec::new();
        if both.into_iter().flatten().any(|total| total.is_cancelled) {
            notes.push("cancelled by the user".to_owned());
        }
        if both.into_iter().flatten().any(|total| total.does_not_match) {
            notes.push(
                "the data received differ from the pattern of linerate's server: another server, or \
                 altered on the way"
                    .to_owned(),
            );
        }
        let connections = both
            .into_iter()
            .flatten()
            .flat_map(|total| total.connections.iter().cloned());
        let observation = Observation {
            connections: connections.take(MAX_CONNECTIONS).collect(),
            ..Observation::default()
        };
        Ok(Outcome {
            to_device: to.map(TransferTotal::flow),
            from_device: from.map(TransferTotal::flow),
            observation,
            notes,
            ..Outcome::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_grow_with_the_rate_and_fit_into_the_time_left() {
        let total = |octets, ms: u64| TransferTotal {
            octets,
            span_ns: ms * 1_000_000,
            ..TransferTotal::new()
        };
        let left = Duration::from_secs;
        // 10 kB/s: the amount for two seconds, and no less than the first.
        assert_eq!(total(16_000, 1_600).next_piece(16_000, left(2)), 20_000);
        assert_eq!(total(16_000, 1_600).next_piece(16_000, left(1)), 16_000);
        // 100 MB/s.
        assert_eq!(total(16_000, 0).next_piece(16_000, left(9)), 64_000);
        assert_eq!(total(900_000, 9).next_piece(500_000, left(9)), 1_000_000);
    }
}
