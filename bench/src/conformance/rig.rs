//! The board under test.

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_sim::peer::host::program::{Handle, Program};
use serde::Deserialize;

use super::CaseFailure;
use super::exchange::{Exchange, STREAM, TestFrame};
use crate::endpoint::{BoardSession, TrialMonitor};

/// Counters of received frames lost for lack of buffers (`linerate_ether::ledger::Counter`).
const OVERFLOW_COUNTERS: [&str; 3] = ["RxFifoOverruns", "RxRingFull", "RxQueueFull"];

/// The device's counts of the frames.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct FrameCounts {
    /// Frames for it, unaltered.
    pub frames: u64,
    /// Frames with altered content.
    pub altered: u64,
    /// Frames for another station.
    pub for_others: u64,
}

/// A board, and the host at the other end of its cable.
pub struct Rig<'a> {
    pub session: BoardSession,
    /// Frames of a case that does not set its own number.
    pub frames: u64,
    monitor: &'a mut dyn TrialMonitor,
}

impl<'a> Rig<'a> {
    /// A rig with a board that is ready.
    pub fn new(session: BoardSession, frames: u64, monitor: &'a mut dyn TrialMonitor) -> Self {
        Self {
            session,
            frames,
            monitor,
        }
    }

    /// Frames that the device buffers while it is idle.
    pub const fn burst(&self) -> usize {
        self.session.burst
    }

    /// Sends these frames, as many at a time as the device buffers, and checks that all come back in order
    /// and unaltered. Returns their number.
    pub fn exchange(
        &mut self,
        frames: impl Iterator<Item = TestFrame> + Send + 'static,
    ) -> Result<u64, CaseFailure> {
        self.exchange_by(self.burst(), frames)
    }

    /// The same, with at most `window` frames in transit.
    pub fn exchange_by(
        &mut self,
        window: usize,
        frames: impl Iterator<Item = TestFrame> + Send + 'static,
    ) -> Result<u64, CaseFailure> {
        let handle = self.session.start(Exchange::new(frames, window))?;
        self.until(handle, Exchange::is_complete)?;
        Ok(self.finish(handle)?.sent)
    }

    /// Runs the board until `is_over`, as long as there is progress.
    pub fn until(
        &mut self,
        handle: Handle,
        is_over: impl Fn(&Exchange) -> bool,
    ) -> Result<(), CaseFailure> {
        let begun = self.wait(handle, self.session.timeout, is_over)?;
        begun.then_some(()).ok_or_else(|| {
            let seconds = self.session.timeout.as_secs();
            let exchange = self.session.with(handle, |it: &mut Exchange| {
                let wrong = it
                    .faults
                    .summary()
                    .map_or_else(String::new, |it| format!(": {it}"));
                format!("{} of {} frames came back{wrong}", it.answered, it.sent)
            });
            let what = exchange.unwrap_or_else(|error| error.to_string());
            let counts = self
                .frame_counts()
                .map_or_else(|CaseFailure(error)| error, |it| format!("{it:?}"));
            CaseFailure(format!(
                "no progress for {seconds} s after {what}; the device: {counts}"
            ))
        })
    }

    /// Runs the board until `is_over` (`true`), or until there is no progress for `timeout`.
    pub fn wait(
        &mut self,
        handle: Handle,
        timeout: Duration,
        is_over: impl Fn(&Exchange) -> bool,
    ) -> Result<bool, CaseFailure> {
        self.wait_for(handle, timeout, is_over, Exchange::progress)
    }

    /// The same, for any program.
    pub fn wait_for<P: Program>(
        &mut self,
        handle: Handle,
        timeout: Duration,
        is_over: impl Fn(&P) -> bool,
        progress: impl Fn(&P) -> u64,
    ) -> Result<bool, CaseFailure> {
        let mut last = (0, self.session.now());
        let mut done = false;
        self.session.run_until(self.monitor, |session| {
            let now = session.now();
            let (over, progress) =
                session.with(handle, |it: &mut P| (is_over(it), progress(it)))?;
            if progress != last.0 {
                last = (progress, now);
            }
            done = over;
            Ok(over || now.since(last.1) >= timeout)
        })?;
        if !done && self.monitor.is_cancelled() {
            return Err(CaseFailure("cancelled by the user".to_owned()));
        }
        Ok(done)
    }

    /// Ends the exchange, and checks that both sides received only unaltered frames.
    pub fn finish(&mut self, handle: Handle) -> Result<Exchange, CaseFailure> {
        let exchange: Exchange = self.session.stop(handle)?;
        let altered = self.frame_counts()?.altered;
        let altered = (altered > 0).then(|| format!("{altered} frames reached the device altered"));
        let wrong: Vec<String> = exchange
            .faults
            .summary()
            .into_iter()
            .chain(altered)
            .collect();
        ensure(wrong.is_empty(), || wrong.join("; "))?;
        Ok(exchange)
    }

    /// Resets the device's counts of the frames.
    pub fn reset_counts(&mut self) -> Result<(), CaseFailure> {
        self.session.type_command(&format!("frames {STREAM}"));
        self.frame_counts().map(|_| ())
    }

    /// The device's counts.
    pub fn frame_counts(&mut self) -> Result<FrameCounts, CaseFailure> {
        Ok(self.session.query("frames", "frames")?)
    }

    /// The driver's counters that are not zero.
    pub fn counters(&mut self) -> Result<BTreeMap<String, serde_json::Value>, CaseFailure> {
        Ok(self.session.query("counters", "counters")?)
    }

    /// The sum of the named counters.
    pub fn sum_of(&mut self, names: &[&str]) -> Result<u64, CaseFailure> {
        let all = self.counters()?;
        let count = |name: &&str| all.get(*name).and_then(serde_json::Value::as_u64);
        Ok(names.iter().filter_map(count).sum())
    }

    /// Frames lost for lack of buffers, by the driver's counters.
    pub fn overflow_count(&mut self) -> Result<u64, CaseFailure> {
        self.sum_of(&OVERFLOW_COUNTERS)
    }
}

/// Fails with `what` unless `is_so`.
pub fn ensure(is_so: bool, what: impl FnOnce() -> String) -> Result<(), CaseFailure> {
    if is_so {
        Ok(())
    } else {
        Err(CaseFailure(what()))
    }
}
