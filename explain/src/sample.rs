//! A record for tests, with invented figures of a plausible size.

use linerate_ether::ledger::DropCause;

use crate::cause;
use crate::published::Published;
use linerate_results::line;
use linerate_results::record::*;
use linerate_results::stats;

/// The published figures of the board in the sample.
pub fn published() -> Published {
    let text = include_str!("../../boards/esp32c6-bitbang/published.toml");
    toml::from_str(text).expect("the board's figures are valid")
}

/// A run of all variants.
pub fn run() -> Run {
    let mut results = Vec::new();
    for (variant, rtt_ns) in [
        ("isr-all", 1_410_000),
        ("main-thread", 1_240_000),
        ("zero-copy", 790_000),
        ("windowed-article", 860_000),
        ("windowed", 770_000),
    ] {
        results.push(Measurement::Ping(ping(variant, rtt_ns)));
        let sizes: &[u64] = match variant {
            "isr-all" | "main-thread" => &[10_000, 100_000],
            _ => &[10_000, 100_000, 1_000_000, 3_000_000],
        };
        results.extend(
            sizes
                .iter()
                .map(|&bytes| Measurement::HttpGet(get(variant, bytes))),
        );
    }
    results.extend(line_results());
    Run {
        schema: SCHEMA,
        scenario: "niccle".into(),
        title: "A bit-banged 10BASE-T interface, stage by stage".into(),
        matrix: None,
        findings: Vec::new(),
        not_measured: Vec::new(),
        provenance: Provenance {
            target: String::new(),
            scenario_sha256: String::new(),
            version: "0.1.0".into(),
            git: "0123abc".into(),
            host: "linux x86_64".into(),
            cpu: "a test".into(),
            board: "esp32c6-bitbang".into(),
            timing_table: "esp32c6".into(),
            guesses: vec!["flash.miss_ns".into()],
            timing: vec![
                TimingEntry {
                    name: "cpu.load_use_cycles".into(),
                    value: 2.0,
                    kind: SourceKind::Measured,
                    source: "cycle_counting".into(),
                    fitted: None,
                },
                TimingEntry {
                    name: "flash.miss_ns".into(),
                    value: 1_000.0,
                    kind: SourceKind::Guess,
                    source: "between QIO and DIO".into(),
                    fitted: Some("edge to debug pin".into()),
                },
            ],
            seed: 1,
            started: "2026-01-01T00:00:00Z".into(),
            duplex: Duplex::Half,
            peer: PeerModel {
                turnaround_ns: 80_000,
                turnaround_jitter_ns: 0,
                background: String::new(),
                disregards_sack_blocks: false,
            },
            elf_sha256: [("http_get-windowed".to_owned(), "ab".repeat(32))].into(),
            trace_hash: [(
                "http_get-windowed".to_owned(),
                "0123456789abcdef".to_owned(),
            )]
            .into(),
            virtual_ns: 312_000_000_000,
            artifacts: vec![
                "http_get-windowed.pcapng".into(),
                "http_get-windowed.vcd".into(),
            ],
        },
        results,
        failures: Vec::new(),
        profiles: [("http_get-windowed".to_owned(), profile())].into(),
        frame_counts: [("http_get-windowed".to_owned(), frame_counts())].into(),
    }
}

