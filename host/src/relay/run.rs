//! Carries frames between two ports by the clock.

use super::counts::Counts;
use super::error::RelayError;
use super::impairment::Impairment;
use super::link::{Delivered, Link, Verdict};
use super::port::{BUFFER, Port};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use serde::Serialize;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Later than this is told of.
pub const LATE_NS: u64 = 100_000;
/// The system wakes late: the last part of a wait is spent looking at the clock.
const SPIN_NS: u64 = 150_000;
/// After a frame the next is looked for without sleeping for so long.
const LINGER_NS: u64 = 200_000;
/// How often it is asked whether to stop.
const LOOK_NS: u64 = 50_000_000;
/// At the end at most so often, for frames may go on to come.
const LAST_TURNS: usize = 1000;
/// Of the relay's thread, where the user may have it: the "niceness" of setpriority(2).
const HIGHEST_PRIORITY: i32 = -20;
/// Frames that are taken from a port in a row, then the other has its turn.
const BATCH: usize = 32;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the first port to the second.
    Forward,
    /// From the second to the first.
    Backward,
}

impl Way {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Backward];
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Of frames from the first port to the second.
    pub forward: Impairment,
    /// Of frames from the second to the first.
    pub backward: Impairment,
    /// Of everything random.
    pub seed: u64,
    /// Never sleep: a frame after a pause is seen tens of microseconds sooner, a processor is taken up.
    pub busy: bool,
}

/// Is told of each frame as it passes.
pub trait Witness {
    /// A frame came, and this is to become of it.
    fn came(&mut self, way: Way, frame: &[u8], verdict: Verdict);
    /// A frame went.
    fn went(&mut self, way: Way, delivered: &Delivered, exit: Exit);
}

/// How a frame went. The system notes that it arrived between the two times, which are of the clock of
/// [`Delivered::due_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The relay was about to hand it over.
    pub began_ns: u64,
    /// The interface had it.
    pub ended_ns: u64,
    /// Whether the interface took it.
    pub is_taken: bool,
}

/// Nobody looks.
impl Witness for () {
    fn came(&mut self, _: Way, _: &[u8], _: Verdict) {}
    fn went(&mut self, _: Way, _: &Delivered, _: Exit) {}
}

/// What became of the frames, and how exact the relay was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How long it ran.
    pub span_ns: u64,
    /// What it was started with.
    pub seed: u64,
    /// From the first port to the second.
    pub forward: WayReport,
    /// From the second to the first.
    pub backward: WayReport,
    /// The longest time for which the relay did not look for frames because it was busy or was not
    /// given a processor: what came meanwhile was taken to come at its end.
    pub longest_away_ns: u64,
}

/// One direction's part of a [`Report`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayReport {
    /// The settings.
    pub impairment: Impairment,
    /// What the link did.
    #[serde(flatten)]
    pub counts: Counts,
    /// Of those that went: the interface did not take them, because it was down.
    pub refused_frames: u64,
    /// Of those that went: more than [`LATE_NS`] after they were due.
    pub late_frames: u64,
    /// How late the latest was.
    pub max_lateness_ns: u64,
    /// Frames that the system discarded before the relay saw them, for it was too slow; absent if that
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded_frames: Option<u64>,
}

impl Report {
    /// Whether the relay did what its settings say: nothing late, nothing discarded unseen.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let good = |way: &WayReport| way.late_frames == 0 && way.discarded_frames.unwrap_or(0) == 0;
        good(&self.forward) && good(&self.backward)
    }
}

/// One direction at work.
struct Lane<'a> {
    way: Way,
    from: &'a Port,
    to: &'a Port,
    link: Link,
    refused_frames: u64,
    late_frames: u64,
    max_lateness_ns: u64,
}

/// Carries frames until `stop` says so; it is asked 20 times a second.
///
/// # Errors
/// Settings that cannot be, or an interface that is gone.
pub fn run(
    ports: [&Port; 2],
    plan: &Plan,
    stop: &dyn Fn() -> bool,
    witness: &mut dyn Witness,
) -> Result<Report, RelayError> {
    // What a user may have of it: the more, the less often is a frame late.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = setpriority_process(None, HIGHEST_PRIORITY);
    let [first, second] = ports;
    let lane = |way, from, to, impairment: &Impairment, seed| {
        Ok::<_, RelayError>(Lane {
            way,
            from,
            to,
            link: Link::new(impairment.clone(), seed)?,
            refused_frames: 0,
            late_frames: 0,
            max_lateness_ns: 0,
        })
    };
    let seed = plan.seed;
    let lanes = [
        lane(Way::Forward, first, second, &plan.forward, seed)?,
        lane(Way::Backward, second, first, &plan.backward, !seed)?,
    ];
    let mut relay = Relay {
        lanes,
        clock: Instant::now(),
        busy: plan.busy,
        buffer: vec![0; BUFFER],
        active_ns: 0,
        asked_ns: 0,
        longest_away_ns: 0,
    };
    relay.carry(stop, witness)?;
    Ok(relay.report(seed))
}

