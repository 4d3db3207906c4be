//! A generator of captures: a TCP transfer over a path with a queue, event by event. It is simple (Reno without SACK), and
//! not meant to resemble any stack: it makes traffic of many kinds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use linerate_capture::reader::{LinkType, Packet};
use linerate_capture::traffic::Traffic;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// Time in which a transfer ends, complete or not.
const LONGEST_NS: u64 = 60_000 * MS;
/// Segments written at once by a program that pauses.
const WRITTEN: u32 = 10;

/// A transfer, its path, and the place of capture.
#[derive(Clone, Debug)]
pub struct Setting {
    pub rtt_us: u64,
    pub bytes_per_s: u64,
    /// Segments that wait before the slowest link.
    pub queue: usize,
    pub loss_permille: u64,
    /// The receiver has one buffer.
    pub loses_second: bool,
    pub mss: u32,
    pub window: u32,
    pub ack_every: u32,
    pub ack_delay_ms: u64,
    /// The sending program pauses after each write, for this long; 0 for never.
    pub write_pause_ms: u64,
    /// The receiving program reads at this interval; 0 for at once.
    pub read_pause_ms: u64,
    pub segments: u32,
    /// The SYN is answered this much later than the path accounts for.
    pub opening_ms: u64,
    /// Of the capture: 0 at the sender, 1 between, 2 at the receiver.
    pub place: u8,
    /// Packets before the capture begins.
    pub skipped: usize,
    pub is_stamped: bool,
    pub seed: u64,
}

/// A packet at the capture point.
#[derive(Clone, Copy)]
struct Captured {
    at_ns: u64,
    is_data: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    len: u32,
    window: u32,
    stamps: (u32, u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { seq: u32, len: u32, stamp: u32 },
    Ack { ack: u32, window: u32, stamp: u32 },
    Timer { number: u32 },
    DelayedAck { number: u32 },
    Write,
    Read,
}

struct Transfer<'a> {
    setting: &'a Setting,
    random: u64,
    now_ns: u64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    captured: Vec<Captured>,
    // Path.
    free_ns: u64,
    last_arrival_ns: u64,
    was_lost: bool,
    // Sender.
    acked: u32,
    next: u32,
    /// Octets written so far.
    written: u32,
    granted: u32,
    congestion: u32,
    threshold: u32,
    duplicates: u32,
    recovers_until: u32,
    timer: u32,
    back_off: u32,
    echo: u32,
    // Receiver.
    expected: u32,
    later: BTreeMap<u32, u32>,
    buffered: u32,
    unacked: u32,
    ack_timer: u32,
    stamp: u32,
}

impl<'a> Transfer<'a> {
    fn new(setting: &'a Setting) -> Self {
        Self {
            setting,
            random: setting.seed,
            now_ns: MS,
            events: BinaryHeap::new(),
            captured: Vec::new(),
            free_ns: 0,
            last_arrival_ns: 0,
            was_lost: false,
            acked: 1,
            next: 1,
            written: 0,
            granted: setting.window,
            congestion: 10 * setting.mss,
            threshold: u32::MAX,
            duplicates: 0,
            recovers_until: 0,
            timer: 0,
            back_off: 0,
            echo: 1,
            expected: 1,
            later: BTreeMap::new(),
            buffered: 0,
            unacked: 0,
            ack_timer: 0,
            stamp: 1,
        }
    }

    fn total(&self) -> u32 {
        self.setting.segments * self.setting.mss
    }

    fn half_ns(&self) -> u64 {
        self.setting.rtt_us * US / 2
    }

