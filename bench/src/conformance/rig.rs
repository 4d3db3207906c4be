//! The board that a case has before it.

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_sim::peer::host::program::{Handle, Program};
use serde::Deserialize;

use super::Failed;
use super::exchange::{Exchange, Order, STREAM};
use crate::endpoint::{Session, Watch};

/// Counters of frames that came and found no room (`linerate_ether::ledger::Counter`).
const NO_ROOM: [&str; 3] = ["RxFifoOverruns", "RxRingFull", "RxQueueFull"];

/// What the device has counted of the frames.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Said {
    /// Those for it, as they were sent.
    pub frames: u64,
    /// Those with other content.
    pub altered: u64,
    /// Those for another station.
    pub for_others: u64,
}

/// A board, and the host at the other end of its cable.
pub struct Rig<'a> {
    pub session: Session,
    /// Frames of a case without a number of its own.
    pub frames: u64,
    watch: &'a mut dyn Watch,
}

impl<'a> Rig<'a> {
    /// With a board that listens.
    pub fn new(session: Session, frames: u64, watch: &'a mut dyn Watch) -> Self {
        Self {
            session,
            frames,
            watch,
        }
    }

    /// Frames that the device takes while it does nothing.
    pub const fn burst(&self) -> usize {
        self.session.burst
    }

    /// Sends these, as many at a time as the device takes: all come back, in their order, as they were. How
    /// many.
    pub fn exchange(
        &mut self,
        orders: impl Iterator<Item = Order> + Send + 'static,
    ) -> Result<u64, Failed> {
        self.exchange_by(self.burst(), orders)
    }

    /// The same, so many at a time.
    pub fn exchange_by(
        &mut self,
        window: usize,
        orders: impl Iterator<Item = Order> + Send + 'static,
    ) -> Result<u64, Failed> {
        let handle = self.session.start(Exchange::new(orders, window))?;
        self.until(handle, Exchange::is_complete)?;
        Ok(self.finish(handle)?.sent)
    }

    /// Lets time pass until it `is_over`, as long as something goes on.
    pub fn until(
        &mut self,
        handle: Handle,
        is_over: impl Fn(&Exchange) -> bool,
    ) -> Result<(), Failed> {
        let begun = self.wait(handle, self.session.patience, is_over)?;
        begun.then_some(()).ok_or_else(|| {
            let seconds = self.session.patience.as_secs();
            let exchange = self.session.with(handle, |it: &mut Exchange| {
                let wrong = it
                    .faults
                    .words()
                    .map_or_else(String::new, |it| format!(": {it}"));
                format!("{} of {} frames came back{wrong}", it.answered, it.sent)
            });
            let what = exchange.unwrap_or_else(|error| error.to_string());
            let said = self
                .said()
                .map_or_else(|Failed(error)| error, |it| format!("{it:?}"));
            Failed(format!(
                "nothing happened for {seconds} s after {what}; the device: {said}"
            ))
        })
    }

    /// Lets time pass until it `is_over` (`true`), or nothing has gone on for so long.
    pub fn wait(
        &mut self,
        handle: Handle,
        patience: Duration,
        is_over: impl Fn(&Exchange) -> bool,
    ) -> Result<bool, Failed> {
        self.wait_for(handle, patience, is_over, Exchange::progress)
    }

    /// The same, of any program.
    pub fn wait_for<P: Program>(
        &mut self,
        handle: Handle,
        patience: Duration,
        is_over: impl Fn(&P) -> bool,
        progress: impl Fn(&P) -> u64,
    ) -> Result<bool, Failed> {
        let mut last = (0, self.session.now());
        let mut done = false;
        self.session.run_until(self.watch, |session| {
            let now = session.now();
            let (over, progress) =
                session.with(handle, |it: &mut P| (is_over(it), progress(it)))?;
            if progress != last.0 {
                last = (progress, now);
            }
            done = over;
            Ok(over || now.since(last.1) >= patience)
        })?;
        if !done && self.watch.is_over() {
            return Err(Failed("ended by the user".to_owned()));
        }
        Ok(done)
    }

    /// Ends it. Nothing came, here and there, but what was sent, as it was.
    pub fn finish(&mut self, handle: Handle) -> Result<Exchange, Failed> {
        let exchange: Exchange = self.session.stop(handle)?;
        let altered = self.said()?.altered;
        let altered = (altered > 0).then(|| format!("{altered} frames came to the device altered"));
        let wrong: Vec<String> = exchange.faults.words().into_iter().chain(altered).collect();
        hold(wrong.is_empty(), || wrong.join("; "))?;
        Ok(exchange)
    }

    /// Lets the device count the frames from zero.
    pub fn count(&mut self) -> Result<(), Failed> {
        self.session.tell(&format!("frames {STREAM}"));
        self.said().map(|_| ())
    }

    /// What it has counted.
    pub fn said(&mut self) -> Result<Said, Failed> {
        Ok(self.session.ask("frames", "frames")?)
    }

    /// The driver's counters that are not zero.
    pub fn counters(&mut self) -> Result<BTreeMap<String, serde_json::Value>, Failed> {
        Ok(self.session.ask("counters", "counters")?)
    }

    /// The sum of some of them.
    pub fn counted(&mut self, names: &[&str]) -> Result<u64, Failed> {
        let all = self.counters()?;
        let count = |name: &&str| all.get(*name).and_then(serde_json::Value::as_u64);
        Ok(names.iter().filter_map(count).sum())
    }

    /// Frames that found no room, as the driver has counted them.
    pub fn without_room(&mut self) -> Result<u64, Failed> {
        self.counted(&NO_ROOM)
    }
}

/// It has to be so.
pub fn hold(is_so: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(Failed(what())) }
}
