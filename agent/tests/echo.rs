//! UDP echo, and its abuse.

mod net;

use linerate_agent::echo::{Echo, PORT};
use linerate_agent::{Instant, Service, Udp};
use net::{ENDS, Faults, Net};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

const NOW: Instant = Instant::from_ns(5);

fn from(port: u16) -> SocketAddr {
    SocketAddr::new(ENDS[0], port)
}

fn echo(echo: &mut Echo<2, 100>, from: SocketAddr, octets: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
    echo.datagram(Udp(0), from, octets, NOW);
    let mut room = [0xaa; 200];
    let datagram = echo.next_datagram(&mut room, NOW)?;
    Some((datagram.to, room[..datagram.len].to_vec()))
}

#[test]
fn what_comes_goes_back() {
    let mut it = Echo::new(PORT);
    for octets in [&b""[..], b"abc", &[0x55; 100]] {
        let back = echo(&mut it, from(40_000), octets);
        assert_eq!(back, Some((from(40_000), octets.to_vec())));
    }
    assert_eq!(echo(&mut it, from(40_000), &[0; 101]), None);
    assert_eq!((it.counts().answered, it.counts().too_long), (3, 1));
}

#[test]
fn more_than_there_is_room_for_is_counted_and_the_rest_keeps_its_order() {
    let mut it = Echo::<2, 100>::new(PORT);
    for octet in 0..5 {
        it.datagram(Udp(0), from(40_000), &[octet], NOW);
    }
    // Without buffer space it waits.
    assert_eq!(it.next_datagram(&mut [], NOW), None);
    let mut room = [0; 9];
    let next =
        |it: &mut Echo<2, 100>, room: &mut [u8]| it.next_datagram(room, NOW).map(|_| room[0]);
    let all = [(); 3].map(|()| next(&mut it, &mut room));
    assert_eq!(all, [Some(0), Some(1), None]);
    assert_eq!(it.counts().overrun, 3);
}

#[test]
fn two_echoes_do_not_talk_to_each_other() {
    for (one, other) in [(7, 7), (7, 7000), (7000, 7001), (7001, 7000), (50_000, 7)] {
        let mut net = Net::new(
            Echo::<2, 100>::new(one),
            Echo::<2, 100>::new(other),
            1,
            Faults::default(),
        );
        let now = net.now;
        net.a
            .datagram(Udp(0), SocketAddr::new(ENDS[1], other), b"x", now);
        net.b
            .datagram(Udp(0), SocketAddr::new(ENDS[0], one), b"x", now);
        net.run(Duration::from_secs(1), |_| false);
        assert!(net.done[0].sent + net.done[1].sent <= 1, "{one} {other}");
    }
}

proptest! {
    #[test]
    fn nobody_gets_more_than_he_sent(
        ip: [u8; 4],
        port: u16,
        octets in prop::collection::vec(any::<u8>(), 0..150),
    ) {
        let source = SocketAddr::from((ip, port));
        let mut it = Echo::new(PORT);
        if let Some((to, back)) = echo(&mut it, source, &octets) {
            prop_assert_eq!((to, back), (source, octets));
            prop_assert!(!source.ip().is_multicast() && port >= 1024);
        }
        prop_assert_eq!(it.next_datagram(&mut [0; 200], NOW), None);
    }
}
