//! ARP, ping, HTTP in both directions.

use linerate_ether::{fcs, pattern};
use smoltcp::wire::{ArpOperation, EthernetAddress, Icmpv4Repr, IpProtocol, Ipv4Address};

use super::link::{End, Fate, Link};
use super::station::Smol;
use crate::peer::host::packet::{self, Packet};
use crate::peer::host::{http_client, http_server, ping};
use crate::peer::tcp::Endpoint;
use crate::peer::{Host, Peer, Station, host};
use crate::time::{Instant, Span};

const HOST: Ipv4Address = Ipv4Address::new(169, 254, 10, 1);
const DEVICE: Ipv4Address = Ipv4Address::new(169, 254, 10, 2);
const DEVICE_MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

/// The host's answers to a frame after its turnaround time.
fn answers(host: &mut Host, frame: &[u8], now: Instant) -> Vec<Vec<u8>> {
    host.receive(frame, now);
    assert_eq!(host.poll_transmit(now), None, "too early");
    let later = host.poll_timeout();
    assert_eq!(later, now + Span::from_us(80));
    std::iter::from_fn(|| host.poll_transmit(later)).collect()
}

#[test]
fn arp_and_echo_requests_are_answered_after_the_turnaround_time() {
    let mut host = Host::new(host::Config::default());
    let to_all = EthernetAddress::BROADCAST;
    let request = packet::arp(ArpOperation::Request, (DEVICE_MAC, DEVICE), (to_all, HOST));
    let arp = answers(&mut host, &request, Instant::ZERO);
    let own = EthernetAddress([2, 0, 0, 0, 0, 1]);
    assert_eq!(
        arp,
        [packet::arp(
            ArpOperation::Reply,
            (own, HOST),
            (DEVICE_MAC, DEVICE)
        )]
    );

    let data = [7; 40];
    let echo = Packet {
        source: DEVICE,
        destination: HOST,
        protocol: IpProtocol::Icmp,
        payload: packet::icmp(&Icmpv4Repr::EchoRequest {
            ident: 1,
            seq_no: 2,
            data: &data,
        }),
    };
    let replies = answers(
        &mut host,
        &echo.emit(DEVICE_MAC, own, 1),
        Instant::from_ns(1000),
    );
    let reply = Packet::parse(&replies[0][14..]).unwrap();
    let expected = packet::icmp(&Icmpv4Repr::EchoReply {
        ident: 1,
        seq_no: 2,
        data: &data,
    });
    assert_eq!((reply.destination, reply.payload), (DEVICE, expected));
}

#[test]
fn frames_for_others_and_damaged_packets_get_no_answer() {
    let mut host = Host::new(host::Config::default());
    let other = EthernetAddress([2, 0, 0, 0, 0, 9]);
    let echo = Packet {
        source: DEVICE,
        destination: HOST,
        protocol: IpProtocol::Icmp,
        payload: packet::icmp(&Icmpv4Repr::EchoRequest {
            ident: 1,
            seq_no: 2,
            data: &[1; 40],
        }),
    };
    let whole = echo.emit(DEVICE_MAC, EthernetAddress([2, 0, 0, 0, 0, 1]), 1);
    let mut now = Instant::ZERO;
    let mut silent = |frame: &[u8]| {
        now += Span::from_ms(1);
        answers(&mut host, frame, now).is_empty()
    };
    assert!(silent(&echo.emit(DEVICE_MAC, other, 1)));
    for len in 0..whole.len() {
        assert!(silent(&whole[..len]), "cut to {len}");
    }
    for at in 14..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        assert!(silent(&damaged), "octet {at}");
    }
}

#[test]
fn the_host_resolves_and_pings_the_device() {
    let mut host = Host::new(host::Config {
        ping: Some(ping::Config {
            target: DEVICE,
            start: Instant::ZERO + Span::from_ms(10),
            interval: Span::from_ms(20),
            count: 10,
            octets: 56,
        }),
        ..host::Config::default()
    });
    let mut device = Smol::serve(Vec::new());
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut host, &mut device, Instant::ZERO + Span::from_secs(1));
    let pings = host.report().pings;
    assert_eq!(pings.len(), 10);
    for ping in &pings[1..] {
        // Two frames of 122 octets with preamble, FCS and gap; 80 us of turnaround, smoltcp at once.
        let us = ping.round_trip.expect("a reply").as_ns() / 1000;
        assert_eq!(us, 2 * 122 * 8 / 10 + 80 + 2);
        assert!(!ping.damaged);
    }
}

