//! Hardware counters of the MAC (section 23.5, from `RMON_T_DROP` on).

use super::mac::enet;
use crate::mmio::Registers;

macro_rules! statistics {
    ($($(#[$doc:meta])* $field:ident: $register:ident,)*) => {
        /// Counts since the last start. They wrap at 2^16 or 2^32, depending on the chip.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Statistics {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Statistics {
            pub(super) fn read(registers: &impl Registers) -> Self {
                Self { $($field: registers.read(enet::$register),)* }
            }
        }
    };
}

statistics! {
    /// Frames sent without error.
    sent: IEEE_T_FRAME_OK,
    /// Their octets.
    sent_octets: IEEE_T_OCTETS_OK,
    /// Pause frames sent.
    sent_pauses: IEEE_T_FDXFC,
    /// Frames deferred because the medium was busy.
    sent_deferred: IEEE_T_DEF,
    /// Frames sent after one collision.
    sent_after_collision: IEEE_T_1COL,
    /// Frames sent after several.
    sent_after_collisions: IEEE_T_MCOL,
    /// Frames dropped after a late collision.
    late_collisions: IEEE_T_LCOL,
    /// Frames dropped after too many collisions.
    excessive_collisions: IEEE_T_EXCOL,
    /// Frames truncated because the transmit FIFO ran empty.
    underruns: IEEE_T_MACERR,
    /// Frames sent without carrier.
    without_carrier: IEEE_T_CSERR,
    /// Frames received without error.
    received: IEEE_R_FRAME_OK,
    /// Their octets.
    received_octets: IEEE_R_OCTETS_OK,
    /// Pause frames received.
    received_pauses: IEEE_R_FDXFC,
    /// Frames lost to an overrun of the receive FIFO.
    overruns: IEEE_R_MACERR,
    /// Frames with a wrong FCS.
    bad_fcs: IEEE_R_CRC,
    /// Frames that were not a whole number of octets.
    misaligned: IEEE_R_ALIGN,
    /// Frames below 64 octets with a correct FCS.
    undersize: RMON_R_UNDERSIZE,
    /// Frames above `RCR.MAX_FL` with a correct FCS.
    oversize: RMON_R_OVERSIZE,
    /// Less than 64 octets with a wrong FCS.
    fragments: RMON_R_FRAG,
    /// Frames above `RCR.MAX_FL` with a wrong FCS.
    jabbers: RMON_R_JAB,
}
