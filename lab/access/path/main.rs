//! A router between two TAP interfaces that does to packets what access networks do: `path NETNS-A NETNS-B NAME=VALUE...`.
//! A name after `ab.` or `ba.` holds for one direction. Times are in ms, rates in bit/s, sizes in octets. It answers ARP,
//! lowers the TTL, writes what passes on the side `middle` (0: A, 1: B) to R.pcap, and prints its counters when it ends.
//!
//! In order: losses (`mtu syn outage outage_for police burst loss bad bad_length corrupt`), options of TCP (`nosack noscale
//! mss window`), acknowledgments collected (`thin thin_ms`), copies (`copy`), the bottleneck (`rate queue overhead fq ecn
//! suppress`; `agg airtime`: a radio that both directions share and that sends aggregates; `map`: an uplink that requests
//! and is granted; `mismatch`: a full-duplex port at A and a half-duplex port at B; `impulse impulse_p`: mains noise each
//! 10 ms), then `gap gap_for` (held back at intervals), `delay`, `jitter`, `late late_by`, `sleep beacon`, `poll`, `synwait`.

mod bottleneck;
mod losses;
mod packet;

use packet::{checksum_ip, checksum_tcp, payload, tcp};
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
struct PollFd {
    fd: i32,
    events: i16,
    revents: i16,
}
static mut ENDED: bool = false;
extern "C" fn end(_: i32) {
    // SAFETY: the only other access is the read in the main loop of the same thread.
    unsafe { ENDED = true }
}

