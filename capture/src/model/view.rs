//! One direction of a logged connection: transmissions and acknowledgments, with sequence numbers that do not wrap.

mod echoes;
mod repeats;

use super::numbers;
use crate::tcp::{End, LoggedPacket, PacketClass, Segment};

/// A packet that carries payload or FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Time since the first packet of the connection.
    pub time_ns: u64,
    /// First octet.
    pub start: u64,
    /// After the last octet.
    pub end: u64,
    /// Octets of payload.
    pub len: u32,
    /// Effect on the sender's state.
    pub class: PacketClass,
    /// `TSval`; 0 for none.
    pub timestamp: u32,
    /// `TSecr`; 0 for none, or if it does not follow acknowledgments.
    pub echo: u32,
    /// Identification of its IPv4 packet, if the sender numbers its packets by it; 0 for none.
    pub identification: u16,
    /// True if PSH is set: the end of a write of the sending program.
    pub is_pushed: bool,
    /// True if it was repeated because the receiver discards what arrives behind a gap: the copy before may have arrived.
    pub is_discarded: bool,
    /// Number in the capture.
    pub number: u32,
}

/// A packet of the other end that acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    /// Time since the first packet of the connection.
    pub time_ns: u64,
    /// Acknowledgment number.
    pub ack: u64,
    /// Window field, unscaled.
    pub window: u16,
    /// `TSval`; 0 for none.
    pub timestamp: u32,
    /// True if it carries no payload.
    pub is_bare: bool,
    /// Octets of its options on the link.
    pub options_len: u8,
    /// True if it reports octets that arrived twice (RFC 2883).
    pub has_dsack: bool,
    /// Number in the capture.
    pub number: u32,
}

/// Packets that are searched at most, which bounds the time for any capture.
const MAX_LOOK_BACK: usize = 512;
/// Octets that a SACK option with one block adds at least: it has 10 (RFC 2018 section 3), up to 3 of which may take the place of
/// padding, and options end at a multiple of 4 (RFC 9293 section 3.1).
pub const SACK_OCTETS: u8 = 8;
/// Fewer duplicate acknowledgments may be updates of the window.
const MIN_DUPLICATES: u32 = 20;

/// Transmissions between a packet and its copy at most.
const MOST_BETWEEN: usize = 64;

/// One direction of a connection, in capture order.
#[derive(Clone, Debug, Default)]
pub struct DirectionView {
    /// Packets with payload or FIN.
    pub sent: Vec<Transmission>,
    /// Acknowledgments for them, SYN-ACK excluded.
    pub acks: Vec<Acknowledgment>,
    /// True if the identifications of the sender's packets show their order.
    pub is_numbered: bool,
    /// Copies of packets of the sender, known by their identification. They are no transmissions.
    pub copies: u64,
    /// True if the connection began before the capture.
    pub(super) is_late: bool,
    /// Fast retransmissions of segments that arrived: the receiver reported later ones first.
    needless_fast: u64,
}

/// Extends 32-bit sequence numbers (RFC 9293 section 3.4) to 64 bits.
#[derive(Clone, Copy, Debug)]
struct Extender {
    last: Option<u64>,
}

impl Extender {
    /// Far enough from 0 for numbers before the first one.
    const START: u64 = 1 << 40;

    fn extend(&mut self, seq: u32) -> u64 {
        let last = *self.last.get_or_insert(Self::START + u64::from(seq));
        let distance = seq.wrapping_sub(last as u32) as i32;
        let extended = last.saturating_add_signed(i64::from(distance));
        self.last = Some(extended.max(last));
        extended
    }
}

