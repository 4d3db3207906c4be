//! Many megabytes from one host to another over links that lose, duplicate and reorder in both
//! directions: each file arrives, and the sender's count of retransmissions is correct.
//!
//! With `LINERATE_LONG` set (`cargo xtask test --long`) hundreds of megabytes, else a megabyte.

use std::collections::BTreeSet;

use linerate_ether::pattern;
use smoltcp::wire::{EthernetAddress, Ipv4Address, Ipv4Cidr};

use linerate_sim::peer::host::http_client;
use linerate_sim::peer::tcp::{self, Endpoint};
use linerate_sim::peer::{Host, Peer, host};
use linerate_sim::random::Random;
use linerate_sim::time::{Instant, Span};

use super::link::{End, Fate, Link, Sent};
use super::station::Smol;

/// Fault rates of a link, in frames per thousand, and the delay of late frames.
#[derive(Debug, Clone, Copy)]
struct LinkFaults {
    lost: u64,
    doubled: u64,
    late: u64,
    late_by_us: u64,
    delay_us: u64,
}

const WEATHERS: [LinkFaults; 5] = [
    faults(0, 0, 0, 0, 5),
    faults(1, 1, 1, 3000, 5),
    faults(10, 5, 20, 9000, 500),
    faults(2, 0, 200, 2500, 50),
    faults(40, 40, 40, 20_000, 5000),
];

const fn faults(lost: u64, doubled: u64, late: u64, late_by_us: u64, delay_us: u64) -> LinkFaults {
    LinkFaults {
        lost,
        doubled,
        late,
        late_by_us,
        delay_us,
    }
}

impl LinkFaults {
    fn fate(self, random: &mut Random) -> Fate {
        let which = random.below(1000);
        if which < self.lost {
            Fate::Vanish
        } else if which < self.lost + self.doubled {
            Fate::Double
        } else if which < self.lost + self.doubled + self.late {
            Fate::Late(Span::from_us(random.below(self.late_by_us)))
        } else {
            Fate::Arrive
        }
    }
}

/// Octets of a file; each link carries one with and one without SACK.
fn file() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        32_000_000
    } else {
        100_000
    }
}

/// Time limit, ample for every link here.
const LIMIT: Instant = Instant::from_ns(24 * 3600 * 1_000_000_000);

/// A host that fetches `/octets` from the default host.
fn client(octets: u64, tcp: tcp::Config) -> Host {
    Host::new(host::Config {
        mac: EthernetAddress([2, 0, 0, 0, 0, 2]),
        network: Ipv4Cidr::new(Ipv4Address::new(169, 254, 10, 2), 16),
        tcp,
        http_server: None,
        http_clients: vec![http_client::Config {
            server: Endpoint {
                address: Ipv4Address::new(169, 254, 10, 1),
                port: 80,
            },
            paths: vec![format!("/{octets}")],
            start: Instant::ZERO,
            pause: Span::ZERO,
            timeout: LIMIT.since(Instant::ZERO),
        }],
        seed: 2,
        ..host::Config::default()
    })
}

/// Number of the host's data segments that begin at the position of an earlier one.
fn repeated<F: FnMut(&Sent) -> Fate>(link: &Link<F>) -> usize {
    let mut known = BTreeSet::new();
    let data = link.host_data();
    data.iter()
        .filter(|(_, segment)| !known.insert(segment.sequence))
        .count()
}

#[test]
fn files_arrive_at_another_host_over_any_link() {
    for (number, faults) in WEATHERS.into_iter().enumerate() {
        for sack in [true, false] {
            let octets = file();
            let tcp = tcp::Config {
                sack,
                timestamps: number % 2 == 1,
                ..tcp::Config::default()
            };
            let mut random = Random::new(number as u64);
            let mut server = Host::new(host::Config {
                tcp,
                ..host::Config::default()
            });
            let mut client = client(octets, tcp);
            let mut link = Link::new(Span::from_us(faults.delay_us), |_: &Sent| {
                faults.fate(&mut random)
            });
            link.run(&mut server, &mut client, LIMIT);
            let fetch = client.report().fetches.remove(0);
            let request = server.report().requests.remove(0);
            let context = format!("{faults:?}, sack {sack}: {fetch:?}");
            assert_eq!((fetch.error, fetch.status), (None, Some(200)), "{context}");
            assert_eq!(fetch.octets, octets, "{context}");
            assert_eq!(fetch.crc32, pattern::crc32(octets), "{context}");
            assert_eq!(request.body_octets, octets, "{context}");
            let repeated = repeated(&link);
            assert_eq!(request.retransmissions.len(), repeated, "{context}");
            let calm = faults.lost + faults.late == 0;
            assert!(!calm || repeated == 0, "{context}");
            println!(
                "{faults:?}, sack {sack}: {:.1} s, {} frames, {repeated} repeated",
                fetch.finished_at.unwrap_or(LIMIT).as_secs_f64(),
                link.sent.len(),
            );
        }
    }
}

#[test]
fn files_arrive_at_smoltcp_over_any_link() {
    for (number, faults) in WEATHERS.into_iter().enumerate() {
        for window in [2 * 1460, 7 * 1460, 60_000] {
            let octets = file() / 4;
            let mut random = Random::new(number as u64);
            let mut server = Host::new(host::Config::default());
            let mut device = Smol::fetch(octets, window);
            let mut link = Link::new(Span::from_us(faults.delay_us), |sent: &Sent| {
                // A lost ARP reply costs smoltcp seconds, and is unrelated to TCP.
                let spared = sent.segment().is_none();
                if spared {
                    Fate::Arrive
                } else {
                    faults.fate(&mut random)
                }
            });
            link.run(&mut server, &mut device, LIMIT);
            let context = format!("{faults:?}, window {window}");
            assert!(device.finished_at.is_some(), "{context}");
            assert_eq!(device.body.len() as u64, octets, "{context}");
            assert_eq!(device.crc32(), pattern::crc32(octets), "{context}");
            let frames = |end| link.sent.iter().filter(|sent| sent.by == end).count();
            println!(
                "{context}: {:.1} s, {} and {} frames",
                device.finished_at.unwrap_or(LIMIT).as_secs_f64(),
                frames(End::Host),
                frames(End::Device),
            );
        }
    }
}
