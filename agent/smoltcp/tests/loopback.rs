//! Clients and servers over one smoltcp instance in loopback, on simulated time.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use linerate_agent::iperf2::{self, Amount as Amount2, ReturnTest};
use linerate_agent::iperf3::{self, Amount as Amount3, Direction};
use linerate_agent::{
    Close, Connection, Instant, Limits, Opened, Progress, Refused, Service, SocketRequest, echo,
    http, stamp,
};
use linerate_agent_smoltcp::{Driver, MAX_DATAGRAM};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Loopback, Medium};
use smoltcp::socket::{tcp, udp};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

const OWN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const TCP: usize = 8;
const UDP: usize = 8;
/// Duration of a round of the main loop.
const ROUND: Duration = Duration::from_micros(100);
const TIMEOUT: Duration = Duration::from_secs(5);
const LIMITS: Limits = Limits::own_network();

fn to(port: u16) -> SocketAddr {
    (OWN, port).into()
}

/// A stack with a driver for all its sockets.
struct Machine {
    device: Loopback,
    iface: Interface,
    sockets: SocketSet<'static>,
    driver: Driver<TCP, UDP>,
    now: Instant,
}

impl Machine {
    fn new() -> Self {
        Self::on(Medium::Ip, HardwareAddress::Ip)
    }

    fn on(medium: Medium, address: HardwareAddress) -> Self {
        let mut device = Loopback::new(medium);
        let config = Config::new(address);
        let mut iface = Interface::new(config, &mut device, smoltcp::time::Instant::ZERO);
        iface.update_ip_addrs(|all| {
            let own = IpCidr::new(IpAddress::Ipv4(OWN), 24);
            all.push(own).expect("room for an address");
        });
        let mut sockets = SocketSet::new(Vec::new());
        let octets = |len: usize| vec![0; len];
        let tcp = [(); TCP].map(|()| {
            let buffer = || tcp::SocketBuffer::new(octets(4 * 1460));
            sockets.add(tcp::Socket::new(buffer(), buffer()))
        });
        let udp = [(); UDP].map(|()| {
            let buffer = || {
                let heads = vec![udp::PacketMetadata::EMPTY; 4];
                udp::PacketBuffer::new(heads, octets(4 * MAX_DATAGRAM))
            };
            sockets.add(udp::Socket::new(buffer(), buffer()))
        });
        Self {
            device,
            iface,
            sockets,
            driver: Driver::new(tcp, udp, 7),
            now: Instant::from_ns(1_000_000),
        }
    }

    fn round(&mut self, services: &mut [&mut dyn Service]) {
        self.now = self.now.after(ROUND);
        let now = self.now;
        let at = smoltcp::time::Instant::from_micros((now.ns() / 1_000) as i64);
        let Self {
            device,
            iface,
            sockets,
            ..
        } = self;
        iface.poll(at, device, sockets);
        self.driver.turn(services, iface, sockets, || now);
        self.iface.poll(at, &mut self.device, &mut self.sockets);
    }

    /// Runs until the client, which is the last service, is done and the servers have noticed.
    fn run<F: std::fmt::Debug, C: Service>(
        &mut self,
        server: &mut dyn Service,
        client: &mut C,
        progress: impl Fn(&mut C, Instant) -> Progress<F>,
    ) {
        let until = self.now.after(Duration::from_secs(20));
        loop {
            self.round(&mut [server, client]);
            match progress(client, self.now) {
                Progress::Running => assert!(self.now < until, "the client does not end"),
                Progress::Done => break,
                Progress::Failed(why) => panic!("{why:?} at {:?}", self.now),
            }
        }
        for _ in 0..100 {
            self.round(&mut [server, client]);
        }
    }
}

fn iperf2_plan(udp: bool, reverse: bool) -> iperf2::Plan {
    iperf2::Plan {
        to: to(5001),
        udp,
        test: iperf2::Test {
            port: 5001,
            buffer_octets: 1460,
            amount: Amount2::Span(Duration::from_millis(300)),
            rate_bits_per_s: if udp { 8_000_000 } else { 0 },
            return_test: ReturnTest::No,
            reverse,
            full_duplex: false,
        },
        timeout: TIMEOUT,
    }
}

