//! For comparison, a null device: the cost of a frame without a device is that of stack and services.

use core::convert::Infallible;
use linerate_agent::Instant;
use linerate_agent::iperf2::{Amount, DatagramHeader, ReturnTest, Test};
use linerate_ether::checksum::Sum;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MacAddress};
use linerate_ether::ledger::Counter;
use linerate_nic::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    RxToken, TxToken,
};
use linerate_nic::ledger::Ledger;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

/// Longest frame without FCS, and its header length.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const UDP_AT: usize = HEADER_LEN + 20;
const HEADERS: usize = UDP_AT + 8;
/// Position of the UDP checksum.
const SUM: core::ops::Range<usize> = UDP_AT + 6..UDP_AT + 8;
/// Port of the agent's iperf 2 server, and the apparent port of the peer.
const PORT: u16 = 5001;
const PEER_PORT: u16 = 6001;
const PEER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
const PAYLOAD: usize = LONGEST - HEADERS;
/// Datagrams of a test.
const DATAGRAMS: i32 = 4_000;
/// No limit.
const FASTEST_BITS_PER_S: u64 = 100_000_000_000;

/// A frame's memory, in which it may begin at any offset.
#[repr(C, align(4))]
struct Frame([u8; LONGEST + 2]);

/// The next simulated frame.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    /// The peer's ARP request, which also announces its own address.
    ArpRequest,
    /// A request for datagrams, or the first datagram of a test.
    Request,
    /// The datagram with this number.
    Datagram(i32),
}

/// A device without a network: simulated maximum-size iperf 2 datagrams are received, and sent frames are
/// discarded.
///
/// Each start begins a test: 4,000 datagrams are received. After a stop the direction is reversed: as many
/// are requested.
pub struct NullDevice {
    ledger: &'static Ledger,
    addresses: [Ipv4Address; 2],
    checksums: Checksums,
    skew: usize,
    next: Next,
    is_reverse: bool,
    came: Frame,
    /// Checksum of a datagram without its number.
    sum: Sum,
    goes: Frame,
}

/// The device's address.
const OWN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

impl NullDevice {
    /// Emulates a device with these checksum offloads whose transmit buffers begin `skew` octets behind a
    /// word. `addresses`: its own and its peer's.
    #[must_use]
    pub const fn new(
        addresses: [Ipv4Address; 2],
        checksums: Checksums,
        skew: usize,
        ledger: &'static Ledger,
    ) -> Self {
        const EMPTY: Frame = Frame([0; LONGEST + 2]);
        Self {
            ledger,
            addresses,
            checksums,
            skew,
            next: Next::Nothing,
            is_reverse: false,
            came: EMPTY,
            sum: Sum::new(),
            goes: EMPTY,
        }
    }

    /// Writes the next frame; returns its length.
    fn write(&mut self) -> Option<usize> {
        let len = match self.next {
            Next::Nothing => return None,
            Next::ArpRequest => {
                self.write_arp_request();
                self.next = Next::Request;
                HEADER_LEN + 28
            }
            Next::Request => {
                self.datagram();
                self.number(1);
                self.next = if self.is_reverse {
                    Next::Nothing
                } else {
                    Next::Datagram(2)
                };
                LONGEST
            }
            Next::Datagram(number) => {
                let is_last = number == DATAGRAMS;
                self.number(if is_last { -number } else { number });
                self.next = if is_last {
                    Next::Nothing
                } else {
                    Next::Datagram(number + 1)
                };
                LONGEST
            }
        };
        Some(len)
    }

    /// The peer's request: maximum-size datagrams, as fast as possible.
    fn test(&self) -> Test {
        Test {
            port: PEER_PORT,
            buffer_octets: PAYLOAD as u32,
            amount: Amount::Octets(DATAGRAMS.unsigned_abs() * PAYLOAD as u32),
            rate_bits_per_s: FASTEST_BITS_PER_S,
            return_test: ReturnTest::No,
            reverse: self.is_reverse,
            full_duplex: false,
        }
    }

    fn ethernet(&mut self, to: EthernetAddress, ethertype: EthernetProtocol) -> &mut [u8] {
        let frame = &mut self.came.0[2..];
        let header = EthernetRepr {
            src_addr: PEER,
            dst_addr: to,
            ethertype,
        };
        header.emit(&mut EthernetFrame::new_unchecked(&mut frame[..]));
        &mut frame[HEADER_LEN..]
    }

