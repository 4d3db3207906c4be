//! Access to the medium (IEEE 802.3 clause 4.2.3.2): gap, deferring, collisions, back-off.
//!
//! While a station waits here, on the main thread, its receive interrupt stays active. It waits for
//! the medium and for the last [`MAX_BLOCKING_WAIT`] of a back-off; for the rest of a back-off it
//! returns to the caller.

use super::phy::{BitTimes, Phy, TransmitError, TxStart};
use crate::device::LinkState;
use linerate_ether::frame::{MAX_LEN, MacAddress};
use linerate_ether::phy10::{ATTEMPT_LIMIT, BACK_OFF_LIMIT, BIT_NS, SLOT_TIME_NS};

/// Gap that the device keeps between the end of a packet and the start of its own next one (IEEE
/// 802.3 clause 4.4.2, `interPacketGap`). **Change it here.**
pub const INTER_PACKET_GAP: BitTimes = BitTimes(96);

/// Longest wait for a busy medium in one attempt: the duration of two frames of maximum length
/// (IEEE 802.3 clause 5.2.4.1, `maxDeferTime`).
pub const MAX_DEFER: BitTimes = BitTimes(2 * 8 * MAX_LEN as u32);

/// A collision later than this cannot result from two stations that begin at the same time (clause
/// 4.4.2, `slotTime`: 512 bit times).
const SLOT: BitTimes = BitTimes((SLOT_TIME_NS / BIT_NS) as u32);

/// Part of a back-off that is waited for in place, 1.6 ms; a longer one is left to the main thread
/// until no more than this remains.
///
/// A late start misses its slot, so the station must return in time. The longest interruption of
/// its main thread is the reception of a frame of maximum length, 24 slots; the rest is for the
/// work of the thread itself. Up to the fifth collision, at most 31 slots, the whole back-off is
/// waited for in place, and two stations with one frame each rarely collide more often.
const MAX_BLOCKING_WAIT: BitTimes = BitTimes(32 * SLOT.0);

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Sent as a whole.
    Sent {
        /// The first attempt waited because the medium was busy.
        deferred: bool,
        /// Number of previous attempts that collided.
        collisions: u32,
    },
    /// The medium stayed busy for longer than [`MAX_DEFER`].
    ExcessiveDeferral,
    /// A collision later than one slot time.
    LateCollision,
    /// The last of the allowed attempts collided.
    ExcessiveCollisions,
    /// The PHY was cut off by its jabber function.
    Jabber,
    /// The link is down.
    LinkDown,
}

/// Progress of sending a packet.
pub(super) enum Progress {
    /// Finished.
    Finished(Fate),
    /// It collided, and the back-off is longer than the station waits in place: call again when it
    /// is [nearly over](BackOff::is_nearly_over).
    BackingOff(BackOff),
}

/// Back-off of a packet between two of its attempts.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackOff {
    /// The end of the jam.
    from: BitTimes,
    /// Whole slots.
    wait: BitTimes,
    /// Attempts that collided.
    collisions: u32,
    /// The first attempt waited because the medium was busy.
    deferred: bool,
}

impl BackOff {
    /// Remaining time.
    fn remaining(&self, now: BitTimes) -> BitTimes {
        BitTimes(self.wait.0.saturating_sub(now.since(self.from).0))
    }

    /// True if no more remains than is waited for in place.
    pub fn is_nearly_over(&self, now: BitTimes) -> bool {
        self.remaining(now).0 <= MAX_BLOCKING_WAIT.0
    }

    fn end(&self) -> BitTimes {
        self.from.after(self.wait)
    }
}

/// Result of one attempt.
enum Attempt {
    Sent,
    Collided { bits_sent: u32 },
    ExcessiveDeferral,
    Jabber,
}

/// Medium access of a station.
pub(super) struct MediumAccess {
    /// End of the last packet, or jam, of the device.
    ended: Option<BitTimes>,
    random: Random,
}

impl MediumAccess {
    pub const fn new() -> Self {
        Self {
            ended: None,
            random: Random(0x9E37_79B9),
        }
    }

    /// Seeds the random back-off so that it differs from that of other stations.
    pub fn seed(&mut self, station: MacAddress) {
        for octet in station.0 {
            self.random.mix(u32::from(octet));
        }
    }

