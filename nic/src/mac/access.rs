//! Access to the medium (IEEE 802.3 clause 4.2.3.2): gap, deferring, collisions, back-off.
//!
//! While a station waits or backs off here, on the main thread, its receive interrupt goes on.

use super::phy::{BitTimes, Phy, Start, TransmitError};
use crate::device::LinkState;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_ether::phy10::{ATTEMPT_LIMIT, BACK_OFF_LIMIT, BIT_NS, SLOT_TIME_NS};

/// The gap that the device keeps between the end of a packet and the start of its own next one
/// (IEEE 802.3 clause 4.4.2, `interPacketGap`). **This is the place to change it.**
pub const INTER_PACKET_GAP: BitTimes = BitTimes(96);

/// How long a taken medium is waited for in one attempt: the time of two of the longest frames
/// (IEEE 802.3 clause 5.2.4.1, `maxDeferTime`).
pub const MAX_DEFER: BitTimes = BitTimes(2 * 8 * MAX_LEN as u32);

/// A collision later than this is no fault of both stations beginning at once (clause 4.4.2,
/// `slotTime`: 512 bit times).
const SLOT: BitTimes = BitTimes((SLOT_TIME_NS / BIT_NS) as u32);

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Sent as a whole.
    Sent {
        /// The first attempt waited because the medium was taken.
        deferred: bool,
        /// Attempts before that collided.
        collisions: u32,
    },
    /// The medium stayed taken for longer than [`MAX_DEFER`].
    StaysTaken,
    /// A collision later than one slot time.
    LateCollision,
    /// The last of the allowed attempts collided.
    ExcessiveCollisions,
    /// The PHY was cut off.
    Jabber,
    /// Nobody is at the other end.
    LinkDown,
}

/// What one attempt came to.
enum Attempt {
    Sent,
    Collided { bits_sent: u32 },
    StaysTaken,
    Jabber,
}

/// A station's claim on the medium.
pub(super) struct Access {
    /// When the device's own last packet, or jam, ended.
    ended: Option<BitTimes>,
    random: Random,
}

impl Access {
    pub const fn new() -> Self {
        Self {
            ended: None,
            random: Random(0x9E37_79B9),
        }
    }

    /// Makes the back-off differ from that of other stations.
    pub fn seed(&mut self, station: MacAddress) {
        for octet in station.0 {
            self.random.mix(u32::from(octet));
        }
    }

    /// Puts `packet` on the wire, in up to 16 attempts.
    #[inline]
    pub fn send<P: Phy>(&mut self, phy: &mut P, packet: &[u8]) -> Fate {
        let mut collisions = 0;
        let mut first_deferred = false;
        // When the back-off before the attempt is over.
        let mut backed_off = None;
        loop {
            if phy.link_state() == LinkState::Down {
                return Fate::LinkDown;
            }
            let mut deferred = false;
            let attempt = self.attempt(phy, packet, backed_off, &mut deferred);
            if collisions == 0 {
                first_deferred = deferred;
            }
            match attempt {
                Attempt::Sent => {
                    return Fate::Sent {
                        deferred: first_deferred,
                        collisions,
                    };
                }
                Attempt::StaysTaken => return Fate::StaysTaken,
                Attempt::Jabber => return Fate::Jabber,
                Attempt::Collided { bits_sent } if bits_sent > SLOT.0 => {
                    return Fate::LateCollision;
                }
                Attempt::Collided { .. } => collisions += 1,
            }
            if collisions >= ATTEMPT_LIMIT {
                return Fate::ExcessiveCollisions;
            }
            backed_off = Some(self.back_off(phy, collisions));
        }
    }

    /// Waits for the medium and sends.
    #[inline]
    fn attempt<P: Phy>(
        &mut self,
        phy: &mut P,
        packet: &[u8],
        backed_off: Option<BitTimes>,
        deferred: &mut bool,
    ) -> Attempt {
        let asked = phy.now();
        loop {
            let Some(start) = self.wait_for_gap(phy, asked, backed_off, deferred) else {
                return Attempt::StaysTaken;
            };
            match phy.transmit(packet, start) {
                Ok(ended) => {
                    self.ended = Some(ended);
                    return Attempt::Sent;
                }
                Err(TransmitError::Collision { bits_sent }) => {
                    let jam_ended = phy.now().before(P::SINCE_JAM);
                    self.ended = Some(jam_ended);
                    return Attempt::Collided { bits_sent };
                }
                Err(TransmitError::Jabber) => return Attempt::Jabber,
                Err(TransmitError::Busy) => {
                    *deferred = true;
                    if phy.now().since(asked).0 > MAX_DEFER.0 {
                        return Attempt::StaysTaken;
                    }
                }
            }
        }
    }

