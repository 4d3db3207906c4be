//! One instance of each service, in its own static memory.

#![allow(
    unused_imports,
    unused_variables,
    reason = "which are used depends on the features"
)]

use core::cell::UnsafeCell;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use linerate_agent::{Connection, Instant, Limits, Opened, Service, Udp};
use linerate_agent::{http, iperf2, iperf3, stamp};

/// Memory for a service: its size is in the ELF's symbols.
struct Place<S>(UnsafeCell<MaybeUninit<S>>);

// SAFETY: the program has one thread, and `run` fills each place once.
unsafe impl<S> Sync for Place<S> {}

impl<S> Place<S> {
    const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    fn put(&'static self, service: S) -> &'static mut S {
        // SAFETY: called once for each place, by the only thread.
        unsafe { (*self.0.get()).write(service) }
    }
}

/// Stores a service in its place, and drives it.
macro_rules! drive {
    ($name:ident: $service:ty = $made:expr) => {{
        static $name: Place<$service> = Place::new();
        drive($name.put($made));
    }};
}

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5001);
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs every service enabled by the features, with one test at a time.
pub fn run() -> ! {
    let limits = black_box(Limits::own_network());
    let to = black_box(SERVER);
    loop {
        #[cfg(feature = "iperf2-server")]
        drive!(IPERF2_SERVER: iperf2::Server<1> = iperf2::Server::new(to.port(), limits));
        #[cfg(feature = "iperf2-client")]
        drive!(IPERF2_CLIENT: iperf2::Client = {
            let octets = iperf2::Amount::Octets(black_box(1));
            let span = iperf2::Amount::Span(black_box(TIMEOUT));
            iperf2::Client::new(iperf2::Plan {
                to,
                udp: black_box(true),
                test: iperf2::Test {
                    port: to.port(),
                    buffer_octets: black_box(1470),
                    amount: if black_box(true) { octets } else { span },
                    rate_bits_per_s: black_box(1_000_000),
                    return_test: black_box(iperf2::ReturnTest::No),
                    reverse: black_box(false),
                    full_duplex: black_box(false),
                },
                timeout: TIMEOUT,
            })
        });
        #[cfg(feature = "iperf3-server")]
        drive!(IPERF3_SERVER: iperf3::Server<2> = iperf3::Server::new(to.port(), limits));
        #[cfg(feature = "iperf3-client")]
        drive!(IPERF3_CLIENT: iperf3::Client<2> = iperf3::Client::new(iperf3::Plan {
            to,
            test: black_box(iperf3::Test::default()),
            seed: black_box(1),
            timeout: TIMEOUT,
        }));
        #[cfg(feature = "http-server")]
        drive!(HTTP_SERVER: http::Server<1> = http::Server::new(to.port(), TIMEOUT));
        #[cfg(feature = "http-client")]
        drive!(HTTP_CLIENT: http::Client<'static> = http::Client::new(http::Plan {
            to,
            path: black_box("/1000000"),
            upload: black_box(None),
            check: black_box(false),
            timeout: TIMEOUT,
        }));
        #[cfg(feature = "stamp-reflector")]
        drive!(STAMP_REFLECTOR: stamp::Reflector<1, 2> =
            stamp::Reflector::new(to.port(), black_box(stamp::Clock::free(TIMEOUT))));
        #[cfg(feature = "stamp-sender")]
        drive!(STAMP_SENDER: stamp::Sender<4> = stamp::Sender::new(stamp::Plan {
            to,
            count: black_box(10),
            interval: black_box(TIMEOUT),
            octets: black_box(44),
            timeout: TIMEOUT,
            clock: black_box(stamp::Clock::free(TIMEOUT)),
            stateful: black_box(false),
            session: black_box(0),
        }));
        // Without services: the footprint of the driver alone.
        drive(&mut Nothing);
    }
}

struct Nothing;

impl Service for Nothing {
    fn next_request(&mut self) -> Option<linerate_agent::SocketRequest> {
        None
    }
}

/// Makes every call of a driver.
#[inline(never)]
fn drive(service: &mut dyn Service) {
    let service = black_box(service);
    let now = black_box(Instant::from_ns(1));
    let connection = black_box(Connection(0));
    let mut room = black_box([0; 64]);
    black_box(service.next_request());
    let opened = black_box(Opened::Connected { token: 0 });
    let _ = black_box(service.opened(connection, opened, now));
    service.failed(black_box(0), now);
    service.received(connection, black_box(&room), now);
    black_box(service.fill(connection, &mut room, now));
    service.ended(connection, now);
    service.closed(connection, now);
    black_box(service.close(connection));
    service.datagram(black_box(Udp(0)), black_box(SERVER), &room, now);
    black_box(service.next_datagram(&mut room, now));
    black_box(service.wake_at());
}
