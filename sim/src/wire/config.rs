//! Configuration of a cable, a link partner and a hub, as in a scenario.
//!
//! Everything here is read from TOML and defaults to "no impairment". [`Config::check`] reports values
//! out of range; the wire itself accepts any value and clamps it.

use linerate_ether::phy10::link::{LinkCodeWord, PULSE_INTERVAL_NOMINAL_NS};
use linerate_ether::phy10::{HALF_BIT_NS, INTER_PACKET_GAP_NS};
use serde::{Deserialize, Serialize};

use crate::time::{Instant, Span};

/// Duplex mode of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// One station at a time: carrier sense and collisions.
    Half,
    /// Both stations simultaneously.
    Full,
    /// Result of the partner's auto-negotiation; half if it does not negotiate.
    Auto,
}

/// Properties of the link and of the peer's transmitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Duplex mode.
    pub duplex: Duplex,
    /// Propagation delay, about 5 ns per metre.
    pub delay: Span,
    /// Idle line between two frames of the peer.
    pub inter_packet_gap: Span,
    /// Interval of the peer's link pulses while it sends nothing else; `None` for a peer that sends
    /// none.
    pub link_pulse_interval: Option<Span>,
    /// Impairments of the cable and the signal on it.
    pub impairments: Impairments,
    /// The peer's link pulses and auto-negotiation.
    pub partner: Partner,
    /// A hub with further stations between device and peer.
    pub hub: Hub,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Config {
    /// Half duplex over 10 m, a perfect clock, the standard's gap and link pulses.
    fn default() -> Self {
        Self {
            duplex: Duplex::Half,
            delay: Span::from_ns(50),
            inter_packet_gap: Span::from_ns(INTER_PACKET_GAP_NS),
            link_pulse_interval: Some(Span::from_ns(PULSE_INTERVAL_NOMINAL_NS)),
            impairments: Impairments::default(),
            partner: Partner::default(),
            hub: Hub::default(),
            seed: 0,
        }
    }
}

impl Config {
    /// Checks that every field is within its limits.
    ///
    /// # Errors
    /// [`OutOfRange`] names the first field that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.impairments.check()?;
        self.hub.check()
    }
}

/// Impairments of the signal towards the device, and of the cable. The default is none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Impairments {
    /// Offset of the peer's clock from the device's, parts per million; positive is faster. At most
    /// 100 to either side by the standard (clause 7.3.2).
    pub clock_ppm: f64,
    /// Rate of change of that offset, parts per million per second: it moves up and down between
    /// plus and minus [`Impairments::drift_bound_ppm`], and is constant within a transmission.
    pub drift_ppm_per_s: f64,
    /// Maximum displacement of an edge, ns to either side; independent for each edge and uniformly
    /// distributed. A receiver must tolerate 13.5 (clause 14.3.1.3.1). Also gives each transmission
    /// a random initial phase.
    pub jitter_ns: f64,
    /// Excess length of positive half-bits over negative ones, ns: rising edges are early and
    /// falling edges late by half of it. The standard has no separate limit for 10BASE-T: the
    /// line's distortion is part of the 13.5 ns of clause 14.3.1.3.1. A value of 13.5, which is 6.75
    /// per edge, and 6.75 of jitter together reach that limit.
    pub duty_cycle_distortion_ns: f64,
    /// Noise pulses on the line.
    pub noise: Noise,
    /// Bits of each frame's preamble that never arrive, 0 to 64. The standard permits a receiver to
    /// lose 5 (clause 14.2.1.2, receive function).
    pub lost_preamble_bits: u8,
    /// Random bits between each frame's last octet and its end, 0 to 7 (clause 4.2.4.2.1).
    pub dribble_bits: u8,
    /// The receive pair's wires are swapped. The device's comparator outputs low for a negative line
    /// as for an idle one: link pulses disappear, and a frame becomes its complement without
    /// `TP_IDL`.
    pub swapped_polarity: bool,
    /// Bit error rate, 0 to 1: share of the bits that are inverted.
    pub bit_error_rate: f64,
    /// The cable is unplugged and plugged in again.
    pub flap: Flap,
}