#[test]
fn the_host_fetches_a_file_from_the_device() {
    let mut body = vec![0; 50_000];
    pattern::fill(0, &mut body);
    let mut host = Host::new(host::Config {
        http_clients: vec![http_client::Config {
            server: Endpoint {
                address: DEVICE,
                port: 80,
            },
            paths: vec!["/50000".to_owned()],
            start: Instant::ZERO + Span::from_ms(5),
            pause: Span::ZERO,
            timeout: Span::from_secs(10),
        }],
        ..host::Config::default()
    });
    let crc32 = fcs::crc32(&body);
    let mut device = Smol::serve(body);
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut host, &mut device, Instant::ZERO + Span::from_secs(5));
    let fetch = host.report().fetches.remove(0);
    assert_eq!(fetch.error, None);
    assert_eq!(
        (fetch.status, fetch.octets, fetch.crc32),
        (Some(200), 50_000, crc32)
    );
}

/// The host's status line for a PUT of `body` to `/size`, and its upload records.
fn put(size: u64, body: &[u8]) -> (String, Vec<host::http_server::Upload>) {
    let mut host = Host::new(host::Config::default());
    let mut device = Smol::put(size, body);
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut host, &mut device, Instant::ZERO + Span::from_secs(5));
    let head = String::from_utf8(device.head.clone()).unwrap();
    let status = head.lines().next().unwrap_or_default().to_owned();
    (status, host.uploads().to_vec())
}

#[test]
fn an_upload_is_compared_with_the_pattern() {
    let mut body = vec![0; 100_000];
    pattern::fill(0, &mut body);
    let (status, uploads) = put(100_000, &body);
    assert_eq!(status, "HTTP/1.1 204 No Content");
    let [upload] = &uploads[..] else {
        panic!("{uploads:?}")
    };
    assert!(upload.is_good() && upload.finished_at > Some(upload.opened_at));
    assert_eq!(
        (upload.path.as_str(), upload.octets, upload.crc32),
        ("/100000", 100_000, pattern::crc32(100_000))
    );

    body[70_001] ^= 4;
    let (status, uploads) = put(100_000, &body);
    assert_eq!(status, "HTTP/1.1 422 Unprocessable Content");
    assert_eq!(uploads[0].first_difference, Some(70_001));
    assert_eq!(uploads[0].crc32, fcs::crc32(&body));

    assert_eq!(put(0, &[]).0, "HTTP/1.1 204 No Content");
    let (status, uploads) = put(99, &body[..100]);
    assert_eq!(status, "HTTP/1.1 400 Bad Request");
    assert_eq!(uploads, []);
}

#[test]
fn a_missing_file_gives_404_and_a_silent_server_a_timeout() {
    let client = http_client::Config {
        server: Endpoint {
            address: HOST,
            port: 80,
        },
        paths: vec!["/nothing".to_owned(), "/12".to_owned()],
        start: Instant::ZERO,
        pause: Span::ZERO,
        timeout: Span::from_secs(2),
    };
    let mut server = Host::new(host::Config::default());
    let mut asking = Host::new(host::Config {
        mac: DEVICE_MAC,
        network: smoltcp::wire::Ipv4Cidr::new(DEVICE, 16),
        http_server: None,
        http_clients: vec![client],
        seed: 1,
        ..host::Config::default()
    });
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut server, &mut asking, Instant::ZERO + Span::from_secs(5));
    let fetches = asking.report().fetches;
    assert_eq!(fetches[0].status, Some(404));
    assert_eq!((fetches[1].status, fetches[1].octets), (Some(200), 12));
    assert_eq!(fetches[1].crc32, pattern::crc32(12));

    let mut alone = Host::new(host::Config {
        http_clients: vec![http_client::Config {
            server: Endpoint {
                address: DEVICE,
                port: 80,
            },
            paths: vec!["/1".to_owned()],
            start: Instant::ZERO,
            pause: Span::ZERO,
            timeout: Span::from_secs(2),
        }],
        ..host::Config::default()
    });
    let mut nobody = crate::peer::kinds::Silent;
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut alone, &mut nobody, Instant::ZERO + Span::from_secs(5));
    assert_eq!(
        alone.report().fetches[0].error,
        Some(http_client::FetchError::TimedOut)
    );
    assert!(link.sent.iter().all(|sent| sent.by == End::Host));
}

