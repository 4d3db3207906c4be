//! Sends frames to a station and receives its answers, in two threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_agent::Instant;
use linerate_agent::frame::{Blast, ETHERTYPE, Fill, OVERHEAD, Plan, renumber};
use linerate_ring::{ReceiveRing, TransmitRing};

use super::matcher::{ExpectedReplies, ReplyMatcher};
use super::pace::SendPacer;
use crate::endpoint::TrialMonitor;
use linerate_host::load::LoadError;
use linerate_host::load::counters::Counters;
use linerate_host::load::pace::Clock;

/// Size of the transmit ring, if the system permits one this small: fewer frames than a driver's
/// queue holds.
const SEND_RING: usize = 64;
/// Maximum number of frames per system call.
const BATCH: usize = 32;
/// Size of the receive ring, MiB.
const RECEIVE_RING: usize = 64;
/// Time without any frame after which no more answers are expected, once all is sent. It is counted in waits of
/// [`POLL_INTERVAL`] that ended without a frame, not by the clock: a host that stands still as a whole (a virtual machine that is
/// not scheduled) has not waited.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time of receiving after the last frame was sent, whatever arrives.
const LAST_ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Time to wait for duplicate answers once all are received.
const SETTLE: Duration = Duration::from_millis(20);
/// Interval of checks for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Delay before the first frame.
const FIRST_NS: u64 = 1_000_000;
/// The slowest Ethernet.
const SLOWEST_BITS_PER_S: f64 = 1e7;
/// Value of [`Shared::ended_ns`] until all is sent.
const NOT_ENDED: u64 = u64::MAX;

/// Configuration of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExchangeConfig<'a> {
    /// The interface.
    pub(super) interface: &'a str,
    /// The frames to send, which are expected back.
    pub(super) expected: ExpectedReplies,
    /// Interval between frames; 0: back to back.
    pub(super) interval_ns: f64,
    /// The line rate, if known.
    pub(super) line_bits_per_s: Option<u64>,
    /// Maximum time without a frame taken by the interface.
    pub(super) timeout: Duration,
}

/// Result of an exchange.
#[derive(Debug)]
pub(super) struct ExchangeResult {
    pub(super) sent: u64,
    pub(super) matched: ReplyMatcher,
    /// Notes on the figures.
    pub(super) notes: Vec<String>,
    /// The user cancelled before all were sent.
    pub(super) is_cancelled: bool,
}

/// Why an exchange failed.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// This host does not support it.
    Load(LoadError),
    /// The interface was too slow; a sentence.
    Slow(String),
}

impl<E: Into<LoadError>> From<E> for ExchangeError {
    fn from(error: E) -> Self {
        Self::Load(error.into())
    }
}

/// State shared by the threads.
struct Shared {
    clock: Clock,
    /// Stops sending and receiving.
    over: AtomicBool,
    sent: AtomicU64,
    answered: AtomicU64,
    /// When the last frame was handed over.
    ended_ns: AtomicU64,
}

