//! For comparison, a device that is none: what a frame costs without one is what stack and services take.

use core::convert::Infallible;
use linerate_agent::Instant;
use linerate_agent::iperf2::{Amount, Back, Numbered, Test};
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

/// The longest frame, without FCS, and what of it are headers.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const UDP_AT: usize = HEADER_LEN + 20;
const HEADERS: usize = UDP_AT + 8;
/// UDP's checksum.
const SUM: core::ops::Range<usize> = UDP_AT + 6..UDP_AT + 8;
/// Where the agent serves iperf 2, and where its peer seems to be.
const PORT: u16 = 5001;
const PEER_PORT: u16 = 6001;
const PEER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
const PAYLOAD: usize = LONGEST - HEADERS;
/// Datagrams of a test.
const DATAGRAMS: i32 = 4_000;
/// No limit.
const FASTEST_BITS_PER_S: u64 = 100_000_000_000;

/// A frame's memory, which it may begin anywhere in.
#[repr(C, align(4))]
struct Frame([u8; LONGEST + 2]);

/// What comes next from nowhere.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    /// The peer asks who the device is, and so tells who it is itself.
    Question,
    /// It asks for datagrams, or says with the first that more come.
    Request,
    /// The datagram with this number.
    Datagram(i32),
}

/// A device without a network: full datagrams for iperf 2 come from nowhere, and what is sent goes there.
///
/// Each start begins a test: 4,000 come. After a stop it is the other way: as many are asked for.
pub struct Null {
    ledger: &'static Ledger,
    addresses: [Ipv4Address; 2],
    checksums: Checksums,
    skew: usize,
    next: Next,
    is_reverse: bool,
    came: Frame,
    /// The checksum of a datagram without its number.
    sum: Sum,
    goes: Frame,
}

/// Its address.
const OWN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

impl Null {
    /// In the place of a device that relieves the stack of these `checksums`, and whose frames to send begin
    /// `skew` octets behind a word. `addresses`: its own and its peer's.
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

    /// Writes what comes next; its length.
    fn write(&mut self) -> Option<usize> {
        let len = match self.next {
            Next::Nothing => return None,
            Next::Question => {
                self.ask_who();
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

    /// What the peer asks for: datagrams that fill frames, as fast as it goes.
    fn test(&self) -> Test {
        Test {
            port: PEER_PORT,
            buffer_octets: PAYLOAD as u32,
            amount: Amount::Octets(DATAGRAMS.unsigned_abs() * PAYLOAD as u32),
            rate_bits_per_s: FASTEST_BITS_PER_S,
            back: Back::No,
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

    fn ask_who(&mut self) {
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

    /// A datagram with the request behind the place for its number, as iperf 2 has it in all.
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
            request.emit(&mut room[Numbered::LEN..], true);
        };
        let [from, to] = [peer, own].map(IpAddress::Ipv4);
        udp.emit(&mut datagram, &from, &to, PAYLOAD, fill, &without);
        self.sum = *Sum::new().add_u16(!datagram.checksum());
    }

    /// Gives the datagram that is there this number.
    fn number(&mut self, number: i32) {
        let frame = &mut self.came.0[2..];
        let numbered = &mut frame[HEADERS..][..Numbered::LEN];
        Numbered::emit(number.into(), Instant::from_ns(0), numbered);
        let mut sum = self.sum;
        let checksum = sum.add(numbered).checksum();
        frame[SUM].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl Device for Null {
    type RxToken<'a> = Came<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self) -> Option<(Came<'_>, Room<'_>)> {
        let len = self.write()?;
        self.ledger.count(Counter::RxFrames);
        let room = Room {
            memory: &mut self.goes.0[self.skew..],
            ledger: self.ledger,
        };
        Some((Came(&mut self.came.0[2..][..len]), room))
    }

    fn transmit(&mut self) -> Option<Room<'_>> {
        Some(Room {
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

impl InterruptDriven for Null {
    fn unmask(&mut self) -> bool {
        matches!(self.next, Next::Nothing)
    }

    fn mask(&mut self) {}
}

impl Managed for Null {
    type Error = Infallible;

    fn halt(&mut self) {
        self.next = Next::Nothing;
        self.is_reverse = !self.is_reverse;
    }

    fn resume(&mut self) -> Result<(), Infallible> {
        self.next = Next::Question;
        Ok(())
    }
}

/// What came from nowhere.
pub struct Came<'a>(&'a mut [u8]);

impl RxToken for Came<'_> {
    fn peek(&mut self) -> &mut [u8] {
        self.0
    }

    fn consume<R>(self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(self.0)
    }
}

/// Room for what goes nowhere.
pub struct Room<'a> {
    memory: &'a mut [u8],
    ledger: &'static Ledger,
}

impl TxToken for Room<'_> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let max = LONGEST;
        if len > max {
            return Err(FrameTooLong { len, max });
        }
        self.ledger.count(Counter::TxFrames);
        Ok(f(&mut self.memory[..len]))
    }
}
