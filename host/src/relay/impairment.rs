//! What a relay does to the frames of one direction: settings, their limits and their text form.

use crate::quantity;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest delay.
pub const MOST_DELAY_NS: u64 = 60_000_000_000;
/// The highest rate.
pub const MOST_BITS_PER_S: u64 = 100_000_000_000;
/// Frames that wait for the link where nothing is said of a queue.
pub const USUAL_QUEUE_FRAMES: u64 = 1000;

/// What is done to the frames of one direction. `Impairment::default()` passes them on as they are.
///
/// A frame meets the settings in this order: `duplicate`, `queue`, `rate`, `burst_loss`, `loss`,
/// `bit_errors`, `corrupt`, `delay` and `jitter`, `reorder`. So what is lost on the line has taken its time
/// on the link, as on a real one.
///
/// The text form is `loss=1%,delay=5ms,rate=10M`: [`FromStr`] and [`Display`](fmt::Display).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impairment {
    /// So many frames at first meet none of what makes loss, copies, wrong bits and another order, so that
    /// a connection comes about.
    pub spare: u64,
    /// Share of the frames that is lost, each independently of the others.
    pub loss: f64,
    /// Loss in bursts, beside `loss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Share of the bits that arrive wrong, of a frame with its FCS: such a frame is lost, for a
    /// receiver discards what its FCS does not fit.
    pub bit_errors: f64,
    /// Share of the bits that are turned over in frames that are passed on all the same, as if the
    /// FCS had been right: what a bad memory or a bad switch does. At most [`MOST_BIT_ERRORS`].
    pub corrupt: f64,
    /// Share of the frames that are sent twice. The second has its own fate.
    pub duplicate: f64,
    /// Frames that are held back until others have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// From the end of a frame at the entrance to its end at the exit, at most [`MOST_DELAY_NS`].
    pub delay_ns: u64,
    /// The delay of each frame lies, evenly, up to so far from `delay_ns`: at most `delay_ns`.
    pub jitter_ns: u64,
    /// Whether a frame with a shorter delay passes one that came before it. If not, it waits for it.
    pub overtake: bool,
    /// What the link carries: each frame takes up the link for its octets (60 at least), its FCS (4),
    /// preamble (8) and gap (12). At most [`MOST_BITS_PER_S`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_s: Option<u64>,
    /// What may wait for a link with a rate; more is lost (drop tail). [`USUAL_QUEUE_FRAMES`] where
    /// nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

/// The largest share of wrong bits: beyond it nothing is left of a frame.
pub const MOST_BIT_ERRORS: f64 = 0.1;

/// Loss in bursts by the model of Gilbert and Elliott: the line is well or ill. With each frame it may
/// change, then the frame may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability that a well line falls ill.
    pub enter: f64,
    /// Probability that an ill line gets well: bursts have `1 / leave` frames in the mean.
    pub leave: f64,
    /// Probability that an ill line loses a frame.
    pub loss: f64,
}

impl BurstLoss {
    /// The share of the frames that is lost in the long run.
    #[must_use]
    pub fn share(&self) -> f64 {
        let ill = self.enter + self.leave;
        if ill > 0.0 {
            self.loss * self.enter / ill
        } else {
            0.0
        }
    }
}

/// Frames that are held back until others have passed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of the frames, at most a half.
    pub share: f64,
    /// How many later frames pass one of them, 1 to 1000; TCP takes 3 for a loss. If they do not come
    /// within [`HOLD_NS`](super::HOLD_NS), it goes on without.
    pub by: u32,
}

/// What may wait for the link, without the frame that is on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// So many frames.
    Frames(u64),
    /// Frames of so many octets together, without FCS.
    Octets(u64),
}

