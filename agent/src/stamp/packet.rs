//! The packets of the unauthenticated mode: 44 octets and optional padding (RFC 8762 sections 4.2.1 and
//! 4.3.1).

use crate::octets::{copy, put_u32, u32_at};

/// Minimum length of a packet.
pub const LEN: usize = 44;

/// Field offsets; the first three are those of both packets.
const NUMBER: usize = 0;
const SENT: usize = 4;
const ERROR: usize = 12;
const SESSION: usize = 14;
const RECEIVED: usize = 16;
const SENDER_NUMBER: usize = 24;
const SENDER_SENT: usize = 28;
const SENDER_ERROR: usize = 36;
const SENDER_TTL: usize = 40;

/// A sender's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Sequence number from 0.
    pub number: u32,
    /// T1, the send time, in the format given by `error`.
    pub sent: u64,
    /// Error estimate of `sent`, as written.
    pub error: u16,
    /// The session's identifier (RFC 8972 section 3), or 0.
    pub session: u16,
}

/// A reflector's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflection {
    /// Sequence number: a stateful reflector's own, from 0; otherwise the sender's.
    pub number: u32,
    /// T3, the send time.
    pub sent: u64,
    /// Error estimate of `sent` and `received`, as written.
    pub error: u16,
    /// T2, the receive time of the probe.
    pub received: u64,
    /// The probe.
    pub probe: Probe,
    /// The probe's TTL or hop limit on arrival; 255 also if unknown.
    pub ttl: u8,
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn u64_at(octets: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn put(octets: &mut [u8], at: usize, value: &[u8]) {
    if let Some(field) = octets.get_mut(at..at + value.len()) {
        field.copy_from_slice(value);
    }
}

impl Probe {
    /// Parses a packet. `None` if it is too short, or is a reflection.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        if is_reflection(octets.first_chunk()?) {
            return None;
        }
        Some(Self {
            number: u32_at(octets, NUMBER)?,
            sent: u64_at(octets, SENT)?,
            error: u16_at(octets, ERROR)?,
            session: u16_at(octets, SESSION)?,
        })
    }

    /// Writes the packet; octets behind its fields are zero.
    pub fn emit(&self, octets: &mut [u8]) {
        octets.fill(0);
        put_u32(octets, NUMBER, self.number);
        put(octets, SENT, &self.sent.to_be_bytes());
        put(octets, ERROR, &self.error.to_be_bytes());
        put(octets, SESSION, &self.session.to_be_bytes());
    }
}

impl Reflection {
    /// Parses a packet that should be a reflection. `None` if it is too short. The caller checks `probe` for
    /// a match.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        if octets.len() < LEN {
            return None;
        }
        let session = u16_at(octets, SESSION)?;
        Some(Self {
            number: u32_at(octets, NUMBER)?,
            sent: u64_at(octets, SENT)?,
            error: u16_at(octets, ERROR)?,
            received: u64_at(octets, RECEIVED)?,
            probe: Probe {
                number: u32_at(octets, SENDER_NUMBER)?,
                sent: u64_at(octets, SENDER_SENT)?,
                error: u16_at(octets, SENDER_ERROR)?,
                session,
            },
            ttl: octets[SENDER_TTL],
        })
    }

    /// Writes the packet's first 44 octets and leaves the rest unchanged.
    pub fn emit(&self, octets: &mut [u8]) {
        if let Some(fields) = octets.get_mut(..LEN) {
            fields.fill(0);
        }
        put_u32(octets, NUMBER, self.number);
        put(octets, SENT, &self.sent.to_be_bytes());
        put(octets, ERROR, &self.error.to_be_bytes());
        put(octets, SESSION, &self.probe.session.to_be_bytes());
        put(octets, RECEIVED, &self.received.to_be_bytes());
        put_u32(octets, SENDER_NUMBER, self.probe.number);
        put(octets, SENDER_SENT, &self.probe.sent.to_be_bytes());
        put(octets, SENDER_ERROR, &self.probe.error.to_be_bytes());
        put(octets, SENDER_TTL, &[self.ttl]);
    }
}

/// Number and session of a probe at the start of `octets`. `None` if it is too short, or is a reflection.
pub(super) fn number_and_session(octets: &[u8]) -> Option<(u32, u16)> {
    if is_reflection(octets.first_chunk()?) {
        return None;
    }
    Some((u32_at(octets, NUMBER)?, u16_at(octets, SESSION)?))
}

