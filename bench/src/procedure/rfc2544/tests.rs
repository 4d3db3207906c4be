use std::time::{Duration, Instant};

use linerate_results::record::{
    self, CountedAt, Counting, Flow, Measurement, Rfc2544 as Record, Rfc2544Test, line_frames_per_s,
};

use super::super::scripted::failures_within;
use super::*;
use crate::endpoint::{
    Amount, NoMonitor, Outcome, RoundTripReport, RoundTripSample, RoundTrips, TargetError, Trial,
    TrialMonitor,
};

const LINE: u64 = 10_000_000;

/// A device that receives `capacity` frames a second and buffers `buffer` more.
#[derive(Clone)]
struct Scripted {
    capacity: fn(u64) -> f64,
    buffer: f64,
    can_count: bool,
    can_reflect: bool,
    is_half_duplex: bool,
    /// The minimum payload of its datagrams; `None`: it has none.
    datagrams: Option<u16>,
    /// Period of trials that lose one more frame.
    flaw: Option<u64>,
    /// Period of trials that fail.
    failing: Option<u64>,
    /// Maximum rate of the sender.
    reach: f64,
    trials: Vec<Trial>,
}

impl Default for Scripted {
    fn default() -> Self {
        Self {
            capacity: |_| f64::INFINITY,
            buffer: 0.0,
            can_count: true,
            can_reflect: true,
            is_half_duplex: false,
            datagrams: None,
            flaw: None,
            failing: None,
            reach: f64::INFINITY,
            trials: Vec::new(),
        }
    }
}

impl Scripted {
    /// Frames lost of `frames` of `octets` with `interval_ns` between.
    fn lost(&self, octets: u64, frames: u64, interval_ns: f64) -> u64 {
        let seconds = frames as f64 * interval_ns / 1e9;
        let taken = (self.capacity)(octets) * seconds + self.buffer;
        let lost = (frames as f64 - taken - 1e-6).ceil().max(0.0) as u64;
        let number = self.trials.len() as u64;
        let flaw = self.flaw.is_some_and(|flaw| number.is_multiple_of(flaw));
        (lost + u64::from(flaw)).min(frames)
    }

    fn flow(&self, octets: u64, payload: u64, frames: u64, interval_ns: f64) -> Flow {
        let lost = self.lost(octets, frames, interval_ns);
        let received = frames - lost;
        let interval_ns = interval_ns.max(1e9 / self.reach);
        let span_ns = (frames.saturating_sub(1) as f64 * interval_ns) as u64;
        let datagrams = record::Datagrams {
            sent: frames,
            received,
            lost,
            ..record::Datagrams::default()
        };
        Flow::datagrams(received * payload, span_ns, CountedAt::Device, datagrams)
    }
}

impl Target for Scripted {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    fn is_half_duplex(&self) -> bool {
        self.is_half_duplex
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Frames(frames) if frames.reflected && self.can_reflect => Ok(()),
            Trial::Frames(frames) if !frames.reflected && self.can_count => Ok(()),
            Trial::Datagrams(_) if self.datagrams.is_some() => Ok(()),
            _ => Err("it can't"),
        }
    }

    fn measure(&mut self, trial: &Trial, _: &mut dyn TrialMonitor) -> Result<Outcome, TargetError> {
        self.trials.push(trial.clone());
        let number = self.trials.len() as u64;
        if self
            .failing
            .is_some_and(|every| number.is_multiple_of(every))
        {
            return Err(TargetError::Failed {
                target: self.name(),
                what: "no report".to_owned(),
            });
        }
        match trial {
            Trial::Frames(frames) => {
                let octets = u64::from(frames.octets);
                let line = 1e9 / line_frames_per_s(LINE, octets);
                let interval_ns = frames.interval_ns.max(line);
                let flow = self.flow(octets, octets, frames.count, interval_ns);
                if !frames.reflected {
                    return Ok(Outcome {
                        to_device: Some(flow),
                        ..Outcome::default()
                    });
                }
                let received = flow.datagrams.expect("there are").received;
                let samples = (0..received).map(|at| RoundTripSample {
                    sent_ns: (at as f64 * interval_ns) as u64,
                    // Longer with each, so that the tagged one is distinct.
                    round_trip_ns: 1_000_000 + at,
                });
                Ok(Outcome {
                    round_trips: Some(RoundTripReport {
                        sent: frames.count,
                        samples: samples.collect(),
                        ..RoundTripReport::default()
                    }),
                    ..Outcome::default()
                })
            }
            Trial::Datagrams(it) => {
                let Amount::Octets(amount) = it.amount else {
                    panic!("a count is asked for");
                };
                let smallest = self.datagrams.expect("it has");
                let payload = u64::from(it.payload_octets.max(smallest));
                let frames = amount / u64::from(it.payload_octets);
                let rate = it.payload_bits_per_s as f64 / 8.0 / f64::from(it.payload_octets);
                let octets = u64::from(it.payload_octets + DATAGRAM_OVERHEAD);
                let flow = self.flow(octets, payload, frames, 1e9 / rate);
                Ok(Outcome {
                    to_device: Some(flow),
                    ..Outcome::default()
                })
            }
            Trial::RoundTrips(RoundTrips { .. }) | Trial::Stream(_) => panic!("not asked for"),
        }
    }
}

