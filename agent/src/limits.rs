use core::time::Duration;

/// What a server does for whoever asks. A datagram's sender may be forged, so that a test that the
/// server sends by UDP can be turned against somebody else: it is limited, or not done at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Whether it sends UDP on request (iperf 2: `-R`, `-r` and `-d` with `-u`; iperf 3: `-R` and
    /// `--bidir` with `-u`).
    pub sends_datagrams: bool,
    /// How long a test may last that the server sends, whatever was asked for.
    pub longest: Duration,
    /// How fast it may send UDP.
    pub fastest_bits_per_s: u64,
}

impl Limits {
    /// For a network on which nobody forges addresses: UDP on request, an hour, 10 Gbit/s.
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
