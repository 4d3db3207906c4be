use super::*;
use linerate_results::record::{
    Cause, CountedAt, Duplex, Observation, TcpConnection, TcpSample, ThroughputMetrics,
    ThroughputParams, TransferCapture,
};

const MS: u64 = 1_000_000;
const MSS: u64 = 1_448;

/// A scripted transfer of five seconds: the figures of its sockets as they would be read every 50 ms.
#[derive(Clone, Copy)]
struct Script {
    direction: Direction,
    bytes_per_s: f64,
    /// Share by which the rate alternates, interval by interval.
    swing: f64,
    rtt_us: u64,
    min_rtt_us: u64,
    window: u64,
    /// Windows alternate between this and `window`.
    low_window: u64,
    window_limited: f64,
    buffer_limited: f64,
    lost: u64,
    has_timestamps: bool,
    span_ms: u64,
    is_in_slow_start: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            direction: Direction::ToDevice,
            bytes_per_s: 1e6,
            swing: 0.0,
            rtt_us: 10_000,
            min_rtt_us: 10_000,
            window: 1 << 20,
            low_window: 1 << 20,
            window_limited: 0.0,
            buffer_limited: 0.0,
            lost: 0,
            has_timestamps: true,
            span_ms: 5_000,
            is_in_slow_start: false,
        }
    }
}

impl Script {
    fn sample(&self, ms: u64) -> TcpSample {
        let step = if (ms / 250).is_multiple_of(2) {
            self.swing
        } else {
            -self.swing
        };
        // Half of each step is above the mean, half below.
        let within = (ms % 250) as f64 / 1_000.0;
        let even = (ms - ms % 250) as f64 / 1_000.0;
        let extra = if ms / 250 % 2 == 1 {
            self.swing * 0.25
        } else {
            0.0
        };
        let octets = (self.bytes_per_s * (even + extra + within * (1.0 + step))) as u64;
        let segments = octets / MSS;
        let time = ms * MS;
        let part = |share: f64| (time as f64 * share) as u64;
        let is_sender = self.direction == Direction::ToDevice;
        let (acked, received) = if is_sender { (octets, 0) } else { (0, octets) };
        let window = if (ms / 50).is_multiple_of(3) {
            self.window
        } else {
            self.low_window
        };
        TcpSample {
            at_ns: time,
            acked_bytes: acked,
            received_bytes: received,
            rtt_ns: self.rtt_us * 1_000,
            min_rtt_ns: self.min_rtt_us * 1_000,
            receive_rtt_ns: if is_sender { 0 } else { self.rtt_us * 1_000 },
            congestion_window_segments: 100,
            slow_start_threshold_segments: (!self.is_in_slow_start).then_some(50),
            send_window_bytes: is_sender.then_some(window),
            receive_window_bytes: (!is_sender).then_some(window),
            busy_ns: time,
            window_limited_ns: part(self.window_limited),
            buffer_limited_ns: part(self.buffer_limited),
            sent_segments: if is_sender { segments } else { 0 },
            retransmitted_segments: if is_sender {
                self.lost * ms / self.span_ms
            } else {
                0
            },
            received_segments: if is_sender { 0 } else { segments },
            out_of_order_segments: if is_sender {
                0
            } else {
                self.lost * ms / self.span_ms
            },
            ..TcpSample::default()
        }
    }

    fn connection(&self) -> TcpConnection {
        let step = (self.span_ms / 100).max(1) as usize;
        TcpConnection {
            direction: self.direction,
            connect_ns: Some(self.min_rtt_us * 1_000),
            first_write_ns: Some(0),
            request_end_ns: Some(0),
            first_read_ns: Some(self.min_rtt_us * 1_000),
            opened_ns: 0,
            ended_ns: self.span_ms * MS,
            has_timestamps: self.has_timestamps,
            has_sack: true,
            congestion_control: "cubic".to_owned(),
            has_window_scaling: true,
            send_mss_bytes: MSS,
            receive_mss_bytes: MSS,
            samples: (0..=self.span_ms)
                .step_by(step)
                .map(|ms| self.sample(ms))
                .collect(),
        }
    }

    fn result(&self) -> Throughput {
        let octets = (self.bytes_per_s * self.span_ms as f64 / 1e3) as u64;
        let flow = Some(Flow::stream(octets, self.span_ms * MS, CountedAt::Host));
        let (to_device, from_device) = match self.direction {
            Direction::FromDevice => (None, flow),
            _ => (flow, None),
        };
        Throughput {
            params: ThroughputParams {
                direction: self.direction,
                streams: 1,
                ..ThroughputParams::default()
            },
            metrics: ThroughputMetrics {
                to_device,
                from_device,
            },
            ledger: linerate_results::record::Ledger::default(),
            findings: Vec::new(),
            observation: Observation {
                connections: vec![self.connection()],
                ..Observation::default()
            },
        }
    }