    /// A linear congruential generator.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % below
    }

    fn at(&mut self, after_ns: u64, event: Event) {
        self.events.push(Reverse((self.now_ns + after_ns, event)));
    }

    fn stamp_now(&self) -> u32 {
        (self.now_ns / MS) as u32 + 1_000
    }

    /// Captures a packet that leaves at `from_ns` and arrives at `until_ns`, `None` if it is lost.
    fn capture(&mut self, mut it: Captured, from_ns: u64, until_ns: Option<u64>) {
        let place = if it.is_data {
            self.setting.place
        } else {
            2 - self.setting.place
        };
        it.at_ns = match (place, until_ns) {
            (0, _) => from_ns + US,
            (1, Some(until_ns)) => until_ns - self.half_ns() / 2,
            (_, Some(until_ns)) => until_ns - US.min(until_ns - from_ns),
            (_, None) => return,
        };
        self.captured.push(it);
    }

    fn handshake(&mut self) {
        let packet = |is_data, flags, seq, ack| Captured {
            at_ns: 0,
            is_data,
            flags,
            seq,
            ack,
            len: 0,
            window: 0,
            stamps: (1_000, if flags & ACK == 0 { 0 } else { 1_000 }),
        };
        let half_ns = self.half_ns().max(2 * US);
        let start_ns = self.now_ns;
        // The receiver opens the connection.
        self.capture(packet(false, SYN, 0, 0), start_ns, Some(start_ns + half_ns));
        let answered_ns = start_ns + half_ns + 20 * US + self.setting.opening_ms * MS;
        self.capture(
            packet(true, SYN | ACK, 0, 1),
            answered_ns,
            Some(answered_ns + half_ns),
        );
        let acked_ns = answered_ns + half_ns + 20 * US;
        self.capture(packet(false, ACK, 1, 1), acked_ns, Some(acked_ns + half_ns));
        self.now_ns = acked_ns + half_ns + 20 * US;
    }

    fn run(mut self) -> Vec<Captured> {
        self.handshake();
        self.at(0, Event::Write);
        if self.setting.read_pause_ms > 0 {
            self.at(self.setting.read_pause_ms * MS, Event::Read);
        }
        while let Some(Reverse((at_ns, event))) = self.events.pop() {
            self.now_ns = at_ns;
            if at_ns > LONGEST_NS || self.acked > self.total() {
                break;
            }
            match event {
                Event::Data { seq, len, stamp } => self.on_data(seq, len, stamp),
                Event::Ack { ack, window, stamp } => self.on_ack(ack, window, stamp),
                Event::Timer { number } => self.on_timer(number),
                Event::DelayedAck { number } if number == self.ack_timer && self.unacked > 0 => {
                    self.acknowledge();
                }
                Event::DelayedAck { .. } => {}
                Event::Write => self.on_write(),
                Event::Read => self.on_read(),
            }
        }
        self.captured
    }

    fn on_write(&mut self) {
        let pause_ms = self.setting.write_pause_ms;
        if pause_ms == 0 {
            self.written = self.total();
        } else {
            self.written = (self.written + WRITTEN * self.setting.mss).min(self.total());
            if self.written < self.total() {
                self.at(pause_ms * MS, Event::Write);
            }
        }
        self.fill();
    }

    /// Sends what both windows permit.
    fn fill(&mut self) {
        let edge = self.acked + self.granted.min(self.congestion);
        while self.next <= self.written {
            let len = self
                .setting
                .mss
                .min(self.written + 1 - self.next)
                .min(edge.saturating_sub(self.next));
            if len == 0 {
                break;
            }
            let seq = self.next;
            self.next += len;
            self.transmit(seq, len);
        }
    }

    fn transmit(&mut self, seq: u32, len: u32) {
        self.timer += 1;
        let number = self.timer;
        let timeout_ns = (200 * MS).max(3 * self.setting.rtt_us * US) << self.back_off.min(6);
        self.at(timeout_ns, Event::Timer { number });
        let wire_ns = u64::from(len + 78) * 1_000_000_000 / self.setting.bytes_per_s;
        let waiting_ns = self.free_ns.saturating_sub(self.now_ns);
        let is_full = waiting_ns > wire_ns * self.setting.queue as u64;
        let is_random = self.draw(1_000) < self.setting.loss_permille;
        let stamp = self.stamp_now();
        let flags = if seq + len > self.written {
            ACK | PSH
        } else {
            ACK
        };
        let packet = Captured {
            at_ns: 0,
            is_data: true,
            flags,
            seq,
            ack: 1,
            len,
            window: 60_000,
            stamps: (stamp, self.echo),
        };
        // The sender's own line is ten times as fast.
        let sent_ns = self.now_ns;
        self.now_ns += wire_ns / 10;
        if is_full {
            self.capture(packet, sent_ns, None);
            return;
        }
        self.free_ns = self.free_ns.max(sent_ns) + wire_ns;
        let arrival_ns = self.free_ns + self.half_ns();
        let is_close = arrival_ns - self.last_arrival_ns.min(arrival_ns) < wire_ns * 3 / 2;
        let is_second = self.setting.loses_second && is_close && !self.was_lost;
        self.last_arrival_ns = arrival_ns;
        self.was_lost = is_second;
        if is_random {
            self.capture(packet, sent_ns, None);
            return;
        }
        self.capture(packet, sent_ns, Some(arrival_ns));
        if !is_second {
            self.at(
                arrival_ns - self.now_ns.min(arrival_ns),
                Event::Data { seq, len, stamp },
            );
        }
    }

    fn on_data(&mut self, seq: u32, len: u32, stamp: u32) {
        self.stamp = stamp;
        if seq > self.expected {
            self.later.insert(seq, len);
            self.acknowledge();
            return;
        }
        let before = self.expected;
        self.expected = self.expected.max(seq + len);
        while let Some((seq, len)) = self.later.pop_first() {
            if seq > self.expected {
                self.later.insert(seq, len);
                break;
            }
            self.expected = self.expected.max(seq + len);
        }
        if self.setting.read_pause_ms > 0 {
            self.buffered += self.expected - before;
        }
        self.unacked += 1;
        let is_late = self.unacked < self.setting.ack_every && self.expected > before;
        if is_late && self.setting.ack_delay_ms > 0 {
            self.ack_timer += 1;
            let number = self.ack_timer;
            self.at(self.setting.ack_delay_ms * MS, Event::DelayedAck { number });
        } else {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        self.unacked = 0;
        let window = self.setting.window.saturating_sub(self.buffered);
        let (ack, stamp) = (self.expected, self.stamp_now());
        let packet = Captured {
            at_ns: 0,
            is_data: false,
            flags: ACK,
            seq: 1,
            ack,
            len: 0,
            window,
            stamps: (stamp, self.stamp),
        };
        self.capture(packet, self.now_ns, Some(self.now_ns + self.half_ns()));
        self.at(self.half_ns(), Event::Ack { ack, window, stamp });
    }

    fn on_read(&mut self) {
        if self.buffered > 0 {
            self.buffered = 0;
            self.acknowledge();
        }
        self.at(self.setting.read_pause_ms * MS, Event::Read);
    }

    fn on_ack(&mut self, ack: u32, window: u32, stamp: u32) {
        self.echo = stamp;
        let mss = self.setting.mss;
        let is_update = window != self.granted;
        self.granted = window;
        if ack > self.acked {
            self.acked = ack;
            self.back_off = 0;
            self.duplicates = 0;
            self.timer += 1;
            if ack < self.recovers_until {
                self.transmit(ack, mss.min(self.next - ack));
            } else if self.congestion < self.threshold {
                self.congestion = self.congestion.saturating_add(mss);
            } else {
                self.congestion += (mss * mss / self.congestion).max(1);
            }
            if self.acked < self.next {
                let number = self.timer;
                self.at(
                    (200 * MS).max(3 * self.setting.rtt_us * US),
                    Event::Timer { number },
                );
            }
        } else if self.acked < self.next && !is_update {
            self.duplicates += 1;
            if self.duplicates == 3 && ack >= self.recovers_until {
                self.shrink();
                self.congestion = self.threshold;
                self.transmit(ack, mss.min(self.next - ack));
            }
        }
        self.fill();
    }

    fn shrink(&mut self) {
        self.threshold = ((self.next - self.acked) / 2).max(2 * self.setting.mss);
        self.recovers_until = self.next;
    }

    fn on_timer(&mut self, number: u32) {
        if number != self.timer || self.acked >= self.next {
            return;
        }
        self.shrink();
        self.congestion = self.setting.mss;
        self.back_off += 1;
        self.transmit(self.acked, self.setting.mss.min(self.next - self.acked));
    }
}

