use std::fmt;
use std::str::FromStr;

/// Protocol of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// iperf 2, TCP and UDP.
    Iperf2,
    /// iperf 3, TCP and UDP.
    Iperf3,
    /// HTTP: `GET /N` for N octets, PUT for any.
    Http,
    /// STAMP (RFC 8762).
    Stamp,
    /// UDP echo (RFC 862).
    Echo,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 5] = [
        Self::Iperf2,
        Self::Iperf3,
        Self::Http,
        Self::Stamp,
        Self::Echo,
    ];

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf2",
            Self::Iperf3 => "iperf3",
            Self::Http => "http",
            Self::Stamp => "stamp",
            Self::Echo => "echo",
        }
    }

    /// Standard port, and a port that does not require root.
    #[must_use]
    pub const fn ports(self) -> (u16, u16) {
        use linerate_agent::{echo, http, iperf2, iperf3, stamp};
        match self {
            Self::Iperf2 => (iperf2::PORT, iperf2::PORT),
            Self::Iperf3 => (iperf3::PORT, iperf3::PORT),
            Self::Http => (http::PORT, 8080),
            Self::Stamp => (stamp::PORT, 8620),
            Self::Echo => (echo::PORT, 7007),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Unknown protocol name.
#[derive(Debug, thiserror::Error)]
#[error("unknown protocol `{written}`{}; protocols are {known}", .nearest.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default())]
pub struct UnknownProtocol {
    written: String,
    nearest: Option<&'static str>,
    known: String,
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.name() == written);
        found.ok_or_else(|| UnknownProtocol {
            written: written.to_owned(),
            nearest: crate::nearest(written, Self::ALL.map(Self::name)),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}
