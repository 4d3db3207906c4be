//! A device with smoltcp on its own TAP interface. Arguments are `key=value`: `tap`, `ip`, `gate`, `role` (sink, source,
//! answer), `port`, `octets`, `request`, `answer`, `receive` and `send` (buffers in octets), `ack_delay` (ms, -1 for none),
//! `nagle`, `reno`, `works` and `stops` (ms: everything stands still at intervals).

#![forbid(unsafe_code)]

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::thread::sleep;

type Words = HashMap<String, String>;

fn number(words: &Words, key: &str, otherwise: i64) -> i64 {
    words
        .get(key)
        .map_or(otherwise, |it| it.parse().expect(key))
}

fn address(words: &Words, key: &str) -> Ipv4Address {
    words[key].parse().expect("an address")
}

fn listening(words: &Words) -> Socket<'static> {
    let buffer = |key| SocketBuffer::new(vec![0; number(words, key, 8192) as usize]);
    let mut it = Socket::new(buffer("receive"), buffer("send"));
    let delay = number(words, "ack_delay", 10);
    it.set_ack_delay(u64::try_from(delay).ok().map(Duration::from_millis));
    it.set_nagle_enabled(number(words, "nagle", 1) != 0);
    if number(words, "reno", 0) != 0 {
        it.set_congestion_control(CongestionControl::Reno);
    }
    it.listen(number(words, "port", 5001) as u16)
        .expect("a port");
    it
}

fn main() {
    let words: Words = std::env::args()
        .filter_map(|it| {
            it.split_once('=')
                .map(|(key, value)| (key.into(), value.into()))
        })
        .collect();
    let mut tap = TunTapInterface::new(words.get("tap").map_or("tap0", |it| it), Medium::Ethernet)
        .expect("a TAP interface");
    let fd = tap.as_raw_fd();
    let mac = EthernetAddress([2, 0, 0, 0, 0x53, 1]);
    let mut config = Config::new(HardwareAddress::Ethernet(mac));
    config.random_seed = u64::from(std::process::id()) * 2_654_435_761;
    let mut interface = Interface::new(config, &mut tap, Instant::now());
    interface.update_ip_addrs(|it| {
        it.push(IpCidr::new(IpAddress::Ipv4(address(&words, "ip")), 24))
            .expect("room")
    });
    interface
        .routes_mut()
        .add_default_ipv4_route(address(&words, "gate"))
        .expect("room");
    let role = words.get("role").map_or("sink", |it| it).to_owned();
    let (octets, request, answer) = (
        number(&words, "octets", 100_000) as usize,
        number(&words, "request", 0) as usize,
        number(&words, "answer", 0) as usize,
    );
    let (works, stops) = (number(&words, "works", 0), number(&words, "stops", 0));
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(listening(&words));
    let (mut left, mut got, mut is_open) = (0, 0, false);
    let mut begun = Instant::now();
    loop {
        if works > 0 && (Instant::now() - begun).total_millis() as i64 > works {
            sleep(std::time::Duration::from_millis(stops as u64));
            begun = Instant::now();
        }
        interface.poll(Instant::now(), &mut tap, &mut sockets);
        let it = sockets.get_mut::<Socket>(handle);
        if it.is_active() && it.may_send() && !is_open {
            is_open = true;
            got = 0;
            left = if role == "source" { octets } else { 0 };
            begun = Instant::now();
        }
        while it.can_recv() {
            let n = it
                .recv(|data| (data.len(), data.len()))
                .expect("a connection");
            got += n;
            while request > 0 && got >= request {
                got -= request;
                left += answer;
            }
        }
        while left > 0 && it.can_send() {
            let sent = it.send(|room| {
                let n = room.len().min(left);
                room[..n].fill(b's');
                (n, n)
            });
            left -= sent.expect("a connection");
            if left == 0 && role == "source" {
                println!("{{\"written\": {octets}}}");
                it.close();
            }
        }
        if is_open && it.state() == State::CloseWait {
            println!("{{\"taken\": {got}}}");
            it.close();
        }
        if is_open && matches!(it.state(), State::Closed | State::TimeWait) {
            is_open = false;
            *it = listening(&words);
        }
        let now = Instant::now();
        let until = interface
            .poll_delay(now, &sockets)
            .map_or(50, |it| it.total_millis().clamp(0, 50));
        wait(fd, Some(Duration::from_millis(until))).expect("a TAP interface");
    }
}
