//! The transmit path: preamble, padding, FCS, and the fate of each frame.

use super::access::{BackOff, Fate, MediumAccess, Progress};
use super::fill;
use super::phy::{BitTimes, Phy};
use crate::bitbang::MAX_RAW_LEN;
use crate::device::{FrameTooLong, LinkState};
use crate::ledger::Ledger;
use crate::queue::Buffer;
use linerate_ether::fcs::{self, Crc32, SLICING_4};
use linerate_ether::frame::{MAX_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;
use linerate_ether::pause::QUANTUM_BIT_TIMES;
use linerate_ether::preamble::PREAMBLE_AND_SFD;

const PREAMBLE_LEN: usize = PREAMBLE_AND_SFD.len();

/// Length of the longest frame to send, octets without FCS.
pub const MAX_TX_LEN: usize = MAX_LEN - fcs::LEN;

/// Sends frames over a PHY.
pub struct Transmitter<'l, P> {
    phy: P,
    ledger: &'l Ledger,
    access: MediumAccess,
    /// The packet being built, preamble first.
    packet: Buffer<{ MAX_RAW_LEN / 4 }>,
    /// Buffer for frames that are discarded while the frame in `packet` waits.
    discard: Buffer<{ MAX_RAW_LEN / 4 }>,
    /// True if the stack leaves TCP checksums to the transmitter.
    fills_tcp_checksum: bool,
    /// PAUSE requested by the partner: start and duration.
    pause: Option<(BitTimes, BitTimes)>,
    /// The frame in the buffer that waits for the end of the pause or of its back-off.
    held: Option<HeldFrame>,
}

/// A frame to be sent later.
#[derive(Clone, Copy)]
struct HeldFrame {
    /// Octets, without preamble and FCS.
    len: usize,
    back_off: Option<BackOff>,
}

impl<P> Transmitter<'_, P> {
    /// Seeds the random back-off so that it differs from that of other stations.
    pub fn seed(&mut self, station: MacAddress) {
        self.access.seed(station);
    }

    /// Enables or disables filling in TCP checksums where the stack leaves the field zero.
    pub fn fill_tcp_checksum(&mut self, fill: bool) {
        self.fills_tcp_checksum = fill;
    }
}

impl<'l, P: Phy> Transmitter<'l, P> {
    /// A transmitter in its initial state.
    pub fn new(phy: P, ledger: &'l Ledger) -> Self {
        let mut packet = Buffer::new();
        packet.bytes_mut()[..PREAMBLE_LEN].copy_from_slice(&PREAMBLE_AND_SFD);
        Self {
            phy,
            ledger,
            access: MediumAccess::new(),
            packet,
            discard: Buffer::new(),
            fills_tcp_checksum: false,
            pause: None,
            held: None,
        }
    }