type Ns = u64;
const MS: f64 = 1e6;
fn now() -> Ns {
    let mut time = [0i64; 2];
    // SAFETY: `time` has the size of a timespec of a 64-bit Linux.
    unsafe { clock_gettime(1, &mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

#[derive(Clone)]
struct Frame {
    octets: Vec<u8>,
    queued: Ns,
    begun: Ns,
}
enum Event {
    Served(usize, Vec<Frame>),
    Grant(usize),
    Deliver(usize, Frame),
    Thinned(usize, u64),
    Retry(usize),
}
#[derive(Default)]
struct Flow {
    frames: VecDeque<Frame>,
    deficit: i64,
    above: Ns,
    drop_next: Ns,
    drops: u32,
}
#[derive(Default)]
struct Way {
    set: HashMap<String, f64>,
    count: BTreeMap<&'static str, u64>,
    flows: HashMap<u32, Flow>,
    order: VecDeque<u32>,
    held: usize,
    busy: bool,
    collided: bool,
    delivered: Ns,
    awake: Ns,
    tokens: f64,
    filled: Ns,
    seen: f64,
    bad: bool,
    queue_ns: f64,
    queue_max: Ns,
    served: u64,
    service: f64,
    first: Ns,
    last: Ns,
    kept: Option<Frame>,
    began_last: Ns,
    backoff: Ns,
    attempts: u32,
    collected: u32,
    collection: u64,
}
impl Way {
    fn get(&self, name: &str) -> f64 {
        *self.set.get(name).unwrap_or(&0.0)
    }
    fn add(&mut self, name: &'static str) {
        *self.count.entry(name).or_default() += 1
    }
}
struct Path {
    ways: [Way; 2],
    ends: [File; 2],
    events: BinaryHeap<std::cmp::Reverse<(Ns, u64)>>,
    planned: HashMap<u64, Event>,
    number: u64,
    began: Ns,
    first: Option<Ns>,
    random: u64,
    radio_busy: bool,
    capture: File,
    side: usize,
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
        for it in [time.as_secs() as u32, time.subsec_micros(), octets.len() as u32, octets.len() as u32] {
            record.extend(it.to_le_bytes());
        }
        record.extend(octets);
        let _ = self.capture.write_all(&record);
    }
    fn put(&mut self, side: usize, mut f: Vec<u8>) {
        f[0..6].copy_from_slice(&mac(side));
        f[6..12].copy_from_slice(&router(side));
        if side == self.side {
            self.capture(&f);
        }
        let _ = self.ends[side].write_all(&f);
    }
}
fn mac(side: usize) -> [u8; 6] {
    [2, 0xac, 0xce, 0x55, 0, side as u8 + 1]
}
fn router(side: usize) -> [u8; 6] {
    [2, 0xac, 0xce, 0x55, 1, side as u8 + 1]
}
fn open(space: &str) -> File {
    let (home, there) = (File::open("/proc/self/ns/net").unwrap(), File::open(format!("/run/netns/{space}")).unwrap());
    let mut request = [0u8; 40];
    request[..4].copy_from_slice(b"eth0");
    request[16..18].copy_from_slice(&0x1002u16.to_le_bytes());
    // SAFETY: the files are open, and `request` has the size of an ifreq.
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
            if let Some(short) = name.strip_prefix(prefix) {
                ways[w].set.insert(short.into(), value);
            } else if !name.contains('.') {
                ways[w].set.entry(name.into()).or_insert(value);
            }
        }
    }
    let (seed, side) = (ways[0].get("seed") as u64, ways[0].get("middle") as usize);
    let mut capture = File::create("R.pcap").unwrap();
    let mut head = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for it in [0u32, 0, 262144, 1] {
        head.extend(it.to_le_bytes());
    }
    capture.write_all(&head).unwrap();
    let mut p = Path {
        ways,
        ends: [open(&words[1]), open(&words[2])],
        events: BinaryHeap::new(),
        planned: HashMap::new(),
        number: 0,
        began: now(),
        first: None,
        random: 0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
        radio_busy: false,
        capture,
        side,
    };
    // SAFETY: the handler only sets a flag.
    unsafe {
        signal(15, end);
        signal(2, end);
    }
    println!("ready");
    let (mut late, mut buffer) = (vec![0u64; 1024], vec![0u8; 4096]);
    // SAFETY: the handler runs in this thread.
    while unsafe { !ENDED } {
        while let Some(&std::cmp::Reverse((at, number))) = p.events.peek() {
            let time = now();
            if at > time {
                break;
            }
            p.events.pop();
            late[((time - at) / 100_000).min(1023) as usize] += 1;
            // The line goes on from when it was due, however late this program is.
            match p.planned.remove(&number).unwrap() {
                Event::Served(w, burst) => p.served(w, burst, at),
                Event::Grant(w) => p.grant(w, at),
                Event::Retry(w) => p.serve(w, at),
                Event::Thinned(w, number) => p.thinned(w, number, at),
                Event::Deliver(w, f) => {
                    p.ways[w].add("passed");
                    p.put(1 - w, f.octets)
                }
            }
        }
        let wait = p.events.peek().map_or(1_000_000_000, |it| it.0 .0.saturating_sub(now())).min(1_000_000_000);
        let mut fds = [0, 1].map(|i| PollFd { fd: p.ends[i].as_raw_fd(), events: 1, revents: 0 });
        // SAFETY: two pollfd and a timespec live as long as the call.
        if unsafe { ppoll(fds.as_mut_ptr(), 2, &[0, wait.min(999_999_999) as i64], std::ptr::null()) } <= 0 {
            continue;
        }
        for w in 0..2 {
            for _ in 0..64 {
                if fds[w].revents & 1 == 0 {
                    break;
                }
                let Ok(octets) = p.ends[w].read(&mut buffer) else { break };
                p.arrived(w, buffer[..octets].to_vec(), now());
            }
        }
    }
    let all: u64 = late.iter().sum();
    let (mut so_far, mut p99) = (0, 0);
    for (i, it) in late.iter().enumerate() {
        if (so_far as f64) < all as f64 * 0.99 {
            so_far += it;
            p99 = i;
        }
    }
    let most = late.iter().rposition(|&it| it > 0).unwrap_or(0);
    let ways = p
        .ways
        .iter()
        .zip(["ab", "ba"])
        .map(|(d, name)| {
            let counts: String = d.count.iter().map(|(name, it)| format!("\"{name}\": {it}, ")).collect();
            let span = if d.last > d.first { (d.last - d.first) as f64 } else { f64::MAX };
            format!(
                "\"{name}\": {{{counts}\"queue_ms_mean\": {:.2}, \"queue_ms_max\": {:.2}, \"busy\": {:.3}}}",
                d.queue_ns / 1e6 / d.served.max(1) as f64,
                d.queue_max as f64 / 1e6,
                d.service / span
            )
        })
        .collect::<Vec<_>>()
        .join(", ");
    println!("{{{ways}, \"late_p99_ms\": {:.1}, \"late_max_ms\": {:.1}}}", p99 as f64 / 10.0, most as f64 / 10.0);
}
