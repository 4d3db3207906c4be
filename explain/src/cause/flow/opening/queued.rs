//! Connections that wait for the program to accept them: the server answered the SYN, and drops what follows until there is room.

use super::kind::{ANY_MSS, MIN_REPEATED};
use linerate_capture::tcp::{End, LoggedPacket, Segment};
use linerate_capture::traffic::Flow;

/// Time for which the first data of a connection came again until its server acknowledged it, while the server answered other connections
/// at the same port. A host whose accept queue is full behaves so: it drops the last acknowledgment of the handshake and all data behind
/// it (listen(2); Linux: `ListenOverflows`, `ListenDrops`).
pub(super) fn queued_ns(flows: &[Flow], flow: &Flow) -> Option<u64> {
    let (from_ns, until_ns) = ignored_time(flow.connection.log().packets())?;
    let start_ns = flow.connection.start_ns;
    let during = start_ns + from_ns..start_ns + until_ns;
    let is_served = |it: &&Flow| {
        it.ends != flow.ends && it.ends[End::Second as usize] == flow.ends[End::Second as usize]
    };
    // What was lost with all the rest was lost by the path.
    let answers_others = flows.iter().filter(is_served).any(|it| {
        let packets = it.connection.log().packets().iter();
        let mut answers = packets.filter(|packet| is_answer(packet));
        answers.any(|packet| during.contains(&(it.connection.start_ns + packet.time_ns)))
    });
    answers_others.then_some(until_ns)
}

/// From the first repetition of a client's data to the first packet of the server behind its SYN-ACK, if the client had to repeat it often.
fn ignored_time(packets: &[LoggedPacket]) -> Option<(u64, u64)> {
    packets
        .iter()
        .find(|it| it.from() == End::Second && it.has_any(Segment::SYN))?;
    let at = packets.iter().position(is_answer)?;
    let mut sent = packets[..at].iter().filter(|it| it.len > 0);
    let first = sent.next()?;
    let copies: Vec<&LoggedPacket> = sent.filter(|it| it.seq == first.seq).collect();
    let is_small = copies.iter().all(|it| it.len <= ANY_MSS);
    let is_often = copies.len() >= MIN_REPEATED && is_small;
    is_often.then(|| (copies[0].time_ns, packets[at].time_ns))
}

fn is_answer(packet: &LoggedPacket) -> bool {
    packet.from() == End::Second && !packet.has_any(Segment::SYN | Segment::RST)
}
