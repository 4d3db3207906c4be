//! ARP (RFC 826) below smoltcp, for features that smoltcp lacks: probing for an address, and manual requests
//! for a hardware address.

use linerate_nic::device::{Device as _, RxToken as _, TxToken as _};
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Ipv4Address,
};

use super::Device;
use crate::config::MAC_ADDRESS;

const NOBODY: EthernetAddress = EthernetAddress([0; 6]);

/// A received ARP packet's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// True for a reply.
    pub is_reply: bool,
    /// Hardware address of the sender.
    pub sender_hardware: EthernetAddress,
    /// The sender's IPv4 address, 0.0.0.0 in a probe.
    pub sender: Ipv4Address,
    /// IPv4 address whose hardware address is requested, or that of the requester.
    pub target: Ipv4Address,
}

impl Arp {
    /// Sends a request as `sender` for the hardware address of `target`. In a probe (RFC 5227) the sender is
    /// 0.0.0.0, in an announcement sender and target are equal.
    pub fn request(device: &mut Device, sender: Ipv4Address, target: Ipv4Address) {
        let ethernet = EthernetRepr {
            src_addr: MAC_ADDRESS,
            dst_addr: EthernetAddress::BROADCAST,
            ethertype: EthernetProtocol::Arp,
        };
        let arp = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: MAC_ADDRESS,
            source_protocol_addr: sender,
            target_hardware_addr: NOBODY,
            target_protocol_addr: target,
        };
        let len = ethernet.buffer_len() + arp.buffer_len();
        if let Some(token) = device.0.transmit() {
            // Such a frame is never too long; the ledger shows its fate in the MAC.
            let _ = token.consume(len, |buffer| {
                let mut frame = EthernetFrame::new_unchecked(buffer);
                ethernet.emit(&mut frame);
                arp.emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
            });
        }
    }

    /// Takes the next received frame of any type; `None` if there is none, the inner `None` if it is not ARP.
    pub fn receive(device: &mut Device) -> Option<Option<Self>> {
        let (frame, _) = device.0.receive()?;
        Some(frame.consume(|bytes| {
            let frame = EthernetFrame::new_checked(&*bytes).ok()?;
            if frame.ethertype() != EthernetProtocol::Arp {
                return None;
            }
            let packet = ArpPacket::new_checked(frame.payload()).ok()?;
            let Ok(ArpRepr::EthernetIpv4 {
                operation,
                source_hardware_addr,
                source_protocol_addr,
                target_protocol_addr,
                ..
            }) = ArpRepr::parse(&packet)
            else {
                return None;
            };
            Some(Self {
                is_reply: operation == ArpOperation::Reply,
                sender_hardware: source_hardware_addr,
                sender: source_protocol_addr,
                target: target_protocol_addr,
            })
        }))
    }
}
