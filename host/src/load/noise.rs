//! What this machine adds to everything that is measured with it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use linerate_results::record::Distribution;
use serde::Serialize;

use super::gaps::Gaps;
use super::pace::Clock;
use super::round_trip::{self, RoundTrips, ping};
use super::udp::Wait;
use super::{LoadError, cpu};
use linerate_results::distribution;

/// A spinning thread that sees no time for longer than this was not running.
const AWAY_NS: u64 = 10_000;
/// Round trips over loopback at most.
const ROUND_TRIPS: u64 = 2_000;

/// What this machine adds.
#[derive(Debug, Clone, Serialize)]
pub struct Noise {
    /// Cores that this process may use.
    pub cores: usize,
    /// How long a thread was watched that did nothing but look at the clock.
    pub watched_ns: u64,
    /// From one look at the clock to the next.
    pub looks: Distribution,
    /// How often more than 10 us passed between them: the system, or the host below it, ran something else.
    pub times_away: u64,
    /// All of that together.
    pub away_ns: u64,
    /// Round trips over loopback; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback: Option<RoundTrips>,
    /// How they were waited for.
    pub loopback_spins: bool,
    /// What could not be had.
    pub notes: Vec<String>,
}

impl std::fmt::Display for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        write!(
            f,
            "noise of this machine: a spinning thread was away {} times in {:.0} ms, {:.1} us at the longest",
            self.times_away,
            self.watched_ns as f64 / 1e6,
            us(self.looks.max_ns)
        )?;
        if let Some(times) = self.loopback.as_ref().and_then(|it| it.times.as_ref()) {
            let how = if self.loopback_spins {
                "spinning"
            } else {
                "sleeping"
            };
            write!(
                f,
                "; loopback's round trip, {how}: {:.1} us (p50), {:.1} us (p99)",
                us(times.p50_ns),
                us(times.p99_ns)
            )?;
        }
        Ok(())
    }
}

/// Watches a spinning thread for `span`, and takes round trips over loopback for as long at most: what no
/// measurement with this machine can be better than. `cores`: for who sends and who sends back.
///
/// # Errors
/// No thread can be had.
pub fn noise_floor(span: Duration, cores: [Option<usize>; 2]) -> Result<Noise, LoadError> {
    let mut notes = Vec::new();
    let clock = Clock::start();
    let (looks, times_away, away_ns) = {
        let pin = cpu::pin(cores[0]);
        if let Err(why) = &pin {
            notes.push(why.clone());
        }
        watch(span, || clock.now_ns())
    };
    let spins = cpu::cores() > 1;
    if !spins {
        notes.push(
            "one core: both ends of a round trip sleep, or each would keep the other from it"
                .to_owned(),
        );
    }
    let loopback = over_loopback(span, if spins { Wait::Spin } else { Wait::Block }, cores);
    let loopback = match loopback {
        Ok(round_trips) => Some(round_trips),
        Err(LoadError::Thread(source)) => return Err(LoadError::Thread(source)),
        Err(error) => {
            notes.push(format!("no round trips over loopback: {error}"));
            None
        }
    };
    Ok(Noise {
        cores: cpu::cores(),
        watched_ns: span.as_nanos() as u64,
        looks,
        times_away,
        away_ns,
        loopback,
        loopback_spins: spins,
        notes,
    })
}

/// Looks at the clock for `span`: the times between looks, and those that are too long.
pub(super) fn watch(span: Duration, mut now_ns: impl FnMut() -> u64) -> (Distribution, u64, u64) {
    let mut gaps = Gaps::new(None);
    let (started, mut away, mut away_ns) = (now_ns(), 0, 0);
    let mut last = started;
    gaps.at(started);
    loop {
        let now = now_ns();
        gaps.at(now);
        if now - last > AWAY_NS {
            away += 1;
            away_ns += now - last;
        }
        last = now;
        if u128::from(now - started) >= span.as_nanos() {
            break;
        }
    }
    let looks = distribution::from_histogram(gaps.histogram());
    (looks.unwrap_or_default(), away, away_ns)
}

fn over_loopback(
    at_most: Duration,
    wait: Wait,
    cores: [Option<usize>; 2],
) -> Result<RoundTrips, LoadError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (tell, told) = channel();
        let stop = || over.load(Ordering::Relaxed);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let run = move || {
            let bound = |at| {
                let _ = tell.send(at);
            };
            round_trip::reflect(address, wait, cores[1], bound, &stop)
        };
        let reflector = thread::Builder::new()
            .spawn_scoped(scope, run)
            .map_err(LoadError::Thread)?;
        let outcome = match told.recv() {
            Ok(target) => ping(&round_trip::Plan {
                target,
                payload_octets: 64,
                count: ROUND_TRIPS,
                at_most,
                wait,
                core: cores[0],
            }),
            // It has ended before it listened, and says why.
            Err(_) => return ended(reflector).and_then(|_| ended_early(address)),
        };
        over.store(true, Ordering::Relaxed);
        ended(reflector)?;
        outcome
    })
}

fn ended(
    reflector: thread::ScopedJoinHandle<'_, Result<u64, LoadError>>,
) -> Result<u64, LoadError> {
    match reflector.join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn ended_early(address: SocketAddr) -> Result<RoundTrips, LoadError> {
    Err(LoadError::Socket {
        step: "reflecting at",
        address,
        source: std::io::Error::other("it has ended before it began"),
    })
}
