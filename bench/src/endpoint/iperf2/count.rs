//! Conversion of iperf 2's figures.

use std::time::Duration;

use linerate_agent::iperf2::{Client, Report};
use linerate_results::record::{self, CountedAt, Direction, Flow, Interval};

use crate::endpoint::client::FinishedClient;
use crate::endpoint::plausible::{self, Requested, Sent};
use crate::endpoint::{Amount, CANCELLED, Datagrams, Outcome, Stream};

/// Interval at which the datagram that ends a stream is repeated.
const END_INTERVAL: Duration = Duration::from_millis(250);

/// Total of streams that ran in parallel.
///
/// # Errors
/// A count that cannot be, or nothing was transferred.
pub(in crate::endpoint) fn streams(
    finished: Vec<FinishedClient<Client>>,
    asked: &Stream,
) -> Result<Outcome, String> {
    let direction = asked.direction;
    let mut to = Total::default();
    let mut from = Total::default();
    let mut acked = Some(0);
    let mut elapsed_ns = 0;
    let mut is_cancelled = false;
    let mut outcome = Outcome::default();
    for mut one in finished {
        acked = acked.zip(one.acked_octets()).map(|(sum, one)| sum + one);
        elapsed_ns = elapsed_ns.max(one.ended.ns());
        is_cancelled |= one.is_cancelled;
        let connections = &mut outcome.observation.connections;
        connections.append(&mut one.connections);
        let counted = one.service.outcome(one.ended);
        if let Some(sent) = counted.sent {
            // The server does not report what it received. It closes the connection once it has all
            // data: the time ends then, not when the last octet was written to the socket.
            let span = counted.read_after.unwrap_or(sent.span);
            let span_ns = span.as_nanos() as u64;
            to.add(sent.octets, span_ns, one.to_device);
        }
        if let Some(received) = counted.received {
            let span_ns = received.span.as_nanos() as u64;
            from.add(received.octets, span_ns, one.from_device);
        }
    }
    let notes = &mut outcome.notes;
    if direction != Direction::FromDevice
        && let Some(flow) = to.flow()
    {
        let flow = if is_cancelled {
            Ok(cut(flow))
        } else {
            plausible::acknowledged(flow, acked, notes)
        };
        outcome.to_device = Some(flow?);
    }
    if direction != Direction::ToDevice
        && let Some(flow) = from.flow()
    {
        let flow = if is_cancelled {
            Ok(cut(flow))
        } else {
            plausible::received(flow, requested(asked.amount), elapsed_ns, notes)
        };
        outcome.from_device = Some(flow?);
    }
    note_cancelled(&mut outcome, is_cancelled);
    Ok(outcome)
}

/// A flow that the user cancelled.
fn cut(flow: Flow) -> Flow {
    Flow {
        is_cut: true,
        ..flow
    }
}

/// The request as the counts are held against.
pub(in crate::endpoint) fn requested(amount: Amount) -> Requested {
    match amount {
        Amount::Span(span) => Requested {
            span_ns: span.as_nanos() as u64,
            ..Requested::default()
        },
        Amount::Octets(octets) => Requested {
            octets,
            ..Requested::default()
        },
    }
}

/// The request of datagrams.
pub(in crate::endpoint) fn requested_datagrams(asked: &Datagrams) -> Requested {
    Requested {
        payload_octets: u64::from(asked.payload_octets),
        bits_per_s: asked.payload_bits_per_s,
        ..requested(asked.amount)
    }
}

#[derive(Default)]
struct Total {
    is_some: bool,
    octets: u64,
    span_ns: u64,
    intervals: Vec<Interval>,
}

impl Total {
    fn add(&mut self, octets: u64, span_ns: u64, intervals: Vec<Interval>) {
        self.is_some = true;
        self.octets += octets;
        self.span_ns = self.span_ns.max(span_ns);
        if self.intervals.is_empty() {
            self.intervals = intervals;
            return;
        }
        for (sum, more) in self.intervals.iter_mut().zip(intervals) {
            sum.octets += more.octets;
        }
    }

    fn flow(self) -> Option<Flow> {
        self.is_some.then(|| Flow {
            intervals: self.intervals,
            ..Flow::stream(self.octets, self.span_ns, CountedAt::Host)
        })
    }
}