    fn answer(&self) -> TransferAnswer {
        explain_transfer(&self.result()).remove(0)
    }

    fn causes(&self) -> Vec<Cause> {
        let answer = self.answer();
        assert_eq!(
            answer.findings.is_empty(),
            !answer.unknown.is_empty(),
            "either an answer, or what would decide: {answer:?}"
        );
        answer.findings.iter().map(|it| it.cause).collect()
    }
}

fn link(mbit: u64, is_virtual: bool) -> HostLink {
    HostLink {
        interface: "eth0".to_owned(),
        line_bits_per_s: Some(mbit * 1_000_000),
        duplex: Some(Duplex::Full),
        mtu_bytes: Some(1500),
        is_virtual,
    }
}

/// 8,688 bytes in 20.15 ms.
const WINDOW: Script = Script {
    direction: Direction::ToDevice,
    bytes_per_s: 423e3,
    swing: 0.0,
    rtt_us: 20_150,
    min_rtt_us: 20_000,
    window: 8_688,
    low_window: 8_688,
    window_limited: 0.97,
    buffer_limited: 0.0,
    lost: 0,
    has_timestamps: true,
    span_ms: 5_000,
    is_in_slow_start: true,
};

/// 8.5 Mbit/s with 100 frames of queue.
const FULL_PATH: Script = Script {
    bytes_per_s: 1.0e6,
    rtt_us: 140_000,
    min_rtt_us: 2_000,
    window: 1 << 20,
    low_window: 1 << 20,
    window_limited: 0.0,
    lost: 40,
    is_in_slow_start: false,
    ..WINDOW
};

#[test]
fn the_device_s_window_is_named_with_its_product() {
    let answer = WINDOW.answer();
    assert_eq!(answer.findings[0].cause, Cause::ReceiveWindow);
    let summary = &answer.findings[0].summary;
    assert!(
        summary
            .starts_with("To the device: The device's receive window of 8,688 B limits the rate"),
        "{summary}"
    );
    assert!(
        summary
            .contains("3.38 Mbit/s (423 kB/s) at a round trip of 20.15 ms are 8,523 B in flight"),
        "{summary}"
    );
}

#[test]
fn each_kind_of_limit_has_its_cause() {
    let cases: &[(&str, Script, &[Cause])] = &[
        ("window", WINDOW, &[Cause::ReceiveWindow]),
        ("full path", FULL_PATH, &[Cause::PathRate]),
        (
            "full path that the window does not limit",
            Script {
                window_limited: 0.9,
                ..FULL_PATH
            },
            &[Cause::PathRate],
        ),
        (
            "full path from the device",
            Script {
                direction: Direction::FromDevice,
                lost: 0,
                ..FULL_PATH
            },
            &[Cause::PathRate],
        ),
        (
            "random loss of 1%: 1.2 MSS / RTT / sqrt(p) is 1.8 MB/s",
            Script {
                bytes_per_s: 1.5e6,
                swing: 0.4,
                lost: 52,
                ..Script::default()
            },
            &[Cause::RandomLoss],
        ),
        (
            "policer: three times the losses that the rate permits",
            Script {
                bytes_per_s: 1e6,
                rtt_us: 21_000,
                min_rtt_us: 20_000,
                lost: 350,
                ..Script::default()
            },
            &[Cause::Policed],
        ),
        (
            "this machine's buffer",
            Script {
                buffer_limited: 0.9,
                ..Script::default()
            },
            &[Cause::SendBuffer],
        ),
        (
            "slow start",
            Script {
                span_ms: 100,
                is_in_slow_start: true,
                ..Script::default()
            },
            &[Cause::CongestionWindow],
        ),
        (
            "delayed acknowledgment with a window of one segment",
            Script {
                bytes_per_s: 36e3,
                rtt_us: 40_000,
                min_rtt_us: 1_000,
                window: 1_448,
                low_window: 1_448,
                window_limited: 0.98,
                ..Script::default()
            },
            &[Cause::LateAcks],
        ),
        (
            "the receiver's window shrinks",
            Script {
                window: 65_535,
                low_window: 3_000,
                window_limited: 0.8,
                swing: 0.3,
                ..Script::default()
            },
            &[Cause::ReceiverReadsSlowly],
        ),
        (
            "this machine's window",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 0.8e6,
                window: 8_192,
                low_window: 8_192,
                ..Script::default()
            },
            &[Cause::ReceiveWindow],
        ),
        (
            "the device's buffer",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 850e3,
                ..Script::default()
            },
            &[Cause::SendBuffer],
        ),
        (
            "one segment in flight",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 144.8e3,
                ..Script::default()
            },
            &[Cause::OneInFlight],
        ),
    ];
    for (name, script, expected) in cases {
        assert_eq!(script.causes(), *expected, "{name}: {:?}", script.answer());
    }
}

