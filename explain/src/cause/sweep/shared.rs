//! Both directions at once share what each reaches alone: a half-duplex medium, or a processor.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::cause::transfer::Packets;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding, Throughput, Transport};
use linerate_results::stats;

/// Range of the sum of both directions at once, each as a share of its rate alone. A resource that serves one packet
/// at a time gives 1, less what switching between the directions costs; independent directions reach 2, less the time
/// of the acknowledgments (3% of a line).
const SHARED: std::ops::RangeInclusive<f64> = 0.75..=1.15;
/// Both directions must give up this share: more than acknowledgments and the differences between two transfers take. If
/// only one does, its acknowledgments wait behind the data of the other one (RFC 3449 section 2.2): no resource is shared.
const GIVEN_UP: f64 = 0.08;
/// A medium carries both directions alone at the same rate, within this share; for a processor, receiving and sending are
/// different work.
const SYMMETRIC: f64 = 1.15;
/// Wireless interfaces on Linux (systemd.net-naming-scheme): their medium is shared and has no standard rate.
const WIRELESS: &str = "wl";
/// A shorter round trip is rare over a radio: its stations wait for their turn twice, and an access point forwards
/// (IEEE 802.11-2020 clause 10.3: about 0.1 ms for each access to an idle medium, several times as much with others).
const WIRED_NS: u64 = 1_000_000;

/// At more, this machine's processor may be the resource: a transfer in memory within one machine reaches 10 to 50 Gbit/s,
/// with interrupts and copies for an adapter a few.
const HOST_BYTES_PER_S: f64 = 1e9 / 8.0;

/// Rates of the transfers in each direction alone, and of both at once, bytes per second.
#[derive(Clone, Copy, Debug)]
struct Rates {
    to: f64,
    from: f64,
    to_at_once: f64,
    from_at_once: f64,
}

impl Rates {
    fn of(all: &[&Throughput]) -> Option<Self> {
        let find = |direction| {
            all.iter().find(|it| {
                it.params.transport == Transport::Tcp && it.params.direction == direction
            })
        };
        let both = find(Direction::Both)?;
        let to = find(Direction::ToDevice)?.metrics.to_device.as_ref()?;
        let from = find(Direction::FromDevice)?.metrics.from_device.as_ref()?;
        Some(Self {
            to: to.goodput_bytes_per_s,
            from: from.goodput_bytes_per_s,
            to_at_once: both.metrics.to_device.as_ref()?.goodput_bytes_per_s,
            from_at_once: both.metrics.from_device.as_ref()?.goodput_bytes_per_s,
        })
    }

    /// Both directions at once, each as a share of its rate alone.
    fn shares(self) -> (f64, f64) {
        (
            stats::ratio(self.to_at_once, self.to),
            stats::ratio(self.from_at_once, self.from),
        )
    }

    fn are_shared(self) -> bool {
        let (to, from) = self.shares();
        let is_shared = SHARED.contains(&(to + from)) && to.max(from) <= 1.0 - GIVEN_UP;
        is_shared && self.fastest() <= HOST_BYTES_PER_S
    }

    fn fastest(self) -> f64 {
        self.to.max(self.from)
    }
}

/// Evaluates the TCP transfers of a test in each direction, and in both at once.
pub(super) fn evaluate(all: &[&Throughput]) -> Option<ScoredFinding> {
    let rates = Rates::of(all).filter(|rates| rates.are_shared())?;
    let packets = Packets::of(all.first()?);
    let (to, from) = rates.shares();
    let shown = format!(
        "At once, the directions reach {} and {} of their rates alone, {} to the device and {} from the device: they share \
         one resource, which serves one packet at a time.",
        format::percent(to),
        format::percent(from),
        format::rate(rates.to),
        format::rate(rates.from),
    );
    let line = packets.half_duplex_line(rates.fastest());
    let may_be_radio = may_be_radio(all);
    let is_symmetric = rates.fastest() <= rates.to.min(rates.from) * SYMMETRIC;
    let (cause, confidence, why, advice) = match line {
        Some(line) => (
            Cause::PathRate,
            0.85,
            format!(
                "The faster one fills a half-duplex line of {}, on which its acknowledgments take their turn.",
                format::bits(line)
            ),
            "Full duplex, or a faster line, is the only way to a higher rate: read the duplex mode at the device and at \
             its switch port or hub."
                .to_owned(),
        ),
        None if may_be_radio => (
            Cause::PathRate,
            0.6,
            "This is no rate of Ethernet: a radio or another medium that both directions share, or the device's processor."
                .to_owned(),
            "`linerate sweep TARGET size -u` decides: a medium takes its time for octets, a processor for packets of any \
             size."
                .to_owned(),
        ),
        None => (
            Cause::MainThreadBound,
            if is_symmetric { 0.65 } else { 0.75 },
            "This is no rate of Ethernet, and the round trip without a queue is too short for most radio links: the \
             device's processor is the limit."
                .to_owned(),
            "Profile the device's receive and transmit paths: interrupts for each frame, copies, checksums, the stack. \
             `linerate sweep TARGET size -u` shows what a packet costs, whatever its size."
                .to_owned(),
        ),
    };
    Some(ScoredFinding {
        weight: 0.9,
        finding: Finding {
            cause,
            confidence,
            summary: format!("{shown} {why}"),
            evidence: evidence([
                ("to_device_bytes_per_s", rates.to),
                ("from_device_bytes_per_s", rates.from),
                ("to_device_at_once_bytes_per_s", rates.to_at_once),
                ("from_device_at_once_bytes_per_s", rates.from_at_once),
                ("standard_bits_per_s", line.unwrap_or(0.0)),
            ]),
            advice,
        },
    })
}

