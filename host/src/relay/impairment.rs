//! Impairment of one direction of the relay: settings, limits and text form.

use crate::quantity;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum delay.
pub const MAX_DELAY_NS: u64 = 60_000_000_000;
/// Maximum rate.
pub const MAX_RATE_BITS_PER_S: u64 = 100_000_000_000;
/// Queue limit in frames if `queue` is not set.
pub const DEFAULT_QUEUE_FRAMES: u64 = 1000;

/// Impairment of the frames of one direction. `Impairment::default()` forwards them unchanged.
///
/// The settings apply in this order: `duplicate`, `queue`, `rate`, `burst_loss`, `loss`,
/// `bit_errors`, `corrupt`, `delay` and `jitter`, `reorder`. A frame lost on the line has therefore
/// occupied the link, as on a real one.
///
/// The text form is `loss=1%,delay=5ms,rate=10M`: [`FromStr`] and [`Display`](fmt::Display).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impairment {
    /// Number of frames at the start that are exempt from loss, duplication, bit errors and reordering, so
    /// that a connection can be established.
    pub spare: u64,
    /// Probability that a frame is lost, independently of the others.
    pub loss: f64,
    /// Burst loss, in addition to `loss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Bit error rate, over the frame and its FCS: a frame with an error is lost, because a receiver
    /// discards it by its FCS.
    pub bit_errors: f64,
    /// Rate of bits flipped in frames that are forwarded nevertheless, as if the FCS had been correct: the
    /// effect of faulty memory or a faulty switch. At most [`MAX_BIT_ERROR_RATE`].
    pub corrupt: f64,
    /// Probability that a frame is sent twice. The duplicate has its own fate.
    pub duplicate: f64,
    /// Frames held back until later ones have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Delay from the end of a frame at the input to its end at the output, at most [`MAX_DELAY_NS`].
    pub delay_ns: u64,
    /// Deviation of each frame's delay from `delay_ns`, uniformly distributed: at most `delay_ns`.
    pub jitter_ns: u64,
    /// If true, a frame with a shorter delay overtakes earlier ones. If false, it waits for them.
    pub overtake: bool,
    /// Link rate: each frame occupies the link for its octets (at least 60), its FCS (4), preamble (8)
    /// and gap (12). At most [`MAX_RATE_BITS_PER_S`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_s: Option<u64>,
    /// Limit of the queue before a link with a rate; excess frames are lost (drop tail). Default:
    /// [`DEFAULT_QUEUE_FRAMES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

/// Maximum bit error rate: beyond it no frame survives.
pub const MAX_BIT_ERROR_RATE: f64 = 0.1;

/// Burst loss by the Gilbert-Elliott model: the line is in a good or a bad state. Before each frame the state
/// may change, then the frame may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability of the transition from good to bad.
    pub enter: f64,
    /// Probability of the transition from bad to good: the mean burst has `1 / leave` frames.
    pub leave: f64,
    /// Loss probability in the bad state.
    pub loss: f64,
}

impl BurstLoss {
    /// Long-run share of lost frames.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        let sum = self.enter + self.leave;
        if sum > 0.0 {
            self.loss * self.enter / sum
        } else {
            0.0
        }
    }
}

/// Frames held back until later ones have passed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of the frames, at most 50%.
    pub share: f64,
    /// Number of later frames that pass it, 1 to 1000; TCP treats 3 as a loss. If they do not arrive
    /// within [`REORDER_TIMEOUT_NS`](super::REORDER_TIMEOUT_NS), the frame is sent.
    pub by: u32,
}

/// Queue limit, not counting the frame being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Limit in frames.
    Frames(u64),
    /// Limit in octets, without FCS.
    Octets(u64),
}

/// Invalid settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImpairmentError {
    /// Unknown setting.
    #[error("unknown setting `{written}`{}; settings are {}", .nearest.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default(), KEYS.join(", "))]
    Unknown {
        /// The text of the user.
        written: String,
        /// Most similar setting.
        nearest: Option<&'static str>,
    },
    /// Missing value.
    #[error("`{written}` has no value; example: `{example}`")]
    NoValue {
        /// The text of the user.
        written: String,
        /// Valid example.
        example: &'static str,
    },
    /// Value that cannot be parsed.
    #[error("invalid value `{value}` for `{key}`; example: `{example}`")]
    InvalidValue {
        /// Name of the setting.
        key: &'static str,
        /// The text of the user.
        value: String,
        /// Valid example.
        example: &'static str,
    },
    /// Setting given more than once.
    #[error("`{0}` is given more than once")]
    Repeated(&'static str),
    /// Value out of range.
    #[error("`{key}` cannot be {value}: {limit}")]
    OutOfRange {
        /// Name of the setting.
        key: &'static str,
        /// The value.
        value: String,
        /// The valid range.
        limit: &'static str,
    },
}