#[test]
fn where_the_figures_do_not_decide_nothing_is_named() {
    let undecided = [
        // No state of the socket takes the time.
        (Script::default(), "--capture"),
        // Without timestamps the receiver does not know the round trip.
        (
            Script {
                direction: Direction::FromDevice,
                has_timestamps: false,
                bytes_per_s: 423e3,
                min_rtt_us: 20_150,
                ..Script::default()
            },
            "keeps 8,523 B in flight",
        ),
        // A large amount in flight may be the device's congestion window.
        (
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 10e6,
                ..Script::default()
            },
            "--capture",
        ),
        // A window that waits in a queue whose rate varies.
        (
            Script {
                window_limited: 0.9,
                window: 65_535,
                low_window: 65_535,
                rtt_us: 60_000,
                min_rtt_us: 2_000,
                swing: 0.4,
                ..Script::default()
            },
            "linerate sweep",
        ),
    ];
    for (script, hint) in undecided {
        let answer = script.answer();
        assert!(answer.findings.is_empty(), "{answer:?}");
        assert!(answer.unknown.contains(hint), "{}", answer.unknown);
    }
}

#[test]
fn a_standard_rate_of_the_path_is_named() {
    let script = Script {
        bytes_per_s: 94.15e6 / 8.0,
        ..FULL_PATH
    };
    let answer = script.answer();
    let finding = &answer.findings[0];
    assert_eq!(finding.cause, Cause::PathRate);
    assert!(
        finding.summary.contains("line rate of 100 Mbit/s Ethernet"),
        "{}",
        finding.summary
    );
}

#[test]
fn a_half_duplex_line_is_an_explanation_of_its_rate() {
    let script = Script {
        bytes_per_s: 9.1e6 / 8.0,
        ..FULL_PATH
    };
    let summary = &script.answer().findings[0].summary;
    assert!(
        summary
            .contains("A half-duplex line of 10 Mbit/s carries this beside its acknowledgments.")
            && summary.contains("It is 97% of a full-duplex one"),
        "{summary}"
    );
}

#[test]
fn the_line_of_this_machine_gives_line_rate_and_share() {
    let script = Script {
        bytes_per_s: 94.1e6 / 8.0,
        ..FULL_PATH
    };
    let mut result = script.result();
    result.observation.link = Some(link(100, false));
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::AtLineRate);
    assert!(
        answer.findings[0]
            .summary
            .contains("100 Mbit/s full duplex on eth0"),
        "{}",
        answer.findings[0].summary
    );
    let most = answer.line_bytes_per_s.expect("a line");
    assert!((most * 8.0 / 1e6 - 94.15).abs() < 0.01, "{most}");
    // The nominal rate of a virtual interface is no limit.
    result.observation.link = Some(link(10_000, true));
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::PathRate);
    assert_eq!(answer.line_bytes_per_s, None);
}

#[test]
fn a_server_that_thinks_is_named_before_all_else() {
    let mut result = Script {
        direction: Direction::FromDevice,
        span_ms: 200,
        ..Script::default()
    }
    .result();
    for connection in &mut result.observation.connections {
        connection.first_read_ns = Some(160 * MS);
    }
    let one = result.observation.connections[0].clone();
    result.observation.connections.extend([one.clone(), one]);
    let answer = explain_transfer(&result).remove(0);
    let finding = &answer.findings[0];
    assert_eq!(finding.cause, Cause::ServerThinkTime);
    assert!(
        finding.summary.contains("takes 150 ms from a request")
            && finding.summary.contains("of 3 requests"),
        "{}",
        finding.summary
    );
}

#[test]
fn a_first_packet_that_takes_longer_is_wake_up_latency() {
    let mut result = WINDOW.result();
    result.observation.connections[0].connect_ns = Some(150 * MS);
    let causes: Vec<Cause> = explain_transfer(&result)[0]
        .findings
        .iter()
        .map(|it| it.cause)
        .collect();
    assert_eq!(causes, [Cause::ReceiveWindow, Cause::WakeUpLatency]);
    // The retransmission of a SYN.
    result.observation.connections[0].connect_ns = Some(1_020 * MS);
    let causes: Vec<Cause> = explain_transfer(&result)[0]
        .findings
        .iter()
        .map(|it| it.cause)
        .collect();
    assert_eq!(causes, [Cause::ReceiveWindow, Cause::SlowHandshake]);
}

