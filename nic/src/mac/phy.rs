//! What the MAC needs from a PHY.

use crate::device::LinkState;

/// A time or a span in bit times: 100 ns each at 10 Mbit/s. Times wrap at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BitTimes(pub u32);

impl BitTimes {
    /// The span from `earlier` to `self`, right for spans below 2^32 bit times.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }

    /// The time when `span` will have passed since `self`.
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

/// When a packet may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// When the inter-packet gap and the back-off are over: in the past, or at most
    /// [`GAP_PART_2`](Phy::GAP_PART_2) ahead. In that case the PHY waits for it.
    pub at: BitTimes,
    /// Whether a carrier until then, but for the time that its way through the PHY to the wire takes,
    /// is deferred to ([`Busy`](TransmitError::Busy)), as everywhere outside of the last part of the
    /// gap: then it is a back-off that ends. A PHY whose link is full duplex takes no notice.
    pub defers: bool,
}

/// Why a packet was not sent, or not as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitError {
    /// The medium was taken at the last moment. Nothing was sent.
    Busy,
    /// Another station sent at the same time. The preamble was finished, the jam was sent (IEEE
    /// 802.3 clause 4.2.3.2.4), and the line is idle again.
    Collision {
        /// Bits of the packet, preamble included, that were out when the collision was noticed.
        bits_sent: u32,
    },
    /// The transmitter was cut off because it had been sending for longer than a station may (IEEE
    /// 802.3 clause 14.2.1.6), or still is.
    Jabber,
}

impl core::fmt::Display for TransmitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Busy => f.write_str("the medium is taken"),
            Self::Collision { bits_sent } => write!(f, "collision after {bits_sent} bits"),
            Self::Jabber => f.write_str("cut off for sending too long"),
        }
    }
}

impl core::error::Error for TransmitError {}

/// The sending side of a PHY, its clock, and its view of the medium.
///
/// The receiving side is not here: the PHY's interrupt calls
/// [`Interrupt::receive`](super::Interrupt::receive).
pub trait Phy {
    /// Whether [`transmit`](Self::transmit) computes the FCS and sends it behind the packet.
    const APPENDS_FCS: bool = false;

    /// The last part of the inter-packet gap, in which this PHY no longer minds a carrier
    /// (`interPacketGapPart2` of IEEE 802.3 clause 4.2.3.2.2: at least a third of the gap where
    /// it is used). Without it a station that is a little slower than another never gets its turn;
    /// with it both begin, collide and back off. Only for a PHY that notices collisions.
    const GAP_PART_2: BitTimes = BitTimes(0);

    /// From the end of the jam until [`Self::transmit`] has told of the collision.
    const SINCE_JAM: BitTimes = BitTimes(0);

    /// The time now.
    fn now(&self) -> BitTimes;

    /// Sends a whole packet, octets least significant bit first, from preamble to FCS (to the end
    /// of data and padding if the PHY [appends the FCS](Self::APPENDS_FCS)), and the end-of-packet
    /// signal. Returns, when the line is idle again, the time when the last bit had been sent.
    ///
    /// The packet does not begin before `start`.
    ///
    /// # Errors
    /// See [`TransmitError`].
    fn transmit(&mut self, packet: &[u8], start: Start) -> Result<BitTimes, TransmitError>;

    /// Whether the medium is taken by someone else (carrier sense, IEEE 802.3 clause 4.2.3.2.1).
    /// Always `false` on a full-duplex link or where the PHY cannot tell.
    #[inline(always)]
    fn carrier(&self) -> bool {
        false
    }

    /// When the last reception ended, where the PHY knows: the inter-packet gap counts from there
    /// too. `None` on a full-duplex link.
    #[inline(always)]
    fn reception_ended(&self) -> Option<BitTimes> {
        None
    }

    /// Whether the link partner is there. A PHY that cannot tell says [`Up`](LinkState::Up).
    #[inline(always)]
    fn link_state(&self) -> LinkState {
        LinkState::Up
    }
}
