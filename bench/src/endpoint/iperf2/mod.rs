//! `iperf2://HOST:PORT`: a server of iperf 2.

pub(super) mod count;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use linerate_agent::Progress;
use linerate_agent::iperf2::{self, Client, DatagramHeader, Failure, Plan, ReturnTest, Test};
use linerate_results::record::Direction;

use super::arrivals::DataFilter;
use super::client::{self, ClientState, LinkedMonitor};
use super::deadline;
use super::{
    Amount, Datagrams, Options, Outcome, Stream, Target, TargetError, Trial, TrialMonitor, Url,
};

/// The default port (registered with IANA for "commplex-link", and used by iperf since then).
const PORT: u16 = 5001;
/// UDP without a rate limit: more than any link here.
const UNLIMITED_BITS_PER_S: u64 = 100_000_000_000;

/// How the device is made to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendMode {
    /// `-R`: it sends on our connection. Since version 2.1.
    Reverse,
    /// `-r`: it connects back when we have sent. Known to every version, and to lwIP's `lwiperf`.
    Tradeoff,
}

struct Iperf2 {
    to: SocketAddr,
    timeout: Duration,
    send_mode: SendMode,
    /// Port for the device's connection back in the next test: a new one each time, as the last one
    /// may still be in TIME-WAIT (RFC 9293 section 3.6.1).
    back_port: u16,
    /// End of the last test.
    ended: Option<Instant>,
    /// The device has sent in an earlier test.
    has_sent: bool,
}

/// Ports for connections back, above Linux's ephemeral ports.
const BACK_PORTS: std::ops::Range<u16> = 61_000..65_000;

/// The next port for a connection back that no other program uses: several commands may run at the same time.
fn free_after(port: u16) -> u16 {
    let wrapped = |port| BACK_PORTS.start + (port - BACK_PORTS.start) % BACK_PORTS.len() as u16;
    let is_free = |port: &u16| {
        let address = (Ipv4Addr::UNSPECIFIED, *port);
        TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
    };
    let mut next = (1..BACK_PORTS.len() as u16).map(|step| wrapped(port + step));
    next.find(is_free).unwrap_or(wrapped(port + 1))
}

/// Pause between tests: the server of stock iperf 2.1.8 crashes if a test starts while it still closes
/// the previous one.
const SETTLE: Duration = Duration::from_millis(400);

/// Unix time, nanoseconds; 0 if unknown.
fn time_of_day_ns() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Selects the datagrams of a stream: those that end it have negative numbers, and are repeated until
/// answered.
pub(super) fn data(plan: &Plan) -> Option<DataFilter> {
    let is_data =
        |octets: &[u8]| DatagramHeader::parse(octets).is_some_and(|head| head.number >= 0);
    plan.udp.then_some(DataFilter {
        octets: plan.test.buffer_octets,
        is_data,
    })
}

/// Rejects what cannot be asked of a server of iperf 2.
pub(super) const fn check_amount(amount: Amount) -> Result<(), &'static str> {
    match amount {
        // Signed on the wire; negative for a duration.
        Amount::Octets(octets) if octets > i32::MAX as u64 => {
            Err("iperf 2 can be asked for 2 GiB at most; give a time instead")
        }
        _ => Ok(()),
    }
}

/// A test that sends `octets` at a time, with connections back to `port`.
pub(super) fn test(
    direction: Direction,
    send_mode: SendMode,
    amount: Amount,
    octets: u32,
    port: u16,
) -> Test {
    let (return_test, reverse) = match (direction, send_mode) {
        (Direction::ToDevice, _) => (ReturnTest::No, false),
        (Direction::FromDevice, SendMode::Reverse) => (ReturnTest::No, true),
        (Direction::FromDevice, SendMode::Tradeoff) => (ReturnTest::AfterTest, false),
        (Direction::Both, _) => (ReturnTest::Simultaneous, false),
    };
    Test {
        port,
        buffer_octets: octets,
        amount: match amount {
            Amount::Span(span) => iperf2::Amount::Span(span),
            Amount::Octets(octets) => {
                iperf2::Amount::Octets(u32::try_from(octets).unwrap_or(i32::MAX as u32))
            }
        },
        rate_bits_per_s: 0,
        return_test,
        reverse,
        full_duplex: false,
    }
}

/// `test` with datagrams at this rate of payload; 0: as fast as possible.
pub(super) const fn at_rate(test: Test, bits_per_s: u64) -> Test {
    Test {
        rate_bits_per_s: match bits_per_s {
            0 => UNLIMITED_BITS_PER_S,
            rate => rate,
        },
        ..test
    }
}

/// True if the device sends in `trial`.
const fn sends(trial: &Trial) -> bool {
    let direction = match trial {
        Trial::Stream(stream) => stream.direction,
        Trial::Datagrams(datagrams) => datagrams.direction,
        Trial::RoundTrips(_) | Trial::Frames(_) => return false,
    };
    !matches!(direction, Direction::ToDevice)
}

