//! Trials: the operations of targets that procedures are made of.

use std::time::Duration;

use linerate_results::record::{DeviceCounters, Direction, Flow, Observation};

use crate::machine::MachineRecord;

/// One measurement on a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// A stream of octets over TCP.
    Stream(Stream),
    /// Numbered datagrams over UDP.
    Datagrams(Datagrams),
    /// Requests and their answers.
    RoundTrips(RoundTrips),
    /// Numbered Ethernet frames.
    Frames(Frames),
}

/// When a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this time.
    Span(Duration),
    /// After this many octets of payload in each direction, all its streams together.
    Octets(u64),
}

impl Amount {
    /// The share of stream `at` of `streams`, if each is requested separately.
    #[must_use]
    pub fn share(self, at: u8, streams: u8) -> Self {
        let (at, streams) = (u64::from(at), u64::from(streams.max(1)));
        match self {
            Self::Span(span) => Self::Span(span),
            Self::Octets(all) => Self::Octets(all / streams + u64::from(at < all % streams)),
        }
    }
}

/// A stream of octets over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The direction.
    pub direction: Direction,
    /// The amount.
    pub amount: Amount,
    /// Connections in each direction.
    pub streams: u8,
    /// Octets of a write; 0 for the protocol's default.
    pub write_octets: u32,
    /// Socket buffers at this end (`SO_SNDBUF`, `SO_RCVBUF`), which limit its window; `None`: tuned
    /// by the system.
    pub window_octets: Option<u32>,
}

impl Stream {
    /// One connection in each direction, with defaults for everything else.
    #[must_use]
    pub const fn of(direction: Direction, amount: Amount) -> Self {
        Self {
            direction,
            amount,
            streams: 1,
            write_octets: 0,
            window_octets: None,
        }
    }
}

/// Numbered datagrams over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// The direction.
    pub direction: Direction,
    /// Duration or amount.
    pub amount: Amount,
    /// Octets of payload of each.
    pub payload_octets: u16,
    /// Payload offered in each direction; 0: as fast as possible.
    pub payload_bits_per_s: u64,
}

/// Requests at even intervals, and their answers.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    /// The number.
    pub count: u32,
    /// Interval between requests.
    pub interval: Duration,
    /// Octets of payload.
    pub payload_octets: u16,
    /// The concurrent load; `None`: idle.
    pub load: Option<Box<Trial>>,
}

/// Time that a load runs before the first request, if the requests last longer than that.
const HEAD_START: Duration = Duration::from_millis(500);

impl RoundTrips {
    /// Time that the load runs alone, to reach its full rate before the first request: half a second; less
    /// if all requests take less than a second.
    pub fn head_start(&self) -> Duration {
        HEAD_START.min(self.interval * self.count / 2)
    }

    /// Interval of `count` requests so that they and their head start fit into nine tenths of the load's
    /// duration: none is sent after its end.
    pub fn interval_within(load: Duration, count: u32) -> Duration {
        let long = (load * 9 / 10).saturating_sub(HEAD_START);
        long.max(load * 6 / 10) / count
    }
}

/// Numbered Ethernet frames at even intervals, toward the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// Octets of each, FCS included: 64 to 1518.
    pub octets: u16,
    /// The number.
    pub count: u64,
    /// Interval from start to start, nanoseconds; 0: back to back.
    pub interval_ns: f64,
    /// True if the device sends each one back with swapped addresses, false if it counts them.
    pub reflected: bool,
}

impl Trial {
    /// Short name of the trial.
    pub fn label(&self) -> String {
        match self {
            Self::Stream(stream) => format!("TCP {}", stream.direction.label()),
            Self::Datagrams(datagrams) => format!("UDP {}", datagrams.direction.label()),
            Self::RoundTrips(RoundTrips { load: None, .. }) => "round trips".to_owned(),
            Self::RoundTrips(RoundTrips {
                load: Some(load), ..
            }) => format!("round trips under {}", load.label()),
            Self::Frames(Frames {
                reflected: false, ..
            }) => "Ethernet frames".to_owned(),
            Self::Frames(_) => "reflected Ethernet frames".to_owned(),
        }
    }

    /// The same as part of a file's name.
    pub fn file_name(&self) -> String {
        self.label().to_lowercase().replace(' ', "-")
    }
}

/// Outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The flow received by the device.
    pub to_device: Option<Flow>,
    /// The flow sent by the device.
    pub from_device: Option<Flow>,
    /// Requests and answers.
    pub round_trips: Option<RoundTripReport>,
    /// Notes for the reader of the figures, a sentence each.
    pub notes: Vec<String>,
    /// Observations of this host.
    pub observation: Observation,
    /// Changes of the device's own counters during the transfer, where the target has access to them.
    pub device_counters: DeviceCounters,
    /// Record of the device's board; `None` unless the board is simulated.
    pub board: Option<MachineRecord>,
}

/// Results of round trips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTripReport {
    /// Requests sent.
    pub sent: u64,
    /// A sample for each answered request, in the order of the answers.
    pub samples: Vec<RoundTripSample>,
    /// Lost on the way to the device, and on the way back, if known.
    pub lost_forward: u64,
    /// See `lost_forward`.
    pub lost_backward: u64,
    /// Lost in an unknown direction.
    pub lost_unknown: u64,
    /// Answers received after one to a later request.
    pub out_of_order: u64,
    /// Duplicate answers.
    pub duplicates: u64,
}

/// An answered request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTripSample {
    /// When its request was sent, since the trial began.
    pub sent_ns: u64,
    /// Time from then until the answer arrived, without the processing time reported by the device.
    pub round_trip_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::{Amount, Duration, RoundTrips};

    #[test]
    fn shares_of_streams_add_up_to_the_amount() {
        let share = |at| Amount::Octets(100_001).share(at, 3);
        let octets = [33_334, 33_334, 33_333].map(Amount::Octets);
        assert_eq!([share(0), share(1), share(2)], octets);
    }

    #[test]
    fn requests_end_before_the_load() {
        for load_ms in [200, 600, 1_500, 2_000, 60_000] {
            let (load, count) = (Duration::from_millis(load_ms), 20);
            let asked = RoundTrips {
                count,
                interval: RoundTrips::interval_within(load, count),
                payload_octets: 64,
                load: None,
            };
            let (head_start, span) = (asked.head_start(), asked.interval * count);
            assert!(
                head_start >= load.min(Duration::from_secs(1)) / 4,
                "{load_ms}"
            );
            assert!(head_start + span <= load * 9 / 10, "{load_ms}");
            assert!(span >= load / 2, "{load_ms}");
        }
    }
}
