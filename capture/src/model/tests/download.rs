//! A connection with any packets, near the sender or the receiver.

use crate::model::{FlowModel, Limit};
use crate::tcp::{Connection, End, Segment};

pub(super) const MS: u64 = 1_000_000;
pub(super) const MSS: u32 = 1000;
/// The connection begins so long after the capture's epoch; times of packets are counted from there.
const START_NS: u64 = 1_700_000_000 * 1_000_000_000;

/// A download: the second end sends.
pub(super) struct Download {
    connection: Connection,
    number: u64,
    pub(super) window: u16,
    pub(super) stamps: bool,
    /// Options are cut off.
    is_cut: bool,
    /// Those of the client and of the server.
    pub(super) hop_limits: [u8; 2],
}

impl Download {
    /// Opened by a handshake that is answered after `to_server_ns` and acknowledged after `to_client_ns`.
    pub(super) fn open(to_server_ns: u64, to_client_ns: u64, window: u16) -> Self {
        Self::late(window).opened(to_server_ns, to_client_ns)
    }

    /// The same, without the options of the handshake.
    pub(super) fn snapped(to_server_ns: u64, to_client_ns: u64, window: u16) -> Self {
        let mut own = Self::late(window);
        own.is_cut = true;
        own.opened(to_server_ns, to_client_ns)
    }

    fn opened(mut self, to_server_ns: u64, to_client_ns: u64) -> Self {
        let own = &mut self;
        let options = [2, 4, 3, 0xE8, 3, 3, 0, 4, 2];
        own.record(End::First, 0, Segment::SYN, 99, 0, 0, &options);
        let answer = Segment::SYN | Segment::ACK;
        own.record(End::Second, to_server_ns, answer, 499, 100, 0, &options);
        own.ack(to_server_ns + to_client_ns, 500);
        self
    }

    /// Captured without its handshake.
    pub(super) fn late(window: u16) -> Self {
        Self {
            connection: Connection::new(1, START_NS),
            number: 0,
            window,
            stamps: false,
            is_cut: false,
            hop_limits: [0; 2],
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a packet has as many")]
    pub(super) fn record(
        &mut self,
        end: End,
        at_ns: u64,
        flags: u8,
        seq: u32,
        ack: u32,
        len: u32,
        options: &[u8],
    ) {
        self.number += 1;
        let segment = Segment {
            seq,
            ack,
            flags,
            len,
            window: self.window,
            hop_limit: self.hop_limits[end as usize],
            options,
            is_cut: self.is_cut,
            ..Segment::default()
        };
        self.connection
            .record_segment(end, &segment, START_NS + at_ns, self.number);
    }

    /// A segment with its first octet at `seq`, stamped `sent_ms` and echoing `echo_ms`.
    pub(super) fn data(&mut self, at_ns: u64, seq: u32, stamps: (u32, u32)) {
        let options = self.options(stamps);
        self.record(End::Second, at_ns, Segment::ACK, seq, 100, MSS, &options);
    }

    /// An acknowledgment with this many octets of options, none of them captured.
    pub(super) fn cut_ack(&mut self, at_ns: u64, ack: u32, options_len: u8) {
        self.number += 1;
        let segment = Segment {
            seq: 100,
            ack,
            flags: Segment::ACK,
            window: self.window,
            options_len,
            is_cut: true,
            ..Segment::default()
        };
        self.connection
            .record_segment(End::First, &segment, START_NS + at_ns, self.number);
    }

    /// A segment of `len` octets.
    pub(super) fn part(&mut self, at_ns: u64, seq: u32, len: u32) {
        self.record(End::Second, at_ns, Segment::ACK, seq, 100, len, &[]);
    }

    pub(super) fn ack(&mut self, at_ns: u64, ack: u32) {
        let options = self.options(((at_ns / MS) as u32 + 1, 1));
        self.record(End::First, at_ns, Segment::ACK, 100, ack, 0, &options);
    }

    fn options(&self, (value, echo): (u32, u32)) -> Vec<u8> {
        if !self.stamps {
            return Vec::new();
        }
        let mut options = vec![1, 1, 8, 10];
        options.extend(value.to_be_bytes());
        options.extend(echo.to_be_bytes());
        options
    }

    pub(super) fn model(&self) -> FlowModel {
        let log = self.connection.log();
        FlowModel::of(&self.connection, log.packets(), log.is_truncated()).expect("payload")
    }
}

/// Share of the time until the last payload was acknowledged.
pub(super) fn share(model: &FlowModel, limit: Limit) -> f64 {
    let active_ns = model.span_ns - model.time_ns(Limit::Tail);
    model.time_ns(limit) as f64 / active_ns as f64
}
