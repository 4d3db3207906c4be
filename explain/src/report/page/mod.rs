//! The data of the template: the record, formatted. Each section of the page is a file here.

mod checks;
mod fates;
mod findings;
mod gap;
mod ladder;
mod line;
mod others;
mod pings;
mod profiles;
mod provenance;
mod scope;
mod stages;
mod time;

use crate::svg::curve::COLOURS;
use serde::Serialize;

use self::checks::{Check, checks};
use self::fates::{Fate, fate, fate_legend};
pub(super) use self::findings::evidence;
use self::findings::{StageFindings, SummaryView, stage_findings};
use self::gap::{Gap, gap_legend, gaps};
use self::ladder::{Step, ladder};
use self::line::{CaseRow, SurfaceView, cases, surface_legend, surfaces};
use self::others::{OtherRow, others};
use self::pings::{PingRow, ping_row};
use self::profiles::{ProfileView, profiles};
use self::provenance::{Elf, TimingRow, elfs, provenance, timing};
use self::scope::{Scope, scope_view};
use self::stages::{StageRow, bar, groups, stage_row};
use self::time::{time_bar, time_legend};
use crate::published::Published;
use crate::report::names::{name, notes};
use crate::report::verdict::verdict;
use crate::summary;
use crate::svg::dots;
use linerate_results::format;
use linerate_results::record::{HttpGet, Run};

/// The page.
#[derive(Serialize)]
pub struct Page<'a> {
    run: &'a Run,
    title: &'a str,
    verdict: String,
    checks: Vec<Check>,
    line_rate: String,
    legend_stages: Vec<Legend>,
    ladder: Vec<Step<'a>>,
    stages: Vec<StageRow<'a>>,
    bars: Vec<Bar>,
    requests_chart: String,
    gaps: Vec<Gap>,
    gap_legend: Vec<Legend>,
    profiles: Vec<ProfileView<'a>>,
    times: Vec<Bar>,
    time_legend: Vec<Legend>,
    fates: Vec<Fate>,
    fate_legend: Vec<Legend>,
    scopes: Vec<Scope>,
    surfaces: Vec<SurfaceView>,
    surface_legend: Vec<Legend>,
    cases: Vec<CaseRow<'a>>,
    summaries: Vec<SummaryView>,
    others: Vec<OtherRow<'a>>,
    /// Result, and a note on it.
    notes: Vec<(String, String)>,
    pings: Vec<PingRow>,
    findings: Vec<StageFindings<'a>>,
    provenance: Vec<(&'static str, String)>,
    elfs: Vec<Elf<'a>>,
    timing: Vec<TimingRow<'a>>,
}

/// A colour and its meaning.
#[derive(Serialize)]
struct Legend {
    class: String,
    name: String,
}

/// A drawn bar with its label.
#[derive(Serialize)]
struct Bar {
    class: String,
    name: String,
    size: String,
    value: String,
    chart: String,
}

impl<'a> Page<'a> {
    /// The page of `run`, beside what was `published` about its board.
    pub fn of(run: &'a Run, published: &'a Published) -> Self {
        let names = names(run);
        let class = |name: &str| {
            let at = names.iter().position(|known| *known == name).unwrap_or(0);
            format!("stage{}", at % COLOURS)
        };
        let line_rate = run
            .http_gets()
            .map(|get| get.limits.line_goodput_bytes_per_s)
            .next()
            .unwrap_or(0.0);
        let gets: Vec<&HttpGet> = run.http_gets().collect();
        // Where one picture per stage is enough: the largest size is the most significant.
        let largest: Vec<&HttpGet> = names
            .iter()
            .filter_map(|name| {
                let of_name = gets.iter().filter(|get| label(get) == *name);
                of_name.max_by_key(|get| get.params.bytes).copied()
            })
            .collect();
        Self {
            run,
            title: if run.title.is_empty() {
                &run.scenario
            } else {
                &run.title
            },
            verdict: verdict(run),
            checks: checks(run),
            line_rate: format::rate(line_rate),
            legend_stages: largest
                .iter()
                .map(|get| Legend {
                    class: class(label(get)),
                    name: label(get).to_owned(),
                })
                .collect(),
            ladder: ladder(run, published, &class),
            stages: gets
                .iter()
                .enumerate()
                .map(|(at, get)| {
                    let next = gets.get(at + 1).map(|next| label(next));
                    stage_row(get, published, class(label(get)), next != Some(label(get)))
                })
                .collect(),
            bars: gets
                .iter()
                .map(|get| bar(get, published, class(label(get))))
                .collect(),
            requests_chart: dots::per_request(&groups(&gets, published, class), line_rate),
            gaps: gaps(run, &class),
            gap_legend: gap_legend(run),
            profiles: profiles(run),
            times: largest
                .iter()
                .map(|get| time_bar(get, class(label(get))))
                .collect(),
            time_legend: time_legend(),
            fates: gets
                .iter()
                .map(|get| fate(get, class(label(get))))
                .collect(),
            fate_legend: fate_legend(&gets),
            scopes: largest
                .iter()
                .filter_map(|get| scope_view(get, published, class(label(get))))
                .collect(),
            surfaces: surfaces(run),
            surface_legend: surface_legend(run),
            cases: cases(run),
            summaries: summary::all(run).into_iter().map(Into::into).collect(),
            others: others(run),
            notes: notes(run),
            pings: run
                .pings()
                .map(|ping| {
                    ping_row(
                        ping,
                        published,
                        class(name(&ping.params.variant, &ping.params.setting)),
                    )
                })
                .collect(),
            findings: largest
                .iter()
                .map(|get| stage_findings(get, class(label(get))))
                .collect(),
            provenance: provenance(run),
            elfs: elfs(run),
            timing: timing(run),
        }
    }
}

/// The requests of a download, for a label.
fn size(get: &HttpGet) -> String {
    format!(
        "{} × {}",
        get.params.requests,
        format::bytes(get.params.bytes)
    )
}

/// The name of a download.
fn label(get: &HttpGet) -> &str {
    name(&get.params.variant, &get.params.setting)
}

/// The names of all results, each once, in order.
fn names(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for result in &run.results {
        let name = name(result.variant(), result.setting());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
