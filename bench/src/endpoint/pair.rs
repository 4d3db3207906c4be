//! Two targets at the same device: one loads the link, the other measures round trips at the same
//! time.

use super::{NoMonitor, Outcome, RoundTrips, Target, TargetError, Trial, TrialMonitor};

/// A target that loads the link, and one that is probed; a trial that needs one of them is passed
/// to it.
pub struct Pair {
    /// Runs transfers.
    pub load: Box<dyn Target>,
    /// Runs round trips.
    pub probe: Box<dyn Target>,
}

impl Pair {
    fn run_loaded(
        &mut self,
        load: &Trial,
        asked: &RoundTrips,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let alone = Trial::RoundTrips(RoundTrips {
            load: None,
            ..asked.clone()
        });
        let (loader, probe) = (&mut self.load, &mut self.probe);
        let (loaded, probed) = std::thread::scope(|scope| {
            let loading = scope.spawn(|| loader.run(load, &mut NoMonitor));
            std::thread::sleep(asked.head_start());
            let probed = probe.run(&alone, monitor);
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

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::RoundTrips(RoundTrips {
                load: Some(load), ..
            }) => self.load.supports_as_load(load),
            Trial::RoundTrips(_) => self.probe.supports(trial),
            _ => self.load.supports(trial),
        }
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        self.load.line_bits_per_s()
    }

    fn is_simulated(&self) -> bool {
        self.load.is_simulated() && self.probe.is_simulated()
    }

    fn address(&self) -> Option<std::net::IpAddr> {
        self.load.address()
    }

    fn path_mtu(&self) -> Option<u32> {
        self.load.path_mtu()
    }

    fn run(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        match trial {
            Trial::RoundTrips(
                asked @ RoundTrips {
                    load: Some(load), ..
                },
            ) => self.run_loaded(load, asked, monitor),
            Trial::RoundTrips(_) => self.probe.run(trial, monitor),
            _ => self.load.run(trial, monitor),
        }
    }
}
