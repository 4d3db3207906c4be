//! Frames to a station and what it sends back: a thread that sends, one that receives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_agent::Instant;
use linerate_agent::frame::{Blast, ETHERTYPE, Fill, OVERHEAD, Plan, renumber};
use linerate_ring::{Receive, Transmit};

use super::matcher::{ExpectedReplies, ReplyMatcher};
use super::pace::SendPacer;
use crate::endpoint::TrialMonitor;
use linerate_host::load::LoadError;
use linerate_host::load::counters::Counters;
use linerate_host::load::pace::Clock;

/// Frames in the hands of the system at most, as far as the ring can be made so small: fewer than a
/// driver has places for.
const SEND_RING: usize = 64;
/// Frames that a system call takes at most.
const BATCH: usize = 32;
/// The receiver's ring, mebioctets.
const RECEIVE_RING: usize = 64;
/// How long answers are waited for after the last frame.
const LAST: Duration = Duration::from_secs(1);
/// How long it is looked whether answers come again when all are there.
const SETTLE: Duration = Duration::from_millis(20);
/// How often it is looked whether it is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The first frame goes so long after the beginning.
const FIRST_NS: u64 = 1_000_000;
/// No Ethernet is slower.
const SLOWEST_BITS_PER_S: f64 = 1e7;
/// What stands in [`Shared::ended_ns`] until all is sent.
const NOT_YET: u64 = u64::MAX;

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExchangeConfig<'a> {
    /// Out of which interface.
    pub(super) interface: &'a str,
    /// What, to whom, and how many.
    pub(super) expected: ExpectedReplies,
    /// From one to the next; 0: back to back.
    pub(super) interval_ns: f64,
    /// What the line carries, if it is known.
    pub(super) line_bits_per_s: Option<u64>,
    /// How long the interface may take no frame.
    pub(super) patience: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct ExchangeResult {
    pub(super) sent: u64,
    pub(super) matched: ReplyMatcher,
    /// What is to be known of the figures.
    pub(super) notes: Vec<String>,
    /// The user has had enough before all were sent.
    pub(super) is_cancelled: bool,
}

/// Why there was no exchange.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// This machine can't.
    Load(LoadError),
    /// It could not keep up; a sentence.
    Slow(String),
}

impl<E: Into<LoadError>> From<E> for ExchangeError {
    fn from(error: E) -> Self {
        Self::Load(error.into())
    }
}

/// What the threads know of each other.
struct Shared {
    clock: Clock,
    /// Nothing more is to be sent or waited for.
    over: AtomicBool,
    sent: AtomicU64,
    answered: AtomicU64,
    /// When the last frame was handed over.
    ended_ns: AtomicU64,
}

/// Sends, and gathers the answers until all are there or none is to be expected any more.
pub(super) fn exchange(
    config: &ExchangeConfig<'_>,
    monitor: &mut dyn TrialMonitor,
) -> Result<ExchangeResult, ExchangeError> {
    let receive = Receive::open(config.interface, Some(ETHERTYPE), RECEIVE_RING)?;
    let transmit = Transmit::open(config.interface, config.expected.octets, SEND_RING)?;
    let bypasses = transmit.bypasses_queue();
    let before = Counters::read(config.interface).ok();
    let shared = Shared {
        clock: Clock::start(),
        over: AtomicBool::new(false),
        sent: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        ended_ns: AtomicU64::new(NOT_YET),
    };
    let mut is_cancelled = false;
    let (sent, received) = thread::scope(|scope| {
        let (done_sender, done) = channel::<()>();
        let shared = &shared;
        let receiving = thread::Builder::new().spawn_scoped(scope, move || {
            // Whoever waits learns by its end that this thread has come to its own.
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
        // Without a receiver nothing is to be sent.
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
            "frames waited in the queueing discipline of {interface}: PACKET_QDISC_BYPASS is not had"
        ));
    }
    if dropped_on_the_way_out > 0 {
        notes.push(format!(
            "{interface} counted {dropped_on_the_way_out} drops on the way out (tx_dropped): frames that this \
             machine has not sent count as lost"
        ));
    }
    if dropped_by_ring > 0 {
        notes.push(format!(
            "{dropped_by_ring} frames came and found no room in this machine's ring: they count as lost"
        ));
    }
    if matched.altered > 0 {
        notes.push(format!(
            "{} answers came with another content than they were sent with, and count as lost",
            matched.altered
        ));
    }
    notes
}

/// Says that nothing more is sent, also by a panic.
struct EndGuard<'a>(&'a Shared);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let now = self.0.clock.now_ns();
        self.0.ended_ns.store(now, Ordering::Relaxed);
    }
}