#[test]
fn jitter_delays_answers_at_random_but_keeps_their_order() {
    let answer_times = |seed| {
        let jitter = Span::from_us(40);
        let mut host = Host::new(host::Config {
            turnaround_jitter: jitter,
            seed,
            ..host::Config::default()
        });
        let to_all = EthernetAddress::BROADCAST;
        let mut times = Vec::new();
        for round in 0..20 {
            let asking = Ipv4Address::new(169, 254, 11, round);
            let request = packet::arp(ArpOperation::Request, (DEVICE_MAC, asking), (to_all, HOST));
            let now = Instant::ZERO + Span::from_us(10 * u64::from(round));
            host.receive(&request, now);
        }
        let mut addresses = Vec::new();
        while host.poll_timeout() != Instant::NEVER {
            let now = host.poll_timeout();
            while let Some(frame) = host.poll_transmit(now) {
                // Target protocol address.
                addresses.push(frame[41]);
                times.push(now);
            }
        }
        assert_eq!(addresses, (0..20).collect::<Vec<_>>());
        let latest = Instant::ZERO + Span::from_us(190 + 80 + 40);
        assert!(
            times.is_sorted()
                && times[19] <= latest
                && times[0] >= Instant::ZERO + Span::from_us(80)
        );
        times
    };
    assert_eq!(answer_times(1), answer_times(1));
    assert_ne!(answer_times(1), answer_times(2));
}

#[test]
fn answers_of_the_configuration_are_given_in_their_order() {
    let answer = |path: &str, status, body, delay| http_server::Answer {
        path: path.to_owned(),
        status,
        body,
        content_type: "text/plain".to_owned(),
        delay,
    };
    let text = http_server::Body::Octets((*b"hello").into());
    let server = http_server::Config {
        port: 8080,
        answers: vec![
            answer("/a.txt", 503, http_server::Body::Pattern(0), Span::ZERO),
            answer("/a.txt", 200, text, Span::from_ms(300)),
        ],
        ..http_server::Config::default()
    };
    let mut server = Host::new(host::Config {
        http_server: Some(server),
        ..host::Config::default()
    });
    let client = http_client::Config {
        server: Endpoint {
            address: HOST,
            port: 8080,
        },
        paths: ["/a.txt", "/a.txt", "/a.txt", "/7"]
            .map(str::to_owned)
            .to_vec(),
        start: Instant::ZERO,
        pause: Span::ZERO,
        timeout: Span::from_secs(2),
    };
    let mut asking = Host::new(host::Config {
        mac: DEVICE_MAC,
        network: smoltcp::wire::Ipv4Cidr::new(DEVICE, 16),
        http_server: None,
        http_clients: vec![client],
        seed: 1,
        ..host::Config::default()
    });
    let mut link = Link::new(Span::from_us(1), |_| Fate::Arrive);
    link.run(&mut server, &mut asking, Instant::ZERO + Span::from_secs(5));
    let fetches = asking.report().fetches;
    let got: Vec<_> = fetches
        .iter()
        .map(|it| (it.status, it.octets, it.crc32))
        .collect();
    let hello = (Some(200), 5, fcs::crc32(b"hello"));
    let pattern = (Some(200), 7, pattern::crc32(7));
    assert_eq!(got, [(Some(503), 0, 0), hello, hello, pattern]);
    let requests = server.report().requests;
    let waited = requests[1]
        .last_sent_at
        .map(|at| at.since(requests[1].requested_at));
    assert!(waited >= Some(Span::from_ms(300)), "{waited:?}");
}