    /// Sends `packet` in up to 16 attempts: those that remain after `back_off`, whose end is waited
    /// for.
    #[inline]
    pub fn send<P: Phy>(
        &mut self,
        phy: &mut P,
        packet: &[u8],
        mut back_off: Option<BackOff>,
    ) -> Progress {
        loop {
            if let Some(back_off) = back_off {
                // Return as soon as the PHY can wait for the start itself. A station that starts
                // later by the latency of software loses to all others that wait for as many slots,
                // and never collides with them: with one other station that halves its chances
                // after a first collision.
                while back_off.remaining(phy.now()).0 > P::GAP_PART_2.0 {}
            }
            if phy.link_state() == LinkState::Down {
                return Progress::Finished(Fate::LinkDown);
            }
            let mut deferred = false;
            let backed_off = back_off.map(|back_off| back_off.end());
            let attempt = self.attempt(phy, packet, backed_off, &mut deferred);
            let (before, deferred) =
                back_off.map_or((0, deferred), |first| (first.collisions, first.deferred));
            let fate = match attempt {
                Attempt::Sent => Fate::Sent {
                    deferred,
                    collisions: before,
                },
                Attempt::ExcessiveDeferral => Fate::ExcessiveDeferral,
                Attempt::Jabber => Fate::Jabber,
                Attempt::Collided { bits_sent } if bits_sent > SLOT.0 => Fate::LateCollision,
                Attempt::Collided { .. } if before + 1 >= ATTEMPT_LIMIT => {
                    Fate::ExcessiveCollisions
                }
                Attempt::Collided { .. } => {
                    let next = self.back_off(phy.now(), before + 1, deferred);
                    if !next.is_nearly_over(next.from) {
                        return Progress::BackingOff(next);
                    }
                    back_off = Some(next);
                    continue;
                }
            };
            return Progress::Finished(fate);
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
                return Attempt::ExcessiveDeferral;
            };
            match phy.transmit(packet, start) {
                Ok(ended) => {
                    self.ended = Some(ended);
                    return Attempt::Sent;
                }
                Err(TransmitError::Collision { bits_sent }) => {
                    let jam_ended = phy.now().before(P::COLLISION_REPORT_DELAY);
                    self.ended = Some(jam_ended);
                    return Attempt::Collided { bits_sent };
                }
                Err(TransmitError::Jabber) => return Attempt::Jabber,
                Err(TransmitError::Busy) => {
                    *deferred = true;
                    if phy.now().since(asked).0 > MAX_DEFER.0 {
                        return Attempt::ExcessiveDeferral;
                    }
                }
            }
        }
    }

    /// Waits until the medium has been idle for the part of the gap in which the PHY respects the
    /// carrier, and returns the end of the gap; `None` if that is later than [`MAX_DEFER`] after
    /// `asked`.
    ///
    /// The station does not defer to a carrier in the last third of the gap, so that nobody is shut
    /// out by stations that start a little earlier (clause 4.2.3.2.1: after the gap a waiting frame
    /// is sent "independent of the value of carrierSense"; clause 4.2.3.2.2 divides the gap in two
    /// parts; clause 4.2.8, `Deference`, with `interPacketGapPart2`). A back-off gives no such
    /// right: a carrier that appears before its end sets `deferring`, and the station then waits
    /// for that packet and the gap after it.
    ///
    /// After its own packet a station may ignore the carrier in the first part, too
    /// (`wasTransmitting` in clause 4.2.8). This one does not: it defers to stations that begin
    /// less than a gap after it, as behind repeaters.
    #[inline]
    fn wait_for_gap<P: Phy>(
        &self,
        phy: &P,
        asked: BitTimes,
        backed_off: Option<BitTimes>,
        deferred: &mut bool,
    ) -> Option<TxStart> {
        loop {
            let taken = phy.carrier();
            // Read after the carrier: a reception that ends in between is then seen as ended.
            let now = phy.now();
            let idle = |ended: Option<BitTimes>| ended.map_or(u32::MAX, |at| now.since(at).0);
            let idle = idle(self.ended).min(idle(phy.reception_ended()));
            if taken {
                *deferred = true;
            } else if idle >= INTER_PACKET_GAP.0 - P::GAP_PART_2.0 {
                let gap = INTER_PACKET_GAP.0.saturating_sub(idle);
                // No back-off remains if the station had to wait for the medium after it.
                let left =
                    |at: BitTimes| Some(at.since(now).0).filter(|&left| left <= P::GAP_PART_2.0);
                let back_off = backed_off.and_then(left).unwrap_or(0);
                let defers = back_off > gap;
                let ahead = if defers { back_off } else { gap };
                let at = now.after(BitTimes(ahead));
                return Some(TxStart { at, defers });
            }
            if now.since(asked).0 > MAX_DEFER.0 {
                return None;
            }
        }
    }

    /// Truncated binary exponential back-off (clause 4.2.3.2.5): 0 to 2^k - 1 slots from the end of
    /// the jam, where k is the number of collisions so far, at most 10.
    fn back_off(&mut self, now: BitTimes, collisions: u32, deferred: bool) -> BackOff {
        let from = self.ended.unwrap_or(now);
        // Stations with the same seed rarely collide at the same time on their clocks.
        self.random.mix(from.0);
        let slots = self.random.bits(collisions.min(BACK_OFF_LIMIT));
        BackOff {
            from,
            wait: BitTimes(slots * SLOT.0),
            collisions,
            deferred,
        }
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
        // The high bits are more random.
        (self.0 >> 1) >> (31 - count.min(31))
    }
}
