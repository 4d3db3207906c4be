//! The seam between a target and the procedures that measure it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use linerate_results::record::Transport;

use super::error::TargetError;
use super::monitor::TrialMonitor;
use super::path;
use super::test_board::TestBoard;
use super::trial::{Outcome, Trial};
use crate::machine::Identity;

/// The other end of a link.
pub trait Target: Send {
    /// Its name, for messages: `iperf 2 at 192.0.2.7:5001`.
    fn name(&self) -> String;

    /// Checks that it supports `trial`.
    ///
    /// # Errors
    /// The reason, to be read after "it can't do this:".
    fn supports(&self, trial: &Trial) -> Result<(), &'static str>;

    /// Checks that `trial` loads the link from start to end, so that round trips can be measured during it.
    ///
    /// # Errors
    /// As for [`supports`](Self::supports).
    fn supports_as_load(&self, trial: &Trial) -> Result<(), &'static str> {
        self.supports(trial)
    }

    /// Runs a trial that it supports. `monitor` receives its progress.
    ///
    /// # Errors
    /// It failed.
    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError>;

    /// Runs a trial. `monitor` receives its progress.
    ///
    /// # Errors
    /// [`TargetError`] if it is not supported, or failed.
    fn run(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        self.supports(trial)
            .map_err(|why| TargetError::Unsupported {
                target: self.name(),
                trial: trial.label(),
                why,
            })?;
        self.measure(trial, monitor)
    }

    /// The error of a trial that failed.
    fn failure(&self, what: String) -> TargetError {
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }

    /// The board on which conformance cases test its driver; `None` for other targets.
    fn test_board(&self) -> Option<TestBoard<'_>> {
        None
    }

    /// The line rate, bits a second, if the target knows it: it gives the highest frame rate that the
    /// standard allows.
    fn line_bits_per_s(&self) -> Option<u64> {
        None
    }

    /// True if both directions share the line, so that a frame that comes back takes it twice.
    fn is_half_duplex(&self) -> bool {
        false
    }

    /// Its board and firmware, for the provenance; `None` for a target that is only known by its URL.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// The transport of its transfers that TCP or UDP stands for: the same, except on byte links.
    fn transport(&self, of: Transport) -> Transport {
        of
    }

    /// True if its times are simulated: they are exact, and independent of this host's load and
    /// clock.
    fn is_simulated(&self) -> bool {
        false
    }

    /// The address that it sends to, if it is behind this machine's network.
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    /// The longest time of `trial`, whatever the device does; `None` for simulated targets, whose trials end in their
    /// own time.
    fn deadline(&self, _trial: &Trial) -> Option<Duration> {
        None
    }

    /// The path MTU, octets; `None` if unknown.
    fn path_mtu(&self) -> Option<u32> {
        self.address().and_then(path::mtu)
    }
}

/// Options for opening targets.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum time without a response from a target.
    pub timeout: Duration,
    /// Folder with the firmware images, for simulated boards.
    pub elf_dir: PathBuf,
    /// Seed of everything random in simulated boards.
    pub seed: u64,
    /// Simulated boards record their frames.
    pub records_frames: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            elf_dir: crate::firmware::DEFAULT_DIR.into(),
            seed: 1,
            records_frames: false,
        }
    }
}