/// The results, notes and outcome of a procedure.
struct Completed {
    records: Vec<Record>,
    notes: Vec<String>,
    outcome: Result<(), SessionError>,
}

impl Completed {
    fn of(&self, test: Rfc2544Test, octets: u64) -> Vec<&Record> {
        let all = self.records.iter();
        all.filter(|it| it.params.test == test && it.params.frame_octets == octets)
            .collect()
    }

    /// The rate of the last final trial.
    fn throughput(&self, octets: u64) -> f64 {
        let all = self.of(Rfc2544Test::Throughput, octets);
        let last = all.last().expect("tried");
        assert!(last.is_lossless());
        last.params.offered_frames_per_s
    }
}

fn done(procedure: &dyn Procedure, target: &mut Scripted) -> Completed {
    done_monitored(procedure, target, &mut NoMonitor)
}

fn done_monitored(
    procedure: &dyn Procedure,
    target: &mut Scripted,
    monitor: &mut dyn TrialMonitor,
) -> Completed {
    let (mut records, mut notes) = (Vec::new(), Vec::new());
    let mut keep = |result| {
        let Measurement::Rfc2544(record) = result else {
            panic!("another kind");
        };
        records.push(record);
        Ok(())
    };
    let mut note = |text: &str| notes.push(text.to_owned());
    let mut context = TrialContext::new(&mut keep, &mut note, monitor);
    let outcome = procedure.run(target, &mut context);
    Completed {
        records,
        notes,
        outcome,
    }
}

fn plan() -> Plan {
    Plan {
        pause: Duration::ZERO,
        ..Plan::short(LINE)
    }
}

#[test]
fn reflected_frames_on_a_half_duplex_line_come_with_its_limit() {
    for is_half_duplex in [false, true] {
        let mut target = Scripted {
            is_half_duplex,
            ..Scripted::default()
        };
        let done = done(&Rfc2544 { plan: plan() }, &mut target);
        done.outcome.expect("all of it");
        let notes = done.notes.iter().filter(|it| it.contains("at 50%"));
        assert_eq!(notes.count() > 0, is_half_duplex, "{:?}", done.notes);
    }
}

