//! Transfers with one datagram per round trip.

use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::traffic::{BlockProtocol, Transfer};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

use super::dialogue::late_blocks;
use super::{MIN_COST_NS, MIN_COST_SHARE};

/// A longer period is that of a program that has something to say now and then.
const MAX_PERIOD_NS: u64 = 500_000_000;
/// Blocks that are acknowledged this soon are those of a transfer: programs report values less often, as their readers
/// notice no more (ITU-T G.1010: below 250 ms for command and control; media are not acknowledged).
const MAX_TRANSFER_PERIOD_NS: u64 = 50_000_000;
/// A shorter period is the work of two hosts near by. TFTP's is worth a finding, since options shorten it.
const MIN_PERIOD_NS: u64 = 1_000_000;
/// An answer this much smaller than its block only acknowledges it.
const ACK_DIVISOR: u32 = 16;
/// A port this far above the other one's was chosen for the client (RFC 6335 section 6).
const EPHEMERAL_DISTANCE: u16 = 8_192;
/// The flow that matters has at least one in this many packets, copies of a mirror port included.
const OWN_DIVISOR: u64 = 4;

/// The transfers that wait for round trips, or for the server that is asked for each block.
pub(super) fn transfers(all: &[Transfer], capture_ns: u64) -> Vec<PathFinding> {
    let total_ns: u64 = all.iter().map(duration_ns).sum();
    let found = all.iter().filter_map(|it| {
        let is_unknown = it.protocol().is_none() && !is_beside_others(it);
        let late = is_unknown.then(|| late_blocks(it, capture_ns)).flatten();
        late.or_else(|| transfer(it, total_ns))
    });
    found.collect()
}

fn duration_ns(transfer: &Transfer) -> u64 {
    transfer.end_ns.saturating_sub(transfer.start_ns)
}

fn transfer(it: &Transfer, total_ns: u64) -> Option<PathFinding> {
    let [data, answers] = &it.sides;
    let protocol = it.protocol();
    let delays = [
        data.delays.percentile(50.0)?,
        answers.delays.percentile(50.0)?,
    ];
    let period_ns = delays[0] + delays[1];
    if protocol.is_none() && (is_beside_others(it) || period_ns < MIN_PERIOD_NS) {
        return None;
    }
    let is_paced = protocol.is_none() && may_be_paced(it, delays, period_ns);
    let is_transfer = answers.largest_bytes <= data.largest_bytes / ACK_DIVISOR
        && period_ns <= MAX_TRANSFER_PERIOD_NS;
    if period_ns > MAX_PERIOD_NS || is_paced && !is_transfer {
        return None;
    }
    // On the path's slowest link, a block takes the longer the larger it is; only the rest is waiting.
    let waiting = 1.0 - stats::ratio(block_ns(it, period_ns), period_ns as f64).clamp(0.0, 1.0);
    let duration_ns = duration_ns(it);
    let cost_ns = waiting * duration_ns as f64;
    if cost_ns < MIN_COST_NS as f64 || waiting < MIN_COST_SHARE {
        return None;
    }
    let rate = stats::ratio(data.payload_bytes as f64, duration_ns as f64 / 1e9);
    let note = if is_paced {
        " (Captured near the receiver, a program that sends at this interval looks the same; a capture at the sender decides.)"
    } else {
        ""
    };
    let name = match protocol {
        Some(BlockProtocol::Tftp) => "TFTP",
        Some(BlockProtocol::Coap) => "CoAP",
        None => "a UDP protocol",
    };
    let advice = match protocol {
        Some(BlockProtocol::Tftp) => {
            "Use TFTP's options: larger blocks (blksize 1428, RFC 2348), and several blocks per acknowledgment \
             (windowsize 16, RFC 7440); or transfer by TCP."
        }
        Some(BlockProtocol::Coap) => {
            "Use the largest blocks (1024), several at a time (Q-Block, RFC 9177), or CoAP over TCP (RFC 8323)."
        }
        None => "Keep several datagrams in flight, or send larger ones; or transfer by TCP.",
    };
    Some(PathFinding {
        alternative_to: None,
        sender: Some(it.ends[0].0.to_string()),
        receiver: Some(it.ends[1].0.to_string()),
        share_of_time: waiting * stats::ratio(duration_ns as f64, total_ns as f64),
        finding: Finding {
            cause: Cause::OneInFlight,
            confidence: match protocol {
                Some(_) => 0.95,
                None if is_paced => 0.6,
                None => 0.85,
            },
            summary: format!(
                "{name} sends {} blocks of {}, each only when the one before is acknowledged: one per round trip of \
                 {}, that is {}.{note}",
                format::count(data.datagrams),
                format::bytes(data.largest_bytes.into()),
                format::time(period_ns),
                format::bit_rate(rate),
            ),
            evidence: evidence([
                ("blocks", data.datagrams as f64),
                ("block_bytes", data.largest_bytes.into()),
                ("round_trip_ns", period_ns as f64),
                ("bytes_per_s", rate),
                ("time_ns", duration_ns as f64),
                ("first_packet", it.first_packet as f64),
                ("last_packet", it.last_packet as f64),
            ]),
            advice: advice.to_owned(),
        },
    })
}

/// True if most packets meanwhile belong to other flows: a program that exchanges data with many hosts waits for none.
fn is_beside_others(it: &Transfer) -> bool {
    let packets = it.last_packet.saturating_sub(it.first_packet) + 1;
    it.datagrams * OWN_DIVISOR < packets
}

/// True if the blocks may be sent at a pace of their own: a block does not follow the answer before at once, nor an
/// answer its block. Then the capture does not tell a round trip from a pause.
fn may_be_paced(it: &Transfer, [before_data, before_answer]: [u64; 2], period_ns: u64) -> bool {
    // The end that sent first decides when the next turn begins: the client, or else the one that sends first here, whose
    // first datagram follows none.
    let unanswering = |at: usize| it.sides[at].datagrams - it.sides[at].delays.count();
    let [data_port, answer_port] = it.ends.map(|(_, port)| port);
    let starts_with_data = if data_port.abs_diff(answer_port) > EPHEMERAL_DISTANCE {
        data_port > answer_port
    } else {
        unanswering(0) > unanswering(1)
    };
    let pause_ns = if starts_with_data {
        before_data
    } else {
        before_answer
    };
    pause_ns > period_ns / 2
}

/// Time that a block takes on the path because of its size, as far as a shorter block at the end shows it.
fn block_ns(it: &Transfer, period_ns: u64) -> f64 {
    let [data, answers] = &it.sides;
    let (full, last) = (f64::from(data.largest_bytes), f64::from(data.last_bytes));
    if last > full / 2.0 {
        return 0.0;
    }
    let last_ns = (data.last_delay_ns + answers.last_delay_ns) as f64;
    (period_ns as f64 - last_ns).max(0.0) * full / (full - last)
}
