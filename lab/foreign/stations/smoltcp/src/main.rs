//! A station with smoltcp: frames come and go over the socket that is its standard input, one datagram
//! each.
//!
//! Arguments are `key=value`: `ip`, `prefix`, `mac`; `role` (sink, source), `port`, `peer` (connects instead of
//! listening), `octets`, `rx` and `tx` (buffers in octets), `ack_delay` (ms, -1 for none), `nagle`, `mtu`, `reno`,
//! `every` and `for` (ms: works, then stops), `drain` (octets read per ms).

#![forbid(unsafe_code)]

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::time;

/// Longest frame.
const LONGEST: usize = 2048;

struct Link {
    socket: UnixDatagram,
    /// The frame that ended the last wait.
    first: Option<Vec<u8>>,
    mtu: usize,
}

impl Link {
    fn next(&mut self, wait: time::Duration) -> Option<Vec<u8>> {
        self.socket
            .set_read_timeout(Some(wait.max(time::Duration::from_micros(1))))
            .expect("a socket");
        let mut frame = vec![0; LONGEST];
        let n = self.socket.recv(&mut frame).ok()?;
        frame.truncate(n);
        Some(frame)
    }

    /// Waits until a frame is there.
    fn wait(&mut self, most: time::Duration) {
        if self.first.is_none() {
            self.first = self.next(most);
        }
    }
}

struct Received(Vec<u8>);
struct Transmit<'a>(&'a UnixDatagram);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Transmit<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        // A full socket loses the frame, as a link may.
        let _ = self.0.send(&frame);
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Received;
    type TxToken<'a> = Transmit<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Transmit<'_>)> {
        let frame = self.first.take().or_else(|| {
            self.socket.set_nonblocking(true).expect("a socket");
            let frame = self.next(time::Duration::ZERO);
            self.socket.set_nonblocking(false).expect("a socket");
            frame
        })?;
        Some((Received(frame), Transmit(&self.socket)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Transmit<'_>> {
        Some(Transmit(&self.socket))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.mtu + 14;
        capabilities.checksum = ChecksumCapabilities::default();
        capabilities
    }
}

struct Settings(HashMap<String, String>);

impl Settings {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn number(&self, key: &str, otherwise: i64) -> i64 {
        self.text(key)
            .map_or(otherwise, |it| it.parse().expect("a number"))
    }

    fn size(&self, key: &str, otherwise: i64) -> usize {
        usize::try_from(self.number(key, otherwise)).expect("a size")
    }
}

fn main() {
    let set = Settings(
        std::env::args()
            .skip(1)
            .filter_map(|it| {
                it.split_once('=')
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
            })
            .collect(),
    );
    let start = time::Instant::now();
    let now = || Instant::from_micros(i64::try_from(start.elapsed().as_micros()).expect("short"));
    let stdin = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .expect("a socket as standard input");
    let mut link = Link {
        socket: UnixDatagram::from(stdin),
        first: None,
        mtu: set.size("mtu", 1500),
    };
    let mac: Vec<u8> = set
        .text("mac")
        .expect("mac")
        .split(':')
        .map(|it| u8::from_str_radix(it, 16).expect("mac"))
        .collect();
    let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress::from_bytes(&mac)));
    config.random_seed = u64::from(std::process::id());
    let mut interface = Interface::new(config, &mut link, now());
    let ip: Ipv4Address = set.text("ip").expect("ip").parse().expect("ip");
    let prefix = u8::try_from(set.number("prefix", 24)).expect("prefix");
    interface.update_ip_addrs(|all| {
        all.push(IpCidr::new(IpAddress::Ipv4(ip), prefix))
            .expect("room");
    });
    let buffer = |key| SocketBuffer::new(vec![0; set.size(key, 8192)]);
    let mut socket = Socket::new(buffer("rx"), buffer("tx"));
    if set.number("reno", 0) == 1 {
        socket.set_congestion_control(CongestionControl::Reno);
    }
    socket.set_nagle_enabled(set.number("nagle", 1) == 1);
    let ack_delay = set.number("ack_delay", 10);
    socket.set_ack_delay(u64::try_from(ack_delay).ok().map(Duration::from_millis));
    let port = u16::try_from(set.number("port", 5001)).expect("port");
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(socket);
    if let Some(peer) = set.text("peer") {
        let peer: Ipv4Address = peer.parse().expect("peer");
        let local = 49152 + u16::try_from(std::process::id() % 16000).expect("port");
        let socket = sockets.get_mut::<Socket>(handle);
        socket
            .connect(interface.context(), (IpAddress::Ipv4(peer), port), local)
            .expect("connect");
    }
    let is_source = set.text("role") == Some("source");
    let (every, stop) = (set.number("every", 0), set.number("for", 0));
    let drain = set.size("drain", 0);
    let body: Vec<u8> = (0..65_536_u32).map(|i| (i * 31 + i / 251) as u8).collect();
    let mut left = set.size("octets", 100_000);
    let mut last = 0;
    loop {
        interface.poll(now(), &mut link, &mut sockets);
        let socket = sockets.get_mut::<Socket>(handle);
        if !socket.is_open() {
            if set.text("peer").is_some() {
                break;
            }
            socket.listen(port).expect("listen");
        }
        let ms = i64::try_from(start.elapsed().as_millis()).expect("short");
        let is_stopped = stop > 0 && ms % (every + stop) >= every;
        if is_source && !is_stopped {
            while socket.can_send() && left > 0 {
                let size = left.min(body.len());
                left -= socket.send_slice(&body[..size]).expect("open");
            }
            if left == 0 && socket.may_send() {
                socket.close();
            }
        }
        if !is_source && !is_stopped {
            let mut most = if drain == 0 {
                usize::MAX
            } else {
                drain * usize::try_from(ms - last).expect("later")
            };
            while socket.can_recv() && most > 0 {
                most -= socket
                    .recv(|data| (data.len().min(most), data.len().min(most)))
                    .expect("open");
            }
            if socket.state() == State::CloseWait {
                socket.close();
            }
        }
        last = ms;
        interface.poll(now(), &mut link, &mut sockets);
        let wait = interface
            .poll_delay(now(), &sockets)
            .map_or(50, |it| it.total_millis());
        let most = if stop > 0 || drain > 0 { 1 } else { 50 };
        link.wait(time::Duration::from_millis(wait.min(most)));
    }
}
