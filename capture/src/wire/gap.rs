//! Divides the time of a request beyond the line's own into causes that add up.

use std::collections::{BTreeMap, BTreeSet};

use linerate_ether::ledger::DropCause;

use super::retransmission::retransmissions;
use super::{Frame, LINE_GAP_NS, Packet, Segment, Side};
use crate::tcp::seq_lt;
use linerate_results::line;
use linerate_results::record::{GapCause, GapPart, GapToLineRate};

/// An interval of work of the device's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPeriod {
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// The work as a cause: one of the device's.
    pub cause: GapCause,
}

/// A transfer to analyze.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Index of the request.
    pub request: u64,
    /// First bit of the first SYN.
    pub start_ns: u64,
    /// The last byte was consumed.
    pub end_ns: u64,
    /// Octets of the body.
    pub bytes: u64,
    /// Octets of a full segment.
    pub mss: u64,
    /// Sender of the body.
    pub sender: Side,
}

/// Slow start ends when the flight reaches this share of the largest one.
const GROWN_SHARE: f64 = 0.95;

/// Divides the time of `transfer` beyond the line's time for its body.
///
/// `frames` and `busy` are in chronological order and may begin before the transfer. Where `busy` has no entry, the
/// device's time is not divided.
///
/// The first 96 bit times of a silence are the line's gap; the rest is attributed to the station that ends it. Where
/// both stations send at once the time counts for the frame that began first.
pub fn gap_to_line_rate(
    frames: &[Frame],
    transfer: &Transfer,
    busy: &[BusyPeriod],
) -> GapToLineRate {
    let Transfer {
        start_ns,
        end_ns,
        bytes,
        mss,
        ..
    } = *transfer;
    let end_ns = end_ns.max(start_ns);
    let mut breakdown = GapBreakdown {
        transfer,
        busy,
        phases: Phases::of(frames, transfer),
        ns: BTreeMap::new(),
        data_ns: 0,
        gaps_ns: 0,
    };
    breakdown.walk(frames, start_ns, end_ns);

    let mss = mss.max(1);
    let body_ns = bytes * line::frame_ns(line::IP_TCP_HEADER_OCTETS + mss) / mss;
    let gaps_ns = bytes * line::inter_packet_gap_ns() / mss;
    let GapBreakdown {
        mut ns,
        data_ns,
        gaps_ns: all_gaps_ns,
        ..
    } = breakdown;
    *ns.entry(GapCause::HeadersAndClock).or_default() += data_ns as i64 - body_ns as i64;
    *ns.entry(GapCause::InterPacketGaps).or_default() += all_gaps_ns as i64 - gaps_ns as i64;
    let part = |cause: GapCause| GapPart {
        cause,
        ns: ns.get(&cause).copied().unwrap_or(0),
    };
    GapToLineRate {
        request: transfer.request,
        total_ns: end_ns - start_ns,
        line_ns: body_ns + gaps_ns,
        parts: GapCause::ALL
            .into_iter()
            .map(part)
            .filter(|part| part.ns != 0)
            .collect(),
    }
}

/// Start of the first data, and of the grown flight.
struct Phases {
    data_ns: u64,
    grown_ns: u64,
}

impl Phases {
    fn of(frames: &[Frame], transfer: &Transfer) -> Self {
        let mut flights: Vec<(u64, u32)> = Vec::new();
        let (mut sent, mut acknowledged) = (None, None);
        let within =
            |frame: &&Frame| (transfer.start_ns..transfer.end_ns).contains(&frame.start_ns);
        for frame in frames.iter().filter(within) {
            let Some(segment) = frame.segment() else {
                continue;
            };
            if frame.from == transfer.sender {
                let end = segment.seq.wrapping_add(segment.len);
                if segment.len > 0 && sent.is_none_or(|sent| !seq_lt(end, sent)) {
                    sent = Some(end);
                    let from = *acknowledged.get_or_insert(segment.seq);
                    flights.push((frame.start_ns, end.wrapping_sub(from)));
                }
            } else if segment.has_any(Segment::ACK) && sent.is_some() {
                acknowledged = Some(segment.ack);
            }
        }
        // A flight far above a window of 64 KiB is a wrapped number.
        flights.retain(|(_, flight)| *flight < 1 << 20);
        let greatest = flights.iter().map(|(_, flight)| *flight).max().unwrap_or(0);
        let grown =
            |(_, flight): &&(u64, u32)| f64::from(*flight) >= GROWN_SHARE * f64::from(greatest);
        Self {
            data_ns: flights.first().map_or(transfer.end_ns, |first| first.0),
            grown_ns: flights
                .iter()
                .find(grown)
                .map_or(transfer.end_ns, |grown| grown.0),
        }
    }
}

struct GapBreakdown<'a> {
    transfer: &'a Transfer,
    busy: &'a [BusyPeriod],
    phases: Phases,
    ns: BTreeMap<GapCause, i64>,
    /// Time of the sender's frames with new data.
    data_ns: u64,
    /// Inter-packet gaps of the line.
    gaps_ns: u64,
}

