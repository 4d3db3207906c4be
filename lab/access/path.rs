//! A router between two TAP interfaces that does to packets what access networks do: `path NETNS-A NETNS-B NAME=VALUE...`.
//! A name after `ab.` or `ba.` holds for one direction. Times are in ms, rates in bit/s, sizes in octets. It answers ARP,
//! lowers the TTL, writes what passes on the side `middle` (0: A, 1: B) to R.pcap, and prints its counters when it ends.
//!
//! In order: losses (`mtu syn outage outage_for police burst loss bad bad_length corrupt`), options of TCP (`nosack noscale
//! mss window`), copies (`copy`), acknowledgments collected (`thin thin_ms`), the bottleneck (`rate queue overhead fq ecn suppress`; `agg airtime`: a radio that both
//! directions share and that sends aggregates; `map`: an uplink that requests and is granted; `mismatch`: a full-duplex
//! port at A and a half-duplex port at B; `impulse impulse_p`: mains noise each 10 ms), then `gap gap_for` (held back at
//! intervals), `delay`, `jitter`, `late late_by`, `sleep beacon`, `poll`, `synwait`.
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

extern "C" {
    fn ioctl(fd: i32, request: u64, ...) -> i32;
    fn setns(fd: i32, kind: i32) -> i32;
    fn ppoll(fds: *mut PollFd, count: u64, timeout: *const [i64; 2], mask: *const u8) -> i32;
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn fcntl(fd: i32, command: i32, ...) -> i32;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}
#[repr(C)]
struct PollFd { fd: i32, events: i16, revents: i16 }
static mut ENDED: bool = false;
extern "C" fn end(_: i32) { unsafe { ENDED = true } }

