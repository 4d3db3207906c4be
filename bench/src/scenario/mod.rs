//! An experiment as a TOML file: the board, the peer, what is measured, what must come out.

mod error;

pub use error::ScenarioError;

use std::ops::Range;

use linerate_explain::record::Duplex;
use serde::Deserialize;
use toml::Spanned;

use crate::board::{self, Board};
use crate::measure::{http_get, ping};
use crate::nearest;

/// An experiment.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, which the results carry.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The board, as its own file describes it.
    pub board: Board,
    /// Duplex of the link.
    pub duplex: Duplex,
    /// Seed of everything random.
    pub seed: u64,
    /// The other end of the cable.
    pub peer: Peer,
    /// What is recorded beside the results.
    pub record: Record,
    /// What is measured.
    pub runs: Vec<Run>,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// The other end of the cable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Peer {
    /// From a frame received to the first reaction to it, microseconds.
    pub turnaround_us: u64,
    /// At random up to this much more, microseconds: what a busy host adds.
    pub turnaround_jitter_us: u64,
    /// Broadcasts an ARP request for a stranger this often, milliseconds; 0 for never.
    pub background_arp_ms: u64,
    /// Pays no regard to SACK blocks, as if the device had agreed to SACK and never sent any.
    pub disregard_sack_blocks: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            turnaround_us: 80,
            turnaround_jitter_us: 0,
            background_arp_ms: 0,
            disregard_sack_blocks: false,
        }
    }
}

/// What is recorded beside the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// A capture of every frame on the wire, one file a firmware.
    pub pcapng: bool,
    /// The pins' waveform over this long from the first frame on, milliseconds; 0 for none. A
    /// full-length frame is 24,000 edges.
    pub vcd_ms: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            pcapng: true,
            vcd_ms: 50,
        }
    }
}

/// One variant of the firmware and what is measured on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The variant.
    pub variant: String,
    /// Ping the peer.
    pub ping: Option<ping::Plan>,
    /// Download from the peer.
    pub http_get: Option<http_get::Plan>,
}

/// What must come out of a download; a failed one makes the command end with exit code 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The variant.
    pub variant: String,
    /// The size; every size when there is none.
    pub bytes: Option<u64>,
    /// Median goodput is at least this.
    pub goodput_bytes_per_s_min: Option<f64>,
    /// Median goodput is less than this.
    pub goodput_bytes_per_s_max: Option<f64>,
    /// Loss is at least this.
    pub frame_loss_rate_min: Option<f64>,
    /// Loss is at most this.
    pub frame_loss_rate_max: Option<f64>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: Spanned<u32>,
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    board: Spanned<String>,
    #[serde(default)]
    duplex: Duplex,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    peer: Peer,
    #[serde(default)]
    record: Record,
    run: Spanned<Vec<FileRun>>,
    #[serde(default)]
    expect: Vec<FileExpectation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRun {
    variant: Spanned<String>,
    ping: Option<Spanned<ping::Plan>>,
    http_get: Option<Spanned<http_get::Plan>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileExpectation {
    variant: Spanned<String>,
    bytes: Option<u64>,
    goodput_bytes_per_s_min: Option<f64>,
    goodput_bytes_per_s_max: Option<f64>,
    frame_loss_rate_min: Option<f64>,
    frame_loss_rate_max: Option<f64>,
}

const fn one() -> u64 {
    1
}

/// The version of the format that this code reads.
const SCHEMA: u32 = 1;

impl Scenario {
    /// Reads a scenario; `file` is what it is called in messages.
    ///
    /// # Errors
    /// [`ScenarioError`] names the file, the line and what was expected there.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let parsed: File =
            toml::from_str(text).map_err(|error| ScenarioError::syntax(file, text, &error))?;
        Checker { file, text }.check(parsed)
    }

    /// The names in [`Scenario::runs`].
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.variant.as_str())
    }
}

/// Checks what the format alone does not.
struct Checker<'a> {
    file: &'a str,
    text: &'a str,
}