/// The datagrams of one test.
///
/// # Errors
/// A count that cannot be.
pub(in crate::endpoint) fn datagrams(
    finished: FinishedClient<Client>,
    asked: &Datagrams,
) -> Result<Outcome, String> {
    let counted = finished.service.outcome(finished.ended);
    let elapsed_ns = finished.ended.ns();
    let mut outcome = Outcome::default();
    let notes = &mut outcome.notes;
    if asked.direction != Direction::FromDevice
        && let Some(report) = counted.reported
    {
        let sent = counted.sent.unwrap_or_default();
        let report = without_repeated_end(report, sent.span, counted.repeated_end);
        let flow = Flow {
            intervals: finished.to_device,
            ..flow(with_losses(report, notes), CountedAt::Device, [None; 2])
        };
        let sent = Sent {
            octets: sent.octets,
            datagrams: u64::from(sent.datagrams),
            span_ns: sent.span.as_nanos() as u64,
        };
        outcome.to_device = Some(plausible::reported(flow, sent, elapsed_ns, notes)?);
    }
    if asked.direction != Direction::ToDevice
        && let Some(report) = counted.received
    {
        let flow = Flow {
            intervals: finished.from_device,
            gaps: finished.gaps,
            ..flow(
                report,
                CountedAt::Host,
                [Some(counted.received_duplicates), finished.dropped],
            )
        };
        let flow = if finished.is_cancelled {
            Ok(cut(flow))
        } else {
            plausible::received(flow, requested_datagrams(asked), elapsed_ns, notes)
        };
        outcome.from_device = Some(flow?);
    }
    note_cancelled(&mut outcome, finished.is_cancelled);
    Ok(outcome)
}

/// A server that takes duplicates for late datagrams subtracts them from its losses, also below zero: the field is
/// signed there.
fn with_losses(report: Report, notes: &mut Vec<String>) -> Report {
    let lost = report.lost.cast_signed();
    if lost >= 0 || lost.unsigned_abs() > report.out_of_order {
        return report;
    }
    notes.push(format!(
        "the device counts {lost} lost datagrams, as it takes duplicates for late ones: taken as none"
    ));
    Report { lost: 0, ..report }
}

/// Subtracts the time for which the end of the stream was repeated from the server's time, as far as that exceeds
/// the time of sending: the server's clock runs until an end arrives, and ends are lost where a queue is full. The
/// datagrams do not take longer for it.
fn without_repeated_end(report: Report, sent: Duration, repeated: Duration) -> Report {
    let excess = report.span.saturating_sub(sent);
    // Whole repetitions only: the rest is the time in which a queue drained.
    let steps = (excess.as_nanos() / END_INTERVAL.as_nanos()) as u32;
    let waited = (END_INTERVAL * steps).min(repeated);
    Report {
        span: report.span.saturating_sub(waited),
        ..report
    }
}

/// `duplicates` and `dropped` by this host, if known.
fn flow(report: Report, counted_by: CountedAt, [duplicates, dropped]: [Option<u64>; 2]) -> Flow {
    let (sent, lost) = (u64::from(report.datagrams), u64::from(report.lost));
    let datagrams = record::Datagrams {
        sent,
        received: sent.saturating_sub(lost),
        lost,
        out_of_order: Some(u64::from(report.out_of_order)),
        duplicates,
        jitter_ns: Some(report.jitter.as_nanos() as u64),
        // Packets to the socket other than the test's may be dropped, too.
        lost_by_host: dropped.map(|dropped| dropped.min(lost)),
    };
    let span_ns = report.span.as_nanos() as u64;
    Flow::datagrams(report.octets, span_ns, counted_by, datagrams)
}

fn note_cancelled(outcome: &mut Outcome, is_cancelled: bool) {
    if is_cancelled {
        outcome.notes.push(CANCELLED.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_ms(reported: u64, repeated: u64) -> u128 {
        let report = Report {
            span: Duration::from_millis(reported),
            ..Report::default()
        };
        let sent = Duration::from_secs(2);
        let corrected = without_repeated_end(report, sent, Duration::from_millis(repeated));
        corrected.span.as_millis()
    }

    #[test]
    fn the_time_of_lost_ends_is_no_time_of_the_stream() {
        // The first end arrived; the queue drained in 60 ms.
        assert_eq!(span_ms(2_060, 0), 2_060);
        // The second one did.
        assert_eq!(span_ms(2_310, 250), 2_060);
        assert_eq!(span_ms(2_810, 750), 2_060);
        // The end arrived, but its answer was lost.
        assert_eq!(span_ms(2_060, 500), 2_060);
        // A receiver that takes the time of the last datagram.
        assert_eq!(span_ms(1_990, 500), 1_990);
    }
}
