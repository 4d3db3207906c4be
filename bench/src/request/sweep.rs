//! Sweeps as a user requests them: the quantity, its values and their defaults.

use std::time::Duration;

use linerate_results::record::{Direction, Transport};

use super::transfer::{DEFAULT_OFFERED_RATE, PAYLOAD_OCTETS, round_trips};
use super::{NamedDirections, RequestError};
use crate::procedure::latency::Latency;
use crate::procedure::packet_gaps::PacketGaps;
use crate::procedure::size_sweep::SizeSweep;
use crate::procedure::udp_sweep::{OfferedLoads, UdpSweep};
use crate::procedure::window_sweep::WindowSweep;
use crate::procedure::{CountersCommand, Procedure, RequestedProcedure, steps};

/// First load when searching the range of loads, bit/s.
const SEARCH_FROM: u64 = 500_000;
/// Range of TCP write sizes: from the size of headers to the largest window without scaling.
const WRITE_RANGE: [u64; 2] = [64, 65_536];
/// Range of datagram sizes: up to what fits in an Ethernet frame.
const DATAGRAM_RANGE: [u64; 2] = [64, PAYLOAD_OCTETS as u64];
/// Range of windows: from a small device's to one that saturates links of this kind.
const WINDOW_RANGE: [u64; 2] = [4_096, 1_048_576];
/// The largest datagram payload, octets (RFC 768 over RFC 791).
const MAX_DATAGRAM: u64 = 65_507;
/// Maximum number of values.
const MAX_VALUES: u64 = 1_000;

/// Quantity of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepQuantity {
    /// UDP rate: knee, saturation, collapse.
    Load,
    /// Send size in octets: fixed cost per send.
    Size,
    /// TCP window, set by this end's socket buffers.
    Window,
    /// Datagram size: gaps between arriving datagrams.
    Gaps,
    /// UDP load: round-trip times.
    Latency,
}

/// Values of a sweep from one to another.
#[derive(Clone, Copy, Debug)]
pub struct SweepValues {
    /// First value.
    pub from: u64,
    /// Last value.
    pub to: u64,
    /// Difference between values; in its place `steps` values if `None`.
    pub step: Option<u64>,
    /// Number of values, including both ends.
    pub steps: u32,
    /// A constant ratio between values instead of a constant difference.
    pub geometric: bool,
}

impl SweepValues {
    /// The values in increasing order.
    ///
    /// # Errors
    /// [`RequestError`] if they do not increase, are 0, or are too many.
    fn list(&self) -> Result<Vec<u64>, RequestError> {
        let (from, to) = (self.from, self.to);
        let error = |message: String| Err(RequestError(message));
        if from > to {
            return error(format!(
                "--from {from} exceeds --to {to}: values must increase"
            ));
        }
        if from == 0 {
            return error("--from must be greater than 0".to_owned());
        }
        Ok(match self.step {
            Some(0) => return error("--step must be greater than 0".to_owned()),
            Some(step) if (to - from) / step >= MAX_VALUES => {
                return error(format!(
                    "--step {step} results in more than {MAX_VALUES} trials"
                ));
            }
            Some(step) => steps::by_step(from, to, step),
            None if self.geometric => steps::by_factor(from, to, self.steps),
            None => steps::even(from, to, self.steps),
        })
    }
}

/// A sweep of one quantity.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The quantity.
    pub quantity: SweepQuantity,
    /// Its values; its default range if `None`.
    pub values: Option<SweepValues>,
    /// Directions; each separately if none is named.
    pub directions: NamedDirections,
    /// UDP instead of TCP, for sizes.
    pub udp: bool,
    /// Offered UDP rate, bit/s of payload, for sizes and gaps.
    pub bandwidth: Option<u64>,
    /// Payload of a datagram, octets, for loads.
    pub payload_octets: Option<u16>,
    /// Duration of each trial.
    pub span: Duration,
    /// Pause between trials, for queues to drain.
    pub settle: Duration,
    /// A command that prints the device's counters, read before and after each trial of a load sweep.
    pub counters: Option<String>,
}

impl SweepRequest {
    /// The procedures of the sweep.
    ///
    /// # Errors
    /// [`RequestError`] if the values are out of range, or missing where there is no default.
    pub fn procedures(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        match self.quantity {
            SweepQuantity::Load => self.load(),
            SweepQuantity::Size => self.size(),
            SweepQuantity::Window => self.window(),
            SweepQuantity::Gaps => self.gaps(),
            SweepQuantity::Latency => self.latency(),
        }
    }

    fn values(&self) -> Result<Option<Vec<u64>>, RequestError> {
        self.values.as_ref().map(SweepValues::list).transpose()
    }

    /// The requested values, else powers of two from `low` to `high`; an error above `max`.
    fn sizes(&self, [low, high]: [u64; 2], max: u64) -> Result<Vec<u64>, RequestError> {
        let doubled = || {
            let mut sizes: Vec<u64> = std::iter::successors(Some(low), |size| Some(size * 2))
                .take_while(|size| *size < high)
                .collect();
            sizes.push(high);
            sizes
        };
        let sizes = self.values()?.unwrap_or_else(doubled);
        match sizes.iter().find(|size| **size > max) {
            Some(size) => Err(RequestError(format!(
                "{size} octets exceed the maximum of {max}"
            ))),
            None => Ok(sizes),
        }
    }

