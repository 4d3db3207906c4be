//! Forwards frames between two ports in real time.

use super::error::RelayError;
use super::impairment::Impairment;
use super::link::{Delivered, FrameFates, ImpairedLink};
use super::port::{BUFFER, Port};
use linerate_results::record::{RelayDirection, RelayMetrics};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use serde::Serialize;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Frames sent later than this after their due time count as late.
pub const LATE_THRESHOLD_NS: u64 = 100_000;
/// The system wakes threads late: the last part of a wait is spent polling the clock.
const SPIN_NS: u64 = 150_000;
/// Time to poll for the next frame without sleeping after a frame.
const BUSY_POLL_NS: u64 = 200_000;
/// Interval between checks of the stop condition.
const STOP_CHECK_INTERVAL_NS: u64 = 50_000_000;
/// Limit on the turns after the stop, because frames may continue to arrive.
const MAX_DRAIN_TURNS: usize = 1000;
/// Niceness (setpriority(2)) of the relay's thread, if the user may set it.
const HIGHEST_PRIORITY: i32 = -20;
/// Frames read from one port before the other port is served.
const BATCH: usize = 32;

/// Direction of a frame through the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the first port to the second.
    Forward,
    /// From the second to the first.
    Backward,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Backward];
}

/// Configuration of a relay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelayConfig {
    /// Impairment from the first port to the second.
    pub forward: Impairment,
    /// Impairment from the second port to the first.
    pub backward: Impairment,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Never sleep: a frame after a pause is received tens of microseconds sooner, at the cost of one
    /// processor.
    pub busy: bool,
}

/// Callbacks for each frame that passes the relay.
pub trait FrameObserver {
    /// A frame arrived; `fates` is the decision about it and its duplicate.
    fn on_arrival(&mut self, direction: Direction, frame: &[u8], fates: FrameFates);
    /// A frame was sent.
    fn on_departure(
        &mut self,
        direction: Direction,
        delivered: &Delivered,
        transmission: Transmission,
    );
}

/// Transmission of a frame on the output port. The receiving system timestamps its arrival between the
/// two times, which are on the clock of [`Delivered::due_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Start of the write to the interface.
    pub start_ns: u64,
    /// End of the write.
    pub end_ns: u64,
    /// True if the interface accepted the frame.
    pub is_accepted: bool,
}

/// No observer.
impl FrameObserver for () {
    fn on_arrival(&mut self, _: Direction, _: &[u8], _: FrameFates) {}
    fn on_departure(&mut self, _: Direction, _: &Delivered, _: Transmission) {}
}

/// Forwarding state of one direction.
struct Forwarder<'a> {
    direction: Direction,
    from: &'a Port,
    to: &'a Port,
    link: ImpairedLink,
    refused_frames: u64,
    late_frames: u64,
    max_lateness_ns: u64,
}

/// Forwards frames until `stop` returns true; it is polled 20 times a second.
///
/// # Errors
/// Invalid settings, or an interface that failed.
pub fn run(
    ports: [&Port; 2],
    config: &RelayConfig,
    stop: &dyn Fn() -> bool,
    observer: &mut dyn FrameObserver,
) -> Result<RelayMetrics, RelayError> {
    // Best effort: the more the user may set, the fewer frames are late.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = setpriority_process(None, HIGHEST_PRIORITY);
    let [first, second] = ports;
    let forwarder = |direction, from, to, impairment: &Impairment, seed| {
        Ok::<_, RelayError>(Forwarder {
            direction,
            from,
            to,
            link: ImpairedLink::new(impairment.clone(), seed)?,
            refused_frames: 0,
            late_frames: 0,
            max_lateness_ns: 0,
        })
    };
    let seed = config.seed;
    let forwarders = [
        forwarder(Direction::Forward, first, second, &config.forward, seed)?,
        forwarder(Direction::Backward, second, first, &config.backward, !seed)?,
    ];
    let mut relay = Relay {
        forwarders,
        clock: Instant::now(),
        busy: config.busy,
        buffer: vec![0; BUFFER],
        last_frame_ns: 0,
        stop_checked_ns: 0,
        longest_poll_gap_ns: 0,
    };
    relay.forward(stop, observer)?;
    Ok(relay.metrics())
}

struct Relay<'a> {
    forwarders: [Forwarder<'a>; 2],
    clock: Instant,
    busy: bool,
    buffer: Vec<u8>,
    /// Time of the last received frame.
    last_frame_ns: u64,
    /// Time of the last check of the stop condition.
    stop_checked_ns: u64,
    longest_poll_gap_ns: u64,
}