#[test]
fn a_late_first_answer_is_the_limit_of_a_short_transfer() {
    // 20 kB in 60 ms, after 140 ms for the handshake.
    let mut result = Script {
        span_ms: 60,
        bytes_per_s: 333e3,
        ..WINDOW
    }
    .result();
    result.observation.connections[0].opened_ns = 150 * MS;
    result.observation.connections[0].connect_ns = Some(150 * MS);
    result.observation.connections[0].ended_ns = 210 * MS;
    for sample in &mut result.observation.connections[0].samples {
        sample.at_ns += 150 * MS;
    }
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::WakeUpLatency);
    assert!(
        answer.findings[0].summary.contains("took 62% of the time"),
        "{}",
        answer.findings[0].summary
    );
    assert!(answer.unknown.is_empty());
}

#[test]
fn the_first_of_two_connections_wakes_the_device() {
    let mut result = FULL_PATH.result();
    let mut control = result.observation.connections[0].clone();
    control.samples.truncate(1);
    control.connect_ns = Some(120 * MS);
    control.opened_ns = 120 * MS;
    result.observation.connections[0].opened_ns = 125 * MS;
    result.observation.connections.push(control);
    let causes = |result: &Throughput| -> Vec<Cause> {
        let answer = explain_transfer(result).remove(0);
        answer.findings.iter().map(|it| it.cause).collect()
    };
    assert_eq!(causes(&result), [Cause::PathRate, Cause::WakeUpLatency]);
    // 20 ms of 5 s may be this machine's, and nobody notices them.
    result.observation.connections[1].connect_ns = Some(20 * MS);
    assert_eq!(causes(&result), [Cause::PathRate]);
}

#[test]
fn a_probe_that_only_load_makes_fast_shows_a_station_that_sleeps() {
    let mut result = FULL_PATH.result();
    result.observation.idle_round_trip_ns = Some(102 * MS);
    let causes = |result: &Throughput| -> Vec<Cause> {
        let answer = explain_transfer(result).remove(0);
        answer.findings.iter().map(|it| it.cause).collect()
    };
    assert_eq!(causes(&result), [Cause::PathRate, Cause::WakeUpLatency]);
    result.observation.idle_round_trip_ns = Some(3 * MS);
    assert_eq!(causes(&result), [Cause::PathRate]);
}

fn captured(cause: Cause, direction: Direction) -> TransferCapture {
    let finding = Finding {
        cause,
        confidence: 0.9,
        summary: "shown.".to_owned(),
        evidence: std::collections::BTreeMap::new(),
        advice: String::new(),
    };
    TransferCapture {
        findings: vec![linerate_results::record::CaptureFinding {
            direction: Some(direction),
            finding,
        }],
        ..TransferCapture::default()
    }
}

#[test]
fn a_capture_confirms_or_decides_and_does_not_contradict() {
    let causes = |script: Script, cause, direction| {
        let mut result = script.result();
        result.observation.capture = Some(captured(cause, direction));
        let answer = explain_transfer(&result).remove(0);
        let causes: Vec<Cause> = answer.findings.iter().map(|it| it.cause).collect();
        (causes, answer)
    };
    let to = Direction::ToDevice;
    let (same, answer) = causes(WINDOW, Cause::ReceiveWindow, to);
    assert_eq!(same, [Cause::ReceiveWindow]);
    assert!(
        answer.findings[0]
            .summary
            .ends_with("The capture shows the same.")
    );
    let (decided, answer) = causes(Script::default(), Cause::StretchAcks, to);
    assert_eq!(decided, [Cause::StretchAcks]);
    assert!(answer.unknown.is_empty());
    // Losses of a full queue are no cause of their own.
    let (kept, _) = causes(FULL_PATH, Cause::RandomLoss, to);
    assert_eq!(kept, [Cause::PathRate]);
    // Nor is a window that fills it.
    let (kept, _) = causes(FULL_PATH, Cause::ReceiveWindow, to);
    assert_eq!(kept, [Cause::PathRate]);
    // Acknowledgments of the other direction are not this one's.
    let (own, _) = causes(WINDOW, Cause::StretchAcks, Direction::FromDevice);
    assert_eq!(own, [Cause::ReceiveWindow]);
}
