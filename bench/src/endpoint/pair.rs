//! Two targets at the same device: one loads the link, the other measures round trips at the same
//! time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::client::LinkedMonitor;
use super::{Outcome, RoundTrips, Target, TargetError, Trial, TrialMonitor};

/// Interval at which the end of the load is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

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
        let stop = AtomicBool::new(false);
        let (loaded, probed) = std::thread::scope(|scope| {
            let loading = scope.spawn(|| loader.run(load, &mut LinkedMonitor(&stop)));
            std::thread::sleep(asked.head_start());
            let probed = probe.run(&alone, monitor);
            // The load goes on until its time is over, unless the user cancels.
            while !loading.is_finished() && !monitor.is_cancelled() {
                std::thread::sleep(POLL_INTERVAL);
            }
            stop.store(monitor.is_cancelled(), Ordering::Relaxed);
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

    fn address(&self) -> Option<std::net::SocketAddr> {
        self.load.address()
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        let of = |target: &dyn Target, trial: &Trial| target.deadline(trial);
        match trial {
            Trial::RoundTrips(RoundTrips {
                load: Some(load), ..
            }) => {
                let load = of(self.load.as_ref(), load)?;
                Some(load.max(of(self.probe.as_ref(), trial)?))
            }
            Trial::RoundTrips(_) => of(self.probe.as_ref(), trial),
            _ => of(self.load.as_ref(), trial),
        }
    }

    fn measure(
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