/// True if a radio link is on the path, as far as this machine can see.
fn may_be_radio(all: &[&Throughput]) -> bool {
    let links = all.iter().filter_map(|it| it.observation.link.as_ref());
    let samples = all
        .iter()
        .flat_map(|it| &it.observation.connections)
        .flat_map(|it| &it.samples);
    let shortest = samples.map(|it| it.min_rtt_ns).filter(|ns| *ns > 0).min();
    shortest.is_none_or(|ns| ns >= WIRED_NS)
        || links
            .into_iter()
            .any(|link| link.interface.starts_with(WIRELESS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_results::record::{
        CountedAt, Flow, HostLink, Ledger, Observation, TcpConnection, TcpSample,
        ThroughputMetrics, ThroughputParams,
    };

    const SPAN_NS: u64 = 4_000_000_000;

    /// A transfer with these rates in Mbit/s.
    fn transfer(
        to: Option<f64>,
        from: Option<f64>,
        interface: &str,
        min_rtt_ns: u64,
    ) -> Throughput {
        let flow = |mbit: f64| Flow::stream((mbit * 5e5) as u64, SPAN_NS, CountedAt::Host);
        let direction = match (to, from) {
            (Some(_), Some(_)) => Direction::Both,
            (None, _) => Direction::FromDevice,
            _ => Direction::ToDevice,
        };
        Throughput {
            params: ThroughputParams {
                direction,
                streams: 1,
                ..ThroughputParams::default()
            },
            metrics: ThroughputMetrics {
                to_device: to.map(flow),
                from_device: from.map(flow),
            },
            ledger: Ledger::default(),
            findings: Vec::new(),
            observation: Observation {
                connections: vec![TcpConnection {
                    samples: vec![TcpSample {
                        min_rtt_ns,
                        ..TcpSample::default()
                    }],
                    ..TcpConnection::default()
                }],
                link: Some(HostLink {
                    interface: interface.to_owned(),
                    ..HostLink::default()
                }),
                ..Observation::default()
            },
        }
    }

    fn found(alone: [f64; 2], at_once: [f64; 2], interface: &str) -> Option<Finding> {
        found_at(alone, at_once, interface, 160_000)
    }

    fn found_at(
        alone: [f64; 2],
        at_once: [f64; 2],
        interface: &str,
        min_rtt_ns: u64,
    ) -> Option<Finding> {
        let all = [
            transfer(Some(alone[0]), None, interface, min_rtt_ns),
            transfer(None, Some(alone[1]), interface, min_rtt_ns),
            transfer(Some(at_once[0]), Some(at_once[1]), interface, min_rtt_ns),
        ];
        let all: Vec<&Throughput> = all.iter().collect();
        evaluate(&all).map(|it| it.finding)
    }

    #[test]
    fn a_processor_shares_its_time_between_different_work() {
        let finding = found([29.98, 51.6], [17.36, 21.4], "eth0").expect("a finding");
        assert_eq!(finding.cause, Cause::MainThreadBound);
        assert!(
            finding.summary.contains("58% and 41%")
                && finding
                    .summary
                    .contains("the device's processor is the limit"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn a_processor_may_be_as_fast_in_both_directions() {
        let finding = found([13.61, 14.01], [6.39, 7.53], "eth0").expect("a finding");
        assert_eq!(finding.cause, Cause::MainThreadBound);
        assert!(finding.confidence < 0.7);
    }

    #[test]
    fn a_half_duplex_line_is_named_by_its_rate() {
        let finding = found([9.12, 7.9], [5.0, 3.9], "eth0").expect("a finding");
        assert_eq!(finding.cause, Cause::PathRate);
        assert!(
            finding.summary.contains("half-duplex line of 10 Mbit/s"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn a_medium_of_another_rate_is_not_told_from_a_processor() {
        for (interface, rtt_ns) in [("eth0", 2_300_000), ("wlan0", 700_000)] {
            let alone = [20.0, 30.0];
            let at_once = [alone[0] * 0.5, alone[1] * 0.45];
            let finding = found_at(alone, at_once, interface, rtt_ns);
            let finding = finding.expect("a finding");
            assert_eq!(finding.cause, Cause::PathRate);
            assert!(finding.summary.contains("a radio or another medium"));
        }
    }

    #[test]
    fn directions_that_do_not_share_give_nothing() {
        // Full duplex.
        assert!(found([94.1, 94.1], [90.0, 88.0], "eth0").is_none());
        // The acknowledgments of one direction wait in the other one's queue.
        assert!(found([9.4, 6.0], [9.2, 0.9], "eth0").is_none());
        assert!(found([9.4, 6.0], [9.1, 0.9], "eth0").is_none());
        // The resource may be this machine.
        assert!(found([9_000.0, 12_000.0], [5_000.0, 5_000.0], "eth0").is_none());
        // A rate in part: neither shared nor independent.
        assert!(found([50.0, 80.0], [40.0, 60.0], "eth0").is_none());
    }
}
