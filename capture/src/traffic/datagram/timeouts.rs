//! Silences of a dialogue by UDP that a timer ends: a host sends again what was not answered, or waits twice as long each time (QUIC, RFC
//! 9002 section 6.2.1; DTLS, RFC 9147 section 5.8.2; `CoAP`, RFC 7252 section 4.2).

use super::Stamp;
use crate::traffic::table::AddressPort;

/// Datagrams of a host that a later one may repeat: those of a window.
const RECENT: usize = 16;
/// A silence that is shorter is no timeout (RFC 9002 section 6.2.2 has three round trips; a third of a second at first, or more).
const MIN_WAIT_NS: u64 = 100_000_000;
/// Whoever repeats a request waits so long first (STUN, RFC 8489 section 6.2.1; SIP, RFC 3261 section 17.1.1.2: 500 ms); media repeat their
/// datagrams sooner.
const MIN_REPEAT_NS: u64 = 500_000_000;
/// Whoever repeats a request waits no longer (the first interval of TFTP, SIP, `CoAP`, RADIUS: 0.5 to 5 s; programs: 10 s); what comes again
/// later is sent again on purpose.
const MAX_WAIT_NS: u64 = 15_000_000_000;
/// A host that keeps a connection open sends less, at intervals that double, too, and is answered each time (QUIC: PING, RFC 9000 section
/// 10.1.2).
const MIN_DATA: u32 = 200;
/// Datagrams that a host sends between two timeouts in a row at most: the probes, and acknowledgments.
const MAX_BETWEEN: u64 = 8;

/// What one end sent.
#[derive(Clone, Debug, Default)]
struct Sender {
    recent: [u32; RECENT],
    datagrams: usize,
    /// The last silence that it ended, and datagrams since.
    wait_ns: u64,
    since: u64,
    /// Silences in a row that were each twice as long as the one before.
    run: u64,
    /// Silences that it ended since the other end sent something: nobody waits behind the end of a dialogue.
    open: TimerWaits,
}

/// Silences that a timer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerWaits {
    /// All of them.
    pub waits: u64,
    /// Of them, those that ended with a datagram which had been sent before.
    pub repeated: u64,
    /// Silences that were twice as long as the one before.
    pub doublings: u64,
    /// The most of them in a row.
    pub longest_run: u64,
    /// Time of the silences.
    pub waited_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// Packet that ended the first.
    pub first_packet: u64,
    /// Packet that ended the last.
    pub last_packet: u64,
}

impl TimerWaits {
    /// With later ones.
    fn and(self, later: Self) -> Self {
        let first_packet = if self.waits > 0 {
            self.first_packet
        } else {
            later.first_packet
        };
        Self {
            waits: self.waits + later.waits,
            repeated: self.repeated + later.repeated,
            doublings: self.doublings + later.doublings,
            longest_run: self.longest_run.max(later.longest_run),
            waited_ns: self.waited_ns + later.waited_ns,
            longest_ns: self.longest_ns.max(later.longest_ns),
            first_packet,
            last_packet: self.last_packet.max(later.last_packet),
        }
    }
}

impl Sender {
    fn has_sent(&self, hash: u32) -> bool {
        let kept = self.datagrams.min(RECENT);
        self.recent[..kept].contains(&hash)
    }

    /// Ends a silence of `wait_ns`, in which it may have waited for a timer.
    fn wait(&mut self, wait_ns: u64, may_wait: bool, is_repeated: bool, number: u64) {
        let twice_ns = self.wait_ns * 2;
        let is_twice = may_wait
            && self.since <= MAX_BETWEEN
            && (twice_ns - twice_ns / 8..=twice_ns + twice_ns / 8).contains(&wait_ns);
        self.run = if is_twice { self.run + 1 } else { 0 };
        // The first of a row shows as one only by the second.
        let first_ns = if self.run == 1 && !is_repeated {
            self.wait_ns
        } else {
            0
        };
        (self.wait_ns, self.since) = (wait_ns, 0);
        if is_repeated || is_twice {
            self.open = self.open.and(TimerWaits {
                waits: 1 + u64::from(first_ns > 0),
                repeated: u64::from(is_repeated),
                doublings: u64::from(is_twice),
                longest_run: self.run,
                waited_ns: wait_ns + first_ns,
                longest_ns: wait_ns,
                first_packet: number,
                last_packet: number,
            });
        }
    }

    fn keep(&mut self, hash: u32) {
        self.recent[self.datagrams % RECENT] = hash;
        self.datagrams += 1;
        self.since += 1;
    }
}

/// Timeouts of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    senders: [Sender; 2],
    last: Option<(usize, Stamp)>,
    ended: TimerWaits,
}

/// The timeouts in a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Ends, the one that sent first in front.
    pub ends: [AddressPort; 2],
    /// From the first datagram to the last.
    pub duration_ns: u64,
    /// The silences.
    pub timer: TimerWaits,
}

impl Timers {
    /// Records a datagram of one side, with `length` octets of payload.
    pub(super) fn record(&mut self, side: usize, length: u32, hash: u32, at: Stamp) {
        let last = self.last.replace((side, at));
        let answered = std::mem::take(&mut self.senders[1 - side].open);
        self.ended = self.ended.and(answered);
        let sender = &mut self.senders[side];
        if let Some((last_side, before)) = last {
            let wait_ns = at.time_ns.saturating_sub(before.time_ns);
            if wait_ns >= MIN_WAIT_NS {
                let is_repeated = last_side == side
                    && (MIN_REPEAT_NS..=MAX_WAIT_NS).contains(&wait_ns)
                    && sender.has_sent(hash);
                // Its last datagram was not answered, or its next one was lost before the capture.
                let may_wait = last_side == side || length >= MIN_DATA;
                sender.wait(wait_ns, may_wait, is_repeated, at.number);
            }
        }
        self.senders[side].keep(hash);
    }

    /// The timeouts between these ends, if both sent.
    pub(super) fn timeouts(&self, ends: [AddressPort; 2], duration_ns: u64) -> Option<Timeouts> {
        let is_dialogue = self.senders.iter().all(|it| it.datagrams > 0);
        (is_dialogue && self.ended.waits > 0).then_some(Timeouts {
            ends,
            duration_ns,
            timer: self.ended,
        })
    }
}
