//! `iperf3://HOST:PORT`: a server of iperf 3.

mod count;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use linerate_agent::Progress;
use linerate_agent::iperf3::{self, Client, Count, Failure, Plan, Test};
use linerate_results::record::Direction;

use crate::endpoint::arrivals::DataFilter;
use crate::endpoint::client::{self, ClientState};
use crate::endpoint::deadline;
use crate::endpoint::{
    Amount, Datagrams, Options, Outcome, Stream, Target, TargetError, Trial, TrialMonitor, Url,
};

/// The default port.
const PORT: u16 = 5201;
/// Streams of a test, both directions together: as many as iperf3 itself allows in one direction.
const STREAMS: usize = 127;

struct Iperf3 {
    to: SocketAddr,
    timeout: Duration,
    /// Tests so far: each has its own cookie.
    tests: u64,
    /// End of the last test.
    ended: Option<Instant>,
}

/// The server was not ready for another test.
struct ServerBusy;

/// Time after a test during which a server that does not answer may still be closing it.
const CLOSING_TIME: Duration = Duration::from_secs(5);
/// Interval between attempts during that time.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Opens the server that `url` names.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    url.check_query(&[])?;
    Ok(Box::new(Iperf3 {
        to: url.address(PORT)?,
        timeout: options.timeout,
        tests: 0,
        ended: None,
    }))
}

const fn direction(direction: Direction) -> iperf3::Direction {
    match direction {
        Direction::ToDevice => iperf3::Direction::Forward,
        Direction::FromDevice => iperf3::Direction::Reverse,
        Direction::Both => iperf3::Direction::Both,
    }
}

const fn amount(amount: Amount) -> iperf3::Amount {
    match amount {
        Amount::Span(span) => iperf3::Amount::Span(span),
        Amount::Octets(octets) => iperf3::Amount::Octets(octets),
    }
}

impl Iperf3 {
    fn run_once(
        &mut self,
        test: Test,
        window: Option<u32>,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Result<Outcome, ServerBusy>, TargetError> {
        self.tests += 1;
        let started = std::time::SystemTime::UNIX_EPOCH.elapsed();
        let seed = started.map_or(0, |since| since.as_nanos() as u64) ^ self.tests;
        let plan = Plan {
            to: self.to,
            test,
            seed,
            timeout: self.timeout,
        };
        let step = |client: &mut Client<STREAMS>, now| match client.progress(now) {
            Progress::Done => ClientState::Done,
            Progress::Failed(failure) => ClientState::Failed(failure),
            Progress::Running => {
                let outcome = client.outcome(now);
                let octets = |count: Option<Count>| count.map_or(0, |it| it.octets);
                ClientState::Running {
                    to_device: octets(outcome.sent),
                    from_device: octets(outcome.received),
                }
            }
        };
        let mut failure = None;
        let failed = |what| {
            failure = Some(what);
            self.failed(what)
        };
        let limit = self.limit(&test);
        let options = client::ClientOptions {
            limit,
            buffer_octets: window,
            data: test.udp.then_some(DataFilter {
                octets: test.octets,
                // The hello and its answer have four octets.
                is_data: |_| true,
            }),
        };
        let finished = client::run(Client::new(plan), self.to, options, monitor, step, failed);
        match (finished, failure) {
            (Ok(finished), _) if finished.is_expired => {
                let received = finished.service.outcome(finished.ended).received;
                let octets = received.map_or(0, |count| count.octets);
                Err(self.failure(client::expired(limit, octets)))
            }
            (Ok(finished), _) => count::counted(finished, &test)
                .map(Ok)
                .map_err(|what| self.failure(what)),
            (Err(_), Some(Failure::NotReached | Failure::Broken | Failure::AccessDenied))
                if self.may_be_closing() =>
            {
                Ok(Err(ServerBusy))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The longest time of a test. Its duration is in whole seconds.
    fn limit(&self, test: &Test) -> Duration {
        let span = match test.amount {
            iperf3::Amount::Span(span) => span + Duration::from_secs(1),
            iperf3::Amount::Octets(octets) if test.udp => {
                let bytes_per_s = (test.rate_bits_per_s / 8).max(1_000);
                Duration::from_secs(octets.div_ceil(bytes_per_s))
            }
            iperf3::Amount::Octets(octets) => deadline::stream_span(Amount::Octets(octets)),
            iperf3::Amount::Blocks(_) => Duration::ZERO,
        };
        deadline::limit(span, self.timeout)
    }

    /// True if the server may still be closing the last test. It then accepts no connection, as it
    /// opens its port again for each test.
    fn may_be_closing(&self) -> bool {
        self.ended
            .is_some_and(|ended| ended.elapsed() < CLOSING_TIME)
    }

    fn test(
        &mut self,
        test: Test,
        window: Option<u32>,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        loop {
            if let Ok(outcome) = self.run_once(test, window, monitor)? {
                self.ended = Some(Instant::now());
                return Ok(outcome);
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    fn failed(&self, failure: Failure) -> TargetError {
        let what = match failure {
            Failure::NotReached => {
                "nobody listens there; is the iperf3 server running, and is this its port?"
                    .to_owned()
            }
            Failure::Broken => "it closed the connection before the test was over".to_owned(),
            Failure::NoAnswer => format!("no answer for {} s", self.timeout.as_secs()),
            Failure::AccessDenied => "it is busy with another client; try again later".to_owned(),
            Failure::Terminated => "it terminated the test".to_owned(),
            Failure::ServerError { number, system } => format!(
                "it can't do the test: iperf3's error {number}, its system's error {system}"
            ),
            Failure::UnexpectedState(state) => {
                format!("it is in the unexpected state {state}: is it iperf3?")
            }
            Failure::BadResults => "its results can't be read".to_owned(),
            Failure::TooManyStreams => format!("{STREAMS} streams at most, both ways together"),
        };
        self.failure(what)
    }
}

impl Target for Iperf3 {
    fn name(&self) -> String {
        format!("iperf3 at {}", self.to)
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Datagrams(datagrams) if datagrams.payload_octets < 16 => {
                Err("a datagram of iperf3 has at least 16 octets")
            }
            Trial::Stream(_) | Trial::Datagrams(_) => Ok(()),
            Trial::RoundTrips(_) => Err("iperf3 has no requests with answers; use stamp://"),
            Trial::Frames(_) => Err("iperf3 is no Ethernet frame; use raw:// or sim://"),
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        Some(self.to)
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        // Rounded to whole seconds; a server may first close the previous test.
        let longest = deadline::of(trial, self.timeout);
        Some(longest + Duration::from_secs(1) + CLOSING_TIME)
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        match trial {
            Trial::Stream(Stream {
                direction: way,
                amount: much,
                streams,
                write_octets,
                window_octets,
            }) => {
                let test = Test {
                    amount: amount(*much),
                    parallel: (*streams).max(1),
                    direction: direction(*way),
                    octets: *write_octets,
                    ..Test::default()
                };
                self.test(test, *window_octets, monitor)
            }
            Trial::Datagrams(Datagrams {
                direction: way,
                amount: much,
                payload_octets,
                payload_bits_per_s,
            }) => {
                let test = Test {
                    udp: true,
                    amount: amount(*much),
                    direction: direction(*way),
                    octets: u32::from(*payload_octets),
                    rate_bits_per_s: *payload_bits_per_s,
                    wide_numbers: true,
                    ..Test::default()
                };
                self.test(test, None, monitor)
            }
            _ => Ok(Outcome::default()),
        }
    }
}
