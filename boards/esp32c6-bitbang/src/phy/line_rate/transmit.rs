//! Transmission at line rate: the FCS is computed while the octets before it are on the wire, and the receive
//! pin is monitored all the time.
//!
//! The packet is sent from the stack's buffer. [`super::transmit_loop`] documents the work beside the
//! half-bits.
//!
//! On a twisted pair a station does not receive its own transmission, so any signal on the receive pair
//! meanwhile is another station's (IEEE 802.3 clause 14.2.1.4, collision presence): of 16 samples, one each
//! half-bit, about 8 are high, in any octet. A link pulse or noise makes one to three, the end of a
//! transmission six at most, before the ending station could be detected.
//!
//! Half duplex: that is a collision. The preamble is sent to its end, 32 bits of jam follow, and nothing else
//! (clause 4.2.3.2.4). The jam is the complement of the CRC at that point, so that no fragment ends in its
//! own FCS. Full duplex: the loop continues, and reports whether another station sent; its frame is not
//! received.

use core::arch::asm;

use linerate_ether::fcs;
use linerate_ether::ledger::Counter;
use linerate_ether::phy10::JAM_BITS;
use linerate_ether::preamble::PREAMBLE_AND_SFD;
use linerate_nic::link::{Duplex, Jabber};
use linerate_nic::mac::{BitTimes, INTER_PACKET_GAP, TransmitError, TxStart};

use super::{
    super::pins::TX,
    clock, interrupt, link, skip,
    tables::{TABLES, register_before},
};
use crate::LINERATE_LEDGER;

/// Cycles of TP_IDL, the high level that ends a packet: 300 ns, at least 250 ns are required (IEEE 802.3
/// clause 14.3.1.2.1).
pub(super) const TP_IDL_CYCLES: u32 = 48;

/// Cycles of a link pulse: 100 ns (IEEE 802.3 clause 14.3.1.2.1, figure 14-12).
const LINK_PULSE_CYCLES: u32 = 16;

pub(super) const JAM_OCTETS: usize = JAM_BITS / 8;

/// Thresholds for a sum of 16 samples of the receive pin, 255 each: above zero and in total, 6 to 10 high
/// samples are a transmission. The upper bound is for a pair that idles high.
pub(super) const ACTIVE_MIN: u32 = 5 * 255 + 1;
pub(super) const ACTIVE_SPAN: u32 = 6 * 255 - 1;

/// Upper bound of the time from the last bit's end to reading the clock after it: `TP_IDL`, and the return
/// from the loop.
const SINCE_LAST_BIT: BitTimes = BitTimes(4);

const CYCLES_PER_BIT: u32 = 16;

/// Time from the last carrier check to a start after a back-off, 16 bit times: an estimate of the delay in
/// other stations' chips from the line to the MAC and back to the line. With only the 3 of one check, this
/// station, whose slots begin a little later than others' because it detects a collision later, hardly ever
/// collides in a slot and waits for all others: on a hub with three others it gets 19% of the medium instead
/// of 23% (`scenarios/hub.toml`, run `with-3-at-100`, simulated).
const CARRIER_DELAY_CYCLES: u32 = 16 * CYCLES_PER_BIT;

/// The part of the gap in which the carrier is ignored: the last third.
pub(super) const GAP_PART_2: BitTimes = BitTimes(INTER_PACKET_GAP.0 / 3);

/// The CRC register before preamble and SFD.
const CRC_BEFORE: u32 = register_before(&PREAMBLE_AND_SFD);

/// Results of the assembly, in a0 and a1.
#[repr(C)]
struct Returned {
    /// Octets left to send when a collision was detected.
    left: u32,
    /// Number of transmissions begun by others; bit 16: there was no collision; bit 17: another station is
    /// still sending.
    others: u32,
}

unsafe extern "C" {
    /// Sends `last + 1` octets, Manchester-coded, least significant bit first, the last four of them the FCS
    /// of those before from the ninth on, then `TP_IDL`. 128 cycles an octet.
    ///
    /// They go to dedicated output 0, wherever it is routed, and other transmissions are detected if the
    /// receive pad is routed to all dedicated inputs.
    ///
    /// # Safety
    /// `begin` has `last - 3` readable octets, at least one. Nobody else uses dedicated output 0
    /// meanwhile, the cycle counter counts, and nothing may interrupt it.
    fn linerate_line_rate_transmit(
        begin: *const u8,
        last: usize,
        collisions: u32,
        table: *const [u32; 256],
        register: u32,
    ) -> Returned;
}