impl Impairments {
    /// Maximum offset of the clock while it drifts, ppm.
    #[must_use]
    pub fn drift_bound_ppm(&self) -> f64 {
        self.clock_ppm.abs().max(100.0)
    }

    /// Checks that every field is within its limits.
    ///
    /// # Errors
    /// [`OutOfRange`] names the first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        // Edges are at least a half-bit apart and must keep their order.
        let room = HALF_BIT_NS as f64 - self.duty_cycle_distortion_ns.abs();
        check_range("clock_ppm", self.clock_ppm, -10_000.0, 10_000.0)?;
        check_range("drift_ppm_per_s", self.drift_ppm_per_s, -1000.0, 1000.0)?;
        let distortion = self.duty_cycle_distortion_ns;
        check_range("duty_cycle_distortion_ns", distortion, -40.0, 40.0)?;
        check_range("jitter_ns", self.jitter_ns, 0.0, room / 2.0 - 0.5)?;
        check_range("noise.pulses_per_s", self.noise.pulses_per_s, 0.0, 1e6)?;
        check_range("noise.width_ns", self.noise.width_ns, 0.0, 500.0)?;
        check_range(
            "lost_preamble_bits",
            self.lost_preamble_bits.into(),
            0.0,
            64.0,
        )?;
        check_range("dribble_bits", self.dribble_bits.into(), 0.0, 7.0)?;
        check_range("bit_error_rate", self.bit_error_rate, 0.0, 1.0)?;
        let down = self.flap.down_ms as f64;
        check_range("flap.down_ms", down, 0.0, self.flap.every_ms as f64)
    }
}

/// Noise: pulses at random times, one in each interval of `1 / pulses_per_s`. Each inverts the
/// line's level, idle or not, for its width.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Pulses per second; 0 for none.
    pub pulses_per_s: f64,
    /// Width of a pulse, ns.
    pub width_ns: f64,
}

/// The cable is unplugged for `down_ms` at every multiple of `every_ms`, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flap {
    /// Interval, ms; 0 for never.
    pub every_ms: u64,
    /// Duration of each interruption, ms.
    pub down_ms: u64,
}

impl Flap {
    /// True if the cable is ever unplugged.
    #[must_use]
    pub const fn is_enabled(self) -> bool {
        self.every_ms > 0 && self.down_ms > 0
    }

    /// True if the cable is unplugged at `at`.
    #[must_use]
    pub const fn is_down(self, at: Instant) -> bool {
        if !self.is_enabled() {
            return false;
        }
        let every = Span::from_ms(self.every_ms).ticks();
        let since = at.ticks();
        since >= every && since % every < Span::from_ms(self.down_ms).ticks()
    }
}

/// A technology that a link partner may advertise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Ability {
    /// 10BASE-T, half duplex.
    #[serde(rename = "10base-t-half")]
    TenHalf,
    /// 10BASE-T, full duplex.
    #[serde(rename = "10base-t-full")]
    TenFull,
    /// 100BASE-TX, half duplex.
    #[serde(rename = "100base-tx-half")]
    HundredHalf,
    /// 100BASE-TX, full duplex.
    #[serde(rename = "100base-tx-full")]
    HundredFull,
}

impl Ability {
    /// All abilities in the order of their bits.
    pub const ALL: [Self; 4] = [
        Self::TenHalf,
        Self::TenFull,
        Self::HundredHalf,
        Self::HundredFull,
    ];

    /// Bit of the ability in a base page (Annex 28B.2).
    #[must_use]
    pub const fn bit(self) -> u16 {
        match self {
            Self::TenHalf => LinkCodeWord::TEN_HALF,
            Self::TenFull => LinkCodeWord::TEN_FULL,
            Self::HundredHalf => LinkCodeWord::HUNDRED_HALF,
            Self::HundredFull => LinkCodeWord::HUNDRED_FULL,
        }
    }
}