impl DirectionView {
    /// The data of `sender`, and the acknowledgments of the other end.
    pub fn of(packets: &[LoggedPacket], sender: End) -> Self {
        let mut view = Self {
            is_late: packets.first().is_some_and(|it| !it.has_any(Segment::SYN)),
            ..Self::default()
        };
        let mut extender = Extender { last: None };
        let mut newest_stamp: Option<u32> = None;
        view.is_numbered = numbers::rise(packets, sender);
        let mut newest_number: Option<u16> = None;
        let mut probe: Option<LoggedPacket> = None;
        // What the last keep-alive was acknowledged with, until new data follows.
        let mut kept_alive: Option<u32> = None;
        for packet in packets {
            if packet.has_any(Segment::RST) {
                continue;
            }
            if packet.from() == sender {
                let len = packet.sequence_len();
                let is_payload = packet.len > 0 || packet.has_any(Segment::FIN);
                if is_payload && packet.class == PacketClass::NoData {
                    probe = Some(*packet);
                }
                if !is_payload || packet.class == PacketClass::NoData {
                    continue;
                }
                (probe, kept_alive) = (None, None);
                let start = extender.extend(packet.seq);
                let stamp = packet.timestamps.0;
                // What was stamped before something that arrived earlier was overtaken, not repeated.
                let is_older = |newest: u32| newest.wrapping_sub(stamp) as i32 > 0;
                let is_overtaken = stamp != 0 && newest_stamp.is_some_and(is_older);
                let is_newer = stamp != 0
                    && newest_stamp.is_some_and(|newest| newest != stamp && !is_older(newest));
                if stamp != 0 && !is_overtaken {
                    newest_stamp = Some(stamp);
                }
                // The numbers of the packets show it, too, of each of them.
                let identification = if view.is_numbered {
                    packet.identification
                } else {
                    0
                };
                let ahead = newest_number
                    .filter(|_| identification != 0)
                    .map(|newest| identification.wrapping_sub(newest) as i16);
                let (is_overtaken, is_newer) = match ahead {
                    Some(ahead) => (ahead < 0, ahead > 0),
                    None => (is_overtaken, is_newer),
                };
                let is_copy = identification != 0
                    && view.sent.iter().rev().take(MOST_BETWEEN).any(|it| {
                        it.identification == identification
                            && it.start == start
                            && it.len == packet.len
                    });
                if is_copy {
                    view.copies += 1;
                    continue;
                }
                if identification != 0 && !is_overtaken {
                    newest_number = Some(identification);
                }
                let class = match packet.class {
                    PacketClass::NewData => PacketClass::NewData,
                    _ if is_overtaken => PacketClass::Reordered,
                    // What was stamped after all that arrived before was sent after it, too: it replaces a lost one.
                    PacketClass::Reordered if is_newer => PacketClass::FastRetransmission,
                    class => class,
                };
                view.sent.push(Transmission {
                    time_ns: packet.time_ns,
                    start,
                    end: start + u64::from(len),
                    len: packet.len,
                    class,
                    timestamp: packet.timestamps.0,
                    echo: packet.timestamps.1,
                    identification,
                    is_pushed: packet.has_any(Segment::PSH),
                    is_discarded: false,
                    number: packet.number,
                });
            } else if packet.has_any(Segment::ACK) && !packet.has_any(Segment::SYN) {
                let ack = extender.extend(packet.ack);
                let answered = probe.take_if(|it| it.seq.wrapping_add(it.len) == packet.ack);
                if let Some(probe) = &answered {
                    view.push_probe(probe, ack);
                    kept_alive = Some(packet.ack);
                }
                view.acks.push(Acknowledgment {
                    time_ns: packet.time_ns,
                    ack,
                    window: packet.window,
                    timestamp: packet.timestamps.0,
                    is_bare: packet.len == 0,
                    options_len: packet.options_len,
                    // The octet of a keep-alive has arrived before (RFC 9293 section 3.8.4): its report is no news.
                    has_dsack: packet.has_dsack && kept_alive != Some(packet.ack),
                    number: packet.number,
                });
            }
        }
        if echoes::are_of_payload(packets, sender) {
            for sent in &mut view.sent {
                sent.echo = 0;
            }
        }
        view
    }

    /// Records the octet of a `probe` of a closed window that an acknowledgment up to `end` takes.
    fn push_probe(&mut self, probe: &LoggedPacket, end: u64) {
        let start = end - u64::from(probe.len);
        let is_closed = |ack: &Acknowledgment| ack.window == 0 && ack.ack == start;
        let mut recent = self.sent.iter().rev().take(MAX_LOOK_BACK);
        if self.acks.last().is_some_and(is_closed) && recent.all(|it| it.end <= start) {
            self.sent.push(Transmission {
                time_ns: probe.time_ns,
                start,
                end,
                len: probe.len,
                class: PacketClass::NewData,
                timestamp: probe.timestamps.0,
                echo: probe.timestamps.1,
                identification: 0,
                is_pushed: probe.has_any(Segment::PSH),
                is_discarded: false,
                number: probe.number,
            });
        }
    }

