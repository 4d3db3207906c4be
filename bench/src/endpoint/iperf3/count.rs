//! Conversion of iperf 3's figures.

use std::time::Duration;

use linerate_agent::iperf3::{self, Client, Count, Test};
use linerate_results::record::{self, CountedAt, Flow, Interval, Observation};

use super::STREAMS;
use crate::endpoint::client::FinishedClient;
use crate::endpoint::plausible::{self, Requested, Sent};
use crate::endpoint::{CANCELLED, Outcome};

/// A queue that drains for this multiple of the settling time delays the end of the test, too.
const DRAINED: u32 = 2;

/// Subtracts the time between the last datagram and the end of the test, which the client announces, from the server's
/// time. If a queue was full, or still drains when the end is announced, its datagrams arrive in that time.
fn without_settling(count: Count, sent: Duration, rtt: Duration) -> Count {
    let waited = count.span.saturating_sub(sent + rtt);
    if count.lost > 0 || waited >= iperf3::UDP_SETTLE * DRAINED {
        return count;
    }
    let span = count.span.saturating_sub(iperf3::UDP_SETTLE).max(sent);
    Count {
        span: span.min(count.span),
        ..count
    }
}

/// The outcome of a test.
///
/// # Errors
/// A count that cannot be, or nothing was transferred.
pub(super) fn counted(
    finished: FinishedClient<Client<STREAMS>>,
    test: &Test,
) -> Result<Outcome, String> {
    let udp = test.udp;
    let outcome = finished.service.outcome(finished.ended);
    let elapsed_ns = finished.ended.ns();
    let samples = finished.connections.iter().flat_map(|it| &it.samples);
    let rtt = samples.map(|it| it.min_rtt_ns).filter(|ns| *ns > 0).min();
    let rtt = Duration::from_nanos(rtt.unwrap_or(0));
    let mut notes = Vec::new();
    let mut to_device = None;
    if let Some(sent) = outcome.sent {
        to_device = Some(match outcome.reported {
            Some(count) => {
                let count = if udp {
                    without_settling(count, sent.span, rtt)
                } else {
                    count
                };
                let flow = flow(count, udp, CountedAt::Device, finished.to_device);
                let ours = Sent {
                    octets: sent.octets,
                    datagrams: sent.datagrams,
                    span_ns: sent.span.as_nanos() as u64,
                };
                plausible::reported(flow, ours, elapsed_ns, &mut notes)?
            }
            // Without the server's results, only if the user cancelled.
            None => flow(sent, udp, CountedAt::Host, finished.to_device),
        });
    }
    let sent = outcome.sent.map_or(0, |sent| sent.datagrams);
    let counted_by_server = outcome.reported.map_or(sent, |it| it.datagrams);
    if udp && sent > counted_by_server {
        notes.push(format!(
            "{} of {sent} datagrams were still in transit when the server counted: they are neither \
             received nor lost",
            sent - counted_by_server
        ));
    }
    let mut from_device = outcome.received.map(|count| Flow {
        gaps: finished.gaps,
        ..flow(count, udp, CountedAt::Host, finished.from_device)
    });
    if let Some(datagrams) = from_device.as_mut().and_then(|it| it.datagrams.as_mut()) {
        // A hello may be dropped, too.
        datagrams.lost_by_host = finished.dropped.map(|dropped| dropped.min(datagrams.lost));
    }
    if finished.is_cancelled {
        notes.push(CANCELLED.to_owned());
        for flow in [&mut to_device, &mut from_device].into_iter().flatten() {
            flow.is_cut = true;
        }
    } else if let Some(flow) = from_device {
        let flow = plausible::received(flow, requested(test), elapsed_ns, &mut notes)?;
        from_device = Some(flow);
    }
    Ok(Outcome {
        to_device,
        from_device,
        notes,
        observation: Observation {
            connections: finished.connections,
            ..Observation::default()
        },
        ..Outcome::default()
    })
}

fn requested(test: &Test) -> Requested {
    let mut requested = Requested {
        payload_octets: u64::from(test.octets),
        bits_per_s: test.rate_bits_per_s,
        ..Requested::default()
    };
    match test.amount {
        iperf3::Amount::Span(span) => requested.span_ns = span.as_nanos() as u64,
        iperf3::Amount::Octets(octets) => requested.octets = octets,
        iperf3::Amount::Blocks(_) => {}
    }
    requested
}

fn flow(count: Count, udp: bool, counted_by: CountedAt, intervals: Vec<Interval>) -> Flow {
    let span_ns = count.span.as_nanos() as u64;
    let flow = if udp {
        // The server's results have neither out-of-order nor duplicate datagrams.
        let is_ours = counted_by == CountedAt::Host;
        let datagrams = record::Datagrams {
            sent: count.datagrams,
            received: count.datagrams.saturating_sub(count.lost),
            lost: count.lost,
            out_of_order: is_ours.then_some(count.out_of_order),
            duplicates: is_ours.then_some(count.duplicates),
            jitter_ns: Some(count.jitter.as_nanos() as u64),
            lost_by_host: None,
        };
        // The time is the whole test's, from before the first datagram.
        Flow {
            datagrams: Some(datagrams),
            ..Flow::stream(count.octets, span_ns, counted_by)
        }
    } else {
        Flow::stream(count.octets, span_ns, counted_by)
    };
    Flow { intervals, ..flow }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_before_the_end_is_announced_is_no_time_of_the_stream() {
        let span_over = |lost, server, sent, rtt| {
            let count = Count {
                lost,
                span: Duration::from_millis(server),
                ..Count::default()
            };
            let [sent, rtt] = [sent, rtt].map(Duration::from_millis);
            without_settling(count, sent, rtt).span.as_millis()
        };
        let span_ms = |lost, server, sent| span_over(lost, server, sent, 0);
        assert_eq!(span_ms(0, 2_025, 2_000), 2_005);
        assert_eq!(span_ms(0, 2_015, 2_000), 2_000);
        assert_eq!(span_ms(0, 1_990, 2_000), 1_990);
        // The queue was full: it drained in that time.
        assert_eq!(span_ms(9, 2_060, 2_000), 2_060);
        // It was not full, but still drained.
        assert_eq!(span_ms(0, 2_088, 2_000), 2_088);
        // The end travels for a round trip of a long path.
        assert_eq!(span_over(0, 2_120, 2_000, 100), 2_100);
    }
}
