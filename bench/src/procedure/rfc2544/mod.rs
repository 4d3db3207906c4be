//! RFC 2544, the benchmarks of section 26, toward an end station instead of through a forwarding device;
//! back-to-back frames as in RFC 9004.
//!
//! | module | content |
//! |---|---|
//! | `plan` | lengths and repetitions: the standard's, and short ones |
//! | `rate_search`, `burst_search` | the searches for a rate and for a burst, without I/O |
//! | `offer` | the trial for an offered load, and the metrics of its outcome |
//! | `trials` | runs trials and saves their results |
//! | `line` | what a line carries |
//! | `back_to_back` | back-to-back frames as a separate procedure |

mod back_to_back;
mod burst_search;
mod offer;
mod plan;
mod rate_search;
#[cfg(test)]
mod tests;
mod trials;

pub use back_to_back::BackToBack;
pub use linerate_host::load::line_rate::interface_line_rate;
pub use offer::DATAGRAM_OVERHEAD;
pub use plan::{Plan, SIZES, TESTS};

use std::time::Duration;

use linerate_results::record::{Counting, Rfc2544Test};

use self::offer::Offer;
use self::trials::{Stop, TestPart, Trials};
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::Target;

/// The counting methods, best first: with an agent the device only receives the frames; a reflector
/// also sends.
const COUNTINGS: [Counting; 3] = [Counting::Agent, Counting::Reflector, Counting::Datagrams];

/// The limit of reflected frames on a half-duplex line.
const HALF_DUPLEX: &str = "the line is half duplex: a reflected frame takes it twice, so that frames can come back at 50% \
                           of the line rate at most";

/// The benchmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct Rfc2544 {
    /// The selected tests, their durations and repetitions.
    pub plan: Plan,
}

/// The tests done with one counting method.
struct Suite {
    counting: Counting,
    tests: Vec<Rfc2544Test>,
    sizes: Vec<Size>,
}

/// A frame size that the target supports.
struct Size {
    offer: Offer,
    /// The throughput in steps, once found.
    throughput: Option<u32>,
}