    /// One procedure for each direction, so that an unsupported one does not affect the other.
    fn each_way<P: Procedure + 'static>(
        &self,
        procedure: impl Fn(Direction) -> P,
    ) -> Vec<RequestedProcedure> {
        let (directions, is_required) = self.directions.resolve();
        let requested = |direction| RequestedProcedure {
            procedure: Box::new(procedure(direction)),
            is_required,
        };
        directions.into_iter().map(requested).collect()
    }

    fn load(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        let searched = || OfferedLoads::Searched { from: SEARCH_FROM };
        let offers = self.values()?.map_or_else(searched, OfferedLoads::Listed);
        Ok(self.each_way(|direction| UdpSweep {
            directions: vec![direction],
            offers: offers.clone(),
            span: self.span,
            payload_octets: self.payload_octets.unwrap_or(PAYLOAD_OCTETS),
            settle: self.settle,
            counters: self.counters.clone().map(CountersCommand),
        }))
    }

    fn size(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        let (transport, range, max) = if self.udp {
            (Transport::Udp, DATAGRAM_RANGE, MAX_DATAGRAM)
        } else {
            (Transport::Tcp, WRITE_RANGE, 1 << 30)
        };
        let sizes: Vec<u32> = self
            .sizes(range, max)?
            .iter()
            .map(|it| *it as u32)
            .collect();
        Ok(self.each_way(|direction| SizeSweep {
            transport,
            direction,
            sizes: sizes.clone(),
            span: self.span,
            payload_bits_per_s: self.bandwidth.unwrap_or(DEFAULT_OFFERED_RATE),
            settle: self.settle,
        }))
    }

    fn window(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        let sizes = self.sizes(WINDOW_RANGE, 1_000_000_000)?;
        let windows: Vec<u32> = sizes.iter().map(|it| *it as u32).collect();
        Ok(self.each_way(|direction| WindowSweep {
            direction,
            windows: windows.clone(),
            span: self.span,
            settle: self.settle,
        }))
    }

    /// Gaps of datagrams sent by the device, unless the other direction is named, where the device must report
    /// them.
    fn gaps(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        let sizes = self.sizes(DATAGRAM_RANGE, MAX_DATAGRAM)?;
        let direction = if self.directions.forward {
            Direction::ToDevice
        } else {
            Direction::FromDevice
        };
        Ok(vec![RequestedProcedure {
            procedure: Box::new(PacketGaps {
                direction,
                sizes: sizes.iter().map(|it| *it as u16).collect(),
                span: self.span,
                payload_bits_per_s: self.bandwidth.unwrap_or(DEFAULT_OFFERED_RATE),
                settle: self.settle,
            }),
            is_required: true,
        }])
    }

    fn latency(&self) -> Result<Vec<RequestedProcedure>, RequestError> {
        let Some(offers) = self.values()? else {
            return Err(RequestError(
                "latency requires a range of loads such as --from 1M --to 10M; `linerate latency` measures idle \
                 and loaded only"
                    .to_owned(),
            ));
        };
        let (directions, _) = self.directions.resolve();
        Ok(vec![RequestedProcedure {
            procedure: Box::new(Latency::over_loads(
                round_trips(self.span),
                &directions,
                &offers,
            )),
            is_required: true,
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(quantity: SweepQuantity, values: Option<(u64, u64, Option<u64>)>) -> SweepRequest {
        SweepRequest {
            quantity,
            values: values.map(|(from, to, step)| SweepValues {
                from,
                to,
                step,
                steps: 10,
                geometric: false,
            }),
            directions: NamedDirections::default(),
            udp: false,
            bandwidth: None,
            payload_octets: None,
            span: Duration::from_secs(2),
            settle: Duration::ZERO,
            counters: None,
        }
    }

    fn error(quantity: SweepQuantity, values: Option<(u64, u64, Option<u64>)>) -> String {
        match request(quantity, values).procedures() {
            Ok(procedures) => panic!("{} procedures", procedures.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_that_make_no_sweep_are_rejected_with_the_reason() {
        let load = |from, to, step| error(SweepQuantity::Load, Some((from, to, step)));
        assert!(load(2, 1, None).contains("values must increase"));
        assert!(load(0, 1, None).contains("greater than 0"));
        assert!(load(1, 9, Some(0)).contains("--step must be greater than 0"));
        assert!(load(1, 5_000, Some(1)).contains("more than 1000 trials"));
        assert!(error(SweepQuantity::Latency, None).contains("requires a range of loads"));
        let gaps = error(SweepQuantity::Gaps, Some((64, 70_000, None)));
        assert!(gaps.contains("exceed the maximum of 65507"), "{gaps}");
    }

    #[test]
    fn each_direction_is_a_procedure_of_its_own() {
        let request = request(SweepQuantity::Window, None);
        let procedures = request.procedures().expect("default values");
        assert_eq!(procedures.len(), 2);
        assert!(procedures.iter().all(|it| !it.is_required));
        let mut named = request;
        named.directions.reverse = true;
        let procedures = named.procedures().expect("default values");
        assert_eq!(procedures.len(), 1);
        assert!(procedures[0].is_required);
    }
}
