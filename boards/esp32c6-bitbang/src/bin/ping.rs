//! Sends echo requests to the peer (RFC 792), ten if the boot line has no other number, and reports each round-trip time.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    boot, config, console, event, info,
    net::{self, Network},
};
use smoltcp::{
    iface::SocketHandle,
    socket::icmp,
    time::{Duration, Instant},
    wire::{Icmpv4Packet, Icmpv4Repr, Ipv4Address},
};
use static_cell::ConstStaticCell;

const DEFAULT_PINGS: u16 = 10;
const INTERVAL: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(1);
const IDENT: u16 = 0x6c72;
const DATA: [u8; 32] = [0xa5; 32];

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("ping");
    let peer = config::peer();
    let pings =
        boot::word("pings").map_or(DEFAULT_PINGS, |it| it.parse().expect("a number of pings"));

    type Packets = ([icmp::PacketMetadata; 4], [u8; 512]);
    const EMPTY: Packets = ([icmp::PacketMetadata::EMPTY; 4], [0; 512]);
    static RX: ConstStaticCell<Packets> = ConstStaticCell::new(EMPTY);
    static TX: ConstStaticCell<Packets> = ConstStaticCell::new(EMPTY);
    let (rx, tx) = (RX.take(), TX.take());
    let mut socket = icmp::Socket::new(
        icmp::PacketBuffer::new(&mut rx.0[..], &mut rx.1[..]),
        icmp::PacketBuffer::new(&mut tx.0[..], &mut tx.1[..]),
    );
    socket
        .bind(icmp::Endpoint::Ident(IDENT))
        .expect("the identifier is not zero");
    let handle = network.sockets.add(socket);

    let mut received = 0;
    for seq in 0..pings {
        let sent_at = net::now();
        if let Some((len, at)) = ping(&mut network, handle, peer, seq) {
            received += 1;
            let rtt = at - sent_at;
            info!(
                "{len} bytes from {peer}: icmp_seq={seq}, time={}.{} ms",
                rtt.total_micros() / 1000,
                rtt.total_micros() / 100 % 10
            );
            event!("ping", "\"seq\":{seq},\"rtt_us\":{}", rtt.total_micros());
        } else {
            info!("Request timeout for icmp_seq={seq}");
            event!("ping_lost", "\"seq\":{seq}");
        }
        network.wait(INTERVAL);
    }
    info!("--- {peer} ping statistics ---");
    info!(
        "{pings} packets transmitted, {received} received, {}% packet loss",
        u32::from(pings - received) * 100 / u32::from(pings).max(1)
    );
    net::report_counters();
    console::done()
}

/// Sends one request; returns the answer's length in bytes, ICMP header included, and its arrival time.
fn ping(
    network: &mut Network,
    handle: SocketHandle,
    peer: Ipv4Address,
    seq: u16,
) -> Option<(usize, Instant)> {
    let checksums = smoltcp::phy::ChecksumCapabilities::default();
    let request = Icmpv4Repr::EchoRequest {
        ident: IDENT,
        seq_no: seq,
        data: &DATA,
    };
    let socket = network.sockets.get_mut::<icmp::Socket>(handle);
    let payload = socket.send(request.buffer_len(), peer.into()).ok()?;
    request.emit(&mut Icmpv4Packet::new_unchecked(payload), &checksums);

    let deadline = net::now() + TIMEOUT;
    while net::now() < deadline {
        network.poll();
        let socket = network.sockets.get_mut::<icmp::Socket>(handle);
        while let Ok((payload, from)) = socket.recv() {
            let at = net::now();
            let Ok(packet) = Icmpv4Packet::new_checked(payload) else {
                continue;
            };
            let Ok(Icmpv4Repr::EchoReply { seq_no, .. }) = Icmpv4Repr::parse(&packet, &checksums)
            else {
                continue;
            };
            if from == peer.into() && seq_no == seq {
                return Some((payload.len(), at));
            }
        }
        network.idle();
    }
    None
}
