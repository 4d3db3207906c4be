//! The whole run in one sentence or two.

use super::comparison::{Comparison, label};
use super::names::surfaces;
use crate::published::ignores_sack;
use crate::summary;
use crate::svg::surface::Point;
use linerate_results::format;
use linerate_results::record::{HttpGet, Measurement, Run};
use linerate_results::stats;

/// Results that the headline lists one by one.
const MAX_IN_HEADLINE: usize = 3;

/// The whole run in a few sentences.
pub fn verdict(run: &Run) -> String {
    let Verdict { headline, slowest } = Verdict::of(run);
    format!("{headline} {slowest}").trim_end().to_owned()
}

/// The whole run, and the figures behind the factor of its headline.
pub(super) struct Verdict {
    pub headline: String,
    /// What the slowest run reaches, and why; empty without a factor.
    pub slowest: String,
}

impl Verdict {
    pub fn of(run: &Run) -> Self {
        let comparison = Comparison::of(run);
        let fastest = comparison.as_ref().and_then(Comparison::fastest);
        let (Some(comparison), Some(fastest)) = (comparison, fastest) else {
            return Self {
                headline: without_downloads(run),
                slowest: String::new(),
            };
        };
        let first = format!(
            "The {} firmware downloads {} at {}, {} of line rate{}",
            label(fastest),
            format::bytes(comparison.bytes),
            format::rate(fastest.metrics.goodput_bytes_per_s_p50),
            format::percent(fastest.share_of_line_rate()),
            losses(run, fastest),
        );
        let Some(slowest) = comparison.slowest() else {
            return Self {
                headline: format!("{first}."),
                slowest: String::new(),
            };
        };
        let second = format!(
            "{} reaches {} and loses {} of the frames",
            label(slowest),
            format::rate(slowest.metrics.goodput_bytes_per_s_p50),
            format::percent(slowest.metrics.frame_loss_rate),
        );
        let factor = format!("{} as fast as {}", times(fastest, slowest), label(slowest));
        // A peer that ignores SACK blocks needs far longer to repair a loss.
        if !ignores_sack(run, slowest) || slowest.ledger.lost() == 0 {
            return Self {
                headline: format!("{first}: {factor}."),
                slowest: format!("{second}."),
            };
        }
        let Some(with_sack) = comparison.with_sack(run, slowest) else {
            return Self {
                headline: format!("{first}: {factor} where the peer ignores SACK blocks."),
                slowest: format!(
                    "{second}. {FLATTERED}; no download with a peer that uses them was measured."
                ),
            };
        };
        Self {
            headline: format!(
                "{first}: {factor} where the peer ignores SACK blocks, {} where it uses them.",
                times(fastest, with_sack)
            ),
            slowest: format!(
                "{second}; with a peer that uses SACK blocks ({}) it reaches {}. {FLATTERED}.",
                label(with_sack),
                format::rate(with_sack.metrics.goodput_bytes_per_s_p50)
            ),
        }
    }
}

/// What a peer that ignores SACK blocks does to a factor.
const FLATTERED: &str =
    "A peer that ignores them makes each loss more expensive, which flatters the factor";

/// The losses of `get`, and of other sizes of the same run if these lost more.
fn losses(run: &Run, get: &HttpGet) -> String {
    let same_run = run.http_gets().filter(|other| label(other) == label(get));
    let most = same_run.max_by(|a, b| {
        a.metrics
            .frame_loss_rate
            .total_cmp(&b.metrics.frame_loss_rate)
    });
    let own = format::percent(get.metrics.frame_loss_rate);
    match most.filter(|most| most.ledger.lost() > 0) {
        None => ", without losing a frame".to_owned(),
        Some(most) if most.params.bytes == get.params.bytes => {
            format!(", and loses {own} of the frames")
        }
        Some(most) => format!(
            ", and loses {own} of the frames ({} at {})",
            format::percent(most.metrics.frame_loss_rate),
            format::bytes(most.params.bytes)
        ),
    }
}

/// How much faster `one` is than `other`: "52 times".
fn times(one: &HttpGet, other: &HttpGet) -> String {
    let goodput = |get: &HttpGet| get.metrics.goodput_bytes_per_s_p50;
    let factor = stats::ratio(goodput(one), goodput(other));
    let decimals = match factor {
        f if f >= 9.95 => 0,
        f if f >= 1.95 => 1,
        _ => 2,
    };
    format!("{factor:.decimals$} times")
}

/// The same for a run without downloads.
fn without_downloads(run: &Run) -> String {
    let verdicts: Vec<String> = summary::all(run).into_iter().map(|it| it.verdict).collect();
    if !verdicts.is_empty() {
        return verdicts.join(" ");
    }
    let mut parts = Vec::new();
    let mut passed = |what: &str, passed: Vec<bool>| {
        if !passed.is_empty() {
            let holds = passed.iter().filter(|passed| **passed).count();
            parts.push(format!("{holds} of {} {what}", passed.len()));
        }
    };
    let cases = run.phy_conformances().map(|case| case.metrics.passed);
    passed("conformance cases passed", cases.collect());
    let negotiations = run.negotiations().map(|result| result.metrics.passed);
    passed(
        "negotiations had the expected result",
        negotiations.collect(),
    );
    for (name, _, points) in surfaces(run) {
        let (sent, lost) = Point::within_the_standard(&points);
        if sent == 0 {
            continue;
        }
        parts.push(format!(
            "{name} loses {} of {} frames within the standard's clock offset and jitter",
            format::count(lost),
            format::count(sent)
        ));
    }
    // The other results one by one; all of them if nothing was counted above.
    let none = parts.is_empty();
    let counted = |result: &&Measurement| {
        matches!(
            result,
            Measurement::PhyConformance(_)
                | Measurement::Negotiation(_)
                | Measurement::LossSurface(_)
        )
    };
    let mut rest = run.results.iter().filter(|result| none || !counted(result));
    for result in rest.by_ref().take(MAX_IN_HEADLINE) {
        let line = result.describe().one_line();
        // Collapse the padding of console columns.
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = result.setting().name();
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("{name}, ")
        };
        parts.push(name + &words.join(" "));
    }
    match rest.count() {
        0 => {}
        1 => parts.push("and 1 more result".to_owned()),
        more => parts.push(format!("and {more} more results")),
    }
    if parts.is_empty() {
        parts.push("nothing was measured".to_owned());
    }
    format!("{}: {}.", run.scenario, parts.join("; "))
}