/// Settings of the text form, each with an example.
const EXAMPLES: [(&str, &str); 12] = [
    ("spare", "spare=20"),
    ("loss", "loss=1%"),
    ("burst_loss", "burst_loss=0.5%/20%"),
    ("bit_errors", "bit_errors=1e-6"),
    ("corrupt", "corrupt=1e-6"),
    ("duplicate", "duplicate=0.5%"),
    ("reorder", "reorder=1%/3"),
    ("delay", "delay=5ms"),
    ("jitter", "jitter=1ms"),
    ("overtake", "overtake=yes"),
    ("rate", "rate=10M"),
    ("queue", "queue=50"),
];
const KEYS: [&str; 12] = {
    let mut keys = [""; 12];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = EXAMPLES[at].0;
        at += 1;
    }
    keys
};

impl Impairment {
    /// Applies the settings in `text`; the others stay unchanged.
    ///
    /// # Errors
    /// [`ImpairmentError`] names the setting and gives an example.
    pub fn apply(&mut self, text: &str) -> Result<(), ImpairmentError> {
        let mut changed = self.clone();
        let mut seen = Vec::new();
        for written in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (name, value) = match written.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (written, None),
            };
            let known = EXAMPLES.iter().find(|(key, _)| *key == name);
            let &(key, example) = known.ok_or_else(|| ImpairmentError::Unknown {
                written: name.to_owned(),
                nearest: crate::nearest(name, KEYS),
            })?;
            if seen.contains(&key) {
                return Err(ImpairmentError::Repeated(key));
            }
            seen.push(key);
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                let written = written.to_owned();
                return Err(ImpairmentError::NoValue { written, example });
            };
            let set = changed.set(key, value);
            set.ok_or_else(|| ImpairmentError::InvalidValue {
                key,
                value: value.to_owned(),
                example,
            })?;
        }
        changed.validate()?;
        *self = changed;
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "spare" => self.spare = value.parse().ok()?,
            "loss" => self.loss = quantity::parse_fraction(value)?,
            "burst_loss" => self.burst_loss = Some(burst(value)?),
            "bit_errors" => self.bit_errors = quantity::parse_fraction(value)?,
            "corrupt" => self.corrupt = quantity::parse_fraction(value)?,
            "duplicate" => self.duplicate = quantity::parse_fraction(value)?,
            "reorder" => self.reorder = Some(reorder(value)?),
            "delay" => self.delay_ns = quantity::TIME.parse(value)?,
            "jitter" => self.jitter_ns = quantity::TIME.parse(value)?,
            "overtake" => {
                self.overtake = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return None,
                }
            }
            "rate" => self.rate_bits_per_s = Some(quantity::RATE.parse(value)?),
            "queue" => {
                self.queue = Some(match value.parse() {
                    Ok(frames) => Queue::Frames(frames),
                    Err(_) => Queue::Octets(quantity::OCTETS.parse(value)?),
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// Checks the range of each setting.
    ///
    /// # Errors
    /// [`ImpairmentError::OutOfRange`] names the first setting that is out of range.
    pub fn validate(&self) -> Result<(), ImpairmentError> {
        let share = |key, value: f64, max: f64, limit| {
            let is_valid = (0.0..=max).contains(&value);
            is_valid
                .then_some(())
                .ok_or_else(|| ImpairmentError::OutOfRange {
                    key,
                    value: quantity::format_fraction(value),
                    limit,
                })
        };
        let whole = "the range is 0 to 100%";
        share("loss", self.loss, 1.0, whole)?;
        share("duplicate", self.duplicate, 1.0, whole)?;
        let bits = "the maximum is 10% of the bits";
        share("bit_errors", self.bit_errors, MAX_BIT_ERROR_RATE, bits)?;
        share("corrupt", self.corrupt, MAX_BIT_ERROR_RATE, bits)?;
        if let Some(burst) = self.burst_loss {
            for value in [burst.enter, burst.leave, burst.loss] {
                share(
                    "burst_loss",
                    value,
                    1.0,
                    "the range of each part is 0 to 100%",
                )?;
            }
        }
        if let Some(reorder) = self.reorder {
            share("reorder", reorder.share, 0.5, "the range is 0 to 50%")?;
        }
        self.validate_numbers()
    }

    fn validate_numbers(&self) -> Result<(), ImpairmentError> {
        let within = |key, is_within: bool, value: String, limit| {
            let error = ImpairmentError::OutOfRange { key, value, limit };
            is_within.then_some(()).ok_or(error)
        };
        if let Some(Reorder { by, .. }) = self.reorder {
            let is_valid = (1..=1000).contains(&by);
            within(
                "reorder",
                is_valid,
                format!("by {by} frames"),
                "the range is 1 to 1000 frames",
            )?;
        }
        let time = |ns| quantity::TIME.format(ns);
        let (delay, jitter) = (self.delay_ns, self.jitter_ns);
        within(
            "delay",
            delay <= MAX_DELAY_NS,
            time(delay),
            "the maximum is 60s",
        )?;
        let limit = "the maximum is the delay";
        within("jitter", jitter <= delay, time(jitter), limit)?;
        if let Some(rate) = self.rate_bits_per_s {
            let is_valid = (1..=MAX_RATE_BITS_PER_S).contains(&rate);
            within(
                "rate",
                is_valid,
                quantity::RATE.format(rate),
                "the range is 1 bit/s to 100G bit/s",
            )?;
        }
        Ok(())
    }
}

/// `ENTER/LEAVE` or `ENTER/LEAVE/LOSS`.
fn burst(value: &str) -> Option<BurstLoss> {
    let parts: Option<Vec<f64>> = value.split('/').map(quantity::parse_fraction).collect();
    let (enter, leave, loss) = match parts?[..] {
        [enter, leave] => (enter, leave, 1.0),
        [enter, leave, loss] => (enter, leave, loss),
        _ => return None,
    };
    Some(BurstLoss { enter, leave, loss })
}

/// `SHARE` or `SHARE/BY`.
fn reorder(value: &str) -> Option<Reorder> {
    let (share, by) = value.split_once('/').unwrap_or((value, "1"));
    Some(Reorder {
        share: quantity::parse_fraction(share)?,
        by: by.trim().parse().ok()?,
    })
}

impl FromStr for Impairment {
    type Err = ImpairmentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut impairment = Self::default();
        impairment.apply(text)?;
        Ok(impairment)
    }
}

impl fmt::Display for Impairment {
    /// Text form; empty if frames are forwarded unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = quantity::format_fraction;
        let mut settings = Vec::new();
        settings.extend((self.spare > 0).then(|| format!("spare={}", self.spare)));
        let shares = [
            ("loss", self.loss),
            ("bit_errors", self.bit_errors),
            ("corrupt", self.corrupt),
            ("duplicate", self.duplicate),
        ];
        for (key, value) in shares.into_iter().filter(|(_, value)| *value > 0.0) {
            settings.push(format!("{key}={}", share(value)));
        }
        if let Some(BurstLoss { enter, leave, loss }) = self.burst_loss {
            let parts = [enter, leave, loss].map(share).join("/");
            settings.push(format!("burst_loss={parts}"));
        }
        if let Some(reorder) = self.reorder {
            settings.push(format!("reorder={}/{}", share(reorder.share), reorder.by));
        }
        let time = |key, ns| format!("{key}={}", quantity::TIME.format(ns));
        settings.extend((self.delay_ns > 0).then(|| time("delay", self.delay_ns)));
        settings.extend((self.jitter_ns > 0).then(|| time("jitter", self.jitter_ns)));
        settings.extend(self.overtake.then(|| "overtake=yes".to_owned()));
        let rate = |it| format!("rate={}", quantity::RATE.format(it));
        settings.extend(self.rate_bits_per_s.map(rate));
        settings.extend(self.queue.map(|queue| match queue {
            Queue::Frames(frames) => format!("queue={frames}"),
            Queue::Octets(octets) => format!("queue={}", quantity::OCTETS.format(octets)),
        }));
        f.write_str(&settings.join(","))
    }
}

#[cfg(test)]
pub mod tests;