/// Settings that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImpairmentError {
    /// There is no such setting.
    #[error("there is no setting `{written}`{}; there are {}", .nearest.map(|it| format!(" (is it `{it}`?)")).unwrap_or_default(), KEYS.join(", "))]
    Unknown {
        /// What was written.
        written: String,
        /// What was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// It has no value.
    #[error("`{written}` says nothing: write it like `{example}`")]
    NoValue {
        /// What was written.
        written: String,
        /// How it could look.
        example: &'static str,
    },
    /// Its value is none.
    #[error("`{value}` is no value of `{key}`: write it like `{example}`")]
    Value {
        /// The setting.
        key: &'static str,
        /// What was written.
        value: String,
        /// How it could look.
        example: &'static str,
    },
    /// It is said twice.
    #[error("`{0}` is said twice: once is enough")]
    Twice(&'static str),
    /// Its value lies outside of what can be done.
    #[error("`{key}` cannot be {value}: {limit}")]
    Range {
        /// The setting.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        limit: &'static str,
    },
}

/// The settings of the text form with an example of each.
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
    /// Changes what `text` names, leaves the rest.
    ///
    /// # Errors
    /// [`ImpairmentError`] names the setting and how it can be written.
    pub fn apply(&mut self, text: &str) -> Result<(), ImpairmentError> {
        let mut changed = self.clone();
        let mut said = Vec::new();
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
            if said.contains(&key) {
                return Err(ImpairmentError::Twice(key));
            }
            said.push(key);
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                let written = written.to_owned();
                return Err(ImpairmentError::NoValue { written, example });
            };
            let set = changed.set(key, value);
            set.ok_or_else(|| ImpairmentError::Value {
                key,
                value: value.to_owned(),
                example,
            })?;
        }
        changed.check()?;
        *self = changed;
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "spare" => self.spare = value.parse().ok()?,
            "loss" => self.loss = quantity::share(value)?,
            "burst_loss" => self.burst_loss = Some(burst(value)?),
            "bit_errors" => self.bit_errors = quantity::share(value)?,
            "corrupt" => self.corrupt = quantity::share(value)?,
            "duplicate" => self.duplicate = quantity::share(value)?,
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

    /// Whether all of it can be done.
    ///
    /// # Errors
    /// [`ImpairmentError::Range`] names the first setting that cannot.
    pub fn check(&self) -> Result<(), ImpairmentError> {
        let share = |key, value: f64, most: f64, limit| {
            let good = (0.0..=most).contains(&value);
            good.then_some(()).ok_or_else(|| ImpairmentError::Range {
                key,
                value: quantity::share_text(value),
                limit,
            })
        };
        let whole = "it is a share from 0 to 100%";
        share("loss", self.loss, 1.0, whole)?;
        share("duplicate", self.duplicate, 1.0, whole)?;
        let bits = "it is a share of the bits, up to 10%";
        share("bit_errors", self.bit_errors, MOST_BIT_ERRORS, bits)?;
        share("corrupt", self.corrupt, MOST_BIT_ERRORS, bits)?;
        if let Some(burst) = self.burst_loss {
            for value in [burst.enter, burst.leave, burst.loss] {
                share(
                    "burst_loss",
                    value,
                    1.0,
                    "its parts are shares from 0 to 100%",
                )?;
            }
        }
        if let Some(reorder) = self.reorder {
            share("reorder", reorder.share, 0.5, "it is a share from 0 to 50%")?;
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), ImpairmentError> {
        let within = |key, is_within: bool, value: String, limit| {
            let error = ImpairmentError::Range { key, value, limit };
            is_within.then_some(()).ok_or(error)
        };
        if let Some(Reorder { by, .. }) = self.reorder {
            let good = (1..=1000).contains(&by);
            within(
                "reorder",
                good,
                format!("by {by} frames"),
                "1 to 1000 frames can pass",
            )?;
        }
        let time = |ns| quantity::TIME.text(ns);
        let (delay, jitter) = (self.delay_ns, self.jitter_ns);
        within(
            "delay",
            delay <= MOST_DELAY_NS,
            time(delay),
            "60s is the longest",
        )?;
        let less = "it is at most the delay, for no frame arrives before it was sent";
        within("jitter", jitter <= delay, time(jitter), less)?;
        if let Some(rate) = self.rate_bits_per_s {
            let good = (1..=MOST_BITS_PER_S).contains(&rate);
            within(
                "rate",
                good,
                quantity::RATE.text(rate),
                "it is 1 to 100G bit/s",
            )?;
        }
        Ok(())
    }
}

/// `ENTER/LEAVE` or `ENTER/LEAVE/LOSS`.
fn burst(value: &str) -> Option<BurstLoss> {
    let parts: Option<Vec<f64>> = value.split('/').map(quantity::share).collect();
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
        share: quantity::share(share)?,
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
    /// The text form; empty where frames are passed on as they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = quantity::share_text;
        let mut said = Vec::new();
        said.extend((self.spare > 0).then(|| format!("spare={}", self.spare)));
        let shares = [
            ("loss", self.loss),
            ("bit_errors", self.bit_errors),
            ("corrupt", self.corrupt),
            ("duplicate", self.duplicate),
        ];
        for (key, value) in shares.into_iter().filter(|(_, value)| *value > 0.0) {
            said.push(format!("{key}={}", share(value)));
        }
        if let Some(BurstLoss { enter, leave, loss }) = self.burst_loss {
            let parts = [enter, leave, loss].map(share).join("/");
            said.push(format!("burst_loss={parts}"));
        }
        if let Some(reorder) = self.reorder {
            said.push(format!("reorder={}/{}", share(reorder.share), reorder.by));
        }
        let time = |key, ns| format!("{key}={}", quantity::TIME.text(ns));
        said.extend((self.delay_ns > 0).then(|| time("delay", self.delay_ns)));
        said.extend((self.jitter_ns > 0).then(|| time("jitter", self.jitter_ns)));
        said.extend(self.overtake.then(|| "overtake=yes".to_owned()));
        let rate = |it| format!("rate={}", quantity::RATE.text(it));
        said.extend(self.rate_bits_per_s.map(rate));
        said.extend(self.queue.map(|queue| match queue {
            Queue::Frames(frames) => format!("queue={frames}"),
            Queue::Octets(octets) => format!("queue={}", quantity::OCTETS.text(octets)),
        }));
        f.write_str(&said.join(","))
    }
}

#[cfg(test)]
pub mod tests;
