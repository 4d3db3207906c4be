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
const MAX_SHIFT: u8 = 14;
/// The sender kept to the window if it filled it this many times ...
const MIN_FILLED: usize = 8;
/// ... and one in this many segments did.
const FILLED_DIVISOR: usize = 8;

/// The window is no limit if fewer than one in this many segments fill it.
const AMPLE_DIVISOR: usize = 20;

impl WindowScale {
    /// The scale of the windows that `view`'s receiver grants; `handshake` is the one of its SYN, if captured. The sender
    /// sees acknowledgments `to_sender_ns` after their capture, and sends what it sees then.
    pub fn of(view: &DirectionView, handshake: Option<u8>, to_sender_ns: u64) -> Self {
        if let Some(shift) = handshake {
            return Self::Known(shift);
        }
        let least = (0..MAX_SHIFT)
            .find(|shift| fills(view, *shift, 0).is_some())
            .unwrap_or(MAX_SHIFT);
        match fills(view, least, to_sender_ns) {
            Some(filled)
                if filled >= MIN_FILLED
                    && filled * FILLED_DIVISOR >= view.sent.len()
                    && (least == 0 || has_many_windows(view))
                    && holds_segments(view, least) =>
            {
                Self::Inferred(least)
            }
            Some(filled) if filled * AMPLE_DIVISOR <= view.sent.len() => Self::Ample(least),
            _ => Self::AtLeast(least),
        }
    }

    /// The scale, if it is certain enough to calculate with.
    pub fn shift(self) -> Option<u8> {
        match self {
            Self::Known(shift) | Self::Inferred(shift) => Some(shift),
            Self::Ample(_) | Self::AtLeast(_) => None,
        }
    }
}

/// True if the window with this scale held two full segments once: a smaller one is hardly a whole window.
fn holds_segments(view: &DirectionView, shift: u8) -> bool {
    let largest = view
        .acks
        .iter()
        .map(|ack| u64::from(ack.window) << shift)
        .max();
    largest.is_some_and(|bytes| bytes >= 2 * u64::from(view.full_segment()))
}

/// True if the window field takes several values. A single one may fit the data in flight by chance with some scale.
fn has_many_windows(view: &DirectionView) -> bool {
    let mut windows: Vec<u16> = view.acks.iter().map(|ack| ack.window).collect();
    windows.sort_unstable();
    windows.dedup();
    windows.len() >= MIN_FILLED
}

/// Number of segments that leave less than a full segment of the window with this scale, as the sender sees it; `None` if
/// one exceeds what was granted before.
fn fills(view: &DirectionView, shift: u8, to_sender_ns: u64) -> Option<usize> {
    let full = u64::from(view.full_segment());
    let mut acks = view.acks.iter().peekable();
    let mut edge = None;
    let mut filled = 0;
    for sent in &view.sent {
        while let Some(ack) = acks.next_if(|ack| ack.time_ns + to_sender_ns <= sent.time_ns) {
            let right = ack.ack + (u64::from(ack.window) << shift);
            edge = Some(edge.map_or(right, |edge: u64| edge.max(right)));
        }
        let Some(edge) = edge else { continue };
        // A probe of a closed window is one octet long (RFC 9293 section 3.8.6.1).
        if sent.end > edge + 1 {
            if to_sender_ns == 0 {
                return None;
            }
            continue;
        }
        filled += usize::from(edge.saturating_sub(sent.end) < full);
    }
    Some(filled)
}

/// Time from the acknowledgment that admits a segment to the segment, if it is nearly the same for most: then the window
/// is always full, and this is the round trip to the sender.
pub(super) fn edge_delay_ns(view: &DirectionView, handshake: Option<u8>) -> Option<u64> {
    let shift =
        handshake.or_else(|| (0..MAX_SHIFT).find(|shift| fills(view, *shift, 0).is_some()))?;
    let mut edges: Vec<(u64, u64)> = Vec::new();
    for ack in &view.acks {
        let right = ack.ack + (u64::from(ack.window) << shift);
        if edges.last().is_none_or(|(_, last)| *last < right) {
            edges.push((ack.time_ns, right));
        }
    }
    let mut delays: Vec<u64> = Vec::new();
    for sent in view.sent.iter().filter(|it| !it.is_retransmission()) {
        let at = edges.partition_point(|(_, right)| *right < sent.end);
        if let Some((admitted_ns, _)) = edges.get(at).filter(|_| at > 0) {
            delays.push(sent.time_ns.saturating_sub(*admitted_ns));
        }
    }
    if delays.len() < 4 * MIN_FILLED {
        return None;
    }
    delays.sort_unstable();
    let of = |percent: usize| delays[(delays.len() - 1) * percent / 100];
    let (p10, p50, p75) = (of(10), of(50), of(75));
    (p50 >= 1_000_000 && p75 - p10 <= p50 / 3).then_some(p10)
}