    /// Calls `f` to write a frame of `len` octets without FCS, and sends it.
    ///
    /// The buffer initially holds arbitrary data. The fate of the frame is counted: it is sent
    /// (`TxFrames`), or discarded because the link is down, the medium stays busy, or it had too
    /// many collisions. While the transmitter [is not ready](Self::poll_ready) one frame is held,
    /// and those after it are dropped (`TxQueueFull`): the reply to a frame just received is the
    /// one that the peer requests again soonest.
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
        let ready = self.poll_ready();
        let refused = !ready && self.has_pending_tx();
        let buffer = if refused {
            &mut self.discard
        } else {
            &mut self.packet
        };
        let frame = &mut buffer.bytes_mut()[PREAMBLE_LEN..];
        let result = f(&mut frame[..len]);
        if refused {
            self.ledger.count(Counter::TxQueueFull);
            return Ok(result);
        }
        let padded = len.max(MIN_LEN - fcs::LEN);
        frame[len..padded].fill(0);
        if self.fills_tcp_checksum {
            let words = self.packet.words_mut();
            if let Some(frame) = words.get_mut(PREAMBLE_LEN / 4..) {
                fill::tcp_checksum(frame, len);
            }
        }
        if ready {
            self.finish(padded, None);
        } else {
            self.held = Some(HeldFrame {
                len: padded,
                back_off: None,
            });
        }
        Ok(result)
    }

    /// Pauses transmission for `quanta` of 512 bit times from now on, as requested by the partner;
    /// 0 cancels an earlier request (Annex 31B).
    pub fn pause(&mut self, quanta: u16) {
        let span = BitTimes(u32::from(quanta) * QUANTUM_BIT_TIMES);
        self.pause = Some((self.phy.now(), span));
    }

    /// Returns `true` if a frame submitted now is sent at once: no pause is in effect, and no frame
    /// backs off after a collision. Sends the held frame when its time has come, so call this in
    /// every round of the main loop while [a frame is held](Self::has_pending_tx): a back-off must
    /// be noticed 1.6 ms before its end, or the station may miss its slot. The call then waits for
    /// the slot, and otherwise does not block.
    #[inline]
    pub fn poll_ready(&mut self) -> bool {
        (self.pause.is_none() && self.held.is_none()) || self.send_held()
    }

    /// True if a pause was in effect at the last [`poll_ready`](Self::poll_ready).
    pub(super) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// True if a frame waits for the end of a pause or of a back-off. No interrupt signals that
    /// end.
    #[inline]
    pub fn has_pending_tx(&self) -> bool {
        self.held.is_some()
    }

    #[cold]
    fn send_held(&mut self) -> bool {
        let now = self.phy.now();
        if let Some((since, span)) = self.pause {
            if now.since(since).0 < span.0 {
                return false;
            }
            self.pause = None;
        }
        let Some(HeldFrame { len, back_off }) = self.held else {
            return true;
        };
        if back_off.is_some_and(|back_off| !back_off.is_nearly_over(now)) {
            return false;
        }
        self.held = None;
        self.finish(len, back_off);
        self.held.is_none()
    }

    /// Appends the FCS, unless the PHY does, to the `len` octets of the frame and sends the packet,
    /// or holds it for another attempt.
    #[inline]
    fn finish(&mut self, len: usize, back_off: Option<BackOff>) {
        // Checked before the FCS is computed: without a link it would be wasted.
        if self.phy.link_state() == LinkState::Down {
            self.ledger.count(Counter::TxLinkDown);
            return;
        }
        let mut end = PREAMBLE_LEN + len;
        if !P::APPENDS_FCS {
            let crc = self.crc(len).to_le_bytes();
            if let Some(room) = self.packet.bytes_mut().get_mut(end..end + fcs::LEN) {
                room.copy_from_slice(&crc);
            }
            end += fcs::LEN;
        }
        let Some(packet) = self.packet.bytes().get(..end) else {
            return;
        };
        match self.access.send(&mut self.phy, packet, back_off) {
            Progress::Finished(fate) => {
                let frame = self.packet.bytes().get(PREAMBLE_LEN..);
                Self::count(self.ledger, fate, frame.unwrap_or_default(), len);
            }
            Progress::BackingOff(back_off) => {
                let back_off = Some(back_off);
                self.held = Some(HeldFrame { len, back_off });
            }
        }
    }

    /// Sends `packet` unchanged, of any length, from the preamble to the end that [`Phy::transmit`]
    /// requires: for programs that test packets which no station may send. It ignores a
    /// [pause](Self::pause), but waits for a frame that backs off, and for all its own back-offs.
    /// Its fate is counted.
    pub fn send_packet(&mut self, packet: &[u8]) {
        while self.held.is_some_and(|held| held.back_off.is_some()) {
            self.poll_ready();
        }
        let frame = packet.get(PREAMBLE_LEN..).unwrap_or_default();
        let appended = if P::APPENDS_FCS { 0 } else { fcs::LEN };
        let len = frame.len().saturating_sub(appended);
        let mut back_off = None;
        let fate = loop {
            match self.access.send(&mut self.phy, packet, back_off) {
                Progress::Finished(fate) => break fate,
                Progress::BackingOff(next) => back_off = Some(next),
            }
        };
        Self::count(self.ledger, fate, frame, len);
    }

    /// The FCS of the first `len` octets of the frame.
    #[inline]
    fn crc(&mut self, len: usize) -> u32 {
        let (whole, rest) = (len / 4, len % 4);
        let mut crc = Crc32::with(&SLICING_4);
        if let Some((summed, [last, ..])) = self
            .packet
            .words_mut()
            .get(PREAMBLE_LEN / 4..)
            .and_then(|frame| frame.split_at_checked(whole))
        {
            crc.update_words(summed).update(&last.to_ne_bytes()[..rest]);
        }
        crc.finish()
    }

    /// Counts the fate of the frame of `len` octets without FCS.
    #[inline(always)]
    fn count(ledger: &Ledger, fate: Fate, frame: &[u8], len: usize) {
        let (deferred, collisions) = match fate {
            Fate::Sent {
                deferred,
                collisions,
            } => (deferred, collisions),
            Fate::ExcessiveDeferral => return ledger.count(Counter::TxExcessiveDeferrals),
            Fate::LateCollision => return ledger.count(Counter::TxLateCollisions),
            Fate::ExcessiveCollisions => return ledger.count(Counter::TxExcessiveCollisions),
            Fate::Jabber => return ledger.count(Counter::TxJabbers),
            Fate::LinkDown => return ledger.count(Counter::TxLinkDown),
        };
        ledger.count(Counter::TxFrames);
        ledger.add(Counter::TxOctets, (len + fcs::LEN) as u32);
        ledger.count_group(frame, Counter::TxMulticast, Counter::TxBroadcast);
        if deferred {
            ledger.count(Counter::TxDeferred);
        }
        match collisions {
            0 => {}
            1 => ledger.count(Counter::TxSingleCollisions),
            _ => ledger.count(Counter::TxMultipleCollisions),
        }
    }

    /// The PHY.
    pub fn phy(&self) -> &P {
        &self.phy
    }

    /// The PHY, mutable, to configure it.
    pub fn phy_mut(&mut self) -> &mut P {
        &mut self.phy
    }
}
