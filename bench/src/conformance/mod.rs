//! Conformance of a driver on its board: cases run by a host at the other end of the cable, with raw frames
//! and the board's console.
//!
//! - [`cases`]: the cases, one file per subject.
//! - `exchange`: numbered frames of known content, and a check of each reflected frame.
//! - `rig`: the board under test.
//!
//! A case never asserts a time: it waits for the expected event. A buffer delivered with its previous
//! content is detected, as each frame's content is derived from its number.

pub mod cases;
pub(crate) mod exchange;
pub(crate) mod rig;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::rig::Rig;
use crate::endpoint::{TargetError, TestBoard, TrialMonitor};

pub use self::cases::CASES;

/// Timeout without progress, in the board's time; and for a case that the board is expected to
/// fail.
const TIMEOUT: Duration = Duration::from_secs(30);
const EXPECTED_FAILURE_TIMEOUT: Duration = Duration::from_secs(1);

/// A conformance case.
pub struct Case {
    /// Its name, for `--case` and a board's `unsupported_cases`.
    pub name: &'static str,
    /// Short description.
    pub about: &'static str,
    /// Runs it and returns the number of frames exchanged.
    run: fn(&mut Rig<'_>) -> Result<u64, CaseFailure>,
}

/// Why a case failed, in a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure(String);

impl From<TargetError> for CaseFailure {
    fn from(error: TargetError) -> Self {
        Self(error.to_string())
    }
}

/// Outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The driver passed, with this number of frames.
    Passed(u64),
    /// The driver failed, with the reason.
    Failed(String),
    /// The board can't pass it, with the reason.
    Skipped(String),
}

/// Runs a case on a freshly started board. `frames`: the number for cases that do not set their own. A
/// case that the board does not support is run, too: it is a failure if it passes.
///
/// # Errors
/// [`TargetError`] if the board does not start.
pub fn run_case(
    board: &TestBoard<'_>,
    case: &Case,
    frames: u64,
    monitor: &mut dyn TrialMonitor,
) -> Result<Outcome, TargetError> {
    let unsupported = board.unsupported_cases.get(case.name);
    let mut session = (board.switch_on)()?;
    session.timeout = if unsupported.is_some() {
        EXPECTED_FAILURE_TIMEOUT
    } else {
        TIMEOUT
    };
    let mut rig = Rig::new(session, frames, monitor);
    let done = rig.reset_counts().and_then(|()| (case.run)(&mut rig));
    Ok(match (done, unsupported) {
        (Ok(frames), None) => Outcome::Passed(frames),
        (Ok(_), Some(why)) => Outcome::Failed(format!(
            "it passes, although board.toml lists it as unsupported: {why}"
        )),
        (Err(CaseFailure(what)), None) => Outcome::Failed(what),
        (Err(_), Some(why)) => Outcome::Skipped(why.clone()),
    })
}