/// A capture of these transfers between the same hosts, one second after another.
pub fn traffic(settings: &[Setting]) -> Traffic {
    let mut frames: Vec<(u64, Vec<u8>, u32)> = Vec::new();
    for (at, setting) in settings.iter().enumerate() {
        let mut packets = Transfer::new(setting).run();
        packets.sort_by_key(|it| it.at_ns);
        let kept = packets.iter().skip(setting.skipped);
        let port = 40_000 + at as u16;
        frames.extend(kept.map(|it| frame(setting, it, port, at as u64 * 1_000 * MS)));
    }
    frames.sort_by_key(|it| it.0);
    let mut traffic = Traffic::default();
    for ((time_ns, octets, length), number) in frames.iter().zip(1..) {
        traffic.record_packet(&Packet {
            number,
            offset: 0,
            time_ns: *time_ns,
            length: *length,
            link: LinkType::RAW,
            octets,
        });
    }
    traffic
}

/// The headers of a packet, and its length.
fn frame(setting: &Setting, it: &Captured, port: u16, start_ns: u64) -> (u64, Vec<u8>, u32) {
    let mut options = Vec::new();
    if it.flags & SYN != 0 {
        options.extend([2, 4]);
        options.extend((setting.mss as u16).to_be_bytes());
    }
    if setting.is_stamped {
        options.extend([1, 1, 8, 10]);
        options.extend(it.stamps.0.to_be_bytes());
        options.extend(it.stamps.1.to_be_bytes());
    }
    let head = 20 + options.len();
    let length = 20 + head as u32 + it.len;
    let mut octets = vec![0x45, 0];
    octets.extend((length as u16).to_be_bytes());
    octets.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (from, to) = if it.is_data { (1, 2) } else { (2, 1) };
    octets.extend([192, 0, 2, from, 192, 0, 2, to]);
    let ports = if it.is_data { [80, port] } else { [port, 80] };
    octets.extend(ports.into_iter().flat_map(u16::to_be_bytes));
    octets.extend(it.seq.to_be_bytes());
    octets.extend(it.ack.to_be_bytes());
    octets.extend([(head as u8 / 4) << 4, it.flags & !FIN]);
    octets.extend((it.window.min(65_535) as u16).to_be_bytes());
    octets.extend([0; 4]);
    octets.extend(options);
    (start_ns + it.at_ns, octets, length)
}
