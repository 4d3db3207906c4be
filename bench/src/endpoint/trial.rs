//! What a target can be asked to do: the words that procedures are made of.

use std::time::Duration;

use linerate_results::record::{Direction, Flow};

/// One thing to be done with a target, and measured.
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

/// When a transfer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After so long.
    Span(Duration),
    /// After so many octets of payload in each direction, all streams of it together.
    Octets(u64),
}

impl Amount {
    /// What the stream `at` of so many is to carry, where each is asked for on its own.
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
    /// Which way.
    pub direction: Direction,
    /// How much.
    pub amount: Amount,
    /// Connections in each direction.
    pub streams: u8,
    /// Octets of a write; 0 for what the protocol has by default.
    pub write_octets: u32,
    /// This end's socket buffers (`SO_SNDBUF`, `SO_RCVBUF`), which bound its window; `None`: the
    /// system tunes them itself.
    pub window_octets: Option<u32>,
}

impl Stream {
    /// One connection each way, with everything else by default.
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
    /// Which way.
    pub direction: Direction,
    /// For how long, or how much.
    pub amount: Amount,
    /// Octets of payload of each.
    pub payload_octets: u16,
    /// Payload offered in each direction; 0: as fast as it goes.
    pub payload_bits_per_s: u64,
}

/// Requests at even intervals, and their answers.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    /// How many.
    pub count: u32,
    /// From one to the next.
    pub interval: Duration,
    /// Octets of payload.
    pub payload_octets: u16,
    /// What goes on at the same time; `None`: nothing.
    pub load: Option<Box<Trial>>,
}

/// A load goes on for so long before the first request, where the requests last longer than that.
const HEAD_START: Duration = Duration::from_millis(500);

impl RoundTrips {
    /// How long the load goes on alone, so that the requests find it at its full rate: half a second; less
    /// where all requests take less than a second.
    pub fn head_start(&self) -> Duration {
        HEAD_START.min(self.interval * self.count / 2)
    }

    /// From one of `count` requests to the next so that they and their head start fit into nine tenths of
    /// a load of this span: none is asked when it has ended.
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
    /// How many.
    pub count: u64,
    /// From the start of one to the start of the next, nanoseconds; 0: back to back.
    pub interval_ns: f64,
    /// Whether the device sends each one back, addresses swapped, or counts them.
    pub reflected: bool,
}

impl Trial {
    /// What it is, in a few words.
    pub fn label(&self) -> String {
        match self {
            Self::Stream(stream) => format!("TCP {}", stream.direction.words()),
            Self::Datagrams(datagrams) => format!("UDP {}", datagrams.direction.words()),
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
}

/// What a trial came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the device received.
    pub to_device: Option<Flow>,
    /// What the device sent.
    pub from_device: Option<Flow>,
    /// Requests and answers.
    pub round_trips: Option<RoundTripReport>,
    /// What a person should know who reads the figures, a sentence each.
    pub notes: Vec<String>,
}

/// RoundTripReport to requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTripReport {
    /// Requests sent.
    pub sent: u64,
    /// Of each one that was answered, in the order of the answers.
    pub samples: Vec<RoundTripSample>,
    /// Those that were lost on the way to the device, and on the way back, as far as it is known.
    pub lost_forward: u64,
    /// See `lost_forward`.
    pub lost_back: u64,
    /// Lost, nobody knows where.
    pub lost_either: u64,
    /// RoundTripReport behind one to a later request.
    pub out_of_order: u64,
    /// RoundTripReport that came again.
    pub duplicates: u64,
}

/// An answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTripSample {
    /// When its request was sent, since the trial began.
    pub sent_ns: u64,
    /// From then until it came, without the time that the device says to have taken.
    pub round_trip_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::{Amount, Duration, RoundTrips};

    #[test]
    fn streams_share_an_amount_without_a_rest() {
        let share = |at| Amount::Octets(100_001).share(at, 3);
        let octets = [33_334, 33_334, 33_333].map(Amount::Octets);
        assert_eq!([share(0), share(1), share(2)], octets);
    }

    #[test]
    fn requests_end_before_the_load_that_they_are_fitted_into() {
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
