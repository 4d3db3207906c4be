mod matrix;

use std::any::Any;

use linerate_sim::wire::config::Ability;
use proptest::prelude::*;

use super::*;
use crate::measure::{phy, storm};

const GOOD: &str = r#"schema = 1
name = "niccle"
board = "esp32c6-bitbang"
duplex = "half"
seed = 7

[peer]
turnaround_us = 100

[[run]]
variant = "windowed"
ping = { count = 10 }
http_get = { bytes = [10_000], requests = 5 }

[[expect]]
variant = "windowed"
bytes = 10_000
frame_loss_rate_max = 0.0
"#;

fn error(text: &str) -> String {
    Scenario::parse(text, "x.toml")
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn whole_scenario_is_read() {
    let scenario = Scenario::parse(GOOD, "x.toml").expect("valid");
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.common.duplex, Duplex::Half);
    assert_eq!(
        scenario.common.peer,
        Peer {
            turnaround_us: 100,
            ..Peer::default()
        }
    );
    let [ping, get] = &scenario.runs[0].plans[..] else {
        panic!("{:?}", scenario.runs[0].plans)
    };
    assert_eq!((ping.program(), get.program()), ("ping", "http_get"));
    assert!(format!("{get:?}").contains("bytes: [10000], requests: 5"));
    let limit = &scenario.expect[0].limits[0];
    assert_eq!(
        (limit.metric.as_str(), limit.max),
        ("frame_loss_rate", Some(0.0))
    );
}

/// Several runs of one variant, each in its own environment.
const SEVERAL: &str = r#"schema = 1
name = "several"
board = "esp32c6-bitbang"
duplex = "full"

[peer]
turnaround_us = 100
background_arp_ms = 50

[wire]
clock_ppm = 100
jitter_ns = 13.5

[[run]]
name = "plain"
variant = "windowed"
http_put = { bytes = [10_000], requests = 5 }

[[run]]
name = "other"
variant = "windowed"
duplex = "auto"
peer = { turnaround_us = 0 }
wire = { jitter_ns = 3 }
partner = { advertise = ["10base-t-half"] }
hub = { stations = 3, offered_load = 0.5 }
phy_conformance = { cases = ["full", "minimum"], frames = 1000, known_failures = { full = "no" } }
loss_surface = { jitter_ns = [0, 10], clock_ppm = [-50, 0, 50], frames = 300 }
storm = { storm_ms = 60_000 }
hub_share = { measured_ms = 60_000 }
negotiation = { expect_link = "up", expect_duplex = "half" }

[[expect]]
run = "other"
measurement = "storm"
metric = "ping_after_ms"
max = 100
"#;

#[test]
fn runs_inherit_what_they_do_not_replace() {
    let scenario = Scenario::parse(SEVERAL, "x.toml").expect("valid");
    let [plain, other] = &scenario.runs[..] else {
        panic!("two runs")
    };
    assert_eq!(plain.environment, scenario.common);
    let environment = &other.environment;
    assert_eq!(environment.duplex, Duplex::Auto);
    assert_eq!(
        (
            environment.peer.turnaround_us,
            environment.peer.background_arp_ms
        ),
        (0, 50)
    );
    assert_eq!(
        (environment.wire.clock_ppm, environment.wire.jitter_ns),
        (100.0, 3.0)
    );
    assert_eq!(environment.partner.advertise, vec![Ability::TenHalf].into());
    assert_eq!(environment.hub.stations, 3);
    // Two cases, six points, and one of each of the others.
    assert_eq!(other.plans.len(), 2 + 6 + 3);
}

#[test]
fn former_names_of_fields_are_accepted() {
    let new = SEVERAL.replace("storm_ms = 60_000", "storm_ms = 60_000, timeout_ms = 5_000");
    let old = new
        .replace("known_failures", "excused")
        .replace("timeout_ms", "patience_ms");
    assert!(old.contains("excused") && old.contains("patience_ms"));
    let plans = |text: &str| {
        let scenario = Scenario::parse(text, "x.toml").expect("valid");
        format!("{:?}", scenario.runs)
    };
    assert_eq!(plans(&old), plans(&new));
}

fn is<P: Plan>(plan: &Arc<dyn Plan>) -> Option<&P> {
    let plan: &dyn Any = plan.as_ref();
    plan.downcast_ref()
}

