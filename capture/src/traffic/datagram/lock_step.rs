//! Transfers with one datagram per round trip: each is answered before the next, as in TFTP (RFC 1350 section 2) and
//! in block-wise transfers of `CoAP` (RFC 7959).

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::timeouts::{Timeouts, Timers};
use super::{Stamp, hash, is_name_traffic};
use crate::tcp::Histogram;
use crate::traffic::table::AddressPort;

/// Flows that are tracked at the same time. A further one replaces the one without a transfer that has been silent the
/// longest; if all have one, it is ignored.
const MAX_ENTRIES: usize = 64;
/// Fewer blocks are no transfer.
const MIN_BLOCKS: u64 = 20;
/// Octets in a block of a transfer: smaller datagrams are requests, answers, voice.
const MIN_BLOCK: u32 = 400;
/// Octets of a datagram that identify it, with its length.
const COMPARED: usize = 64;
/// Ports of `CoAP` without and with DTLS.
const COAP_PORTS: [u16; 2] = [5683, 5684];

/// A protocol of numbered blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockProtocol {
    /// TFTP.
    Tftp,
    /// `CoAP`.
    Coap,
}

/// A UDP flow in which the datagrams of the two ends alternate.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Ends, the one that sends the blocks first.
    pub ends: [AddressPort; 2],
    /// What the two ends send.
    pub sides: [Side; 2],
    /// Datagrams.
    pub datagrams: u64,
    /// Of them, those after one of the other end.
    pub turns: u64,
    /// Time of the first datagram.
    pub start_ns: u64,
    /// Time of the last datagram.
    pub end_ns: u64,
    /// Packet of the first datagram.
    pub first_packet: u64,
    /// Packet of the last datagram.
    pub last_packet: u64,
    last_side: usize,
    timers: Timers,
}

/// Datagrams of one end.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Datagrams.
    pub datagrams: u64,
    /// Octets of payload.
    pub payload_bytes: u64,
    /// Octets of payload in the largest.
    pub largest_bytes: u32,
    /// Datagrams of that size.
    pub of_largest: u64,
    /// Time from a datagram of the other end to the next of this one.
    pub delays: Histogram,
    /// Octets of payload in the last datagram.
    pub last_bytes: u32,
    /// The last of `delays`.
    pub last_delay_ns: u64,
    /// TFTP's data, and acknowledgments.
    tftp: [u64; 2],
}

impl Transfer {
    fn new(ends: [AddressPort; 2], at: Stamp) -> Self {
        Self {
            ends,
            sides: Default::default(),
            datagrams: 0,
            turns: 0,
            start_ns: at.time_ns,
            end_ns: at.time_ns,
            first_packet: at.number,
            last_packet: at.number,
            last_side: 2,
            timers: Timers::default(),
        }
    }

    fn record(&mut self, side: usize, octets: &[u8], length: u32, at: Stamp) {
        let own = &mut self.sides[side];
        own.datagrams += 1;
        own.payload_bytes += u64::from(length);
        if length > own.largest_bytes {
            own.largest_bytes = length;
            own.of_largest = 0;
        }
        own.of_largest += u64::from(length == own.largest_bytes);
        own.last_bytes = length;
        match octets.get(..2) {
            Some([0, 3]) => own.tftp[0] += 1,
            Some([0, 4]) if length == 4 => own.tftp[1] += 1,
            _ => {}
        }
        if self.datagrams > 0 && side != self.last_side {
            self.turns += 1;
            own.last_delay_ns = at.time_ns.saturating_sub(self.end_ns);
            own.delays.add(own.last_delay_ns);
        }
        let compared = &octets[..octets.len().min(COMPARED)];
        let hash = (hash(compared) ^ u64::from(length)) as u32;
        self.timers.record(side, length, hash, at);
        self.datagrams += 1;
        self.last_side = side;
        self.end_ns = self.end_ns.max(at.time_ns);
        self.last_packet = at.number;
    }

