//! `http://HOST:PORT/PATH`: a web server, downloaded from and uploaded to.

mod total;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linerate_agent::Progress;
use linerate_agent::http::{Client, Failure, Plan, Upload};
use linerate_results::record::{Direction, Interval, Observation};

use self::total::{FIRST_OCTETS, TransferTotal, check_upload};

use crate::endpoint::client::{self, ClientState, LinkedMonitor};
use crate::endpoint::deadline;
use crate::endpoint::{
    Amount, CANCELLED, Options, Outcome, Stream, Target, TargetError, Trial, TrialMonitor, Url,
};

const PORT: u16 = 80;
/// Maximum number of connections in the result: one for each request.
const MAX_CONNECTIONS: usize = 200;
/// A shorter time of an answer is that of a buffer: the connection's counts.
const MIN_SPAN: Duration = Duration::from_micros(100);
/// Interval at which the end of an upload beside a download is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

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
    /// Runs the whole amount of `stream`, one way.
    fn one_way(
        &self,
        upload: bool,
        stream: &Stream,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<TransferTotal, TargetError> {
        let span = deadline::stream_span(stream.amount);
        let mut total = TransferTotal::new(deadline::limit(span, self.timeout));
        match stream.amount {
            Amount::Octets(octets) => self.transfer(upload, octets, stream, &mut total, monitor)?,
            Amount::Span(span) => {
                let mut piece = FIRST_OCTETS;
                while total.began.elapsed() < span && !total.is_cancelled && !total.is_cut {
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
            self.failure(match failure {
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
            limit: total.limit.saturating_sub(total.began.elapsed()),
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
        let acked = finished.acked_octets();
        let elapsed = Duration::from_nanos(finished.ended.ns());
        let room = MAX_CONNECTIONS.saturating_sub(total.connections.len());
        total
            .connections
            .extend(finished.connections.into_iter().take(room));
        total.is_cancelled |= finished.is_cancelled;
        if finished.is_expired {
            total
                .stop(upload, outcome.received, &path)
                .map_err(|what| self.failure(what))?;
        } else if !finished.is_cancelled && !(200..300).contains(&outcome.status) {
            return Err(self.failure(format!("it answers {} to {path}", outcome.status)));
        }
        total.does_not_match |= outcome.mismatch_at.is_some();
        let is_whole = !finished.is_cancelled && !finished.is_expired;
        let (octets, intervals) = if upload {
            if is_whole {
                let note =
                    check_upload(&outcome, octets, acked).map_err(|what| self.failure(what))?;
                total.note(note);
            }
            (outcome.sent, finished.to_device)
        } else {
            if is_whole && outcome.received == 0 {
                return Err(self.failure(format!("its answer to {path} has no content")));
            }
            if is_whole && self.path.is_empty() && outcome.received != octets {
                total.note(Some(format!(
                    "{path} has {} octets: another server than linerate's",
                    outcome.received
                )));
            }
            (outcome.received, finished.from_device)
        };
        let span = if outcome.span < MIN_SPAN {
            elapsed
        } else {
            outcome.span
        };
        let before = total.span_ns;
        let moved = intervals.into_iter().map(|interval| Interval {
            end_ns: before + interval.end_ns,
            ..interval
        });
        total.intervals.extend(moved);
        total.octets += octets;
        total.span_ns += span.as_nanos() as u64;
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

    fn address(&self) -> Option<SocketAddr> {
        Some(self.to)
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        Some(deadline::of(trial, self.timeout))
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let Trial::Stream(stream) = trial else {
            return Ok(Outcome::default());
        };
        let this = &*self;
        let stop = AtomicBool::new(false);
        let (to, from) = match stream.direction {
            Direction::ToDevice => (Some(this.one_way(true, stream, monitor)?), None),
            Direction::FromDevice => (None, Some(this.one_way(false, stream, monitor)?)),
            Direction::Both => std::thread::scope(|scope| {
                let up = scope.spawn(|| this.one_way(true, stream, &mut LinkedMonitor(&stop)));
                let down = this.one_way(false, stream, monitor);
                while !up.is_finished() && !monitor.is_cancelled() {
                    std::thread::sleep(POLL_INTERVAL);
                }
                stop.store(monitor.is_cancelled(), Ordering::Relaxed);
                let up = up
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok::<_, TargetError>((Some(up?), Some(down?)))
            })?,
        };
        let both = [&to, &from];
        let mut notes: Vec<String> = both
            .into_iter()
            .flatten()
            .flat_map(|total| total.notes.iter().cloned())
            .collect();
        if both.into_iter().flatten().any(|total| total.is_cancelled) {
            notes.push(CANCELLED.to_owned());
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
