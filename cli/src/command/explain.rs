//! `linerate explain`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, anyhow};
use linerate_capture::reader::Reader;
use linerate_capture::tcp::AnalysisFlags;
use linerate_capture::traffic::Traffic;
use linerate_explain::cause::with_results;
use linerate_explain::report::{capture_html, capture_pictures};
use linerate_explain::traffic::{Report, Source};

use crate::args;
use crate::failure::Failure;
use crate::output;

/// Flags are printed in chunks of this size, bytes.
const CHUNK: usize = 64 * 1024;

pub fn run(args: &args::Explain) -> Result<(), Failure> {
    let mut traffic = if args.report.is_some() || args.svg.is_some() {
        Traffic::with_traces()
    } else if args.flags {
        Traffic::with_flags()
    } else {
        Traffic::default()
    };
    let mut sources = Vec::new();
    for path in &args.captures {
        let source = read(path, &mut traffic, args.flags)?;
        if let Some(fault) = &source.fault
            && (args.json || args.flags)
        {
            message!("{}: {fault}", source.file);
        }
        sources.push(source);
    }
    if args.flags {
        return Ok(());
    }
    let mut report = Report::of(traffic, sources);
    if let Some(file) = &args.with {
        let run = super::results(file)?;
        report.findings = with_results(report.findings, &run);
    }
    let written = draw(args, &report)?;
    if args.json {
        return output::json(&report);
    }
    output::print(&(report.text() + &written))
}

/// Writes the requested page and charts; returns their paths.
fn draw(args: &args::Explain, report: &Report) -> Result<String, Failure> {
    let mut written = String::new();
    if let Some(page) = &args.report {
        output::write(page, capture_html(report, args.pictures).as_bytes())?;
        let _ = writeln!(written, "\n{}", page.display());
    }
    if let Some(folder) = &args.svg {
        for (name, drawing) in capture_pictures(report, args.pictures) {
            let file = folder.join(name);
            output::write(&file, drawing.as_bytes())?;
            let _ = writeln!(written, "{}", file.display());
        }
    }
    Ok(written)
}

/// Reads one capture; prints the flags of its packets if `flags` is set.
fn read(path: &Path, traffic: &mut Traffic, flags: bool) -> Result<Source, Failure> {
    let (file, inner): (String, Box<dyn Read>) = if path == Path::new("-") {
        ("stdin".to_owned(), Box::new(io::stdin().lock()))
    } else {
        let file = path.display().to_string();
        let opened = File::open(path).with_context(|| format!("cannot read {file}"))?;
        (file, Box::new(opened))
    };
    let mut reader = Reader::new(inner).map_err(|error| anyhow!("{file}: {error}"))?;
    let mut lines = String::new();
    while let Some(packet) = reader.next() {
        let number = packet.number;
        let found = traffic.record_packet(&packet);
        if flags && !found.is_empty() {
            for (_, name) in AnalysisFlags::NAMES
                .iter()
                .filter(|(flag, _)| found.contains(*flag))
            {
                let _ = writeln!(lines, "{number} {name}");
            }
            if lines.len() > CHUNK {
                output::print(&lines)?;
                lines.clear();
            }
        }
    }
    output::print(&lines)?;
    if let Some(fault) = reader.error().filter(|_| reader.packets() == 0) {
        return Err(anyhow!("{file}: {fault}").into());
    }
    traffic.add_dropped(reader.dropped());
    traffic.add_clock_steps(reader.clock_steps());
    Ok(Source {
        file,
        packets: reader.packets(),
        fault: reader.error().map(ToString::to_string),
    })
}