    /// Side that sends the larger datagrams.
    fn data_side(&self) -> usize {
        usize::from(self.sides[1].largest_bytes > self.sides[0].largest_bytes)
    }

    /// True if blocks of equal size alternate with answers, but for one in twenty.
    fn is_lock_step(&self) -> bool {
        let data = &self.sides[self.data_side()];
        data.datagrams >= MIN_BLOCKS
            && data.largest_bytes >= MIN_BLOCK
            && data.of_largest >= data.datagrams / 10 * 9
            && self.alternates()
    }

    /// True if each datagram follows one of the other end, but for one in twenty.
    fn alternates(&self) -> bool {
        self.datagrams >= 2 * MIN_BLOCKS && self.turns >= (self.datagrams - 1) / 20 * 19
    }

    /// The protocol, if it is a known one.
    pub fn protocol(&self) -> Option<BlockProtocol> {
        let [data, answers] = &self.sides;
        let most = |part: u64, whole: u64| part >= whole / 10 * 9;
        if most(data.tftp[0], data.datagrams) && most(answers.tftp[1], answers.datagrams) {
            Some(BlockProtocol::Tftp)
        } else {
            let is_coap = self.ends.iter().any(|(_, port)| COAP_PORTS.contains(port));
            is_coap.then_some(BlockProtocol::Coap)
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct TransferTable {
    flows: Vec<Transfer>,
    /// Indexes by ends in sorted order.
    by_ends: HashMap<[AddressPort; 2], usize, RandomState>,
    last: usize,
}

impl TransferTable {
    /// Records a datagram from the first of `ends` to the other.
    #[inline]
    pub(super) fn record(&mut self, ends: [AddressPort; 2], octets: &[u8], length: u32, at: Stamp) {
        let reversed = [ends[1], ends[0]];
        let is_last = |flow: &Transfer| flow.ends == ends || flow.ends == reversed;
        let index = if self.flows.get(self.last).is_some_and(is_last) {
            self.last
        } else {
            let key = if ends[0] <= ends[1] { ends } else { reversed };
            let known = self.by_ends.get(&key).copied();
            let Some(index) = known.or_else(|| self.begin(key, ends, at)) else {
                return;
            };
            self.last = index;
            index
        };
        let flow = &mut self.flows[index];
        let side = usize::from(flow.ends != ends);
        flow.record(side, octets, length, at);
    }

    fn begin(&mut self, key: [AddressPort; 2], ends: [AddressPort; 2], at: Stamp) -> Option<usize> {
        let flow = Transfer::new(ends, at);
        let index = if self.flows.len() < MAX_ENTRIES {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let flows = self.flows.iter().enumerate();
            let others = flows.filter(|(_, it)| !it.is_lock_step());
            let index = others.min_by_key(|(_, it)| it.last_packet)?.0;
            self.flows[index] = flow;
            self.by_ends.retain(|_, at| *at != index);
            index
        };
        self.by_ends.insert(key, index);
        Some(index)
    }

    /// What timers took.
    pub(super) fn timeouts(&self) -> Vec<Timeouts> {
        // The rule about names has their repetitions.
        let flows = self.flows.iter().filter(|it| !is_name_traffic(it.ends));
        let found = flows.filter_map(|it| {
            let duration_ns = it.end_ns.saturating_sub(it.start_ns);
            it.timers.timeouts(it.ends, duration_ns)
        });
        found.collect()
    }

    /// The transfers, the end that sends the blocks first, and other dialogues, the end that began first.
    pub(super) fn finish(self) -> (Vec<Transfer>, Vec<Transfer>) {
        let (mut transfers, mut dialogues): (Vec<_>, Vec<_>) =
            self.flows.into_iter().partition(Transfer::is_lock_step);
        dialogues.retain(Transfer::alternates);
        for flow in &mut transfers {
            if flow.data_side() == 1 {
                flow.ends.reverse();
                flow.sides.reverse();
            }
        }
        (transfers, dialogues)
    }
}
