//! The reflector.

use super::head::{Head, Kind, mark};
use super::{Mac, addresses, is_station};

/// Which frames are reflected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those of [`Blast`](super::Blast) that are to be. They are marked as reflected, so that no two
    /// reflectors send a frame to and fro.
    Marked,
    /// All of another generator with this `EtherType`. They can't be marked, so that it has to be a
    /// station that does not reflect itself.
    From {
        /// The generator.
        tester: Mac,
        /// The frames' type, or their length where it is one (up to 1500).
        ethertype: u16,
    },
}

/// Makes of a received frame the one to be sent back, in its place, if it is to be: `own` is the address
/// of who reflects. Nothing that was sent to a group is reflected, nor anything from one.
#[must_use]
pub fn reflect(frame: &mut [u8], own: Mac, which: Which) -> bool {
    let Some((to, from, ethertype)) = addresses(frame) else {
        return false;
    };
    if to != own || from == own || !is_station(own) || !is_station(from) {
        return false;
    }
    match which {
        Which::Marked => {
            if !Head::parse(frame).is_some_and(|head| head.kind == Kind::Outward) {
                return false;
            }
            mark(frame, Kind::Reflected);
        }
        Which::From {
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