/// A set of abilities; a list in TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(from = "Vec<Ability>", into = "Vec<Ability>")]
pub struct Abilities(u16);

impl Abilities {
    /// Bits of the abilities in a base page.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// True if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<Vec<Ability>> for Abilities {
    fn from(list: Vec<Ability>) -> Self {
        Self::from(&list[..])
    }
}

impl From<&[Ability]> for Abilities {
    fn from(list: &[Ability]) -> Self {
        Self(list.iter().fold(0, |bits, ability| bits | ability.bit()))
    }
}

impl From<Abilities> for Vec<Ability> {
    fn from(set: Abilities) -> Self {
        let has = |ability: &Ability| set.0 & ability.bit() != 0;
        Ability::ALL.into_iter().filter(has).collect()
    }
}

/// Pulses that a link partner sends while it has no frames to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pulses {
    /// No pulses.
    None,
    /// Normal link pulses: a partner that does not negotiate.
    Nlp,
    /// Fast link pulse bursts until negotiation is complete, then normal link pulses.
    Flp,
}

/// The peer's link pulses and auto-negotiation. The default does not negotiate, sends normal link
/// pulses, and considers the link always up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Partner {
    /// Advertised abilities. A partner that advertises any ability negotiates.
    pub advertise: Abilities,
    /// Sets the next page bit.
    pub next_page: bool,
    /// Sets the remote fault bit.
    pub remote_fault: bool,
    /// Pulses sent; by default FLP bursts if it advertises any ability, else normal link pulses.
    pub pulses: Option<Pulses>,
    /// Applies the link integrity test (clause 14.2.1.7): the link is up only while frames or pulses
    /// of the device are received, and never if the partner sends no pulses. By default on if it
    /// negotiates or the cable is unplugged at times.
    pub link_test: Option<bool>,
}

impl Partner {
    /// Pulses sent, with the default applied.
    #[must_use]
    pub const fn pulses(&self) -> Pulses {
        match self.pulses {
            Some(pulses) => pulses,
            None if self.advertise.is_empty() => Pulses::Nlp,
            None => Pulses::Flp,
        }
    }
}

/// A hub (a repeater of clause 9) between device and peer, with further stations. Each has its own
/// MAC and sends frames of one size.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hub {
    /// Stations in addition to peer and device; 0 for a cable without a hub.
    pub stations: u8,
    /// Total load offered by these stations as a share of the line rate, including gaps and
    /// preambles; at 1 each of them always has a frame to send.
    pub offered_load: f64,
    /// Octets of each frame with FCS.
    pub frame_octets: u16,
    /// Destination of their frames.
    pub destination: Destination,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            stations: 0,
            offered_load: 1.0,
            frame_octets: 1518,
            destination: Destination::Foreign,
        }
    }
}

impl Hub {
    /// Maximum number of stations.
    pub const MAX_STATIONS: u8 = 30;

    fn check(&self) -> Result<(), OutOfRange> {
        let most = f64::from(Self::MAX_STATIONS);
        check_range("hub.stations", self.stations.into(), 0.0, most)?;
        check_range("hub.offered_load", self.offered_load, 0.0, 1.0)?;
        let octets = self.frame_octets;
        check_range("hub.frame_octets", octets.into(), 64.0, 1518.0)
    }
}

/// Destination of generated frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// The device.
    Device,
    /// Another station.
    #[default]
    Foreign,
    /// All stations.
    Broadcast,
    /// A group that the device has not joined.
    Multicast,
}

/// A field of a configuration is out of range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {value}: it must be between {min} and {max}")]
pub struct OutOfRange {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

/// Checks that `value` is within the limits. NaN is out of every range.
pub(crate) fn check_range(
    field: &'static str,
    value: f64,
    min: f64,
    max: f64,
) -> Result<(), OutOfRange> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(OutOfRange {
        field,
        value,
        min,
        max,
    })
}

#[cfg(test)]
mod tests;
