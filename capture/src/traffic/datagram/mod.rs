//! Traffic other than TCP, and the integrity of all packets, in bounded memory.
//!
//! | module | contents |
//! |---|---|
//! | `names` | lookups of names: DNS, mDNS, LLMNR |
//! | `message` | messages of DNS |
//! | `lock_step` | transfers with one datagram per round trip: TFTP and alike |
//! | `requests` | UDP requests that are refused or not answered |
//! | `timeouts` | silences of dialogues that a timer ends |
//! | `backoff` | datagrams that are repeated at doubling intervals |
//! | `arp` | addresses asked for without an answer |
//! | `icmp` | ICMP messages about ports, connections and the path MTU |
//! | `rejections` | TCP segments that ICMP messages reject |
//! | `checksums` | checksums of IPv4, TCP and UDP |
//! | `repeats` | identical packets |

mod arp;
mod backoff;
mod checksums;
mod icmp;
mod lock_step;
mod message;
mod names;
mod rejections;
mod repeats;
mod requests;
mod timeouts;

use crate::reader::{Address, Datagram, Protocol};
use crate::traffic::hosts::{Hosts, is_multicast};
use crate::traffic::table::AddressPort;

pub use arp::AbsentHost;
pub use backoff::Silence;
pub use checksums::Checksums;
pub use lock_step::{BlockProtocol, Side, Transfer};
pub use names::NameLookup;
pub(super) use names::is_name_traffic;
pub use rejections::{RejectReason, Rejection};
pub use repeats::Repeats;
pub use requests::Requests;
pub use timeouts::{Timeouts, TimerWaits};

use arp::ArpTable;
use checksums::ChecksumTable;
use icmp::Message;
use lock_step::TransferTable;
use names::NameTable;
use rejections::Rejections;
use repeats::RecentPackets;
use requests::RequestTable;

/// State of the analysis.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    names: NameTable,
    transfers: TransferTable,
    requests: RequestTable,
    arp: ArpTable,
    checksums: ChecksumTable,
    recent: RecentPackets,
    rejections: Rejections,
}

/// What a capture shows of traffic other than TCP, and of the integrity of its packets.
#[derive(Clone, Debug, Default)]
pub struct OtherTraffic {
    /// Lookups of names, in the order of their first queries.
    pub names: Vec<NameLookup>,
    /// UDP flows in which blocks and their acknowledgments alternate.
    pub transfers: Vec<Transfer>,
    /// Other UDP flows in which the datagrams alternate.
    pub dialogues: Vec<Transfer>,
    /// What timers took in dialogues by UDP.
    pub timeouts: Vec<Timeouts>,
    /// UDP requests that were never answered, by client, server and port.
    pub requests: Vec<Requests>,
    /// Hosts whose datagrams get no answer any more, though repeated at doubling intervals.
    pub silences: Vec<Silence>,
    /// TCP segments that ICMP messages report as not delivered.
    pub rejections: Vec<Rejection>,
    /// Clients and servers of UDP requests that were answered.
    pub talks: Vec<[Address; 2]>,
    /// Addresses for which ARP requests remained without an answer, as far as the capture would show one.
    pub absent: Vec<AbsentHost>,
    /// Checksums that were verified, by kind and pair of hosts.
    pub checksums: Vec<Checksums>,
    /// Identical packets.
    pub repeats: Repeats,
}

/// What an IP datagram shows by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IpVerdict {
    /// The path MTU of an ICMP message that states one.
    pub(super) path_mtu: Option<u32>,
    /// True if its receiver discards it, because a checksum is wrong.
    pub(super) is_discarded: bool,
}

/// Time and number of a packet in its capture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    pub(super) time_ns: u64,
    pub(super) number: u64,
}

impl Datagrams {
    /// Records an IP datagram, of which `octets` begin with its header.
    #[inline]
    pub(super) fn record_ip(
        &mut self,
        octets: &[u8],
        datagram: &Datagram<'_>,
        at: Stamp,
    ) -> IpVerdict {
        let is_discarded = self.checksums.record(octets, datagram, at.number);
        let path_mtu = if datagram.protocol == Protocol::Tcp {
            None
        } else {
            self.record_other_ip(octets, datagram, at)
        };
        IpVerdict {
            path_mtu,
            is_discarded,
        }
    }

    /// Records a datagram other than TCP. Returns the path MTU of an ICMP message that states one.
    fn record_other_ip(
        &mut self,
        octets: &[u8],
        datagram: &Datagram<'_>,
        at: Stamp,
    ) -> Option<u32> {
        self.recent.record(octets, datagram, at);
        if datagram.protocol == Protocol::Udp || datagram.fragment {
            return None;
        }
        match icmp::parse(datagram.protocol, datagram.payload)? {
            Message::PortUnreachable { ends } => {
                self.requests.refuse(ends, at);
                None
            }
            Message::Rejected { ends, reason } => {
                self.rejections.record(ends, reason, at);
                None
            }
            Message::TooBig { mtu } => Some(mtu),
        }
    }

    /// Records a UDP datagram from the first of `ends` to the other.
    #[inline]
    pub(super) fn record_udp(
        &mut self,
        ends: [AddressPort; 2],
        octets: &[u8],
        length: u32,
        is_broadcast: bool,
        at: Stamp,
    ) {
        // A query to all hosts of a network searches for a service (RFC 5415 section 3.3), and no host must answer it.
        let is_search = ends[1].1 == names::DNS && (is_broadcast || is_multicast(ends[1].0));
        if is_name_traffic(ends) && !is_search {
            self.names.record(ends, octets, at);
        }
        if !is_broadcast && !is_multicast(ends[1].0) {
            let is_first = self.requests.record(ends, octets, length, at);
            // QUIC opens its connections with datagrams.
            if is_first && !is_name_traffic(ends) {
                self.names.opens(ends[0].0, ends[1].0, at.time_ns);
            }
            self.transfers.record(ends, octets, length, at);
        }
    }

    /// Records that `client` opens a connection to `server`.
    #[inline]
    pub(super) fn record_opening(&mut self, client: Address, server: Address, time_ns: u64) {
        self.names.opens(client, server, time_ns);
    }

    /// Records an ARP message in a frame of `length` octets.
    pub(super) fn record_arp(&mut self, octets: &[u8], length: u32, at: Stamp) {
        self.arp.record(octets, length, at);
    }

    pub(super) fn finish(self, hosts: &Hosts) -> OtherTraffic {
        let timeouts = self.transfers.timeouts();
        let (transfers, dialogues) = self.transfers.finish();
        OtherTraffic {
            talks: self.requests.talks(),
            silences: self.requests.silences(),
            names: self.names.finish(),
            transfers,
            dialogues,
            timeouts,
            requests: self.requests.finish(),
            absent: self.arp.finish(hosts),
            checksums: self.checksums.finish(),
            repeats: self.recent.finish(),
            rejections: self.rejections.finish(),
        }
    }
}

/// FNV-1a: a hash that is the same in each run.
pub(super) fn hash(octets: &[u8]) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325;
    octets.iter().fold(start, |hash: u64, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x100_0000_01B3)
    })
}
