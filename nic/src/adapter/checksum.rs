//! Software checksums for a device that has none, computed by whole words: stacks sum octets or
//! pairs of octets if accesses must be aligned.

use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Offload,
    RxToken, TxToken,
};
use crate::mac::checksum::{Verdict, of_bytes};
use core::ops::Range;
use linerate_ether::checksum::{Sum, TCP, UDP, pseudo_header};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, MacAddress};

/// IPv4: bits that are set in a fragment: "more fragments" and the fragment offset.
const FRAGMENT: u16 = 0x3fff;
const TCP_HEADER_LEN: usize = 20;
const UDP_HEADER_LEN: usize = 8;
/// Offsets of the checksums in the headers of IPv4, TCP and UDP.
const IPV4_SUM: Range<usize> = 10..12;
const TCP_SUM: Range<usize> = 16..18;
const UDP_SUM: Range<usize> = 6..8;

/// A device that verifies and fills in the checksums of IPv4, TCP and UDP that the inner device
/// does not.
///
/// A frame with a wrong checksum is dropped and counted as rejected by the stack;
/// [`receive`](Device::receive) then returns `None` once even if more frames wait.
pub struct SoftwareChecksums<D>(
    /// The device.
    pub D,
);

/// A complete TCP or UDP packet over IPv4.
struct Packet<'a> {
    header: &'a [u8],
    protocol: u8,
    /// Octets covered by the checksum, besides the pseudo-header.
    covered: &'a [u8],
}

#[inline]
fn half(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

/// IPv4 header and the data after it.
#[inline]
fn ipv4(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let packet = frame.get(HEADER_LEN..)?;
    let [first, ..] = packet else { return None };
    if half(frame, ADDRESSES_LEN)? != EtherType::IPV4.0 || first >> 4 != 4 {
        return None;
    }
    packet.split_at_checked(4 * usize::from(first & 0xf))
}

impl<'a> Packet<'a> {
    #[inline]
    fn parse(frame: &'a [u8]) -> Option<Self> {
        let (header, rest) = ipv4(frame)?;
        if half(header, 6)? & FRAGMENT != 0 {
            return None;
        }
        let total = usize::from(half(header, 2)?);
        let payload = rest.get(..total.checked_sub(header.len())?)?;
        let protocol = *header.get(9)?;
        let len = match protocol {
            TCP => Some(payload.len()).filter(|it| *it >= TCP_HEADER_LEN),
            UDP => half(payload, 4)
                .map(usize::from)
                .filter(|it| *it >= UDP_HEADER_LEN),
            _ => None,
        };
        Some(Self {
            header,
            protocol,
            covered: payload.get(..len?)?,
        })
    }

    #[inline]
    fn sum(&self) -> Option<Sum> {
        let addresses = self.header.get(12..20)?;
        let (from, to) = addresses.split_first_chunk()?;
        let len = self.covered.len() as u16;
        let mut sum = pseudo_header(*from, *to.first_chunk()?, self.protocol, len);
        Some(*sum.append(sum_of(self.covered)))
    }

    #[inline]
    fn is_good(&self) -> Option<bool> {
        let without = self.protocol == UDP && self.covered.get(UDP_SUM)? == [0, 0];
        Some(sum_of(self.header).is_good() && (without || self.sum()?.is_good()))
    }
}

/// Sum of octets at any alignment.
#[inline]
fn sum_of(octets: &[u8]) -> Sum {
    let (before, words, after) = bytemuck::pod_align_to::<u8, u32>(octets);
    let mut sum = Sum::new();
    *sum.add(before).add_words_unrolled(words).add(after)
}

/// True if no checksum in the frame is wrong.
#[inline]
fn is_good(frame: &[u8]) -> bool {
    let common = Packet::parse(frame).and_then(|it| it.is_good());
    common.unwrap_or_else(|| of_bytes(frame) != Verdict::Bad)
}

/// Fills in the checksums that the device does not.
#[inline]
fn fill(frame: &mut [u8], by_device: Checksums) -> Option<()> {
    if !by_device.ipv4.transmit {
        // For any protocol.
        let (header, _) = ipv4(frame)?;
        let sum = sum_of(header).checksum();
        put(frame, HEADER_LEN, IPV4_SUM, sum)?;
    }
    let packet = Packet::parse(frame)?;
    let at = HEADER_LEN + packet.header.len();
    let (field, is_left) = match packet.protocol {
        TCP => (TCP_SUM, !by_device.tcp.transmit),
        _ => (UDP_SUM, !by_device.udp.transmit),
    };
    if !is_left {
        return Some(());
    }
    let sum = match (packet.protocol, packet.sum()?.checksum()) {
        // Zero would mean "no checksum".
        (UDP, 0) => 0xffff,
        (_, sum) => sum,
    };
    put(frame, at, field, sum)
}

#[inline]
fn put(frame: &mut [u8], begin: usize, field: Range<usize>, sum: u16) -> Option<()> {
    let field = frame.get_mut(begin..)?.get_mut(field)?;
    field.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Offload reported to the stack.
const ALL: Offload = Offload {
    receive: true,
    transmit: true,
};

impl<D: Device> Device for SoftwareChecksums<D> {
    type RxToken<'a>
        = D::RxToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = ChecksumTxToken<D::TxToken<'a>>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let by_device = self.0.capabilities().checksums;
        let is_verified = by_device.ipv4.receive && by_device.tcp.receive && by_device.udp.receive;
        let (mut frame, slot) = self.0.receive()?;
        let is_right = is_verified || is_good(frame.peek());
        is_right.then_some((frame, ChecksumTxToken { slot, by_device }))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        let by_device = self.0.capabilities().checksums;
        let slot = self.0.transmit()?;
        Some(ChecksumTxToken { slot, by_device })
    }

    fn has_pending_tx(&self) -> bool {
        self.0.has_pending_tx()
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        let inner = self.0.capabilities();
        Capabilities {
            checksums: Checksums {
                ipv4: ALL,
                tcp: ALL,
                udp: ALL,
                ..inner.checksums
            },
            ..inner
        }
    }

    fn link_state(&self) -> LinkState {
        self.0.link_state()
    }

    fn mac_address(&self) -> MacAddress {
        self.0.mac_address()
    }
}

impl<D: InterruptDriven> InterruptDriven for SoftwareChecksums<D> {
    fn unmask(&mut self) -> bool {
        self.0.unmask()
    }

    fn mask(&mut self) {
        self.0.mask();
    }

    fn sleep_until_frame(&mut self, sleep: impl FnOnce()) {
        self.0.sleep_until_frame(sleep);
    }
}

impl<D: Managed> Managed for SoftwareChecksums<D> {
    type Error = D::Error;

    fn poll_link(&mut self) -> LinkState {
        self.0.poll_link()
    }

    fn halt(&mut self) {
        self.0.halt();
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        self.0.resume()
    }
}

/// Token for a frame whose checksums are filled in after it is written.
pub struct ChecksumTxToken<T> {
    slot: T,
    by_device: Checksums,
}

impl<T: TxToken> TxToken for ChecksumTxToken<T> {
    #[inline]
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let by_device = self.by_device;
        self.slot.consume(len, |frame| {
            let result = f(frame);
            let Checksums { ipv4, tcp, udp, .. } = by_device;
            if !(ipv4.transmit && tcp.transmit && udp.transmit) {
                // Other packets have none of these checksums.
                let _ = fill(frame, by_device);
            }
            result
        })
    }
}

#[cfg(test)]
mod tests;
