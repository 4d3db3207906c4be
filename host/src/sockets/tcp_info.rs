//! Linux's `TCP_INFO` (`struct tcp_info` in `linux/tcp.h`).

use linerate_results::record::TcpSample;

/// Slow-start threshold of a connection whose congestion window was never reduced (`TCP_INFINITE_SSTHRESH`).
const INFINITE_THRESHOLD: u32 = 0x7fff_ffff;

// Bits of `tcpi_options`.
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALING: u8 = 4;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TcpInfo {
    pub(super) sample: TcpSample,
    pub(super) has_timestamps: bool,
    pub(super) has_sack: bool,
    pub(super) has_window_scaling: bool,
    pub(super) send_mss_bytes: u64,
    pub(super) receive_mss_bytes: u64,
}

/// Fields of the structure by their offset; a field beyond its end is unknown.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn octets<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }

    fn octet(&self, at: usize) -> u8 {
        self.octets::<1>(at).map_or(0, |[octet]| octet)
    }

    fn known_word(&self, at: usize) -> Option<u64> {
        self.octets(at)
            .map(|octets| u64::from(u32::from_ne_bytes(octets)))
    }

    fn word(&self, at: usize) -> u64 {
        self.known_word(at).unwrap_or(0)
    }

    fn double_word(&self, at: usize) -> u64 {
        self.octets(at).map_or(0, u64::from_ne_bytes)
    }

    /// A time in nanoseconds, reported in microseconds.
    fn time(&self, at: usize) -> u64 {
        self.word(at) * 1_000
    }

    /// A time in nanoseconds, reported as 64 bits of microseconds.
    fn long_time(&self, at: usize) -> u64 {
        self.double_word(at).saturating_mul(1_000)
    }
}

impl TcpInfo {
    /// Parses the octets that the kernel reports.
    pub(super) fn parse(octets: &[u8]) -> Self {
        let it = Fields(octets);
        let options = it.octet(5);
        let threshold = it.known_word(76).unwrap_or(u64::from(INFINITE_THRESHOLD));
        let reduced = (threshold < u64::from(INFINITE_THRESHOLD)).then_some(threshold);
        // `tcpi_min_rtt` is all ones before the first measurement.
        let min_rtt = it
            .known_word(148)
            .filter(|us| *us < u64::from(u32::MAX))
            .unwrap_or(0);
        Self {
            sample: TcpSample {
                at_ns: 0,
                acked_bytes: it.double_word(120),
                received_bytes: it.double_word(128),
                rtt_ns: it.time(68),
                min_rtt_ns: min_rtt * 1_000,
                receive_rtt_ns: it.time(92),
                congestion_window_segments: it.word(80),
                slow_start_threshold_segments: reduced,
                send_window_bytes: it.known_word(228),
                receive_window_bytes: it.known_word(232),
                in_flight_segments: it.word(24),
                unsent_bytes: it.word(144),
                busy_ns: it.long_time(168),
                window_limited_ns: it.long_time(176),
                buffer_limited_ns: it.long_time(184),
                sent_segments: it.word(156),
                retransmitted_segments: it.word(100),
                received_segments: it.word(152),
                out_of_order_segments: it.word(224),
                duplicate_segments: it.word(216),
                delivery_bytes_per_s: it.double_word(160),
                is_app_limited: it.octet(7) & 1 != 0,
            },
            has_timestamps: options & TIMESTAMPS != 0,
            has_sack: options & SACK != 0,
            has_window_scaling: options & WINDOW_SCALING != 0,
            send_mss_bytes: it.word(16),
            receive_mss_bytes: it.word(20),
        }
    }
}

/// Reads the state of a connection; `None` if this system does not report it.
#[cfg(target_os = "linux")]
pub(super) fn read(socket: &mio::net::TcpStream) -> Option<TcpInfo> {
    use std::os::fd::AsFd as _;

    let mut octets = [0; linerate_ring::TCP_INFO_OCTETS];
    let len = linerate_ring::tcp_info(socket.as_fd(), &mut octets).ok()?;
    Some(TcpInfo::parse(&octets[..len]))
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(_: &mio::net::TcpStream) -> Option<TcpInfo> {
    None
}

/// Name of the algorithm of congestion control; empty if this system does not report it.
#[cfg(target_os = "linux")]
pub(super) fn congestion_control(socket: &mio::net::TcpStream) -> String {
    rustix::net::sockopt::tcp_congestion(socket).unwrap_or_default()
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn congestion_control(_: &mio::net::TcpStream) -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(fields: &[(usize, u64, usize)], len: usize) -> Vec<u8> {
        let mut octets = vec![0; 320];
        for (at, value, size) in fields {
            octets[*at..at + size].copy_from_slice(&value.to_ne_bytes()[..*size]);
        }
        octets.truncate(len);
        octets
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn fields_are_read_from_their_places() {
        let octets = octets(
            &[
                (5, 7, 1),
                (7, 1, 1),
                (16, 1448, 4),
                (68, 20_150, 4),
                (76, 12, 4),
                (100, 3, 4),
                (120, 1 << 40, 8),
                (148, 20_000, 4),
                (176, 4_000_000, 8),
                (228, 8_688, 4),
            ],
            248,
        );
        let info = TcpInfo::parse(&octets);
        assert!(info.has_sack && info.has_timestamps && info.has_window_scaling);
        assert_eq!(info.send_mss_bytes, 1448);
        let sample = info.sample;
        assert!(sample.is_app_limited);
        assert_eq!((sample.rtt_ns, sample.min_rtt_ns), (20_150_000, 20_000_000));
        assert_eq!(sample.slow_start_threshold_segments, Some(12));
        assert_eq!(sample.retransmitted_segments, 3);
        assert_eq!(sample.acked_bytes, 1 << 40);
        assert_eq!(sample.window_limited_ns, 4_000_000_000);
        assert_eq!(sample.send_window_bytes, Some(8_688));
    }

    #[test]
    fn fields_of_later_kernels_are_unknown() {
        let fields = [(76, u64::from(INFINITE_THRESHOLD), 4), (228, 1, 4)];
        let sample = TcpInfo::parse(&octets(&fields, 192)).sample;
        assert_eq!(sample.send_window_bytes, None);
        assert_eq!(sample.receive_window_bytes, None);
        assert_eq!(sample.slow_start_threshold_segments, None);
        assert_eq!(TcpInfo::parse(&[]).sample, TcpSample::default());
    }
}
