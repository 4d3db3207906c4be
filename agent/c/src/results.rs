//! C functions that return results.

use linerate_agent::Instant;
use linerate_agent::iperf2::{Failure, Progress};

use crate::make::{HttpServer, Iperf2Client, Iperf2Server, Iperf3Server, StampSender};
use crate::place::{Agent, Kind, with_kind};
use crate::types::{
    Address, HttpReport, Iperf2Report, Iperf3Report, StampOutcome, StampSample, ns,
};

/// Writes a value, if there is one and a place for it; returns true if there is a value.
///
/// # Safety
/// `place` is null or can be written.
unsafe fn put<T>(place: *mut T, value: Option<T>) -> bool {
    let Some(value) = value else {
        return false;
    };
    if !place.is_null() {
        // SAFETY: not null; the caller guarantees that it can be written.
        unsafe { place.write(value) };
    }
    true
}

/// # Safety
/// `server` is null or an agent that nobody else uses; `report` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf2_take_finished(
    server: *mut Agent,
    report: *mut Iperf2Report,
) -> bool {
    let take = |it: &mut Iperf2Server| it.take_finished();
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let finished = unsafe { with_kind(server, Kind::Iperf2Server, take) }.flatten();
    let it = finished.map(|it| Iperf2Report::new(&it.report, it.udp, it.sent, it.peer.into()));
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(report, it) }
}

/// # Safety
/// `client` is null or an agent that nobody else uses; `report` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf2_progress(
    client: *mut Agent,
    now_ns: u64,
    report: *mut Iperf2Report,
) -> u8 {
    let now = Instant::from_ns(now_ns);
    let read = |it: &mut Iperf2Client| (it.progress(now), it.outcome(now), it.plan().udp);
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let Some((progress, outcome, udp)) = (unsafe { with_kind(client, Kind::Iperf2Client, read) })
    else {
        return 3;
    };
    let forward = outcome.reported.or(outcome.sent);
    let it = outcome.received.or(forward).map(|found| {
        let sent = outcome.received.is_none();
        Iperf2Report::new(&found, udp, sent, Address::NONE)
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(report, it) };
    match progress {
        Progress::Running => 0,
        Progress::Done => 1,
        Progress::Failed(Failure::NotReached) => 2,
        Progress::Failed(Failure::Broken) => 3,
        Progress::Failed(Failure::NoAnswer) => 4,
    }
}

/// # Safety
/// `server` is null or an agent that nobody else uses; `report` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf3_take_finished(
    server: *mut Agent,
    report: *mut Iperf3Report,
) -> bool {
    let take = |it: &mut Iperf3Server| it.take_finished();
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let finished = unsafe { with_kind(server, Kind::Iperf3Server, take) }.flatten();
    let it = finished.map(|it| {
        let (sent, received) = (it.sent.unwrap_or_default(), it.received.unwrap_or_default());
        let counted = it.received.or(it.reported).unwrap_or_default();
        Iperf3Report {
            sent_octets: sent.octets,
            sent_ns: ns(sent.span),
            received_octets: received.octets,
            received_ns: ns(received.span),
            datagrams: counted.datagrams,
            lost: counted.lost,
            out_of_order: counted.out_of_order,
            udp: it.udp,
            complete: it.is_complete,
            peer: it.peer.into(),
        }
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(report, it) }
}

/// # Safety
/// `server` is null or an agent that nobody else uses; `report` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_http_take_finished(
    server: *mut Agent,
    report: *mut HttpReport,
) -> bool {
    let take = |it: &mut HttpServer| it.take_finished();
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let finished = unsafe { with_kind(server, Kind::HttpServer, take) }.flatten();
    let it = finished.map(|it| HttpReport {
        octets: it.octets,
        span_ns: ns(it.span),
        sent: it.sent,
        peer: it.peer.into(),
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(report, it) }
}

/// # Safety
/// `sender` is null or an agent that nobody else uses; `sample` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stamp_take_sample(
    sender: *mut Agent,
    sample: *mut StampSample,
) -> bool {
    let take = |it: &mut StampSender| it.take_sample();
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let taken = unsafe { with_kind(sender, Kind::StampSender, take) }.flatten();
    let it = taken.map(|it| StampSample {
        round_trip_ns: ns(it.round_trip),
        reflector_ns: ns(it.reflector),
        number: it.number,
        ttl: it.ttl,
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(sample, it) }
}

/// # Safety
/// `sender` is null or an agent that nobody else uses; `outcome` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stamp_result(
    sender: *const Agent,
    now_ns: u64,
    outcome: *mut StampOutcome,
) -> bool {
    let now = Instant::from_ns(now_ns);
    let read = |it: &mut StampSender| (it.is_done(now), it.outcome());
    let sender = sender.cast_mut();
    // SAFETY: the caller's guarantee is the same; the kind is made of that service.
    let found = unsafe { with_kind(sender, Kind::StampSender, read) };
    let it = found.map(|(_, it)| StampOutcome {
        sent: it.sent,
        answered: it.answered,
        lost_forward: it.loss.forward,
        lost_backward: it.loss.backward,
        lost_unknown: it.loss.unknown,
        out_of_order: it.out_of_order,
        invalid: it.invalid,
        discarded_samples: it.discarded_samples,
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { put(outcome, it) };
    found.is_some_and(|(done, _)| done)
}