/// Turns a probe into its reflection, without the send time. `number`, `error` and `received` are the reflector's.
pub(super) fn reflect(octets: &mut [u8; LEN], number: u32, error: u16, received: u64, ttl: u8) {
    let (ours, theirs) = octets.split_at_mut(SENDER_NUMBER);
    theirs.fill(0);
    copy(&mut theirs[..ERROR + 2], ours);
    theirs[SENDER_TTL - SENDER_NUMBER] = ttl;
    put_u32(octets, NUMBER, number);
    put_time(octets, SENT, 0);
    octets[ERROR] = (error >> 8) as u8;
    octets[ERROR + 1] = error as u8;
    put_time(octets, RECEIVED, received);
}

/// Writes the send time, which has the same offset in both packets.
pub(super) fn put_sent(octets: &mut [u8], sent: u64) {
    put_time(octets, SENT, sent);
}

fn put_time(octets: &mut [u8], at: usize, time: u64) {
    put_u32(octets, at, (time >> 32) as u32);
    put_u32(octets, at + 4, time as u32);
}

/// True if a packet is a reflection; no field distinguishes the two packets. From octet 16 on, a sender's is
/// zero or padding of TWAMP Light, which may be random; a reflector's has its receive time there, a valid
/// error estimate of the sender's, and zeros in between.
fn is_reflection(octets: &[u8; LEN]) -> bool {
    let must_be_zero = octets[38] | octets[39] | octets[41] | octets[42] | octets[43];
    // The second octet of an error estimate is its multiplier.
    let is_meant = octets[ERROR + 1] != 0 && octets[SENDER_ERROR + 1] != 0;
    must_be_zero == 0 && is_meant && octets[RECEIVED..SENDER_NUMBER] != [0; 8]
}

#[cfg(test)]
mod tests {
    use super::{LEN, Probe, Reflection, number_and_session, reflect};
    use proptest::prelude::*;
    use std::vec;

    const PROBE: Probe = Probe {
        number: 0x0102_0304,
        sent: 0x1112_1314_1516_1718,
        error: 0x2122,
        session: 0x3132,
    };

    /// RFC 8762 figures 2 and 4, RFC 8972 figures 1 and 2.
    #[test]
    fn fields_are_where_the_standard_has_them() {
        let mut octets = [0xff; 46];
        PROBE.emit(&mut octets);
        let head = [
            1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x31, 0x32,
        ];
        assert_eq!(octets[..16], head);
        assert_eq!(octets[16..], [0; 30]);

        let reflection = Reflection {
            number: 0x4142_4344,
            sent: 0x5152_5354_5556_5758,
            error: 0x6162,
            received: 0x7172_7374_7576_7778,
            probe: PROBE,
            ttl: 0x40,
        };
        let mut octets = [0xff; 46];
        reflection.emit(&mut octets);
        let expected = [
            0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x61, 0x62,
            0x31, 0x32, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 1, 2, 3, 4, 0x11, 0x12,
            0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0, 0, 0x40, 0, 0, 0, 0xff, 0xff,
        ];
        assert_eq!(octets, expected);
        assert_eq!(Reflection::parse(&octets), Some(reflection));
        assert_eq!(Probe::parse(&octets), None);
        assert_eq!(number_and_session(&octets), None);
    }

    proptest! {
        #[test]
        fn a_probe_becomes_the_reflection_with_its_fields(
            octets in prop::collection::vec(any::<u8>(), LEN),
            (number, error, received, ttl) in any::<(u32, u16, u64, u8)>(),
        ) {
            let Some(probe) = Probe::parse(&octets) else {
                return Ok(());
            };
            let found = number_and_session(&octets);
            prop_assert_eq!(found, Some((probe.number, probe.session)));
            let mut reflected: [u8; LEN] = octets.try_into().unwrap();
            reflect(&mut reflected, number, error, received, ttl);
            let mut expected = [0; LEN];
            let reflection = Reflection { number, sent: 0, error, received, probe, ttl };
            reflection.emit(&mut expected);
            prop_assert_eq!(reflected, expected);
        }
    }

    proptest! {
        /// Padding of TWAMP Light begins at octet 14 and may be anything.
        #[test]
        fn random_padding_is_no_answer(padding in prop::collection::vec(1..=255_u8, 30..100)) {
            let mut octets = vec![0; 14];
            octets[13] = 1;
            octets.extend(&padding);
            prop_assert!(Probe::parse(&octets).is_some());
        }

        #[test]
        fn what_is_short_is_nothing(octets in prop::collection::vec(any::<u8>(), 0..LEN)) {
            prop_assert_eq!(Probe::parse(&octets), None);
            prop_assert_eq!(Reflection::parse(&octets), None);
        }
    }
}
