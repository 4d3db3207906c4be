//! What a cable, a link partner and a hub are like, in the words of a scenario.
//!
//! Everything here reads from TOML and means "nothing wrong" when left out. [`Config::check`] says
//! what is out of range; the wire itself takes any value and keeps within its limits.

use linerate_ether::phy10::link::{LinkCodeWord, PULSE_INTERVAL_NOMINAL_NS};
use linerate_ether::phy10::{HALF_BIT_NS, INTER_PACKET_GAP_NS};
use serde::{Deserialize, Serialize};

use crate::time::{Instant, Span};

/// Whether both stations may send at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// One at a time: carrier sense and collisions.
    Half,
    /// Both at once.
    Full,
    /// What the partner's auto-negotiation comes to; half where it does not negotiate.
    Auto,
}

/// Properties of the link and of the peer's transmitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Who may send when.
    pub duplex: Duplex,
    /// Propagation delay, about 5 ns a metre.
    pub delay: Span,
    /// Idle line between two of the peer's frames.
    pub inter_packet_gap: Span,
    /// Time from one link pulse of the peer to the next while it sends nothing else; `None` for a
    /// peer that sends none.
    pub link_pulse_interval: Option<Span>,
    /// What is wrong with the cable and the signal on it.
    pub impairments: Impairments,
    /// How the peer takes part in link pulses and auto-negotiation.
    pub partner: Partner,
    /// Further stations on a hub between device and peer.
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
    /// Says whether every part is within its limits.
    ///
    /// # Errors
    /// [`OutOfRange`] names the first field that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.impairments.check()?;
        self.hub.check()
    }
}

/// What is wrong with the signal towards the device, and with the cable. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Impairments {
    /// How much faster than the device's the peer's clock runs, parts per million. At most 100 to
    /// either side by the standard (clause 7.3.2).
    pub clock_ppm: f64,
    /// How fast that offset changes, parts per million a second: it goes up and down between
    /// [`Impairments::drift_bound_ppm`] to either side, and is constant within a transmission.
    pub drift_ppm_per_s: f64,
    /// How far each edge, independently of every other and uniformly, lies from its place, ns to
    /// either side. A receiver has to bear 13.5 (clause 14.3.1.3.1). Also gives each transmission
    /// an initial phase of its own.
    pub jitter_ns: f64,
    /// By how much the positive half-bits are longer than the negative ones, ns: rising edges early
    /// and falling edges late by half of it. The standard gives 10BASE-T no figure of its own for
    /// it: what the line adds is part of the 13.5 ns of clause 14.3.1.3.1, so that 13.5 here, which
    /// is 6.75 an edge, with as much of jitter uses that up.
    pub duty_cycle_distortion_ns: f64,
    /// Pulses that are nobody's.
    pub noise: Noise,
    /// Bits of each frame's preamble that never arrive, 0 to 64. The standard lets a receiver lose
    /// 5 (clause 14.2.1.2, receive function).
    pub lost_preamble_bits: u8,
    /// Random bits between each frame's last octet and its end, 0 to 7 (clause 4.2.4.2.1).
    pub dribble_bits: u8,
    /// The receive pair's wires are swapped. The device's comparator shows a negative line like an
    /// idle one, low: of link pulses nothing is left, of a frame its complement without `TP_IDL`.
    pub swapped_polarity: bool,
    /// How many of the bits are read as the opposite, 0 to 1.
    pub bit_error_rate: f64,
    /// The cable is pulled and plugged in again.
    pub flap: Flap,
}

impl Impairments {
    /// The greatest offset of the clock while it drifts, ppm.
    #[must_use]
    pub fn drift_bound_ppm(&self) -> f64 {
        self.clock_ppm.abs().max(100.0)
    }

    /// Says whether every field is within its limits.
    ///
    /// # Errors
    /// [`OutOfRange`] names the first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        // Two edges are a half-bit apart and keep their order.
        let room = HALF_BIT_NS as f64 - self.duty_cycle_distortion_ns.abs();
        within("clock_ppm", self.clock_ppm, -10_000.0, 10_000.0)?;
        within("drift_ppm_per_s", self.drift_ppm_per_s, -1000.0, 1000.0)?;
        let distortion = self.duty_cycle_distortion_ns;
        within("duty_cycle_distortion_ns", distortion, -40.0, 40.0)?;
        within("jitter_ns", self.jitter_ns, 0.0, room / 2.0 - 0.5)?;
        within("noise.pulses_per_s", self.noise.pulses_per_s, 0.0, 1e6)?;
        within("noise.width_ns", self.noise.width_ns, 0.0, 500.0)?;
        within(
            "lost_preamble_bits",
            self.lost_preamble_bits.into(),
            0.0,
            64.0,
        )?;
        within("dribble_bits", self.dribble_bits.into(), 0.0, 7.0)?;
        within("bit_error_rate", self.bit_error_rate, 0.0, 1.0)?;
        let down = self.flap.down_ms as f64;
        within("flap.down_ms", down, 0.0, self.flap.every_ms as f64)
    }
}

