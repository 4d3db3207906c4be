//! The reflector.

use super::header::{FrameKind, TestHeader, mark};
use super::{Mac, addresses, is_station};

/// Selects the frames to reflect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectFilter {
    /// Frames of [`Blast`](super::Blast) that request it. They are marked as reflected, so two reflectors
    /// never bounce a frame endlessly.
    Marked,
    /// All frames of another generator with this `EtherType`. They cannot be marked, so the generator must
    /// not reflect frames itself.
    From {
        /// The generator's address.
        tester: Mac,
        /// The frames' type, or their length if it is a length field (up to 1500).
        ethertype: u16,
    },
}

/// Turns a received frame in place into the one to send back, if `filter` selects it. `own` is the
/// reflector's address. Frames to or from a group address are never reflected.
#[must_use]
pub fn reflect(frame: &mut [u8], own: Mac, filter: ReflectFilter) -> bool {
    let Some((to, from, ethertype)) = addresses(frame) else {
        return false;
    };
    if to != own || from == own || !is_station(own) || !is_station(from) {
        return false;
    }
    match filter {
        ReflectFilter::Marked => {
            if !TestHeader::parse(frame).is_some_and(|head| head.kind == FrameKind::Outward) {
                return false;
            }
            mark(frame, FrameKind::Reflected);
        }
        ReflectFilter::From {
            tester,
            ethertype: wanted,
        } => {
            if from != tester || ethertype != wanted {
                return false;
            }
        }
    }
    frame[..6].copy_from_slice(&from);
    frame[6..12].copy_from_slice(&to);
    true
}
