//! The line of this machine: the highest rate of TCP and UDP on it, and the standard rates of Ethernet.

use linerate_results::format;
use linerate_results::record::{Duplex, HostLink, Throughput, Transport};

/// Octets of a frame on the line beside the packet: header 14, FCS 4, preamble 8, inter-packet gap 12 (IEEE 802.3).
const FRAME_OVERHEAD: f64 = 38.0;
/// Shortest packet of a frame.
const MIN_PACKET: f64 = 46.0;
/// IPv4 and TCP without options, and the timestamp option (RFC 7323).
const TCP_HEADERS: f64 = 40.0;
const TIMESTAMPS: f64 = 12.0;
/// Octets of a frame of linerate-link beyond a payload of one fragment, at most (docs/link-protocol.md).
const LINK_OVERHEAD: f64 = 12.0;
/// IPv4 and UDP.
const UDP_HEADERS: f64 = 28.0;
/// Default maximum segment of Ethernet without options.
const ETHERNET_MSS: f64 = 1_460.0;

/// Rates of Ethernet, bits per second.
const STANDARD_RATES: [f64; 6] = [10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9];
/// Rates with a half-duplex mode in use (IEEE 802.3 clauses 14 and 24); 1000BASE-T has none in any product.
const HALF_DUPLEX_RATES: [f64; 2] = [10e6, 100e6];
/// Collisions and back-off with two stations cost up to this share (Boggs, Mogul and Kent, 1988: 95% for frames of
/// 1,536 octets).
const HALF_DUPLEX_BELOW: f64 = 0.05;
/// Permitted difference of a rate from that of a line: clock, and the ends of the transfer.
pub(super) const TOLERANCE: f64 = 0.03;

/// How far a transfer that fills a line may be below and above its rate.
const BELOW: f64 = 0.025;
const ABOVE: f64 = 0.005;
/// From this share of a line on, the line may be the limit although it is not full.
const NEAR: f64 = 0.9;

/// Form of the packets that carry the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packets {
    /// Payload of a full packet, octets.
    payload: f64,
    /// Octets of a full packet on the line.
    on_line: f64,
    /// Octets on the line of the acknowledgments of a full packet: one for two segments.
    acknowledgment: f64,
}

impl Packets {
    /// Segments of TCP with this maximum size.
    pub(super) fn tcp(mss: f64, has_timestamps: bool) -> Self {
        let options = if has_timestamps { TIMESTAMPS } else { 0.0 };
        let mss = if mss > 0.0 {
            mss
        } else {
            ETHERNET_MSS - options
        };
        Self {
            payload: mss,
            on_line: mss + options + TCP_HEADERS + FRAME_OVERHEAD,
            acknowledgment: 0.5 * ((TCP_HEADERS + options).max(MIN_PACKET) + FRAME_OVERHEAD),
        }
    }

    /// Datagrams with this payload.
    pub(crate) fn udp(payload: f64) -> Self {
        Self {
            payload,
            on_line: (payload + UDP_HEADERS).max(MIN_PACKET) + FRAME_OVERHEAD,
            acknowledgment: 0.0,
        }
    }

    /// Messages of linerate-link with this payload.
    fn link(payload: f64) -> Self {
        Self {
            payload,
            on_line: payload + LINK_OVERHEAD,
            acknowledgment: 0.0,
        }
    }

    /// Packets of a transfer.
    pub(crate) fn of(result: &Throughput) -> Self {
        match result.params.transport {
            Transport::Udp => Self::udp(result.params.payload_bytes as f64),
            Transport::LinkStream | Transport::LinkDatagrams => {
                Self::link(result.params.payload_bytes as f64)
            }
            Transport::Tcp => {
                let connection = result.observation.connections.first();
                connection.map_or(Self::tcp(0.0, true), |it| {
                    let mss = it.send_mss_bytes.max(it.receive_mss_bytes);
                    Self::tcp(mss as f64, it.has_timestamps)
                })
            }
        }
    }

    /// Highest payload rate on a line, bytes per second: packets back to back, in one direction.
    pub(super) fn max_rate(&self, line_bits_per_s: f64, duplex: Duplex) -> f64 {
        let shared = if duplex == Duplex::Half {
            self.acknowledgment
        } else {
            0.0
        };
        line_bits_per_s / 8.0 * self.payload / (self.on_line + shared)
    }

    /// The standard rate of Ethernet that a payload rate fills, bits per second. A sender that probes for its rate
    /// stays a little below; nothing exceeds the line.
    pub(crate) fn standard_line(&self, bytes_per_s: f64) -> Option<f64> {
        STANDARD_RATES.into_iter().find(|line| {
            let share = bytes_per_s / self.max_rate(*line, Duplex::Full);
            (1.0 - BELOW..=1.0 + ABOVE).contains(&share)
        })
    }

    /// The line of 10BASE-T or 100BASE-TX that a payload rate and its acknowledgments fill in half duplex, bits per
    /// second. By itself the rate proves nothing: other traffic or a shaper leave as much of a full-duplex line. None
    /// without acknowledgments: datagrams in one direction fill both kinds of line alike.
    pub(crate) fn half_duplex_line(&self, bytes_per_s: f64) -> Option<f64> {
        if self.acknowledgment == 0.0 {
            return None;
        }
        HALF_DUPLEX_RATES.into_iter().find(|line| {
            let share = bytes_per_s / self.max_rate(*line, Duplex::Half);
            (1.0 - HALF_DUPLEX_BELOW..=1.0 + ABOVE).contains(&share)
        })
    }
}

