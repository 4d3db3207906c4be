//! A second explanation of the same time: where both are open, the second one follows the first, with what would decide.
//!
//! A capture shows which segments did not arrive, but not always why. Near the receiver the distance of a lost segment to the
//! one before it is unknown, and a ring of few buffers loses the same segments as a receiver that is busy with the segment
//! before. A queue differs from a policer in the time that segments wait in it, and from chance in a separation that a few
//! losses do not show. Near the receiver, too, only echoed timestamps show whether a sender waited for acknowledgments.

use super::ack_path::arrivals;
use super::facts::FlowFacts;
use super::idle::LONG_SILENCES;
use super::in_flight::LEAST_SCALE;
use super::loss;
use super::nagle;
use super::rule::Rule;
use super::unread::UNREAD;
use super::window::STALLS;
use linerate_capture::model::{Limit, WindowScale};
use linerate_results::record::Cause;

/// Fewer round trips to the sender do not show what it waited for.
const MIN_ROUND_TRIPS: usize = 8;
/// A write of more segments than this is sent in several of the steps in which hosts pace (two segments: `tcp_min_tso_segs`).
const MOST_IN_A_WRITE: usize = 4;

/// If fewer octets wait for the program, most of the time may pass with a window that is read at once.
const MOST_READ: f64 = 0.25;

/// Another explanation of the time that a rule explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) cause: Cause,
    /// Why both are open.
    pub(super) summary: &'static str,
    /// What would decide.
    pub(super) advice: &'static str,
}

/// Where the handshake was not captured, a window of 65,535 octets.
const SCALE_OF_ZERO: Alternative = Alternative {
    cause: Cause::ReceiveWindow,
    summary: "The same window fits a receive buffer of little more, whose window no host has to scale.",
    advice: "To decide: capture from the start of the connection, where both ends offer their scales.",
};

/// Where most of what arrives is read at once, the window is full between the times in which it is not.
const WINDOW_BETWEEN: Alternative = Alternative {
    cause: Cause::ReceiveWindow,
    summary: "Most of what arrives is read at once, and fills the window, too: the buffer is small for the round trip.",
    advice: "To decide: enlarge the receive buffer and measure again: to a program that reads slowly it gives no higher rate.",
};

/// Where a little waits for the program, its pace may set the rate.
const READ_SLOWLY: Alternative = Alternative {
    cause: Cause::ReceiverReadsSlowly,
    summary: "The window falls as data arrives, and opens later, as that of a program that reads slowly.",
    advice: "To decide: enlarge the receive buffer and measure again: to a program that reads slowly it gives no higher rate.",
};

/// A program that does not read for some time reads all that arrives otherwise.
const STANDS_STILL: Alternative = Alternative {
    cause: Cause::ReceiverStalls,
    summary: "The same closings fit a receiver that something else stops at these times, and whose program reads all that arrives between \
              them.",
    advice: "To decide: read the program's rate while nothing arrives (a limit of its own, the rate of a disk or display): a program that \
             is stopped catches up afterwards.",
};

