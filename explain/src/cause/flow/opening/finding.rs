//! The sentence about connections that do not open, or open slowly.

use super::accepted::Accepted;
use super::attempts::Attempts;
use super::kind::Opening;
use crate::cause::scored::{PathFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};

/// The evidence with the time for which clients waited behind their last requests.
pub(in crate::cause::flow) const HANG_NS: &str = "hang_ns";

/// The connections that were accepted, in a sentence.
fn others(accepted: Accepted) -> String {
    let before = format::counted(accepted.before, "connection");
    match (accepted.before, accepted.after_ns) {
        (0, Some(ns)) => format!("another was accepted {} later", format::time(ns)),
        (1, None) => format!("{before} before was accepted"),
        (_, None) => format!("{before} before were accepted"),
        (_, Some(ns)) => {
            format!(
                "{before} before and one {} later were accepted",
                format::time(ns)
            )
        }
    }
}

pub(super) fn finding(
    opening: Opening,
    client: String,
    server: &str,
    attempts: &Attempts,
    accepted: Accepted,
    total_ns: f64,
) -> PathFinding {
    let each = if attempts.syns == 1 {
        "the SYN"
    } else {
        "each SYN"
    };
    let tried = format::times(attempts.connections);
    let connections = format::counted(attempts.connections, "connection");
    let each_one = if attempts.connections == 1 {
        "it"
    } else {
        "each"
    };
    let time = format::time(attempts.time_ns);
    let (cause, confidence, summary, advice) = match opening {
        Opening::NoAnswer => (
            Cause::NoAnswer,
            0.95,
            format!(
                "{client} tried {tried} to open a connection to {server}: none of {} was answered in {time}.",
                format::counted(attempts.syns, "SYN")
            ),
            "Check that the device is on and has this address (arp -n, ping), that the route and the netmask lead to it, \
             and that no firewall drops the port.",
        ),
        Opening::Unanswered => (
            Cause::NoAnswer,
            0.6,
            format!(
                "{client} opened {connections} to {server} and sent what may be a request: all of it was acknowledged and \
                 nothing came back, until {client} closed after {time}."
            ),
            "If nothing was to come back, this is no fault. Otherwise either the server's program does not answer (it hangs, waits for more of the request, or serves one connection at \
             a time), or its answer is lost each time, such as one above the MTU of the path. A capture at the server decides.",
        ),
        Opening::LastUnanswered => (
            Cause::NoAnswer,
            0.7,
            format!(
                "{server} acknowledged the last request of {client} in {connections} and answered it with nothing until {client} closed \
                 after {time}, although it had answered all requests before at once."
            ),
            "If nothing was to come back, this is no fault. Otherwise the server's program hangs: it waits for more of the request, for a lock, or for another server, or the answer is lost \
             each time, such as one above the MTU of the path. Read its log at that time; a capture at the server shows whether the \
             answer leaves.",
        ),
        Opening::Unacknowledged => (
            Cause::NoAnswer,
            0.85,
            format!(
                "{client} opened {connections} to {server}, and nothing came back after the handshake: what {client} sent was \
                 repeated for {time}, and not even acknowledged."
            ),
            "A firewall or filter that lets connections open but not this request through (by its name or content), or a host that \
             is gone: try another server from here, and this server from another network.",
        ),
        Opening::Refused if attempts.syns == 0 => (
            Cause::Refused,
            0.9,
            format!(
                "A reset answers each segment from {client} to {server}: the connection does not exist there."
            ),
            "The program at that port ended, or its host started again: let the client close the connection when it is reset, and open \
             it again. A program that writes its own segments has to open the connection first.",
        ),
        Opening::Refused if attempts.after_accept == attempts.connections => (
            Cause::Refused,
            0.85,
            format!(
                "{client} opened {connections} to {server}: {each_one} was reset before anything was answered."
            ),
            "The program at that port accepts and closes at once: look at its log, its limit of connections, and the \
             free memory for connections (lwIP: MEMP_NUM_TCP_PCB).",
        ),
        Opening::Refused if accepted.is_any() => (
            Cause::Refused,
            0.8,
            format!(
                "{client} tried {tried} to open a connection to {server}: a reset answered {each}, although {}.",
                others(accepted)
            ),
            "The program at that port ended, was not ready yet, or takes one connection at a time: look at its log, its \
             start, and its backlog.",
        ),
        Opening::Refused => (
            Cause::Refused,
            0.95,
            format!(
                "{client} tried {tried} to open a connection to {server}: a reset answered {each}."
            ),
            "No program listens at this port: check that it runs, at this address and port, and that its backlog is not \
             full.",
        ),
        Opening::CutOff => (
            Cause::Refused,
            0.8,
            format!(
                "{server} reset {connections} of {client} in the middle of a transfer, after {} in {time}: what was under way was lost.",
                format::bytes(attempts.acked),
            ),
            "The server's program ended (it crashed, was stopped, or ran out of memory), or it closed the connection before it had read all: \
             read its log, and that of its host, at that time, and let the client transfer the rest again.",
        ),
        Opening::Queued => (
            Cause::SlowHandshake,
            0.8,
            format!(
                "{server} answered the SYN of {connections} from {client}, and ignored what {client} sent next, so that opening them took {} \
                 in all, while it answered other connections: so does a host whose accept queue is full.",
                format::time(attempts.passed_ns())
            ),
            "The program at that port accepts connections too slowly or serves one at a time: accept at once, serve several, or keep \
             connections open; a larger backlog (listen, net.core.somaxconn, lwIP: TCP_LISTEN_BACKLOG) only lets more of them wait.",
        ),
        Opening::Slow => (
            Cause::SlowHandshake,
            0.85,
            format!(
                "Opening {connections} from {client} to {server} took {time} ({}), much longer than a round trip.",
                format::counted(attempts.syns, "SYN")
            ),
            "If SYNs were repeated, they or their answers were lost: an ARP entry that was missing, a full backlog, a \
             listener with one connection at a time. Otherwise the server was slow to answer. Keep connections open.",
        ),
    };
    let time_name = if opening == Opening::CutOff {
        "transfer_ns"
    } else {
        "opening_ns"
    };
    let mut figures = evidence([
        ("connections", attempts.connections as f64),
        ("syns", attempts.syns as f64),
        (time_name, attempts.time_ns as f64),
        ("ports", attempts.ports.len() as f64),
        ("accepted_before", accepted.before as f64),
        ("first_packet", attempts.first_packet as f64),
        ("last_packet", attempts.last_packet as f64),
    ]);
    if opening == Opening::CutOff {
        figures.insert("acked_bytes".to_owned(), attempts.acked as f64);
    }
    if opening == Opening::LastUnanswered {
        figures.insert(HANG_NS.to_owned(), attempts.time_ns as f64);
    }
    if opening == Opening::Queued {
        figures.insert("ignored_ns".to_owned(), attempts.passed_ns() as f64);
    }
    if let Some(after_ns) = accepted.after_ns {
        figures.insert("accepted_after_ns".to_owned(), after_ns as f64);
    }
    PathFinding {
        alternative_to: None,
        sender: Some(client),
        receiver: server.split(' ').next().map(str::to_owned),
        share_of_time: if total_ns > 0.0 {
            (attempts.time_ns as f64 / total_ns).min(1.0)
        } else {
            1.0
        },
        finding: Finding {
            cause,
            confidence,
            summary,
            evidence: figures,
            advice: advice.to_owned(),
        },
    }
}
