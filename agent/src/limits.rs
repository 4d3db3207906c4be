use core::time::Duration;

use crate::ns;

/// Limits on the service that a server gives to clients. A datagram's source may be forged, so a UDP test in
/// which the server sends can be turned against a third party: it is limited, or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// True if it sends UDP on request (iperf 2: `-R`, `-r` and `-d` with `-u`; iperf 3: `-R` and `--bidir`
    /// with `-u`).
    pub sends_datagrams: bool,
    /// Maximum duration of a test in which the server sends.
    pub longest: Duration,
    /// Maximum UDP send rate.
    pub fastest_bits_per_s: u64,
}

impl Limits {
    /// For a network without forged addresses: UDP on request, an hour, 10 Gbit/s.
    #[must_use]
    pub const fn own_network() -> Self {
        Self {
            sends_datagrams: true,
            longest: Duration::from_hours(1),
            fastest_bits_per_s: 10_000_000_000,
        }
    }
}

impl Default for Limits {
    /// No UDP on request, an hour, 10 Gbit/s.
    fn default() -> Self {
        Self {
            sends_datagrams: false,
            ..Self::own_network()
        }
    }
}

/// [`Limits`] with their time in nanoseconds.
#[derive(Debug)]
pub(crate) struct LimitsNs {
    pub(crate) longest_ns: u64,
    pub(crate) fastest_bits_per_s: u64,
    pub(crate) sends_datagrams: bool,
}

impl LimitsNs {
    pub(crate) const fn of(limits: Limits) -> Self {
        Self {
            longest_ns: ns(limits.longest),
            fastest_bits_per_s: limits.fastest_bits_per_s,
            sends_datagrams: limits.sends_datagrams,
        }
    }
}
