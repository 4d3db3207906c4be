//! The transmit path: preamble, padding, FCS, and the gap before each packet.

use super::phy::{BitTimes, Phy};
use crate::bitbang::MAX_RAW_LEN;
use crate::device::{FrameTooLong, LinkState};
use crate::ledger::Ledger;
use crate::queue::Buffer;
use linerate_ether::fcs::{self, Crc32, SLICING_4};
use linerate_ether::frame::{MAX_LEN, MIN_LEN};
use linerate_ether::ledger::Counter;
use linerate_ether::preamble::PREAMBLE_AND_SFD;

const PREAMBLE_LEN: usize = PREAMBLE_AND_SFD.len();

/// The gap that the device keeps between the end of a packet and the start of its own next one
/// (IEEE 802.3 clause 4.4.2, `interPacketGap`). **This is the place to change it.**
pub const INTER_PACKET_GAP: BitTimes = BitTimes(96);

/// How long a taken medium is waited for: the time of two of the longest frames (IEEE 802.3 clause
/// 5.2.4.1, `maxDeferTime`).
pub const MAX_DEFER: BitTimes = BitTimes(2 * 8 * MAX_LEN as u32);

/// Octets of the longest frame to send, without FCS.
pub const MAX_TX_LEN: usize = MAX_LEN - fcs::LEN;

/// What waiting for the medium came to.
#[derive(PartialEq, Eq)]
enum Medium {
    /// Idle for the gap, and not taken by anyone meanwhile.
    Idle,
    /// Idle for the gap, but taken at first.
    WasTaken,
    /// Taken for too long.
    StaysTaken,
}

/// Sends frames over a PHY.
pub struct Transmitter<'l, P> {
    phy: P,
    ledger: &'l Ledger,
    /// The packet being built, preamble first.
    packet: Buffer<{ MAX_RAW_LEN / 4 }>,
    /// When the device's own last packet ended.
    ended: Option<BitTimes>,
}

impl<'l, P: Phy> Transmitter<'l, P> {
    /// A transmitter that has sent nothing yet.
    pub fn new(phy: P, ledger: &'l Ledger) -> Self {
        let mut packet = Buffer::new();
        packet.bytes_mut()[..PREAMBLE_LEN].copy_from_slice(&PREAMBLE_AND_SFD);
        Self {
            phy,
            ledger,
            packet,
            ended: None,
        }
    }

    /// Lets `f` write a frame of `len` octets without FCS, and sends it.
    ///
    /// The buffer holds whatever was there before. What happens to the frame is counted: it is sent
    /// (`TxFrames`), or discarded because the link is down or the medium stays taken.
    ///
    /// # Errors
    /// [`FrameTooLong`] beyond [`MAX_TX_LEN`]; `f` is not called.
    #[inline]
    pub fn send<T>(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> T,
    ) -> Result<T, FrameTooLong> {
        if len > MAX_TX_LEN {
            self.ledger.count(Counter::TxOversize);
            return Err(FrameTooLong {
                len,
                max: MAX_TX_LEN,
            });
        }
        let frame = &mut self.packet.bytes_mut()[PREAMBLE_LEN..];
        let result = f(&mut frame[..len]);
        let padded = len.max(MIN_LEN - fcs::LEN);
        frame[len..padded].fill(0);
        self.finish(padded);
        Ok(result)
    }

    /// Appends the FCS to the `len` octets of the frame and sends the packet.
    fn finish(&mut self, len: usize) {
        let (whole, rest) = (len / 4, len % 4);
        let mut crc = Crc32::with(&SLICING_4);
        let words = self.packet.words_mut();
        if let Some((summed, [last, ..])) = words
            .get(PREAMBLE_LEN / 4..)
            .and_then(|frame| frame.split_at_checked(whole))
        {
            crc.update_words(summed).update(&last.to_ne_bytes()[..rest]);
        }
        let end = PREAMBLE_LEN + len + fcs::LEN;
        self.packet.bytes_mut()[end - fcs::LEN..end].copy_from_slice(&crc.finish().to_le_bytes());
        self.put_on_wire(end);
    }

    /// Sends the first `len` octets of the packet once the medium has been idle for the gap.
    fn put_on_wire(&mut self, len: usize) {
        if self.phy.link_state() == LinkState::Down {
            self.ledger.count(Counter::TxLinkDown);
            return;
        }
        let Some(packet) = self.packet.bytes().get(..len) else {
            return;
        };
        let asked = self.phy.now();
        let mut deferred = false;
        loop {
            let medium = self.wait_for_gap(asked);
            deferred |= medium != Medium::Idle;
            if medium != Medium::StaysTaken && self.phy.transmit(packet).is_ok() {
                break;
            }
            deferred = true;
            if self.phy.now().since(asked).0 > MAX_DEFER.0 {
                self.ledger.count(Counter::TxExcessiveDeferrals);
                return;
            }
        }
        self.ended = Some(self.phy.now());
        let frame = &packet[PREAMBLE_LEN..];
        self.ledger.count(Counter::TxFrames);
        self.ledger.add(Counter::TxOctets, frame.len() as u32);
        self.ledger
            .count_group(frame, Counter::TxMulticast, Counter::TxBroadcast);
        if deferred {
            self.ledger.count(Counter::TxDeferred);
        }
    }

    /// Waits until the medium has been idle for the gap, [`MAX_DEFER`] after `asked` at the latest.
    fn wait_for_gap(&self, asked: BitTimes) -> Medium {
        let mut medium = Medium::Idle;
        loop {
            let taken = self.phy.carrier();
            // After the carrier: a reception that ended in between is then seen as ended.
            let now = self.phy.now();
            let kept = |ended: Option<BitTimes>| {
                ended.is_none_or(|ended| now.since(ended).0 >= INTER_PACKET_GAP.0)
            };
            if taken {
                medium = Medium::WasTaken;
            } else if kept(self.ended) && kept(self.phy.reception_ended()) {
                return medium;
            }
            if now.since(asked).0 > MAX_DEFER.0 {
                return Medium::StaysTaken;
            }
        }
    }

    /// The PHY.
    pub fn phy(&self) -> &P {
        &self.phy
    }

    /// The PHY, to be configured.
    pub fn phy_mut(&mut self) -> &mut P {
        &mut self.phy
    }
}
