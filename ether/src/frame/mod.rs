//! Frames: views, emitters and length checks (IEEE 802.3 clause 3, 802.1Q clause 9).
//!
//! A [`Frame`] is what a MAC passes to a stack: addresses to payload, without preamble and FCS.
//! [`check_received`] converts received octets to it; [`Header::emit`], [`pad`] and [`finish`]
//! build a frame for transmission.

mod address;
mod length;
#[cfg(test)]
mod tests;
mod vlan;

use core::fmt;

pub use address::{MacAddress, ParseMacAddressError};
pub use length::{
    CheckError, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, Received, check_length, check_received, finish,
    pad,
};
pub use vlan::{TAG_LEN, Tag, insert_tag, remove_tag};

/// Octets of destination and source address.
pub const ADDRESSES_LEN: usize = 12;
/// Octets of an untagged header: addresses and type or length.
pub const HEADER_LEN: usize = 14;
/// The largest payload of an untagged frame, octets (802.3 clause 3.2.7).
pub const MAX_PAYLOAD: usize = 1500;

/// `EtherType`: the protocol of a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: Self = Self(0x0800);
    /// ARP (RFC 826).
    pub const ARP: Self = Self(0x0806);
    /// IPv6 (RFC 2464).
    pub const IPV6: Self = Self(0x86DD);
    /// Customer VLAN tag (802.1Q).
    pub const VLAN: Self = Self(0x8100);
    /// Service VLAN tag (802.1Q, formerly 802.1ad).
    pub const SERVICE_VLAN: Self = Self(0x88A8);
    /// MAC control (802.3 clause 31).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// Local experimental `EtherType` 1 (IEEE 802 clause 9.2.4).
    pub const LOCAL_EXPERIMENT: Self = Self(0x88B5);

    /// True if a VLAN tag follows.
    #[must_use]
    pub const fn is_tag(self) -> bool {
        matches!(self, Self::VLAN | Self::SERVICE_VLAN)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::IPV4 => "IPv4",
            Self::ARP => "ARP",
            Self::IPV6 => "IPv6",
            Self::VLAN => "VLAN",
            Self::SERVICE_VLAN => "S-VLAN",
            Self::MAC_CONTROL => "MAC control",
            Self(other) => return write!(f, "{other:#06x}"),
        })
    }
}

/// The length/type field (802.3 clause 3.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeOrLength {
    /// Up to 1500: octets of payload; the rest is padding.
    Length(u16),
    /// 1536 and above: the payload's protocol.
    Type(EtherType),
    /// 1501 to 1535: undefined by the standard.
    Undefined(u16),
}

impl TypeOrLength {
    /// Reads the field's value.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        match bits {
            0..=1500 => Self::Length(bits),
            1501..=1535 => Self::Undefined(bits),
            1536.. => Self::Type(EtherType(bits)),
        }
    }

    /// The field's value.
    #[must_use]
    pub const fn bits(self) -> u16 {
        match self {
            Self::Length(bits) | Self::Undefined(bits) | Self::Type(EtherType(bits)) => bits,
        }
    }
}

/// Reason why bytes are not a frame, or a buffer cannot hold one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The bytes end within the header.
    Truncated,
    /// The 802.3 length field states more payload than present.
    LengthMismatch,
    /// The buffer is too small.
    BufferTooSmall,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the frame ends within its header",
            Self::LengthMismatch => "the length field exceeds the frame's payload",
            Self::BufferTooSmall => "the buffer is too small for the frame",
        })
    }
}

impl core::error::Error for FrameError {}

/// A checked view of a frame without its FCS.
///
/// ```
/// use linerate_ether::frame::{EtherType, Frame, Header, MacAddress, TypeOrLength};
/// let header = Header {
///     destination: MacAddress::BROADCAST,
///     source: MacAddress([2, 0, 0, 0, 0, 1]),
///     tag: None,
///     type_or_length: TypeOrLength::Type(EtherType::ARP),
/// };
/// let mut buffer = [0; 64];
/// let start = header.emit(&mut buffer).unwrap();
/// buffer[start..start + 2].copy_from_slice(b"hi");
/// let frame = Frame::new_checked(&buffer[..start + 2]).unwrap();
/// assert_eq!(frame.payload(), b"hi");
/// assert_eq!(frame.header(), header);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<T> {
    bytes: T,
}

impl<T: AsRef<[u8]>> Frame<T> {
    /// Wraps bytes that hold a complete header and, if the header states a length, that much
    /// payload. All accessors then succeed.
    ///
    /// # Errors
    /// [`FrameError::Truncated`], [`FrameError::LengthMismatch`].
    pub fn new_checked(bytes: T) -> Result<Self, FrameError> {
        let frame = bytes.as_ref();
        let field = |at: usize| frame.get(at..).and_then(<[u8]>::first_chunk).copied();
        let mut at = ADDRESSES_LEN;
        let mut value = u16::from_be_bytes(field(at).ok_or(FrameError::Truncated)?);
        if EtherType(value).is_tag() {
            at += TAG_LEN;
            value = u16::from_be_bytes(field(at).ok_or(FrameError::Truncated)?);
        }
        if let TypeOrLength::Length(len) = TypeOrLength::from_bits(value)
            && frame.len() - (at + 2) < usize::from(len)
        {
            return Err(FrameError::LengthMismatch);
        }
        Ok(Self { bytes })
    }