#[test]
fn a_device_at_line_rate_gets_two_trials_and_no_bursts() {
    let mut target = Scripted::default();
    let done = done(&Rfc2544 { plan: plan() }, &mut target);
    done.outcome.expect("all of it");
    for octets in SIZES.map(u64::from) {
        let line = line_frames_per_s(LINE, octets);
        let of = |test| {
            let all = done
                .records
                .iter()
                .filter(move |it| it.params.test == test && it.params.frame_octets == octets);
            all.collect::<Vec<_>>()
        };
        // Counted, and again with frames sent back, for the latency.
        let throughput = of(Rfc2544Test::Throughput);
        assert_eq!(throughput.len(), 4, "{octets}");
        for trial in throughput {
            assert!((trial.params.offered_frames_per_s - line).abs() < 1e-6);
            assert!(trial.is_lossless());
        }
        assert_eq!(of(Rfc2544Test::FrameLoss).len(), 2);
        assert_eq!(of(Rfc2544Test::BackToBack).len(), 0);
        let latency = of(Rfc2544Test::Latency);
        assert_eq!(latency.len(), 3);
        for trial in latency {
            assert_eq!(trial.params.counting, Counting::Reflector);
            let times = trial.metrics.round_trips.expect("each has its own");
            // The first of the second half.
            let half = (times.count - 1).div_ceil(2);
            assert_eq!(times.tagged_ns, Some(1_000_000 + half), "{times:?}");
            assert_eq!(
                (times.min_ns, times.max_ns),
                (1_000_000, 1_000_000 + times.count - 1)
            );
            // Twice the frame and its preamble, a bit in 100 ns.
            assert_eq!(times.serialisation_ns, 2 * (octets + 8) * 8 * 100);
        }
    }
}

#[test]
fn what_a_device_carries_is_found_for_each_size() {
    // 100 µs a frame and 900 ns an octet, where the line takes 800 ns: less than the line each time.
    let mut target = Scripted {
        capacity: |octets| 1e9 / (100_000.0 + octets as f64 * 900.0),
        can_reflect: false,
        ..Scripted::default()
    };
    let plan = Plan {
        tests: vec![Rfc2544Test::Throughput],
        ..plan()
    };
    let done = done(&Rfc2544 { plan }, &mut target);
    for octets in SIZES.map(u64::from) {
        let line = line_frames_per_s(LINE, octets);
        let capacity = (target.capacity)(octets).min(line);
        let found = done.throughput(octets);
        assert!(
            found <= capacity * (1.0 + 1e-9) && found > capacity - line / 100.0,
            "{octets}"
        );
        assert!(done.records.iter().all(|it| it.params.offered_frames_per_s
            <= line_frames_per_s(LINE, it.params.frame_octets) + 1e-6));
    }
    done.outcome.expect("all of it");
}

#[test]
fn loss_is_measured_down_to_two_rates_without_any() {
    // 75 per cent of the line.
    let mut target = Scripted {
        capacity: |octets| line_frames_per_s(LINE, octets) * 0.75,
        ..Scripted::default()
    };
    let plan = Plan {
        tests: vec![Rfc2544Test::FrameLoss],
        sizes: vec![512],
        ..plan()
    };
    let done = done(&Rfc2544 { plan }, &mut target);
    let lost: Vec<f64> = done.records.iter().map(Record::loss_ratio).collect();
    assert_eq!(lost.len(), 5, "100, 90, 80, 70, 60");
    assert!((lost[0] - 0.25).abs() < 1e-3, "{lost:?}");
    assert!((lost[1] - (1.0 - 75.0 / 90.0)).abs() < 1e-3, "{lost:?}");
    assert!(lost[2] > 0.0 && lost[3].abs() < 1e-12 && lost[4].abs() < 1e-12);
}

#[test]
fn the_longest_burst_fills_the_buffer_each_time() {
    let mut target = Scripted {
        capacity: |octets| line_frames_per_s(LINE, octets) * 0.5,
        buffer: 8.0,
        ..Scripted::default()
    };
    let plan = Plan {
        tests: vec![Rfc2544Test::BackToBack],
        sizes: vec![128],
        ..plan()
    };
    let done = done(&Rfc2544 { plan }, &mut target);
    for repetition in 0..5 {
        let bursts = done.of(Rfc2544Test::BackToBack, 128);
        let bursts = bursts
            .iter()
            .filter(|it| it.params.repetition == repetition);
        let lossless = bursts.filter(|it| it.is_lossless());
        let longest = lossless.map(|it| it.params.frames).max();
        // The buffer, and as many again that are taken meanwhile.
        assert_eq!(longest, Some(16));
    }
    let frames: Vec<f64> = target
        .trials
        .iter()
        .filter_map(|trial| match trial {
            Trial::Frames(frames) if frames.count < 20 => Some(frames.interval_ns),
            _ => None,
        })
        .collect();
    assert!(frames.iter().all(|interval| interval.abs() < f64::EPSILON));
}

