//! The other end of a link, named by a URL. A kind of target is one folder here and one line of
//! [`KINDS`].
//!
//! A target runs one [`Trial`] at a time and reports its outcome; a trial means the same for all
//! targets, and procedures use nothing else. A target rejects an unsupported trial before anything
//! is measured: it never appears as zero.

mod arrivals;
mod board;
mod client;
mod deadline;
mod error;
mod http;
mod iperf2;
mod iperf3;
mod monitor;
mod observed;
mod pair;
mod path;
mod plausible;
mod raw;
#[cfg(target_os = "linux")]
mod serial;
mod stamp;
mod target;
mod test_board;
#[cfg(test)]
mod tests;
mod trial;
mod url;

#[cfg(target_os = "linux")]
pub use board::profile::run as profile;
#[cfg(target_os = "linux")]
pub use board::qemu::flood;
#[cfg(target_os = "linux")]
pub(crate) use board::qemu::inspect;
pub use error::TargetError;
pub use monitor::{CANCELLED, LimitedMonitor, NoMonitor, TrialMonitor};
pub use observed::{CaptureOptions, Observed};
pub use pair::Pair;
pub use target::{Options, Target};
pub use test_board::TestBoard;
pub use trial::{
    Amount, Datagrams, Frames, Outcome, RoundTripReport, RoundTripSample, RoundTrips, Stream, Trial,
};
pub use url::Url;

pub(crate) use board::session::BoardSession;

/// A kind of target.
pub struct TargetKind {
    /// The part before `://`.
    pub scheme: &'static str,
    /// An example.
    pub example: &'static str,
    /// Short description.
    pub about: &'static str,
    open: Open,
}

type Open = fn(&Url, &Options) -> Result<Box<dyn Target>, TargetError>;

/// Every kind of target.
pub const KINDS: &[TargetKind] = &[
    TargetKind {
        scheme: "iperf2",
        example: "iperf2://192.0.2.7:5001",
        about: "an iperf 2 server: iperf -s, lwiperf, zperf, ESP-IDF, NuttX",
        open: iperf2::open,
    },
    TargetKind {
        scheme: "iperf3",
        example: "iperf3://192.0.2.7:5201",
        about: "an iperf3 server",
        open: iperf3::open,
    },
    TargetKind {
        scheme: "http",
        example: "http://192.0.2.7/1000000",
        about: "an HTTP server with a file at this path, or linerate's: /N has N octets",
        open: http::open,
    },
    TargetKind {
        scheme: "stamp",
        example: "stamp://192.0.2.7:862",
        about: "a STAMP or TWAMP-light reflector (RFC 8762)",
        open: stamp::open,
    },
    TargetKind {
        scheme: "raw",
        example: "raw://eth0/02:00:00:00:00:01",
        about: "a station on the line at this interface whose agent sends raw Ethernet frames back",
        open: raw::open,
    },
    #[cfg(target_os = "linux")]
    TargetKind {
        scheme: "serial",
        example: "serial:///dev/ttyACM0?baud=3000000",
        about: "a device with linerate-link and its responder on a serial port",
        open: serial::open,
    },
    #[cfg(target_os = "linux")]
    TargetKind {
        scheme: "pty",
        example: "pty:///dev/pts/4",
        about: "the same at the other end of a pseudo-terminal: linerate serve pty://",
        open: serial::open,
    },
    #[cfg(target_os = "linux")]
    TargetKind {
        scheme: "tcp",
        example: "tcp://192.0.2.7:3333",
        about: "the same behind a TCP connection, such as a serial port server",
        open: serial::open,
    },
    #[cfg(target_os = "linux")]
    TargetKind {
        scheme: "spidev",
        example: "spidev://0.0?hz=10M",
        about: "the same as an SPI slave of this host (not tried on hardware)",
        open: serial::open,
    },
    TargetKind {
        scheme: "sim",
        example: "sim://esp32c6-bitbang",
        about: "a simulated board with its own firmware, in virtual time",
        open: board::sim::open,
    },
    #[cfg(target_os = "linux")]
    TargetKind {
        scheme: "qemu",
        example: "qemu://qemu-riscv32-virt",
        about: "a board that QEMU emulates with its own firmware, as any user",
        open: board::qemu::open,
    },
];

/// Opens the target that `url` names. Nothing is sent before the first trial.
///
/// # Errors
/// [`TargetError::Url`] if the kind is unknown, or the rest is not valid for it.
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