    fn field(&self, at: usize) -> u16 {
        let bytes = self.bytes.as_ref();
        u16::from_be_bytes([bytes[at], bytes[at + 1]])
    }

    fn address(&self, at: usize) -> MacAddress {
        let mut address = MacAddress::default();
        address.0.copy_from_slice(&self.bytes.as_ref()[at..at + 6]);
        address
    }

    /// Destination address.
    #[must_use]
    pub fn destination(&self) -> MacAddress {
        self.address(0)
    }

    /// Source address.
    #[must_use]
    pub fn source(&self) -> MacAddress {
        self.address(6)
    }

    /// True if the frame has a VLAN tag.
    #[must_use]
    pub fn is_tagged(&self) -> bool {
        EtherType(self.field(ADDRESSES_LEN)).is_tag()
    }

    /// The (outermost) VLAN tag.
    #[must_use]
    pub fn tag(&self) -> Option<Tag> {
        self.is_tagged()
            .then(|| Tag::from_bits(self.field(ADDRESSES_LEN + 2)))
    }

    /// Octets before the payload: 14, or 18 with a tag.
    #[must_use]
    pub fn header_len(&self) -> usize {
        if self.is_tagged() {
            HEADER_LEN + TAG_LEN
        } else {
            HEADER_LEN
        }
    }

    /// The length/type field; in a tagged frame the one after the tag.
    #[must_use]
    pub fn type_or_length(&self) -> TypeOrLength {
        TypeOrLength::from_bits(self.field(self.header_len() - 2))
    }

    /// The payload's protocol; `None` if the frame states a length instead.
    #[must_use]
    pub fn ethertype(&self) -> Option<EtherType> {
        match self.type_or_length() {
            TypeOrLength::Type(ethertype) => Some(ethertype),
            TypeOrLength::Length(_) | TypeOrLength::Undefined(_) => None,
        }
    }

    /// All header fields.
    #[must_use]
    pub fn header(&self) -> Header {
        Header {
            destination: self.destination(),
            source: self.source(),
            tag: self.tag(),
            type_or_length: self.type_or_length(),
        }
    }

    fn payload_range(&self) -> core::ops::Range<usize> {
        let start = self.header_len();
        match self.type_or_length() {
            TypeOrLength::Length(len) => start..start + usize::from(len),
            _ => start..self.bytes.as_ref().len(),
        }
    }

    /// The payload, without padding if the frame states its length. Otherwise only the protocol
    /// above can distinguish padding from data.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes.as_ref()[self.payload_range()]
    }

    /// The whole frame.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.bytes
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Frame<T> {
    /// Sets the destination address.
    pub fn set_destination(&mut self, address: MacAddress) {
        self.bytes.as_mut()[..6].copy_from_slice(&address.0);
    }

    /// Sets the source address.
    pub fn set_source(&mut self, address: MacAddress) {
        self.bytes.as_mut()[6..ADDRESSES_LEN].copy_from_slice(&address.0);
    }

    /// Sets the tag of a tagged frame. Returns `false`, and changes nothing, if the frame has no
    /// tag.
    pub fn set_tag(&mut self, tag: Tag) -> bool {
        let tagged = self.is_tagged();
        if tagged {
            let at = ADDRESSES_LEN + 2;
            self.bytes.as_mut()[at..at + 2].copy_from_slice(&tag.bits().to_be_bytes());
        }
        tagged
    }

    /// The payload, mutable.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let range = self.payload_range();
        &mut self.bytes.as_mut()[range]
    }
}

/// The fields of a frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// The VLAN tag, sent with [`EtherType::VLAN`].
    pub tag: Option<Tag>,
    /// The payload's protocol or length.
    pub type_or_length: TypeOrLength,
}

impl Header {
    /// Length in octets: 14, or 18 with a tag.
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.tag.is_some() {
            HEADER_LEN + TAG_LEN
        } else {
            HEADER_LEN
        }
    }

    /// A header is never empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the header to the start of `buffer` and returns the offset of the payload.
    ///
    /// # Errors
    /// [`FrameError::BufferTooSmall`]; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, FrameError> {
        let header = buffer
            .get_mut(..self.len())
            .ok_or(FrameError::BufferTooSmall)?;
        let (addresses, rest) = header.split_at_mut(ADDRESSES_LEN);
        addresses[..6].copy_from_slice(&self.destination.0);
        addresses[6..].copy_from_slice(&self.source.0);
        let (tag, type_or_length) = rest.split_at_mut(rest.len() - 2);
        if let Some(value) = self.tag {
            tag[..2].copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
            tag[2..].copy_from_slice(&value.bits().to_be_bytes());
        }
        type_or_length.copy_from_slice(&self.type_or_length.bits().to_be_bytes());
        Ok(self.len())
    }
}
