//! The device downloads from the peer, uploads to it, or does both at once; its programs are
//! `http_get`, `http_put` and `http_both`.
//!
//! The firmware transfers each size several times, each time over a new connection. One size is one
//! measurement, complete as soon as the next one has begun.

mod batch;
mod bodies;
mod both;
mod get;
mod put;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use linerate_capture::wire::{BusyPeriod, Frame, Segment, Side};
use linerate_results::record::{Edges, Measurement, Pulse};
use serde::Deserialize;

use self::batch::{Batch, Body, Round};
use super::{MeasureError, Observer, Section, console};
use crate::machine::{Event, MachineConfig, Uploaded};

/// A kind of transfer. Each is a separate measurement, with a program of the same name.
#[derive(Debug)]
struct TransferKind {
    /// The program, which is also the measurement's name.
    program: &'static str,
    /// The noun for messages.
    noun: &'static str,
    /// True if a round is complete.
    complete: fn(&Round) -> bool,
    /// The result of one size.
    measure: fn(Batch) -> Result<Measurement, MeasureError>,
}

/// The transfers requested by a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Sizes, in the order in which the firmware asks for them. They are its settings.
    pub bytes: Vec<u64>,
    /// Requests of each size.
    pub requests: u64,
    /// Timeout in virtual seconds.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
}

const fn limit_s() -> u64 {
    3_600
}

/// Transfers of one kind, as requested by a scenario.
macro_rules! sections {
    ($($(#[$about:meta])* $name:ident $kind:ident,)*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
            #[serde(transparent)]
            pub struct $name(pub Sizes);

            impl Section for $name {
                fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
                    self.0.plans(&$kind::KIND)
                }
            }
        )*
    };
}

sections! {
    /// Downloads.
    Get get,
    /// Uploads.
    Put put,
    /// A simultaneous download and upload of each size.
    Both both,
}

impl Sizes {
    fn plans(self, kind: &'static TransferKind) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if self.bytes.is_empty() || self.bytes.contains(&0) {
            return Err("`bytes` lists the sizes, each at least 1".into());
        }
        if self.requests == 0 {
            return Err("`requests` must be at least 1".into());
        }
        Ok(vec![Arc::new(Plan { kind, sizes: self })])
    }

    /// The sizes as the firmware reads them.
    fn boot_word(&self) -> String {
        let sizes: Vec<String> = self
            .bytes
            .iter()
            .map(|bytes| format!("{bytes}x{}", self.requests))
            .collect();
        sizes.join(",")
    }
}

/// Transfers of some sizes, of one kind.
#[derive(Debug)]
struct Plan {
    kind: &'static TransferKind,
    sizes: Sizes,
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        self.kind.program
    }

    fn label(&self) -> String {
        self.kind.program.to_owned()
    }

    fn limit_s(&self) -> u64 {
        self.sizes.limit_s
    }

    fn arrange(&self, config: &mut MachineConfig) {
        config.boot = format!("sizes={}", self.sizes.boot_word());
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self.kind, &self.sizes))
    }
}

/// Events of the programs.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ProgramEvent {
    /// A download is complete.
    Get(Transfer),
    /// An upload is complete and the peer has answered.
    Put(Transfer),
    /// The counters, from power-on.
    Counters(BTreeMap<String, u64>),
    #[serde(other)]
    Other,
}

/// A finished download or upload, as the device saw it.
#[derive(Deserialize)]
struct Transfer {
    /// The requested path.
    path: String,
    /// Bytes of the body.
    body_bytes: u64,
    /// CRC-32 (IEEE) of the body as it received or sent it.
    crc32: u32,
    /// From the connect call to the last byte consumed, or to the peer's answer.
    duration_us: u64,
}

/// Collects the transfers.
struct HttpObserver {
    kind: &'static TransferKind,
    sizes: Sizes,
    frames: Vec<Frame>,
    pulses: Vec<Pulse>,
    busy: Vec<BusyPeriod>,
    edges: Vec<Edges>,
    /// Uploads completed at the peer that the device has not reported yet.
    uploads: VecDeque<Uploaded>,
    /// The current round.
    open: Round,
    rounds: Vec<Round>,
    /// Counters as last reported, and before the current size.
    counters: BTreeMap<String, u64>,
    counters_before: BTreeMap<String, u64>,
    /// Number of sizes measured.
    reported_sizes: usize,
    /// Time and total flash wait as last reported, and before the current size.
    flash: (u64, u64),
    flash_before: (u64, u64),
    flash_known: bool,
    ready: Vec<Measurement>,
}

/// The observer for `sizes`.
fn observer(kind: &'static TransferKind, sizes: &Sizes) -> impl Observer + use<> {
    HttpObserver {
        kind,
        sizes: sizes.clone(),
        frames: Vec::new(),
        pulses: Vec::new(),
        busy: Vec::new(),
        edges: Vec::new(),
        uploads: VecDeque::new(),
        open: Round::default(),
        rounds: Vec::new(),
        counters: BTreeMap::new(),
        counters_before: BTreeMap::new(),
        reported_sizes: 0,
        flash: (0, 0),
        flash_before: (0, 0),
        flash_known: false,
        ready: Vec::new(),
    }
}

