//! How iperf's server counts: the wait for a lost last datagram, and a process that is starved.

use serde::Deserialize;

use crate::point::{PAYLOAD, Point};

/// Times and lengths of the tests.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time before a measurement.
    pub settles_ms: u64,
    /// Time of a measurement.
    pub measures_ms: u64,
    /// The same with `--long`.
    pub long_measures_ms: u64,
    /// Seed of the host's bursts.
    pub seed: u64,
    /// Least rate as printed that is compared.
    pub floor_mbit_per_s: f64,
    /// Time for which the host sends.
    pub sends_for_s: f64,
    /// Time after which it repeats its last datagram.
    pub repeats_after_s: f64,
    /// Datagrams that a starved process reads at the end.
    pub starved_datagrams: u32,
    /// Standard deviation of a rate's logarithm, for the fit.
    pub fit_deviation: f64,
}

impl Run {
    /// The received rate without the time in which iperf's server only waited for the last datagram, in Mbit/s.
    pub fn rate(self, printed: f64, datagrams: f64) -> f64 {
        let sum = mbit(datagrams);
        let seconds = sum / printed;
        let waits = ((seconds - self.sends_for_s) / self.repeats_after_s).round();
        sum / (seconds - waits.max(0.0) * self.repeats_after_s)
    }

    /// The least received rate, in Mbit/s: that of a process without any time during the test.
    pub fn floor(self) -> f64 {
        mbit(self.starved_datagrams.into()) / self.repeats_after_s
    }

    /// The received rate that iperf reports for `point`. A process that is starved gets no time until the host stops:
    /// then it reads what its socket holds, and the last datagram.
    pub fn rate_of(self, point: &Point) -> f64 {
        if !point.is_starved {
            return point.received_mbit_per_s;
        }
        if point.received_in_all == 0 {
            return self.floor();
        }
        let all = point.received_in_all + u64::from(self.starved_datagrams);
        mbit(all as f64) / (self.sends_for_s - point.first_received_s)
    }
}

/// Payload of this many datagrams, in Mbit.
pub fn mbit(datagrams: f64) -> f64 {
    datagrams * 8.0 * PAYLOAD as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use crate::curves::{File, SETTINGS};
    use crate::point::Point;

    #[test]
    fn rates_leave_out_the_wait_for_the_last_datagram() {
        let file: File = toml::from_str(SETTINGS).unwrap();
        let rate = |printed, datagrams| file.run.rate(printed, datagrams).round() as u64;
        // In 2.25 s, in 2.00 s, and what a starved process read in 0.23 s.
        let rates = [
            rate(340.0, 65_077.0),
            rate(315.0, 53_553.0),
            rate(3.18, 63.0),
        ];
        assert_eq!(rates, [382, 315, 3]);
    }

    #[test]
    fn a_starved_process_is_counted_as_iperf_counts_it() {
        let file: File = toml::from_str(SETTINGS).unwrap();
        let tenths = |received_in_all, first_received_s| {
            let rate = file.run.rate_of(&Point {
                is_starved: true,
                received_in_all,
                first_received_s,
                ..Point::default()
            });
            (10.0 * rate).round() as u64
        };
        // At 800 the published process read 2,013 datagrams from 0.05 s on, and 63 at the end; at 1000 the latter only.
        assert_eq!([tenths(2_013, 0.05), tenths(0, 0.0)], [125, 30]);
        let served = Point {
            received_mbit_per_s: 300.0,
            received_in_all: 5,
            ..Point::default()
        };
        assert_eq!(file.run.rate_of(&served).round() as u64, 300);
    }
}
