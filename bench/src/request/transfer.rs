//! Transfers and round trips as a user requests them.

use std::time::Duration;

use linerate_results::record::Direction;

use super::NamedDirections;
use crate::endpoint::{Amount, Datagrams, RoundTrips, Stream, Target, Trial};
use crate::procedure::RequestedProcedure;
use crate::procedure::latency::Latency;
use crate::procedure::throughput::Throughput;

/// Default datagram payload of iperf, which fits in an Ethernet frame.
pub(super) const PAYLOAD_OCTETS: u16 = 1_470;
/// Default offered UDP rate, bit/s, as in iperf.
pub(super) const DEFAULT_OFFERED_RATE: u64 = 1_000_000;
/// Interval between requests.
const REQUEST_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum duration of round-trip measurements.
const MAX_ROUND_TRIP_SPAN: Duration = Duration::from_secs(10);
/// Payload of a STAMP packet (RFC 8762 section 4.2.1), octets.
const REQUEST_OCTETS: u16 = 44;

/// Round trips for about `span`.
pub(super) fn round_trips(span: Duration) -> RoundTrips {
    let span = span.min(MAX_ROUND_TRIP_SPAN);
    RoundTrips {
        count: (span.as_millis() / REQUEST_INTERVAL.as_millis()) as u32,
        interval: REQUEST_INTERVAL,
        payload_octets: REQUEST_OCTETS,
        load: None,
    }
}

/// Transfers in each direction, with round trips beside them.
#[derive(Clone, Copy, Debug)]
pub struct TransferRequest {
    /// Directions; without any, each separately, then both at once.
    pub directions: NamedDirections,
    /// Both directions at once.
    pub bidirectional: bool,
    /// UDP instead of TCP.
    pub udp: bool,
    /// Duration of each transfer, unless `bytes` are given.
    pub span: Duration,
    /// Octets of payload of each transfer.
    pub bytes: Option<u64>,
    /// Octets of a datagram or of a TCP write.
    pub length: Option<u32>,
    /// Offered UDP rate, bit/s of payload.
    pub bandwidth: Option<u64>,
    /// Parallel TCP connections.
    pub streams: u8,
    /// Size of the socket buffers, octets.
    pub window: Option<u32>,
    /// A probe was requested: round trips are measured also if directions are named, and during each transfer.
    pub has_probe: bool,
}

impl TransferRequest {
    fn is_named(&self) -> bool {
        self.directions.forward || self.directions.reverse || self.bidirectional
    }

    /// The transfers, then round trips if `target` supports them, and either a probe was requested or no direction
    /// was named. With named directions, only these are loaded.
    pub fn procedures(&self, target: &dyn Target) -> Vec<RequestedProcedure> {
        let mut procedures = self.transfers();
        procedures.extend(self.latency(target));
        procedures
    }

    /// By default each direction separately, then both.
    fn transfers(&self) -> Vec<RequestedProcedure> {
        let is_named = self.is_named();
        let directions = [
            (self.directions.forward || !is_named, Direction::ToDevice),
            (self.directions.reverse || !is_named, Direction::FromDevice),
            (self.bidirectional || !is_named, Direction::Both),
        ];
        let chosen = directions.into_iter().filter(|(is_chosen, _)| *is_chosen);
        chosen
            .map(|(_, direction)| RequestedProcedure {
                procedure: Box::new(Throughput {
                    trial: self.trial(direction),
                    probe: self.has_probe.then(|| round_trips(self.span)),
                }),
                is_required: is_named,
            })
            .collect()
    }

    fn trial(&self, direction: Direction) -> Trial {
        let amount = match self.bytes {
            Some(octets) => Amount::Octets(octets),
            None => Amount::Span(self.span),
        };
        if self.udp {
            Trial::Datagrams(Datagrams {
                direction,
                amount,
                payload_octets: self.length.map_or(PAYLOAD_OCTETS, |length| length as u16),
                payload_bits_per_s: self.bandwidth.unwrap_or(DEFAULT_OFFERED_RATE),
            })
        } else {
            Trial::Stream(Stream {
                direction,
                amount,
                streams: self.streams,
                write_octets: self.length.unwrap_or(0),
                window_octets: self.window,
            })
        }
    }

    /// Round trips idle and under load.
    fn latency(&self, target: &dyn Target) -> Option<RequestedProcedure> {
        let round_trips = round_trips(self.span);
        let can = target
            .supports(&Trial::RoundTrips(round_trips.clone()))
            .is_ok();
        if !can || (self.is_named() && !self.has_probe) {
            return None;
        }
        let mut latency = Latency::idle_and_loaded(round_trips);
        if self.is_named() && !self.bidirectional {
            let directions = self.directions;
            latency.loads.retain(|load| match load.direction {
                Direction::FromDevice => directions.reverse,
                _ => directions.forward,
            });
        }
        Some(RequestedProcedure {
            procedure: Box::new(latency),
            is_required: self.has_probe,
        })
    }
}

/// Round trips idle and under load.
#[derive(Clone, Copy, Debug)]
pub struct LatencyRequest {
    /// Requests when idle, and under each load.
    pub count: u32,
    /// Interval between requests.
    pub interval: Duration,
    /// Payload of a request, octets.
    pub payload_octets: u16,
    /// Without load only.
    pub idle: bool,
}

impl LatencyRequest {
    /// The procedure, without loads if `target` supports none.
    pub fn procedures(&self, target: &dyn Target) -> Vec<RequestedProcedure> {
        let mut procedure = Latency::idle_and_loaded(RoundTrips {
            count: self.count,
            interval: self.interval,
            payload_octets: self.payload_octets,
            load: None,
        });
        let is_loaded = !self.idle && procedure.supports_any_load(target);
        if !is_loaded {
            procedure.loads.clear();
        }
        vec![RequestedProcedure {
            procedure: Box::new(procedure),
            is_required: true,
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::scripted::Scripted;

    fn request(reverse: bool, has_probe: bool) -> TransferRequest {
        TransferRequest {
            directions: NamedDirections {
                forward: false,
                reverse,
            },
            bidirectional: false,
            udp: false,
            span: Duration::from_secs(1),
            bytes: None,
            length: None,
            bandwidth: None,
            streams: 1,
            window: None,
            has_probe,
        }
    }

    fn labels(reverse: bool, has_probe: bool) -> Vec<(String, bool)> {
        let target = Scripted::new(|_| Err("not run"));
        let procedures = request(reverse, has_probe).procedures(&target);
        let label = |it: &RequestedProcedure| (it.procedure.label(), it.is_required);
        procedures.iter().map(label).collect()
    }

    #[test]
    fn a_probe_is_used_also_if_a_direction_is_named() {
        let from = ("TCP from the device".to_owned(), true);
        assert_eq!(labels(true, false).len(), 1);
        assert_eq!(labels(true, true), [from, ("latency".to_owned(), true)]);
        assert_eq!(labels(false, true).len(), 4);
    }
}
