//! Counts of a device, held against those of this host and against the time.
//!
//! A device's counters may be wrong: not initialized, of another width, of another test. A count that cannot be is
//! refused with the reason; a time that cannot be is replaced by this host's, with a note.

use linerate_results::format;
use linerate_results::record::Flow;

/// Payload that no link of this host carries in the time: bits a second.
const MAX_BITS_PER_S: f64 = 400e9;
/// Tolerance of a device's clock, and of the time between its measurement and this host's.
const CLOCK_TOLERANCE: f64 = 1.1;
const CLOCK_SLACK_NS: u64 = 100_000_000;
/// A receiver's time may be shorter than the sender's by this factor: a queue on the path compresses gaps.
const MIN_SPAN_SHARE: f64 = 0.8;
/// Below this time, a replaced time is not worth a note: bursts are compressed by every queue.
const NOTED_SPAN_NS: f64 = 100e6;
/// A stream shorter than this has no rate of its own: it came out of one buffer.
const MIN_STREAM_NS: u64 = 1_000_000;
/// Datagrams beyond the expected number that are not yet impossible.
const SLACK_DATAGRAMS: f64 = 64.0;

/// A flow to the device, as this host sent it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) octets: u64,
    /// 0 for a stream.
    pub(super) datagrams: u64,
    pub(super) span_ns: u64,
}

/// The flow as the device reports it, if it received at most what was `sent`, within `elapsed_ns` since the start of
/// the test. Remarks on the figures are added to it.
///
/// # Errors
/// The count that cannot be, in a sentence about the device ("it").
pub(super) fn reported(
    flow: Flow,
    sent: Sent,
    elapsed_ns: u64,
    notes: &mut Vec<String>,
) -> Result<Flow, String> {
    let mut flow = flow;
    check_time(&flow, elapsed_ns)?;
    let count = format::count;
    if let Some(datagrams) = &mut flow.datagrams {
        let it = *datagrams;
        if it.sent > sent.datagrams {
            return Err(format!(
                "its report cannot be: it counts {} datagrams, and this host sent {}",
                count(it.sent),
                count(sent.datagrams)
            ));
        }
        if it.lost > it.sent {
            return Err(format!(
                "its report cannot be: {} of {} datagrams lost",
                count(it.lost),
                count(it.sent)
            ));
        }
        if it.out_of_order.unwrap_or(0) > it.received {
            return Err(format!(
                "its report cannot be: {} of {} received datagrams out of order",
                count(it.out_of_order.unwrap_or(0)),
                count(it.received)
            ));
        }
        // A server without a calendar begins with the difference of the clocks (iperf 2).
        datagrams.jitter_ns = it.jitter_ns.filter(|jitter| *jitter <= elapsed_ns);
        if it.jitter_ns != datagrams.jitter_ns {
            notes.push("the device's jitter exceeds the time of the test: left out".to_owned());
        }
    } else if flow.octets == 0 {
        return Err("its report cannot be: it counts no octets of a stream that ended".to_owned());
    }
    limit_octets(&mut flow, sent, notes)?;
    limit_rate(&mut flow, sent, notes);
    Ok(flow)
}

fn check_time(flow: &Flow, elapsed_ns: u64) -> Result<(), String> {
    let most = (elapsed_ns as f64 * CLOCK_TOLERANCE) as u64;
    if flow.span_ns > most.saturating_add(CLOCK_SLACK_NS) {
        return Err(format!(
            "its report cannot be: it took {}, and the test began {} ago",
            format::time(flow.span_ns),
            format::time(elapsed_ns)
        ));
    }
    Ok(())
}

/// At most the octets that were sent. A network that duplicates datagrams lets a receiver count more octets.
fn limit_octets(flow: &mut Flow, sent: Sent, notes: &mut Vec<String>) -> Result<(), String> {
    let received = flow.datagrams.map_or(0, |it| it.received);
    if flow.octets <= sent.octets {
        if flow.octets == 0 && received > 0 {
            return Err(format!(
                "its report cannot be: no octets in {} datagrams",
                format::count(received)
            ));
        }
        return Ok(());
    }
    if received == 0 || flow.octets > sent.octets.saturating_mul(2) {
        return Err(format!(
            "its report cannot be: it counts {} octets, and this host sent {}",
            format::count(flow.octets),
            format::count(sent.octets)
        ));
    }
    notes.push(format!(
        "the device counts {} octets of {} sent: duplicates are not in the rate",
        format::count(flow.octets),
        format::count(sent.octets)
    ));
    let distinct = received * (sent.octets / sent.datagrams.max(1));
    set_rate(flow, distinct);
    Ok(())
}

