//! The time in which something passes over a connection, or somebody waits for it: a person's pauses say nothing about a network.

use linerate_capture::tcp::{End, LoggedPacket, PacketClass, Segment};
use linerate_capture::traffic::Flow;

/// After so long, nobody waits, unless something is asked for (J. Nielsen, Usability Engineering, 1993, section 5.5: 1 s until a flow of
/// thought is interrupted).
const PAUSE_NS: u64 = 1_000_000_000;
/// Nobody waits longer for an answer (the same: 10 s for keeping attention): it is news.
const IDLE_NS: u64 = 10_000_000_000;

/// Start and end.
pub(super) type Interval = (u64, u64);

/// True for payload; a keep-alive has an octet that was sent before.
fn is_payload(packet: &LoggedPacket) -> bool {
    packet.len > 0 && packet.class != PacketClass::NoData
}

/// What the last packets leave open.
#[derive(Default)]
struct Open {
    /// The end whose payload or SYN nothing has answered yet.
    owed: Option<End>,
    /// The end that sent payload last.
    asked: Option<End>,
}

impl Open {
    /// True if somebody waits in the silence of `ns` before `next`.
    fn waits(&self, next: &LoggedPacket, ns: u64) -> bool {
        let is_answer =
            self.asked == Some(End::First) && next.from() == End::Second && is_payload(next);
        self.owed.is_some() || is_answer && ns < IDLE_NS
    }

    fn record(&mut self, packet: &LoggedPacket) {
        if is_payload(packet) || packet.has_any(Segment::SYN) {
            self.owed = Some(packet.from());
        } else if self.owed != Some(packet.from()) {
            self.owed = None;
        }
        if is_payload(packet) {
            self.asked = Some(packet.from());
        }
    }
}

/// True if the silence of `ns` before this packet is no pause.
fn is_busy(open: &Open, next: &LoggedPacket, ns: u64) -> bool {
    ns < PAUSE_NS || open.waits(next, ns)
}

/// The times of a connection without pauses, since the beginning of the capture, in chronological order.
pub(super) fn busy_times(flow: &Flow) -> Vec<Interval> {
    let connection = &flow.connection;
    let log = connection.log();
    let packets = log.packets();
    if packets.is_empty() || log.is_truncated() {
        return vec![(connection.start_ns, connection.end_ns)];
    }
    let mut open = Open::default();
    let mut times: Vec<Interval> = Vec::new();
    for packet in packets {
        let at_ns = connection.start_ns + packet.time_ns;
        match times.last_mut() {
            Some(last) if is_busy(&open, packet, at_ns.saturating_sub(last.1)) => {
                last.1 = at_ns.max(last.1);
            }
            _ => times.push((at_ns, at_ns)),
        }
        open.record(packet);
    }
    times
}

/// Time of a connection without pauses.
pub(super) fn busy_ns(flow: &Flow) -> u64 {
    let times = busy_times(flow);
    times
        .iter()
        .map(|(start_ns, end_ns)| end_ns - start_ns)
        .sum()
}

/// Time in which at least one of these lasts, by their starts and ends.
pub(super) fn union_ns(mut times: Vec<Interval>) -> u64 {
    times.sort_unstable();
    let (mut sum_ns, mut until_ns) = (0, 0);
    for (start_ns, end_ns) in times {
        sum_ns += end_ns.saturating_sub(start_ns.max(until_ns));
        until_ns = until_ns.max(end_ns);
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, Script};

    /// A request, and its answer after `answer_ms`; the same again 5 s later.
    fn asked(answer_ms: u64) -> Script {
        let mut script = Script::open(End::Second, 10 * MS, 0, 60_000);
        for start_ms in [20, 20 + answer_ms + 5_000] {
            script
                .at(start_ms * MS)
                .write(End::First, 80)
                .confirm(End::Second)
                .after(answer_ms * MS)
                .write(End::Second, 80)
                .confirm(End::First);
        }
        script
    }

    #[test]
    fn a_pause_in_which_nobody_waits_is_not_busy() {
        let busy_ms = |answer_ms| busy_ns(&asked(answer_ms).flow()) / MS;
        assert!((200..300).contains(&busy_ms(100)), "{}", busy_ms(100));
        // The answers are awaited.
        assert!((4_000..4_100).contains(&busy_ms(2_000)));
        // Nobody waits for so long.
        assert!(busy_ms(12_000) < 100);
    }
}
