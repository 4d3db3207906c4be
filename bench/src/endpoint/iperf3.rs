//! `iperf3://HOST:PORT`: a server of iperf 3.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use linerate_agent::Progress;
use linerate_agent::iperf3::{self, Client, Count, Failure, Plan, Test};
use linerate_results::record::{self, CountedAt, Direction, Flow, Interval, Observation};

use super::arrivals::DataFilter;
use super::client::{self, ClientState, FinishedClient};
use super::{
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
        let options = client::ClientOptions {
            buffer_octets: window,
            data: test.udp.then_some(DataFilter {
                octets: test.octets,
                // The hello and its answer have four octets.
                is_data: |_| true,
            }),
        };
        let finished = client::run(Client::new(plan), self.to, options, monitor, step, failed);
        match (finished, failure) {
            (Ok(finished), _) => Ok(Ok(counted(finished, test.udp))),
            (Err(_), Some(Failure::NotReached | Failure::Broken | Failure::AccessDenied))
                if self.may_be_closing() =>
            {
                Ok(Err(ServerBusy))
            }
            (Err(error), _) => Err(error),
        }
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
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }
}

/// A queue that drains for this multiple of the settling time delays the end of the test, too.
const DRAINED: u32 = 2;

/// Subtracts the time between the last datagram and the end of the test, which the client announces, from the server's
/// time. If a queue was full, or still drains when the end is announced, its datagrams arrive in that time.
fn without_settling(count: Count, sent: Duration, rtt: Duration) -> Count {
    let waited = count.span.saturating_sub(sent + rtt);
    if count.lost > 0 || waited >= iperf3::UDP_SETTLE * DRAINED {
        return count;
    }
    let span = count.span.saturating_sub(iperf3::UDP_SETTLE).max(sent);
    Count {
        span: span.min(count.span),
        ..count
    }
}

fn counted(finished: FinishedClient<Client<STREAMS>>, udp: bool) -> Outcome {
    let outcome = finished.service.outcome(finished.ended);
    let samples = finished.connections.iter().flat_map(|it| &it.samples);
    let rtt = samples.map(|it| it.min_rtt_ns).filter(|ns| *ns > 0).min();
    let rtt = Duration::from_nanos(rtt.unwrap_or(0));
    let reported = outcome.reported.map(|count| {
        let sent = outcome.sent.map_or(count.span, |it| it.span);
        if udp {
            without_settling(count, sent, rtt)
        } else {
            count
        }
    });
    let to = reported.or(outcome.sent);
    let by = if outcome.reported.is_some() {
        CountedAt::Device
    } else {
        CountedAt::Host
    };
    let mut notes = Vec::new();
    let sent = outcome.sent.map_or(0, |sent| sent.datagrams);
    let counted_by_server = outcome.reported.map_or(sent, |it| it.datagrams);
    if udp && sent > counted_by_server {
        notes.push(format!(
            "{} of {sent} datagrams were still in transit when the server counted: they are neither \
             received nor lost",
            sent - counted_by_server
        ));
    }
    if finished.is_cancelled {
        notes.push("cancelled by the user".to_owned());
    }
    let mut from_device = outcome.received.map(|count| Flow {
        gaps: finished.gaps,
        ..flow(count, udp, CountedAt::Host, finished.from_device)
    });
    if let Some(datagrams) = from_device.as_mut().and_then(|it| it.datagrams.as_mut()) {
        // A hello may be dropped, too.
        datagrams.lost_by_host = finished.dropped.map(|dropped| dropped.min(datagrams.lost));
    }
    Outcome {
        to_device: to.map(|count| flow(count, udp, by, finished.to_device)),
        from_device,
        notes,
        observation: Observation {
            connections: finished.connections,
            ..Observation::default()
        },
        ..Outcome::default()
    }
}

fn flow(count: Count, udp: bool, counted_by: CountedAt, intervals: Vec<Interval>) -> Flow {
    let span_ns = count.span.as_nanos() as u64;
    let flow = if udp {
        // The server's results have neither out-of-order nor duplicate datagrams.
        let is_ours = counted_by == CountedAt::Host;
        let datagrams = record::Datagrams {
            sent: count.datagrams,
            received: count.datagrams.saturating_sub(count.lost),
            lost: count.lost,
            out_of_order: is_ours.then_some(count.out_of_order),
            duplicates: is_ours.then_some(count.duplicates),
            jitter_ns: count.jitter.as_nanos() as u64,
            lost_by_host: None,
        };
        // The time is the whole test's, from before the first datagram.
        Flow {
            datagrams: Some(datagrams),
            ..Flow::stream(count.octets, span_ns, counted_by)
        }
    } else {
        Flow::stream(count.octets, span_ns, counted_by)
    };
    Flow { intervals, ..flow }
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
        if let Err(why) = self.supports(trial) {
            return Err(super::unsupported(self, trial, why));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_before_the_end_is_announced_is_no_time_of_the_stream() {
        let span_over = |lost, server, sent, rtt| {
            let count = Count {
                lost,
                span: Duration::from_millis(server),
                ..Count::default()
            };
            let [sent, rtt] = [sent, rtt].map(Duration::from_millis);
            without_settling(count, sent, rtt).span.as_millis()
        };
        let span_ms = |lost, server, sent| span_over(lost, server, sent, 0);
        assert_eq!(span_ms(0, 2_025, 2_000), 2_005);
        assert_eq!(span_ms(0, 2_015, 2_000), 2_000);
        assert_eq!(span_ms(0, 1_990, 2_000), 1_990);
        // The queue was full: it drained in that time.
        assert_eq!(span_ms(9, 2_060, 2_000), 2_060);
        // It was not full, but still drained.
        assert_eq!(span_ms(0, 2_088, 2_000), 2_088);
        // The end travels for a round trip of a long path.
        assert_eq!(span_over(0, 2_120, 2_000, 100), 2_100);
    }
}