impl Observer for HttpObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.frames.push(frame),
            Event::Debug(pulse) => self.pulses.push(pulse),
            Event::Uploaded(upload) => self.uploads.push_back(upload),
            Event::Console { at_ns, line } => match console::read(&line)? {
                Some(ProgramEvent::Get(get)) => self.on_get(at_ns, get)?,
                Some(ProgramEvent::Put(put)) => self.on_put(at_ns, put)?,
                Some(ProgramEvent::Counters(counters)) => self.counters = counters,
                Some(ProgramEvent::Other) | None => {}
            },
        }
        Ok(())
    }

    fn busy(&mut self, busy: Vec<BusyPeriod>) {
        self.busy.extend(busy);
    }

    fn edges(&mut self, edges: Vec<Edges>) {
        self.edges.extend(edges);
    }

    fn flash_wait(&mut self, at_ns: u64, waited_ns: u64) {
        self.flash_known = true;
        self.flash = (at_ns, waited_ns);
    }

    fn take(&mut self) -> Vec<Measurement> {
        std::mem::take(&mut self.ready)
    }

    fn progress(&self) -> (u64, u64) {
        let done = self.reported_sizes as u64 * self.sizes.requests + self.rounds.len() as u64;
        (done, self.sizes.bytes.len() as u64 * self.sizes.requests)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        let (done, asked) = self.progress();
        if done != asked {
            let what = format!(
                "the firmware finished {done} {}, the scenario asks for {asked}",
                self.kind.noun
            );
            return Err(MeasureError::Unexpected { what });
        }
        self.finish_size(u64::MAX)?;
        Ok(self.take())
    }
}

impl HttpObserver {
    fn on_get(&mut self, at_ns: u64, get: Transfer) -> Result<(), MeasureError> {
        self.next_size(at_ns, &get)?;
        self.open.down = Some(Body {
            end_ns: at_ns,
            bytes: get.body_bytes,
            crc32: get.crc32,
            device_us: get.duration_us,
            path: get.path,
            port: None,
        });
        self.open.reported_ns = at_ns;
        self.close_round();
        Ok(())
    }

    fn on_put(&mut self, at_ns: u64, put: Transfer) -> Result<(), MeasureError> {
        self.next_size(at_ns, &put)?;
        let same = |upload: &Uploaded| upload.path == put.path;
        let Some(upload) = self
            .uploads
            .iter()
            .position(same)
            .and_then(|at| self.uploads.remove(at))
        else {
            let what = format!(
                "the firmware reports that it has put {}, but the peer has not received it",
                put.path
            );
            return Err(MeasureError::Unexpected { what });
        };
        self.open.up = Some(Body {
            end_ns: upload.at_ns,
            bytes: upload.octets,
            crc32: upload.crc32,
            device_us: put.duration_us,
            path: put.path,
            port: Some(upload.port),
        });
        self.open.reported_ns = at_ns;
        self.close_round();
        Ok(())
    }

    fn close_round(&mut self) {
        if (self.kind.complete)(&self.open) {
            self.rounds.push(std::mem::take(&mut self.open));
        }
    }

    /// A transfer is complete: it may be the first of the next size.
    fn next_size(&mut self, at_ns: u64, done: &Transfer) -> Result<(), MeasureError> {
        if self.rounds.len() == self.sizes.requests as usize {
            // The next size begins with the first SYN after the firmware's report on the last
            // transfer of this size.
            let end_ns = self.rounds.last().map_or(0, |round| round.reported_ns);
            let next_ns = self.first_syn(end_ns).map_or(at_ns, |frame| frame.start_ns);
            self.finish_size(next_ns)?;
        }
        let expected = self.sizes.bytes.get(self.reported_sizes).copied();
        if expected.is_none_or(|bytes| done.path != format!("/{bytes}")) {
            let wanted = expected.map_or("nothing more".into(), |bytes| format!("/{bytes}"));
            let what = format!(
                "the firmware requested {}, the scenario {wanted}: it does not follow its settings sizes={}",
                done.path,
                self.sizes.boot_word(),
            );
            return Err(MeasureError::Unexpected { what });
        }
        Ok(())
    }

    fn first_syn(&self, after_ns: u64) -> Option<&Frame> {
        let opens = |frame: &&Frame| {
            frame.from == Side::Device
                && frame.start_ns >= after_ns
                && frame.segment().is_some_and(Segment::is_initial_syn)
        };
        self.frames
            .iter()
            .filter(opens)
            .min_by_key(|frame| frame.start_ns)
    }

    /// Creates the measurement of the current size from all events before `until_ns`.
    fn finish_size(&mut self, until_ns: u64) -> Result<(), MeasureError> {
        let Some(&bytes) = self.sizes.bytes.get(self.reported_sizes) else {
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
        let busy_end = self.busy.partition_point(|busy| busy.start_ns < until_ns);
        let counters = difference(&self.counters, &self.counters_before);
        let flash_ns = (
            self.flash.0 - self.flash_before.0,
            self.flash.1 - self.flash_before.1,
        );
        let batch = Batch {
            bytes,
            frames: self.frames.drain(..frames_end).collect(),
            pulses: self.pulses.drain(..pulses_end).collect(),
            busy: self.busy.drain(..busy_end).collect(),
            edges: std::mem::take(&mut self.edges),
            rounds: std::mem::take(&mut self.rounds),
            counters,
            flash_wait_share: (self.flash_known && flash_ns.0 > 0)
                .then(|| flash_ns.1 as f64 / flash_ns.0 as f64),
        };
        self.ready.push((self.kind.measure)(batch)?);
        self.counters_before.clone_from(&self.counters);
        self.flash_before = self.flash;
        self.reported_sizes += 1;
        Ok(())
    }
}

/// The counts since `before`; counters wrap at 2^32.
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