/// Opens the server that `url` names.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    url.check_query(&["from"])?;
    let send_mode = match url.query_value("from") {
        None | Some("reverse") => SendMode::Reverse,
        Some("tradeoff") => SendMode::Tradeoff,
        Some(other) => {
            return Err(TargetError::Url {
                url: url.text.clone(),
                what: format!("`from` is reverse (iperf -R) or tradeoff (iperf -r), not `{other}`"),
            });
        }
    };
    Ok(Box::new(Iperf2 {
        to: url.address(PORT)?,
        timeout: options.timeout,
        send_mode,
        back_port: BACK_PORTS.start + std::process::id() as u16 % (BACK_PORTS.len() as u16 / 2),
        ended: None,
        has_sent: false,
    }))
}

impl Iperf2 {
    fn test(&mut self, direction: Direction, amount: Amount, octets: u32) -> Test {
        self.back_port = free_after(self.back_port);
        test(direction, self.send_mode, amount, octets, self.back_port)
    }

    fn plan(&self, udp: bool, test: Test) -> Plan {
        Plan {
            to: self.to,
            udp,
            test,
            timeout: self.timeout,
        }
    }

    fn run_client(
        &self,
        plan: Plan,
        (window, limit): (Option<u32>, Duration),
        monitor: &mut dyn TrialMonitor,
    ) -> Result<client::FinishedClient<Client>, TargetError> {
        let step = |client: &mut Client, now| match client.progress(now) {
            Progress::Done => ClientState::Done,
            Progress::Failed(failure) => ClientState::Failed(failure),
            Progress::Running => {
                let outcome = client.outcome(now);
                let octets = |report: Option<iperf2::Report>| report.map_or(0, |it| it.octets);
                ClientState::Running {
                    to_device: octets(outcome.sent),
                    from_device: octets(outcome.received),
                }
            }
        };
        let failed = |failure| self.failed(failure, &plan);
        let client = Client::new(plan).with_time_of_day(time_of_day_ns());
        let options = client::ClientOptions {
            limit,
            buffer_octets: window,
            data: data(&plan),
        };
        let finished = client::run(client, self.to, options, monitor, step, failed)?;
        if finished.is_expired {
            let received = finished.service.outcome(finished.ended).received;
            let octets = received.map_or(0, |report| report.octets);
            return Err(self.failure(client::expired(limit, octets)));
        }
        Ok(finished)
    }

    /// Duration of a test that was requested for `span`: with `-r`, the device sends when this host has.
    fn duration(&self, span: Duration, direction: Direction) -> Duration {
        match (self.send_mode, direction) {
            (SendMode::Tradeoff, Direction::FromDevice) => span * 2,
            _ => span,
        }
    }

    fn limit(&self, span: Duration, direction: Direction) -> Duration {
        deadline::limit(self.duration(span, direction), self.timeout)
    }

    fn failed(&self, failure: Failure, plan: &Plan) -> TargetError {
        let what = match failure {
            Failure::NotReached => {
                "nobody listens there; is the iperf 2 server running, and is this its port?"
                    .to_owned()
            }
            Failure::Broken => "it closed the connection before the test was over".to_owned(),
            Failure::NoAnswer => {
                let what = match (plan.udp, plan.test.reverse, plan.test.return_test) {
                    (_, reverse, back) if self.has_sent && (reverse || back != ReturnTest::No) => {
                        "nothing comes, though it sent in an earlier test: does the server still run? Restart it"
                    }
                    (_, true, _) => {
                        "no data: it may not support -R, introduced in iperf 2.1; try \
                                     ?from=tradeoff, which every version supports (-r)"
                    }
                    (_, _, ReturnTest::Simultaneous | ReturnTest::AfterTest) => {
                        "no connection back: does a firewall \
                                     here refuse it, or does the device not support -r and -d?"
                    }
                    (true, ..) => "no report at the end: does it listen on UDP (iperf -s -u)?",
                    (false, ..) => "the connection stays open: it did not read all that was sent",
                };
                format!("{what} (waited {} s)", self.timeout.as_secs())
            }
        };
        self.failure(what)
    }