type Ns = u64;
const MS: f64 = 1e6;
fn now() -> Ns {
    let mut time = [0i64; 2];
    unsafe { clock_gettime(1, &mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

#[derive(Clone)]
struct Frame { octets: Vec<u8>, queued: Ns, begun: Ns }
enum Event { Served(usize, Vec<Frame>), Grant(usize), Deliver(usize, Frame), Thinned(usize, u64), Retry(usize) }
#[derive(Default)]
struct Flow { frames: VecDeque<Frame>, deficit: i64, above: Ns, drop_next: Ns, drops: u32 }
#[derive(Default)]
struct Way {
    set: HashMap<String, f64>, count: BTreeMap<&'static str, u64>, flows: HashMap<u32, Flow>, order: VecDeque<u32>, held: usize, busy: bool,
    collided: bool, delivered: Ns, awake: Ns, tokens: f64, filled: Ns, seen: f64, bad: bool, queue_ns: f64, queue_max: Ns, served: u64,
service: f64, first: Ns, last: Ns, kept: Option<Frame>, began_last: Ns, backoff: Ns, attempts: u32, collected: u32, collection: u64,
}
impl Way {
    fn get(&self, name: &str) -> f64 { *self.set.get(name).unwrap_or(&0.0) }
    fn add(&mut self, name: &'static str) { *self.count.entry(name).or_default() += 1 }
}
struct Tcp { at: usize, head: usize, flags: u8, payload: usize }
fn tcp(f: &[u8]) -> Option<Tcp> {
    if f.len() < 54 || f[12..14] != [8, 0] || f[23] != 6 { return None; }
    let (at, total) = (14 + (f[14] & 15) as usize * 4, (f[16] as usize) << 8 | f[17] as usize);
    let head = (f[at + 12] >> 4) as usize * 4;
    (14 + total <= f.len() && 14 + total >= at + head).then(|| Tcp { at, head, flags: f[at + 13], payload: 14 + total - at - head })
}
fn payload(f: &[u8]) -> usize {
    match tcp(f) {
        Some(it) => it.payload,
        None if f.len() >= 42 && f[12..14] == [8, 0] && f[23] == 17 => ((f[16] as usize) << 8 | f[17] as usize).saturating_sub(28),
        None => 0,
    }
}
fn sum(data: &[u8], mut sum: u32) -> u16 {
    for pair in data.chunks(2) { sum += (pair[0] as u32) << 8 | *pair.get(1).unwrap_or(&0) as u32; }
    while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16); }
    !(sum as u16)
}
fn checksum_ip(f: &mut [u8]) {
    let end = 14 + (f[14] & 15) as usize * 4;
    f[24..26].fill(0);
    let it = sum(&f[14..end], 0);
    f[24..26].copy_from_slice(&it.to_be_bytes());
}
fn checksum_tcp(f: &mut [u8], it: &Tcp) {
    let end = it.at + it.head + it.payload;
    let pseudo = f[26..34].chunks(2).map(|p| (p[0] as u32) << 8 | p[1] as u32).sum::<u32>() + 6 + (end - it.at) as u32;
    f[it.at + 16..it.at + 18].fill(0);
    let sum = sum(&f[it.at..end], pseudo);
    f[it.at + 16..it.at + 18].copy_from_slice(&sum.to_be_bytes());
}

struct Path {
    ways: [Way; 2], ends: [File; 2], events: BinaryHeap<std::cmp::Reverse<(Ns, u64)>>, planned: HashMap<u64, Event>, number: u64, began: Ns,
    first: Option<Ns>, random: u64, radio_busy: bool, capture: File, side: usize,
}
impl Path {
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }
    fn plan(&mut self, at: Ns, event: Event) {
        self.number += 1;
        self.events.push(std::cmp::Reverse((at, self.number)));
        self.planned.insert(self.number, event);
    }
    fn capture(&mut self, octets: &[u8]) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut record = Vec::with_capacity(octets.len() + 16);
        for it in [time.as_secs() as u32, time.subsec_micros(), octets.len() as u32, octets.len() as u32] { record.extend(it.to_le_bytes()); }
        record.extend(octets);
        let _ = self.capture.write_all(&record);
    }
    fn put(&mut self, side: usize, mut f: Vec<u8>) {
        f[0..6].copy_from_slice(&mac(side));
        f[6..12].copy_from_slice(&router(side));
        if side == self.side { self.capture(&f); }
        let _ = self.ends[side].write_all(&f);
    }
    fn loss(&mut self, w: usize, f: &[u8], at: Ns) -> Option<&'static str> {
        let (u, v) = (self.uniform(), self.uniform());
        let passed = self.first.map_or(-1.0, |it| at.saturating_sub(it) as f64 / MS);
        let d = &mut self.ways[w];
        if d.get("mtu") > 0.0 && (f.len() - 14) as f64 > d.get("mtu") { return Some("too_long"); }
        if tcp(f).is_some_and(|it| it.flags & 2 != 0) && d.seen < d.get("syn") { d.seen += 1.0; return Some("lost"); }
        if d.get("outage_for") > 0.0 && passed >= d.get("outage") && passed < d.get("outage") + d.get("outage_for") { return Some("outage"); }
        if d.get("police") > 0.0 {
            let fill = d.tokens + (at - d.filled) as f64 / 8e9 * d.get("police");
            d.tokens = if d.filled == 0 { d.get("burst") } else { fill.min(d.get("burst")) };
            d.filled = at;
            if d.tokens < f.len() as f64 { return Some("policed"); }
            d.tokens -= f.len() as f64;
        }
        if u < d.get("loss") { return Some("lost"); }
        if d.get("bad") > 0.0 {
            d.bad = if d.bad { v > 1.0 / d.get("bad_length") } else { v < d.get("bad") };
            if d.bad { return Some("lost"); }
        }
        None
    }
    fn options(&mut self, w: usize, f: &mut [u8]) {
        let d = &mut self.ways[w];
        let Some(it) = tcp(f) else { return };
        let window = d.get("window") as u16;
        if window > 0 && u16::from_be_bytes([f[it.at + 14], f[it.at + 15]]) > window {
            f[it.at + 14..it.at + 16].copy_from_slice(&window.to_be_bytes());
            checksum_tcp(f, &it);
        }
        if it.flags & 2 == 0 { return; }
        let (mut i, end, mut changed) = (it.at + 20, it.at + it.head, false);
        while i + 1 < end && f[i] != 0 {
            if f[i] == 1 { i += 1; continue; }
            let (kind, length, mss) = (f[i], f[i + 1] as usize, d.get("mss") as u16);
            if length < 2 || i + length > end { break; }
            if kind == 2 && mss > 0 && u16::from_be_bytes([f[i + 2], f[i + 3]]) > mss { f[i + 2..i + 4].copy_from_slice(&mss.to_be_bytes()); changed = true; }
            if (kind == 3 && d.get("noscale") > 0.0) || (kind == 4 && d.get("nosack") > 0.0) { f[i..i + length].fill(1); changed = true; }
            i += length;
        }
        if changed { checksum_tcp(f, &it); d.add("rewritten"); }
    }
    fn arrived(&mut self, w: usize, mut f: Vec<u8>, at: Ns) {
        if w == self.side { self.capture(&f); }
        if f.len() >= 42 && f[12..14] == [8, 6] {
            if f[21] == 1 && f[38..42] != f[28..32] && self.ways[w].get("no_arp") == 0.0 {
                let (asked, asking): (Vec<u8>, Vec<u8>) = (f[38..42].to_vec(), f[22..32].to_vec());
                f[21] = 2;
                f[22..28].copy_from_slice(&router(w));
                f[28..32].copy_from_slice(&asked);
                f[32..42].copy_from_slice(&asking);
                self.put(w, f);
            }
            return;
        }
        if f.len() < 34 || f[12..14] != [8, 0] || f[30] != 10 || f[22] < 2 { return; }
        f[22] -= 1;
        checksum_ip(&mut f);
        self.ways[w].add("frames");
        if payload(&f) > 0 {
            self.first.get_or_insert(at);
            let d = &mut self.ways[w];
            if d.first == 0 { d.first = at }
            d.last = at;
        }
        if let Some(why) = self.loss(w, &f, at) { self.ways[w].add(why); return; }
        self.options(w, &mut f);
        let (u, v, x) = (self.uniform(), self.uniform(), self.uniform());
        if payload(&f) > 60 && u < self.ways[w].get("corrupt") {
            let i = f.len() - 1 - (v * 48.0) as usize;
            f[i] ^= 1 << (x * 8.0) as u8;
            self.ways[w].add("corrupted");
        }
        let back = self.ways[1 - w].get("sleep") * MS;
        if back > 0.0 { self.ways[1 - w].awake = at + back as u64; }
        let copies = if u > 1.0 - self.ways[w].get("copy") { self.ways[w].add("copied"); 2 } else { 1 };
        if self.ways[w].get("thin") > 0.0 {
            if tcp(&f).is_some_and(|it| it.payload == 0 && it.flags == 16 && it.head <= 32) {
                let d = &mut self.ways[w];
                if d.kept.replace(Frame { octets: f, queued: at, begun: at }).is_some() { d.add("suppressed"); }
                d.collected += 1;
                let (number, later) = (d.collection, at + (d.get("thin_ms") * MS) as u64);
                if f64::from(d.collected) >= d.get("thin") { self.thinned(w, number, at); }
                else if d.collected == 1 { self.plan(later, Event::Thinned(w, number)); }
                return;
            }
            let number = self.ways[w].collection;
            self.thinned(w, number, at);
        }
        for _ in 0..copies { self.enqueue(w, Frame { octets: f.clone(), queued: at, begun: at }, at); }
    }
    /// Only the last of the acknowledgments that were collected goes on.
    fn thinned(&mut self, w: usize, number: u64, at: Ns) {
        if self.ways[w].collection != number { return; }
        self.ways[w].collection += 1;
        self.ways[w].collected = 0;
        if let Some(f) = self.ways[w].kept.take() { self.enqueue(w, Frame { queued: at, ..f }, at); }
    }
    fn enqueue(&mut self, w: usize, f: Frame, at: Ns) {
        let d = &mut self.ways[w];
        if d.get("rate") == 0.0 { return self.send_on(w, f, at); }
        if d.held + f.octets.len() > d.get("queue") as usize { d.add("queue_full"); return; }
        let name = if d.get("fq") > 0.0 { f.octets[26..38].iter().fold(7u32, |h, &b| h.wrapping_mul(31) ^ b as u32) } else { 0 };
        let pure = |f: &[u8]| tcp(f).is_some_and(|it| it.payload == 0 && it.flags == 16 && it.head <= 32);
        if d.get("suppress") > 0.0 && pure(&f.octets) {
            if let Some(flow) = d.flows.get_mut(&name) {
                // An older acknowledgment that still waits is superseded.
                if let Some(i) = flow.frames.iter().position(|it| pure(&it.octets) && it.octets[26..38] == f.octets[26..38]) {
                    d.held -= flow.frames.remove(i).unwrap().octets.len();
                    d.add("suppressed");
                }
            }
        }
        d.held += f.octets.len();
        let flow = d.flows.entry(name).or_default();
        if flow.frames.is_empty() && !d.order.contains(&name) { d.order.push_back(name); flow.deficit = 1514; }
        flow.frames.push_back(f);
        self.serve(w, at);
    }
    /// The next frame by deficit round robin; CoDel (5 ms, 100 ms) marks or drops.
    fn pop(&mut self, w: usize, at: Ns) -> Option<Frame> {
        let d = &mut self.ways[w];
        let is_managed = d.get("fq") > 0.0;
        loop {
            let name = *d.order.front()?;
            let flow = d.flows.get_mut(&name)?;
            let Some(front) = flow.frames.front() else { d.order.pop_front(); continue };
            if d.order.len() > 1 && flow.deficit < front.octets.len() as i64 {
                flow.deficit += 1514;
                d.order.rotate_left(1);
                continue;
            }
            let mut f = flow.frames.pop_front()?;
            d.held -= f.octets.len();
            flow.deficit -= f.octets.len() as i64;
            let waited = at.saturating_sub(f.queued);
            if is_managed {
                if waited < 5_000_000 || flow.frames.is_empty() { flow.above = 0; flow.drops = 0; }
                else if flow.above == 0 { flow.above = at + 100_000_000; }
                else if at >= flow.above && (flow.drops == 0 || at >= flow.drop_next) {
                    flow.drops += 1;
                    flow.drop_next = at + (1e8 / (flow.drops as f64).sqrt()) as u64;
                    if d.get("ecn") > 0.0 && f.octets[15] & 3 != 0 { f.octets[15] |= 3; checksum_ip(&mut f.octets); d.add("marked"); }
                    else { d.add("managed"); continue; }
                }
            }
            d.queue_ns += waited as f64;
            d.queue_max = d.queue_max.max(waited);
            d.served += 1;
            f.begun = at;
            return Some(f);
        }
    }
    fn serve(&mut self, w: usize, at: Ns) {
        if self.ways[w].busy { return; }
        let (map, agg) = (self.ways[w].get("map"), self.ways[w].get("agg"));
        if map > 0.0 {
            if self.ways[w].held > 0 { self.ways[w].busy = true; self.plan(at + (map * MS) as u64 - (at - self.began) % (map * MS) as u64, Event::Grant(w)); }
            return;
        }
        if agg > 0.0 && self.radio_busy { return; }
        // A half-duplex port waits while it receives.
        if w == 1 && self.ways[1].get("mismatch") > 0.0 {
            if self.ways[0].busy || self.ways[1].held == 0 { return; }
            if at < self.ways[1].backoff { let later = self.ways[1].backoff; return self.plan(later, Event::Retry(1)); }
            self.ways[1].attempts = 0;
        }
        let rate = self.ways[w].get("rate");
        let (mut burst, mut takes) = (Vec::new(), 0.0);
        while burst.len() < agg.max(1.0) as usize {
            let Some(f) = self.pop(w, at) else { break };
            takes += (f.octets.len() as f64 + self.ways[w].get("overhead")) * 8e9 / rate;
            burst.push(f);
        }
        if burst.is_empty() { return; }
        if agg > 0.0 { self.radio_busy = true; takes += self.ways[w].get("airtime") * MS * (0.7 + 0.6 * self.uniform()); }
        if w == 0 && self.ways[0].get("mismatch") > 0.0 && self.ways[1].busy {
            self.ways[0].collided = true;
            // A late collision is not repeated by the half-duplex port.
            if (at - self.ways[1].began_last) as f64 > 512e9 / rate { self.ways[1].collided = true; }
        }
        self.ways[w].began_last = at;
        self.ways[w].busy = true;
        self.ways[w].service += takes;
        self.plan(at + takes as u64, Event::Served(w, burst));
    }
    fn served(&mut self, w: usize, burst: Vec<Frame>, at: Ns) {
        self.ways[w].busy = false;
        let collided = std::mem::take(&mut self.ways[w].collided);
        for f in burst {
            let (impulse, noise) = (self.ways[w].get("impulse") * MS, self.uniform());
            let begun = (f.begun - self.began) as f64 % 1e7;
            let hit = impulse > 0.0 && (begun < impulse || begun + (at - f.begun) as f64 > 1e7) && noise < self.ways[w].get("impulse_p");
            if collided { self.ways[w].add("collided"); } else if hit { self.ways[w].add("disturbed"); } else { self.send_on(w, f, at); }
        }
        if self.ways[w].get("agg") > 0.0 { self.radio_busy = false; self.serve(1 - w, at); }
        self.serve(w, at);
        if self.ways[w].get("mismatch") > 0.0 {
            if w == 0 && self.ways[0].busy && self.ways[1].held > 0 && at >= self.ways[1].backoff {
                // The half-duplex port begins in the gap, too; only it backs off.
                self.ways[0].collided = true;
                self.ways[1].attempts += 1;
                let slots = f64::from(1u32 << self.ways[1].attempts.min(10)) * self.uniform();
                self.ways[1].backoff = at + (slots * 512e9 / self.ways[1].get("rate")) as u64;
            }
            self.serve(1 - w, at);
        }
    }
    /// What was requested a period ago is granted, and sent in a row.
    fn grant(&mut self, w: usize, at: Ns) {
        self.ways[w].busy = false;
        let period = self.ways[w].get("map") * MS;
        self.ways[w].tokens = (self.ways[w].tokens + self.ways[w].get("rate") * period / 8e9).min(3100.0 + self.ways[w].get("rate") * period / 8e9);
        self.ways[w].service += period;
        let (mut time, is_ready) = (at, |d: &Way| d.order.front().and_then(|it| d.flows[it].frames.front())
            .is_some_and(|f| f.queued + (period as u64) <= at && d.tokens >= f.octets.len() as f64));
        while is_ready(&self.ways[w]) {
            let Some(f) = self.pop(w, at) else { break };
            self.ways[w].tokens -= f.octets.len() as f64;
            time += (f.octets.len() as f64 * 8e9 / 50e6) as u64;
            self.send_on(w, f, time);
        }
        self.serve(w, at);
    }
    fn send_on(&mut self, w: usize, f: Frame, from: Ns) {
        let (u, v) = (self.uniform(), self.uniform());
        let began = self.began;
        let d = &mut self.ways[w];
        let (mut at, ceil) = (from as f64, |at: f64, step: f64| began as f64 + ((at - began as f64) / step).ceil() * step);
        if d.get("gap") > 0.0 {
            let (period, length) = (d.get("gap") * MS, d.get("gap_for") * MS);
            let left = period - (at - began as f64) % period;
            if left < length { at += left; d.add("held"); }
        }
        at += d.get("delay") * MS - (1.0 - u).ln() * d.get("jitter") * MS;
        if tcp(&f.octets).is_some_and(|it| it.flags & 2 != 0) { at += d.get("synwait") * MS; }
        if d.get("sleep") > 0.0 {
            if at > d.awake as f64 { at = ceil(at, d.get("beacon") * MS); d.add("held"); }
            d.awake = d.awake.max((at + d.get("sleep") * MS) as u64);
        }
        if d.get("poll") > 0.0 { at = ceil(at, d.get("poll") * MS); }
        if payload(&f.octets) > 0 && v < d.get("late") { at += d.get("late_by") * MS; d.add("overtaken"); }
        else { at = at.max(d.delivered as f64); d.delivered = at as u64; }
        self.plan(at as u64, Event::Deliver(w, f));
    }
}
fn mac(side: usize) -> [u8; 6] { [2, 0xac, 0xce, 0x55, 0, side as u8 + 1] }
fn router(side: usize) -> [u8; 6] { [2, 0xac, 0xce, 0x55, 1, side as u8 + 1] }
fn open(space: &str) -> File {
    let (home, there) = (File::open("/proc/self/ns/net").unwrap(), File::open(format!("/run/netns/{space}")).unwrap());
    let mut request = [0u8; 40];
    request[..4].copy_from_slice(b"eth0");
    request[16..18].copy_from_slice(&0x1002u16.to_le_bytes());
    unsafe {
        assert!(setns(there.as_raw_fd(), 0x4000_0000) == 0);
        let tap = File::options().read(true).write(true).open("/dev/net/tun").unwrap();
        assert!(ioctl(tap.as_raw_fd(), 0x4004_54ca, request.as_mut_ptr()) == 0);
        assert!(setns(home.as_raw_fd(), 0x4000_0000) == 0);
        fcntl(tap.as_raw_fd(), 4, 0o4000);
        tap
    }
}
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut ways = [Way::default(), Way::default()];
    for word in &words[3..] {
        let (name, value) = word.split_once('=').expect("NAME=VALUE");
        let value: f64 = value.parse().expect("a number");
        for (w, prefix) in ["ab.", "ba."].iter().enumerate() {
            if let Some(short) = name.strip_prefix(prefix) { ways[w].set.insert(short.into(), value); }
            else if !name.contains('.') { ways[w].set.entry(name.into()).or_insert(value); }
        }
    }
    let (seed, side) = (ways[0].get("seed") as u64, ways[0].get("middle") as usize);
    let mut capture = File::create("R.pcap").unwrap();
    let mut head = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for it in [0u32, 0, 262144, 1] { head.extend(it.to_le_bytes()); }
    capture.write_all(&head).unwrap();
    let mut p = Path { ways, ends: [open(&words[1]), open(&words[2])], events: BinaryHeap::new(), planned: HashMap::new(), number: 0, began: now(),
        first: None, random: 0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d), radio_busy: false, capture, side };
    unsafe { signal(15, end); signal(2, end); }
    println!("ready");
    let (mut late, mut buffer) = (vec![0u64; 1024], vec![0u8; 4096]);
    while unsafe { !ENDED } {
        while let Some(&std::cmp::Reverse((at, number))) = p.events.peek() {
            let time = now();
            if at > time { break; }
            p.events.pop();
            late[((time - at) / 100_000).min(1023) as usize] += 1;
            // The line goes on from when it was due, however late this program is.
            match p.planned.remove(&number).unwrap() {
                Event::Served(w, burst) => p.served(w, burst, at),
                Event::Grant(w) => p.grant(w, at),
                Event::Retry(w) => p.serve(w, at),
                Event::Thinned(w, number) => p.thinned(w, number, at),
                Event::Deliver(w, f) => { p.ways[w].add("passed"); p.put(1 - w, f.octets) }
            }
        }
        let wait = p.events.peek().map_or(1_000_000_000, |it| it.0.0.saturating_sub(now())).min(1_000_000_000);
        let mut fds = [0, 1].map(|i| PollFd { fd: p.ends[i].as_raw_fd(), events: 1, revents: 0 });
        if unsafe { ppoll(fds.as_mut_ptr(), 2, &[0, wait.min(999_999_999) as i64], std::ptr::null()) } <= 0 { continue; }
        for w in 0..2 {
            for _ in 0..64 {
                if fds[w].revents & 1 == 0 { break; }
                let Ok(octets) = p.ends[w].read(&mut buffer) else { break };
                p.arrived(w, buffer[..octets].to_vec(), now());
            }
        }
    }
    let all: u64 = late.iter().sum();
    let (mut so_far, mut p99) = (0, 0);
    for (i, it) in late.iter().enumerate() { if (so_far as f64) < all as f64 * 0.99 { so_far += it; p99 = i; } }
    let most = late.iter().rposition(|&it| it > 0).unwrap_or(0);
    let ways = p.ways.iter().zip(["ab", "ba"]).map(|(d, name)| {
        let counts: String = d.count.iter().map(|(name, it)| format!("\"{name}\": {it}, ")).collect();
        let span = if d.last > d.first { (d.last - d.first) as f64 } else { f64::MAX };
        format!("\"{name}\": {{{counts}\"queue_ms_mean\": {:.2}, \"queue_ms_max\": {:.2}, \"busy\": {:.3}}}", d.queue_ns / 1e6 / d.served.max(1) as f64,
            d.queue_max as f64 / 1e6, d.service / span)
    }).collect::<Vec<_>>().join(", ");
    println!("{{{ways}, \"late_p99_ms\": {:.1}, \"late_max_ms\": {:.1}}}", p99 as f64 / 10.0, most as f64 / 10.0);
}
