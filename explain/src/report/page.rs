//! What the template shows: the record, worded.

use linerate_ether::ledger::Drop;
use serde::Serialize;

use super::svg::{bars, dots, scope, stack};
use super::{format, verdict};
use crate::cause;
use crate::published::Stage;
use crate::record::{HttpGet, Ping, Run};

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

/// A fact that must hold, and whether it does.
#[derive(Serialize)]
struct Check {
    holds: bool,
    text: String,
}

#[derive(Serialize)]
struct Legend {
    class: String,
    name: String,
}

#[derive(Serialize)]
struct StageRow {
    class: String,
    variant: String,
    what: &'static str,
    size: String,
    goodput: String,
    published: String,
    error: String,
    share: String,
    loss: String,
    loss_published: String,
    post: String,
    post_published: String,
    post_error: String,
    last_of_stage: bool,
}

#[derive(Serialize)]
struct Bar {
    class: String,
    name: String,
    size: String,
    value: String,
    chart: String,
}

#[derive(Serialize)]
struct Fate {
    class: String,
    name: String,
    size: String,
    chart: String,
    sent: String,
    delivered: String,
    lost: Vec<FateLoss>,
    balance: &'static str,
    adds_up: bool,
}

#[derive(Serialize)]
struct FateLoss {
    class: String,
    cause: String,
    layer: String,
    explanation: &'static str,
    frames: String,
}

#[derive(Serialize)]
struct Scope {
    class: String,
    name: String,
    text: String,
    chart: String,
}

#[derive(Serialize)]
struct PingRow {
    class: String,
    variant: String,
    answered: String,
    min: String,
    p50: String,
    max: String,
    wire: String,
    published: String,
    error: String,
}

#[derive(Serialize)]
struct StageFindings<'a> {
    class: String,
    variant: &'a str,
    size: String,
    verdict: String,
    findings: Vec<FindingView<'a>>,
}

#[derive(Serialize)]
struct FindingView<'a> {
    cause: String,
    confidence: String,
    summary: &'a str,
    advice: &'a str,
    evidence: Vec<(&'a str, String)>,
}

#[derive(Serialize)]
struct Elf<'a> {
    name: &'a str,
    sha256: &'a str,
    trace_hash: &'a str,
}

#[derive(Serialize)]
struct TimingRow<'a> {
    name: &'a str,
    value: String,
    kind: String,
    source: &'a str,
}

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
            elfs: run
                .provenance
                .elf_sha256
                .iter()
                .map(|(name, sha256)| Elf {
                    name,
                    sha256,
                    trace_hash: run
                        .provenance
                        .trace_hash
                        .get(name)
                        .map_or("", String::as_str),
                })
                .collect(),
            timing: run
                .provenance
                .timing
                .iter()
                .map(|entry| TimingRow {
                    name: &entry.name,
                    value: entry.value.to_string(),
                    kind: entry.kind.to_string(),
                    source: &entry.source,
                })
                .collect(),
        }
    }
}

fn checks(run: &Run) -> Vec<Check> {
    let requests: usize = run.http_gets().map(|get| get.metrics.crc32.len()).sum();
    let equal = run
        .http_gets()
        .all(|get| get.metrics.crc32 == get.metrics.crc32_expected);
    let missing: i64 = run
        .results
        .iter()
        .map(|r| r.ledger().missing_frames().abs())
        .sum();
    let sent: u64 = run.pings().map(|ping| ping.metrics.sent).sum();
    let answered: u64 = run.pings().map(|ping| ping.metrics.received).sum();
    let mut checks = vec![
        Check {
            holds: equal,
            text: if equal {
                format!("CRC-32 equal on both sides for all {requests} downloads")
            } else {
                "CRC-32 differs between the sides".into()
            },
        },
        Check {
            holds: missing == 0,
            text: if missing == 0 {
                "the ledger adds up: each frame sent is delivered or lost for a counted cause"
                    .into()
            } else {
                format!("the ledger does not add up: {missing} frames unaccounted for")
            },
        },
    ];
    if sent > 0 {
        checks.push(Check {
            holds: answered == sent,
            text: format!("{answered} of {sent} pings answered"),
        });
    }
    checks
}

fn stage_row(get: &HttpGet, class: String, last_of_stage: bool) -> StageRow {
    let published = Stage::of(&get.params.variant);
    let goodput = get.metrics.goodput_bytes_per_s_p50;
    let goodput_published = published.and_then(|stage| stage.goodput_bytes_per_s(get.params.bytes));
    let post_ns = get.metrics.isr_post_processing_ns_p50;
    let post_published = published.and_then(|stage| stage.post_processing_ns);
    let loss_published = published.and_then(|stage| stage.loss_rate(get.params.bytes));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    StageRow {
        class,
        variant: get.params.variant.clone(),
        what: published.map_or("", |stage| stage.what),
        size: size(get),
        goodput: format::rate(goodput),
        published: or_dash(goodput_published.map(format::rate)),
        error: or_dash(goodput_published.map(|published| format::error(goodput, published))),
        share: format::percent(cause::share_of_line_rate(get)),
        loss: format::percent(get.metrics.frame_loss_rate),
        loss_published: or_dash(loss_published.map(format::percent)),
        post: if post_ns == 0 {
            "–".into()
        } else {
            format::time(post_ns)
        },
        post_published: or_dash(post_published.map(format::time)),
        post_error: or_dash(
            post_published
                .filter(|_| post_ns > 0)
                .map(|published| format::error(post_ns as f64, published as f64)),
        ),
        last_of_stage,
    }
}

