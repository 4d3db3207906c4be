//! Streams and datagrams: iperf 2, with the agent's client on the peer.

use linerate_agent::iperf2::{Client, Failure, Outcome as Counted, Plan, Report, Test};
use linerate_agent::{Instant, Progress};
use linerate_results::record::Direction;
use linerate_sim::peer::host::program::Handle;

use super::runner::BoardTarget;
use super::session::BoardSession;
use crate::endpoint::arrivals::{Arrivals, Gaps};
use crate::endpoint::client::{FinishedClient, IntervalSeries};
use crate::endpoint::iperf2::{self, SendMode, count, data};
use crate::endpoint::{Amount, Datagrams, Outcome, Stream, TargetError, Trial};

/// Port of iperf 2 on `bench_agent`.
const PORT: u16 = 5001;
/// Port on which the peer listens for connections back.
const BACK_PORT: u16 = 6001;

/// A transfer with its running clients.
pub(super) struct Transfer {
    clients: Vec<RunningClient>,
    trial: Trial,
    began: Instant,
}

struct RunningClient {
    handle: Handle,
    to_device: IntervalSeries,
    from_device: IntervalSeries,
    /// When it was found done.
    ended: Option<Instant>,
}

impl BoardTarget {
    /// Starts the transfer of `trial`: a stream or datagrams.
    pub(super) fn start_transfer(
        &self,
        trial: &Trial,
        session: &mut BoardSession,
    ) -> Result<Transfer, TargetError> {
        let plans: Vec<Plan> = match trial {
            Trial::Stream(stream) => self.streams(stream),
            Trial::Datagrams(datagrams) => vec![self.datagrams(datagrams)],
            _ => Vec::new(),
        };
        let mut clients = Vec::new();
        for plan in plans {
            let measured = data(&plan);
            clients.push(RunningClient {
                handle: session.start(Gaps::wrap(Client::new(plan), measured))?,
                to_device: IntervalSeries::default(),
                from_device: IntervalSeries::default(),
                ended: None,
            });
        }
        Ok(Transfer {
            clients,
            trial: trial.clone(),
            began: session.now(),
        })
    }

    fn streams(&self, asked: &Stream) -> Vec<Plan> {
        let streams = asked.streams.max(1);
        let plan = |number: u8| {
            let amount = asked.amount.share(number, streams);
            let test = test(asked.direction, amount, asked.write_octets, number);
            self.plan(false, test)
        };
        (0..streams).map(plan).collect()
    }

    fn datagrams(&self, asked: &Datagrams) -> Plan {
        let octets = asked.payload_octets.into();
        let test = test(asked.direction, asked.amount, octets, 0);
        self.plan(true, iperf2::at_rate(test, asked.payload_bits_per_s))
    }

    fn plan(&self, udp: bool, test: Test) -> Plan {
        Plan {
            to: (self.board.link.ipv4, PORT).into(),
            udp,
            test,
            timeout: self.timeout,
        }
    }
}

fn test(direction: Direction, amount: Amount, octets: u32, number: u8) -> Test {
    let port = BACK_PORT + u16::from(number);
    iperf2::test(direction, SendMode::Reverse, amount, octets, port)
}

impl Transfer {
    /// Records the clients' progress; true if all are done.
    pub(super) fn poll_done(&mut self, session: &mut BoardSession) -> Result<bool, TargetError> {
        let now = session.now();
        let since = Instant::from_ns(now.since(self.began).as_nanos() as u64);
        let mut moved = 0;
        for client in &mut self.clients {
            let (progress, counted) = session
                .with(client.handle, |it: &mut Arrivals<Client>| {
                    (it.service.progress(now), it.service.outcome(now))
                })?;
            let Counted { sent, received, .. } = counted;
            let octets = |report: Option<Report>| report.map_or(0, |it| it.octets);
            moved += octets(sent) + octets(received);
            match progress {
                Progress::Running => {
                    client.to_device.record(since, octets(sent));
                    client.from_device.record(since, octets(received));
                }
                Progress::Done => {
                    client.ended.get_or_insert(now);
                }
                Progress::Failed(failure) => return Err(session.failed(describe(failure))),
            }
        }
        session.set_octets(moved);
        Ok(self.clients.iter().all(|client| client.ended.is_some()))
    }

    /// Stops the clients and returns the outcome.
    pub(super) fn finish(self, session: &mut BoardSession) -> Result<Outcome, TargetError> {
        let mut finished = Vec::new();
        for client in self.clients {
            let arrivals = session.stop::<Arrivals<Client>>(client.handle)?;
            finished.push(FinishedClient {
                connections: Vec::new(),
                gaps: arrivals.tap.distribution(),
                service: arrivals.service,
                ended: client.ended.unwrap_or(session.now()),
                to_device: client.to_device.intervals,
                from_device: client.from_device.intervals,
                // This end has no sockets.
                dropped: None,
                is_cancelled: session.is_cancelled,
                is_expired: false,
            });
        }
        let counted = match (&self.trial, finished.pop()) {
            (Trial::Datagrams(asked), Some(one)) => count::datagrams(one, asked),
            (Trial::Stream(asked), Some(one)) => {
                finished.push(one);
                count::streams(finished, asked)
            }
            _ => Ok(Outcome::default()),
        };
        counted.map_err(|what| session.failed(&what))
    }
}

const fn describe(failure: Failure) -> &'static str {
    match failure {
        Failure::NotReached => "nobody listens on iperf 2's port: is it bench_agent?",
        Failure::Broken => "it closed the connection before the test was over",
        Failure::NoAnswer => "it did not answer in time",
    }
}