#[test]
fn both_ends_of_iperf_2_count_the_same_each_way_by_either_protocol() {
    for (udp, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut server = iperf2::Server::<2>::new(5001, LIMITS);
        let mut client = iperf2::Client::new(iperf2_plan(udp, reverse));
        let mut machine = Machine::new();
        machine.run(&mut server, &mut client, iperf2::Client::progress);
        let outcome = client.outcome(machine.now);
        let seen = server.take_finished().expect("a test was served");
        let own = if reverse {
            outcome.received
        } else {
            outcome.sent
        };
        let own = own.expect("the client counted");
        assert!(own.octets > 100_000, "{own:?}");
        assert_eq!(
            own.octets, seen.report.octets,
            "udp {udp} reverse {reverse}"
        );
        if udp {
            assert_eq!((own.lost, seen.report.lost), (0, 0));
            assert_eq!(own.datagrams, seen.report.datagrams);
        }
    }
}

#[test]
fn both_ends_of_iperf_3_count_the_same() {
    for (udp, direction) in [
        (false, Direction::Forward),
        (false, Direction::Reverse),
        (false, Direction::Both),
        (true, Direction::Forward),
        (true, Direction::Reverse),
    ] {
        let mut server = iperf3::Server::<2>::new(5201, LIMITS);
        let mut client = iperf3::Client::<2>::new(iperf3::Plan {
            to: to(5201),
            test: iperf3::Test {
                udp,
                direction,
                octets: 1400,
                rate_bits_per_s: if udp { 8_000_000 } else { 0 },
                amount: Amount3::Span(Duration::from_millis(300)),
                ..iperf3::Test::default()
            },
            seed: 5,
            timeout: TIMEOUT,
        });
        let mut machine = Machine::new();
        machine.run(&mut server, &mut client, iperf3::Client::progress);
        let seen = server.take_finished().expect("a test was served");
        let own = client.outcome(machine.now);
        assert!(seen.is_complete, "{seen:?}");
        for (sent, received) in [(own.sent, seen.received), (seen.sent, own.received)] {
            let octets = |it: Option<iperf3::Count>| it.map(|it| it.octets);
            assert_eq!(octets(sent), octets(received), "{udp} {direction:?}");
        }
    }
}

#[test]
fn a_file_is_transferred_unmodified_in_both_directions() {
    for upload in [None, Some(300_000)] {
        let mut server = http::Server::<2>::new(80, TIMEOUT);
        let octets = |octets| http::Upload {
            octets,
            chunked: false,
        };
        let mut client = http::Client::new(http::Plan {
            to: to(80),
            path: "/200000",
            upload: upload.map(octets),
            check: upload.is_none(),
            timeout: TIMEOUT,
        });
        let mut machine = Machine::new();
        machine.run(&mut server, &mut client, http::Client::progress);
        let outcome = client.outcome();
        assert_eq!((outcome.status, outcome.mismatch_at), (200, None));
        match upload {
            None => assert_eq!(outcome.received, 200_000),
            Some(_) => assert_eq!(outcome.confirmed, upload),
        }
    }
}

#[test]
fn datagrams_are_answered() {
    let clock = stamp::Clock::free(Duration::from_micros(1));
    let mut reflector = stamp::Reflector::<2, 4>::new(862, clock);
    let mut echo = echo::Echo::<2, 64>::new(7);
    let mut sender = stamp::Sender::<64>::new(stamp::Plan {
        to: to(862),
        count: 50,
        interval: Duration::from_millis(2),
        octets: 44,
        timeout: TIMEOUT,
        clock,
        stateful: true,
        session: 3,
    });
    let mut machine = Machine::new();
    while !sender.is_done(machine.now) {
        machine.round(&mut [&mut reflector, &mut echo, &mut sender]);
    }
    let outcome = sender.outcome();
    assert_eq!((outcome.sent, outcome.answered), (50, 50));
    assert_eq!(reflector.counts().answered, 50);
}

