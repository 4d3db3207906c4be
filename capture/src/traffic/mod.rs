//! A whole capture: packets by kind, stations, connections, streams.
//!
//! [`Traffic`] accepts the packets of one capture or of several in sequence.
//!
//! | module | contents |
//! |---|---|
//! | `table` | TCP connections, in bounded memory |
//! | `hosts` | what each IP host sent, in bounded memory |
//! | `streams` | UDP streams, in bounded memory |
//! | `datagram` | names, transfers, requests, ARP, ICMP, checksums, in bounded memory |
//! | `copies` | packets that were captured more than once |
//! | `pauses` | duration of pauses by pause frames |
//! | `report` | connections and streams as JSON |

mod copies;
mod datagram;
mod hosts;
mod pauses;
mod report;
mod stations;
mod streams;
mod table;

use serde::Serialize;

use crate::reader::{Datagram, Frame, FramePayload, Packet, Protocol};
use crate::tcp::{AnalysisFlags, Occurrences, Segment};

use copies::{CopyTable, PacketIdentity};
pub use datagram::{
    AbsentHost, BlockProtocol, Checksums, NameLookup, OtherTraffic, RejectReason, Rejection,
    Repeats, Requests, Side, Silence, Timeouts, TimerWaits, Transfer,
};
use datagram::{Datagrams, Stamp};
use hosts::Hosts;
use pauses::Pauses;
pub use report::{
    BurstPosition, ConnectionReport, DelayRange, DirectionReport, EndRole, TimeSummary,
    TracedConnection, UdpStreamReport, traced_connections,
};
pub use stations::Station;
use stations::Stations;
use streams::StreamTable;
pub use streams::UdpStream;
use table::ConnectionTable;
pub use table::{AddressPort, Flow, OtherConnections};

/// Octets of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;

/// State of the analysis.
#[derive(Debug, Default)]
pub struct Traffic {
    counts: Counts,
    stations: Stations,
    start_ns: Option<u64>,
    end_ns: u64,
    broadcasts: Occurrences,
    last_broadcast_ns: u64,
    pauses: Pauses,
    table: ConnectionTable,
    streams: StreamTable,
    hosts: Hosts,
    datagrams: Datagrams,
    copies: CopyTable,
}

/// Packets by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets of any kind.
    pub packets: u64,
    /// Octets on the link.
    pub bytes: u64,
    /// TCP segments.
    pub tcp: u64,
    /// UDP datagrams.
    pub udp: u64,
    /// Other IP datagrams.
    pub other_ip: u64,
    /// IP fragments except the first ones; their payload is not analyzed.
    pub fragments: u64,
    /// ARP messages.
    pub arp: u64,
    /// Pause frames.
    pub pauses: u64,
    /// Duration of the pauses, as far as captured, for a link of 100 Mbit/s.
    pub paused_ns: u64,
    /// Anything else.
    pub other: u64,
    /// Broadcast frames.
    pub broadcasts: u64,
    /// Packets of unsupported link types.
    pub unknown_links: u64,
    /// ICMP messages that a packet was too large for a link.
    pub too_big: u64,
    /// The smallest MTU that they state; 0 if none does.
    pub least_path_mtu: u32,
    /// Packets dropped by the capturing system, as far as the captures report them.
    pub dropped: u64,
    /// TCP and UDP packets that are copies of another in the capture, because it was taken at several points of their
    /// path. They are not analyzed.
    pub captured_again: u64,
    /// Number of times that the clock of a capture was set back.
    pub clock_steps: u64,
}

