//! The data of the template: the record, formatted. Each section of the page is a file here.

mod checks;
mod fates;
mod findings;
mod gap;
mod ladder;
mod line;
mod others;
mod overview;
mod pings;
mod profiles;
mod provenance;
mod scope;
mod stages;
mod time;

use crate::svg::colour;
use serde::Serialize;

use self::checks::{Check, checks};
use self::fates::{Fate, fates};
pub(super) use self::findings::FindingView;
use self::findings::{StageFindings, SummaryView, stage_findings};
use self::gap::{Gap, gaps};
use self::ladder::{Step, ladder};
use self::line::{CaseRow, SurfaceView, cases, surface_legend, surfaces};
use self::others::{OtherRow, others};
use self::overview::{Overview, overview};
use self::pings::{PingRow, ping_row};
use self::profiles::{ProfileView, profiles};
use self::provenance::{Elf, TimingRow, elfs, provenance, timing};
use self::scope::{Scope, scope_view};
use self::stages::{StageRow, groups, stage_row};
use self::time::{time_bar, time_legend};
use crate::published::{Published, is_comparable};
use crate::report::comparison::label;
use crate::report::names::notes;
use crate::report::verdict::Verdict;
use crate::summary;
use crate::svg::dots;
use linerate_results::format;
use linerate_results::record::{HttpGet, Run};

/// The page.
#[derive(Serialize)]
pub struct Page<'a> {
    run: &'a Run,
    title: &'a str,
    headline: String,
    /// The figures behind the factor of the headline.
    slowest: String,
    checks: Vec<Check>,
    /// The first screens, with downloads only. The sections that follow are then folded.
    overview: Option<Overview>,
    legend_stages: Vec<Legend>,
    ladder: Vec<Step<'a>>,
    stages: Vec<StageRow<'a>>,
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
    others: Vec<OtherRow>,
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
            colour(at)
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
        let Verdict { headline, slowest } = Verdict::of(run);
        let (gaps, gap_legend) = gaps(run);
        let (fates, fate_legend) = fates(&gets);
        Self {
            run,
            title: if run.title.is_empty() {
                &run.scenario
            } else {
                &run.title
            },
            headline,
            slowest,
            checks: checks(run),
            overview: overview(run, published),
            legend_stages: largest
                .iter()
                .map(|get| Legend {
                    class: class(label(get)),
                    name: label(get).to_owned(),
                })
                .collect(),
            ladder: ladder(run, published),
            stages: gets
                .iter()
                .enumerate()
                .map(|(at, get)| {
                    let next = gets.get(at + 1).map(|next| label(next));
                    stage_row(run, get, published, next != Some(label(get)))
                })
                .collect(),
            requests_chart: dots::per_request(&groups(run, &gets, published, class), line_rate),
            gaps,
            gap_legend,
            profiles: profiles(run),
            times: largest.iter().map(|get| time_bar(get)).collect(),
            time_legend: time_legend(),
            fates,
            fate_legend,
            // The same firmware against another peer has the same interrupt.
            scopes: largest
                .iter()
                .filter(|get| is_comparable(run, get))
                .filter_map(|get| scope_view(get, published))
                .collect(),
            surfaces: surfaces(run),
            surface_legend: surface_legend(run),
            cases: cases(run),
            summaries: summary::all(run).into_iter().map(Into::into).collect(),
            others: others(run),
            notes: notes(run),
            pings: run.pings().map(|ping| ping_row(ping, published)).collect(),
            findings: largest.iter().map(|get| stage_findings(get)).collect(),
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

/// The names of all results, each once, in order.
fn names(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for result in &run.results {
        let name = result.setting().name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
