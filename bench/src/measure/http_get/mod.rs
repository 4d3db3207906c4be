//! The device downloads from the peer; its program is `http_get`.
//!
//! The firmware asks for each size in turn, several times, each over a connection of its own. One
//! size is one measurement, told as soon as the next one has begun.

mod batch;

use std::collections::BTreeMap;

use linerate_explain::record::{Measurement, Pulse};
use linerate_explain::wire::{Frame, Side};
use serde::Deserialize;

use self::batch::Batch;
use super::{DeviceEvent, Get, MeasureError, Procedure};
use crate::target::Event;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Sizes, in the order in which the firmware asks for them.
    pub bytes: Vec<u64>,
    /// Requests of each size.
    pub requests: u64,
    /// Virtual seconds after which it has failed.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
}

const fn limit_s() -> u64 {
    3_600
}

impl Plan {
    /// What is wrong with it.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.bytes.is_empty() || self.bytes.contains(&0) {
            return Err("`bytes` lists the sizes to download, each at least 1".into());
        }
        if self.requests == 0 {
            return Err("`requests` must be at least 1".into());
        }
        Ok(())
    }
}

/// Collects the downloads.
pub struct Fetching {
    variant: String,
    plan: Plan,
    frames: Vec<Frame>,
    pulses: Vec<Pulse>,
    gets: Vec<(u64, Get)>,
    /// Counters as last told, and as they stood before the current size.
    counters: BTreeMap<String, u64>,
    counters_before: BTreeMap<String, u64>,
    /// Sizes that are told already.
    told: usize,
    /// Flash waiting: time and sum as last told, and as they stood before the current size.
    flash: (u64, u64),
    flash_before: (u64, u64),
    flash_known: bool,
    ready: Vec<Measurement>,
}

/// The procedure for `plan` on a firmware of `variant`.
pub fn procedure(variant: &str, plan: &Plan) -> impl Procedure + use<> {
    Fetching {
        variant: variant.to_owned(),
        plan: plan.clone(),
        frames: Vec::new(),
        pulses: Vec::new(),
        gets: Vec::new(),
        counters: BTreeMap::new(),
        counters_before: BTreeMap::new(),
        told: 0,
        flash: (0, 0),
        flash_before: (0, 0),
        flash_known: false,
        ready: Vec::new(),
    }
}

impl Procedure for Fetching {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.frames.push(frame),
            Event::Debug(pulse) => self.pulses.push(pulse),
            Event::Console { at_ns, line } => match DeviceEvent::parse(&line) {
                Some(Ok(DeviceEvent::Get(get))) => self.got(at_ns, get)?,
                Some(Ok(DeviceEvent::Counters(counters))) => self.counters = counters,
                _ => {}
            },
        }
        Ok(())
    }

    fn flash_wait(&mut self, at_ns: u64, waited_ns: u64) {
        self.flash_known = true;
        self.flash = (at_ns, waited_ns);
    }

    fn take(&mut self) -> Vec<Measurement> {
        std::mem::take(&mut self.ready)
    }

    fn progress(&self) -> (u64, u64) {
        let done = self.told as u64 * self.plan.requests + self.gets.len() as u64;
        (done, self.plan.bytes.len() as u64 * self.plan.requests)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        let (done, asked) = self.progress();
        if done != asked {
            let what =
                format!("the firmware finished {done} downloads, the scenario asks for {asked}");
            return Err(MeasureError::Unexpected { what });
        }
        self.tell(u64::MAX)?;
        Ok(self.take())
    }
}

impl Fetching {
    fn got(&mut self, at_ns: u64, get: Get) -> Result<(), MeasureError> {
        let per_size = self.plan.requests as usize;
        if self.gets.len() == per_size {
            // The next size has begun: its first SYN is the first after the last byte of this one.
            let end_ns = self.gets.last().map_or(0, |(at_ns, _)| *at_ns);
            let next_ns = self.first_syn(end_ns).map_or(at_ns, |frame| frame.start_ns);
            self.tell(next_ns)?;
        }
        let expected = self.plan.bytes.get(self.told).copied();
        if expected.is_none_or(|bytes| get.path != format!("/{bytes}")) {
            let wanted = expected.map_or("nothing more".into(), |bytes| format!("/{bytes}"));
            let what = format!(
                "the firmware asked for {}, the scenario for {wanted}: build it with LINERATE_SIZES={}",
                get.path,
                self.sizes(),
            );
            return Err(MeasureError::Unexpected { what });
        }
        self.gets.push((at_ns, get));
        Ok(())
    }

    /// The plan as the firmware's build takes it.
    fn sizes(&self) -> String {
        let sizes: Vec<String> = self
            .plan
            .bytes
            .iter()
            .map(|bytes| format!("{bytes}x{}", self.plan.requests))
            .collect();
        sizes.join(",")
    }

    fn first_syn(&self, after_ns: u64) -> Option<&Frame> {
        let opens = |frame: &&Frame| {
            frame.from == Side::Device
                && frame.start_ns >= after_ns
                && frame
                    .segment()
                    .is_some_and(linerate_explain::wire::Segment::opens)
        };
        self.frames
            .iter()
            .filter(opens)
            .min_by_key(|frame| frame.start_ns)
    }

    /// Makes the measurement of the current size from everything before `until_ns`.
    fn tell(&mut self, until_ns: u64) -> Result<(), MeasureError> {
        let Some(&bytes) = self.plan.bytes.get(self.told) else {
            return Ok(());
        };
        self.frames.sort_by_key(|frame| frame.start_ns);
        self.pulses.sort_by_key(|pulse| pulse.start_ns);
        let frames_end = self
            .frames
            .partition_point(|frame| frame.start_ns < until_ns);
        let pulses_end = self
            .pulses
            .partition_point(|pulse| pulse.start_ns < until_ns);
        let counters = difference(&self.counters, &self.counters_before);
        let flash_ns = (
            self.flash.0 - self.flash_before.0,
            self.flash.1 - self.flash_before.1,
        );
        let batch = Batch {
            variant: &self.variant,
            bytes,
            frames: self.frames.drain(..frames_end).collect(),
            pulses: self.pulses.drain(..pulses_end).collect(),
            gets: std::mem::take(&mut self.gets),
            counters,
            flash_wait_share: (self.flash_known && flash_ns.0 > 0)
                .then(|| flash_ns.1 as f64 / flash_ns.0 as f64),
        };
        self.ready.push(Measurement::HttpGet(batch.measure()?));
        self.counters_before.clone_from(&self.counters);
        self.flash_before = self.flash;
        self.told += 1;
        Ok(())
    }
}

/// What was counted since `before`; counters wrap at 2^32.
fn difference(
    now: &BTreeMap<String, u64>,
    before: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let since = |(name, count): (&String, &u64)| {
        let before = before.get(name).copied().unwrap_or(0);
        let counted = u64::from((*count as u32).wrapping_sub(before as u32));
        (counted > 0).then(|| (name.clone(), counted))
    };
    now.iter().filter_map(since).collect()
}

#[cfg(test)]
mod tests;