fn size(get: &HttpGet) -> String {
    format!(
        "{} × {}",
        get.params.requests,
        format::bytes(get.params.bytes)
    )
}

fn bar(get: &HttpGet, class: String) -> Bar {
    let goodput = get.metrics.goodput_bytes_per_s_p50;
    let limit = get.limits.line_goodput_bytes_per_s;
    let published = Stage::of(&get.params.variant)
        .and_then(|stage| stage.goodput_bytes_per_s(get.params.bytes));
    let value = format!(
        "{} · {}",
        format::percent(cause::share_of_line_rate(get)),
        format::rate(goodput)
    );
    let label = format!("{}, {}: {value}", get.params.variant, size(get));
    Bar {
        chart: bars::against_limit(&class, goodput, limit, published, &label),
        class,
        name: get.params.variant.clone(),
        size: size(get),
        value,
    }
}

fn groups(gets: &[&HttpGet], class: impl Fn(&str) -> String) -> Vec<dots::Group> {
    let mut sizes: Vec<u64> = gets.iter().map(|get| get.params.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let series = |get: &&HttpGet| dots::Series {
        class: class(&get.params.variant),
        name: get.params.variant.clone(),
        goodput: get.metrics.goodput_bytes_per_s.clone(),
        published: Stage::of(&get.params.variant)
            .and_then(|stage| stage.goodput_bytes_per_s(get.params.bytes)),
    };
    sizes
        .into_iter()
        .map(|bytes| dots::Group {
            size: format::bytes(bytes),
            series: gets
                .iter()
                .filter(|get| get.params.bytes == bytes)
                .map(series)
                .collect(),
        })
        .collect()
}

/// Colours for variants in the style sheet.
const STAGE_COLOURS: usize = 5;

/// Classes of the parts of `TimeShare::parts`, in its order.
const TIME_CLASSES: [&str; 6] = ["t-rx", "t-repeat", "t-tx", "t-device", "t-peer", "t-timer"];

fn time_bar(get: &HttpGet, class: String) -> Bar {
    let named = get.metrics.time_share.parts();
    let parts: Vec<stack::Part<'_>> = named
        .iter()
        .zip(TIME_CLASSES)
        .map(|((name, size), class)| stack::Part {
            class: class.into(),
            name,
            size: *size,
        })
        .collect();
    let words: Vec<String> = named
        .iter()
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{name} {}", format::percent(*share)))
        .collect();
    Bar {
        chart: stack::stack(
            &parts,
            1.0,
            &format!("{}: {}", get.params.variant, words.join(", ")),
        ),
        class,
        name: get.params.variant.clone(),
        size: size(get),
        value: words.join(" · "),
    }
}

fn time_legend() -> Vec<Legend> {
    let names = crate::record::TimeShare::default().parts();
    let pairs = names.iter().zip(TIME_CLASSES);
    pairs
        .map(|((name, _), class)| Legend {
            class: class.into(),
            name: (*name).into(),
        })
        .collect()
}

fn drop_class(name: &str) -> String {
    let layer = Drop::from_name(name).map_or("unknown", |cause| cause.layer().name());
    // Causes of one layer share a hue; the PHY and the MAC have two that matter.
    let shade = if matches!(name, "truncated" | "bad_fcs") {
        " b"
    } else {
        ""
    };
    format!("l-{layer}{shade}")
}

fn fate(get: &HttpGet, class: String) -> Fate {
    let ledger = &get.ledger;
    let mut parts = vec![stack::Part {
        class: "l-ok".into(),
        name: "delivered",
        size: ledger.delivered_frames as f64,
    }];
    parts.extend(ledger.lost_frames.iter().map(|(name, frames)| stack::Part {
        class: drop_class(name),
        name,
        size: *frames as f64,
    }));
    let missing = ledger.missing_frames();
    Fate {
        chart: stack::stack(
            &parts,
            ledger.sent_frames as f64,
            &format!(
                "{}, {}: {} frames sent, {} delivered, {} lost",
                get.params.variant,
                size(get),
                ledger.sent_frames,
                ledger.delivered_frames,
                ledger.lost()
            ),
        ),
        class,
        name: get.params.variant.clone(),
        size: size(get),
        sent: format::count(ledger.sent_frames),
        delivered: format::count(ledger.delivered_frames),
        lost: ledger
            .lost_frames
            .iter()
            .map(|(name, frames)| FateLoss {
                class: drop_class(name),
                cause: name.replace('_', " "),
                layer: Drop::from_name(name)
                    .map_or("unknown", |cause| cause.layer().name())
                    .into(),
                explanation: Drop::from_name(name).map_or("", Drop::explanation),
                frames: format::count(*frames),
            })
            .collect(),
        adds_up: missing == 0,
        balance: if missing == 0 {
            "adds up"
        } else {
            "does not add up"
        },
    }
}

fn fate_legend(gets: &[&HttpGet]) -> Vec<Legend> {
    let mut names: Vec<&str> = gets
        .iter()
        .flat_map(|get| get.ledger.lost_frames.keys().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    let lost = names.into_iter().map(|name| Legend {
        class: drop_class(name),
        name: name.replace('_', " "),
    });
    std::iter::once(Legend {
        class: "l-ok".into(),
        name: "delivered".into(),
    })
    .chain(lost)
    .collect()
}

fn scope_view(get: &HttpGet, class: String) -> Option<Scope> {
    let trace = get.samples.scope.as_ref()?;
    let words: Vec<String> = trace
        .marks
        .iter()
        .map(|mark| {
            format!(
                "{} {}",
                mark.label,
                format::time(mark.end_ns.saturating_sub(mark.start_ns))
            )
        })
        .collect();
    let published = Stage::of(&get.params.variant).and_then(|stage| stage.post_processing_ns);
    let beside = published.map_or(String::new(), |ns| {
        format!(" (published {})", format::time(ns))
    });
    Some(Scope {
        class,
        name: get.params.variant.clone(),
        text: format!("{}{beside}", words.join(", ")),
        chart: scope::draw(
            trace,
            &format!("{}: {}", get.params.variant, words.join(", ")),
        ),
    })
}

fn ping_row(ping: &Ping, class: String) -> PingRow {
    let published = Stage::of(&ping.params.variant).and_then(|stage| stage.ping_ns);
    let rtt = ping.metrics.rtt_ns;
    PingRow {
        class,
        variant: ping.params.variant.clone(),
        answered: format!("{} of {}", ping.metrics.received, ping.metrics.sent),
        min: format::time(rtt.min),
        p50: format::time(rtt.p50),
        max: format::time(rtt.max),
        wire: format::time(ping.metrics.wire_rtt_ns.p50),
        published: published.map_or_else(|| "–".into(), format::time),
        error: published.map_or_else(|| "–".into(), |ns| format::error(rtt.p50 as f64, ns as f64)),
    }
}

fn stage_findings(get: &HttpGet, class: String) -> StageFindings<'_> {
    StageFindings {
        class,
        variant: &get.params.variant,
        size: size(get),
        verdict: cause::verdict(get),
        findings: get
            .findings
            .iter()
            .map(|finding| FindingView {
                cause: finding.cause.to_string(),
                confidence: format::percent(finding.confidence),
                summary: &finding.summary,
                advice: &finding.advice,
                evidence: finding
                    .evidence
                    .iter()
                    .map(|(name, value)| (name.as_str(), figure(name, *value)))
                    .collect(),
            })
            .collect(),
    }
}

/// A figure of evidence, worded by the unit in its name.
fn figure(name: &str, value: f64) -> String {
    if name.contains("_share") || name.starts_with("share_") {
        format::percent(value)
    } else if name.contains("_ns") {
        format::time(value as u64)
    } else if value < 0.0 {
        value.to_string()
    } else {
        format::count(value as u64)
    }
}

fn provenance(run: &Run) -> Vec<(&'static str, String)> {
    let p = &run.provenance;
    let mut peer = format!("answers after {}", format::time(p.peer.turnaround_ns));
    if p.peer.turnaround_jitter_ns > 0 {
        peer.push_str(" and up to ");
        peer.push_str(&format::time(p.peer.turnaround_jitter_ns));
        peer.push_str(" more");
    }
    if !p.peer.background.is_empty() {
        peer.push_str("; sends ");
        peer.push_str(&p.peer.background);
    }
    if p.peer.disregards_sack_blocks {
        peer.push_str("; pays no regard to SACK blocks");
    }
    vec![
        ("Board", p.board.clone()),
        ("Duplex", p.duplex.to_string()),
        ("Peer", peer),
        ("Timing table", p.timing_table.clone()),
        (
            "Entries that are guesses",
            if p.guesses.is_empty() {
                "none".into()
            } else {
                p.guesses.join(", ")
            },
        ),
        ("Seed", p.seed.to_string()),
        ("Virtual time", format::time(p.virtual_ns)),
        ("linerate", format!("{} ({})", p.version, p.git)),
        ("Started", p.started.clone()),
        ("Host", format!("{}, {}", p.host, p.cpu)),
    ]
}