struct Relay<'a> {
    lanes: [Lane<'a>; 2],
    clock: Instant,
    busy: bool,
    buffer: Vec<u8>,
    /// When a frame was last seen.
    active_ns: u64,
    /// When it was last asked whether to stop.
    asked_ns: u64,
    longest_away_ns: u64,
}

impl Relay<'_> {
    fn carry(
        &mut self,
        stop: &dyn Fn() -> bool,
        witness: &mut dyn Witness,
    ) -> Result<(), RelayError> {
        let mut looked_ns = self.now_ns();
        loop {
            let now_ns = self.now_ns();
            self.longest_away_ns = self.longest_away_ns.max(now_ns - looked_ns);
            self.turn(witness)?;
            looked_ns = self.now_ns();
            if looked_ns - self.asked_ns >= LOOK_NS {
                self.asked_ns = looked_ns;
                if stop() {
                    return self.last_turns(witness);
                }
            }
            if let Some(pause_ns) = self.pause_ns(looked_ns) {
                self.sleep(pause_ns)?;
                looked_ns = self.now_ns();
            }
        }
    }

    /// What came until now is still told of.
    fn last_turns(&mut self, witness: &mut dyn Witness) -> Result<(), RelayError> {
        for _ in 0..LAST_TURNS {
            if !self.turn(witness)? {
                break;
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Takes what came, sends what is due; whether anything came.
    fn turn(&mut self, witness: &mut dyn Witness) -> Result<bool, RelayError> {
        let mut came = false;
        let clock = self.clock;
        let now_ns = || clock.elapsed().as_nanos() as u64;
        for lane in &mut self.lanes {
            for _ in 0..BATCH {
                let Some(frame) = lane.from.receive(&mut self.buffer)? else {
                    break;
                };
                came = true;
                self.active_ns = now_ns();
                let verdict = lane.link.push(frame.to_vec(), self.active_ns);
                witness.came(lane.way, frame, verdict);
                // What is due does not wait for the rest of the batch.
                lane.send_due(now_ns, witness);
            }
            lane.send_due(now_ns, witness);
        }
        Ok(came)
    }

    /// How long nothing is to be done; `None` if it is not worth to sleep.
    fn pause_ns(&self, now_ns: u64) -> Option<u64> {
        if self.busy || now_ns - self.active_ns < LINGER_NS {
            return None;
        }
        let wake_ns = self
            .lanes
            .iter()
            .filter_map(|lane| lane.link.wake_at())
            .min();
        let pause_ns = wake_ns.map_or(u64::MAX, |at| at.saturating_sub(now_ns));
        pause_ns
            .checked_sub(SPIN_NS)
            .filter(|pause_ns| *pause_ns > 0)
    }

    /// Sleeps until a frame comes, at most so long.
    fn sleep(&self, pause_ns: u64) -> Result<(), RelayError> {
        let pause = Duration::from_nanos(pause_ns.min(LOOK_NS));
        let timeout = Timespec {
            tv_sec: pause.as_secs() as i64,
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        let [forward, backward] = &self.lanes;
        let mut ports = [forward.from, backward.from].map(|port| PollFd::new(port, PollFlags::IN));
        match poll(&mut ports, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(RelayError::Wait(error.into())),
        }
    }

    fn report(self, seed: u64) -> Report {
        let span_ns = self.now_ns();
        let [forward, backward] = self.lanes.map(|lane| WayReport {
            impairment: lane.link.impairment().clone(),
            counts: lane.link.counts(),
            refused_frames: lane.refused_frames,
            late_frames: lane.late_frames,
            max_lateness_ns: lane.max_lateness_ns,
            discarded_frames: lane.from.discarded_frames(),
        });
        Report {
            span_ns,
            seed,
            forward,
            backward,
            longest_away_ns: self.longest_away_ns,
        }
    }
}

impl Lane<'_> {
    fn send_due(&mut self, now_ns: impl Fn() -> u64, witness: &mut dyn Witness) {
        loop {
            let began_ns = now_ns();
            let Some(delivered) = self.link.pop(began_ns) else {
                return;
            };
            let is_taken = self.to.send(&delivered.frame);
            let ended_ns = now_ns();
            // With what the system needed to take it: then it is there.
            let lateness_ns = ended_ns.saturating_sub(delivered.due_ns);
            self.refused_frames += u64::from(!is_taken);
            self.late_frames += u64::from(lateness_ns > LATE_NS);
            self.max_lateness_ns = self.max_lateness_ns.max(lateness_ns);
            let exit = Exit {
                began_ns,
                ended_ns,
                is_taken,
            };
            witness.went(self.way, &delivered, exit);
        }
    }
}
