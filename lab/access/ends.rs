//! Programs at the ends: `ends listen|connect ADDRESS PORT send|read|ask|answer NAME=VALUE...` over TCP, or `ends
//! stream|take|echo|names|serve-blocks|fetch-blocks ADDRESS PORT NAME=VALUE...` over UDP. Times are in ms. Each prints JSON.
//!
//! `send`: seconds, chunk, pause, works and stops, sndbuf, nodelay, pace (octets/s). `read`: rcvbuf, chunk, pause, works and stops.
//! `ask`: count, request, answer, pause, split (the request in two writes). `answer`: request, answer, think.
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

extern "C" {
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    fn setsockopt(fd: i32, level: i32, name: i32, value: *const i32, octets: u32) -> i32;
    fn bind(fd: i32, address: *const u8, octets: u32) -> i32;
    fn connect(fd: i32, address: *const u8, octets: u32) -> i32;
    fn listen(fd: i32, backlog: i32) -> i32;
    fn accept(fd: i32, address: *mut u8, octets: *mut u32) -> i32;
}
type Options = HashMap<String, String>;
fn get(o: &Options, name: &str) -> f64 {
    o.get(name).map_or(0.0, |it| it.parse().expect("a number"))
}
fn ms(time: f64) -> Duration {
    Duration::from_secs_f64(time.max(0.0) / 1e3)
}