    fn stream(
        &mut self,
        stream: &Stream,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let streams = stream.streams.max(1);
        let plans: Vec<Plan> = (0..streams)
            .map(|at| {
                let (amount, octets) = (stream.amount.share(at, streams), stream.write_octets);
                let test = self.test(stream.direction, amount, octets);
                self.plan(false, test)
            })
            .collect();
        let (first, others) = plans.split_at(1);
        let span = deadline::stream_span(stream.amount);
        let options = (stream.window_octets, self.limit(span, stream.direction));
        let stop = AtomicBool::new(false);
        let this = &*self;
        let finished = std::thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|plan| {
                    let mut monitor = LinkedMonitor(&stop);
                    scope.spawn(move || this.run_client(*plan, options, &mut monitor))
                })
                .collect();
            let mut finished = vec![this.run_client(first[0], options, monitor)];
            stop.store(monitor.is_cancelled(), Ordering::Relaxed);
            for other in others {
                finished.extend(other.join());
            }
            finished.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        count::streams(finished, stream).map_err(|what| self.failure(what))
    }

    fn datagrams(
        &mut self,
        asked: &Datagrams,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let octets = asked.payload_octets.into();
        let test = self.test(asked.direction, asked.amount, octets);
        let test = at_rate(test, asked.payload_bits_per_s);
        let span = deadline::datagrams_span(asked);
        let options = (None, self.limit(span, asked.direction));
        let finished = self.run_client(self.plan(true, test), options, monitor)?;
        count::datagrams(finished, asked).map_err(|what| self.failure(what))
    }
}

impl Target for Iperf2 {
    fn name(&self) -> String {
        format!("iperf 2 at {}", self.to)
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Stream(Stream { amount, .. }) | Trial::Datagrams(Datagrams { amount, .. }) => {
                check_amount(*amount)
            }
            Trial::RoundTrips(_) => Err("iperf 2 has no requests with answers; use stamp://"),
            Trial::Frames(_) => Err("iperf 2 is no Ethernet frame; use raw:// or sim://"),
        }
    }

    fn supports_as_load(&self, trial: &Trial) -> Result<(), &'static str> {
        let direction = match trial {
            Trial::Stream(stream) => Some(stream.direction),
            Trial::Datagrams(datagrams) => Some(datagrams.direction),
            _ => None,
        };
        if direction == Some(Direction::FromDevice) && self.send_mode == SendMode::Tradeoff {
            return Err("with ?from=tradeoff the device sends only after it has received");
        }
        self.supports(trial)
    }

    fn address(&self) -> Option<SocketAddr> {
        Some(self.to)
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        let (span, direction) = match trial {
            Trial::Stream(stream) => (deadline::stream_span(stream.amount), stream.direction),
            Trial::Datagrams(asked) => (deadline::datagrams_span(asked), asked.direction),
            _ => return Some(deadline::of(trial, self.timeout)),
        };
        Some(self.limit(span, direction) + SETTLE)
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        if let Some(ended) = self.ended {
            std::thread::sleep(SETTLE.saturating_sub(ended.elapsed()));
        }
        let outcome = match trial {
            Trial::Stream(stream) => self.stream(stream, monitor),
            Trial::Datagrams(datagrams) => self.datagrams(datagrams, monitor),
            Trial::RoundTrips(_) | Trial::Frames(_) => Ok(Outcome::default()),
        };
        self.ended = Some(Instant::now());
        self.has_sent |= outcome.is_ok() && sends(trial);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_another_program_uses_takes_no_connection_back() {
        let last = BACK_PORTS.end - 1;
        let taken = free_after(last);
        let _other = TcpListener::bind((Ipv4Addr::UNSPECIFIED, taken)).expect("free");
        let next = free_after(last);
        assert!(
            next != taken && BACK_PORTS.contains(&next),
            "{taken} {next}"
        );
    }

    #[test]
    fn a_server_that_falls_silent_after_it_has_sent_is_not_taken_for_one_without_reverse_tests() {
        let url = Url::parse("iperf2://127.0.0.1").expect("a URL");
        let what = |has_sent| {
            let target = Iperf2 {
                to: url.address(PORT).expect("an address"),
                timeout: Duration::from_secs(10),
                send_mode: SendMode::Reverse,
                back_port: BACK_PORTS.start,
                ended: None,
                has_sent,
            };
            let test = test(
                Direction::FromDevice,
                SendMode::Reverse,
                Amount::Octets(1),
                1,
                PORT,
            );
            target
                .failed(Failure::NoAnswer, &target.plan(true, test))
                .to_string()
        };
        assert!(
            what(false).contains("may not support -R"),
            "{}",
            what(false)
        );
        assert!(
            what(true).contains("it sent in an earlier test"),
            "{}",
            what(true)
        );
    }

    #[test]
    fn final_datagrams_are_not_data() {
        let test = Test {
            port: PORT,
            buffer_octets: 100,
            amount: iperf2::Amount::Octets(1_000),
            rate_bits_per_s: 1_000_000,
            return_test: ReturnTest::No,
            reverse: true,
            full_duplex: false,
        };
        let plan = |udp| Plan {
            to: ([127, 0, 0, 1], PORT).into(),
            udp,
            test,
            timeout: Duration::from_secs(1),
        };
        let data = data(&plan(true)).expect("datagrams");
        let is_data = [1, 9, -10].map(|number| {
            let mut octets = [0; 100];
            DatagramHeader::emit(number, linerate_agent::Instant::default(), &mut octets);
            (data.is_data)(&octets)
        });
        assert_eq!((data.octets, is_data), (100, [true, true, false]));
        assert!(super::data(&plan(false)).is_none());
    }
}
