//! Management counters ("MMC registers").

use super::mac::{Block, dwmac};
use crate::mmio::Registers;

macro_rules! statistics {
    ($($(#[$doc:meta])* $field:ident: $register:ident,)*) => {
        /// Counts since the last start, of 32 bits; they wrap. Chips without a counter read 0; those of ST have only good
        /// frames sent, good unicasts received and wrong FCS.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Statistics {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Statistics {
            pub(super) fn read(registers: &Block<impl Registers>) -> Self {
                Self { $($field: registers.read(dwmac::$register),)* }
            }
        }
    };
}

statistics! {
    /// Frames sent without error.
    sent: MMCTGFCR,
    /// Their octets.
    sent_octets: TX_OCTETCOUNT_G,
    /// Pause frames sent.
    sent_pauses: TX_PAUSE_FRAME,
    /// Frames truncated because the transmit FIFO ran empty.
    underruns: TX_UNDERFLOW_ERROR,
    /// Frames received, with and without error.
    received: RX_FRAMECOUNT_GB,
    /// Octets of those without error.
    received_octets: RX_OCTETCOUNT_G,
    /// Pause frames received.
    received_pauses: RX_PAUSE_FRAMES,
    /// Frames lost to an overflow of the receive FIFO.
    overruns: RX_FIFO_OVERFLOW,
    /// Frames with a wrong FCS.
    bad_fcs: MMCRFCECR,
    /// Frames below 64 octets with a correct FCS.
    undersize: RX_UNDERSIZE_G,
    /// Frames above 1518 octets, 1522 with a tag, with a correct FCS.
    oversize: RX_OVERSIZE_G,
    /// Less than 64 octets with a wrong FCS.
    fragments: RX_RUN_ERROR,
    /// Frames above the longest with a wrong FCS.
    jabbers: RX_JABBER_ERROR,
}