/// Sends the frames, and collects the answers until all are received or no more are expected.
pub(super) fn exchange(
    config: &ExchangeConfig<'_>,
    monitor: &mut dyn TrialMonitor,
) -> Result<ExchangeResult, ExchangeError> {
    let receive = ReceiveRing::open(config.interface, Some(ETHERTYPE), RECEIVE_RING)?;
    let transmit = TransmitRing::open(config.interface, config.expected.octets, SEND_RING)?;
    let bypasses = transmit.bypasses_queue();
    let before = Counters::read(config.interface).ok();
    let shared = Shared {
        clock: Clock::start(),
        over: AtomicBool::new(false),
        sent: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        ended_ns: AtomicU64::new(NOT_ENDED),
    };
    let mut is_cancelled = false;
    let (sent, received) = thread::scope(|scope| {
        let (done_sender, done) = channel::<()>();
        let shared = &shared;
        let receiving = thread::Builder::new().spawn_scoped(scope, move || {
            // Dropping it signals the end of this thread.
            let _done_sender = done_sender;
            collect_replies(receive, config.expected, shared)
        });
        let receiving = receiving.map_err(LoadError::Thread)?;
        let sending = thread::Builder::new().spawn_scoped(scope, move || {
            let _ended = EndGuard(shared);
            Sender::new(config, transmit, shared).send()
        });
        let sending = match sending {
            Ok(sending) => sending,
            Err(error) => {
                shared.over.store(true, Ordering::Relaxed);
                return Err(ExchangeError::Load(LoadError::Thread(error)));
            }
        };
        while done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let frames =
                shared.sent.load(Ordering::Relaxed) + shared.answered.load(Ordering::Relaxed);
            let since_begin = Duration::from_nanos(shared.clock.now_ns());
            monitor.update(since_begin, frames * config.expected.octets as u64);
            if monitor.is_cancelled() {
                is_cancelled = true;
                shared.over.store(true, Ordering::Relaxed);
            }
        }
        // Without a receiver, sending stops.
        shared.over.store(true, Ordering::Relaxed);
        Ok((joined(sending), joined(receiving)))
    })?;
    let (matched, dropped_by_ring) = received?;
    let sent = sent?;
    let after = Counters::read(config.interface).ok();
    let dropped_on_the_way_out = before
        .zip(after)
        .map_or(0, |(before, after)| after.since(&before).tx_dropped);
    Ok(ExchangeResult {
        notes: notes(
            config,
            &matched,
            bypasses,
            dropped_by_ring,
            dropped_on_the_way_out,
        ),
        is_cancelled: is_cancelled && sent < config.expected.count,
        sent,
        matched,
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn notes(
    config: &ExchangeConfig<'_>,
    matched: &ReplyMatcher,
    bypasses: bool,
    dropped_by_ring: u64,
    dropped_on_the_way_out: u64,
) -> Vec<String> {
    let interface = config.interface;
    let mut notes = Vec::new();
    if !bypasses {
        notes.push(format!(
            "frames passed through the queueing discipline of {interface}: PACKET_QDISC_BYPASS is unavailable"
        ));
    }
    if dropped_on_the_way_out > 0 {
        notes.push(format!(
            "{interface} counted {dropped_on_the_way_out} dropped transmit frames (tx_dropped): frames that this \
             host has not sent count as lost"
        ));
    }
    if dropped_by_ring > 0 {
        notes.push(format!(
            "{dropped_by_ring} received frames overflowed this host's ring: they count as lost"
        ));
    }
    if matched.altered > 0 {
        notes.push(format!(
            "{} answers were altered on the way, and count as lost",
            matched.altered
        ));
    }
    notes
}

/// Time of a frame of `octets` and its gap on the line.
fn frame_ns(octets: usize, line_bits_per_s: f64) -> f64 {
    (octets + OVERHEAD) as f64 * 8.0 * 1e9 / line_bits_per_s
}

/// The longest time of sending: twice the expected one, and a timeout.
fn send_limit(config: &ExchangeConfig<'_>) -> Duration {
    let expected = config.expected;
    let line = config
        .line_bits_per_s
        .map_or(SLOWEST_BITS_PER_S, |line| line as f64);
    let interval_ns = frame_ns(expected.octets, line).max(config.interval_ns);
    let twice_ns = 2.0 * expected.count as f64 * interval_ns;
    Duration::from_nanos(twice_ns as u64).saturating_add(config.timeout)
}

/// The longest time of an exchange, whatever the station does.
pub(super) fn limit(config: &ExchangeConfig<'_>) -> Duration {
    let around = Duration::from_nanos(FIRST_NS) + LAST_ANSWER_LIMIT + POLL_INTERVAL;
    send_limit(config).saturating_add(around)
}

/// Marks the end of sending, even after a panic.
struct EndGuard<'a>(&'a Shared);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let now = self.0.clock.now_ns();
        self.0.ended_ns.store(now, Ordering::Relaxed);
    }
}

struct Sender<'a> {
    config: &'a ExchangeConfig<'a>,
    ring: TransmitRing,
    shared: &'a Shared,
    pace: SendPacer,
    /// The template of all frames.
    frame: Vec<u8>,
    /// Time of the last frame taken.
    taken_ns: u64,
    /// Deadline for the last frame.
    latest_ns: u64,
}

impl<'a> Sender<'a> {
    fn new(config: &'a ExchangeConfig<'a>, ring: TransmitRing, shared: &'a Shared) -> Self {
        let expected = config.expected;
        let frame_ns = config
            .line_bits_per_s
            .map(|line| frame_ns(expected.octets, line as f64));
        let first_ns = shared.clock.now_ns() + FIRST_NS;
        let mut frame = vec![0; expected.octets];
        let plan = Plan {
            to: expected.station,
            from: expected.own,
            stream: expected.stream,
            sizes: &[expected.octets as u16],
            fill: Fill::Octet(0),
            reflect: true,
            count: 1,
            rate_bits_per_s: 0,
        };
        let start = Instant::from_ns(0);
        // The buffer is large enough, and the first frame is due at once.
        let _ = Blast::new(plan, start).next(&mut frame, start);
        Self {
            config,
            ring,
            shared,
            pace: SendPacer::new(first_ns, config.interval_ns, frame_ns.unwrap_or(0.0)),
            frame,
            taken_ns: first_ns,
            latest_ns: first_ns + send_limit(config).as_nanos() as u64,
        }
    }