/// What arrived did not arrive faster than it was sent, apart from queues.
fn limit_rate(flow: &mut Flow, sent: Sent, notes: &mut Vec<String>) {
    let share = (flow.octets as f64 / sent.octets.max(1) as f64).min(1.0);
    let least = sent.span_ns as f64 * share;
    if flow.span_ns as f64 >= least * MIN_SPAN_SHARE {
        return;
    }
    if least >= NOTED_SPAN_NS {
        notes.push(format!(
            "the device reports a time of {}, shorter than sending took: the time of sending is used",
            format::time(flow.span_ns)
        ));
    }
    flow.span_ns = least as u64;
    set_rate(flow, flow.octets.min(sent.octets));
}

/// Computes the rate again, of these octets in the flow's time.
fn set_rate(flow: &mut Flow, octets: u64) {
    let counted = Flow::stream(octets, flow.span_ns, flow.counted_by);
    flow.goodput_bytes_per_s = counted.goodput_bytes_per_s;
}

/// Request of a flow from the device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requested {
    /// Duration; 0 if the amount was requested.
    pub(super) span_ns: u64,
    /// Octets; 0 if the duration was requested.
    pub(super) octets: u64,
    /// Octets of a datagram, and payload rate, bits a second; 0 for a stream, or without a limit.
    pub(super) payload_octets: u64,
    pub(super) bits_per_s: u64,
}

/// The flow from the device as this host received it. The number of datagrams sent is the device's, by the numbers in
/// them and by its report.
///
/// # Errors
/// The count that cannot be, or why there is none, in a sentence about the device.
pub(super) fn received(
    flow: Flow,
    asked: Requested,
    elapsed_ns: u64,
    notes: &mut Vec<String>,
) -> Result<Flow, String> {
    let mut flow = flow;
    if flow.octets == 0 {
        return Err("it sent nothing".to_owned());
    }
    let Some(datagrams) = &mut flow.datagrams else {
        return received_stream(flow, asked, elapsed_ns, notes);
    };
    if datagrams.received < 2 && asked.span_ns > 0 {
        return Err("it sent a single datagram, which gives no rate".to_owned());
    }
    let arrived = datagrams.received as f64;
    let seconds = elapsed_ns as f64 / 1e9;
    let payload_bits = asked.payload_octets.max(1) as f64 * 8.0;
    let expected = match asked.bits_per_s {
        0 => MAX_BITS_PER_S * seconds / payload_bits,
        rate if asked.span_ns > 0 => rate as f64 * seconds / payload_bits,
        _ => asked.octets as f64 * 8.0 / payload_bits,
    };
    if datagrams.sent as f64 > 2.0 * expected.max(arrived) + SLACK_DATAGRAMS {
        return Err(format!(
            "the numbers of its datagrams cannot be: {} sent in {}, of which {} arrived",
            format::count(datagrams.sent),
            format::time(elapsed_ns),
            format::count(datagrams.received)
        ));
    }
    datagrams.jitter_ns = datagrams.jitter_ns.filter(|jitter| *jitter <= elapsed_ns);
    Ok(flow)
}

fn received_stream(
    flow: Flow,
    asked: Requested,
    elapsed_ns: u64,
    notes: &mut Vec<String>,
) -> Result<Flow, String> {
    let mut flow = flow;
    if asked.span_ns > 0 && flow.span_ns < (asked.span_ns / 10).max(MIN_STREAM_NS) {
        return Err(format!(
            "it ended the transfer after {} of {}, with {}",
            format::time(flow.span_ns),
            format::time(asked.span_ns),
            format::bytes(flow.octets)
        ));
    }
    if asked.span_ns > 0 && flow.span_ns < asked.span_ns / 2 {
        flow.is_cut = true;
        notes.push(format!(
            "the device ended the transfer after {} of {}",
            format::time(flow.span_ns),
            format::time(asked.span_ns)
        ));
    }
    if flow.octets < asked.octets {
        flow.is_cut = true;
        notes.push(format!(
            "the device sent {} of {} octets",
            format::count(flow.octets),
            format::count(asked.octets)
        ));
    }
    if flow.span_ns < MIN_STREAM_NS {
        flow.span_ns = elapsed_ns.max(1);
        let octets = flow.octets;
        set_rate(&mut flow, octets);
    }
    Ok(flow)
}

/// The flow to the device of a protocol without a report: of the octets written, those that it acknowledged, if the
/// system reports them.
///
/// # Errors
/// It acknowledged nothing.
pub(super) fn acknowledged(
    flow: Flow,
    acked: Option<u64>,
    notes: &mut Vec<String>,
) -> Result<Flow, String> {
    let mut flow = flow;
    let Some(acked) = acked.filter(|acked| *acked < flow.octets) else {
        return Ok(flow);
    };
    // The SYN is acknowledged, too (`tcpi_bytes_acked`).
    if acked <= 1 {
        return Err("it closed the connection without having acknowledged any data".to_owned());
    }
    flow.is_cut = true;
    notes.push(format!(
        "the device closed the connection when it had acknowledged {} of {} octets",
        format::count(acked),
        format::count(flow.octets)
    ));
    flow.octets = acked;
    set_rate(&mut flow, acked);
    Ok(flow)
}

#[cfg(test)]
mod tests;
