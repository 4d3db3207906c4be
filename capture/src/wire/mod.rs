//! Analysis of frames recorded on a wire, in the simulator or on an interface. Which of them are retransmissions is what
//! [`tcp`](crate::tcp) finds.

mod gap;
mod interrupt;
mod packet;
mod requests;
mod retransmission;
mod scope;
mod time_share;

pub use gap::{BusyPeriod, Transfer, gap_to_line_rate};
pub use interrupt::post_processing_ns;
pub use packet::{Echo, Packet, Segment};
pub use requests::{TcpStats, tcp_stats};
pub use scope::scope;
pub use time_share::time_share;

use linerate_ether::ledger::DropCause;

/// Which station sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The device under test.
    Device,
    /// The peer.
    Peer,
}

/// A frame on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// First preamble bit.
    pub start_ns: u64,
    /// Last FCS bit.
    pub end_ns: u64,
    /// Sending station.
    pub from: Side,
    /// Octets from the destination address to the FCS, inclusive.
    pub octets: u64,
    /// Payload.
    pub packet: Packet,
    /// Reason why it did not reach the receiving station's program; `None` when it did.
    pub lost: Option<DropCause>,
    /// Tag set by its sender; 0 if it sets none.
    pub tag: u32,
}

impl Frame {
    /// True if the receiving station's stack accepted it.
    pub const fn delivered(&self) -> bool {
        self.lost.is_none()
    }

    /// Its TCP segment, if it carries one.
    pub const fn segment(&self) -> Option<&Segment> {
        match &self.packet {
            Packet::Tcp(segment) => Some(segment),
            _ => None,
        }
    }
}

/// Shortest silence between two consecutive frames of `side`, if there is such a pair closer than a slot time.
pub fn shortest_gap_ns(frames: &[Frame], side: Side) -> Option<u64> {
    back_to_back(frames, side)
        .map(|(first, second)| second.start_ns - first.end_ns)
        .min()
}

/// Pairs of consecutive frames of `side` with only the line's gap between them.
fn back_to_back(frames: &[Frame], side: Side) -> impl Iterator<Item = (&Frame, &Frame)> {
    frames.windows(2).filter_map(move |pair| {
        let (first, second) = (&pair[0], &pair[1]);
        let gap_ns = second.start_ns.checked_sub(first.end_ns)?;
        (first.from == side && second.from == side && gap_ns < LINE_GAP_NS)
            .then_some((first, second))
    })
}

/// A silence shorter than a slot time (512 bits) between frames of one station is the line's gap and the station's
/// jitter, not a wait.
const LINE_GAP_NS: u64 = 512 * linerate_results::line::BIT_NS;

#[cfg(test)]
pub(crate) mod sample {
    //! Hand-made frames for the tests of this module.
    use super::*;

    /// A data segment of `len` bytes from the peer that starts at `start_us`.
    pub fn data(start_us: u64, seq: u32, len: u32) -> Frame {
        let segment = Segment {
            source: 80,
            destination: 4000,
            seq,
            ack: 1,
            len,
            flags: Segment::ACK,
            window: 500,
            ..Segment::default()
        };
        frame(start_us, Side::Peer, segment)
    }

    /// A pure ACK from the device.
    pub fn ack(start_us: u64, ack: u32) -> Frame {
        let segment = Segment {
            source: 4000,
            destination: 80,
            seq: 1,
            ack,
            len: 0,
            flags: Segment::ACK,
            window: 9000,
            ..Segment::default()
        };
        frame(start_us, Side::Device, segment)
    }

    pub fn frame(start_us: u64, from: Side, segment: Segment) -> Frame {
        let start_ns = start_us * 1_000;
        let payload = linerate_results::line::IP_TCP_HEADER_OCTETS + u64::from(segment.len);
        Frame {
            start_ns,
            end_ns: start_ns + linerate_results::line::frame_ns(payload),
            from,
            octets: (payload + 18).max(64),
            packet: Packet::Tcp(segment),
            lost: None,
            tag: 0,
        }
    }

    pub fn lost(mut frame: Frame, cause: DropCause) -> Frame {
        frame.lost = Some(cause);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{ack, data};
    use super::*;

    #[test]
    fn gap_is_between_frames_of_one_station_only() {
        let first = data(0, 1, 1460);
        let next_us = first.end_ns / 1_000 + 12;
        let frames = [first, data(next_us, 1461, 1460), ack(next_us + 1_222, 2921)];
        let gap = shortest_gap_ns(&frames, Side::Peer).expect("two frames in a row");
        assert_eq!(gap, frames[1].start_ns - frames[0].end_ns);
        assert_eq!(shortest_gap_ns(&frames, Side::Device), None);
    }
}
