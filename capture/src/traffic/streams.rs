//! The UDP streams of a capture, in bounded memory.

use foldhash::HashMap;

use super::hosts::Hosts;
use super::table::AddressPort;
use crate::udp::{Stream, StreamDetector};

/// Flows of datagrams analyzed at the same time. A further one replaces the unconfirmed flow that has been silent the
/// longest; if all are confirmed, it is ignored.
const MAX_OPEN: usize = 256;
/// Streams that are reported; further ones are counted.
const MAX_REPORTED: usize = 1024;

/// A stream with its ends.
#[derive(Clone, Debug)]
pub struct UdpStream {
    /// Sender.
    pub sender: AddressPort,
    /// Receiver.
    pub receiver: AddressPort,
    /// Counters of the stream.
    pub stream: Stream,
}

#[derive(Debug, Default)]
pub(super) struct StreamTable {
    open: Vec<OpenStream>,
    by_ends: HashMap<[AddressPort; 2], usize>,
    /// Index of the previous datagram's flow.
    last: usize,
    done: Vec<UdpStream>,
    /// Number of streams that are not reported.
    others: u64,
}

#[derive(Debug)]
struct OpenStream {
    ends: [AddressPort; 2],
    detector: StreamDetector,
    /// The same by the identifications of IPv4 packets.
    identified: StreamDetector,
    datagrams: u64,
    last_packet: u64,
}

/// A host's identifications belong to one flow of datagrams if no more than one in so many of its packets is another one.
const OTHERS_DIVISOR: u64 = 50;

/// A datagram's payload, and the identification of its IPv4 packet; 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    pub(super) octets: &'a [u8],
    pub(super) length: u32,
    pub(super) identification: u16,
}

impl StreamTable {
    /// Records a datagram from the first of `ends` to the other.
    #[inline]
    pub(super) fn record(
        &mut self,
        ends: [AddressPort; 2],
        payload: Payload<'_>,
        time_ns: u64,
        packet: u64,
    ) {
        let at = match self.open.get(self.last) {
            Some(open) if open.ends == ends => Some(self.last),
            _ => self
                .by_ends
                .get(&ends)
                .copied()
                .or_else(|| self.begin(ends)),
        };
        let Some(at) = at else { return };
        self.last = at;
        let open = &mut self.open[at];
        open.last_packet = packet;
        open.datagrams += 1;
        let Payload {
            octets,
            length,
            identification,
        } = payload;
        let before = open.detector.record(octets, length, time_ns, packet);
        if identification != 0 && open.detector.stream().is_none() {
            let number = identification.to_be_bytes();
            open.identified.record(&number, length, time_ns, packet);
        }
        if let Some(stream) = before {
            self.report(ends, stream);
        }
    }

    fn begin(&mut self, ends: [AddressPort; 2]) -> Option<usize> {
        let at = if self.open.len() < MAX_OPEN {
            self.open.len()
        } else {
            let unknown = self.open.iter().enumerate();
            let unknown = unknown.filter(|(_, open)| open.detector.stream().is_none());
            unknown.min_by_key(|(_, open)| open.last_packet)?.0
        };
        let open = OpenStream {
            ends,
            detector: StreamDetector::default(),
            identified: StreamDetector::of_identifications(),
            datagrams: 0,
            last_packet: 0,
        };
        if at == self.open.len() {
            self.open.push(open);
        } else {
            let before = std::mem::replace(&mut self.open[at], open);
            self.by_ends.remove(&before.ends);
        }
        self.by_ends.insert(ends, at);
        Some(at)
    }

    fn report(&mut self, [sender, receiver]: [AddressPort; 2], stream: Stream) {
        if self.done.len() == MAX_REPORTED {
            self.others += 1;
            return;
        }
        self.done.push(UdpStream {
            sender,
            receiver,
            stream,
        });
    }

    /// Flows of datagrams without numbers whose hosts number their IPv4 packets, and send hardly anything else.
    pub(super) fn identified(&self, hosts: &Hosts) -> Vec<UdpStream> {
        let is_sole = |open: &&OpenStream| {
            // All packets of a host may take the same numbers.
            let all = hosts.sent(open.ends[0].0);
            all.is_some_and(|all| all.saturating_sub(open.datagrams) * OTHERS_DIVISOR <= all)
        };
        let unnumbered = self.open.iter().filter(|it| it.detector.stream().is_none());
        let streams = unnumbered.filter(is_sole).filter_map(|open| {
            let stream = open.identified.stream()?;
            Some(UdpStream {
                sender: open.ends[0],
                receiver: open.ends[1],
                stream: stream.clone(),
            })
        });
        streams.collect()
    }

    /// All streams in the order of their first packets, and the number of further ones.
    pub(super) fn into_streams(mut self) -> (Vec<UdpStream>, u64) {
        for open in std::mem::take(&mut self.open) {
            if let Some(stream) = open.detector.stream() {
                self.report(open.ends, stream.clone());
            }
        }
        self.done.sort_by_key(|stream| stream.stream.first_packet);
        (self.done, self.others)
    }
}