fn open(role: &str, address: &str, port: u16, o: &Options) -> TcpStream {
    let mut name = vec![2, 0, (port >> 8) as u8, port as u8];
    name.extend(address.split('.').map(|it| it.parse::<u8>().unwrap()));
    name.resize(16, 0);
    // SAFETY: each pointer is to as many octets as its length states; the descriptor is owned by the stream alone.
    unsafe {
        let fd = socket(2, 1, 0);
        for (option, level, number) in
            [("reuse", 1, 2), ("sndbuf", 1, 7), ("rcvbuf", 1, 8), ("pace", 1, 47), ("nodelay", 6, 1), ("mss", 6, 2)]
        {
            let value = if option == "reuse" { 1 } else { get(o, option) as i32 };
            if value > 0 {
                assert!(setsockopt(fd, level, number, &value, 4) == 0, "{option}");
            }
        }
        if role == "connect" {
            assert!(connect(fd, name.as_ptr(), 16) == 0, "no connection");
            return TcpStream::from_raw_fd(fd);
        }
        assert!(bind(fd, name.as_ptr(), 16) == 0 && listen(fd, 8) == 0, "no listener");
        TcpStream::from_raw_fd(accept(fd, std::ptr::null_mut(), std::ptr::null_mut()))
    }
}
/// Works for some time, then stops for some time.
struct Stops {
    works: f64,
    stops: f64,
    since: Instant,
    count: u32,
}
impl Stops {
    fn new(o: &Options) -> Self {
        Self { works: get(o, "works"), stops: get(o, "stops"), since: Instant::now(), count: 0 }
    }
    fn pass(&mut self) {
        if self.stops > 0.0 && self.since.elapsed() > ms(self.works) {
            sleep(ms(self.stops));
            self.count += 1;
            self.since = Instant::now();
        }
    }
}
fn finish(mut s: &TcpStream) {
    let _ = s.shutdown(Shutdown::Write);
    while matches!(s.read(&mut [0; 4096]), Ok(1..)) {}
}
fn send(mut s: &TcpStream, o: &Options) -> String {
    let (began, chunk, mut stops, mut octets) =
        (Instant::now(), vec![0x55; get(o, "chunk").max(1.0) as usize], Stops::new(o), 0);
    let mut due = began;
    while began.elapsed() < ms(get(o, "seconds") * 1e3) && s.write_all(&chunk).is_ok() {
        octets += chunk.len();
        due = due.max(Instant::now() - ms(get(o, "pause") / 2.0)) + ms(get(o, "pause"));
        sleep(due.saturating_duration_since(Instant::now()));
        stops.pass();
    }
    finish(s);
    format!("\"written\": {octets}, \"stopped\": {}", stops.count)
}
fn read(mut s: &TcpStream, o: &Options) -> String {
    let (mut chunk, mut stops, mut octets) = (vec![0; get(o, "chunk").max(1.0) as usize], Stops::new(o), 0);
    if !o.contains_key("chunk") {
        chunk.resize(65536, 0);
    }
    let mut due = Instant::now();
    while let Ok(it @ 1..) = s.read(&mut chunk) {
        octets += it;
        due = due.max(Instant::now() - ms(20.0)) + ms(get(o, "pause") * it as f64 / chunk.len() as f64);
        sleep(due.saturating_duration_since(Instant::now()));
        stops.pass();
    }
    format!("\"taken\": {octets}, \"stopped\": {}", stops.count)
}
fn ask(mut s: &TcpStream, o: &Options) -> String {
    let (request, split) = (vec![0x41; get(o, "request") as usize], get(o, "split") as usize);
    let (mut answer, mut longest, mut done) = (vec![0; get(o, "answer") as usize], 0.0f64, 0);
    for _ in 0..get(o, "count") as u32 {
        let began = Instant::now();
        for part in [&request[..split], &request[split..]] {
            if !part.is_empty() {
                s.write_all(part).expect("sent");
            }
        }
        if s.read_exact(&mut answer).is_err() {
            break;
        }
        longest = longest.max(began.elapsed().as_secs_f64() * 1e3);
        done += 1;
        sleep(ms(get(o, "pause")));
    }
    finish(s);
    format!("\"answers\": {done}, \"longest_ms\": {longest:.1}")
}
fn answer(mut s: &TcpStream, o: &Options) -> String {
    let (mut request, answer, mut thought, mut done) =
        (vec![0; get(o, "request") as usize], vec![0x42; get(o, "answer") as usize], 0.0, 0u32);
    while s.read_exact(&mut request).is_ok() {
        let think = get(o, "think") * (0.8 + 0.4 * f64::from(done * 7 % 10) / 10.0);
        sleep(ms(think));
        thought += think;
        done += 1;
        if s.write_all(&answer).is_err() {
            break;
        }
    }
    format!("\"answered\": {done}, \"thought_ms\": {thought:.0}")
}
fn datagrams(role: &str, address: &str, port: u16, o: &Options) -> String {
    let is_client = matches!(role, "stream" | "fetch-blocks");
    let s = UdpSocket::bind(if is_client { "0.0.0.0:0".to_owned() } else { format!("{address}:{port}") })
        .expect("a socket");
    let room = 4_000_000;
    // SAFETY: `room` is an int of four octets.
    unsafe { setsockopt(s.as_raw_fd(), 1, 33, &room, 4) };
    let (began, mut buffer, mut count, mut returned) = (Instant::now(), [0; 2048], 0u32, 0u32);
    let sized = |octets: f64| vec![0u8; octets.max(4.0) as usize];
    if is_client {
        s.connect((address, port)).expect("an address");
    }
    if role == "stream" {
        let (mut data, mut due) = (sized(get(o, "octets")), began);
        s.set_nonblocking(true).expect("set");
        while due < began + ms(get(o, "seconds") * 1e3) {
            for _ in 0..get(o, "at_once").max(1.0) as u32 {
                data[..4].copy_from_slice(&count.to_be_bytes());
                let _ = s.send(&data);
                count += 1;
            }
            while s.recv(&mut buffer).is_ok() {
                returned += 1;
            }
            due += ms(get(o, "pause"));
            sleep(due.saturating_duration_since(Instant::now()));
        }
        return format!("\"datagrams\": {count}, \"returned\": {returned}");
    }
    if role == "fetch-blocks" {
        s.set_read_timeout(Some(ms(800.0))).expect("set");
        while f64::from(count) < get(o, "count") {
            s.send(&count.to_be_bytes()).expect("sent");
            if s.recv(&mut buffer).is_ok() {
                count += 1;
            } else {
                returned += 1;
            }
        }
        return format!("\"blocks\": {count}, \"again\": {returned}");
    }
    loop {
        let (octets, from) = s.recv_from(&mut buffer).expect("received");
        match role {
            "echo" => {
                let _ = s.send_to(&buffer[..octets], from);
            }
            "serve-blocks" => {
                let mut data = sized(get(o, "block"));
                data[..4].copy_from_slice(&buffer[..4]);
                let _ = s.send_to(&data, from);
            }
            "names" => {
                sleep(ms(get(o, "after")));
                let end = 12 + buffer[12..octets].iter().position(|&it| it == 0).unwrap_or(0);
                let is_v4 = buffer[end + 2] == 1;
                let mut reply = buffer[..end + 5].to_vec();
                reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, is_v4 as u8, 0, 0, 0, 0]);
                if is_v4 {
                    reply.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
                    reply.extend(o["to"].split('.').map(|it| it.parse::<u8>().unwrap()));
                }
                let _ = s.send_to(&reply, from);
            }
            _ => {}
        }
    }
}
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (role, address, port) = (words[1].as_str(), words[2].as_str(), words[3].parse().expect("a port"));
    let o: Options = words[4..]
        .iter()
        .filter_map(|it| it.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let began = Instant::now();
    let done = if matches!(role, "listen" | "connect") {
        let s = open(role, address, port, &o);
        match words[4].as_str() {
            "send" => send(&s, &o),
            "read" => read(&s, &o),
            "ask" => ask(&s, &o),
            _ => answer(&s, &o),
        }
    } else {
        datagrams(role, address, port, &o)
    };
    println!("{{{done}, \"seconds\": {:.3}}}", began.elapsed().as_secs_f64());
}
