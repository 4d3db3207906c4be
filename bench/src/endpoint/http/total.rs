//! Total of consecutive transfers over HTTP.

use std::time::{Duration, Instant};

use linerate_agent::http;
use linerate_results::format;
use linerate_results::record::{CountedAt, Flow, Interval, TcpConnection};

/// Sizes of the first and of the largest transfer in a timed test: a slow device should not exceed its
/// time by much, a fast one should not get too many requests.
pub(super) const FIRST_OCTETS: u64 = 16_000;
const MAX_OCTETS: u64 = 1_000_000;
/// Maximum growth of a transfer over the previous one: a short one gives an inaccurate rate.
const GROWTH: u64 = 4;

/// Total of consecutive transfers.
pub(super) struct TransferTotal {
    pub(super) began: Instant,
    pub(super) octets: u64,
    pub(super) span_ns: u64,
    pub(super) intervals: Vec<Interval>,
    /// The longest time since the begin.
    pub(super) limit: Duration,
    pub(super) is_cancelled: bool,
    pub(super) does_not_match: bool,
    /// Ended before its amount.
    pub(super) is_cut: bool,
    pub(super) notes: Vec<String>,
    pub(super) connections: Vec<TcpConnection>,
}

impl TransferTotal {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            began: Instant::now(),
            octets: 0,
            span_ns: 0,
            intervals: Vec::new(),
            limit,
            is_cancelled: false,
            does_not_match: false,
            is_cut: false,
            notes: Vec::new(),
            connections: Vec::new(),
        }
    }

    /// Size of the next transfer with `left` time remaining, after one of `before` octets.
    pub(super) fn next_piece(&self, before: u64, left: Duration) -> u64 {
        let octets = self.octets as f64 * left.as_nanos() as f64 / self.span_ns.max(1) as f64;
        (octets as u64).clamp(FIRST_OCTETS, MAX_OCTETS.min(before * GROWTH))
    }

    /// Adds a note, once.
    pub(super) fn note(&mut self, note: Option<String>) {
        if let Some(note) = note.filter(|_| self.notes.is_empty()) {
            self.notes.push(note);
        }
    }

    /// Ends the total, as its longest time is over. What this host received by then counts; of an upload, only the
    /// server knows how much it has.
    pub(super) fn stop(&mut self, upload: bool, received: u64, path: &str) -> Result<(), String> {
        let seconds = self.limit.as_secs();
        if upload {
            return Err(format!(
                "it does not answer the upload to {path}: stopped after {seconds} s"
            ));
        }
        if received == 0 {
            return Err(format!(
                "it does not send the content of {path}: stopped after {seconds} s"
            ));
        }
        self.is_cut = true;
        self.notes.push(format!(
            "{path} does not end: stopped after {seconds} s, the longest time of the transfer"
        ));
        Ok(())
    }

    /// The flow of all transfers.
    pub(super) fn flow(self) -> Flow {
        Flow {
            intervals: self.intervals,
            is_cut: self.is_cut || self.is_cancelled,
            ..Flow::stream(self.octets, self.span_ns, CountedAt::Host)
        }
    }
}

/// Checks the answer to an upload of `octets`, of which the server acknowledged `acked` with the request's head;
/// returns a note on it.
pub(super) fn check_upload(
    outcome: &http::Outcome,
    octets: u64,
    acked: Option<u64>,
) -> Result<Option<String>, String> {
    let status = outcome.status;
    if outcome.sent < octets || acked.is_some_and(|acked| acked < octets) {
        return Err(format!(
            "it answers {status} before it has received the whole upload"
        ));
    }
    Ok(match outcome.confirmed {
        Some(confirmed) if confirmed != octets => Some(format!(
            "the device answers {} to an upload of {} octets: not used as a count",
            format::count(confirmed),
            format::count(octets)
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_grow_with_the_rate_and_fit_into_the_time_left() {
        let total = |octets, ms: u64| TransferTotal {
            octets,
            span_ns: ms * 1_000_000,
            ..TransferTotal::new(Duration::ZERO)
        };
        let left = Duration::from_secs;
        // 10 kB/s: the amount for two seconds, and no less than the first.
        assert_eq!(total(16_000, 1_600).next_piece(16_000, left(2)), 20_000);
        assert_eq!(total(16_000, 1_600).next_piece(16_000, left(1)), 16_000);
        // 100 MB/s.
        assert_eq!(total(16_000, 0).next_piece(16_000, left(9)), 64_000);
        assert_eq!(total(900_000, 9).next_piece(500_000, left(9)), 1_000_000);
    }
}