#[test]
fn quick_versions_are_short_and_still_meaningful() {
    let mut scenario = Scenario::parse(SEVERAL, "x.toml").expect("valid");
    scenario.scale(0.01);
    let frames: Vec<u64> = scenario.runs[1]
        .plans
        .iter()
        .filter_map(|plan| Some(is::<phy::Plan>(plan)?.frames))
        .collect();
    assert_eq!(frames, [20; 8]);
    let mut storms = scenario.runs[1].plans.iter();
    let storm = storms.find_map(|plan| is::<storm::Plan>(plan));
    assert_eq!(storm.map(|plan| plan.storm_ms), Some(600));
}

#[test]
fn a_short_version_excuses_no_case() {
    let excused = |factor| {
        let mut scenario = Scenario::parse(SEVERAL, "x.toml").expect("valid");
        scenario.scale(factor);
        let cases = scenario.runs[1].plans.iter();
        let cases = cases.filter_map(|plan| match &is::<phy::Plan>(plan)?.kind {
            phy::TestKind::Case { known_failure, .. } => Some(known_failure.is_some()),
            phy::TestKind::Point { .. } => None,
        });
        cases.collect::<Vec<_>>()
    };
    assert_eq!(excused(1.0), [true, false]);
    assert_eq!(excused(0.5), [false, false]);
}

#[test]
fn short_versions_drop_what_needs_the_whole() {
    let text = GOOD.replace("[[expect]]", "[[expect]]\nwhole_version_only = true");
    let mut scenario = Scenario::parse(&text, "x.toml").expect("valid");
    assert_eq!(scenario.scale(1.0), [""; 0]);
    assert_eq!(scenario.expect.len(), 1);
    assert_eq!(scenario.scale(0.1), ["frame_loss_rate"]);
    assert_eq!(scenario.expect, []);
}

#[test]
fn some_runs_can_be_picked() {
    let mut scenario = Scenario::parse(SEVERAL, "x.toml").expect("valid");
    let unknown = scenario.retain_runs(&["plain".to_owned(), "plane".to_owned()]);
    assert_eq!(unknown, ["plane"]);
    assert_eq!((scenario.runs.len(), scenario.expect.len()), (1, 0));
}

