//! The longest time that a trial takes, whatever the device does.
//!
//! A protocol's timeout starts again with each octet that arrives: a device that sends one octet a second, or never
//! ends, would hold a trial for ever.

use std::time::Duration;

use super::{Amount, Datagrams, RoundTrips, Trial};

/// Time beyond the requested one, and beyond two timeouts: repeated ends of a stream (3 s in iperf 2), and queues that
/// drain.
pub(super) const SETTLING: Duration = Duration::from_secs(4);
/// Timeouts in a row that a device may use up: for the connection, and for the end.
const TIMEOUTS: u32 = 2;
/// Lowest rate at which a requested amount is waited for, bytes a second.
const MIN_RATE: u64 = 1_000;

/// The longest time of `trial` with `timeout` for each answer.
pub(super) fn of(trial: &Trial, timeout: Duration) -> Duration {
    limit(requested(trial), timeout)
}

/// The longest time of a trial that was requested for `span`.
pub(super) fn limit(span: Duration, timeout: Duration) -> Duration {
    span.saturating_add(timeout * TIMEOUTS)
        .saturating_add(SETTLING)
}

/// Time for which the trial was requested.
fn requested(trial: &Trial) -> Duration {
    match trial {
        Trial::Stream(stream) => span(stream.amount, MIN_RATE),
        Trial::Datagrams(datagrams) => datagrams_span(datagrams),
        Trial::RoundTrips(RoundTrips {
            count,
            interval,
            load,
            ..
        }) => {
            let load = load.as_deref().map_or(Duration::ZERO, requested);
            load.max(*interval * *count)
        }
        Trial::Frames(frames) => {
            Duration::from_secs_f64((frames.count as f64 * frames.interval_ns / 1e9).min(1e9))
        }
    }
}

/// Time of datagrams.
pub(super) fn datagrams_span(asked: &Datagrams) -> Duration {
    span(asked.amount, (asked.payload_bits_per_s / 8).max(MIN_RATE))
}

/// Time of the amount, at this rate if it is in octets.
fn span(amount: Amount, bytes_per_s: u64) -> Duration {
    match amount {
        Amount::Span(span) => span,
        Amount::Octets(octets) => Duration::from_secs(octets.div_ceil(bytes_per_s)),
    }
}

/// Time of a stream.
pub(super) fn stream_span(amount: Amount) -> Duration {
    span(amount, MIN_RATE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Stream;
    use linerate_results::record::Direction;

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn seconds(trial: &Trial) -> u64 {
        of(trial, TIMEOUT).as_secs()
    }

    fn stream(amount: Amount) -> Trial {
        Trial::Stream(Stream::of(Direction::ToDevice, amount))
    }

    #[test]
    fn each_trial_has_a_longest_time() {
        assert_eq!(seconds(&stream(Amount::Span(Duration::from_secs(5)))), 15);
        assert_eq!(seconds(&stream(Amount::Octets(20_000))), 30);
        let datagrams = |payload_bits_per_s| {
            Trial::Datagrams(Datagrams {
                direction: Direction::ToDevice,
                amount: Amount::Octets(1_000_000),
                payload_octets: 1_000,
                payload_bits_per_s,
            })
        };
        assert_eq!(seconds(&datagrams(1_000_000)), 18);
        assert_eq!(seconds(&datagrams(1)), 1_010);
        let round_trips = |load| {
            Trial::RoundTrips(RoundTrips {
                count: 100,
                interval: Duration::from_millis(20),
                payload_octets: 44,
                load,
            })
        };
        assert_eq!(seconds(&round_trips(None)), 12);
        let load = stream(Amount::Span(Duration::from_secs(7)));
        assert_eq!(seconds(&round_trips(Some(Box::new(load)))), 17);
    }
}