impl Relay<'_> {
    fn forward(
        &mut self,
        stop: &dyn Fn() -> bool,
        observer: &mut dyn FrameObserver,
    ) -> Result<(), RelayError> {
        let mut polled_ns = self.now_ns();
        loop {
            let now_ns = self.now_ns();
            self.longest_poll_gap_ns = self.longest_poll_gap_ns.max(now_ns - polled_ns);
            self.turn(observer)?;
            polled_ns = self.now_ns();
            if polled_ns - self.stop_checked_ns >= STOP_CHECK_INTERVAL_NS {
                self.stop_checked_ns = polled_ns;
                if stop() {
                    return self.drain(observer);
                }
            }
            if let Some(pause_ns) = self.pause_ns(polled_ns) {
                self.sleep(pause_ns)?;
                polled_ns = self.now_ns();
            }
        }
    }

    /// Processes the frames that have arrived until now.
    fn drain(&mut self, observer: &mut dyn FrameObserver) -> Result<(), RelayError> {
        for _ in 0..MAX_DRAIN_TURNS {
            if !self.turn(observer)? {
                break;
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Receives frames and sends those that are due; returns whether any arrived.
    fn turn(&mut self, observer: &mut dyn FrameObserver) -> Result<bool, RelayError> {
        let mut has_received = false;
        let clock = self.clock;
        let now_ns = || clock.elapsed().as_nanos() as u64;
        for forwarder in &mut self.forwarders {
            for _ in 0..BATCH {
                let Some(frame) = forwarder.from.receive(&mut self.buffer)? else {
                    break;
                };
                has_received = true;
                self.last_frame_ns = now_ns();
                let fates = forwarder.link.push(frame.to_vec(), self.last_frame_ns);
                observer.on_arrival(forwarder.direction, frame, fates);
                // Due frames do not wait for the rest of the batch.
                forwarder.send_due(now_ns, observer);
            }
            forwarder.send_due(now_ns, observer);
        }
        Ok(has_received)
    }

    /// Time until the next event; `None` if too short to sleep.
    fn pause_ns(&self, now_ns: u64) -> Option<u64> {
        if self.busy || now_ns - self.last_frame_ns < BUSY_POLL_NS {
            return None;
        }
        let wake_ns = self
            .forwarders
            .iter()
            .filter_map(|forwarder| forwarder.link.wake_at())
            .min();
        let pause_ns = wake_ns.map_or(u64::MAX, |at| at.saturating_sub(now_ns));
        pause_ns
            .checked_sub(SPIN_NS)
            .filter(|pause_ns| *pause_ns > 0)
    }

    /// Sleeps until a frame arrives, at most `pause_ns`.
    fn sleep(&self, pause_ns: u64) -> Result<(), RelayError> {
        let pause = Duration::from_nanos(pause_ns.min(STOP_CHECK_INTERVAL_NS));
        let timeout = Timespec {
            tv_sec: pause.as_secs() as i64,
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        let [forward, backward] = &self.forwarders;
        let mut ports = [forward.from, backward.from].map(|port| PollFd::new(port, PollFlags::IN));
        match poll(&mut ports, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(RelayError::Poll(error.into())),
        }
    }

    fn metrics(self) -> RelayMetrics {
        let span_ns = self.now_ns();
        let [forward, backward] = self.forwarders.map(|forwarder| RelayDirection {
            counts: forwarder.link.counts(),
            refused_frames: forwarder.refused_frames,
            late_frames: forwarder.late_frames,
            max_lateness_ns: forwarder.max_lateness_ns,
            discarded_frames: forwarder.from.discarded_frames(),
        });
        RelayMetrics {
            span_ns,
            forward,
            backward,
            longest_poll_gap_ns: self.longest_poll_gap_ns,
        }
    }
}

impl Forwarder<'_> {
    fn send_due(&mut self, now_ns: impl Fn() -> u64, observer: &mut dyn FrameObserver) {
        loop {
            let start_ns = now_ns();
            let Some(delivered) = self.link.pop(start_ns) else {
                return;
            };
            let is_accepted = self.to.send(&delivered.frame);
            let end_ns = now_ns();
            // Includes the time of the write, after which the frame is delivered.
            let lateness_ns = end_ns.saturating_sub(delivered.due_ns);
            self.refused_frames += u64::from(!is_accepted);
            self.late_frames += u64::from(lateness_ns > LATE_THRESHOLD_NS);
            self.max_lateness_ns = self.max_lateness_ns.max(lateness_ns);
            let transmission = Transmission {
                start_ns,
                end_ns,
                is_accepted,
            };
            observer.on_departure(self.direction, &delivered, transmission);
        }
    }
}
