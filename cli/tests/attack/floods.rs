//! Floods: of connections, of small requests, and of datagrams.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use super::holds::connect;
use super::{ATTACKERS, Attack};

/// Interval of each flood.
const TICK: Duration = Duration::from_millis(10);
/// Octets of the shortest STAMP packet.
const STAMP: usize = 44;
/// Ports of the attackers' datagrams: more than any server has slots.
const SOURCES: usize = 100;

pub const ALL: &[fn(Attack)] = &[
    connections,
    requests,
    stamp_sessions,
    iperf2_streams,
    iperf2_new_ports,
    garbage,
];

fn bind(number: usize) -> Option<UdpSocket> {
    let socket = UdpSocket::bind((ATTACKERS[number % ATTACKERS.len()], 0)).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// Connections that are opened and reset at once, 300 a second.
fn connections(attack: Attack) {
    while attack.wait(TICK) {
        for port in attack.ports.tcp() {
            if let Some(stream) = connect(ATTACKERS[0], port) {
                let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            }
        }
    }
}

/// Downloads of an octet, 200 a second, each of which makes the server print a line.
fn requests(attack: Attack) {
    while attack.wait(TICK) {
        for from in ATTACKERS {
            let Some(mut stream) = connect(from, attack.ports.http) else {
                continue;
            };
            let _ = stream.set_nonblocking(false);
            let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = stream.write_all(b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            let _ = stream.read(&mut [0; 1_000]);
            let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// As many STAMP sessions as there are ports, each with a packet ten times a second.
fn stamp_sessions(attack: Attack) {
    from_ports(attack, attack.ports.stamp, &[0; STAMP]);
}

/// As many iperf 2 streams as there are ports, each with a datagram ten times a second, without an end.
fn iperf2_streams(attack: Attack) {
    from_ports(attack, attack.ports.iperf2, &[0; 100]);
}

fn from_ports(attack: Attack, port: u16, octets: &[u8]) {
    let sockets: Vec<UdpSocket> = (0..SOURCES).filter_map(bind).collect();
    let mut room = [0; 2_000];
    while attack.wait(Duration::from_millis(100)) {
        for socket in &sockets {
            let _ = socket.send_to(octets, (Ipv4Addr::LOCALHOST, port));
            while socket.recv(&mut room).is_ok() {}
        }
    }
}

/// An iperf 2 stream of one datagram from a new port, 500 a second.
fn iperf2_new_ports(attack: Attack) {
    while attack.wait(TICK) {
        for number in 0..5 {
            if let Some(socket) = bind(number) {
                let _ = socket.send_to(&[0; 100], (Ipv4Addr::LOCALHOST, attack.ports.iperf2));
            }
        }
    }
}

/// Datagrams of any length and content to each port, 4,000 a second.
fn garbage(attack: Attack) {
    let sockets: Vec<UdpSocket> = (0..ATTACKERS.len()).filter_map(bind).collect();
    let mut random = 1_u64;
    let mut next = || {
        // xorshift64 (Marsaglia 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut octets = [0; 1_472];
    while attack.wait(TICK) {
        for part in octets.chunks_mut(8) {
            part.copy_from_slice(&next().to_be_bytes()[..part.len()]);
        }
        for port in attack.ports.udp() {
            for socket in sockets.iter().cycle().take(10) {
                let (len, at) = (next() as usize % 400, next() as usize % 1_000);
                let _ = socket.send_to(&octets[at..at + len], (Ipv4Addr::LOCALHOST, port));
            }
        }
    }
}
