//! Provenance: the target, the tool and the host.

use serde::Serialize;

use linerate_results::format;
use linerate_results::record::Run;

#[derive(Serialize)]
pub(super) struct Elf<'a> {
    name: &'a str,
    sha256: &'a str,
    trace_hash: &'a str,
}

#[derive(Serialize)]
pub(super) struct TimingRow<'a> {
    name: &'a str,
    value: String,
    kind: String,
    source: &'a str,
}

pub(super) fn provenance(run: &Run) -> Vec<(&'static str, String)> {
    let p = &run.provenance;
    if !p.target.is_empty() {
        return of_target(run);
    }
    let mut peer = format!("answers after {}", format::time(p.peer.turnaround_ns));
    if p.peer.turnaround_jitter_ns > 0 {
        peer.push_str(" plus up to ");
        peer.push_str(&format::time(p.peer.turnaround_jitter_ns));
        peer.push_str(" of jitter");
    }
    if !p.peer.background.is_empty() {
        peer.push_str("; sends ");
        peer.push_str(&p.peer.background);
    }
    if p.peer.disregards_sack_blocks {
        peer.push_str("; ignores SACK blocks");
    }
    vec![
        ("Board", p.board.clone()),
        ("Duplex", p.duplex.to_string()),
        ("Peer", peer),
        ("Timing table", p.timing_table.clone()),
        (
            "Guessed entries",
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

/// The same for a target given by its URL.
fn of_target(run: &Run) -> Vec<(&'static str, String)> {
    let p = &run.provenance;
    let facts = [
        ("Target", p.target.clone()),
        ("Board", p.board.clone()),
        ("Timing table", p.timing_table.clone()),
        ("Guessed entries", p.guesses.join(", ")),
        ("linerate", format!("{} ({})", p.version, p.git)),
        ("Started", p.started.clone()),
        ("Host", format!("{}, {}", p.host, p.cpu)),
    ];
    let known = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    known.collect()
}

/// The firmware images.
pub(super) fn elfs(run: &Run) -> Vec<Elf<'_>> {
    let p = &run.provenance;
    p.elf_sha256
        .iter()
        .map(|(name, sha256)| Elf {
            name,
            sha256,
            trace_hash: p.trace_hash.get(name).map_or("", String::as_str),
        })
        .collect()
}

/// The timing table.
pub(super) fn timing(run: &Run) -> Vec<TimingRow<'_>> {
    let entries = run.provenance.timing.iter();
    entries
        .map(|entry| TimingRow {
            name: &entry.name,
            value: entry.value.to_string(),
            kind: entry.kind.to_string(),
            source: &entry.source,
        })
        .collect()
}