/// Sends a packet from preamble to the end of data and padding, and its FCS, not before `start`. Returns the
/// number of octets sent, from the preamble to FCS or jam: zero if it was rejected.
///
/// # Errors
/// As [`mac::Phy::transmit`](linerate_nic::mac::Phy::transmit).
///
/// # Safety
/// The PHY is started and interrupts are off.
#[inline(always)]
pub(super) unsafe fn packet(
    packet: &[u8],
    start: TxStart,
    jabber: &mut Jabber,
) -> (usize, Result<BitTimes, TransmitError>) {
    let half_duplex = link::duplex() == Duplex::Half;
    let now = clock::now();
    let ahead = start.at.since(now).0;
    let waits = (1..=GAP_PART_2.0).contains(&ahead);
    // In full duplex a carrier is legitimate.
    let defers = half_duplex && start.defers;
    let in_gap = waits && !defers;
    if half_duplex {
        // A transmission that began in the last moments has not been detected by the receive interrupt, or
        // has ended since the MAC asked.
        let begun = !in_gap && is_taken();
        let early = now.since(interrupt::reception_ended()).0 < INTER_PACKET_GAP.0 - GAP_PART_2.0;
        if begun || early {
            return (0, Err(TransmitError::Busy));
        }
    }
    if !jabber.poll_enabled(now) {
        return (0, Err(TransmitError::Jabber));
    }
    let octets = packet.len().min(Jabber::MAX_OCTETS - fcs::LEN) + fcs::LEN;
    if octets == fcs::LEN {
        return (0, Ok(now));
    }
    if waits {
        let from = clock::cycles();
        let ahead = ahead * CYCLES_PER_BIT;
        loop {
            let waited = clock::cycles().wrapping_sub(from);
            if waited >= ahead {
                break;
            }
            if defers && ahead - waited > CARRIER_DELAY_CYCLES && carrier() {
                return (0, Err(TransmitError::Busy));
            }
        }
    }
    // SAFETY: the octets are present; the rest is guaranteed by the caller.
    let returned = unsafe {
        linerate_line_rate_transmit(
            packet.as_ptr(),
            octets - 1,
            u32::from(half_duplex),
            &raw const TABLES.crc,
            CRC_BEFORE,
        )
    };
    let now = clock::now();
    if half_duplex {
        if returned.others & 1 << 16 == 0 {
            let sent = octets - returned.left as usize;
            let bits_sent = sent as u32 * 8;
            let with_jam = sent.max(PREAMBLE_AND_SFD.len()) + JAM_OCTETS;
            return (with_jam, Err(TransmitError::Collision { bits_sent }));
        }
    } else {
        // Counted once, for one or several: during a single transmission the loop occasionally detects
        // another beginning. A total (simulated, `http_both`) would be half more than the actual number.
        if returned.others as u16 > 0 {
            LINERATE_LEDGER.count(Counter::RxWhileSending);
        }
        if returned.others & 1 << 17 != 0 {
            // Counted already: reception must not begin in its middle and count it again.
            skip::begin(None);
        }
    }
    if jabber.on_sent(packet.len() + fcs::LEN, now) {
        return (octets, Err(TransmitError::Jabber));
    }
    (octets, Ok(now.before(SINCE_LAST_BIT)))
}

/// Cycles of the loop for this number of octets; their contents are irrelevant. The output toggles, without
/// effect as long as it is not routed to the pin.
///
/// # Safety
/// The PHY is not started, so that nobody uses dedicated output 0. The cycle counter counts, and
/// nothing interrupts it.
pub(super) unsafe fn count(octets: &[u8]) -> u32 {
    let begin = clock::cycles();
    // SAFETY: the octets are present; the rest is guaranteed by the caller.
    unsafe {
        linerate_line_rate_transmit(
            octets.as_ptr(),
            octets.len() - 1,
            0,
            &raw const TABLES.crc,
            CRC_BEFORE,
        );
    }
    clock::cycles().wrapping_sub(begin)
}

/// Sends a link pulse.
///
/// # Safety
/// Dedicated output 0 belongs to the PHY, and interrupts are off.
#[inline(always)]
pub(super) unsafe fn link_pulse() {
    // SAFETY: accesses the output only.
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            "csrsi 0x805, {tx}",
            ".rept {cycles} - 1",
            "nop",
            ".endr",
            "csrci 0x805, {tx}",
            ".option pop",
            tx = const TX,
            cycles = const LINK_PULSE_CYCLES,
            options(nomem, nostack),
        );
    }
}

/// True if another station sends: there is a signal on the line, or the end of a skipped transmission has not
/// been detected yet, from which the gap will count.
#[inline(always)]
pub(super) fn is_taken() -> bool {
    skip::is_still_active() || carrier()
}

/// True if there is a signal on the line now: samples for 125 ns; within a frame the level changes at least
/// every 100.
#[esp_hal::ram]
pub(super) fn carrier() -> bool {
    let (any, all): (u32, u32);
    // SAFETY: reads the dedicated inputs (7 times, 3 cycles each).
    unsafe {
        asm!(
            "csrr {any}, 0x804",
            "mv {all}, {any}",
            ".rept 7",
            "csrr {sample}, 0x804",
            "or {any}, {any}, {sample}",
            "and {all}, {all}, {sample}",
            ".endr",
            any = out(reg) any,
            all = out(reg) all,
            sample = out(reg) _,
            options(nomem, nostack),
        );
    }
    any != all
}
