//! Noise floor: the host's contribution to every measurement.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use linerate_results::record::Distribution;
use serde::Serialize;

use super::gaps::Gaps;
use super::pace::Clock;
use super::round_trip::{self, PingReport, ping};
use super::udp::WaitMode;
use super::{LoadError, cpu};
use linerate_results::distribution;

/// A polling thread with a longer gap between clock reads was preempted.
const PREEMPTED_NS: u64 = 10_000;
/// Maximum number of round trips over loopback.
const MAX_ROUND_TRIPS: u64 = 2_000;

/// Noise floor of the host.
#[derive(Debug, Clone, Serialize)]
pub struct Noise {
    /// Cores that this process may use.
    pub cores: usize,
    /// Duration for which a thread polled the clock.
    pub watched_ns: u64,
    /// Times between clock reads.
    pub read_intervals: Distribution,
    /// Number of times between clock reads above 10 us: the system, or its hypervisor, ran something else.
    pub preemptions: u64,
    /// Sum of these times.
    pub preempted_ns: u64,
    /// Round trips over loopback; absent if unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback: Option<PingReport>,
    /// True if they were measured by polling.
    pub loopback_spins: bool,
    /// Features that were unavailable.
    pub notes: Vec<String>,
}

impl std::fmt::Display for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        write!(
            f,
            "host noise: a polling thread was preempted {} times in {:.0} ms, for at most {:.1} us",
            self.preemptions,
            self.watched_ns as f64 / 1e6,
            us(self.read_intervals.max_ns)
        )?;
        if let Some(times) = self.loopback.as_ref().and_then(|it| it.times.as_ref()) {
            let how = if self.loopback_spins {
                "polling"
            } else {
                "sleeping"
            };
            write!(
                f,
                "; loopback round trip, {how}: {:.1} us (p50), {:.1} us (p99)",
                us(times.p50_ns),
                us(times.p99_ns)
            )?;
        }
        Ok(())
    }
}

/// Polls the clock for `span` and measures round trips over loopback for at most as long: no measurement with
/// this machine can be better. `cores`: of the sender and the reflector.
///
/// # Errors
/// A thread cannot be created.
pub fn noise_floor(span: Duration, cores: [Option<usize>; 2]) -> Result<Noise, LoadError> {
    let mut notes = Vec::new();
    let clock = Clock::start();
    let (read_intervals, preemptions, preempted_ns) = {
        let pin = cpu::pin(cores[0]);
        if let Err(why) = &pin {
            notes.push(why.clone());
        }
        watch(span, || clock.now_ns())
    };
    let spins = cpu::cores() > 1;
    if !spins {
        notes.push(
            "one core: both ends of a round trip sleep, because polling would block the other end"
                .to_owned(),
        );
    }
    let loopback = over_loopback(
        span,
        if spins {
            WaitMode::Spin
        } else {
            WaitMode::Block
        },
        cores,
    );
    let loopback = match loopback {
        Ok(round_trips) => Some(round_trips),
        Err(LoadError::Thread(source)) => return Err(LoadError::Thread(source)),
        Err(error) => {
            notes.push(format!("loopback round trips unavailable: {error}"));
            None
        }
    };
    Ok(Noise {
        cores: cpu::cores(),
        watched_ns: span.as_nanos() as u64,
        read_intervals,
        preemptions,
        preempted_ns,
        loopback,
        loopback_spins: spins,
        notes,
    })
}

/// Polls the clock for `span`; returns the times between reads, and number and sum of those that are too
/// long.
pub(super) fn watch(span: Duration, mut now_ns: impl FnMut() -> u64) -> (Distribution, u64, u64) {
    let mut gaps = Gaps::new(None);
    let (started, mut preemptions, mut preempted_ns) = (now_ns(), 0, 0);
    let mut last = started;
    gaps.record(started);
    loop {
        let now = now_ns();
        gaps.record(now);
        if now - last > PREEMPTED_NS {
            preemptions += 1;
            preempted_ns += now - last;
        }
        last = now;
        if u128::from(now - started) >= span.as_nanos() {
            break;
        }
    }
    let read_intervals = distribution::from_histogram(gaps.histogram());
    (
        read_intervals.unwrap_or_default(),
        preemptions,
        preempted_ns,
    )
}

fn over_loopback(
    max_duration: Duration,
    wait: WaitMode,
    cores: [Option<usize>; 2],
) -> Result<PingReport, LoadError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (address_tx, address_rx) = channel();
        let stop = || over.load(Ordering::Relaxed);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let run = move || {
            let bound = |at| {
                let _ = address_tx.send(at);
            };
            round_trip::reflect(address, wait, cores[1], bound, &stop)
        };
        let reflector = thread::Builder::new()
            .spawn_scoped(scope, run)
            .map_err(LoadError::Thread)?;
        let outcome = match address_rx.recv() {
            Ok(target) => ping(&round_trip::PingConfig {
                target,
                payload_octets: 64,
                count: MAX_ROUND_TRIPS,
                max_duration,
                wait,
                core: cores[0],
            }),
            // It ended before it was bound; its error gives the reason.
            Err(_) => return joined(reflector).and_then(|_| ended_early(address)),
        };
        over.store(true, Ordering::Relaxed);
        joined(reflector)?;
        outcome
    })
}

fn joined(
    reflector: thread::ScopedJoinHandle<'_, Result<u64, LoadError>>,
) -> Result<u64, LoadError> {
    match reflector.join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn ended_early(address: SocketAddr) -> Result<PingReport, LoadError> {
    Err(LoadError::Socket {
        step: "reflecting at",
        address,
        source: std::io::Error::other("the reflector ended before it was bound"),
    })
}
