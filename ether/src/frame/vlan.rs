//! The 802.1Q tag (IEEE 802.1Q clause 9).

use super::{ADDRESSES_LEN, EtherType, FrameError};

/// Octets of a tag: tag protocol identifier and tag control information.
pub const TAG_LEN: usize = 4;

/// Tag control information: priority, drop eligible indicator, VLAN identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tag(u16);

impl Tag {
    /// A tag from its fields, or `None` when `priority` is above 7 or `vlan_id` above 4095.
    #[must_use]
    pub const fn new(priority: u8, drop_eligible: bool, vlan_id: u16) -> Option<Self> {
        if priority > 7 || vlan_id > 0x0FFF {
            return None;
        }
        Some(Self(
            (priority as u16) << 13 | (drop_eligible as u16) << 12 | vlan_id,
        ))
    }

    /// A tag from its 16 bits; all values are valid.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The 16 bits as transmitted.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Priority code point, 0 to 7.
    #[must_use]
    pub const fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Drop eligible indicator.
    #[must_use]
    pub const fn drop_eligible(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// VLAN identifier, 0 to 4095. 0 means no VLAN (a priority tag), 4095 is reserved.
    #[must_use]
    pub const fn vlan_id(self) -> u16 {
        self.0 & 0x0FFF
    }
}

/// Inserts `tag` after the addresses of the frame `buffer[..len]` (without FCS) and returns its new
/// length. In a frame that already has a tag it becomes the outer one.
///
/// # Errors
/// [`FrameError::Truncated`] when the frame ends within its addresses,
/// [`FrameError::BufferTooSmall`] when fewer than four bytes of the buffer are left. The buffer is
/// unchanged then.
pub fn insert_tag(buffer: &mut [u8], len: usize, tag: Tag) -> Result<usize, FrameError> {
    if len < ADDRESSES_LEN {
        return Err(FrameError::Truncated);
    }
    let end = len.checked_add(TAG_LEN).ok_or(FrameError::BufferTooSmall)?;
    let frame = buffer.get_mut(..end).ok_or(FrameError::BufferTooSmall)?;
    frame.copy_within(ADDRESSES_LEN..len, ADDRESSES_LEN + TAG_LEN);
    let (protocol, control) = frame[ADDRESSES_LEN..ADDRESSES_LEN + TAG_LEN].split_at_mut(2);
    protocol.copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
    control.copy_from_slice(&tag.bits().to_be_bytes());
    Ok(end)
}

/// Removes and returns the tag of `frame` (without FCS); the slice's last four bytes are then
/// unused. `None` if there is no tag.
pub fn remove_tag(frame: &mut [u8]) -> Option<Tag> {
    let &[p0, p1, t0, t1] = frame.get(ADDRESSES_LEN..)?.first_chunk()?;
    if !EtherType(u16::from_be_bytes([p0, p1])).is_tag() {
        return None;
    }
    frame.copy_within(ADDRESSES_LEN + TAG_LEN.., ADDRESSES_LEN);
    Some(Tag(u16::from_be_bytes([t0, t1])))
}