/// A loss surface, a conformance case and a storm.
fn line_results() -> Vec<Measurement> {
    let mut results = Vec::new();
    for clock_ppm in [-200.0_f64, -100.0, 0.0, 100.0, 200.0] {
        for (jitter_ns, lost) in [(0.0, 0), (13.5, 0), (18.0, 4), (22.0, 310)] {
            let lost = if clock_ppm.abs() > 150.0 {
                lost * 2
            } else {
                lost
            };
            results.push(Measurement::LossSurface(LossSurface {
                params: LossSurfaceParams {
                    setting: setting("windowed"),
                    clock_ppm,
                    jitter_ns,
                    frame_octets: 1518,
                },
                metrics: LossSurfaceMetrics {
                    frames_sent: 1_000,
                    frames_received: 1_000 - lost,
                    frames_wrong: 0,
                    frame_loss_rate: lost as f64 / 1_000.0,
                },
                ledger: Ledger::default(),
            }));
        }
    }
    results.push(Measurement::PhyConformance(PhyConformance {
        params: PhyConformanceParams {
            setting: setting("windowed"),
            case: "least-gap".into(),
            about: "frames 47 bit times apart".into(),
            source: "4.2.3.2.2".into(),
            settling_frames: 0,
            excuse: Some("the loop is not ready again".into()),
        },
        metrics: PhyConformanceMetrics {
            frames_sent: 1_000,
            frames_received: 500,
            passed: false,
            ..PhyConformanceMetrics::default()
        },
        ledger: Ledger::default(),
    }));
    results.push(Measurement::Storm(Storm {
        params: StormParams {
            setting: setting("windowed"),
            storm_ms: 60_000,
            frame_octets: 64,
            destination: "broadcast".into(),
        },
        metrics: StormMetrics {
            storm_frames: 892_857,
            storm_frames_received: 800_000,
            longest_standstill_ms: 1.4,
            free_share: 0.07,
            ping_after_ms: Some(0.9),
            new_connection_after_ms: Some(12.0),
            old_connection_after_ms: None,
            old_connection_completed: false,
            uncounted_frames: 0,
            ..StormMetrics::default()
        },
        ledger: Ledger::default(),
    }));
    results
}

/// Two frames to the device, of which one was unheard, and one from it.
pub fn frame_counts() -> CountedFrames {
    let mut ledger = Ledger::default();
    ledger.count(None);
    ledger.count(Some(DropCause::Unheard));
    CountedFrames {
        ledger,
        counts: FrameCounts {
            wire: WireCounts {
                transmissions: 2,
                peer_frames: 2,
                device_transmissions: 1,
                ..WireCounts::default()
            },
            peer: Some(PeerCounts {
                sent: 2,
                received: 1,
                ..PeerCounts::default()
            }),
            capture: Some(CaptureCounts {
                to_device: 2,
                from_device: 1,
            }),
            device: Some(
                ["TxFrames", "RxFrames", "RxValid", "RxDelivered"]
                    .map(|counter| (counter.to_owned(), 1))
                    .into(),
            ),
            unheard: UnheardCounts {
                busy: 1,
                ..UnheardCounts::default()
            },
        },
    }
}

/// A profile of a few functions.
pub fn profile() -> Profile {
    let stack = |interrupt, path: &[u32], cycles, calls| ProfileStack {
        interrupt,
        path: path.to_vec(),
        cycles,
        calls,
    };
    Profile {
        cycles_per_s: 160_000_000,
        frames: 1_000,
        functions: [
            "main",
            "smoltcp::iface::interface::Interface<T>::poll",
            "memcpy",
            "on_receive",
            "waits for an interrupt",
        ]
        .map(str::to_owned)
        .into(),
        stacks: vec![
            stack(true, &[3], 190_000_000, 1_000),
            stack(false, &[0], 3_000_000, 1),
            stack(false, &[0, 1], 40_000_000, 1_100),
            stack(false, &[0, 1, 2], 12_000_000, 2_000),
            stack(false, &[4], 75_000_000, 0),
        ],
    }
}

/// The gap of a lossless download of `bytes` at `rate`.
fn gap(bytes: u64, rate: f64) -> GapToLineRate {
    let total_ns = (bytes as f64 / rate * 1e9) as u64;
    let line_ns = bytes * line::segment_ns(1460) / 1460;
    let rest = (total_ns - line_ns) as i64;
    let part = |cause, ns| GapPart { cause, ns };
    let parts = [
        part(GapCause::AckAirtime, rest / 10),
        part(GapCause::InterPacketGaps, rest / 50),
        part(GapCause::HeadersAndClock, -rest / 100),
        part(GapCause::PeerTurnaround, rest / 5),
        part(GapCause::Interrupt, rest / 100),
        part(GapCause::Copies, rest / 4),
    ];
    let known: i64 = parts.iter().map(|part| part.ns).sum();
    let mut gap = GapToLineRate {
        request: 2,
        total_ns,
        line_ns,
        parts: parts.into(),
    };
    gap.parts.push(part(GapCause::Stack, rest - known));
    gap
}