    /// Times at which the sender's clock stamped each segment, on the scale of the capture's; `None` if it does not stamp
    /// them in ticks of 10 ms or less.
    pub fn stamped_times_ns(&self) -> Option<Vec<u64>> {
        let first = self.sent.first()?;
        let tick_ns = self.tick_ns()?;
        let times = self.sent.iter().map(|it| {
            let since = it.timestamp.wrapping_sub(first.timestamp) as i32;
            first.time_ns + (f64::from(since.max(0)) * tick_ns) as u64
        });
        (tick_ns <= 10.5e6).then(|| times.collect())
    }

    /// Length of a tick of the sender's time stamps. `None` if not all segments are stamped.
    fn tick_ns(&self) -> Option<f64> {
        let is_stamped = self.sent.iter().all(|it| it.timestamp != 0);
        let (first, last) = (self.sent.first()?, self.sent.last()?);
        let ticks = last.timestamp.wrapping_sub(first.timestamp);
        let span_ns = last.time_ns.saturating_sub(first.time_ns);
        (is_stamped && ticks != 0 && ticks <= 1 << 31).then(|| span_ns as f64 / f64::from(ticks))
    }

    /// Acknowledgments that report octets which arrived twice.
    pub fn dsacks(&self) -> u64 {
        self.acks.iter().filter(|it| it.has_dsack).count() as u64
    }

    /// Segments that were lost: repeated, and neither spuriously nor because they were overtaken or discarded.
    pub fn lost(&self) -> u64 {
        let repeated = self
            .sent
            .iter()
            .filter(|it| it.is_retransmission() && !it.is_discarded);
        let (mut spurious, mut needed) = (0, 0);
        for it in repeated {
            if it.class == PacketClass::SpuriousRetransmission {
                spurious += 1;
            } else {
                needed += 1_u64;
            }
        }
        // The receiver reports those that are known to be spurious, too.
        needed.saturating_sub(self.dsacks().saturating_sub(spurious))
    }

    /// True if duplicate acknowledgments report what arrived behind a gap (RFC 2018), false if they do not, also where
    /// their options were not captured: a report makes them longer. `None` if there are too few.
    pub fn is_selective(&self) -> Option<bool> {
        let bare = || self.acks.iter().filter(|it| it.is_bare);
        let least = self.least_options_len()?;
        let mut sent = self.sent.iter().peekable();
        let (mut highest, mut last) = (0, 0);
        let (mut duplicates, mut selective) = (0, false);
        for ack in bare() {
            while let Some(sent) = sent.next_if(|it| it.number < ack.number) {
                highest = highest.max(sent.end);
            }
            if ack.ack == last && ack.ack < highest {
                duplicates += 1;
                selective |= ack.options_len >= least + SACK_OCTETS;
            }
            last = ack.ack;
        }
        (duplicates >= MIN_DUPLICATES).then_some(selective)
    }

    /// Octets of the options of an acknowledgment without a report.
    pub(super) fn least_options_len(&self) -> Option<u8> {
        let bare = self.acks.iter().filter(|it| it.is_bare);
        bare.map(|it| it.options_len).min()
    }

    /// Segments that were overtaken by later ones, before the capture point or after it. What a timeout repeats
    /// needlessly was not overtaken: its acknowledgment was lost or late.
    pub fn overtaken(&self) -> u64 {
        self.overtaken_before() + self.needless_fast
    }

    /// Segments that were overtaken by later ones before the capture point.
    pub fn overtaken_before(&self) -> u64 {
        let sent = self.sent.iter();
        sent.filter(|it| it.class == PacketClass::Reordered).count() as u64
    }

    /// Largest payload of a segment: octets of a full one.
    pub fn full_segment(&self) -> u32 {
        self.sent.iter().map(|it| it.len).max().unwrap_or(0)
    }
}

impl Transmission {
    /// True if it carries FIN, which takes a sequence number (RFC 9293 section 3.4).
    pub fn has_fin(&self) -> bool {
        self.end - self.start > u64::from(self.len)
    }

    /// A new segment of 1,000 octets, at this place of those that are sent.
    #[cfg(test)]
    pub(super) fn full(place: u64, time_ns: u64) -> Self {
        Self {
            time_ns,
            start: place * 1_000,
            end: (place + 1) * 1_000,
            len: 1_000,
            class: PacketClass::NewData,
            timestamp: 0,
            echo: 0,
            identification: 0,
            is_pushed: false,
            is_discarded: false,
            number: 0,
        }
    }

    /// True if the same octets were captured before.
    pub fn is_retransmission(&self) -> bool {
        !matches!(self.class, PacketClass::NewData | PacketClass::Reordered)
    }
}

#[cfg(test)]
mod tests;
