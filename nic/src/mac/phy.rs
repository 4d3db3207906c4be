//! Interface of a PHY to the MAC.

use crate::device::LinkState;

/// A point in time or a duration in bit times: 100 ns each at 10 Mbit/s. Times wrap at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BitTimes(pub u32);

impl BitTimes {
    /// Duration from `earlier` to `self`; valid below 2^32 bit times.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }

    /// The time `span` after `self`.
    #[inline(always)]
    #[must_use]
    pub const fn after(self, span: Self) -> Self {
        Self(self.0.wrapping_add(span.0))
    }

    /// The time `span` before `self`.
    #[inline(always)]
    #[must_use]
    pub const fn before(self, span: Self) -> Self {
        self.since(span)
    }
}

/// Earliest start of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxStart {
    /// End of the inter-packet gap and of the back-off: in the past, or at most
    /// [`GAP_PART_2`](Phy::GAP_PART_2) ahead. In the latter case the PHY waits for it.
    pub at: BitTimes,
    /// True if the PHY must defer to a carrier until then ([`Busy`](TransmitError::Busy)), except
    /// for its own latency to the wire, as everywhere outside of the last part of the gap: the wait
    /// is then a back-off. A PHY on a full-duplex link ignores it.
    pub defers: bool,
}

/// Reason why a packet was not sent, or not completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitError {
    /// The medium became busy at the last moment. Nothing was sent.
    Busy,
    /// Another station sent at the same time. The preamble was completed, the jam was sent (IEEE
    /// 802.3 clause 4.2.3.2.4), and the line is idle again.
    Collision {
        /// Bits of the packet, preamble included, sent when the collision was detected.
        bits_sent: u32,
    },
    /// The transmitter was cut off because it exceeded the longest permitted transmission (IEEE
    /// 802.3 clause 14.2.1.6), or still is.
    Jabber,
}

impl core::fmt::Display for TransmitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Busy => f.write_str("the medium is busy"),
            Self::Collision { bits_sent } => write!(f, "collision after {bits_sent} bits"),
            Self::Jabber => f.write_str("cut off for sending too long"),
        }
    }
}

impl core::error::Error for TransmitError {}

/// The sending side of a PHY, its clock, and its view of the medium.
///
/// The receiving side is separate: the interrupt of the PHY calls
/// [`InterruptHalf::receive`](super::InterruptHalf::receive).
pub trait Phy {
    /// True if [`transmit`](Self::transmit) computes the FCS and sends it after the packet.
    const APPENDS_FCS: bool = false;

    /// Last part of the inter-packet gap, in which this PHY ignores a carrier
    /// (`interPacketGapPart2` of IEEE 802.3 clause 4.2.3.2.2: at least a third of the gap where it
    /// is used). Without it a station slightly slower than another never gets its turn; with it
    /// both begin, collide and back off. Only for a PHY that detects collisions.
    const GAP_PART_2: BitTimes = BitTimes(0);

    /// Delay from the end of the jam until [`Self::transmit`] returns the collision.
    const COLLISION_REPORT_DELAY: BitTimes = BitTimes(0);

    /// Current time.
    fn now(&self) -> BitTimes;

    /// Sends a complete packet, least significant bit of each octet first, from preamble to FCS (to
    /// the end of data and padding if the PHY [appends the FCS](Self::APPENDS_FCS)), and the
    /// end-of-packet signal. Returns, when the line is idle again, the time at which the last bit
    /// had been sent.
    ///
    /// The packet does not begin before `start`.
    ///
    /// # Errors
    /// See [`TransmitError`].
    fn transmit(&mut self, packet: &[u8], start: TxStart) -> Result<BitTimes, TransmitError>;

    /// True if another station uses the medium (carrier sense, IEEE 802.3 clause 4.2.3.2.1). Always
    /// `false` on a full-duplex link or if the PHY has no carrier sense.
    #[inline(always)]
    fn carrier(&self) -> bool {
        false
    }

    /// End of the last reception, if the PHY records it: the inter-packet gap counts from there
    /// too. `None` on a full-duplex link.
    #[inline(always)]
    fn reception_ended(&self) -> Option<BitTimes> {
        None
    }

    /// State of the link. A PHY that cannot detect it returns [`Up`](LinkState::Up).
    #[inline(always)]
    fn link_state(&self) -> LinkState {
        LinkState::Up
    }
}
