//! Published figures that a board reproduces. They lie beside the board, in its `published.toml`, and are passed in.

use linerate_results::record::{HttpGet, Run};
use linerate_results::stats;
use serde::Deserialize;

/// The published figures of one board; empty for a board without any.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Published {
    /// The published stages, in their order.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
    /// The steps of the firmware from the first stage to the last.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    /// Median time from a lone full segment to its acknowledgment in the first stage's capture, nanoseconds.
    pub segment_to_ack_ns: u64,
    /// Retransmission delays in the first stage's capture.
    pub retransmission_delays: Vec<DelayRange>,
    /// The choices that were made with a published figure in view.
    #[serde(rename = "choice")]
    pub choices: Vec<Choice>,
    /// The variant with this project's MAC in the last published stage.
    pub own_mac: String,
    /// The same stage with the MAC of the publication.
    pub article_mac: String,
    /// Reasons for the rows that differ most, Markdown.
    pub deviations: String,
}

/// A choice made with a published figure in view: the rows that it touches are no evidence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its name in the table.
    pub name: String,
    /// What was chosen.
    pub what: String,
    /// The published figures that were known.
    pub known: String,
    /// Variants of the rows that it touches; empty for all.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Beginnings of the names of the figures that it touches; empty for all.
    #[serde(default)]
    pub figures: Vec<String>,
}

impl Choice {
    /// True if it touches this row.
    pub fn touches(&self, variant: &str, figure: &str) -> bool {
        let any = |list: &[String], is: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|item| is(item))
        };
        any(&self.variants, &|name| name == variant)
            && any(&self.figures, &|start| figure.starts_with(start))
    }
}

/// The published figures of one stage.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The firmware variants that are compared with it.
    pub variants: Vec<String>,
    /// The stage in a few words.
    pub what: String,
    /// Interrupt post-processing of a full frame.
    pub post_processing_ns: Option<u64>,
    /// Median ping.
    pub ping_ns: Option<u64>,
    /// Duration of the first request, which resolves addresses and may repeat a SYN.
    pub first_request_ns: Option<u64>,
    /// Goodput printed for each request, by size.
    #[serde(default)]
    pub goodput: Vec<Goodput>,
    /// Share of frames lost, by size of request.
    #[serde(default)]
    pub loss: Vec<Loss>,
    /// Source of the loss figures.
    pub loss_from: Source,
}

/// Source of a published figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The article's text (oscilloscope).
    Article,
    /// The program's console, by the device's clock.
    Console,
    /// A packet capture at the peer.
    Capture,
}

/// Console output for requests of one size, kB/s.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// Nominal bytes.
    pub bytes: u64,
    /// One entry per request.
    pub kilobytes_per_s: Vec<f64>,
}

/// Share of frames lost at requests of one size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Nominal bytes.
    pub bytes: u64,
    /// Lost of all, 0 to 1.
    pub rate: f64,
}

/// Retransmissions within a range of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayRange {
    /// Start of the range, milliseconds.
    pub from_ms: u64,
    /// End of the range, milliseconds.
    pub to_ms: u64,
    /// Retransmissions in it.
    pub count: u64,
}

/// A step of the firmware from the first stage to the last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The variant that takes it.
    pub variant: String,
    /// The change, in a few words.
    pub what: String,
}

impl Goodput {
    /// The median in bytes per second.
    pub fn p50_bytes_per_s(&self) -> f64 {
        stats::percentile_f64(&self.kilobytes_per_s, 50.0).unwrap_or(0.0) * 1_000.0
    }
}

/// True if the peer ignored the SACK blocks of this download. Earlier versions recorded it for all runs together.
pub(crate) fn ignores_sack(run: &Run, get: &HttpGet) -> bool {
    let own = get.params.setting.conditions.disregards_sack_blocks;
    own.unwrap_or(run.provenance.peer.disregards_sack_blocks)
}

/// True if the peer of this download treats SACK blocks as the scenario's does: goodput and loss were published for such
/// a peer.
pub(crate) fn is_comparable(run: &Run, get: &HttpGet) -> bool {
    ignores_sack(run, get) == run.provenance.peer.disregards_sack_blocks
}

impl Published {
    /// The published median goodput of such downloads, bytes per second.
    pub(crate) fn goodput_bytes_per_s(&self, run: &Run, get: &HttpGet) -> Option<f64> {
        let stage = self.stage(&get.params.setting.variant)?;
        let stage = is_comparable(run, get).then_some(stage)?;
        stage.goodput_bytes_per_s(get.params.bytes)
    }

    /// The published share of frames lost in such downloads.
    pub(crate) fn loss_rate(&self, run: &Run, get: &HttpGet) -> Option<f64> {
        let stage = self.stage(&get.params.setting.variant)?;
        let stage = is_comparable(run, get).then_some(stage)?;
        stage.loss_rate(get.params.bytes)
    }

    /// The stage that `variant` is compared with.
    pub fn stage(&self, variant: &str) -> Option<&Stage> {
        let of_variant = |stage: &&Stage| stage.variants.iter().any(|known| known == variant);
        self.stages.iter().find(of_variant)
    }
}

impl Stage {
    /// Median goodput of requests of `bytes`, bytes per second.
    pub fn goodput_bytes_per_s(&self, bytes: u64) -> Option<f64> {
        let found = self.goodput.iter().find(|goodput| goodput.bytes == bytes);
        found.map(Goodput::p50_bytes_per_s)
    }

    /// Share of frames lost at requests of `bytes`.
    pub fn loss_rate(&self, bytes: u64) -> Option<f64> {
        let found = self.loss.iter().find(|loss| loss.bytes == bytes);
        found.map(|loss| loss.rate)
    }
}