#[test]
fn mistakes_in_surroundings_and_plans_are_named() {
    let cases = [
        SEVERAL.replace("jitter_ns = 13.5", "jiter_ns = 13.5"),
        SEVERAL.replace("jitter_ns = 3 ", "jitter_ns = 300 "),
        SEVERAL.replace("clock_ppm = 100", "clock_ppm = \"fast\""),
        SEVERAL.replace("name = \"other\"", "name = \"plain\""),
        SEVERAL.replace("turnaround_us = 0", "kind = \"hots\""),
        SEVERAL.replace("\"10base-t-half\"", "\"10base-t\""),
        SEVERAL.replace("\"full\", \"minimum\"", "\"fulls\""),
        SEVERAL.replace("full = \"no\"", "fulls = \"no\""),
        SEVERAL.replace("[0, 10]", "[]"),
        SEVERAL.replace("measured_ms = 60_000", "measured_ms = 0"),
        SEVERAL.replace("stations = 3", "stations = 300"),
        SEVERAL.replace("\"storm\"", "\"strom\""),
        SEVERAL.replace("max = 100", ""),
        SEVERAL.replace("run = \"other\"", "run = \"another\""),
    ];
    let errors: Vec<String> = cases.iter().map(|text| error(text)).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

/// The error for [`SEVERAL`] with `new` in place of `old`, with its position.
fn refused(old: &str, new: &str) -> String {
    assert!(SEVERAL.contains(old), "{old}");
    error(&SEVERAL.replace(old, new))
}

#[test]
fn a_case_without_a_frame_that_counts_is_refused() {
    let cases = "cases = [\"full\", \"minimum\"], frames = 1000";
    // 60 frames to settle the receiver, and two of the case.
    for frames in [1, 60, 61] {
        let short = format!("cases = [\"minimum\", \"swapped-polarity\"], frames = {frames}");
        assert_eq!(
            refused(cases, &short),
            "x.toml:27:19: `frames` must be at least 62 for the case `swapped-polarity`"
        );
    }
    let enough = "cases = [\"minimum\", \"swapped-polarity\"], frames = 62";
    let mut scenario = Scenario::parse(&SEVERAL.replace(cases, enough), "x.toml").expect("valid");
    scenario.scale(0.002);
    let mut plans = scenario.runs[1].plans.iter();
    let scaled = plans
        .find_map(|plan| is::<phy::Plan>(plan).filter(|plan| plan.label().contains("swapped")));
    assert_eq!(scaled.map(|plan| plan.frames), Some(62));
}

#[test]
fn points_that_the_wire_cannot_follow_are_refused() {
    let surface = "jitter_ns = [0, 10], clock_ppm = [-50, 0, 50]";
    let at = |new: &str| refused(surface, new);
    for (points, given) in [
        (
            "jitter_ns = [0, 30], clock_ppm = [0]",
            "jitter_ns is 30: it must be between 0 and 24.5",
        ),
        (
            "jitter_ns = [nan], clock_ppm = [0]",
            "jitter_ns is NaN: it must be between 0 and 24.5",
        ),
        (
            "jitter_ns = [0], clock_ppm = [200_000]",
            "clock_ppm is 200000: it must be between -10000 and 10000",
        ),
        (
            "jitter_ns = [0], octets = 2_000, clock_ppm = [0]",
            "octets is 2000: it must be between 64 and 1518",
        ),
    ] {
        assert_eq!(at(points), format!("x.toml:28:16: {given}"));
    }
    // Other impairments of the run's wire count, too.
    let distorted = SEVERAL
        .replace(
            "jitter_ns = 3",
            "duty_cycle_distortion_ns = 30, jitter_ns = 3",
        )
        .replace("jitter_ns = [0, 10]", "jitter_ns = [0, 12]")
        .replace("\"full\", \"minimum\"", "\"minimum\"");
    assert_eq!(
        error(&distorted),
        "x.toml:28:16: jitter_ns is 12: it must be between 0 and 9.5"
    );
}

#[test]
fn a_storm_that_the_generator_cannot_send_is_refused() {
    let storm = "storm_ms = 60_000";
    assert_eq!(
        refused(storm, "storm_ms = 60_000, octets = 63"),
        "x.toml:29:9: octets is 63: it must be between 64 and 1518"
    );
    assert_eq!(
        refused(storm, "storm_ms = 60_000, from_ms = 499"),
        "x.toml:29:9: `from_ms` must be at least 500: the first download begins this long before"
    );
    let first = SEVERAL.replace(storm, "storm_ms = 60_000, from_ms = 500");
    Scenario::parse(&first, "x.toml").expect("valid");
}

#[test]
fn a_measurement_without_what_it_needs_is_refused() {
    assert_eq!(
        refused("stations = 3, ", ""),
        "x.toml:30:13: hub_share needs a hub: give `hub` its `stations`"
    );
    assert_eq!(
        refused("duplex = \"auto\"\n", ""),
        "x.toml:30:15: negotiation needs `duplex = \"auto\"`"
    );
}

#[test]
fn an_expectation_that_nothing_can_fail_is_refused() {
    let limit = "metric = \"ping_after_ms\"\nmax = 100";
    let none = "x.toml:33:1: this [[expect]] has no limit: nothing could fail it";
    assert_eq!(refused(limit, ""), none);
    assert_eq!(
        refused(limit, "max = 100"),
        "x.toml:36:7: `max` needs the `metric` that it limits"
    );
    assert_eq!(
        refused(limit, "frame_loss_rate_max = 0.1\nmin = 100"),
        "x.toml:37:7: `min` needs the `metric` that it limits"
    );
}

#[test]
fn the_bundled_scenarios_are_valid() {
    let bundled = bundled();
    assert!(bundled.len() > 5);
    for (file, scenario) in bundled {
        assert_eq!(file, scenario.name);
    }
}

/// The scenarios in `scenarios/`, each with the name of its file.
fn bundled() -> Vec<(String, Scenario)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let entries = std::fs::read_dir(folder).expect("there are scenarios");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let files = paths.filter(|path| path.extension().is_some_and(|it| it == "toml"));
    let scenarios = files.map(|path| {
        let text = std::fs::read_to_string(&path).expect("readable");
        let scenario = Scenario::parse(&text, &path.to_string_lossy());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        (
            name.into_owned(),
            scenario.unwrap_or_else(|error| panic!("{error}")),
        )
    });
    scenarios.collect()
}

/// A frame that no counter of the device accounts for may be an error of the attribution.
#[test]
fn every_run_bounds_the_frames_that_nobody_counts() {
    let bundled = bundled().into_iter();
    // The machine of a soft SoC follows no frame: its ledgers have counters only.
    let followed = bundled.filter(|(_, scenario)| scenario.board.soft_soc.is_none());
    for (file, scenario) in followed {
        for run in &scenario.runs {
            let bounds = |limit: &Limit| {
                let of_unheard = ["lost_frames.unheard", "lost_share.unheard"];
                of_unheard.contains(&limit.metric.as_str()) && limit.max.is_some()
            };
            // For each result of the run, in a short version, too.
            let is_general = |it: &&Expectation| {
                it.applies_to_run(run)
                    && (&it.measurement, it.bytes, &it.case) == (&None, None, &None)
                    && !it.whole_version_only
            };
            let mut general = scenario.expect.iter().filter(is_general);
            assert!(
                general.any(|it| it.limits.iter().any(bounds)),
                "{file}: no [[expect]] bounds `lost_frames.unheard` of the run {}",
                run.name
            );
        }
    }
}

