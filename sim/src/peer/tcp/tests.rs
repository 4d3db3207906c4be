//! Two instances of this TCP against each other, segment by segment.

mod batches;
mod reordering;

use smoltcp::wire::Ipv4Address;

use super::*;
use crate::time::Span;

const A: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
const B: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const PORT: u16 = 80;

/// A client at A and a server at B, 1 ms apart.
struct Pair {
    client: Tcp,
    server: Tcp,
    now: Instant,
    /// All segments sent: time, true if by the client, segment.
    sent: Vec<(Instant, bool, Segment)>,
    travelling: Vec<(Instant, bool, Segment)>,
}

impl Pair {
    fn new(client: Config, server: Config) -> Self {
        let mut server = Tcp::new(server, Random::new(2));
        server.listen(PORT, 2);
        Self {
            client: Tcp::new(client, Random::new(1)),
            server,
            now: Instant::ZERO,
            sent: Vec::new(),
            travelling: Vec::new(),
        }
    }

    fn connect(&mut self) -> ConnectionId {
        let remote = Endpoint {
            address: B,
            port: PORT,
        };
        self.client.connect(remote, self.now)
    }

    /// Runs for `span`; segments for which `lose` returns true do not arrive.
    fn run(&mut self, span: Span, mut lose: impl FnMut(bool, &Segment) -> bool) {
        self.run_with(span, |by_client, segment| {
            (!lose(by_client, segment)).then_some(Span::ZERO)
        });
    }

    /// Runs for `span`; each segment arrives later by the span that `late` returns.
    fn run_delaying(&mut self, span: Span, mut late: impl FnMut(bool, &Segment) -> Span) {
        self.run_with(span, |by_client, segment| Some(late(by_client, segment)));
    }

    fn run_with(&mut self, span: Span, mut fate: impl FnMut(bool, &Segment) -> Option<Span>) {
        let end = self.now + span;
        loop {
            for (by_client, tcp) in [(true, &mut self.client), (false, &mut self.server)] {
                while let Some((_, segment)) = tcp.poll(self.now) {
                    if let Some(late) = fate(by_client, &segment) {
                        let arrival = self.now + Span::from_ms(1) + late;
                        let place = self.travelling.partition_point(|&(at, ..)| at <= arrival);
                        let travelling = (arrival, by_client, segment.clone());
                        self.travelling.insert(place, travelling);
                    }
                    self.sent.push((self.now, by_client, segment));
                }
            }
            let arrival = self
                .travelling
                .first()
                .map_or(Instant::NEVER, |&(at, ..)| at);
            let next = arrival
                .min(self.client.deadline())
                .min(self.server.deadline());
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if arrival <= self.now {
                let (_, by_client, segment) = self.travelling.remove(0);
                if by_client {
                    self.server.receive(A, &segment, self.now);
                } else {
                    self.client.receive(B, &segment, self.now);
                }
            }
        }
    }

    fn settle(&mut self) {
        self.run(Span::from_ms(50), |_, _| false);
    }

    fn data_sent(&self, by_client: bool) -> Vec<Instant> {
        let sent = self
            .sent
            .iter()
            .filter(|(_, by, segment)| *by == by_client && !segment.payload.is_empty());
        sent.map(|&(at, ..)| at).collect()
    }
}

/// An established pair of connections.
fn established(client: Config, server: Config) -> (Pair, ConnectionId, ConnectionId) {
    let mut pair = Pair::new(client, server);
    let at_client = pair.connect();
    pair.settle();
    let at_server = pair.server.accept(PORT).expect("a connection");
    assert_eq!(pair.server.accept(PORT), None);
    (pair, at_client, at_server)
}

fn transfer(pair: &mut Pair, from: ConnectionId, to: ConnectionId, octets: &[u8]) -> Vec<u8> {
    let mut written = 0;
    let mut read = Vec::new();
    for _ in 0..10_000 {
        let sender = pair.server.get_mut(from).expect("alive");
        written += sender.write(&octets[written..], false);
        pair.run(Span::from_ms(1), |_, _| false);
        read.extend(pair.client.get_mut(to).expect("alive").read(usize::MAX));
        if read.len() == octets.len() {
            break;
        }
    }
    read
}

fn octets(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 253) as u8).collect()
}

