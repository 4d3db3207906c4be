//! Destination addresses that a receiver accepts (IEEE 802.3 clause 4.2.4.1.1): its own, and the
//! groups in its hash filter.
//!
//! A group is looked up by six bits of the CRC that the receiver computes anyway, as Ethernet
//! controllers do: after the six octets of the address, the low six bits of the register are the
//! group's *bin*, and 64 bits select the accepted bins. Other groups may share a bin; the stack
//! rejects their frames. Broadcast is treated as a group.

use linerate_ether::fcs::{Crc32, SLICING_4};
use linerate_ether::frame::MacAddress;

/// Filter of accepted destinations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressFilter {
    /// The station's own address.
    pub station: MacAddress,
    /// One bit per accepted bin of groups.
    pub hash: u64,
    /// True if all destinations are accepted.
    pub promiscuous: bool,
}

/// An [`AddressFilter`] in the form for a receive loop that compares two octets at a time.
///
/// A destination is accepted if its three halfwords equal `own`, or if its first octet is odd (a
/// group) and its bin `b` is set in `hash[b / 32]` at `b % 32`, or always if `promiscuous` is not
/// 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FilterWords {
    /// The station's address as halfwords in memory order, little-endian. At byte 0.
    pub own: [u16; 3],
    /// Not 0: accept everything. At byte 6.
    pub promiscuous: u16,
    /// The bins. At byte 8.
    pub hash: [u32; 2],
}

impl FilterWords {
    /// The same filter without groups.
    #[inline(always)]
    #[must_use]
    pub const fn without_groups(self) -> Self {
        Self {
            hash: [0; 2],
            ..self
        }
    }
}

/// Bin of a group, 0 to 63: the low six bits of the reflected CRC-32 register (IEEE 802.3 clause
/// 3.2.9), started as all ones, after the six octets of the address and before any complement.
#[must_use]
pub fn hash_bin(group: MacAddress) -> u32 {
    !Crc32::with(&SLICING_4).update(&group.0).finish() & 63
}

impl AddressFilter {
    /// Accepts `station`, broadcast and the group of MAC control frames (IEEE 802.3 clause 31B.1).
    #[must_use]
    pub fn new(station: MacAddress) -> Self {
        let mut filter = Self {
            station,
            hash: 0,
            promiscuous: false,
        };
        filter.join(MacAddress::BROADCAST);
        filter.join(MacAddress::MAC_CONTROL);
        filter
    }

    /// Adds `group`, and with it all groups that share its bin.
    pub fn join(&mut self, group: MacAddress) {
        self.hash |= 1 << hash_bin(group);
    }

    /// True if a frame to `destination` is accepted.
    #[must_use]
    pub fn accepts(&self, destination: MacAddress) -> bool {
        self.promiscuous
            || if destination.is_multicast() {
                self.hash >> hash_bin(destination) & 1 != 0
            } else {
                destination == self.station
            }
    }

    /// The filter in the form for a receive loop.
    #[must_use]
    pub const fn words(&self) -> FilterWords {
        let octets = self.station.0;
        FilterWords {
            own: [
                u16::from_le_bytes([octets[0], octets[1]]),
                u16::from_le_bytes([octets[2], octets[3]]),
                u16::from_le_bytes([octets[4], octets[5]]),
            ],
            promiscuous: self.promiscuous as u16,
            hash: [self.hash as u32, (self.hash >> 32) as u32],
        }
    }
}
