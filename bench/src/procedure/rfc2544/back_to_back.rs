//! Back-to-back frames (RFC 2544 section 26.4): the longest burst at the minimum gap that a device
//! receives.

use std::time::Duration;

use linerate_results::record::{Counting, Extent, Rfc2544Test};

use super::offer::Offer;
use super::select_counting;
use super::trials::{Stop, TestPart, Trials};
use crate::endpoint::Target;
use crate::procedure::{Procedure, SessionError, TrialContext};

/// The longest burst without loss, several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstTest {
    pub(super) offer: Offer,
    pub(super) repetitions: u32,
    /// The longest that is tried.
    pub(super) longest: u64,
}

impl BurstTest {
    pub(super) fn run(self, trials: &mut Trials<'_, '_>) -> Result<(), Stop> {
        // The first search starts at one frame, the next at the last result.
        let mut first = 1;
        for repetition in 0..self.repetitions {
            let part = TestPart {
                test: Rfc2544Test::BackToBack,
                repetition,
                repetitions: self.repetitions,
                longest_burst: self.longest,
                ..TestPart::default()
            };
            first = trials.longest(self.offer, part, first)?;
        }
        Ok(())
    }
}

/// The longest burst that a device receives, as a separate procedure: without its throughput, and
/// so without RFC 9004's correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackToBack {
    /// Octets of the frames, FCS included.
    pub octets: u16,
    /// The line rate.
    pub line_bits_per_s: u64,
    /// The counting method; `None`: the best that the target supports.
    pub counting: Option<Counting>,
    /// Number of searches for the longest burst.
    pub repetitions: u32,
    /// The longest burst that is tried, frames.
    pub longest: u64,
    /// The pause after a burst, on a target that is not simulated.
    pub pause: Duration,
}

impl BackToBack {
    fn counting(&self, target: &dyn Target) -> Result<Counting, &'static str> {
        select_counting(target, self.counting, self.octets, self.line_bits_per_s)
    }
}

impl Procedure for BackToBack {
    fn label(&self) -> String {
        format!("bursts of {}-octet frames", self.octets)
    }

    fn min_duration(&self) -> Duration {
        // At least two bursts per search.
        self.pause * 2 * self.repetitions
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        self.counting(target).map(|_| ())
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let Ok(counting) = self.counting(target) else {
            return Ok(());
        };
        let bursts = BurstTest {
            offer: Offer {
                counting,
                octets: self.octets,
                line_bits_per_s: self.line_bits_per_s,
            },
            repetitions: self.repetitions,
            longest: self.longest,
        };
        let mut trials = Trials {
            target,
            context,
            extent: Extent::Short,
            pause: self.pause,
        };
        match bursts.run(&mut trials) {
            Ok(()) => Ok(()),
            Err(Stop::Cancelled) => {
                context.stopped(&self.label());
                Ok(())
            }
            Err(Stop::UnsupportedSize(why)) => {
                context.not_measured(&self.label(), &why);
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}
