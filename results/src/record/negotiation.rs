//! The `negotiation` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, ReportRow, Setting};

/// The result of auto-negotiation between a device and a link partner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Negotiation {
    /// Parameters of the request.
    pub params: NegotiationParams,
    /// Results.
    pub metrics: NegotiationMetrics,
    /// Fate of each frame of the peer.
    pub ledger: Ledger,
}

/// Parameters of a negotiation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NegotiationParams {
    /// Run and conditions; `duplex` is the negotiated one.
    #[serde(flatten)]
    pub setting: Setting,
    /// `up`, or `down` if the two have no common ability.
    pub expected_link: String,
    /// The expected duplex, if the link comes up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_duplex: Option<String>,
}

/// Metrics of a negotiation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NegotiationMetrics {
    /// The last state reported by the device: `up` or `down`; empty without a report.
    pub link: String,
    /// Method: "auto-negotiation", "parallel detection", "forced".
    pub by: String,
    /// The link partner, as reported by the device.
    pub partner: String,
    /// The duplex reported by the device.
    pub device_duplex: String,
    /// Time of the first report that the link is up, from power-on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_after_ms: Option<f64>,
    /// Remote faults that the device counted.
    pub remote_faults: u64,
    /// Pings sent to the device, after the link should be up.
    pub pings_sent: u64,
    /// Pings that it answered.
    pub pings_answered: u64,
    /// Link, duplex and pings are as expected.
    pub passed: bool,
}

impl Describe for Negotiation {
    fn detail(&self) -> String {
        "negotiation".to_owned()
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "link {} by {} after {}, {}; {} of {} pings answered",
            metrics.link,
            metrics.by,
            metrics
                .up_after_ms
                .map_or_else(|| "never".to_owned(), |ms| format!("{ms:.1} ms")),
            self.params.setting.duplex,
            metrics.pings_answered,
            metrics.pings_sent,
        )
    }

    fn failures(&self) -> Vec<String> {
        let metrics = &self.metrics;
        if metrics.passed {
            return Vec::new();
        }
        vec![format!(
            "the link is {:?}, duplex {:?}, {} of {} pings answered, {} remote faults",
            metrics.link,
            metrics.device_duplex,
            metrics.pings_answered,
            metrics.pings_sent,
            metrics.remote_faults,
        )]
    }

    fn row(&self) -> Option<ReportRow> {
        let metrics = &self.metrics;
        let up = metrics
            .up_after_ms
            .map_or_else(String::new, |ms| format!(" after {ms:.0} ms"));
        let or_nothing = |text: &str| {
            if text.is_empty() {
                "–".to_owned()
            } else {
                text.to_owned()
            }
        };
        let words = format!(
            "link {}{up}, {} duplex by {}; partner: {}; {} of {} pings answered",
            or_nothing(&metrics.link),
            or_nothing(&metrics.device_duplex),
            or_nothing(&metrics.by),
            or_nothing(&metrics.partner),
            metrics.pings_answered,
            metrics.pings_sent,
        );
        Some(ReportRow::new("negotiation", words, metrics.passed))
    }
}
