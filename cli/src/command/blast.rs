//! `linerate blast`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::provenance;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_host::link;
use linerate_host::load::noise::Noise;
use linerate_host::load::{LoadError, SendReport, noise_floor, raw};
use linerate_results::record::{
    Blast, BlastLimits, BlastMetrics, BlastParams, Describe as _, Duplex, HostNoise, Ledger,
    Measurement, Observation, Provenance, Setting, line_frames_per_s,
};

use super::record::Record;
use crate::args;
use crate::failure::Failure;

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
    let observation = Observation {
        link: Some(link::link_of(&args.interface)),
        ..Observation::default()
    };
    let duplex = observation.link.as_ref().and_then(|it| it.duplex);
    let duplex = duplex.unwrap_or(Duplex::Unknown);
    let provenance = Provenance {
        target: format!("raw://{}/{}", args.interface, MacAddress(config.to)),
        duplex,
        ..provenance::current()
    };
    let title = "Raw frames sent by this machine";
    let record = Record::begin(&args.record, "blast", title, provenance)?;
    message!(
        "{} for {} s on {}, {} octets each; press Ctrl-C to stop",
        args.rate,
        args.seconds,
        args.interface,
        args.size
    );
    let before = link::counters_of(&args.interface);
    let sent = raw::blast(&config).map_err(failed)?;
    let after = link::counters_of(&args.interface);
    for note in &sent.notes {
        message!("note: {note}");
    }
    let observation = Observation {
        interface_counters: after
            .zip(before)
            .map(|(after, before)| link::since(&after, &before)),
        ..observation
    };
    let blast = Blast {
        params: params(&config, duplex, &sent, &noise),
        limits: limits(&config, &observation, noise),
        metrics: metrics(sent),
        ledger: Ledger::default(),
        observation,
    };
    let mut lines = vec![blast.one_line()];
    lines.extend(blast.details());
    record.finish(Measurement::Blast(blast), &(lines.join("\n") + "\n"))
}

/// Limits of this host and invalid arguments are input errors, not failures of the target.
fn failed(error: LoadError) -> Failure {
    anyhow::Error::new(error).into()
}

fn params(
    config: &raw::BlastConfig,
    duplex: Duplex,
    sent: &SendReport,
    noise: &Noise,
) -> BlastParams {
    let mut notes = sent.notes.clone();
    let loopback = noise.loopback.iter().flat_map(|it| &it.notes);
    for note in noise.notes.iter().chain(loopback) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    BlastParams {
        setting: Setting {
            duplex,
            notes,
            ..Setting::default()
        },
        interface: config.interface.clone(),
        destination: MacAddress(config.to).to_string(),
        frame_octets: frame_octets(config),
        offered_frames_per_s: config.rate.per_s(),
        span_ns: config.duration.as_nanos() as u64,
        stream: config.stream.into(),
        is_reflected: config.reflect,
        core: config.core.map(|core| core as u64),
    }
}

/// Octets of a frame with FCS.
const fn frame_octets(config: &raw::BlastConfig) -> u64 {
    (config.frame_octets + fcs::LEN) as u64
}

fn limits(config: &raw::BlastConfig, observation: &Observation, noise: Noise) -> BlastLimits {
    // The rate that a virtual interface reports limits nothing.
    let link = observation.link.as_ref().filter(|it| !it.is_virtual);
    BlastLimits {
        line_frames_per_s: link
            .and_then(|it| it.line_bits_per_s)
            .map(|bits_per_s| line_frames_per_s(bits_per_s, frame_octets(config))),
        noise: HostNoise {
            cores: noise.cores as u64,
            watched_ns: noise.watched_ns,
            read_intervals: noise.read_intervals,
            preemptions: noise.preemptions,
            preempted_ns: noise.preempted_ns,
            loopback_rtt: noise.loopback.and_then(|it| it.times),
            loopback_spins: noise.loopback_spins,
        },
    }
}

fn metrics(sent: SendReport) -> BlastMetrics {
    let (gap, deviation) = sent
        .gaps
        .map_or((None, None), |it| (Some(it.gap), it.deviation));
    BlastMetrics {
        sent_frames: sent.packets,
        span_ns: sent.span_ns,
        frames_per_s: sent.packets_per_s,
        missing_frames: sent.missing_packets,
        late_frames: sent.late_packets,
        method: sent.method,
        frames_per_call: sent.packets_per_call as u64,
        gap,
        deviation,
    }
}
