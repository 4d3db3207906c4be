//! Scripted transfers: the figures of their sockets.

use crate::cause::{TransferAnswer, explain_transfer};
use linerate_results::record::{
    Cause, CountedAt, Direction, Duplex, Flow, HostLink, Observation, TcpConnection, TcpSample,
    Throughput, ThroughputMetrics, ThroughputParams,
};

pub(super) const MS: u64 = 1_000_000;
pub(super) const MSS: u64 = 1_448;

/// A scripted transfer of five seconds: the figures of its sockets as they would be read every 50 ms.
#[derive(Clone, Copy)]
pub(super) struct Script {
    pub(super) direction: Direction,
    pub(super) bytes_per_s: f64,
    /// Share by which the rate alternates, interval by interval.
    pub(super) swing: f64,
    pub(super) rtt_us: u64,
    pub(super) min_rtt_us: u64,
    pub(super) window: u64,
    /// Windows alternate between this and `window`.
    pub(super) low_window: u64,
    pub(super) window_limited: f64,
    pub(super) buffer_limited: f64,
    pub(super) lost: u64,
    pub(super) has_timestamps: bool,
    pub(super) span_ms: u64,
    pub(super) is_in_slow_start: bool,
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
    pub(super) fn sample(&self, ms: u64) -> TcpSample {
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

    pub(super) fn connection(&self) -> TcpConnection {
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

    pub(super) fn result(&self) -> Throughput {
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

    pub(super) fn answer(&self) -> TransferAnswer {
        explain_transfer(&self.result()).remove(0)
    }

    pub(super) fn causes(&self) -> Vec<Cause> {
        let answer = self.answer();
        assert_eq!(
            answer.findings.is_empty(),
            !answer.unknown.is_empty(),
            "either an answer, or what would decide: {answer:?}"
        );
        answer.findings.iter().map(|it| it.cause).collect()
    }
}

pub(super) fn link(mbit: u64, is_virtual: bool) -> HostLink {
    HostLink {
        interface: "eth0".to_owned(),
        line_bits_per_s: Some(mbit * 1_000_000),
        duplex: Some(Duplex::Full),
        mtu_bytes: Some(1500),
        is_virtual,
    }
}

/// 8,688 bytes in 20.15 ms.
pub(super) const WINDOW: Script = Script {
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
pub(super) const FULL_PATH: Script = Script {
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
