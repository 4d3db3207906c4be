//! One instance of each service, in its own static memory.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    unused_variables,
    reason = "which are used depends on the features"
)]

use core::convert::Infallible;
use core::hint::black_box;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use crate::place::Place;
use linerate_agent::{Instant, Limits, Service, SocketRequest};
use linerate_agent::{http, iperf2, iperf3, stamp};

/// Stores a service in its place, and reads its results, as firmware does.
macro_rules! place {
    ($name:ident: $service:ty = $made:expr, $it:ident => $report:expr) => {{
        static $name: Place<$service> = Place::new();
        let $it = black_box($name.put($made));
        $report;
        $it
    }};
}

/// The address of the server, or of another one.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5001);
/// Words of the history of a stream of datagrams: 256 numbers.
const HISTORY: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Calls `drive` with every service that the features select, for one test of each at a time.
pub fn with_all(drive: impl FnOnce(&mut [&mut dyn Service]) -> Infallible) -> Infallible {
    let limits = black_box(Limits::own_network());
    let to = black_box(SERVER);
    drive(&mut [
        #[cfg(feature = "iperf2-server")]
        place!(
            IPERF2_SERVER: iperf2::Server<1, HISTORY> = iperf2::Server::new(to.port(), limits),
            it => black_box(it.take_finished())
        ),
        #[cfg(feature = "iperf2-client")]
        place!(
            IPERF2_CLIENT: iperf2::Client = {
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
            },
            it => {
                black_box(it.progress(black_box(Instant::from_ns(1))));
                black_box(it.outcome(black_box(Instant::from_ns(1))));
            }
        ),
        #[cfg(feature = "iperf3-server")]
        place!(
            IPERF3_SERVER: iperf3::Server<2, HISTORY> = iperf3::Server::new(to.port(), limits),
            it => black_box(it.take_finished())
        ),
        #[cfg(feature = "iperf3-client")]
        place!(
            IPERF3_CLIENT: iperf3::Client<2> = iperf3::Client::new(iperf3::Plan {
                to,
                test: black_box(iperf3::Test::default()),
                seed: black_box(1),
                timeout: TIMEOUT,
            }),
            it => {
                black_box(it.progress(black_box(Instant::from_ns(1))));
                black_box(it.outcome(black_box(Instant::from_ns(1))));
            }
        ),
        #[cfg(feature = "http-server")]
        place!(
            HTTP_SERVER: http::Server<1> = http::Server::new(to.port(), TIMEOUT),
            it => black_box(it.take_finished())
        ),
        #[cfg(feature = "http-client")]
        place!(
            HTTP_CLIENT: http::Client<'static> = http::Client::new(http::Plan {
                to,
                path: black_box("/1000000"),
                upload: black_box(None),
                check: black_box(false),
                timeout: TIMEOUT,
            }),
            it => {
                black_box(it.progress(black_box(Instant::from_ns(1))));
                black_box(it.outcome());
            }
        ),
        #[cfg(feature = "stamp-reflector")]
        place!(
            STAMP_REFLECTOR: stamp::Reflector<1, 2> =
                stamp::Reflector::new(to.port(), black_box(stamp::Clock::free(TIMEOUT))),
            it => black_box(it.counts())
        ),
        #[cfg(feature = "stamp-sender")]
        place!(
            STAMP_SENDER: stamp::Sender<4> = stamp::Sender::new(stamp::Plan {
                to,
                count: black_box(10),
                interval: black_box(TIMEOUT),
                octets: black_box(44),
                timeout: TIMEOUT,
                clock: black_box(stamp::Clock::free(TIMEOUT)),
                stateful: black_box(false),
                session: black_box(0),
            }),
            it => black_box(it.outcome())
        ),
        // Without services: the footprint of the driver alone.
        &mut Nothing,
    ])
}

struct Nothing;

impl Service for Nothing {
    fn next_request(&mut self) -> Option<SocketRequest> {
        None
    }
}
