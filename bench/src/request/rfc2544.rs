//! RFC 2544 as a user requests it.

use std::time::Duration;

use linerate_results::record::{Counting, Rfc2544Test};

use crate::procedure::rfc2544::{Plan, TESTS};

/// Default trial duration on a simulated board: its times are exact, and no other load interferes.
const SIMULATED_TRIAL: Duration = Duration::from_millis(500);

/// The tests of RFC 2544, or some of them.
#[derive(Clone, Debug)]
pub struct Rfc2544Request {
    /// Durations and repetitions of the standard instead of short ones.
    pub full: bool,
    /// Duration of a trial, if the user names one.
    pub trial: Option<Duration>,
    /// Frame sizes with FCS, octets.
    pub sizes: Vec<u16>,
    /// The tests; all if empty.
    pub tests: Vec<Rfc2544Test>,
    /// The counter of frames; chosen by the target if `None`.
    pub counting: Option<Counting>,
    /// Resolution of the search for the throughput, per cent of the line rate.
    pub resolution_percent: Option<f64>,
}

impl Rfc2544Request {
    /// The plan on a line of `line_bits_per_s`.
    pub fn plan(&self, line_bits_per_s: u64, is_simulated: bool) -> Plan {
        let plan = if self.full {
            Plan::full(line_bits_per_s)
        } else {
            Plan::short(line_bits_per_s)
        };
        let plan = match self.trial {
            Some(span) => plan.with_trials_of(span),
            None if is_simulated && !self.full => plan.with_trials_of(SIMULATED_TRIAL),
            None => plan,
        };
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let steps = self
            .resolution_percent
            .map(|percent| (100.0 / percent).round() as u32);
        Plan {
            sizes,
            tests: if self.tests.is_empty() {
                TESTS.to_vec()
            } else {
                self.tests.clone()
            },
            counting: self.counting,
            steps: steps.unwrap_or(plan.steps),
            ..plan
        }
    }
}