/// The other explanation of what `rule` explains.
pub(super) fn alternative(facts: &FlowFacts<'_>, rule: &Rule) -> Option<Alternative> {
    let is_near_receiver = facts.model.is_near_receiver();
    let sees_sender = facts.model.to_sender.count() >= MIN_ROUND_TRIPS;
    let cause = match rule.cause {
        Cause::HostPacing if is_near_receiver && !sees_sender => Cause::AckPathFull,
        // A program that reads what it sends from a slow storage writes in such steps, too.
        Cause::HostPacing if ends_writes(facts) => Cause::SenderIdle,
        // A program that writes one full segment or two by a timer.
        Cause::AckPathFull if rule.evidence.contains_key(arrivals::INTERVAL) => Cause::HostPacing,
        Cause::SendBuffer if matches!(facts.model.scale, WindowScale::AtLeast(_)) => {
            Cause::ReceiveWindow
        }
        Cause::SendBuffer if is_near_receiver => Cause::HostPacing,
        Cause::NoWindowScaling if facts.model.scale == WindowScale::Inferred(0) => {
            return Some(SCALE_OF_ZERO);
        }
        Cause::ReceiverReadsSlowly if rule.evidence.contains_key(STALLS) => {
            return Some(STANDS_STILL);
        }
        Cause::ReceiverReadsSlowly
            if rule.evidence.get(UNREAD).is_some_and(|it| *it < MOST_READ) =>
        {
            return Some(WINDOW_BETWEEN);
        }
        Cause::ReceiveWindow if rule.evidence.contains_key(UNREAD) => return Some(READ_SLOWLY),
        Cause::ReceiveWindow if rule.evidence.contains_key(LEAST_SCALE) => Cause::SendBuffer,
        Cause::StretchAcks => Cause::ReceiveWindow,
        // A sender probes for the room of a queue with rare losses, each of which costs little but the window.
        Cause::CongestionWindow if loss::is_rare(facts) => Cause::ShallowQueue,
        Cause::CongestionWindow if facts.model.view.lost() > 0 => Cause::RandomLoss,
        Cause::LinkInterrupted => Cause::RetransmissionStalls,
        // A path that holds everything back looks the same behind it.
        Cause::SenderIdle if is_near_receiver && rule.evidence.contains_key(LONG_SILENCES) => {
            Cause::LinkInterrupted
        }
        Cause::SenderIdle if !is_near_receiver => Cause::HostPacing,
        Cause::SenderIdle if !sees_sender => Cause::SendBuffer,
        Cause::ChecksumErrors => Cause::ReceiverStalls,
        Cause::ReceiverStalls if facts.model.time_ns(Limit::Timeout) > 0 => {
            Cause::RetransmissionStalls
        }
        Cause::WakeUpLatency if rule.evidence.contains_key("constant_silence") => {
            Cause::ServerThinkTime
        }
        // A station that sleeps until the next beacon takes as long each time, if it is asked at a constant interval.
        Cause::ServerThinkTime if rule.evidence.get("constant_silence") == Some(&1.0) => {
            Cause::WakeUpLatency
        }
        Cause::RetransmissionStalls if nagle::may_be_delayed(facts) => Cause::DelayedAckWithNagle,
        // The numbers of the packets decide between the two, where both would have been captured.
        Cause::DuplicateFrames if !facts.model.view.is_numbered => Cause::Reordering,
        Cause::Reordering if !(facts.model.view.is_numbered && is_near_receiver) => {
            Cause::DuplicateFrames
        }
        _ => loss::alternative(facts, rule)?,
    };
    words(cause)
}

/// True if writes end so often that each may be one of the paced steps.
fn ends_writes(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let pushed = sent.iter().filter(|it| it.is_pushed).count();
    pushed * MOST_IN_A_WRITE >= sent.len()
}

