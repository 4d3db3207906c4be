//! What the template shows: the record, worded. A section of the page is a file here.

mod checks;
mod fates;
mod findings;
mod pings;
mod provenance;
mod scope;
mod stages;
mod time;

use serde::Serialize;

use self::checks::{Check, checks};
use self::fates::{Fate, fate, fate_legend};
use self::findings::{StageFindings, stage_findings};
use self::pings::{PingRow, ping_row};
use self::provenance::{Elf, TimingRow, elfs, provenance, timing};
use self::scope::{Scope, scope_view};
use self::stages::{StageRow, bar, groups, stage_row};
use self::time::{time_bar, time_legend};
use super::svg::dots;
use super::{format, verdict};
use crate::record::{HttpGet, Run};

/// The page.
#[derive(Serialize)]
pub struct Page<'a> {
    run: &'a Run,
    title: &'a str,
    verdict: String,
    checks: Vec<Check>,
    line_rate: String,
    legend_stages: Vec<Legend>,
    stages: Vec<StageRow>,
    bars: Vec<Bar>,
    requests_chart: String,
    times: Vec<Bar>,
    time_legend: Vec<Legend>,
    fates: Vec<Fate>,
    fate_legend: Vec<Legend>,
    scopes: Vec<Scope>,
    pings: Vec<PingRow>,
    findings: Vec<StageFindings<'a>>,
    provenance: Vec<(&'static str, String)>,
    elfs: Vec<Elf<'a>>,
    timing: Vec<TimingRow<'a>>,
}

/// A colour and what it stands for.
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

/// Colours for variants in the style sheet.
const STAGE_COLOURS: usize = 5;

impl<'a> Page<'a> {
    /// The page of `run`.
    pub fn of(run: &'a Run) -> Self {
        let variants = run.variants();
        let class = |variant: &str| {
            let at = variants
                .iter()
                .position(|known| *known == variant)
                .unwrap_or(0);
            format!("stage{}", at % STAGE_COLOURS)
        };
        let line_rate = run
            .http_gets()
            .map(|get| get.limits.line_goodput_bytes_per_s)
            .next()
            .unwrap_or(0.0);
        let gets: Vec<&HttpGet> = run.http_gets().collect();
        // One picture a stage where one is enough: the largest size tells most.
        let largest: Vec<&HttpGet> = variants
            .iter()
            .filter_map(|variant| {
                let of_variant = gets.iter().filter(|get| get.params.variant == *variant);
                of_variant.max_by_key(|get| get.params.bytes).copied()
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
            legend_stages: variants
                .iter()
                .map(|variant| Legend {
                    class: class(variant),
                    name: (*variant).to_owned(),
                })
                .collect(),
            stages: gets
                .iter()
                .enumerate()
                .map(|(at, get)| {
                    let next = gets.get(at + 1).map(|next| &next.params.variant);
                    stage_row(
                        get,
                        class(&get.params.variant),
                        next != Some(&get.params.variant),
                    )
                })
                .collect(),
            bars: gets
                .iter()
                .map(|get| bar(get, class(&get.params.variant)))
                .collect(),
            requests_chart: dots::per_request(&groups(&gets, class), line_rate),
            times: largest
                .iter()
                .map(|get| time_bar(get, class(&get.params.variant)))
                .collect(),
            time_legend: time_legend(),
            fates: gets
                .iter()
                .map(|get| fate(get, class(&get.params.variant)))
                .collect(),
            fate_legend: fate_legend(&gets),
            scopes: largest
                .iter()
                .filter_map(|get| scope_view(get, class(&get.params.variant)))
                .collect(),
            pings: run
                .pings()
                .map(|ping| ping_row(ping, class(&ping.params.variant)))
                .collect(),
            findings: largest
                .iter()
                .map(|get| stage_findings(get, class(&get.params.variant)))
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