fn setting(variant: &str) -> Setting {
    Setting {
        notes: Vec::new(),
        variant: variant.into(),
        run: variant.into(),
        cell: None,
        duplex: Duplex::Half,
        conditions: Conditions {
            turnaround_ns: 80_000,
            ..Conditions::default()
        },
    }
}

fn ping(variant: &str, rtt_ns: u64) -> Ping {
    let samples: Vec<u64> = (0..10).map(|n| rtt_ns + n * 7_000).collect();
    let mut ping = Ping {
        params: PingParams {
            setting: setting(variant),
            count: 10,
            payload_bytes: 40,
        },
        metrics: PingMetrics {
            rtt_ns: RttNs::of(&samples),
            wire_rtt_ns: RttNs::of(&[rtt_ns - 300_000]),
            sent: 10,
            received: 10,
        },
        limits: PingLimits {
            line_rtt_ns: line::ping_ns(40),
        },
        ledger: Ledger {
            sent_frames: 11,
            delivered_frames: 11,
            ..Ledger::default()
        },
        samples: PingSamples {
            wire_rtt_ns: vec![rtt_ns - 300_000],
            rtt_ns: samples,
        },
        findings: Vec::new(),
    };
    ping.findings = cause::explain_ping(&ping);
    ping
}

/// The downloads of `bytes` by `variant`.
pub fn get(variant: &str, bytes: u64) -> HttpGet {
    let (rate, post_ns) = match variant {
        "isr-all" => (6_500.0, 1_048_000),
        "main-thread" => (14_000.0, 16_900),
        "zero-copy" => (210_000.0, 2_100),
        "windowed-article" => (615_000.0, 2_100),
        _ => (655_000.0, 2_100),
    };
    let rates: Vec<f64> = [0.93, 1.01, 1.0, 1.04, 0.99]
        .iter()
        .map(|part| rate * part)
        .collect();
    let segments = 5 * bytes.div_ceil(1460);
    let mut ledger = Ledger {
        sent_frames: segments + 20,
        ..Ledger::default()
    };
    let time_share = match variant {
        "isr-all" => {
            ledger.sent_frames = segments * 7 / 4;
            ledger.lose(DropCause::Unheard, segments / 3);
            ledger.lose(DropCause::BadSfd, segments / 4);
            ledger.lose(DropCause::BadFcs, segments / 9);
            ledger.lose(DropCause::Truncated, segments / 30);
            TimeShare {
                receiving: 0.006,
                repeating: 0.004,
                transmitting: 0.001,
                device: 0.012,
                peer: 0.0,
                retransmission_timer: 0.977,
            }
        }
        "main-thread" => {
            ledger.sent_frames = segments * 5 / 4;
            ledger.lose(DropCause::BadSfd, segments / 4);
            TimeShare {
                receiving: 0.02,
                repeating: 0.01,
                transmitting: 0.002,
                device: 0.03,
                peer: 0.0,
                retransmission_timer: 0.938,
            }
        }
        "zero-copy" => {
            ledger.lose(DropCause::QueueFull, segments / 40);
            TimeShare {
                receiving: 0.22,
                repeating: 0.03,
                transmitting: 0.02,
                device: 0.12,
                peer: 0.01,
                retransmission_timer: 0.6,
            }
        }
        _ => TimeShare {
            receiving: 0.552,
            repeating: 0.0,
            transmitting: 0.025,
            device: 0.385,
            peer: 0.038,
            retransmission_timer: 0.0,
        },
    };
    ledger.delivered_frames = ledger.sent_frames - ledger.lost();
    ledger.counters = [("RxFrames".to_owned(), ledger.delivered_frames)].into();
    let lossy = ledger.lost() > 0;
    let crc32 = vec![0x1234_5678_u32; 5];
    let mut get = HttpGet {
        params: HttpGetParams {
            setting: setting(variant),
            bytes,
            requests: 5,
        },
        metrics: HttpGetMetrics {
            goodput_bytes_per_s_p50: stats::percentile_f64(&rates, 50.0).unwrap_or(0.0),
            device_goodput_bytes_per_s: rates.iter().map(|rate| rate * 0.999).collect(),
            crc32_expected: crc32.clone(),
            crc32,
            sent_frames: ledger.sent_frames,
            received_frames: ledger.delivered_frames,
            frame_loss_rate: ledger.loss_rate(),
            device_sent_frames: segments / 2,
            isr_post_processing_ns_p50: post_ns,
            isr_post_processing_ns_max: post_ns + 900,
            inter_packet_gap_ns_min: 9_600,
            retransmitted_segments: ledger.lost(),
            segment_to_ack_ns_p50: if lossy { 3_600_000 } else { 2_100_000 },
            time_share,
            flash_wait_share: (variant == "isr-all").then_some(0.07),
            device_inter_packet_gap_ns_min: 9_650,
            gap_to_line_rate: (!lossy).then(|| gap(bytes, rate)),
            goodput_bytes_per_s: rates.clone(),
        },
        limits: HttpGetLimits {
            line_goodput_bytes_per_s: line::goodput_bytes_per_s(1460),
            inter_packet_gap_ns: line::inter_packet_gap_ns(),
        },
        samples: HttpGetSamples {
            requests: requests(&rates, bytes, &ledger),
            retransmission_delays_ns: if lossy {
                vec![202_000_000, 410_000_000]
            } else {
                Vec::new()
            },
            scope: Some(scope(post_ns, lossy)),
        },
        ledger,
        findings: Vec::new(),
    };
    get.findings = cause::explain_http_get(&get);
    get
}

