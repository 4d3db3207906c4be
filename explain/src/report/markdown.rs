//! The summary as Markdown, for a terminal, a pull request or a log.

use std::fmt::Write;

use super::names::notes;
use super::verdict::verdict;
use linerate_results::format;

use crate::published::Published;
use crate::summary::{self, Summary};
use linerate_results::record::{HttpGet, Measurement, Run, Setting};

/// Renders the summary of `run`: verdict, stages, pings, findings, provenance.
pub fn markdown(run: &Run, published: &Published) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(run, published, &mut out);
    without_tags(&out)
}

/// The text, in which no name or message begins an HTML tag, which Markdown would pass on.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let begins_tag = |next: &char| next.is_ascii_alphabetic() || "/!?".contains(*next);
        if c == '<' && rest.peek().is_some_and(begins_tag) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The variant; the name of its run if several runs have it.
fn row_name<'a>(run: &Run, setting: &'a Setting) -> &'a str {
    let mut others = run.results.iter().map(Measurement::setting);
    let is_unique = others.all(|it| it.variant != setting.variant || it.name() == setting.name());
    if is_unique {
        &setting.variant
    } else {
        setting.name()
    }
}

fn display_name<'a>(run: &Run, get: &'a HttpGet) -> &'a str {
    row_name(run, &get.params.setting)
}

fn write(run: &Run, figures: &Published, out: &mut String) -> std::fmt::Result {
    let title = if run.title.is_empty() {
        &run.scenario
    } else {
        &run.title
    };
    writeln!(out, "# {title}\n")?;
    let summaries = summary::all(run);
    // Of several summaries each has its verdict below its title.
    let has_headline = summaries.len() < 2 || run.http_gets().next().is_some();
    let headline = if has_headline {
        verdict(run)
    } else {
        String::new()
    };
    if has_headline {
        writeln!(out, "{headline}\n")?;
    }
    for failure in &run.failures {
        writeln!(out, "**Failed:** {failure}\n")?;
    }
    for summary in &summaries {
        write_summary(summary, &headline, out)?;
    }
    for it in &run.not_measured {
        writeln!(out, "Not measured: {}: {}", it.what, it.why)?;
    }
    for (what, note) in notes(run) {
        writeln!(out, "Note on {what}: {note}")?;
    }

    if run.http_gets().next().is_some() {
        writeln!(
            out,
            "| stage | requests | Mbit/s | | published, Mbit/s | error | of line rate | frames lost | post-processing |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    }
    for get in run.http_gets() {
        let goodput = get.metrics.goodput_bytes_per_s_p50;
        let published = figures.goodput_bytes_per_s(run, get);
        writeln!(
            out,
            "| {} | {} × {} | {} | {} | {} | {} | {} | {} | {} |",
            display_name(run, get),
            get.params.requests,
            format::bytes(get.params.bytes),
            format::megabits(goodput),
            format::byte_rate(goodput),
            published.map_or_else(|| "–".into(), format::megabits),
            published.map_or_else(|| "–".into(), |published| format::error(goodput, published)),
            format::percent(get.share_of_line_rate()),
            format::percent(get.metrics.frame_loss_rate),
            format::time(get.metrics.isr_post_processing_ns_p50),
        )?;
    }

    if run.pings().next().is_some() {
        writeln!(
            out,
            "\n| stage | pings answered | shortest | median | longest |\n|---|---:|---:|---:|---:|"
        )?;
    }
    for ping in run.pings() {
        let rtt = ping.metrics.rtt_ns;
        let time = |ns: Option<u64>| ns.map_or_else(|| "–".into(), format::time);
        writeln!(
            out,
            "| {} | {} of {} | {} | {} | {} |",
            row_name(run, &ping.params.setting),
            ping.metrics.received,
            ping.metrics.sent,
            time(rtt.map(|rtt| rtt.min)),
            time(rtt.map(|rtt| rtt.p50)),
            time(rtt.map(|rtt| rtt.max)),
        )?;
    }

    writeln!(out)?;
    let mut largest: Vec<&HttpGet> = Vec::new();
    for get in run.http_gets() {
        match largest
            .iter_mut()
            .find(|known| display_name(run, known) == display_name(run, get))
        {
            Some(known) if known.params.bytes <= get.params.bytes => *known = get,
            Some(_) => {}
            None => largest.push(get),
        }
    }
    for get in largest {
        writeln!(
            out,
            "- **{}**: {}",
            display_name(run, get),
            crate::cause::verdict(get)
        )?;
    }

    let p = &run.provenance;
    if !p.target.is_empty() {
        return writeln!(
            out,
            "\n{} · from {} · started {} · linerate {} ({})",
            p.target, p.host, p.started, p.version, p.git
        );
    }
    writeln!(
        out,
        "\n{} · {} duplex · timing table {} ({} guesses) · seed {} · started {} · linerate {} ({})",
        p.board,
        p.duplex,
        p.timing_table,
        p.guesses.len(),
        p.seed,
        p.started,
        p.version,
        p.git,
    )
}

/// The result of a procedure: its verdict, unless it equals `headline`, and a table.
fn write_summary(summary: &Summary, headline: &str, out: &mut String) -> std::fmt::Result {
    writeln!(out, "## {}\n", summary.title)?;
    if summary.verdict != headline {
        writeln!(out, "{}", summary.verdict)?;
    }
    for finding in &summary.findings {
        writeln!(
            out,
            "- **{}** (confidence {}): {} {}",
            finding.cause,
            format::percent(finding.confidence),
            finding.summary,
            finding.advice
        )?;
    }
    if !summary.variant.is_empty() {
        // An empty line ends the list.
        if !summary.findings.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{}", summary.variant)?;
    }
    let table = &summary.table;
    if table.rows.is_empty() {
        return writeln!(out);
    }
    writeln!(out, "\n| {} |", table.head.join(" | "))?;
    let rules = table.head.iter().enumerate();
    let rules: Vec<&str> = rules
        .map(|(at, _)| if at == 0 { "---" } else { "---:" })
        .collect();
    writeln!(out, "|{}|", rules.join("|"))?;
    for row in &table.rows {
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    writeln!(out)
}