/// The first counting method that `target` supports for frames of `octets`.
fn select_counting(
    target: &dyn Target,
    wanted: Option<Counting>,
    octets: u16,
    line_bits_per_s: u64,
) -> Result<Counting, &'static str> {
    let methods = COUNTINGS
        .into_iter()
        .filter(|method| wanted.is_none_or(|wanted| wanted == *method));
    let mut why = "it has no method to count frames";
    for counting in methods {
        let offer = Offer {
            counting,
            octets,
            line_bits_per_s,
        };
        match offer.check_support(target) {
            Ok(()) => return Ok(counting),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

impl Rfc2544 {
    /// The counting method for all sizes.
    fn counting(&self, target: &dyn Target) -> Result<Counting, &'static str> {
        let plan = &self.plan;
        let longest = plan.sizes.iter().max().copied().unwrap_or(SIZES[6]);
        select_counting(target, plan.counting, longest, plan.line_bits_per_s)
    }

    fn offer(&self, counting: Counting, octets: u16) -> Offer {
        Offer {
            counting,
            octets,
            line_bits_per_s: self.plan.line_bits_per_s,
        }
    }

    /// Maximum duration of all trials: with an agent, latency needs a throughput of its own.
    fn max_duration_with(&self, counting: Counting) -> Duration {
        let is_latency = |test: &Rfc2544Test| *test == Rfc2544Test::Latency;
        let of = |tests: Vec<Rfc2544Test>| {
            let plan = &self.plan;
            Plan {
                tests,
                ..plan.clone()
            }
            .max_duration()
        };
        let tests = self.plan.tests.iter().copied();
        if counting != Counting::Agent {
            return of(tests.collect());
        }
        let (latency, others) = tests.partition(is_latency);
        of(latency) + of(others)
    }

    /// The test suites: if an agent counts, latency is measured with reflected frames.
    fn suites(&self, target: &dyn Target, context: &mut TrialContext<'_>) -> Vec<Suite> {
        let Ok(counting) = self.counting(target) else {
            return Vec::new();
        };
        let mut tests = self.plan.tests.clone();
        let has_latency = tests.contains(&Rfc2544Test::Latency);
        let longest = self.plan.sizes.iter().max().copied().unwrap_or(SIZES[6]);
        let mut suites = Vec::new();
        let drop_latency = |tests: &mut Vec<_>| tests.retain(|it| *it != Rfc2544Test::Latency);
        match counting {
            Counting::Agent if has_latency => {
                drop_latency(&mut tests);
                let reflected = self.offer(Counting::Reflector, longest);
                match reflected.check_support(target) {
                    Ok(()) => suites.push((Counting::Reflector, vec![Rfc2544Test::Latency])),
                    Err(why) => context.not_measured("latency", why),
                }
            }
            Counting::Datagrams if has_latency => {
                let probed = self.offer(counting, longest).with_round_trips(1, 1.0);
                if let Err(why) = target.supports(&probed) {
                    drop_latency(&mut tests);
                    context.not_measured("latency", why);
                }
            }
            _ => {}
        }
        suites.insert(0, (counting, tests));
        suites
            .into_iter()
            .filter(|(_, tests)| !tests.is_empty())
            .map(|(counting, tests)| Suite {
                counting,
                tests,
                sizes: self.sizes(counting, target, context),
            })
            .collect()
    }

    fn sizes(
        &self,
        counting: Counting,
        target: &dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Vec<Size> {
        let mut sizes = Vec::new();
        for octets in &self.plan.sizes {
            let offer = self.offer(counting, *octets);
            match offer.check_support(target) {
                Ok(()) => sizes.push(Size {
                    offer,
                    throughput: None,
                }),
                Err(why) => context.not_measured(&named(*octets), why),
            }
        }
        sizes
    }

    fn suite(&self, mut suite: Suite, trials: &mut Trials<'_, '_>) -> Result<(), Stop> {
        let plan = Plan {
            tests: suite.tests.clone(),
            ..self.plan.clone()
        };
        trials.context.note(suite.counting.label());
        if suite.counting == Counting::Reflector && trials.target.is_half_duplex() {
            trials.context.note_on_result(HALF_DUPLEX);
        }
        for test in TESTS.into_iter().filter(|test| plan.includes(*test)) {
            let mut kept = Vec::new();
            for mut size in suite.sizes {
                match self.test(test, &mut size, trials) {
                    Ok(()) => kept.push(size),
                    Err(Stop::UnsupportedSize(why)) => {
                        trials.context.not_measured(&named(size.offer.octets), &why);
                    }
                    Err(stop) => return Err(stop),
                }
            }
            suite.sizes = kept;
        }
        Ok(())
    }

    fn test(
        &self,
        test: Rfc2544Test,
        size: &mut Size,
        trials: &mut Trials<'_, '_>,
    ) -> Result<(), Stop> {
        let plan = &self.plan;
        match test {
            Rfc2544Test::Throughput => {
                let span = |is_final| {
                    if is_final {
                        plan.final_trial
                    } else {
                        plan.trial
                    }
                };
                size.throughput = trials.highest(size.offer, plan.steps, span)?;
                Ok(())
            }
            Rfc2544Test::Latency => self.latency(size, trials),
            Rfc2544Test::FrameLoss => self.frame_loss(size.offer, trials),
            Rfc2544Test::BackToBack => self.back_to_back(size, trials),
        }
    }

    /// Section 26.2.
    fn latency(&self, size: &Size, trials: &mut Trials<'_, '_>) -> Result<(), Stop> {
        let octets = size.offer.octets;
        let Some(step) = size.throughput else {
            let what = format!("latency, {}", named(octets));
            let why = "there is no rate without loss to measure it at";
            trials.context.not_measured(&what, why);
            return Ok(());
        };
        for repetition in 0..self.plan.latency_repetitions {
            let part = TestPart {
                test: Rfc2544Test::Latency,
                repetition,
                repetitions: self.plan.latency_repetitions,
                ..TestPart::default()
            };
            let rate = self.plan.rate(octets, step);
            trials.stream(size.offer, part, rate, self.plan.stream)?;
        }
        Ok(())
    }

    /// Section 26.3: down from the line rate in steps of a tenth, until two consecutive trials have
    /// no loss.
    fn frame_loss(&self, offer: Offer, trials: &mut Trials<'_, '_>) -> Result<(), Stop> {
        let part = TestPart {
            test: Rfc2544Test::FrameLoss,
            ..TestPart::default()
        };
        let mut lossless = 0;
        for tenths in (1..=10).rev() {
            let rate = offer.line_frames_per_s() * f64::from(tenths) / 10.0;
            let record = trials.stream(offer, part, rate, self.plan.trial)?;
            lossless = if record.is_lossless() {
                lossless + 1
            } else {
                0
            };
            if lossless == 2 {
                break;
            }
        }
        Ok(())
    }

    /// Section 26.4. If the throughput is the line rate, no burst is too long (RFC 9004 section
    /// 5.1), and none is tried.
    fn back_to_back(&self, size: &Size, trials: &mut Trials<'_, '_>) -> Result<(), Stop> {
        if size.throughput == Some(self.plan.steps) {
            return Ok(());
        }
        let burst = back_to_back::BurstTest {
            offer: size.offer,
            repetitions: self.plan.burst_repetitions,
            longest: self.plan.longest_burst(size.offer.octets),
        };
        burst.run(trials)
    }
}

fn named(octets: u16) -> String {
    format!("frames of {octets} octets")
}

impl Procedure for Rfc2544 {
    fn label(&self) -> String {
        "RFC 2544".to_owned()
    }

    fn min_duration(&self) -> Duration {
        self.plan.min_duration()
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        // A target that does not answer uses up the whole time of its first trial, again and again.
        let octets = self.plan.sizes.iter().max().copied().unwrap_or(SIZES[6]);
        let counting = self.counting(target).ok()?;
        let silent = target.deadline(&self.offer(counting, octets).trial(1, Some(1.0)))?;
        Some(self.max_duration_with(counting) + silent * trials::ATTEMPTS)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        self.counting(target).map(|_| ())
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        for suite in self.suites(target, context) {
            let mut trials = Trials {
                target,
                context,
                extent: self.plan.extent,
                pause: self.plan.pause,
            };
            let counting = suite.counting.label();
            match self.suite(suite, &mut trials) {
                Ok(()) => {}
                Err(Stop::Cancelled) => {
                    context.stopped(&format!("the rest with {counting}"));
                    break;
                }
                Err(Stop::UnsupportedSize(why)) => context.not_measured(counting, &why),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }
}