impl GapBreakdown<'_> {
    fn walk(&mut self, frames: &[Frame], start_ns: u64, end_ns: u64) {
        let mut delivered = BTreeSet::new();
        let mut cursor_ns = start_ns;
        let mut previous: Option<&Frame> = None;
        for (frame, retransmitted) in frames.iter().zip(retransmissions(frames)) {
            if frame.end_ns <= start_ns || frame.start_ns >= end_ns {
                continue;
            }
            let begin_ns = frame.start_ns.max(cursor_ns);
            self.add_silence(cursor_ns, begin_ns, previous, Some((frame, retransmitted)));
            let finish_ns = frame.end_ns.clamp(begin_ns, end_ns);
            self.add_frame(frame, retransmitted, &mut delivered, finish_ns - begin_ns);
            cursor_ns = finish_ns;
            previous = Some(frame);
        }
        self.add_silence(cursor_ns, end_ns, previous, None);
    }

    fn add(&mut self, cause: GapCause, ns: u64) {
        *self.ns.entry(cause).or_default() += ns as i64;
    }

    fn add_frame(
        &mut self,
        frame: &Frame,
        retransmitted: bool,
        delivered: &mut BTreeSet<(u16, u32)>,
        ns: u64,
    ) {
        let early = frame.start_ns < self.phases.data_ns;
        let cause = match &frame.packet {
            _ if frame.lost == Some(DropCause::Collision) => GapCause::Collisions,
            _ if early => GapCause::HandshakeAndSlowStart,
            Packet::Tcp(_) if frame.lost.is_some() => GapCause::Retransmission,
            Packet::Tcp(segment) if frame.from == self.transfer.sender => {
                let port = match frame.from {
                    Side::Device => segment.source,
                    Side::Peer => segment.destination,
                };
                if segment.len == 0 {
                    GapCause::HeadersAndClock
                } else if delivered.insert((port, segment.seq)) {
                    self.data_ns += ns;
                    return;
                } else {
                    GapCause::Retransmission
                }
            }
            Packet::Tcp(_) if retransmitted => GapCause::Retransmission,
            Packet::Tcp(_) => GapCause::AckAirtime,
            _ => GapCause::OtherTraffic,
        };
        self.add(cause, ns);
    }

    /// Attributes the silence from `from_ns` to `to_ns`, between `previous` and `next`.
    fn add_silence(
        &mut self,
        from_ns: u64,
        to_ns: u64,
        previous: Option<&Frame>,
        next: Option<(&Frame, bool)>,
    ) {
        let Some(silence_ns) = to_ns.checked_sub(from_ns).filter(|ns| *ns > 0) else {
            return;
        };
        if from_ns < self.phases.data_ns {
            self.add(GapCause::HandshakeAndSlowStart, silence_ns);
            return;
        }
        let mut gap_ns = 0;
        if previous.is_some() && next.is_some() {
            gap_ns = silence_ns.min(line::inter_packet_gap_ns());
            self.gaps_ns += gap_ns;
        }
        let rest_ns = silence_ns - gap_ns;
        let collided = |frame: &Frame| frame.lost == Some(DropCause::Collision);
        // The last silence is the receiver's: it consumes.
        let ender = next.map(|(frame, _)| frame.from);
        let device = match ender {
            Some(side) => side == Side::Device,
            None => self.transfer.sender == Side::Peer,
        };
        let in_a_row = silence_ns < LINE_GAP_NS && previous.map(|frame| frame.from) == ender;
        if previous.is_some_and(collided) {
            self.add(GapCause::Collisions, rest_ns);
        } else if next.is_some_and(|(_, retransmitted)| retransmitted) {
            self.add(GapCause::Retransmission, rest_ns);
        } else if from_ns < self.phases.grown_ns {
            self.add(GapCause::HandshakeAndSlowStart, rest_ns);
        } else if device {
            self.add_device_time(from_ns + gap_ns, to_ns);
        } else if in_a_row {
            self.gaps_ns += rest_ns;
        } else {
            self.add(GapCause::PeerTurnaround, rest_ns);
        }
    }

    /// Attributes the time from `from_ns` to `to_ns`, in which the line waited for the device.
    fn add_device_time(&mut self, from_ns: u64, to_ns: u64) {
        let mut cursor_ns = from_ns;
        let first = self.busy.partition_point(|busy| busy.end_ns <= from_ns);
        for busy in self.busy[first..]
            .iter()
            .take_while(|busy| busy.start_ns < to_ns)
        {
            let start_ns = busy.start_ns.max(cursor_ns);
            let end_ns = busy.end_ns.min(to_ns).max(start_ns);
            self.add(GapCause::Device, start_ns - cursor_ns);
            self.add(busy.cause, end_ns - start_ns);
            cursor_ns = end_ns;
        }
        self.add(GapCause::Device, to_ns - cursor_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{ack, data, frame, lost};
    use super::*;

    const US: u64 = 1_000;

    fn transfer(end_us: u64, bytes: u64) -> Transfer {
        Transfer {
            request: 0,
            start_ns: 0,
            end_ns: end_us * US,
            bytes,
            mss: 1460,
            sender: Side::Peer,
        }
    }

    /// SYN and SYN-ACK.
    fn opening() -> Vec<Frame> {
        let segment = |flags, seq| Segment {
            source: 4000,
            destination: 80,
            seq,
            ack: 1,
            len: 0,
            flags,
            window: 9,
            ..Segment::default()
        };
        vec![
            frame(0, Side::Device, segment(Segment::SYN, 0)),
            frame(200, Side::Peer, segment(Segment::SYN | Segment::ACK, 0)),
        ]
    }

    fn sum(gap: &GapToLineRate) -> i64 {
        gap.parts.iter().map(|part| part.ns).sum()
    }

    #[test]
    fn every_nanosecond_has_one_cause() {
        let mut frames = opening();
        frames.extend([
            data(1_000, 1, 1460),    // slow start: one segment, 1220.8 us
            ack(2_300, 1461),        // the device took 79.2 us
            data(2_437, 1461, 1460), // flight still one segment
            data(3_668, 2921, 1460), // flight of two: grown from here on
            ack(5_000, 4381),        // the device took 111.2 us, 9.6 of it the line's
            data(5_138, 4381, 1460), // the peer took 80.4 us, 9.6 of it the line's
            lost(data(6_369, 5841, 1460), DropCause::BadFcs),
            data(210_000, 5841, 1460), // and again
        ]);
        let gap = gap_to_line_rate(&frames, &transfer(212_000, 5 * 1460), &[]);
        assert_eq!(gap.missing_ns(), 0, "{gap:?}");
        assert_eq!(gap.total_ns, 212_000 * US);
        assert_eq!(gap.line_ns, 5 * line::segment_ns(1460));
        assert_eq!(gap.of(GapCause::AckAirtime), 2 * 57_600);
        assert_eq!(gap.of(GapCause::PeerTurnaround), 70_800);
        // Before the second acknowledgment, and after the last byte.
        assert_eq!(gap.of(GapCause::Device), 101_600 + 779_200);
        assert_eq!(gap.of(GapCause::HeadersAndClock), 0);
        let waited = 210_000_000 - (6_369_000 + 1_220_800) - 9_600;
        assert_eq!(gap.of(GapCause::Retransmission), waited + 1_220_800);
        assert!(gap.of(GapCause::HandshakeAndSlowStart) > 1_000_000);
        assert_eq!(sum(&gap), (gap.total_ns - gap.line_ns) as i64);
    }

    #[test]
    fn the_device_s_time_is_divided_by_its_work() {
        let mut frames = opening();
        frames.extend([
            data(1_000, 1, 1460),
            ack(2_500, 1461),
            data(2_637, 1461, 1460),
        ]);
        let end_us = 4_000;
        // From the second frame's end, 3857.8 us, to the transfer's: 142.2 us.
        let busy = |start_us: u64, end_us: u64, work| BusyPeriod {
            start_ns: start_us * US,
            end_ns: end_us * US,
            cause: work,
        };
        let busy = [
            busy(0, 3_870, GapCause::Interrupt),
            busy(3_870, 3_900, GapCause::Stack),
            busy(3_900, 3_990, GapCause::Copies),
        ];
        let gap = gap_to_line_rate(&frames, &transfer(end_us, 2 * 1460), &busy);
        assert_eq!(gap.missing_ns(), 0, "{gap:?}");
        let last_ns = frames[4].end_ns;
        let early_ns = 2_500_000 - frames[2].end_ns - 9_600;
        assert_eq!(
            gap.of(GapCause::Interrupt),
            (3_870_000 - last_ns + early_ns) as i64
        );
        assert_eq!(gap.of(GapCause::Stack), 30_000);
        assert_eq!(gap.of(GapCause::Copies), 90_000);
        assert_eq!(gap.of(GapCause::Device), 10_000, "not known");
    }

    #[test]
    fn an_upload_is_divided_the_same_way() {
        let mut frames = opening();
        for frame in [
            data(1_000, 1, 1460),
            data(2_231, 1461, 1460),
            ack(3_600, 2921),
        ] {
            let from = match frame.from {
                Side::Peer => Side::Device,
                Side::Device => Side::Peer,
            };
            frames.push(Frame { from, ..frame });
        }
        let upload = Transfer {
            sender: Side::Device,
            ..transfer(3_700, 2 * 1460)
        };
        let gap = gap_to_line_rate(&frames, &upload, &[]);
        assert_eq!(gap.missing_ns(), 0);
        assert_eq!(gap.of(GapCause::AckAirtime), 57_600);
        assert!(gap.of(GapCause::PeerTurnaround) > 100_000);
    }

    #[test]
    fn an_empty_wire_is_all_before_the_first_data() {
        let gap = gap_to_line_rate(&[], &transfer(1_000, 1460), &[]);
        assert_eq!(gap.missing_ns(), 0);
        assert_eq!(gap.of(GapCause::HandshakeAndSlowStart), 1_000_000);
    }
}
