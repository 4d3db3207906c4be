//! Changes of a device's own counters during a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes of the device's counters, as its driver, its MAC or its kernel reports them. A counter that the device does not
/// report is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeviceCounters {
    /// Frames received without an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_frames: Option<u64>,
    /// Frames lost because the receive FIFO of the MAC was full: overruns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_fifo_overruns: Option<u64>,
    /// Received frames that the kernel dropped: no buffer, or a full queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_dropped: Option<u64>,
    /// Received frames with a wrong FCS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_fcs_errors: Option<u64>,
    /// Pause frames sent (IEEE 802.3, 31B).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_pause_frames: Option<u64>,
    /// Pause frames received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_pause_frames: Option<u64>,
    /// Frames sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_frames: Option<u64>,
}

impl DeviceCounters {
    /// True if the device reports none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The changes from `before` to `self`. A counter of 16 or 32 bits that overflowed between them is understood if both
    /// readings fit into it; a counter that was read once only is left out.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let change = |after: Option<u64>, before: Option<u64>| {
            let (after, before) = (after?, before?);
            let bits = [16, 32].into_iter().find(|bits| before >> bits == 0);
            after.checked_sub(before).or_else(|| {
                let wraps = 1_u64 << bits?;
                (after + wraps).checked_sub(before)
            })
        };
        Self {
            rx_frames: change(self.rx_frames, before.rx_frames),
            rx_fifo_overruns: change(self.rx_fifo_overruns, before.rx_fifo_overruns),
            rx_dropped: change(self.rx_dropped, before.rx_dropped),
            rx_fcs_errors: change(self.rx_fcs_errors, before.rx_fcs_errors),
            tx_pause_frames: change(self.tx_pause_frames, before.tx_pause_frames),
            rx_pause_frames: change(self.rx_pause_frames, before.rx_pause_frames),
            tx_frames: change(self.tx_frames, before.tx_frames),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceCounters;

    #[test]
    fn a_change_survives_the_overflow_of_a_counter_and_needs_two_readings() {
        let reading = |frames, overruns| DeviceCounters {
            rx_frames: Some(frames),
            rx_fifo_overruns: overruns,
            ..DeviceCounters::default()
        };
        let change = reading(3_000, Some(9)).since(&reading(65_000, None));
        assert_eq!(change, reading(3_536, None));
        let change = reading(5, Some(9)).since(&reading(0xffff_fffe, Some(2)));
        assert_eq!(change, reading(7, Some(7)));
    }
}
