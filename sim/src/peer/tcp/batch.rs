//! The send queue in batches, as Linux cuts it into segments.

use super::Kernel;
use super::sender::Sender;

/// Largest batch of segments in the send queue, in octets: Linux's segmentation offload takes no more at a time.
const MAX_BATCH: u64 = 65_536;

impl Sender {
    /// Payload length and FIN of the next new segment, if the peer's window and Nagle allow one.
    pub(super) fn sendable(&self, nagle: bool) -> Option<(usize, bool)> {
        let unsent = self.data_end().saturating_sub(self.next);
        let pushed = self.push_boundary.saturating_sub(self.next);
        let mut whole = self.batch_end().saturating_sub(self.next).min(unsent);
        if pushed > 0 {
            whole = whole.min(pushed);
        }
        let mss = self.parameters.mss as u64;
        let room = self.window_end().saturating_sub(self.next);
        let small_is_out = self.small_segment_end > self.unacknowledged && !self.queue.is_empty();
        let waits_for_small = nagle && !self.no_delay && small_is_out;
        let mut len = whole.min(mss);
        // Data must fit the window completely (silly-window avoidance), but where a full segment of the same batch
        // precedes, a short one follows it up to the edge.
        if len > room {
            if room == 0 || !self.in_batch || waits_for_small {
                return None;
            }
            len = room;
        }
        // A FIN may exceed the window.
        let fin = self.fin && unsent == len && self.next <= self.data_end();
        if len == 0 && !fin {
            return None;
        }
        let is_short_end = len < mss && len == unsent && !fin;
        let waits_for_more = nagle && self.more_follows && pushed == 0;
        if is_short_end && (waits_for_more || waits_for_small) {
            return None;
        }
        Some((len as usize, fin))
    }

    /// First position that no segment from `next` on crosses. Linux queues what a program writes in batches of whole
    /// segments, at most half of the peer's largest window, and cuts each into segments by itself: the octets behind a
    /// segment that was cut at the edge of the window end where its batch ends.
    pub(super) fn batch_end(&self) -> u64 {
        // Without Nagle's algorithm only the newer kernel's way is known from a recording.
        if self.parameters.kernel == Kernel::Since6_10 || self.no_delay {
            return u64::MAX;
        }
        if self.next < self.batch_end {
            return self.batch_end;
        }
        let mss = self.parameters.mss as u64;
        let most = (self.max_window / 2).clamp(mss, MAX_BATCH);
        self.next + most / mss * mss
    }

    /// A new segment is about to be sent: it is one of its batch, or the first of the next.
    pub(super) fn count_in_batch(&mut self) {
        if !self.in_batch {
            // Linux sends at most half of the congestion window as one large segment.
            let half = (self.cwnd / 2).max(1);
            self.batch_left = self.cwnd.saturating_sub(self.in_flight()).min(half);
        }
        self.batch_left = self.batch_left.saturating_sub(1);
    }

    /// A segment of `len` octets from `next` to `end` is sent.
    pub(super) fn advance_batch(&mut self, len: usize, end: u64) {
        let batch_end = self.batch_end();
        let is_over = end >= batch_end || end >= self.data_end() || end == self.push_boundary;
        self.batch_end = if is_over { end } else { batch_end };
        self.in_batch = len == self.parameters.mss && !is_over && self.batch_left > 0;
    }
}