#[test]
fn bursts_alone_are_a_procedure() {
    let mut target = Scripted {
        capacity: |_| 0.0,
        buffer: 3.0,
        ..Scripted::default()
    };
    let procedure = BackToBack {
        octets: 1518,
        line_bits_per_s: LINE,
        counting: None,
        repetitions: 2,
        longest: 1_000,
        pause: Duration::ZERO,
    };
    procedure.check_support(&target).expect("it can");
    let done = done(&procedure, &mut target);
    let longest = done.records.iter().filter(|it| it.is_lossless());
    assert_eq!(longest.map(|it| it.params.frames).max(), Some(3));
    assert!(
        done.records
            .iter()
            .all(|it| it.params.test == Rfc2544Test::BackToBack)
    );
}

#[test]
fn a_device_with_datagrams_only_is_measured_with_them_where_they_fit() {
    let mut target = Scripted {
        capacity: |octets| line_frames_per_s(LINE, octets) * 0.5,
        can_count: false,
        can_reflect: false,
        datagrams: Some(40),
        ..Scripted::default()
    };
    let plan = Plan {
        tests: vec![Rfc2544Test::Throughput, Rfc2544Test::Latency],
        sizes: vec![46, 64, 128],
        ..plan()
    };
    let done = done(&Rfc2544 { plan }, &mut target);
    assert!((done.throughput(128) / line_frames_per_s(LINE, 128) - 0.5).abs() < 0.011);
    assert!(
        done.records
            .iter()
            .all(|it| it.params.frame_octets == 128 && it.params.counting == Counting::Datagrams)
    );
    let notes = done.notes.join("\n");
    assert!(
        notes.contains("frames of 46 octets: not measured: it is too small"),
        "{notes}"
    );
    assert!(
        notes.contains("frames of 64 octets: not measured: its datagrams have 40 octets"),
        "{notes}"
    );
    assert!(notes.contains("latency: not measured"), "{notes}");
    done.outcome.expect("the rest is there");
}

#[test]
fn a_rate_that_the_sender_does_not_reach_is_not_a_result() {
    let mut target = Scripted {
        can_count: false,
        can_reflect: false,
        datagrams: Some(1),
        reach: 1_000.0,
        ..Scripted::default()
    };
    let plan = Plan {
        tests: vec![Rfc2544Test::Throughput],
        sizes: vec![512],
        ..plan()
    };
    let done = done(&Rfc2544 { plan }, &mut target);
    let found = done.throughput(512);
    assert!((950.0..=1_060.0).contains(&found), "{found}");
    assert!(done.records[0].metrics.is_below_offered);
}

#[test]
fn a_frame_lost_now_and_then_and_a_failed_trial_do_not_keep_it_from_ending() {
    let mut target = Scripted {
        capacity: |octets| line_frames_per_s(LINE, octets) * 0.75,
        flaw: Some(7),
        failing: Some(5),
        ..Scripted::default()
    };
    let plan = plan();
    let most = rate_search::max_trials(plan.steps) as usize;
    let done = done(&Rfc2544 { plan }, &mut target);
    for octets in SIZES.map(u64::from) {
        let trials = done.of(Rfc2544Test::Throughput, octets);
        assert!(trials.len() <= 2 * most, "{octets}: {}", trials.len());
    }
    assert!(
        done.notes
            .iter()
            .any(|note| note.ends_with("no report; retrying"))
    );
    done.outcome.expect("all of it");
}

#[test]
fn a_device_that_always_fails_ends_it_with_its_error() {
    let mut target = Scripted {
        failing: Some(1),
        ..Scripted::default()
    };
    let done = done(&Rfc2544 { plan: plan() }, &mut target);
    let error = done.outcome.expect_err("no trial succeeds").to_string();
    assert_eq!(error, "scripted: no report");
    assert_eq!(target.trials.len(), 3);
}