#[test]
fn the_handshake_negotiates_the_options_that_both_support() {
    let plain = Config {
        sack: false,
        window_scale: None,
        ..Config::default()
    };
    let stamped = Config {
        timestamps: true,
        mss: 1000,
        ..Config::default()
    };
    let (pair, ..) = established(stamped, plain);
    let syn = &pair.sent[0].2;
    assert_eq!(
        (syn.control, syn.ack, syn.mss),
        (Control::Syn, None, Some(1000))
    );
    assert!(syn.sack_permitted && syn.window_scale == Some(7) && syn.timestamp.is_some());
    let answer = &pair.sent[1].2;
    assert_eq!(
        (answer.control, answer.mss, answer.window),
        (Control::Syn, Some(1460), 64_240)
    );
    assert!(!answer.sack_permitted && answer.window_scale.is_none() && answer.timestamp.is_none());
}

#[test]
fn both_ends_close_and_the_first_to_close_waits() {
    let (mut pair, client, server) = established(Config::default(), Config::default());
    pair.client.get_mut(client).unwrap().close();
    pair.settle();
    assert_eq!(pair.client.get(client).unwrap().state(), State::FinWait2);
    assert!(pair.server.get(server).unwrap().is_at_end());
    assert_eq!(pair.server.get(server).unwrap().state(), State::CloseWait);
    pair.server.get_mut(server).unwrap().close();
    pair.settle();
    assert_eq!(pair.server.get(server).unwrap().state(), State::Closed);
    assert_eq!(pair.client.get(client).unwrap().state(), State::TimeWait);
    pair.run(Span::from_secs(61), |_, _| false);
    assert_eq!(pair.client.get(client).unwrap().state(), State::Closed);
    assert_eq!(pair.client.get(client).unwrap().failure(), None);
}

#[test]
fn both_ends_may_close_simultaneously() {
    let (mut pair, client, server) = established(Config::default(), Config::default());
    pair.client.get_mut(client).unwrap().close();
    pair.server.get_mut(server).unwrap().close();
    pair.settle();
    assert_eq!(pair.client.get(client).unwrap().state(), State::TimeWait);
    assert_eq!(pair.server.get(server).unwrap().state(), State::TimeWait);
}

#[test]
fn a_port_without_listener_refuses_and_an_abort_is_reported() {
    let mut pair = Pair::new(Config::default(), Config::default());
    let remote = Endpoint {
        address: B,
        port: 81,
    };
    let refused = pair.client.connect(remote, pair.now);
    pair.settle();
    assert_eq!(
        pair.client.get(refused).unwrap().failure(),
        Some(Failure::Reset)
    );

    let (mut pair, client, server) = established(Config::default(), Config::default());
    pair.client.get_mut(client).unwrap().abort();
    pair.settle();
    assert_eq!(
        pair.server.get(server).unwrap().failure(),
        Some(Failure::Reset)
    );
}

#[test]
fn a_full_backlog_makes_the_next_client_try_again() {
    let mut pair = Pair::new(Config::default(), Config::default());
    let clients: Vec<_> = (0..3).map(|_| pair.connect()).collect();
    pair.settle();
    assert_eq!(
        pair.client.get(clients[1]).unwrap().state(),
        State::Established
    );
    assert_eq!(pair.client.get(clients[2]).unwrap().state(), State::SynSent);
    assert!(pair.server.accept(PORT).is_some());
    // The SYN is sent again after a second.
    pair.run(Span::from_ms(1000), |_, _| false);
    assert_eq!(
        pair.client.get(clients[2]).unwrap().state(),
        State::Established
    );
}

#[test]
fn a_connection_to_a_silent_peer_fails_after_seven_syns() {
    let mut pair = Pair::new(Config::default(), Config::default());
    let client = pair.connect();
    pair.run(Span::from_secs(200), |_, _| true);
    assert_eq!(
        pair.client.get(client).unwrap().failure(),
        Some(Failure::TimedOut)
    );
    let seconds: Vec<_> = pair
        .sent
        .iter()
        .map(|(at, ..)| at.as_secs_f64() as u64)
        .collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31, 63]);
}

/// `more_follows`: the program has more to write than the buffer accepts.
fn probes_a_closed_window(more_follows: bool) {
    let small = Config {
        receive_buffer: 4000,
        window_scale: None,
        ..Config::default()
    };
    let (mut pair, client, server) = established(small, Config::default());
    let octets = octets(10_000);
    let sender = pair.server.get_mut(server).unwrap();
    assert_eq!(sender.write(&octets, more_follows), 10_000);
    pair.run(Span::from_secs(5), |_, _| false);
    assert_eq!(pair.client.get(client).unwrap().readable(), 4000);
    let probes = pair.server.get(server).unwrap().statistics().window_probes;
    assert!((3..=5).contains(&probes), "{probes}");
    // The window update is lost: a probe detects the open window.
    let mut read = pair.client.get_mut(client).unwrap().read(usize::MAX);
    pair.run(Span::from_ms(10), |by_client, _| by_client);
    for _ in 0..100 {
        pair.run(Span::from_ms(200), |_, _| false);
        read.extend(pair.client.get_mut(client).unwrap().read(usize::MAX));
    }
    assert_eq!(read, octets);
}

