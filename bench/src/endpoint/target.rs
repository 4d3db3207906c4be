//! The seam between a target and the procedures that measure it.

use std::path::PathBuf;
use std::time::Duration;

use super::error::TargetError;
use super::monitor::TrialMonitor;
use super::test_board::TestBoard;
use super::trial::{Outcome, Trial};

/// What is at the other end of a link.
pub trait Target: Send {
    /// What it is, for a sentence: `iperf 2 at 192.0.2.7:5001`.
    fn name(&self) -> String;

    /// Whether it can do `trial`.
    ///
    /// # Errors
    /// Why it can't, to be read behind "it can't do this:".
    fn supports(&self, trial: &Trial) -> Result<(), &'static str>;

    /// Whether all that it does for `trial` goes on from the begin to the end, so that something else can be
    /// measured meanwhile.
    ///
    /// # Errors
    /// As for [`supports`](Self::supports).
    fn supports_as_load(&self, trial: &Trial) -> Result<(), &'static str> {
        self.supports(trial)
    }

    /// Does it. `watch` hears now and then how far it is.
    ///
    /// # Errors
    /// [`TargetError`]: it can't, or it failed.
    fn run(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError>;

    /// The board on which conformance cases test its driver; `None` for a target that is no board of ours.
    fn test_board(&self) -> Option<TestBoard<'_>> {
        None
    }

    /// What the line to it carries, bits a second, where the target knows: then the highest frame rate
    /// that the standard allows is known, too.
    fn line_bits_per_s(&self) -> Option<u64> {
        None
    }

    /// Whether its times are those of a simulation: then they are exact, and this machine's load and
    /// clock play no part in them.
    fn is_simulated(&self) -> bool {
        false
    }

    /// The largest IP packet of the path to it, octets; `None` where nobody knows.
    fn path_mtu(&self) -> Option<u32> {
        None
    }
}

/// How targets are opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a target may say nothing.
    pub patience: Duration,
    /// Folder with the firmware images, for simulated boards.
    pub elf_dir: PathBuf,
    /// Seed of everything random in simulated boards.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            elf_dir: crate::firmware::DEFAULT_DIR.into(),
            seed: 1,
        }
    }
}

/// `target` was asked for what it can't do.
pub(crate) fn unsupported(target: &dyn Target, trial: &Trial, why: &'static str) -> TargetError {
    TargetError::Unsupported {
        target: target.name(),
        trial: trial.label(),
        why,
    }
}
