//! The receiver's window where its scale is known, or what is certain about it.

use super::view::DirectionView;

/// Window scale of a receiver (RFC 7323 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowScale {
    /// From the handshake.
    Known(u8),
    /// The handshake was not captured, but the sender kept to exactly the window of this scale.
    Inferred(u8),
    /// The handshake was not captured; the data in flight needs at least this scale, and does not fill even its window.
    Ample(u8),
    /// The handshake was not captured; the data in flight needs at least this scale.
    AtLeast(u8),
}

/// Largest window scale (RFC 7323 section 2.3).
pub(super) const MAX_SHIFT: u8 = 14;
/// The sender kept to the window if it filled it this many times ...
const MIN_FILLED: usize = 8;
/// ... and one in this many segments did.
pub(super) const FILLED_DIVISOR: usize = 8;
/// The window is no limit if fewer than one in this many segments fill it.
const AMPLE_DIVISOR: usize = 20;
/// ... and of the times at which the sender waits for an acknowledgment, fewer than one in this many follow one that does.
const AMPLE_PEAKS_DIVISOR: usize = 10;
/// One in this many segments may exceed the window that the sender is estimated to have seen: round trips vary.
const EXCEEDED_DIVISOR: usize = 50;
/// A constant window that holds fewer full segments fits the data in flight by chance with some scale in more than one
/// connection in thirty: scales double the window, so that one in `n` of them ends within a segment of the data.
const MIN_CONSTANT_SEGMENTS: u64 = 30;

impl WindowScale {
    /// The scale of the windows that `view`'s receiver grants; `handshake` is the one of its SYN, if captured. The sender
    /// sees acknowledgments `to_sender_ns` after their capture, or `edge_ns`, and sends what it sees then.
    pub fn of(
        view: &DirectionView,
        handshake: Option<u8>,
        to_sender_ns: u64,
        edge_ns: Option<u64>,
    ) -> Self {
        if let Some(shift) = handshake {
            return Self::Known(shift);
        }
        // What the sender saw is at least three quarters of the estimate old.
        let seen_ns = to_sender_ns / 4 * 3;
        let is_kept = |fill: &Fill| fill.exceeded * EXCEEDED_DIVISOR <= view.sent.len();
        let least = (0..MAX_SHIFT)
            .find(|shift| {
                Fill::of(view, *shift, 0).exceeded == 0 && is_kept(&Fill::of(view, *shift, seen_ns))
            })
            .unwrap_or(MAX_SHIFT);
        let delays = [Some(to_sender_ns), edge_ns].into_iter().flatten();
        let fills = delays.map(|delay_ns| Fill::of(view, least, delay_ns));
        let fill = fills.max_by_key(|fill| fill.filled).unwrap_or_default();
        // Of a burst that fills the window, only the last segment leaves no room for another one.
        let filled = fill.filled - fill.answered;
        let is_filled = filled >= MIN_FILLED
            && (filled * FILLED_DIVISOR >= view.sent.len()
                || (fill.filled_peaks - fill.answered) * 2 >= fill.peaks);
        // Segments that end exactly where a window ends do so by chance once in as many times as they have octets.
        let is_exact = fill.exact >= MIN_FILLED && has_many_windows(view);
        let is_plausible = least == 0
            || has_many_windows(view)
            || holds_segments(view, least, MIN_CONSTANT_SEGMENTS);
        if is_exact || is_filled && is_plausible && holds_segments(view, least, 2) {
            Self::Inferred(least)
        } else if fill.filled * AMPLE_DIVISOR <= view.sent.len()
            && fill.filled_peaks * AMPLE_PEAKS_DIVISOR <= fill.peaks
        {
            Self::Ample(least)
        } else {
            Self::AtLeast(least)
        }
    }

    /// The scale, if it is certain enough to calculate with.
    pub fn shift(self) -> Option<u8> {
        match self {
            Self::Known(shift) | Self::Inferred(shift) => Some(shift),
            Self::Ample(_) | Self::AtLeast(_) => None,
        }
    }

    /// The least scale that the data in flight permits.
    pub fn least(self) -> u8 {
        match self {
            Self::Known(shift)
            | Self::Inferred(shift)
            | Self::Ample(shift)
            | Self::AtLeast(shift) => shift,
        }
    }
}

/// True if the window with this scale held this many full segments once: a smaller one is hardly a whole window.
fn holds_segments(view: &DirectionView, shift: u8, segments: u64) -> bool {
    let largest = view
        .acks
        .iter()
        .map(|ack| u64::from(ack.window) << shift)
        .max();
    largest.is_some_and(|bytes| bytes >= segments * u64::from(view.full_segment()))
}

/// True if the window field takes several values. A single one may fit the data in flight by chance with some scale.
fn has_many_windows(view: &DirectionView) -> bool {
    let mut windows: Vec<u16> = view.acks.iter().map(|ack| ack.window).collect();
    windows.sort_unstable();
    windows.dedup();
    windows.len() >= MIN_FILLED
}

/// How a sender uses a window of a scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill {
    /// Segments that leave less than a full segment of the window.
    pub(super) filled: usize,
    /// Those of them of which all was acknowledged with payload before the next one: that may have been a request for it.
    pub(super) answered: usize,
    /// Segments smaller than a full one that leave nothing of it.
    pub(super) exact: usize,
    /// Segments beyond what was granted.
    pub(super) exceeded: usize,
    /// Segments after which an acknowledgment came before the next one: the most in flight of a burst.
    pub(super) peaks: usize,
    /// Those of them that leave less than a full segment of the window.
    pub(super) filled_peaks: usize,
}

impl Fill {
    /// The window with this scale, as the sender sees it `to_sender_ns` after the capture of acknowledgments.
    pub(super) fn of(view: &DirectionView, shift: u8, to_sender_ns: u64) -> Self {
        let full = u64::from(view.full_segment());
        let mut acks = view.acks.iter().peekable();
        let mut edge = None;
        let mut fill = Self::default();
        let (mut was_filled, mut highest) = (false, 0);
        for sent in &view.sent {
            let before = edge;
            let (mut is_answered, sent_before) = (false, highest);
            highest = highest.max(sent.end);
            while let Some(ack) = acks.next_if(|ack| ack.time_ns + to_sender_ns <= sent.time_ns) {
                let right = ack.ack + (u64::from(ack.window) << shift);
                edge = Some(edge.map_or(right, |edge: u64| edge.max(right)));
                is_answered |= !ack.is_bare && ack.ack >= sent_before;
            }
            let Some(edge) = edge else { continue };
            if before.is_some_and(|before| before < edge) {
                fill.peaks += 1;
                fill.filled_peaks += usize::from(was_filled);
                fill.answered += usize::from(was_filled && is_answered);
            }
            was_filled = false;
            // A probe of a closed window is one octet long (RFC 9293 section 3.8.6.1).
            if sent.end > edge + 1 {
                fill.exceeded += 1;
                continue;
            }
            let room = edge.saturating_sub(sent.end);
            was_filled = room < full;
            fill.filled += usize::from(was_filled);
            fill.exact += usize::from(room == 0 && u64::from(sent.len) < full);
        }
        fill
    }
}
