//! From what happened during the downloads of one size to its result.

use std::collections::BTreeMap;

use linerate_ether::pattern;
use linerate_explain::record::{
    HttpGet, HttpGetLimits, HttpGetMetrics, HttpGetParams, HttpGetSamples, Pulse, Request, Setting,
};
use linerate_explain::wire::{self, Frame, Segment, Side};
use linerate_explain::{cause, line, stats};

use super::super::{Get, MeasureError};

/// Everything about the downloads of one size. `frames` and `pulses` are in the order of time.
pub struct Batch<'a> {
    pub variant: &'a str,
    pub bytes: u64,
    pub frames: Vec<Frame>,
    pub pulses: Vec<Pulse>,
    /// When the last byte was consumed, and what the device says about it.
    pub gets: Vec<(u64, Get)>,
    pub counters: BTreeMap<String, u64>,
    pub flash_wait_share: Option<f64>,
}

/// The payload of a full segment; a capture tells no better when nothing full was sent.
const MSS: u64 = 1460;

impl Batch<'_> {
    /// The result.
    pub fn measure(self) -> Result<HttpGet, MeasureError> {
        let requests = self.requests()?;
        let figures = wire::tcp_figures(&self.frames);
        let post_processing_ns = wire::post_processing_ns(&self.frames, &self.pulses);
        let ledger = super::super::ledger(&self.frames, self.counters);
        let bodies = |of: fn(&Get) -> f64| -> Vec<f64> {
            self.gets
                .iter()
                .map(|(_, get)| get.body_bytes as f64 * 1e9 / of(get))
                .collect()
        };
        let goodput: Vec<f64> = requests
            .iter()
            .zip(&self.gets)
            .map(|(request, (_, get))| {
                let duration_ns = request.end_ns - request.start_ns;
                get.body_bytes as f64 * 1e9 / duration_ns as f64
            })
            .collect();
        let full = self
            .frames
            .iter()
            .filter(|frame| frame.from == Side::Peer)
            .filter_map(Frame::segment);
        let mss = full
            .map(|segment| u64::from(segment.len))
            .max()
            .filter(|len| *len > 1_000)
            .unwrap_or(MSS);
        let spans = requests
            .iter()
            .map(|request| (request.start_ns, request.end_ns));
        let metrics = HttpGetMetrics {
            goodput_bytes_per_s_p50: stats::percentile_f64(&goodput, 50.0).unwrap_or(0.0),
            goodput_bytes_per_s: goodput,
            device_goodput_bytes_per_s: bodies(|get| get.duration_us.max(1) as f64 * 1e3),
            crc32: self.gets.iter().map(|(_, get)| get.crc32).collect(),
            crc32_expected: vec![pattern::crc32(self.bytes); self.gets.len()],
            sent_frames: ledger.sent_frames,
            received_frames: ledger.delivered_frames,
            frame_loss_rate: ledger.loss_rate(),
            device_sent_frames: self
                .frames
                .iter()
                .filter(|f| f.from == Side::Device)
                .count() as u64,
            isr_post_processing_ns_p50: stats::percentile(&post_processing_ns, 50.0).unwrap_or(0),
            isr_post_processing_ns_max: stats::percentile(&post_processing_ns, 100.0).unwrap_or(0),
            inter_packet_gap_ns_min: wire::shortest_gap_ns(&self.frames, Side::Peer).unwrap_or(0),
            retransmitted_segments: figures.retransmitted_segments,
            segment_to_ack_ns_p50: figures.segment_to_ack_ns_p50().unwrap_or(0),
            time_share: wire::time_share(&self.frames, spans),
            flash_wait_share: self.flash_wait_share,
        };
        let mut get = HttpGet {
            params: HttpGetParams {
                variant: self.variant.to_owned(),
                setting: Setting::default(),
                bytes: self.bytes,
                requests: self.gets.len() as u64,
            },
            metrics,
            limits: HttpGetLimits {
                line_goodput_bytes_per_s: line::goodput_bytes_per_s(mss),
                inter_packet_gap_ns: line::inter_packet_gap_ns(),
            },
            samples: HttpGetSamples {
                requests,
                retransmission_delays_ns: figures.retransmission_delays_ns,
                scope: wire::scope(&self.frames, &self.pulses),
            },
            ledger,
            findings: Vec::new(),
        };
        get.findings = cause::of_http_get(&get);
        Ok(get)
    }

    /// Each request from its first SYN to the line that says that the last byte was consumed.
    fn requests(&self) -> Result<Vec<Request>, MeasureError> {
        let mut requests = Vec::new();
        let mut from_ns = 0;
        for (end_ns, get) in &self.gets {
            let within = |frame: &&Frame| frame.start_ns >= from_ns && frame.start_ns < *end_ns;
            let syn = self.frames.iter().filter(within).find(|frame| {
                frame.from == Side::Device && frame.segment().is_some_and(Segment::opens)
            });
            let Some(syn) = syn else {
                let what = format!(
                    "the firmware reports {} without a connection on the wire",
                    get.path
                );
                return Err(MeasureError::Unexpected { what });
            };
            requests.push(self.request(syn.start_ns, *end_ns, get));
            from_ns = *end_ns;
        }
        Ok(requests)
    }

    fn request(&self, start_ns: u64, end_ns: u64, get: &Get) -> Request {
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
            device_duration_ns: get.duration_us * 1_000,
            sent_frames: from_peer().count() as u64,
            received_frames: from_peer().filter(|frame| frame.delivered()).count() as u64,
            retransmitted_segments: wire::tcp_figures(frames).retransmitted_segments,
            longest_silence_ns: silences.max().unwrap_or(0),
        }
    }
}