    fn write_arp_request(&mut self) {
        let [own, peer] = self.addresses;
        let question = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: PEER,
            source_protocol_addr: peer,
            target_hardware_addr: EthernetAddress([0; 6]),
            target_protocol_addr: own,
        };
        let packet = self.ethernet(EthernetAddress::BROADCAST, EthernetProtocol::Arp);
        question.emit(&mut ArpPacket::new_unchecked(packet));
    }

    /// Writes a datagram with the request behind its number, as in every iperf 2 datagram.
    fn datagram(&mut self) {
        let request = self.test();
        let [own, peer] = self.addresses;
        let without = ChecksumCapabilities::default();
        let ip = Ipv4Repr {
            src_addr: peer,
            dst_addr: own,
            next_header: IpProtocol::Udp,
            payload_len: LONGEST - UDP_AT,
            hop_limit: 64,
        };
        let packet = self.ethernet(OWN, EthernetProtocol::Ipv4);
        ip.emit(&mut Ipv4Packet::new_unchecked(&mut packet[..]), &without);
        let udp = UdpRepr {
            src_port: PEER_PORT,
            dst_port: PORT,
        };
        let mut datagram = UdpPacket::new_unchecked(&mut packet[UDP_AT - HEADER_LEN..]);
        let fill = |room: &mut [u8]| {
            room.fill(0);
            request.emit(&mut room[DatagramHeader::LEN..], true);
        };
        let [from, to] = [peer, own].map(IpAddress::Ipv4);
        udp.emit(&mut datagram, &from, &to, PAYLOAD, fill, &without);
        self.sum = *Sum::new().add_u16(!datagram.checksum());
    }

    /// Sets the datagram's number.
    fn number(&mut self, number: i32) {
        let frame = &mut self.came.0[2..];
        let numbered = &mut frame[HEADERS..][..DatagramHeader::LEN];
        DatagramHeader::emit(number.into(), Instant::from_ns(0), numbered);
        let mut sum = self.sum;
        let checksum = sum.add(numbered).checksum();
        frame[SUM].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl Device for NullDevice {
    type RxToken<'a> = NullRxFrame<'a>;
    type TxToken<'a> = NullTxSlot<'a>;

    fn receive(&mut self) -> Option<(NullRxFrame<'_>, NullTxSlot<'_>)> {
        let len = self.write()?;
        self.ledger.count(Counter::RxFrames);
        let room = NullTxSlot {
            memory: &mut self.goes.0[self.skew..],
            ledger: self.ledger,
        };
        Some((NullRxFrame(&mut self.came.0[2..][..len]), room))
    }

    fn transmit(&mut self) -> Option<NullTxSlot<'_>> {
        Some(NullTxSlot {
            memory: &mut self.goes.0[self.skew..],
            ledger: self.ledger,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: None,
            checksums: self.checksums,
        }
    }

    fn link_state(&self) -> LinkState {
        LinkState::Up
    }

    fn mac_address(&self) -> MacAddress {
        MacAddress(OWN.0)
    }
}

impl InterruptDriven for NullDevice {
    fn unmask(&mut self) -> bool {
        matches!(self.next, Next::Nothing)
    }

    fn mask(&mut self) {}
}

impl Managed for NullDevice {
    type Error = Infallible;

    fn halt(&mut self) {
        self.next = Next::Nothing;
        self.is_reverse = !self.is_reverse;
    }

    fn resume(&mut self) -> Result<(), Infallible> {
        self.next = Next::ArpRequest;
        Ok(())
    }
}

/// A simulated received frame.
pub struct NullRxFrame<'a>(&'a mut [u8]);

impl RxToken for NullRxFrame<'_> {
    fn peek(&mut self) -> &mut [u8] {
        self.0
    }

    fn consume<R>(self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(self.0)
    }
}

/// Buffer for a frame that is discarded.
pub struct NullTxSlot<'a> {
    memory: &'a mut [u8],
    ledger: &'static Ledger,
}

impl TxToken for NullTxSlot<'_> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let max = LONGEST;
        if len > max {
            return Err(FrameTooLong { len, max });
        }
        self.ledger.count(Counter::TxFrames);
        Ok(f(&mut self.memory[..len]))
    }
}