/// Noise: pulses at random places, one in each `1 / pulses_per_s`. Each turns the line's level
/// over, idle or not, for its width.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Pulses a second; 0 for none.
    pub pulses_per_s: f64,
    /// How long each lasts, ns.
    pub width_ns: f64,
}

/// The cable is pulled for `down_ms` at every multiple of `every_ms`, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flap {
    /// From one pull to the next, ms; 0 for never.
    pub every_ms: u64,
    /// How long it stays out, ms.
    pub down_ms: u64,
}

impl Flap {
    /// Whether the cable is ever pulled.
    #[must_use]
    pub const fn happens(self) -> bool {
        self.every_ms > 0 && self.down_ms > 0
    }

    /// Whether the cable is out at `at`.
    #[must_use]
    pub const fn is_down(self, at: Instant) -> bool {
        if !self.happens() {
            return false;
        }
        let every = Span::from_ms(self.every_ms).ticks();
        let since = at.ticks();
        since >= every && since % every < Span::from_ms(self.down_ms).ticks()
    }
}

/// A technology that a link partner may offer.
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
    /// Every ability, in the order of its bit.
    pub const ALL: [Self; 4] = [
        Self::TenHalf,
        Self::TenFull,
        Self::HundredHalf,
        Self::HundredFull,
    ];

    /// Its bit in a base page (Annex 28B.2).
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

/// A set of abilities; in TOML a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(from = "Vec<Ability>", into = "Vec<Ability>")]
pub struct Abilities(u16);

impl Abilities {
    /// Their bits in a base page.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether there are none.
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

/// The pulses that a link partner sends while it has no frames to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pulses {
    /// None at all.
    None,
    /// Normal link pulses: a partner that does not negotiate.
    Nlp,
    /// Fast link pulse bursts until negotiation is over, then normal link pulses.
    Flp,
}

/// How the peer takes part in link pulses and auto-negotiation. The default does not negotiate,
/// sends normal link pulses, and takes the link to be up always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Partner {
    /// What it offers. A partner that offers anything negotiates.
    pub advertise: Abilities,
    /// It says that more pages follow.
    pub next_page: bool,
    /// It reports a fault at its end.
    pub remote_fault: bool,
    /// What it sends; left out, bursts if it offers anything and normal link pulses if not.
    pub pulses: Option<Pulses>,
    /// It takes the link to be up only while it hears the device, as the link integrity test says
    /// (clause 14.2.1.7); never, then, if it sends no pulses itself. Left out, so it does where it
    /// negotiates or the cable is pulled.
    pub link_test: Option<bool>,
}

impl Partner {
    /// What it sends.
    #[must_use]
    pub const fn pulses(&self) -> Pulses {
        match self.pulses {
            Some(pulses) => pulses,
            None if self.advertise.is_empty() => Pulses::Nlp,
            None => Pulses::Flp,
        }
    }
}

/// A hub (a repeater of clause 9) between device and peer, with further stations on it. Each has a
/// MAC of its own and sends frames of one size.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hub {
    /// Further stations, beside peer and device; 0 for a cable without a hub.
    pub stations: u8,
    /// What they offer together, as a share of the line rate, gaps and preambles included; at 1
    /// each of them always has a frame to send.
    pub offered_load: f64,
    /// Octets of each frame with FCS.
    pub frame_octets: u16,
    /// Whom their frames are for.
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
    /// The most stations there may be.
    pub const MOST_STATIONS: u8 = 30;

    fn check(&self) -> Result<(), OutOfRange> {
        let most = f64::from(Self::MOST_STATIONS);
        within("hub.stations", self.stations.into(), 0.0, most)?;
        within("hub.offered_load", self.offered_load, 0.0, 1.0)?;
        let octets = self.frame_octets;
        within("hub.frame_octets", octets.into(), 64.0, 1518.0)
    }
}

/// Whom generated frames are for.
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

/// A field of a configuration that the wire cannot follow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {found}: it has to be between {least} and {most}")]
pub struct OutOfRange {
    /// Its name.
    pub field: &'static str,
    /// What it is.
    pub found: f64,
    /// The least it may be.
    pub least: f64,
    /// The most it may be.
    pub most: f64,
}

/// Not a number is out of every range.
pub(crate) fn within(
    field: &'static str,
    found: f64,
    least: f64,
    most: f64,
) -> Result<(), OutOfRange> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(OutOfRange {
        field,
        found,
        least,
        most,
    })
}

#[cfg(test)]
mod tests;