/// Result of a whole capture.
#[derive(Debug)]
pub struct Analysis {
    /// Time of the first packet: nanoseconds since 1970.
    pub start_ns: u64,
    /// Time from there to the last packet.
    pub duration_ns: u64,
    /// Packets by kind.
    pub counts: Counts,
    /// Stations that sent Ethernet frames.
    pub stations: Vec<Station>,
    /// TCP connections in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Sum of the connections that are not in `flows`.
    pub other_connections: OtherConnections,
    /// UDP streams of iperf 2 and iperf 3, in the order of their first packets.
    pub udp_streams: Vec<UdpStream>,
    /// Number of further UDP streams.
    pub other_udp_streams: u64,
    /// Flows of datagrams without numbers, counted by the identifications of their IPv4 packets. A number that is missing may have
    /// been that of a packet to another host.
    pub identified_streams: Vec<UdpStream>,
    /// Traffic other than TCP, and the integrity of all packets.
    pub other_traffic: OtherTraffic,
    /// The broadcast packets.
    pub broadcasts: Occurrences,
    /// The pause frames.
    pub pauses: Occurrences,
}

impl Traffic {
    /// Ends the capture and returns the result.
    pub fn finish(mut self) -> Analysis {
        self.counts.paused_ns = self.pauses.total_ns(self.end_ns);
        self.counts.captured_again = self.copies.copies;
        let start_ns = self.start_ns.unwrap_or(0);
        let (flows, other_connections) = self.table.into_flows();
        let identified_streams = self.streams.identified(&self.hosts);
        let (udp_streams, other_udp_streams) = self.streams.into_streams();
        Analysis {
            start_ns,
            duration_ns: self.end_ns.saturating_sub(start_ns),
            counts: self.counts,
            stations: self.stations.report(),
            flows,
            other_connections,
            udp_streams,
            other_udp_streams,
            identified_streams,
            other_traffic: self.datagrams.finish(&self.hosts),
            broadcasts: self.broadcasts,
            pauses: self.pauses.occurrences,
        }
    }

    /// Records traces for [`traced_connections`], which take time and memory.
    pub fn with_traces() -> Self {
        let mut traffic = Self::default();
        traffic.table.traces = true;
        traffic
    }

    /// Makes [`record_packet`](Self::record_packet) return flags, which take time and memory.
    pub fn with_flags() -> Self {
        let mut traffic = Self::default();
        traffic.table.flags = true;
        traffic
    }

    /// Records a packet. Returns its analysis flags if they are [enabled](Self::with_flags).
    #[inline]
    pub fn record_packet(&mut self, packet: &Packet<'_>) -> AnalysisFlags {
        self.counts.packets += 1;
        self.counts.bytes += u64::from(packet.length);
        if self.start_ns.is_none() {
            self.start_ns = Some(packet.time_ns);
        }
        self.end_ns = self.end_ns.max(packet.time_ns);
        match Frame::parse_untagged_ip(packet) {
            Some(frame) => self.record_frame(&frame, packet),
            None => self.record_other_frame(packet),
        }
    }

    fn record_other_frame(&mut self, packet: &Packet<'_>) -> AnalysisFlags {
        self.counts.unknown_links += u64::from(!packet.link.is_known());
        self.record_frame(&Frame::parse(packet), packet)
    }

    #[inline]
    fn record_frame(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) -> AnalysisFlags {
        if let Some(source) = frame.source {
            self.stations.record(source, packet.length);
        }
        if frame.broadcast {
            self.counts.broadcasts += 1;
            let since_ns = packet.time_ns.saturating_sub(self.last_broadcast_ns);
            self.last_broadcast_ns = packet.time_ns;
            // The worst is the one soonest after another.
            self.broadcasts.record(packet.number, u64::MAX - since_ns);
        }
        match frame.payload {
            FramePayload::Ip { octets, length } => {
                let datagram =
                    Datagram::v4(octets, length).or_else(|| Datagram::parse(octets, length));
                if let Some(datagram) = datagram {
                    let is_discarded = self.record_ip(octets, &datagram, packet);
                    // Neither octets nor numbers of what arrives damaged are those that its sender sent. tshark's flags
                    // disregard that.
                    if is_discarded && datagram.protocol == Protocol::Tcp && !self.table.flags {
                        self.counts.tcp += 1;
                        return AnalysisFlags::default();
                    }
                    return self.record_datagram(octets, &datagram, frame.broadcast, packet);
                }
                self.counts.other += 1;
            }
            FramePayload::Arp { octets } => {
                self.counts.arp += 1;
                self.datagrams
                    .record_arp(octets, packet.length, stamp(packet));
            }
            FramePayload::Pause { quanta } => {
                self.counts.pauses += 1;
                self.pauses.record(quanta, packet.time_ns, packet.number);
            }
            FramePayload::Other => self.counts.other += 1,
        }
        AnalysisFlags::default()
    }