struct Sender<'a> {
    config: &'a ExchangeConfig<'a>,
    ring: Transmit,
    shared: &'a Shared,
    pace: SendPacer,
    /// The frame of which all others are made.
    frame: Vec<u8>,
    /// When a frame was taken last.
    taken_ns: u64,
    /// All is to be sent by then.
    latest_ns: u64,
}

impl<'a> Sender<'a> {
    fn new(config: &'a ExchangeConfig<'a>, ring: Transmit, shared: &'a Shared) -> Self {
        let expected = config.expected;
        let bits = (expected.octets + OVERHEAD) as f64 * 8.0;
        let frame_ns = config.line_bits_per_s.map(|line| bits * 1e9 / line as f64);
        let first_ns = shared.clock.now_ns() + FIRST_NS;
        let longest_ns = frame_ns.unwrap_or(bits * 1e9 / SLOWEST_BITS_PER_S);
        let span_ns = expected.count as f64 * longest_ns.max(config.interval_ns);
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
        // It has room, and the first one is due at once.
        let _ = Blast::new(plan, start).next(&mut frame, start);
        Self {
            config,
            ring,
            shared,
            pace: SendPacer::new(first_ns, config.interval_ns, frame_ns.unwrap_or(0.0)),
            frame,
            taken_ns: first_ns,
            latest_ns: first_ns + (2.0 * span_ns) as u64 + config.patience.as_nanos() as u64,
        }
    }

    /// Sends all of them, or as many as there are until it is over: how many.
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

    /// Writes what is due and has room: how many.
    fn hand_over(&mut self) -> usize {
        for handed in 0..BATCH {
            let now = self.shared.clock.now_ns();
            let number = self.pace.handed();
            if number >= self.config.expected.count || now < self.pace.due_ns() {
                return handed;
            }
            let Some(room) = self.ring.room() else {
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

    /// Whether there is an end to it.
    fn check(&mut self, has_taken: bool) -> Result<(), ExchangeError> {
        let now = self.shared.clock.now_ns();
        let ExchangeConfig {
            interface,
            patience,
            ..
        } = self.config;
        if has_taken {
            self.taken_ns = now;
        } else if u128::from(now.saturating_sub(self.taken_ns)) > patience.as_nanos() {
            return Err(ExchangeError::Slow(format!(
                "{interface} has taken no frame for {} s; is its line up (`ip link show {interface}`)?",
                patience.as_secs_f64()
            )));
        }
        if now > self.latest_ns {
            return Err(ExchangeError::Slow(format!(
                "{interface} took {} of {} frames in twice the time that was due; take a lower rate",
                self.pace.handed(),
                self.config.expected.count
            )));
        }
        Ok(())
    }
}

/// Takes what comes until all is there, or nothing is to be expected any more; and how many frames the
/// system dropped for want of room.
fn collect_replies(
    mut ring: Receive,
    expected: ExpectedReplies,
    shared: &Shared,
) -> Result<(ReplyMatcher, u64), ExchangeError> {
    let mut matched = ReplyMatcher::new(expected);
    loop {
        let behind_ns = behind_ns(&shared.clock);
        let taken = ring.take(|frame| {
            let at_ns = frame.at_ns.saturating_sub(behind_ns);
            matched.receive(frame.octets, frame.len, at_ns);
        });
        shared.answered.store(matched.answered(), Ordering::Relaxed);
        let ended_ns = shared.ended_ns.load(Ordering::Relaxed);
        if ended_ns != NOT_YET {
            let sent = shared.sent.load(Ordering::Relaxed);
            let has_all = matched.answered() >= sent;
            let longest = if has_all { SETTLE } else { LAST };
            let since = u128::from(shared.clock.now_ns().saturating_sub(ended_ns));
            let is_over = shared.over.load(Ordering::Relaxed) || since > longest.as_nanos();
            // What had come by then is still taken, unless there is no end to it.
            if is_over && (taken.is_none() || since > 2 * LAST.as_nanos()) {
                return Ok((matched, ring.statistics()?.dropped));
            }
        }
        if taken.is_none() {
            ring.wait(POLL_INTERVAL)?;
        }
    }
}

/// How far `clock` is behind the clock of the day, by which the kernel tells when a frame came: asked anew for
/// each block, as that one is set now and then.
fn behind_ns(clock: &Clock) -> u64 {
    let pair = || {
        let before = clock.now_ns();
        let day = SystemTime::now().duration_since(UNIX_EPOCH);
        let between = clock.now_ns() - before;
        let day_ns = day.unwrap_or_default().as_nanos() as u64;
        (between, day_ns.saturating_sub(before + between / 2))
    };
    // The one with the least between has been interrupted the least.
    [pair(), pair(), pair()]
        .into_iter()
        .min()
        .unwrap_or_default()
        .1
}
