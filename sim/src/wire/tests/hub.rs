//! A hub with further stations, against a device with its own MAC.

use linerate_ether::phy10::HalfBits;

use super::*;
use crate::wire::mac::{Transmission, Transmitter};
use crate::wire::shape::{jam, shape};
use crate::wire::timing::half_bits;

const PERIOD: u64 = 600 << 20;

/// A device with carrier sense and back-off that always has a frame to send, or never.
struct HubDevice {
    transmitter: Transmitter,
    frame: Option<Vec<u8>>,
    tracker: EdgeTracker,
    edges: VecDeque<(Instant, bool)>,
    last_edge: Instant,
    carrier: bool,
    received: usize,
    fragments: usize,
    number: u64,
}

impl HubDevice {
    fn new(frame_octets: Option<usize>) -> Self {
        Self {
            transmitter: Transmitter::new(
                true,
                200,
                Span::ZERO,
                Span::from_ns(INTER_PACKET_GAP_NS),
                Random::new(77),
            ),
            frame: frame_octets.map(|octets| numbered(1, octets - 4)),
            tracker: EdgeTracker::default(),
            edges: VecDeque::new(),
            last_edge: Instant::ZERO,
            carrier: false,
            received: 0,
            fragments: 0,
            number: 0,
        }
    }

    fn run<S: Station>(&mut self, link: &mut Link<S>, until: Instant) {
        let mut now = Instant::ZERO;
        self.queue();
        loop {
            let edge = link.next_edge(self.last_edge);
            let drive = self.edges.front().map_or(Instant::NEVER, |&(at, _)| at);
            let burst = self.tracker.ends_at().unwrap_or(Instant::NEVER);
            let mac = self.transmitter.deadline().max(now);
            let at = edge.min(drive).min(burst).min(mac).min(link.deadline());
            if at > until {
                return;
            }
            now = at;
            if at == edge {
                self.last_edge = edge;
                self.tracker.drive(link.level(edge), edge);
                self.carrier = self.tracker.carrier_since().is_some();
                if self.carrier {
                    self.jam(at);
                }
            } else if at == drive {
                let (at, level) = self.edges.pop_front().unwrap();
                link.drive(level, at);
            } else if at == burst {
                self.take(at);
            } else if at == mac {
                self.step(at);
                now = at + Span::from_ticks(1);
            } else {
                link.poll(at);
            }
        }
    }

    fn take(&mut self, now: Instant) {
        let burst = self.tracker.take(now).unwrap();
        self.carrier = false;
        self.transmitter.carrier_ended(burst.end);
        if matches!(burst.kind, BurstKind::Pulse(_)) {
            return;
        }
        let mut octets = [0; 2048];
        match decode(burst.half_bits(), &mut octets) {
            Ok(decoded) if frame::check_received(&octets[..decoded.len]).is_ok() => {
                self.received += 1;
            }
            _ => self.fragments += 1,
        }
    }

    fn queue(&mut self) {
        if let Some(frame) = &self.frame
            && self.transmitter.queued() == 0
        {
            let outgoing = crate::peer::Outgoing::frame(frame.clone());
            self.transmitter.queue(&outgoing);
        }
    }

    fn step(&mut self, now: Instant) {
        self.transmitter.finish(now);
        self.queue();
        let Some((octets, options)) = self.transmitter.next_frame(self.carrier, now) else {
            return;
        };
        let clean = Impairments::default();
        let shaped = shape(octets, &options, &clean, &mut Random::new(0));
        self.put(shaped.view(), 0, now);
        self.transmitter.begin(Transmission {
            id: self.number,
            start: now,
            period: PERIOD,
            half_bits: shaped.bits,
            line_fault: None,
            noisy: false,
        });
        self.number += 1;
    }

    fn jam(&mut self, now: Instant) {
        let Some((start, _)) = self.transmitter.active_interval() else {
            return;
        };
        if let Some(keep) = self.transmitter.collide(now) {
            let until = start + half_bits(PERIOD, keep as u64);
            self.edges.retain(|&(at, _)| at < until);
            self.put(jam(64).view(), keep, start);
        }
    }

