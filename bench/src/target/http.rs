//! `http://HOST:PORT/PATH`: a web server, downloaded from and uploaded to.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use linerate_agent::Progress;
use linerate_agent::http::{Client, Failure, Plan, Upload};
use linerate_explain::record::{Direction, End, Flow, Interval};

use super::run::{self, Step};
use super::{Amount, Options, Outcome, Stream, Target, TargetError, Trial, Unwatched, Url, Watch};

const PORT: u16 = 80;
/// What is asked for at a time, for as long as the test is to be: takes about a second at 10 Mbit/s.
const PIECE_OCTETS: u64 = 1_000_000;

struct Http {
    to: SocketAddr,
    /// The file; empty: `/N` of a server like ours.
    path: String,
    patience: Duration,
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
        patience: options.patience,
    }))
}

/// Transfers one after the other.
#[derive(Default)]
struct Sum {
    octets: u64,
    span_ns: u64,
    intervals: Vec<Interval>,
    is_cut: bool,
    does_not_match: bool,
}

impl Sum {
    fn flow(self) -> Flow {
        Flow {
            intervals: self.intervals,
            ..Flow::stream(self.octets, self.span_ns, End::Host)
        }
    }
}

impl Http {
    fn failed(&self, what: String) -> TargetError {
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }

    /// One way, as much as is asked for.
    fn one_way(
        &self,
        upload: bool,
        stream: &Stream,
        watch: &mut dyn Watch,
    ) -> Result<Sum, TargetError> {
        let mut sum = Sum::default();
        match stream.amount {
            Amount::Octets(octets) => self.transfer(upload, octets, stream, &mut sum, watch)?,
            Amount::Span(span) => {
                let began = Instant::now();
                while began.elapsed() < span && !sum.is_cut {
                    self.transfer(upload, PIECE_OCTETS, stream, &mut sum, watch)?;
                }
            }
        }
        Ok(sum)
    }

    fn transfer(
        &self,
        upload: bool,
        octets: u64,
        stream: &Stream,
        sum: &mut Sum,
        watch: &mut dyn Watch,
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
            patience: self.patience,
        };
        let step = |client: &mut Client<'_>, now| match client.progress(now) {
            Progress::Done => Step::Done,
            Progress::Failed(failure) => Step::Failed(failure),
            Progress::Running => {
                let outcome = client.outcome();
                Step::Running {
                    to_device: if upload { outcome.sent } else { 0 },
                    from_device: if upload { 0 } else { outcome.received },
                }
            }
        };
        let failed = |failure| {
            self.failed(match failure {
                Failure::BadPath => format!("`{path}` can't be asked for"),
                Failure::NotReached => "nobody listens there; is this its port?".to_owned(),
                Failure::Broken => format!("it broke the transfer of {path} off"),
                Failure::NoAnswer => {
                    let wait = self.patience.as_secs();
                    format!("nothing went on for {wait} s during {path}")
                }
                Failure::Nonsense => "what it answers is no HTTP".to_owned(),
            })
        };
        let sizes = run::Sizes {
            buffer_octets: stream.window_octets,
            datagram_octets: None,
        };
        let ran = run::run(Client::new(plan), self.to, sizes, watch, step, failed)?;
        let outcome = ran.service.outcome();
        sum.is_cut |= ran.is_cut;
        if !ran.is_cut && !(200..300).contains(&outcome.status) {
            return Err(self.failed(format!("it answers {} to {path}", outcome.status)));
        }
        sum.does_not_match |= outcome.differs_at.is_some();
        let (octets, intervals) = if upload {
            (outcome.confirmed.unwrap_or(outcome.sent), ran.to_device)
        } else {
            (outcome.received, ran.from_device)
        };
        let before = sum.span_ns;
        let moved = intervals.into_iter().map(|interval| Interval {
            end_ns: before + interval.end_ns,
            ..interval
        });
        sum.intervals.extend(moved);
        sum.octets += octets;
        sum.span_ns += outcome.span.as_nanos() as u64;
        Ok(())
    }
}

impl Target for Http {
    fn name(&self) -> String {
        format!("HTTP at {}", self.to)
    }

    fn can(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Stream(Stream {
                write_octets: 1.., ..
            }) => Err("HTTP has no size of a write to ask for; use iperf2:// or iperf3://"),
            Trial::Stream(Stream { streams: 0 | 1, .. }) => Ok(()),
            Trial::Stream(_) => Err("HTTP is done with one connection at a time here"),
            Trial::Datagrams(_) => Err("HTTP is TCP; use iperf2:// or iperf3:// for UDP"),
            Trial::RoundTrips(_) => Err("use stamp:// for round trips"),
            Trial::Frames(_) => Err("HTTP is no Ethernet frame; use raw:// or sim://"),
        }
    }

    fn path_mtu(&self) -> Option<u32> {
        super::path::mtu(self.to)
    }

    fn run(&mut self, trial: &Trial, watch: &mut dyn Watch) -> Result<Outcome, TargetError> {
        let stream = match (self.can(trial), trial) {
            (Ok(()), Trial::Stream(stream)) => stream,
            (Ok(()), _) => return Ok(Outcome::default()),
            (Err(why), _) => return Err(super::unable(self, trial, why)),
        };
        let this = &*self;
        let (to, from) = match stream.direction {
            Direction::ToDevice => (Some(this.one_way(true, stream, watch)?), None),
            Direction::FromDevice => (None, Some(this.one_way(false, stream, watch)?)),
            Direction::Both => std::thread::scope(|scope| {
                let up = scope.spawn(|| this.one_way(true, stream, &mut Unwatched));
                let down = this.one_way(false, stream, watch);
                let up = up
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok::<_, TargetError>((Some(up?), Some(down?)))
            })?,
        };
        let both = [&to, &from];
        let mut notes = Vec::new();
        if both.into_iter().flatten().any(|sum| sum.is_cut) {
            notes.push("ended by the user before its time".to_owned());
        }
        if both.into_iter().flatten().any(|sum| sum.does_not_match) {
            notes.push(
                "what came is not the pattern that a server of linerate sends: another server, or \
                 altered on the way"
                    .to_owned(),
            );
        }
        Ok(Outcome {
            to_device: to.map(Sum::flow),
            from_device: from.map(Sum::flow),
            notes,
            ..Outcome::default()
        })
    }
}
