//! The search for the highest rate without loss (RFC 2544 section 26.1). No I/O: it returns the next
//! rate to try, and records the outcome.

/// A trial to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The rate, in steps of the line rate.
    pub step: u32,
    /// True if the result depends on it, so that it needs its full length (section 24).
    pub is_final: bool,
}

/// A search among the rates 1, 2, ... `steps`, the last of which is the line rate.
///
/// It bisects the interval first. The rate found is confirmed by repetition; if that fails, the search
/// steps back in growing steps until a rate is lossless twice, and bisects again. A loss at a rate
/// rules out that rate and all above it. So it ends after [`max_trials`] for any outcomes, and if loss
/// depends on the rate alone, it finds the highest step without any.
#[derive(Clone, Copy, Debug)]
pub struct RateSearch {
    /// The lowest rate with a loss; above all rates if there was none.
    lossy: u32,
    /// The highest rate without a loss: once while seeking, twice afterwards. 0: none.
    lossless: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Seek {
        at: u32,
    },
    Confirm {
        at: u32,
        /// Lossless trials still needed.
        left: u8,
        /// Size of the last step back.
        back: u32,
    },
    Done,
}

/// The maximum number of trials of a search.
pub const fn max_trials(steps: u32) -> u64 {
    let halvings = steps.ilog2() as u64 + 1;
    // Seek; confirm; step back, twice each; bisect, twice each.
    (1 + halvings) + 1 + 2 * (halvings + 1) + 2 * halvings
}

impl RateSearch {
    /// A search among `steps` rates, at least one.
    pub const fn new(steps: u32) -> Self {
        let steps = if steps == 0 { 1 } else { steps };
        Self {
            lossy: steps + 1,
            lossless: 0,
            stage: Stage::Seek { at: steps },
        }
    }

    /// The next trial; `None`: the search is complete.
    pub const fn next(&self) -> Option<Probe> {
        match self.stage {
            Stage::Seek { at } => Some(Probe {
                step: at,
                is_final: false,
            }),
            Stage::Confirm { at, .. } => Some(Probe {
                step: at,
                is_final: true,
            }),
            Stage::Done => None,
        }
    }

    /// The highest rate that was lossless twice, once the search is complete; `None` if there was
    /// none.
    pub const fn found(&self) -> Option<u32> {
        match self.stage {
            Stage::Done if self.lossless > 0 => Some(self.lossless),
            _ => None,
        }
    }

    /// Records the outcome of [`RateSearch::next`].
    pub const fn record(&mut self, is_lossless: bool) {
        self.stage = match self.stage {
            Stage::Seek { at } => self.on_seek(at, is_lossless),
            Stage::Confirm { at, left, back } if is_lossless && left > 1 => Stage::Confirm {
                at,
                left: left - 1,
                back,
            },
            Stage::Confirm { at, back, .. } => self.on_confirm(at, back, is_lossless),
            Stage::Done => Stage::Done,
        };
    }

    const fn on_seek(&mut self, at: u32, is_lossless: bool) -> Stage {
        if is_lossless {
            self.lossless = at;
        } else {
            self.lossy = at;
        }
        if self.lossy - self.lossless > 1 {
            return Stage::Seek { at: self.middle() };
        }
        let at = self.lossless;
        // From here on a rate has to be lossless twice.
        self.lossless = 0;
        match at {
            0 => Stage::Done,
            at => Stage::Confirm {
                at,
                left: 1,
                back: 0,
            },
        }
    }

    const fn on_confirm(&mut self, at: u32, back: u32, is_lossless: bool) -> Stage {
        if is_lossless {
            self.lossless = at;
        } else {
            self.lossy = at;
        }
        if self.lossy - self.lossless <= 1 {
            return Stage::Done;
        }
        if self.lossless > 0 {
            return Stage::Confirm {
                at: self.middle(),
                left: 2,
                back: 0,
            };
        }
        let back = if back == 0 { 1 } else { back * 2 };
        let at = self.lossy.saturating_sub(back);
        Stage::Confirm {
            at: if at == 0 { 1 } else { at },
            left: 2,
            back,
        }
    }

    const fn middle(&self) -> u32 {
        self.lossless + (self.lossy - self.lossless) / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a search; returns the trials and the rate found.
    fn searched(
        steps: u32,
        mut is_lossless: impl FnMut(Probe) -> bool,
    ) -> (Vec<(Probe, bool)>, Option<u32>) {
        let mut search = RateSearch::new(steps);
        let mut trials = Vec::new();
        while let Some(probe) = search.next() {
            let outcome = is_lossless(probe);
            trials.push((probe, outcome));
            search.record(outcome);
            assert!(trials.len() as u64 <= max_trials(steps), "{trials:?}");
        }
        (trials, search.found())
    }

    #[test]
    fn a_lossless_line_rate_takes_two_trials() {
        let (trials, found) = searched(100, |_| true);
        assert_eq!(found, Some(100));
        let steps: Vec<(u32, bool)> = trials.iter().map(|it| (it.0.step, it.0.is_final)).collect();
        assert_eq!(steps, [(100, false), (100, true)]);
    }

    #[test]
    fn a_rate_lossless_only_in_short_trials_is_stepped_back_from() {
        // In short trials a buffer hides the loss.
        let holds = |probe: Probe| probe.step <= if probe.is_final { 57 } else { 63 };
        let (_, found) = searched(100, holds);
        assert_eq!(found, Some(57));
    }

    /// A loss in the second trial of a rate must not begin the steps back with the smallest again.
    #[test]
    fn steps_back_grow_after_a_rate_that_was_lossless_once() {
        let mut finals = 0;
        let (trials, found) = searched(151, |probe| {
            finals += u32::from(probe.is_final);
            // Every rate passes its first trial and fails its second.
            !probe.is_final || finals % 2 == 0
        });
        assert_eq!(found, None);
        assert!(trials.len() <= 20, "{trials:?}");
    }

    proptest! {
        #[test]
        fn the_highest_lossless_step_is_found(steps in 1u32..5_000, share in 0.0f64..1.2) {
            let capacity = (f64::from(steps) * share) as u32;
            let (trials, found) = searched(steps, |probe| probe.step <= capacity);
            prop_assert_eq!(found, Some(capacity.min(steps)).filter(|step| *step > 0));
            prop_assert!(trials.iter().all(|(probe, _)| (1..=steps).contains(&probe.step)));
        }

        #[test]
        fn what_is_found_was_lossless_twice_and_never_lossy(
            steps in 1u32..2_000,
            outcomes in proptest::collection::vec(any::<bool>(), 64),
        ) {
            let mut outcomes = outcomes.into_iter().cycle();
            let (trials, found) = searched(steps, |_| outcomes.next().expect("endless"));
            if let Some(found) = found {
                let at = trials.iter().filter(|(probe, _)| probe.step == found);
                let lossless: Vec<bool> = at.map(|(_, outcome)| *outcome).collect();
                prop_assert!(lossless.len() >= 2 && lossless.iter().all(|it| *it));
            }
        }

        #[test]
        fn a_target_that_loses_a_frame_now_and_then_costs_little(
            steps in 50u32..1_000,
            flaws in proptest::collection::vec(0u32..12, 64),
        ) {
            // One trial in twelve has an unrelated loss. The rate found never exceeds the capacity.
            let capacity = steps * 3 / 4;
            let mut flaws = flaws.into_iter().cycle();
            let holds = |probe: Probe| {
                probe.step <= capacity && flaws.next().expect("endless") > 0
            };
            let (_, found) = searched(steps, holds);
            prop_assert!(found.is_none_or(|found| found <= capacity));
        }
    }
}
