//! The published figures of the bit-banged NIC that this project reproduces.
//!
//! Sources: the article "Implementing and optimizing an Ethernet 10BASE-T MAC layer for maximum
//! throughput" (Niccle project), and that project's console logs and packet capture from real
//! hardware (timonvo/niccle, Apache-2.0). Goodput on the console is by the device's clock, which
//! reads 1.8 to 1.9% long beside the capture's.

use linerate_results::stats;

/// What the article and its console logs say about one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The variants of our firmware that are held against it.
    pub variants: &'static [&'static str],
    /// What the stage does, in a few words.
    pub what: &'static str,
    /// Interrupt post-processing of a full frame.
    pub post_processing_ns: Option<u64>,
    /// Median ping.
    pub ping_ns: Option<u64>,
    /// Goodput printed for each request, by size.
    pub goodput: &'static [Goodput],
    /// Share of frames lost, by size of request.
    pub loss: &'static [(u64, f64)],
    /// Where the loss was published: from the capture where there is one, else from the console's
    /// counters, which know only of frames that were noticed.
    pub loss_from: Source,
}

/// Where a figure was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The article's text (oscilloscope).
    Article,
    /// The program's console, by the device's clock.
    Console,
    /// A packet capture at the peer.
    Capture,
}

/// What the console printed for requests of one size, kB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodput {
    /// Nominal bytes.
    pub bytes: u64,
    /// One entry a request.
    pub kilobytes_per_s: &'static [f64],
}

impl Goodput {
    /// The median in bytes per second.
    pub fn p50_bytes_per_s(&self) -> f64 {
        stats::percentile_f64(self.kilobytes_per_s, 50.0).unwrap_or(0.0) * 1_000.0
    }
}

impl Stage {
    /// The stage that `variant` is held against.
    pub fn of(variant: &str) -> Option<&'static Self> {
        STAGES
            .iter()
            .find(|stage| stage.variants.contains(&variant))
    }

    /// Median goodput of requests of `bytes`, bytes per second.
    pub fn goodput_bytes_per_s(&self, bytes: u64) -> Option<f64> {
        self.goodput
            .iter()
            .find(|goodput| goodput.bytes == bytes)
            .map(Goodput::p50_bytes_per_s)
    }

    /// Share of frames lost at requests of `bytes`.
    pub fn loss_rate(&self, bytes: u64) -> Option<f64> {
        self.loss
            .iter()
            .find(|(size, _)| *size == bytes)
            .map(|(_, loss)| *loss)
    }
}

/// The article's stages, in its order.
pub const STAGES: [Stage; 4] = [
    Stage {
        variants: &["isr-all"],
        what: "everything in the interrupt, code in flash",
        post_processing_ns: Some(1_050_000),
        ping_ns: Some(1_400_000),
        goodput: &[
            Goodput {
                bytes: 10_000,
                kilobytes_per_s: &[3.0, 6.6, 6.7, 6.6, 6.6],
            },
            Goodput {
                bytes: 100_000,
                kilobytes_per_s: &[16.3, 10.6, 2.9, 4.7, 5.5],
            },
            Goodput {
                bytes: 1_000_000,
                kilobytes_per_s: &[13.4, 8.5],
            },
        ],
        loss: &[(10_000, 0.416), (100_000, 0.303)],
        loss_from: Source::Capture,
    },
    Stage {
        variants: &["main-thread"],
        what: "checks on the main thread, memcpy in RAM",
        post_processing_ns: Some(16_250),
        ping_ns: None,
        goodput: &[],
        loss: &[],
        loss_from: Source::Console,
    },
    Stage {
        variants: &["zero-copy"],
        what: "no copy, hot code in RAM",
        post_processing_ns: Some(2_000),
        ping_ns: None,
        goodput: &[],
        loss: &[],
        loss_from: Source::Console,
    },
    Stage {
        // First the one with the article's way to align, check and copy: it is the prediction. The
        // other one is ours.
        variants: &["windowed-article", "windowed"],
        what: "TCP window matched to the queue",
        post_processing_ns: Some(2_000),
        ping_ns: Some(900_000),
        goodput: &[
            Goodput {
                bytes: 10_000,
                kilobytes_per_s: &[2.5, 592.2, 503.4, 503.4, 559.3],
            },
            Goodput {
                bytes: 100_000,
                kilobytes_per_s: &[610.2, 613.9, 613.9, 613.9, 613.9],
            },
            Goodput {
                bytes: 1_000_000,
                kilobytes_per_s: &[618.1, 623.1, 623.5, 618.9, 618.1],
            },
            Goodput {
                bytes: 3_000_000,
                kilobytes_per_s: &[619.1, 618.4, 617.9, 620.0, 621.3],
            },
        ],
        loss: &[
            (10_000, 0.0),
            (100_000, 0.0),
            (1_000_000, 0.0),
            (3_000_000, 0.0),
        ],
        loss_from: Source::Console,
    },
];

/// Median time from a lone full segment to its acknowledgment in the real capture of the first
/// stage, taken at the peer.
pub const SEGMENT_TO_ACK_NS: u64 = 3_544_000;

/// Retransmission delays in the real capture of the first stage: `(from, to)` in milliseconds and
/// how many. The first row are tail-loss probes, the others are timers.
pub const RETRANSMISSION_DELAYS: [(u64, u64, u64); 8] = [
    (12, 50, 18),
    (150, 300, 393),
    (300, 600, 79),
    (600, 1_200, 140),
    (1_200, 2_500, 34),
    (2_500, 5_000, 15),
    (5_000, 10_000, 7),
    (10_000, 20_000, 4),
];