#[test]
fn a_closed_port_is_not_reached_and_sockets_are_reused() {
    let mut server = http::Server::<4>::new(80, TIMEOUT);
    let mut machine = Machine::new();
    // Each uses a socket at both ends: without reuse there would not be enough.
    for _ in 0..3 * TCP {
        let plan = http::Plan {
            to: to(80),
            path: "/5",
            upload: None,
            check: true,
            timeout: TIMEOUT,
        };
        let mut client = http::Client::new(plan);
        machine.run(&mut server, &mut client, http::Client::progress);
        assert_eq!(client.outcome().received, 5);
        let mut lost = http::Client::new(http::Plan { to: to(81), ..plan });
        for _ in 0..20 {
            machine.round(&mut [&mut server, &mut lost]);
        }
        let progress = lost.progress(machine.now);
        assert_eq!(progress, Progress::Failed(http::Failure::NotReached));
    }
}

#[test]
fn excess_connections_are_reset() {
    let mut server = http::Server::<1>::new(80, TIMEOUT);
    let plan = http::Plan {
        to: to(80),
        path: "/400000",
        upload: None,
        check: true,
        timeout: TIMEOUT,
    };
    let mut first = http::Client::new(plan);
    let mut second = http::Client::new(plan);
    let mut machine = Machine::new();
    for _ in 0..20 {
        machine.round(&mut [&mut server, &mut first, &mut second]);
    }
    let failed = [&mut first, &mut second].map(|it| it.progress(machine.now));
    let failed = failed.iter().filter(|it| **it != Progress::Running);
    assert_eq!(failed.count(), 1);
}

/// Connects again and again, and sends nothing.
struct Silent {
    connects: usize,
}

impl Service for Silent {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.connects = self.connects.checked_sub(1)?;
        let to = to(80);
        Some(SocketRequest::Connect { to, token: 0 })
    }

    fn opened(&mut self, _: Connection, _: Opened, _: Instant) -> Result<(), Refused> {
        Ok(())
    }

    fn close(&self, _: Connection) -> Close {
        Close::Keep
    }
}

/// Without sockets that listen, the stack refuses everyone.
#[test]
fn clients_that_send_nothing_give_way() {
    let mut server = http::Server::<TCP>::new(80, Duration::from_secs(30));
    // Each connection takes a socket at both ends.
    let mut silent = Silent { connects: TCP / 2 };
    let mut machine = Machine::new();
    let mut client_after = |machine: &mut Machine, span| {
        let until = machine.now.after(span);
        while machine.now < until {
            machine.round(&mut [&mut server, &mut silent]);
        }
        let mut client = http::Client::new(http::Plan {
            to: to(80),
            path: "/5",
            upload: None,
            check: true,
            timeout: TIMEOUT,
        });
        for _ in 0..100 {
            machine.round(&mut [&mut server, &mut silent, &mut client]);
        }
        client.outcome().received
    };
    assert_eq!(client_after(&mut machine, Duration::from_millis(2_900)), 0);
    assert_eq!(client_after(&mut machine, Duration::from_millis(200)), 5);
}

/// Its datagrams wait for an address that is never resolved: other datagrams must not wait with them forever.
#[test]
fn an_unresolvable_destination_delays_others_only_briefly() {
    let station = EthernetAddress([2, 0, 0, 0, 0, 1]);
    let mut machine = Machine::on(Medium::Ethernet, HardwareAddress::Ethernet(station));
    let nobody = SocketAddr::from(([192, 0, 2, 9], 5001));
    let mut lost = iperf2::Client::new(iperf2::Plan {
        to: nobody,
        ..iperf2_plan(true, false)
    });
    let clock = stamp::Clock::free(Duration::from_micros(1));
    let mut reflector = stamp::Reflector::<2, 4>::new(862, clock);
    let mut sender = stamp::Sender::<64>::new(stamp::Plan {
        to: SocketAddr::from(([192, 0, 2, 255], 862)),
        count: 50,
        interval: Duration::from_millis(200),
        octets: 44,
        timeout: TIMEOUT,
        clock,
        stateful: true,
        session: 3,
    });
    let until = machine.now.after(Duration::from_secs(20));
    while !sender.is_done(machine.now) && machine.now < until {
        machine.round(&mut [&mut lost, &mut reflector, &mut sender]);
        let _ = lost.progress(machine.now);
    }
    // The machine's own address is not resolved either; it is sufficient that it has received them.
    let answered = reflector.counts().answered;
    assert!(answered > 40, "{answered} of 50");
}