    /// Sends all frames, or until it is stopped. Returns the number sent.
    fn send(mut self) -> Result<u64, ExchangeError> {
        let mut is_flushed = true;
        while self.pace.handed() < self.config.expected.count && !self.is_over() {
            let now = self.shared.clock.now_ns();
            let due = self.pace.due_ns();
            if is_flushed && now < due {
                let look = now + POLL_INTERVAL.as_nanos() as u64;
                self.shared.clock.wait_until(due.min(look));
                self.taken_ns = self.shared.clock.now_ns();
                continue;
            }
            let handed = self.hand_over();
            is_flushed = self.ring.flush()?;
            self.check(handed > 0)?;
        }
        while !is_flushed && !self.is_over() {
            thread::yield_now();
            is_flushed = self.ring.flush()?;
            self.check(false)?;
        }
        Ok(self.pace.handed())
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }

    /// Writes the due frames that fit into the ring. Returns their number.
    fn hand_over(&mut self) -> usize {
        for handed in 0..BATCH {
            let now = self.shared.clock.now_ns();
            let number = self.pace.handed();
            if number >= self.config.expected.count || now < self.pace.due_ns() {
                return handed;
            }
            let Some(room) = self.ring.next_slot() else {
                return handed;
            };
            let room = &mut room[..self.frame.len()];
            room.copy_from_slice(&self.frame);
            renumber(room, number, now);
            self.ring.commit(self.frame.len());
            self.pace.hand_over(now);
            self.shared.sent.store(number + 1, Ordering::Relaxed);
        }
        BATCH
    }

    /// Fails if the interface is stuck or too slow.
    fn check(&mut self, has_taken: bool) -> Result<(), ExchangeError> {
        let now = self.shared.clock.now_ns();
        let ExchangeConfig {
            interface, timeout, ..
        } = self.config;
        if has_taken {
            self.taken_ns = now;
        } else if u128::from(now.saturating_sub(self.taken_ns)) > timeout.as_nanos() {
            return Err(ExchangeError::Slow(format!(
                "{interface} has taken no frame for {} s; is its line up (`ip link show {interface}`)?",
                timeout.as_secs_f64()
            )));
        }
        if now > self.latest_ns {
            return Err(ExchangeError::Slow(format!(
                "{interface} took {} of {} frames in twice the expected time; use a lower rate",
                self.pace.handed(),
                self.config.expected.count
            )));
        }
        Ok(())
    }
}

/// Receives until all answers are in, or no more are expected. Also returns the number of frames that
/// the system dropped because its ring was full.
fn collect_replies(
    mut ring: ReceiveRing,
    expected: ExpectedReplies,
    shared: &Shared,
) -> Result<(ReplyMatcher, u64), ExchangeError> {
    let mut matched = ReplyMatcher::new(expected);
    let mut quiet = Duration::ZERO;
    loop {
        let behind_ns = behind_ns(&shared.clock);
        let taken = ring.take(|frame| {
            let at_ns = frame.at_ns.saturating_sub(behind_ns);
            matched.receive(frame.octets, frame.len, at_ns);
        });
        shared.answered.store(matched.answered(), Ordering::Relaxed);
        let ended_ns = shared.ended_ns.load(Ordering::Relaxed);
        if taken.is_some() || ended_ns == NOT_ENDED {
            quiet = Duration::ZERO;
        }
        if ended_ns != NOT_ENDED {
            let has_all = matched.answered() >= shared.sent.load(Ordering::Relaxed);
            let longest = if has_all { SETTLE } else { LAST_ANSWER_TIMEOUT };
            let since_ns = shared.clock.now_ns().saturating_sub(ended_ns);
            // Frames already received are still processed, within a limit.
            let is_over = shared.over.load(Ordering::Relaxed) || quiet >= longest;
            if is_over && taken.is_none() || Duration::from_nanos(since_ns) > LAST_ANSWER_LIMIT {
                return Ok((matched, ring.statistics()?.dropped));
            }
        }
        if taken.is_none() && !ring.wait(POLL_INTERVAL)? {
            quiet += POLL_INTERVAL;
        }
    }
}

/// Offset of `clock` to the wall clock, which the kernel uses to time received frames: measured again for each
/// block, as the wall clock may be adjusted.
fn behind_ns(clock: &Clock) -> u64 {
    let pair = || {
        let before = clock.now_ns();
        let day = SystemTime::now().duration_since(UNIX_EPOCH);
        let between = clock.now_ns() - before;
        let day_ns = day.unwrap_or_default().as_nanos() as u64;
        (between, day_ns.saturating_sub(before + between / 2))
    };
    // The one with the shortest reading time was interrupted the least.
    [pair(), pair(), pair()]
        .into_iter()
        .min()
        .unwrap_or_default()
        .1
}