fn words(cause: Cause) -> Option<Alternative> {
    let (summary, advice) = match cause {
        Cause::AckPathFull => (
            "The same pace fits acknowledgments that wait on a way back that is full.",
            "To decide: capture at the sender: there, acknowledgments arrive at one interval, long after their segments.",
        ),
        Cause::HostPacing => (
            "The same pace fits a sender that sets it itself, by a timer.",
            "To decide: read the sender's settings (a rate limit of the program, SO_MAX_PACING_RATE, tc qdisc), or change its \
             buffer: a pace of its own stays the same.",
        ),
        Cause::SenderIdle => (
            "The same steps fit a program that waits for its data: slow storage, a sensor, a computation for each part.",
            "To decide: measure how long the program's reads take, or send the same octets from memory: a pace of the host stays \
             the same.",
        ),
        Cause::ReceiveWindow => (
            "The same waits fit a receiver whose window is full: how much it grants at the time does not show.",
            "To decide: capture from the start of the connection, where its window is scaled, or enlarge the receive buffer and \
             measure again.",
        ),
        Cause::SendBuffer => (
            "The same silences fit a sender that waits for acknowledgments with its buffer full.",
            "To decide: capture at the sender, or from the start of the connection, so that the round trip is known.",
        ),
        Cause::LinkInterrupted => (
            "The same silences fit a path that holds everything back for a while: a radio that scans, a modem that changes \
             cells.",
            "To decide: capture at the sender: there, a program that stops leaves nothing unacknowledged, a path does.",
        ),
        Cause::ReceiverStalls => (
            "The same segments come again if the receiver stood still, with no room for them.",
            "To decide: compare the times: a receiver that stands still answers nothing meanwhile, one that discards \
             segments answers the others.",
        ),
        Cause::Reordering => (
            "The same packets fit segments that overtook others and were repeated for nothing.",
            "To decide: compare the IP identifications: a copy has the same one, a repeated segment another one.",
        ),
        Cause::DuplicateFrames => (
            "The same packets fit copies that a station on the path makes.",
            "To decide: compare the IP identifications: a copy has the same one, a repeated segment another one.",
        ),
        Cause::QueueOverflow => (
            "The same losses fit a ring of a few receive buffers that overflows.",
            "To decide: read the receiver's counters (missed frames, no buffer), or enlarge its ring and measure again: a \
             receiver that is busy with the frame before loses as many as now.",
        ),
        Cause::LossInBursts => (
            "The same losses fit a receiver that loses frames close behind others.",
            "To decide: capture at the sender, where the distance of the lost frames is seen, or space the sender's frames \
             (pacing) and measure again: then only these losses end.",
        ),
        Cause::Policed => (
            "The same losses fit a policer: no segment is seen to wait before them.",
            "To decide: capture a longer transfer at both ends: before a queue overflows, its segments take longer; a policer \
             drops without delay, above the same rate in each second.",
        ),
        Cause::ShallowQueue => (
            "The same losses fit a queue of a few frames before a slower link.",
            "To decide: capture at both ends: the segments that a queue holds arrive spaced at the rate of its link, those that \
             a policer lets pass arrive as they were sent.",
        ),
        Cause::RetransmissionStalls => (
            "The same waits fit losses that only the timer repairs: in small flights, and at the end of a burst.",
            "To decide: send one long burst instead of short ones: losses at random remain, the waits for the timer do not.",
        ),
        Cause::WakeUpLatency => (
            "The same times fit a station that sleeps between the requests, and answers when it wakes up at an interval of its \
             own.",
            "To decide: ask again at once after an answer: a program takes as long as before, a station that is awake answers \
             at once.",
        ),
        Cause::MtuBlackHole => (
            "The same repetitions fit a link with a smaller MTU that reports nothing: what is repeated may be a full segment.",
            "To decide: send packets of each size with the DF bit (ping -M do -s): only large ones are lost then.",
        ),
        Cause::DelayedAckWithNagle => (
            "The same repetitions fit acknowledgments that are delayed for longer than the sender's timer, while Nagle's algorithm \
             holds back the rest of a write.",
            "To decide: capture at the receiver: there, what was repeated has arrived before, or set TCP_NODELAY at the sender: then \
             only losses remain.",
        ),
        Cause::ServerThinkTime => (
            "The same times fit a program that takes as long for each answer, above a stack that acknowledges with it only.",
            "To decide: ask again at once after an answer: a program takes as long as before, a station that is awake answers \
             at once.",
        ),
        Cause::RandomLoss => (
            "The same losses fit chance: a bad cable, a radio, bits that are flipped.",
            "To decide: read the error counters of both adapters (ethtool -S), and measure with less in flight: losses by \
             chance stay as frequent.",
        ),
        _ => return None,
    };
    Some(Alternative {
        cause,
        summary,
        advice,
    })
}
