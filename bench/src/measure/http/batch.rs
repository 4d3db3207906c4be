//! The events during the transfers of one size, and the figures common to every kind of result.

use std::collections::BTreeMap;

use linerate_capture::wire::{self, BusyPeriod, Frame, Segment, Side};
use linerate_ether::ledger::DropCause;
use linerate_results::record::{
    Edges, GapToLineRate, HttpGetLimits, HttpGetParams, Pulse, Request, Setting,
};
use linerate_results::{line, stats};

use super::super::MeasureError;

/// All events of the transfers of one size. `frames` and `pulses` are in chronological order.
pub struct Batch {
    pub bytes: u64,
    pub frames: Vec<Frame>,
    pub pulses: Vec<Pulse>,
    /// The processor's activities, if recorded.
    pub busy: Vec<BusyPeriod>,
    /// The line's level around some frames, if recorded.
    pub edges: Vec<Edges>,
    pub rounds: Vec<Round>,
    pub counters: BTreeMap<String, u64>,
    pub flash_wait_share: Option<f64>,
}

/// The bodies transferred at the same time.
#[derive(Default)]
pub struct Round {
    /// To the device.
    pub down: Option<Body>,
    /// From the device.
    pub up: Option<Body>,
    /// When the device reported that the last of them is complete.
    pub reported_ns: u64,
}

impl Round {
    /// The body that `sender` sent.
    pub const fn body(&self, sender: Side) -> Option<&Body> {
        match sender {
            Side::Peer => self.down.as_ref(),
            Side::Device => self.up.as_ref(),
        }
    }
}

/// A body that was transferred.
#[derive(Clone)]
pub struct Body {
    /// When the last byte was consumed.
    pub end_ns: u64,
    /// Its size.
    pub bytes: u64,
    /// CRC-32 as received.
    pub crc32: u32,
    /// Duration by the device's clock.
    pub device_us: u64,
    /// Its path.
    pub path: String,
    /// The device's port, if reported by the peer.
    pub port: Option<u16>,
}

impl Body {
    /// Bytes a second on the device's own clock.
    pub fn device_goodput_bytes_per_s(&self) -> f64 {
        self.bytes as f64 * 1e6 / self.device_us.max(1) as f64
    }
}

/// The payload of a full segment, if the capture has none.
const MSS: u64 = 1460;

impl Batch {
    /// Its parameters; the caller of the run adds the setting.
    pub fn params(&self) -> HttpGetParams {
        HttpGetParams {
            setting: Setting::default(),
            bytes: self.bytes,
            requests: self.rounds.len() as u64,
        }
    }

    /// Octets of a full segment of `side`.
    fn mss(&self, side: Side) -> u64 {
        let of_side = self.frames.iter().filter(|frame| frame.from == side);
        of_side
            .filter_map(Frame::segment)
            .map(|segment| u64::from(segment.len))
            .max()
            .filter(|len| *len > 1_000)
            .unwrap_or(MSS)
    }

    /// The time of the median-goodput request beyond the line's minimum, by cause; `sender` sends
    /// the body.
    pub fn gap(
        &self,
        requests: &[Request],
        goodput: &[f64],
        sender: Side,
    ) -> Option<GapToLineRate> {
        let median = stats::percentile_f64(goodput, 50.0)?;
        let at = goodput
            .iter()
            .position(|goodput| goodput.total_cmp(&median).is_eq())?;
        let request = requests.get(at)?;
        let transfer = wire::Transfer {
            request: at as u64,
            start_ns: request.start_ns,
            end_ns: request.end_ns,
            bytes: self.bytes,
            mss: self.mss(sender),
            sender,
        };
        Some(wire::gap_to_line_rate(&self.frames, &transfer, &self.busy))
    }

    /// The wire's limits for segments as large as those of `side`.
    pub fn limits(&self, side: Side) -> HttpGetLimits {
        HttpGetLimits {
            line_goodput_bytes_per_s: line::goodput_bytes_per_s(self.mss(side)),
            inter_packet_gap_ns: line::inter_packet_gap_ns(),
        }
    }

    /// Frames of the device: all, those that the peer's MAC discarded, those that collided.
    pub fn device_frames(&self) -> (u64, u64, u64) {
        let device = || {
            self.frames
                .iter()
                .filter(|frame| frame.from == Side::Device)
        };
        let collided = |frame: &&Frame| frame.lost == Some(DropCause::Collision);
        let collisions = device().filter(collided).count() as u64;
        let lost = device().filter(|frame| !frame.delivered()).count() as u64;
        (device().count() as u64, lost - collisions, collisions)
    }

    /// Post-processing on the debug pin: median and longest, nanoseconds; `None` if no full frame
    /// of the peer was received.
    pub fn post_processing_ns(&self) -> (Option<u64>, Option<u64>) {
        let times = wire::post_processing_ns(&self.frames, &self.pulses);
        let at = |percent| stats::percentile(&times, percent);
        (at(50.0), at(100.0))
    }

    /// The body that `sender` sent in each round, from the first SYN of its connection to its last
    /// byte. If its port is unknown, its connection is the one that is not the other body's.
    pub fn requests(&self, sender: Side) -> Result<Vec<Request>, MeasureError> {
        let mut requests = Vec::new();
        let mut from_ns = 0;
        for round in &self.rounds {
            let Some(body) = round.body(sender) else {
                continue;
            };
            let other = [&round.down, &round.up]
                .into_iter()
                .flatten()
                .find_map(|body| body.port);
            let own = |segment: &Segment| match body.port {
                Some(port) => segment.source == port,
                None => Some(segment.source) != other,
            };
            let opens = |segment: &Segment| segment.is_initial_syn() && own(segment);
            let within = |frame: &&Frame| frame.start_ns >= from_ns && frame.start_ns < body.end_ns;
            let syn = self
                .frames
                .iter()
                .filter(within)
                .find(|frame| frame.from == Side::Device && frame.segment().is_some_and(opens));
            let Some(syn) = syn else {
                let what = format!(
                    "the firmware reports {} without a connection on the wire",
                    body.path
                );
                return Err(MeasureError::Unexpected { what });
            };
            requests.push(self.request(syn.start_ns, body.end_ns, body.device_us));
            from_ns = round.reported_ns;
        }
        Ok(requests)
    }

    /// The figures of the time from `start_ns` to `end_ns`.
    pub fn request(&self, start_ns: u64, end_ns: u64, device_us: u64) -> Request {
        let first = self
            .frames
            .partition_point(|frame| frame.start_ns < start_ns);
        let last = self.frames.partition_point(|frame| frame.start_ns < end_ns);
        let frames = &self.frames[first..last];
        let from_peer = || frames.iter().filter(|frame| frame.from == Side::Peer);
        let silences = frames
            .windows(2)
            .map(|pair| pair[1].start_ns.saturating_sub(pair[0].end_ns));
        Request {
            start_ns,
            end_ns,
            device_duration_ns: device_us * 1_000,
            sent_frames: from_peer().count() as u64,
            received_frames: from_peer().filter(|frame| frame.delivered()).count() as u64,
            retransmitted_segments: wire::tcp_stats(frames, Side::Peer).retransmitted_segments,
            longest_silence_ns: silences.max().unwrap_or(0),
        }
    }
}