#[test]
fn a_user_who_cancels_keeps_whole_trials_only() {
    /// Cancels after some calls.
    struct Impatient(std::cell::Cell<u32>);
    impl TrialMonitor for Impatient {
        fn update(&mut self, _: Duration, _: u64) {}
        fn is_cancelled(&self) -> bool {
            self.0.set(self.0.get() + 1);
            self.0.get() > 6
        }
    }
    let mut target = Scripted::default();
    let mut monitor = Impatient(std::cell::Cell::new(0));
    let done = done_monitored(&Rfc2544 { plan: plan() }, &mut target, &mut monitor);
    done.outcome.expect("no error");
    assert!(done.records.len() < target.trials.len() + 1 && done.records.len() < 7);
    let notes = done.notes.join("\n");
    assert!(notes.contains("the rest with frames counted"), "{notes}");
}

#[test]
fn a_target_without_a_counting_method_is_not_supported() {
    let target = Scripted {
        can_count: false,
        can_reflect: false,
        ..Scripted::default()
    };
    let procedure = Rfc2544 { plan: plan() };
    assert_eq!(procedure.check_support(&target), Err("it can't"));
    let wanted = Rfc2544 {
        plan: Plan {
            counting: Some(Counting::Reflector),
            ..plan()
        },
    };
    assert_eq!(wanted.check_support(&Scripted::default()), Ok(()));
    // Only the requested method is used, although it supports another.
    let counts = Scripted {
        can_reflect: false,
        ..Scripted::default()
    };
    assert!(wanted.check_support(&counts).is_err());
}

/// Time of a trial on the line.
fn span(trial: &Trial) -> Duration {
    let Trial::Frames(frames) = trial else {
        panic!("frames are asked for")
    };
    let line_ns = 1e9 / line_frames_per_s(LINE, u64::from(frames.octets));
    Duration::from_nanos((frames.count as f64 * frames.interval_ns.max(line_ns)) as u64)
}

#[test]
fn no_outcome_takes_longer_than_stated() {
    let plan = Plan {
        sizes: vec![1518],
        longest_burst_span: Duration::from_millis(200),
        pause: Duration::ZERO,
        ..Plan::short(LINE).with_trials_of(Duration::from_millis(50))
    };
    for flaw in [None, Some(2), Some(3), Some(5), Some(11)] {
        for capacity in [|_| 0.0, |_| 40.0, |octets| 5e5 / octets as f64, |_| 1e9] {
            let mut target = Scripted {
                capacity,
                flaw,
                buffer: 20.0,
                ..Scripted::default()
            };
            let procedure = Rfc2544 { plan: plan.clone() };
            let done = done(&procedure, &mut target);
            done.outcome.expect("no error");
            let each = plan::TRIAL_OVERHEAD + plan.pause;
            let all: Duration = target.trials.iter().map(|trial| span(trial) + each).sum();
            let stated = procedure.max_duration_with(Counting::Agent);
            assert!(all <= stated, "{flaw:?}: {all:?} of {stated:?}");
        }
    }
}

#[test]
fn after_the_longest_time_no_trial_runs_and_the_rest_is_not_measured() {
    let mut target = Scripted::default();
    let procedure = Rfc2544 { plan: plan() };
    let failures = failures_within(Some(Duration::ZERO), &procedure, &mut target);
    assert!(target.trials.is_empty());
    assert_eq!(
        failures,
        ["the rest with frames counted by an agent on the device: its longest time is over"]
    );
}

#[test]
fn the_longest_time_ends_a_trial() {
    /// Sends until it is stopped.
    struct Endless(u32);
    impl Target for Endless {
        fn name(&self) -> String {
            "endless".to_owned()
        }
        fn supports(&self, _: &Trial) -> Result<(), &'static str> {
            Ok(())
        }
        fn measure(
            &mut self,
            _: &Trial,
            monitor: &mut dyn TrialMonitor,
        ) -> Result<Outcome, TargetError> {
            self.0 += 1;
            let until = Instant::now() + Duration::from_secs(20);
            while !monitor.is_cancelled() {
                assert!(Instant::now() < until, "nobody ends the trial");
                std::thread::yield_now();
            }
            Ok(Outcome::default())
        }
    }
    let mut target = Endless(0);
    let procedure = Rfc2544 { plan: plan() };
    let failures = failures_within(Some(Duration::from_millis(5)), &procedure, &mut target);
    assert_eq!((target.0, failures.len()), (1, 1));
}