    /// Waits until the medium has been idle for as much of the gap as the PHY minds the carrier in,
    /// and returns when the gap is over; `None` when that is not before [`MAX_DEFER`] after `asked`.
    ///
    /// A carrier in the last third of the gap is not deferred to, so that nobody is shut out by those
    /// who begin a little earlier (clause 4.2.3.2.1: after the gap a waiting frame is sent
    /// "independent of the value of carrierSense"; clause 4.2.3.2.2 divides the gap in two parts;
    /// clause 4.2.8, `Deference`, with `interPacketGapPart2`). A back-off gives no such right: a carrier that appears before its end
    /// sets `deferring`, and who has backed off then waits for that packet and the gap after it.
    ///
    /// After a packet of its own a station may leave out the look at the carrier in the first part,
    /// too (`wasTransmitting` in clause 4.2.8). This one looks: it then defers to who begins less than
    /// a gap after it, as behind repeaters.
    #[inline]
    fn wait_for_gap<P: Phy>(
        &self,
        phy: &P,
        asked: BitTimes,
        backed_off: Option<BitTimes>,
        deferred: &mut bool,
    ) -> Option<Start> {
        loop {
            let taken = phy.carrier();
            // After the carrier: a reception that ended in between is then seen as ended.
            let now = phy.now();
            let idle = |ended: Option<BitTimes>| ended.map_or(u32::MAX, |at| now.since(at).0);
            let idle = idle(self.ended).min(idle(phy.reception_ended()));
            if taken {
                *deferred = true;
            } else if idle >= INTER_PACKET_GAP.0 - P::GAP_PART_2.0 {
                let gap = INTER_PACKET_GAP.0.saturating_sub(idle);
                // Nothing is left of it when the medium had to be waited for after the back-off.
                let left =
                    |at: BitTimes| Some(at.since(now).0).filter(|&left| left <= P::GAP_PART_2.0);
                let back_off = backed_off.and_then(left).unwrap_or(0);
                let defers = back_off > gap;
                let ahead = if defers { back_off } else { gap };
                let at = now.after(BitTimes(ahead));
                return Some(Start { at, defers });
            }
            if now.since(asked).0 > MAX_DEFER.0 {
                return None;
            }
        }
    }

    /// Truncated binary exponential back-off (clause 4.2.3.2.5): waits for 0 to 2^k - 1 slots from
    /// the end of the jam, k being the number of collisions so far, at most 10.
    ///
    /// Returns as early as the PHY can wait for a start by itself, and when it will be over. A station that begins the little
    /// later that software takes loses to all others that wait for as many slots, and never meets
    /// them: with one other station that halves its chances after a first collision.
    fn back_off<P: Phy>(&mut self, phy: &P, collisions: u32) -> BitTimes {
        let from = self.ended.unwrap_or_else(|| phy.now());
        // Stations with the same seed hardly collide at the same time on their clocks.
        self.random.mix(from.0);
        let wait = self.random.bits(collisions.min(BACK_OFF_LIMIT)) * SLOT.0;
        while phy.now().since(from).0 + P::GAP_PART_2.0 < wait {}
        from.after(BitTimes(wait))
    }
}

/// Marsaglia's xorshift with 32 bits of state ("Xorshift RNGs", 2003): never zero.
struct Random(u32);

impl Random {
    fn mix(&mut self, value: u32) {
        let mixed = self.0 ^ value;
        self.0 = if mixed == 0 { 1 } else { mixed };
        self.step();
    }

    fn step(&mut self) {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
    }

    /// A number below `2^count`; `count` is at most 31.
    fn bits(&mut self, count: u32) -> u32 {
        self.step();
        // The high bits are the better ones.
        (self.0 >> 1) >> (31 - count.min(31))
    }
}