impl Packets {
    /// What a payload rate may be that fills no standard line.
    pub(crate) fn beside_standard_line(&self, bytes_per_s: f64) -> String {
        let share = |line: f64| bytes_per_s / self.max_rate(line, Duplex::Full);
        if let Some(line) = self.half_duplex_line(bytes_per_s) {
            return format!(
                "A half-duplex line of {} carries this beside its acknowledgments. It is {} of a full-duplex one: that, \
                 with other traffic, or a shaper, if both directions at once are as fast as each alone.",
                format::bits(line),
                format::percent(share(line)),
            );
        }
        let near = STANDARD_RATES
            .into_iter()
            .map(|line| (line, share(line)))
            .find(|(_, share)| (NEAR..1.0).contains(share));
        near.map_or_else(
            || {
                "This is no rate of Ethernet: a shaper, a slower leg of the path, or a station that forwards or processes \
                 at this rate."
                    .to_owned()
            },
            |(line, share)| {
                format!(
                    "This is {} of a line of {}: that line, half duplex or with other traffic, or a shaper.",
                    format::percent(share),
                    format::bits(line)
                )
            },
        )
    }
}

/// Duplex mode of a link; full if it reports none, as for each line above 100 Mbit/s.
pub(super) fn duplex(link: &HostLink) -> Duplex {
    link.duplex.unwrap_or(Duplex::Full)
}

/// Highest payload rate on the line of this machine, bytes per second; `None` if its rate is unknown or nominal.
pub(super) fn line_rate(result: &Throughput) -> Option<f64> {
    let link = result.observation.link.as_ref()?;
    let line = link.line_bits_per_s.filter(|_| !link.is_virtual)?;
    Some(Packets::of(result).max_rate(line as f64, duplex(link)))
}

/// The link in words: `100 Mbit/s full duplex on eth0`.
pub(crate) fn describe(link: &HostLink) -> String {
    let duplex = match link.duplex {
        Some(duplex @ (Duplex::Full | Duplex::Half)) => format!(" {duplex} duplex"),
        _ => String::new(),
    };
    match link.line_bits_per_s {
        Some(bits) if link.is_virtual => format!(
            "{} (virtual, {}{duplex} nominal)",
            link.interface,
            format::bits(bits as f64)
        ),
        Some(bits) => format!(
            "{}{duplex} on {}",
            format::bits(bits as f64),
            link.interface
        ),
        None => format!("{}, whose line rate is unknown", link.interface),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(bytes_per_s: f64) -> String {
        format!("{:.1}", bytes_per_s * 8.0 / 1e6)
    }

    #[test]
    fn headers_and_gaps_leave_95_of_100_mbit() {
        let (plain, timestamps) = (Packets::tcp(1460.0, false), Packets::tcp(1448.0, true));
        assert_eq!(mbit(plain.max_rate(100e6, Duplex::Full)), "94.9");
        assert_eq!(mbit(timestamps.max_rate(100e6, Duplex::Full)), "94.1");
        assert_eq!(mbit(timestamps.max_rate(10e6, Duplex::Half)), "9.1");
        let datagrams = Packets::udp(1470.0);
        assert_eq!(mbit(datagrams.max_rate(10e6, Duplex::Full)), "9.6");
        // The shortest frame takes 84 octets.
        let short = Packets::udp(8.0).max_rate(84.0 * 8.0, Duplex::Full);
        assert!((short - 8.0).abs() < 1e-9, "{short}");
    }

    #[test]
    fn a_standard_rate_is_recognized_by_its_framing() {
        let packets = Packets::tcp(1448.0, true);
        let line = |mbit: f64| packets.standard_line(mbit * 1e6 / 8.0);
        assert_eq!(line(94.1), Some(100e6));
        assert_eq!(line(92.3), Some(100e6));
        assert_eq!(line(9.4), Some(10e6));
        // The rate of `tc tbf` at 10 Mbit/s, which counts frames without preamble and gap.
        assert_eq!(line(9.56), None);
        assert_eq!(line(8.0), None);
        assert_eq!(line(50.0), None);
        let half = |mbit: f64| packets.half_duplex_line(mbit * 1e6 / 8.0);
        assert_eq!(half(9.1), Some(10e6));
        assert_eq!(half(88.0), Some(100e6));
        assert_eq!(half(9.4), None);
        assert_eq!(half(8.5), None);
    }

    #[test]
    fn a_link_is_described_as_its_driver_reports_it() {
        let link = HostLink {
            interface: "eth0".to_owned(),
            line_bits_per_s: Some(100_000_000),
            duplex: Some(Duplex::Full),
            ..HostLink::default()
        };
        assert_eq!(describe(&link), "100 Mbit/s full duplex on eth0");
        let veth = HostLink {
            is_virtual: true,
            ..link.clone()
        };
        assert_eq!(
            describe(&veth),
            "eth0 (virtual, 100 Mbit/s full duplex nominal)"
        );
        let unknown = HostLink {
            line_bits_per_s: None,
            duplex: None,
            ..link
        };
        assert_eq!(describe(&unknown), "eth0, whose line rate is unknown");
    }
}
