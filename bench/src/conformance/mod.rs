//! Whether a driver does what every driver has to, on its board and with its device: cases that a host at the
//! other end of the cable tries on it, with raw frames and the board's console.
//!
//! - [`cases`]: what is tried, a file a subject.
//! - `exchange`: numbered frames of known content, and a look at each that comes back.
//! - `rig`: the board that a case has before it.
//!
//! A case never asserts a time: it waits for what has to happen. A buffer that is handed on with what was in
//! it before is noticed, as each frame's content is another one, made of its number.

pub mod cases;
pub(crate) mod exchange;
pub(crate) mod rig;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::rig::Rig;
use crate::endpoint::{TargetError, TestBoard, TrialMonitor};

pub use self::cases::CASES;

/// How long nothing may happen, of the board's time; and where nothing is expected to.
const PATIENCE: Duration = Duration::from_secs(30);
const IMPATIENCE: Duration = Duration::from_secs(1);

/// Something that a driver has to do.
pub struct Case {
    /// Its name, for `--case` and a board's `lacks`.
    pub name: &'static str,
    /// What it tries, in a few words.
    pub about: &'static str,
    /// Tries it: so many frames went to and fro.
    run: fn(&mut Rig<'_>) -> Result<u64, CaseFailure>,
}

/// Why a case failed, in a sentence without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure(String);

impl From<TargetError> for CaseFailure {
    fn from(error: TargetError) -> Self {
        Self(error.to_string())
    }
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The driver did it, with so many frames.
    Passed(u64),
    /// It did not.
    Failed(String),
    /// It cannot be done there, and why.
    Skipped(String),
}

/// Tries a case on a board that was just switched on. `frames`: those of a case without a number of its
/// own. A case that the board lacks is tried, too: if it can be passed after all, that is a failure.
///
/// # Errors
/// [`TargetError`]: the board does not start.
pub fn run_case(
    board: &TestBoard<'_>,
    case: &Case,
    frames: u64,
    monitor: &mut dyn TrialMonitor,
) -> Result<Outcome, TargetError> {
    let lack = board.lacks.get(case.name);
    let mut session = (board.switch_on)()?;
    session.patience = if lack.is_some() { IMPATIENCE } else { PATIENCE };
    let mut rig = Rig::new(session, frames, monitor);
    let done = rig.reset_counts().and_then(|()| (case.run)(&mut rig));
    Ok(match (done, lack) {
        (Ok(frames), None) => Outcome::Passed(frames),
        (Ok(_), Some(why)) => {
            Outcome::Failed(format!("it can be passed, though the board says: {why}"))
        }
        (Err(CaseFailure(what)), None) => Outcome::Failed(what),
        (Err(_), Some(why)) => Outcome::Skipped(why.clone()),
    })
}