fn requests(rates: &[f64], bytes: u64, ledger: &Ledger) -> Vec<Request> {
    let mut start_ns = 1_000_000_000;
    let request = |rate: &f64| {
        let duration_ns = (bytes as f64 / rate * 1e9) as u64;
        let request = Request {
            start_ns,
            end_ns: start_ns + duration_ns,
            device_duration_ns: duration_ns + 300_000,
            sent_frames: ledger.sent_frames / 5,
            received_frames: ledger.delivered_frames / 5,
            retransmitted_segments: ledger.lost() / 5,
            longest_silence_ns: if ledger.lost() > 0 {
                820_000_000
            } else {
                4_100_000
            },
        };
        start_ns += duration_ns + 10_000_000;
        request
    };
    rates.iter().map(request).collect()
}

fn scope(post_ns: u64, lossy: bool) -> ScopeTrace {
    let end = 1_220_800;
    let span = post_ns.max(28_800) * 3 / 2;
    let second = end + 9_600;
    let frame = |start_ns, fate: &str| Burst {
        start_ns,
        end_ns: start_ns + end,
        bytes: 1518,
        fate: fate.into(),
    };
    ScopeTrace {
        start_ns: end - span / 3,
        end_ns: end + span,
        rx: vec![
            frame(0, "delivered"),
            frame(second, if lossy { "unheard" } else { "delivered" }),
        ],
        tx: Vec::new(),
        debug: vec![
            Pulse {
                start_ns: 900,
                end_ns: end + 280,
            },
            Pulse {
                start_ns: end + 300,
                end_ns: end + 300 + post_ns,
            },
            Pulse {
                start_ns: (end + 300 + post_ns).max(second + 800),
                end_ns: second + end + 280,
            },
        ],
        marks: vec![
            Mark {
                label: "inter-packet gap".into(),
                start_ns: end,
                end_ns: second,
            },
            Mark {
                label: "interrupt post-processing".into(),
                start_ns: end + 300,
                end_ns: end + 300 + post_ns,
            },
        ],
        edges: vec![Edges {
            rx: true,
            start_ns: second,
            end_ns: second + 1_000,
            high: true,
            changes_at_100ps: (1..20).map(|half_bit| half_bit * 500).collect(),
        }],
    }
}
