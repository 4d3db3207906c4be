//! The segments that met a bucket, with those that are missing.

use super::levels::Passage;
use crate::model::round_trip::percentile;
use crate::model::view::DirectionView;
use crate::tcp::PacketClass;
use foldhash::HashMap;

/// Segments that are evaluated at most.
const MAX_PASSAGES: usize = 1 << 14;
/// Every link carries so much payload in a packet (RFC 791 section 3.2: 576 octets, less headers).
const MIN_PIECE: u32 = 500;
/// One in so many segments is that of a packet, if an adapter splits the others.
const PIECES_DIVISOR: usize = 20;

/// Segments in the order in which they met the bucket. What is missing is inserted where it was sent.
#[derive(Debug, Default)]
struct Passages {
    all: Vec<Passage>,
    /// Places in `all`.
    order: Vec<usize>,
    /// Last transmission by first octet: place in `all`.
    latest: HashMap<u64, usize>,
}

impl Passages {
    fn insert(&mut self, place: usize, passages: impl Iterator<Item = Passage>) {
        let first = self.all.len();
        for passage in passages {
            self.latest.insert(passage.start, self.all.len());
            self.all.push(passage);
        }
        self.order.splice(place..place, first..self.all.len());
    }

    /// Marks the last transmission of the segment that begins at `start`.
    fn mark(&mut self, start: u64, is_lost: bool, is_open: bool) {
        if let Some(at) = self.latest.get(&start) {
            self.all[*at].is_lost = is_lost;
            self.all[*at].is_open = is_open;
        }
    }
}

/// The segments in the order in which they were captured or are missing, at `times_ns`.
pub(super) fn passages(view: &DirectionView, times_ns: &[u64]) -> Vec<Passage> {
    let piece = packet_payload(view);
    let full = f64::from(piece);
    let spacing_ns = usual_gap_ns(view, times_ns);
    let mut passages = Passages::default();
    let mut highest = view.sent.first().map_or(0, |it| it.start);
    let mut before_ns = times_ns.first().copied().unwrap_or(0);
    // Place and time of the segment with the highest octets: what is missing followed it.
    let (mut place, mut highest_ns) = (0, before_ns);
    for (sent, time_ns) in view.sent.iter().zip(times_ns).filter(|(it, _)| it.len > 0) {
        let time_ns = (*time_ns).max(before_ns);
        let passage = Passage {
            time_ns,
            start: sent.start,
            bytes: f64::from(sent.len),
            is_lost: false,
            is_open: false,
        };
        if sent.start > highest {
            // Lost before the capture point, or overtaken.
            let missing = ((sent.start - highest) as f64 / full).ceil().min(64.0) as u64;
            // What is missing would have come at the usual distance; the next segment may come a round trip later, after
            // repeated ones.
            let gap_ns = spacing_ns.min(time_ns.saturating_sub(highest_ns) / (missing + 1));
            let lost = (0..missing).map(|at| Passage {
                time_ns: highest_ns + (at + 1) * gap_ns,
                start: highest + at * full as u64,
                is_lost: true,
                ..passage
            });
            passages.insert(place, lost);
        }
        // An adapter splits what is larger than a packet.
        let pieces = (0..sent.len).step_by(piece as usize).map(|at| Passage {
            start: sent.start + u64::from(at),
            bytes: f64::from(piece.min(sent.len - at)),
            ..passage
        });
        let mark_all = |passages: &mut Passages, is_lost, is_open| {
            for it in pieces.clone() {
                passages.mark(it.start, is_lost, is_open);
            }
        };
        match sent.class {
            PacketClass::Reordered => {
                mark_all(&mut passages, false, false);
                continue;
            }
            // The last transmission of the same octets was lost, unless it is known to be missing.
            PacketClass::FastRetransmission | PacketClass::TimeoutRetransmission => {
                mark_all(&mut passages, !sent.is_discarded, sent.is_discarded);
            }
            PacketClass::NewData
            | PacketClass::NoData
            | PacketClass::SpuriousRetransmission
            | PacketClass::Probe => {}
        }
        passages.insert(passages.order.len(), pieces);
        before_ns = time_ns;
        if passages.order.len() >= MAX_PASSAGES {
            break;
        }
        if sent.end > highest {
            (highest, place, highest_ns) = (sent.end, passages.order.len(), time_ns);
        }
    }
    let Passages { all, order, .. } = passages;
    order.into_iter().map(|at| all[at]).collect()
}

/// Payload of a full packet. Beside the sender, an adapter may split segments that are larger: multiples of one that is frequent, too.
fn packet_payload(view: &DirectionView) -> u32 {
    let full = view.full_segment();
    let mut lens: Vec<u32> = view.sent.iter().map(|it| it.len).collect();
    lens.sort_unstable();
    let mut each = lens.chunk_by(|one, other| one == other);
    let is_piece = |same: &&[u32]| {
        let is_divisor = same[0] >= MIN_PIECE && full.is_multiple_of(same[0]);
        is_divisor && same.len() * PIECES_DIVISOR >= lens.len()
    };
    each.find(is_piece).map_or(full, |same| same[0]).max(1)
}

/// Distance of full segments that follow each other: what a burst has on the line.
fn usual_gap_ns(view: &DirectionView, times_ns: &[u64]) -> u64 {
    let full = view.full_segment();
    let pairs = view.sent.windows(2).zip(times_ns.windows(2));
    let follows = pairs.filter(|(sent, _)| sent[1].start == sent[0].end && sent[1].len == full);
    let gaps = follows.map(|(_, times)| times[1].saturating_sub(times[0]));
    percentile(gaps.collect(), 25).unwrap_or(0)
}