#[test]
fn every_known_failure_has_a_bound() {
    for (file, scenario) in bundled() {
        let plans = scenario
            .runs
            .iter()
            .flat_map(|run| run.plans.iter().map(move |it| (run, it)));
        for (run, plan) in plans {
            let Some(phy::Plan {
                kind:
                    phy::TestKind::Case {
                        case,
                        known_failure: Some(_),
                    },
                ..
            }) = is(plan)
            else {
                continue;
            };
            let bounds = |it: &&Expectation| {
                it.applies_to_run(run)
                    && it.case.as_deref() == Some(case.name)
                    && it.limits.iter().any(|limit| {
                        limit.metric == "frame_loss_rate" && limit.max.is_some_and(|max| max < 1.0)
                    })
            };
            assert!(
                scenario.expect.iter().any(|it| bounds(&it)),
                "{file}: no [[expect]] bounds `frame_loss_rate` of the case {}",
                case.name
            );
        }
    }
}

#[test]
fn a_limit_of_the_ledger_names_a_cause_and_a_reason() {
    let limit = "metric = \"ping_after_ms\"\nmax = 100";
    let of_ledger = |text: &str| {
        let text = SEVERAL
            .replace(limit, text)
            .replace("measurement = \"storm\"\n", "");
        Scenario::parse(&text, "x.toml")
            .map(|_| ())
            .map_err(|error| error.message)
    };
    let unheard = "metric = \"lost_frames.unheard\"\n";
    assert!(of_ledger(&format!("{unheard}max = 0")).is_ok());
    assert!(of_ledger(&format!("{unheard}max = 3\nreason = \"it sends\"")).is_ok());
    for without in ["max = 3", "max = 3\nreason = \" \""] {
        assert_eq!(
            of_ledger(&format!("{unheard}{without}")),
            Err("a permitted loss needs its physical `reason`".to_owned())
        );
    }
    assert_eq!(
        of_ledger("metric = \"lost_share.unhaerd\"\nmax = 0"),
        Err("there is no cause of loss `unhaerd` (did you mean `unheard`?)".to_owned())
    );
}

#[test]
fn mistakes_are_named_with_file_line_and_nearest_name() {
    let cases = [
        GOOD.replace("duplex =", "duplx ="),
        GOOD.replace("\"half\"", "\"hlaf\""),
        GOOD.replace("esp32c6-bitbang", "esp32c6-bitbagn"),
        GOOD.replacen("\"windowed\"", "\"window\"", 1),
        GOOD.replace("count = 10", "cuont = 10"),
        GOOD.replace("count = 10", "count = 0"),
        GOOD.replace("count = 10", "count = \"ten\""),
        GOOD.replace("[10_000], requests", "[], requests"),
        GOOD.replace("requests = 5", "requests = 0"),
        GOOD.replace("seed = 7", "seed = -7"),
        GOOD.replace("schema = 1", "schema = 2"),
        GOOD.replace("\"niccle\"", "\"../niccle\""),
        GOOD.replace(
            "[[expect]]\nvariant = \"windowed\"",
            "[[expect]]\nvariant = \"isr-all\"",
        ),
        GOOD.replace(
            "[[run]]",
            "[[run]]\nvariant = \"windowed\"\nping = { count = 1 }\n\n[[run]]",
        ),
        GOOD.replace(
            "ping = { count = 10 }\nhttp_get = { bytes = [10_000], requests = 5 }\n",
            "",
        ),
        GOOD.replace("[peer]", "[peer"),
        "schema = 1\nname = \"x\"\nboard = \"esp32c6-bitbang\"\nrun = []\n".to_owned(),
        String::new(),
    ];
    let errors: Vec<String> = cases.iter().map(|text| error(text)).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = Scenario::parse(&text, "x.toml");
    }

    #[test]
    fn a_cut_scenario_is_read_or_refused(end in 0..GOOD.len()) {
        let _ = Scenario::parse(&GOOD[..end], "x.toml");
    }
}
