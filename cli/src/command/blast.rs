//! `linerate blast`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_host::load::{LoadError, SendReport, noise_floor, raw};
use linerate_results::format;
use linerate_results::record::Distribution;

use crate::args;
use crate::failure::Failure;
use crate::output;

/// Duration of the noise floor measurement.
const NOISE: Duration = Duration::from_millis(100);

pub fn run(args: &args::Blast) -> Result<(), Failure> {
    let config = raw::BlastConfig {
        to: args.mac.unwrap_or(raw::BROADCAST),
        frame_octets: usize::from(args.size),
        rate: args.rate,
        duration: Duration::from_secs(args.seconds),
        stream: args.stream,
        reflect: args.reflect,
        core: args.core,
        ..raw::BlastConfig::new(&args.interface)
    };
    if args.reflect && args.mac.is_none() {
        let why = "--reflect requires --mac: broadcast frames are not reflected";
        return Err(anyhow!(why).into());
    }
    let noise = noise_floor(NOISE, [args.core, None]).map_err(failed)?;
    message!("{noise}");
    message!(
        "{} for {} s on {}, {} octets each; press Ctrl-C to stop",
        args.rate,
        args.seconds,
        args.interface,
        args.size
    );
    let sent = raw::blast(&config).map_err(failed)?;
    for note in &sent.notes {
        message!("note: {note}");
    }
    if args.json {
        let line = serde_json::json!({ "sent": sent, "noise": noise });
        return output::print(&format!("{line}\n"));
    }
    output::print(&text(&sent))
}

/// Limits of this host and invalid arguments are input errors, not failures of the target.
fn failed(error: LoadError) -> Failure {
    anyhow::Error::new(error).into()
}

fn text(sent: &SendReport) -> String {
    let offered = sent.offered_packets_per_s.map_or(String::new(), |offered| {
        format!(" of {} requested", format::count(offered))
    });
    let mut lines = vec![format!(
        "{} frames in {}: {} frames/s{offered}; {}",
        format::count(sent.packets),
        format::time(sent.span_ns),
        format::count(sent.packets_per_s as u64),
        sent.method,
    )];
    if let Some(it) = &sent.interface {
        lines.push(format!(
            "{} counted {} packets sent, {} dropped before sending, {} received",
            it.name,
            format::count(it.counters.tx_packets),
            format::count(it.counters.tx_dropped),
            format::count(it.counters.rx_packets),
        ));
    }
    if let Some(gaps) = &sent.gaps {
        lines.push(row("gap", &gaps.gap));
        if let Some(deviation) = &gaps.deviation {
            lines.push(row("deviation from the ideal gap", deviation));
        }
    }
    lines.join("\n") + "\n"
}

fn row(name: &str, spread: &Distribution) -> String {
    format!(
        "{name}: {} (p50), {} (p99), {} (p99.9), {} (max)",
        format::time(spread.p50_ns),
        format::time(spread.p99_ns),
        format::time(spread.p999_ns),
        format::time(spread.max_ns),
    )
}
