//! The time that this host adds to a round trip.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use linerate_results::record::Distribution;

use crate::endpoint::{self, NoMonitor, Options, RoundTrips, Trial};
use linerate_host::serve::{self, Limits, Protocol, ServeConfig, ServeEvent};
use linerate_results::distribution;

/// Maximum duration of the requests.
const SPAN: Duration = Duration::from_millis(1_500);
/// Maximum duration of the measurement, with those of the reflector's start and of the last answer.
pub(super) const MAX_DURATION: Duration = Duration::from_secs(10);
/// Ports of the reflector, below the ephemeral ports of systems: it ignores packets from ports below its
/// own, so that two reflectors can't answer each other forever.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Maximum time for the reflector to start.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Measures the round trips `asked` over this host's loopback to a local reflector; `None` if there is
/// no loopback. No measurement from this host can be better than this.
pub fn noise_floor(asked: &RoundTrips) -> Option<Distribution> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = free_port(here)?;
    let order = ServeConfig {
        address: here,
        protocols: vec![(Protocol::Stamp, port)],
        clients: 1,
        limits: Limits::default(),
    };
    let is_over = AtomicBool::new(false);
    let stop = || is_over.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (listening, wait) = channel();
        let (order, stop) = (&order, &stop);
        scope.spawn(move || {
            serve::serve(order, stop, |event| {
                if let ServeEvent::Listening(..) = event {
                    let _ = listening.send(());
                }
            });
        });
        let times = wait
            .recv_timeout(TIMEOUT)
            .ok()
            .and_then(|()| round_trips(port, asked));
        is_over.store(true, Ordering::Relaxed);
        times
    })
}

/// A port that was just free. Each process starts its search at another port, so that it is unlikely
/// to be taken since.
fn free_port(here: IpAddr) -> Option<u16> {
    let first = std::process::id() as u16 % PORTS.len() as u16;
    let mut ports = (PORTS.start + first..PORTS.end).chain(PORTS);
    ports.find(|port| UdpSocket::bind((here, *port)).is_ok())
}

fn round_trips(port: u16, asked: &RoundTrips) -> Option<Distribution> {
    let url = format!("stamp://127.0.0.1:{port}");
    let mut target = endpoint::open(&url, &Options::default()).ok()?;
    let most = SPAN.as_nanos() / asked.interval.as_nanos().max(1);
    let trial = Trial::RoundTrips(RoundTrips {
        count: asked
            .count
            .min(u32::try_from(most).unwrap_or(u32::MAX))
            .max(1),
        load: None,
        ..asked.clone()
    });
    let answers = target.run(&trial, &mut NoMonitor).ok()?.round_trips?;
    distribution::of(answers.samples.iter().map(|it| it.round_trip_ns))
}