#[test]
fn a_closed_window_is_probed_and_opens_again() {
    probes_a_closed_window(false);
}

#[test]
fn a_closed_window_is_probed_while_the_program_has_more_to_write() {
    probes_a_closed_window(true);
}

#[test]
fn without_sack_three_duplicates_mean_loss() {
    let plain = Config {
        sack: false,
        ..Config::default()
    };
    let (mut pair, client, server) = established(plain, Config::default());
    let octets = octets(14_600);
    pair.server.get_mut(server).unwrap().write(&octets, false);
    let mut count = 0;
    pair.run(Span::from_ms(60), |by_client, segment| {
        count += u32::from(!by_client && !segment.payload.is_empty());
        !by_client && !segment.payload.is_empty() && count == 3
    });
    assert_eq!(
        pair.client.get_mut(client).unwrap().read(usize::MAX),
        octets
    );
    let statistics = pair.server.get(server).unwrap().statistics();
    assert_eq!(statistics.retransmissions.len(), 1);
    assert_eq!(statistics.count(RetransmitReason::FastRetransmit), 1);
    assert!(statistics.duplicate_acks >= 3);
    // The host's count outlives the connection.
    let count = |tcp: &Tcp| RetransmitReason::ALL.map(|it| tcp.retransmissions(it));
    assert_eq!(count(&pair.server), [0, 1, 0, 0]);
    pair.server.get_mut(server).unwrap().abort();
    pair.server.remove_closed(server);
    assert!(pair.server.get(server).is_none());
    assert_eq!(count(&pair.server), [0, 1, 0, 0]);
}

#[test]
fn timestamps_are_echoed_and_reduce_the_payload() {
    let stamped = Config {
        timestamps: true,
        ..Config::default()
    };
    let (mut pair, client, server) = established(stamped, stamped);
    let octets = octets(50_000);
    assert_eq!(transfer(&mut pair, server, client, &octets), octets);
    let data = pair.sent.iter().filter(|(_, by_client, _)| !by_client);
    let longest = data.map(|(.., segment)| segment.payload.len()).max();
    assert_eq!(longest, Some(1448));
    assert!(
        pair.sent
            .iter()
            .all(|(.., segment)| segment.timestamp.is_some())
    );
}

#[test]
fn a_short_segment_waits_for_the_one_before_unless_no_delay_is_set() {
    for (no_delay, flights) in [(false, 2), (true, 1)] {
        let (mut pair, _, server) = established(Config::default(), Config::default());
        let connection = pair.server.get_mut(server).unwrap();
        if no_delay {
            connection.set_no_delay();
        }
        for text in ["one", "two"] {
            pair.server
                .get_mut(server)
                .unwrap()
                .write(text.as_bytes(), false);
            pair.run(Span::ZERO, |_, _| false);
        }
        pair.settle();
        let mut times = pair.data_sent(false);
        times.dedup();
        assert_eq!(times.len(), flights);
    }
}

#[test]
fn a_lone_segment_is_probed_only_after_the_delayed_acknowledgment_could_have_come() {
    let (mut pair, _, server) = established(Config::default(), Config::default());
    pair.server.get_mut(server).unwrap().write(b"x", false);
    pair.run(Span::from_ms(1000), |_, _| true);
    let times = pair.data_sent(false);
    let waited = times[1].since(times[0]);
    // Not the 12 ms of two round trips and a margin.
    assert!(
        (Span::from_ms(200)..Span::from_ms(210)).contains(&waited),
        "{waited:?}"
    );
}

#[test]
fn after_an_idle_period_the_window_is_the_initial_one() {
    let (mut pair, client, server) = established(Config::default(), Config::default());
    let octets = octets(400_000);
    assert_eq!(transfer(&mut pair, server, client, &octets), octets);
    let grown = pair
        .server
        .get(server)
        .unwrap()
        .sender()
        .congestion_window();
    assert!(grown > 20, "{grown}");
    pair.run(Span::from_secs(10), |_, _| false);
    pair.server.get_mut(server).unwrap().write(&octets, false);
    pair.run(Span::ZERO, |_, _| false);
    let burst = pair
        .sent
        .iter()
        .filter(|&&(at, by_client, _)| !by_client && at == pair.now);
    assert_eq!(burst.count(), 10);
}
