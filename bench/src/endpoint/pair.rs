//! Two targets at the same device: one loads the link, the other is asked for round trips meanwhile.

use super::{Outcome, RoundTrips, Target, TargetError, Trial, Unwatched, Watch};

/// A target that loads, and one that is probed; where one alone can do what is asked for, it does.
pub struct Pair {
    /// Transfers.
    pub load: Box<dyn Target>,
    /// Round trips.
    pub probe: Box<dyn Target>,
}

impl Pair {
    fn under(
        &mut self,
        load: &Trial,
        asked: &RoundTrips,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, TargetError> {
        let alone = Trial::RoundTrips(RoundTrips {
            under: None,
            ..asked.clone()
        });
        let (loader, probe) = (&mut self.load, &mut self.probe);
        let (loaded, probed) = std::thread::scope(|scope| {
            let loading = scope.spawn(|| loader.run(load, &mut Unwatched));
            std::thread::sleep(asked.head_start());
            let probed = probe.run(&alone, watch);
            (loading.join(), probed)
        });
        let loaded = match loaded {
            Ok(loaded) => loaded?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(Outcome {
            round_trips: probed?.round_trips,
            ..loaded
        })
    }
}

impl Target for Pair {
    fn name(&self) -> String {
        format!("{} with {}", self.load.name(), self.probe.name())
    }

    fn can(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::RoundTrips(RoundTrips {
                under: Some(load), ..
            }) => self.load.can_load(load),
            Trial::RoundTrips(_) => self.probe.can(trial),
            _ => self.load.can(trial),
        }
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        self.load.line_bits_per_s()
    }

    fn is_simulated(&self) -> bool {
        self.load.is_simulated() && self.probe.is_simulated()
    }

    fn path_mtu(&self) -> Option<u32> {
        self.load.path_mtu()
    }

    fn run(&mut self, trial: &Trial, watch: &mut dyn Watch) -> Result<Outcome, TargetError> {
        match trial {
            Trial::RoundTrips(
                asked @ RoundTrips {
                    under: Some(load), ..
                },
            ) => self.under(load, asked, watch),
            Trial::RoundTrips(_) => self.probe.run(trial, watch),
            _ => self.load.run(trial, watch),
        }
    }
}
