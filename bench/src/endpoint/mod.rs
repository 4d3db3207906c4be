//! What is at the other end of a link, named by a URL. A kind of target is one folder here and one
//! line of [`KINDS`].
//!
//! A target does a [`Trial`] at a time and tells what it came to; what a trial means is the same for
//! all of them, and procedures ask for nothing else. What a target can't do it says, before
//! anything is measured: it never comes out as zero.

mod arrivals;
mod board;
mod error;
mod http;
mod iperf2;
mod iperf3;
mod pair;
mod path;
mod raw;
mod run;
mod stamp;
#[cfg(test)]
mod tests;
mod trial;
mod url;

#[cfg(target_os = "linux")]
pub use board::qemu::flood;
#[cfg(target_os = "linux")]
pub(crate) use board::qemu::inspect;
#[cfg(target_os = "linux")]
pub use board::qemu::profile::run as profile;
pub use error::TargetError;
pub use pair::Pair;
pub use trial::{Amount, Answer, Answers, Datagrams, Frames, Outcome, RoundTrips, Stream, Trial};
pub use url::Url;

pub(crate) use board::session::Session;
#[cfg(test)]
pub(crate) use board::session::{Running, STEP, Stopped};

use std::time::Duration;

use crate::conformance::Stand;

/// What is at the other end of a link.
pub trait Target: Send {
    /// What it is, for a sentence: `iperf 2 at 192.0.2.7:5001`.
    fn name(&self) -> String;

    /// Whether it can do `trial`.
    ///
    /// # Errors
    /// Why it can't, to be read behind "it can't do this:".
    fn can(&self, trial: &Trial) -> Result<(), &'static str>;

    /// Whether all that it does for `trial` goes on from the begin to the end, so that something else can be
    /// measured meanwhile.
    ///
    /// # Errors
    /// As for [`can`](Self::can).
    fn can_load(&self, trial: &Trial) -> Result<(), &'static str> {
        self.can(trial)
    }

    /// Does it. `watch` hears now and then how far it is.
    ///
    /// # Errors
    /// [`TargetError`]: it can't, or it failed.
    fn run(&mut self, trial: &Trial, watch: &mut dyn Watch) -> Result<Outcome, TargetError>;

    /// Where its driver is put through its paces; `None` for what is no board of ours.
    fn stand(&self) -> Option<Stand<'_>> {
        None
    }

    /// What the line to it carries, bits a second, where the target knows: then the highest frame rate
    /// that the standard allows is known, too.
    fn line_bits_per_s(&self) -> Option<u64> {
        None
    }

    /// Whether its times are those of a simulation: then they are exact, and this machine's load and
    /// clock play no part in them.
    fn is_simulated(&self) -> bool {
        false
    }

    /// The largest IP packet of the path to it, octets; `None` where nobody knows.
    fn path_mtu(&self) -> Option<u32> {
        None
    }
}

/// Hears how far a trial is, and can end it.
pub trait Watch {
    /// So long it has been going on (of the target's time); `octets` of payload have come or gone.
    fn at(&mut self, since_begin: Duration, octets: u64);

    /// Whether the user has had enough.
    fn is_over(&self) -> bool {
        false
    }
}

/// Hears nothing, for tests and whoever does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn at(&mut self, _: Duration, _: u64) {}
}

/// How targets are opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a target may say nothing.
    pub patience: Duration,
    /// Folder with the firmware images, for simulated boards.
    pub elf_dir: std::path::PathBuf,
    /// Seed of everything random in simulated boards.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            elf_dir: crate::firmware::DEFAULT_DIR.into(),
            seed: 1,
        }
    }
}

/// A kind of target.
pub struct Kind {
    /// What stands before `://`.
    pub scheme: &'static str,
    /// An example.
    pub example: &'static str,
    /// What answers there, in a few words.
    pub about: &'static str,
    open: Open,
}

type Open = fn(&Url, &Options) -> Result<Box<dyn Target>, TargetError>;

/// Every kind of target.
pub const KINDS: &[Kind] = &[
    Kind {
        scheme: "iperf2",
        example: "iperf2://192.0.2.7:5001",
        about: "an iperf 2 server: iperf -s, lwiperf, zperf, ESP-IDF, NuttX",
        open: iperf2::open,
    },
    Kind {
        scheme: "iperf3",
        example: "iperf3://192.0.2.7:5201",
        about: "an iperf3 server",
        open: iperf3::open,
    },
    Kind {
        scheme: "http",
        example: "http://192.0.2.7/1000000",
        about: "an HTTP server with a file at this path, or linerate's: /N has N octets",
        open: http::open,
    },
    Kind {
        scheme: "stamp",
        example: "stamp://192.0.2.7:862",
        about: "a STAMP or TWAMP-light reflector (RFC 8762)",
        open: stamp::open,
    },
    Kind {
        scheme: "raw",
        example: "raw://eth0/02:00:00:00:00:01",
        about: "a station on the line at this interface whose agent sends raw Ethernet frames back",
        open: raw::open,
    },
    Kind {
        scheme: "sim",
        example: "sim://esp32c6-bitbang",
        about: "a simulated board with its own firmware, in virtual time",
        open: board::sim::open,
    },
    #[cfg(target_os = "linux")]
    Kind {
        scheme: "qemu",
        example: "qemu://qemu-riscv32-virt",
        about: "a board that QEMU emulates with its own firmware, as any user",
        open: board::qemu::open,
    },
];

/// Makes what is needed for the target that `url` names. Nothing is sent before the first trial.
///
/// # Errors
/// [`TargetError::Url`] when there is no such kind, or the rest does not fit it.
pub fn open(url: &str, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    let parsed = Url::parse(url)?;
    let kind = KINDS.iter().find(|kind| kind.scheme == parsed.scheme);
    let Some(kind) = kind else {
        let schemes = || KINDS.iter().map(|kind| kind.scheme);
        let hint = linerate_host::nearest(&parsed.scheme, schemes())
            .map(|near| format!("; is {near}:// meant?"))
            .unwrap_or_default();
        let known: Vec<String> = schemes().map(|scheme| format!("{scheme}://")).collect();
        return Err(TargetError::Url {
            url: url.to_owned(),
            what: format!("there are {}{hint}", known.join(", ")),
        });
    };
    (kind.open)(&parsed, options)
}

/// `target` was asked for what it can't do.
fn unable(target: &dyn Target, trial: &Trial, why: &'static str) -> TargetError {
    TargetError::Unable {
        target: target.name(),
        trial: trial.words(),
        why,
    }
}