    /// Records an IP datagram. Returns true if its receiver discards it.
    #[inline]
    fn record_ip(&mut self, octets: &[u8], datagram: &Datagram<'_>, packet: &Packet<'_>) -> bool {
        let (source, destination) = (datagram.source, datagram.destination);
        self.hosts.record(source, destination, packet.time_ns);
        let verdict = self.datagrams.record_ip(octets, datagram, stamp(packet));
        if let Some(mtu) = verdict.path_mtu {
            self.counts.too_big += 1;
            let least = self.counts.least_path_mtu;
            if mtu > 0 && (least == 0 || mtu < least) {
                self.counts.least_path_mtu = mtu;
            }
        }
        verdict.is_discarded
    }

    #[inline]
    fn record_datagram(
        &mut self,
        octets: &[u8],
        datagram: &Datagram<'_>,
        is_broadcast: bool,
        packet: &Packet<'_>,
    ) -> AnalysisFlags {
        match datagram.protocol {
            _ if datagram.fragment => self.counts.fragments += 1,
            Protocol::Tcp => {
                self.counts.tcp += 1;
                if let Some(mut segment) = Segment::parse(datagram.payload, datagram.length) {
                    (segment.hop_limit, segment.identification) = copies::header_fields(octets);
                    let source = (datagram.source, segment.source);
                    let destination = (datagram.destination, segment.destination);
                    let mut ends = [source, destination];
                    // tshark's flags count each copy.
                    if !self.table.flags {
                        let identity = PacketIdentity::of_segment(octets, &segment);
                        let Some(own) = self.copies.record(ends, identity, packet.time_ns) else {
                            return AnalysisFlags::default();
                        };
                        ends = own;
                    }
                    if segment.is_initial_syn() {
                        self.datagrams
                            .record_opening(ends[0].0, ends[1].0, packet.time_ns);
                    }
                    return self
                        .table
                        .record(ends, &segment, packet.time_ns, packet.number);
                }
            }
            Protocol::Udp => {
                self.counts.udp += 1;
                self.record_udp(octets, datagram, is_broadcast, packet);
            }
            Protocol::Other(_) => self.counts.other_ip += 1,
        }
        AnalysisFlags::default()
    }

    fn record_udp(
        &mut self,
        octets: &[u8],
        datagram: &Datagram<'_>,
        is_broadcast: bool,
        packet: &Packet<'_>,
    ) {
        let Some((header, payload)) = datagram.payload.split_at_checked(UDP_HEADER) else {
            return;
        };
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let length = datagram.length.saturating_sub(UDP_HEADER as u32);
        let ends = [(datagram.source, port(0)), (datagram.destination, port(2))];
        let identity = PacketIdentity::of_datagram(octets, payload, length);
        let Some(ends) = self.copies.record(ends, identity, packet.time_ns) else {
            return;
        };
        self.datagrams
            .record_udp(ends, payload, length, is_broadcast, stamp(packet));
        // Names are asked for and answered: their datagrams are no stream.
        if datagram::is_name_traffic(ends) {
            return;
        }
        let payload = streams::Payload {
            octets: payload,
            length,
            identification: copies::header_fields(octets).1,
        };
        self.streams
            .record(ends, payload, packet.time_ns, packet.number);
    }

    /// Adds packets that the capture reports as dropped.
    pub fn add_dropped(&mut self, packets: u64) {
        self.counts.dropped += packets;
    }

    /// Adds steps back of the clock of a capture.
    pub fn add_clock_steps(&mut self, steps: u64) {
        self.counts.clock_steps += steps;
    }

    /// Packets by kind so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[inline]
fn stamp(packet: &Packet<'_>) -> Stamp {
    Stamp {
        time_ns: packet.time_ns,
        number: packet.number,
    }
}