impl Checker<'_> {
    fn check(&self, parsed: File) -> Result<Scenario, ScenarioError> {
        if *parsed.schema.get_ref() != SCHEMA {
            let message = format!(
                "schema {} is not known; this linerate reads schema {SCHEMA}",
                parsed.schema.get_ref()
            );
            return Err(self.error(parsed.schema.span(), message));
        }
        let name = parsed.name.get_ref();
        let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let message =
                "`name` becomes part of file names: use letters, digits, `-` and `_`".to_owned();
            return Err(self.error(parsed.name.span(), message));
        }
        let board = board::find(parsed.board.get_ref())
            .map_err(|error| self.error(parsed.board.span(), error.to_string()))?;
        if parsed.run.get_ref().is_empty() {
            return Err(self.error(
                parsed.run.span(),
                "there is no [[run]]: nothing to measure".to_owned(),
            ));
        }
        let mut runs: Vec<Run> = Vec::new();
        for run in parsed.run.into_inner() {
            let checked = self.check_run(run, &board, &runs)?;
            runs.push(checked);
        }
        let expect = parsed
            .expect
            .into_iter()
            .map(|expected| {
                let known = runs.iter().map(|run| run.variant.as_str());
                self.known(&expected.variant, "variant with a [[run]]", known)?;
                Ok(Expectation {
                    variant: expected.variant.into_inner(),
                    bytes: expected.bytes,
                    goodput_bytes_per_s_min: expected.goodput_bytes_per_s_min,
                    goodput_bytes_per_s_max: expected.goodput_bytes_per_s_max,
                    frame_loss_rate_min: expected.frame_loss_rate_min,
                    frame_loss_rate_max: expected.frame_loss_rate_max,
                })
            })
            .collect::<Result<_, ScenarioError>>()?;
        Ok(Scenario {
            name: parsed.name.into_inner(),
            title: parsed.title,
            board,
            duplex: parsed.duplex,
            seed: parsed.seed,
            peer: parsed.peer,
            record: parsed.record,
            runs,
            expect,
        })
    }

    fn check_run(&self, run: FileRun, board: &Board, before: &[Run]) -> Result<Run, ScenarioError> {
        self.known(
            &run.variant,
            "variant",
            board.firmware.variants.iter().map(String::as_str),
        )?;
        if before
            .iter()
            .any(|other| other.variant == *run.variant.get_ref())
        {
            let message = format!("variant `{}` has a [[run]] already", run.variant.get_ref());
            return Err(self.error(run.variant.span(), message));
        }
        if run.ping.is_none() && run.http_get.is_none() {
            let message = "this [[run]] measures nothing: give it `ping` or `http_get`".to_owned();
            return Err(self.error(run.variant.span(), message));
        }
        let wrong = |span: Range<usize>, plan: Result<(), String>| {
            plan.map_err(|message| self.error(span, message))
        };
        if let Some(plan) = &run.ping {
            wrong(plan.span(), plan.get_ref().check())?;
        }
        if let Some(plan) = &run.http_get {
            wrong(plan.span(), plan.get_ref().check())?;
        }
        Ok(Run {
            variant: run.variant.into_inner(),
            ping: run.ping.map(Spanned::into_inner),
            http_get: run.http_get.map(Spanned::into_inner),
        })
    }

    fn known<'k>(
        &self,
        written: &Spanned<String>,
        what: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<(), ScenarioError> {
        let name = written.get_ref();
        if known.clone().any(|known| known == name) {
            return Ok(());
        }
        let hint = board::hint(nearest(name, known.clone()));
        let known: Vec<&str> = known.collect();
        let message = format!(
            "there is no {what} `{name}`{hint}; there are {}",
            known.join(", ")
        );
        Err(self.error(written.span(), message))
    }

    fn error(&self, span: Range<usize>, message: String) -> ScenarioError {
        ScenarioError::at(self.file, self.text, Some(span), message)
    }
}

#[cfg(test)]
mod tests;