    fn put(&mut self, line: HalfBits<'_>, from: usize, start: Instant) {
        let levels = line.iter().chain([false]);
        for (index, level) in (from as u64..).zip(levels) {
            self.edges
                .push_back((start + half_bits(PERIOD, index), level));
        }
    }
}

fn hub(stations: u8, offered_load: f64, frame_octets: u16) -> Link<Recorder> {
    let config = Config {
        hub: Hub {
            stations,
            offered_load,
            frame_octets,
            ..Hub::default()
        },
        ..Config::default()
    };
    Link::new(config, Recorder::default())
}

#[test]
fn stations_share_a_saturated_medium_evenly() {
    for stations in [1, 3] {
        let mut link = hub(stations, 1.0, 1000);
        let mut device = HubDevice::new(Some(1000));
        device.run(&mut link, us(4_000_000));
        let statistics = link.statistics();
        assert!(statistics.collisions > 70, "{statistics:?}");
        let mut shares: Vec<_> = statistics.stations[1..]
            .iter()
            .map(|station| station.octets_sent as f64)
            .collect();
        shares.push(statistics.octets_received as f64);
        let all: f64 = shares.iter().sum();
        // 10 Mbit/s less preambles, gaps and collisions.
        assert!((3_600_000.0..4_940_000.0).contains(&all), "{all}");
        for share in &shares {
            let of_fair = share / all * shares.len() as f64;
            assert!((0.75..1.25).contains(&of_fair), "{shares:?}");
        }
        assert_eq!(statistics.stations[0], StationStatistics::default());
        // Every frame sent arrived, or collided and was counted.
        let sent: u64 = statistics.stations.iter().map(|s| s.frames_sent).sum();
        let given_up = statistics.excessive_collisions + statistics.late_collisions;
        let missing = sent - given_up - device.received as u64;
        assert!(
            missing <= 1 + u64::from(stations),
            "{missing} {statistics:?}"
        );
        assert_eq!(statistics.late_collisions, 0);
        assert!(device.fragments > 0);
    }
}

#[test]
fn a_hub_s_load_is_the_configured_one() {
    for (load, octets) in [(0.3, 1518), (0.6, 512)] {
        let mut link = hub(3, load, octets);
        let mut device = HubDevice::new(None);
        device.run(&mut link, us(3_000_000));
        let airtime: f64 = link.statistics().stations[1..]
            .iter()
            .map(|station| station.airtime.as_secs_f64())
            .sum();
        assert!(
            (airtime / 3.0 - load).abs() < 0.1 * load,
            "{airtime} {load}"
        );
        let frames: u64 = link
            .statistics()
            .stations
            .iter()
            .map(|s| s.frames_sent)
            .sum();
        assert!(frames - device.received as u64 <= 3);
    }
}

#[test]
fn the_seed_determines_the_order_of_stations() {
    let run = |seed| {
        let config = Config {
            hub: Hub {
                stations: 2,
                ..Hub::default()
            },
            seed,
            ..Config::default()
        };
        let mut link = Link::new(config, Recorder::default());
        HubDevice::new(Some(500)).run(&mut link, us(200_000));
        let events: Vec<_> = std::iter::from_fn(|| link.poll_event()).collect();
        events
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn transmissions_on_the_hub_are_recorded_for_each_station_in_order() {
    let mut link = hub(3, 1.0, 64);
    HubDevice::new(None).run(&mut link, us(100_000));
    let begun: Vec<_> = std::iter::from_fn(|| link.poll_event())
        .filter_map(|event| match event {
            Event::Started(sent) => Some((sent.id, sent.station)),
            _ => None,
        })
        .collect();
    assert!(begun.iter().map(|&(id, _)| id).eq(0..begun.len() as u64));
    for station in 1..=3 {
        assert!(begun.iter().any(|&(_, of)| of == station));
    }
}
