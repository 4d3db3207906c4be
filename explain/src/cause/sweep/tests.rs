use super::*;
use crate::sample;
use linerate_results::record::{
    CountedAt, Datagrams, Distribution, LatencyLimits, LatencyMetrics, LatencyParams, Ledger, Load,
    Measurement, Observation, Rfc2544, Rfc2544Metrics, Rfc2544Params, SizeSweep, SizeSweepMetrics,
    SizeSweepParams, Throughput as Transfer, ThroughputMetrics, ThroughputParams, UdpSweep,
    UdpSweepMetrics, UdpSweepParams, line_frames_per_s,
};

const PAYLOAD: u64 = 1_470;
const SPAN_NS: u64 = 2_000_000_000;

/// A point of a load sweep: offered, sent and received in Mbit/s, dropped by this machine.
fn load(
    direction: Direction,
    [offered, sent, received]: [f64; 3],
    own: Option<u64>,
) -> Measurement {
    let count = |mbit_per_s: f64| (mbit_per_s * 250_000.0 / PAYLOAD as f64).round() as u64;
    let params = UdpSweepParams {
        direction,
        payload_bytes: PAYLOAD,
        offered_bytes_per_s: offered * 125_000.0,
        span_ns: SPAN_NS,
        ..UdpSweepParams::default()
    };
    let flow = flow(count(sent), count(received), own);
    Measurement::UdpSweep(UdpSweep {
        metrics: UdpSweepMetrics::of(&params, flow),
        params,
        ledger: Ledger::default(),
    })
}

fn flow(sent: u64, received: u64, lost_by_host: Option<u64>) -> Flow {
    let datagrams = Datagrams {
        sent,
        received,
        lost: sent - received,
        lost_by_host,
        ..Datagrams::default()
    };
    Flow::datagrams(received * PAYLOAD, SPAN_NS, CountedAt::Device, datagrams)
}

fn to(rates: [f64; 3]) -> Measurement {
    load(Direction::ToDevice, rates, None)
}

fn found(results: Vec<Measurement>) -> Vec<Finding> {
    let run = Run {
        results,
        ..sample::run()
    };
    let found = explain_targets(&run);
    // A summary shows the same findings.
    let shown = crate::summary::all(&run).into_iter();
    assert_eq!(shown.flat_map(|it| it.findings).count(), found.len());
    found
}

fn causes(results: Vec<Measurement>) -> Vec<Cause> {
    found(results).into_iter().map(|it| it.cause).collect()
}

#[test]
fn drops_by_this_machine_are_not_the_devices_loss() {
    let from = |offered, received, own| {
        load(
            Direction::FromDevice,
            [offered, offered, received],
            Some(own),
        )
    };
    let found = found(vec![from(10.0, 10.0, 0), from(40.0, 30.0, 1_600)]);
    assert_eq!(found[0].cause, Cause::HostReceiveDrops);
    assert_eq!(
        found[0].summary,
        "Of the 1,701 datagrams lost from the device, 1,600 had arrived at this machine: its socket buffer was full. \
         101 were lost earlier."
    );
    assert_eq!(found.len(), 1);
    assert_eq!(causes(vec![from(40.0, 30.0, 0)]), []);
    let unknown = load(Direction::FromDevice, [40.0, 40.0, 30.0], None);
    assert_eq!(causes(vec![unknown]), []);
}

#[test]
fn transfers_show_drops_too() {
    let transfer = |own| {
        Measurement::Throughput(Transfer {
            params: ThroughputParams::default(),
            metrics: ThroughputMetrics {
                to_device: None,
                from_device: Some(flow(10_000, 9_000, own)),
            },
            ledger: Ledger::default(),
            findings: Vec::new(),
            observation: Observation::default(),
        })
    };
    assert_eq!(causes(vec![transfer(Some(900))]), [Cause::HostReceiveDrops]);
    assert_eq!(causes(vec![transfer(Some(2))]), [], "so few may be chance");
    assert_eq!(causes(vec![transfer(None)]), []);
}

#[test]
fn a_knee_at_this_machines_send_limit_is_its_own() {
    let slow = vec![
        to([200.0; 3]),
        to([400.0, 310.0, 310.0]),
        to([800.0, 312.0, 312.0]),
    ];
    let found = found(slow);
    assert_eq!(
        found[0].summary,
        "This machine sent only 312 Mbit/s of the 800 Mbit/s requested, and all of it arrived: this machine is the \
         limit, not the device."
    );
    assert_eq!(found[0].cause, Cause::HostSendLimit);
    let once = vec![
        to([150.0, 150.0, 140.0]),
        to([400.0, 312.0, 312.0]),
        to([800.0, 310.0, 300.0]),
    ];
    assert_eq!(causes(once), [Cause::HostSendLimit], "chance");
}

#[test]
fn a_full_line_is_no_limit_of_this_machine() {
    // 1470 octets of payload in 1536 on the wire.
    let full = 100.0 * 1_470.0 / 1_536.0;
    let results = vec![to([80.0; 3]), to([160.0, full, full])];
    assert_eq!(causes(results), []);
}

#[test]
fn loss_after_sending_is_no_limit_of_this_machine() {
    let results = vec![
        to([80.0; 3]),
        to([160.0, 150.0, 150.0]),
        to([320.0, 300.0, 200.0]),
    ];
    assert_eq!(causes(results), []);
}

#[test]
fn a_device_that_receives_less_under_overload_is_named() {
    let results = vec![
        to([300.0; 3]),
        to([400.0, 400.0, 378.0]),
        to([550.0, 550.0, 440.0]),
        to([750.0, 750.0, 340.0]),
        to([850.0, 850.0, 294.0]),
    ];
    let found = found(results);
    assert_eq!(found[0].cause, Cause::ReceiveLivelock);
    assert!(
        found[0]
            .advice
            .ends_with("1.5 times as much under overload."),
        "{}",
        found[0].advice
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn a_plateau_and_a_single_bad_trial_are_no_livelock() {
    let plateau = [300.0, 440.0, 430.0, 421.0].map(|received: f64| {
        let offered = received.max(300.0) * if received > 300.0 { 2.0 } else { 1.0 };
        to([offered, offered, received])
    });
    assert_eq!(causes(plateau.into()), []);
    let bad = vec![
        to([300.0; 3]),
        to([350.0, 350.0, 100.0]),
        to([400.0, 400.0, 390.0]),
    ];
    assert_eq!(causes(bad), []);
    let erratic = [
        [300.0; 3],
        [450.0, 450.0, 110.0],
        [650.0, 650.0, 290.0],
        [850.0, 850.0, 160.0],
    ];
    assert_eq!(causes(erratic.map(to).into()), []);
    let slow_sender = vec![to([300.0; 3]), to([600.0, 200.0, 200.0])];
    assert!(!causes(slow_sender).contains(&Cause::ReceiveLivelock));
}

/// Sizes, each frame with the time of `ns`; more is offered than arrives.
fn sizes(direction: Direction, ns: impl Fn(f64) -> f64) -> Vec<Measurement> {
    let point = |octets: u64| {
        let received = (2e9 / ns(octets as f64)) as u64;
        let lost = if direction == Direction::ToDevice {
            received / 10
        } else {
            0
        };
        let datagrams = Datagrams {
            sent: received + lost,
            received,
            lost,
            ..Datagrams::default()
        };
        let flow = Flow::datagrams(received * octets, SPAN_NS, CountedAt::Device, datagrams);
        Measurement::SizeSweep(SizeSweep {
            params: SizeSweepParams {
                transport: Transport::Udp,
                direction,
                payload_bytes: octets,
                offered_bytes_per_s: 1e9,
                ..SizeSweepParams::default()
            },
            metrics: SizeSweepMetrics {
                flow: Some(flow),
                failure: String::new(),
            },
            ledger: Ledger::default(),
        })
    };
    [64, 128, 256, 512, 1_024, 1_470].map(point).into()
}

#[test]
fn a_fixed_cost_per_frame_is_named() {
    let found = found(sizes(Direction::ToDevice, |octets| {
        900_000.0 + 300.0 * octets
    }));
    assert_eq!(found[0].cause, Cause::PerFrameCost);
    assert!(
        found[0].summary.starts_with(
            "A frame to the device takes 901 µs regardless of its length, plus 300 ns per octet"
        ),
        "{}",
        found[0].summary
    );
    assert!(found[0].evidence["frame_share"] > 0.6);
    assert_eq!(found.len(), 1);
}

#[test]
fn one_delayed_size_does_not_hide_the_rest() {
    let delayed = |times: fn(f64) -> f64| {
        sizes(Direction::ToDevice, |octets| {
            let ns = 900_000.0 + 300.0 * octets;
            ns * times(octets)
        })
    };
    let once = delayed(|octets| {
        if (500.0..600.0).contains(&octets) {
            1.8
        } else {
            1.0
        }
    });
    assert_eq!(causes(once), [Cause::PerFrameCost]);
    let often = delayed(|octets| {
        if octets < 1_000.0 {
            1_000.0 / octets
        } else {
            1.0
        }
    });
    assert_eq!(causes(often), []);
}

#[test]
fn the_lines_own_overhead_is_no_cost_of_a_frame() {
    // 10 Mbit/s: 66 octets in addition to the payload.
    let line = sizes(Direction::FromDevice, |octets| 800.0 * (octets + 66.0));
    assert_eq!(causes(line), []);
}

#[test]
fn times_without_loss_are_this_machines_own() {
    let mut own = sizes(Direction::ToDevice, |octets| 900_000.0 + 300.0 * octets);
    for it in &mut own {
        let Measurement::SizeSweep(it) = it else {
            unreachable!("all are")
        };
        let flow = it.metrics.flow.as_mut().expect("counted");
        let datagrams = flow.datagrams.as_mut().expect("counted");
        datagrams.sent = datagrams.received;
        datagrams.lost = 0;
    }
    assert_eq!(causes(own), []);
}

fn trial(test: Rfc2544Test, octets: u64, frames_per_s: f64, lost: f64) -> Measurement {
    const FRAMES: u64 = 10_000;
    let lost_frames = (FRAMES as f64 * lost) as u64;
    Measurement::Rfc2544(Rfc2544 {
        params: Rfc2544Params {
            test,
            frame_octets: octets,
            line_bits_per_s: 100_000_000,
            offered_frames_per_s: frames_per_s,
            frames: FRAMES,
            ..Rfc2544Params::default()
        },
        metrics: Rfc2544Metrics {
            sent_frames: FRAMES,
            received_frames: FRAMES - lost_frames,
            lost_frames,
            ..Rfc2544Metrics::default()
        },
        ..Rfc2544::default()
    })
}

#[test]
fn throughput_by_frame_size_shows_the_cost_of_a_frame() {
    let lossless = |rate: fn(u64) -> f64| {
        let sizes = [64, 128, 256, 512, 1_024, 1_518].into_iter();
        let twice = sizes.flat_map(|octets| [octets; 2]);
        twice
            .map(|octets| trial(Rfc2544Test::Throughput, octets, rate(octets), 0.0))
            .collect()
    };
    let bound = lossless(|octets| 1e9 / (300_000.0 + 90.0 * octets as f64));
    assert_eq!(causes(bound), [Cause::PerFrameCost]);
    let line = lossless(|octets| line_frames_per_s(100_000_000, octets));
    assert_eq!(causes(line), []);
}

#[test]
fn frame_loss_shows_a_livelock() {
    let tenths = |lost: fn(f64) -> f64| {
        let trial = |tenth: u32| {
            let rate = line_frames_per_s(100_000_000, 64) * f64::from(tenth) / 10.0;
            trial(Rfc2544Test::FrameLoss, 64, rate, lost(f64::from(tenth)))
        };
        (2..=10).map(trial).collect()
    };
    // Up to 4 tenths arrive; of ten tenths, one arrives.
    let livelock = tenths(|tenth| ((tenth - 4.0) * 0.15).max(0.0));
    assert_eq!(causes(livelock), [Cause::ReceiveLivelock]);
    let plateau = tenths(|tenth| (1.0 - 4.0 / tenth).max(0.0));
    assert_eq!(causes(plateau), []);
}

fn round_trips(p50_ns: u64, load: Option<Load>) -> Measurement {
    Measurement::Latency(Latency {
        params: LatencyParams {
            load,
            ..LatencyParams::default()
        },
        metrics: LatencyMetrics {
            rtt: Some(Distribution {
                p50_ns,
                ..Distribution::default()
            }),
            to_device: load.map(|_| Flow::stream(1_000_000, 1_000_000_000, CountedAt::Device)),
            ..LatencyMetrics::default()
        },
        limits: LatencyLimits::default(),
        ledger: Ledger::default(),
    })
}

#[test]
fn round_trips_that_wait_under_load_are_named() {
    let under = |p50_ns| {
        let loaded = round_trips(p50_ns, Some(Load::default()));
        vec![round_trips(2_000_000, None), loaded]
    };
    let found = found(under(302_000_000));
    assert_eq!(
        found[0].summary,
        "Under TCP to the device a round trip takes 302 ms instead of 2 ms: the difference is a queue that holds \
         about 300 kB."
    );
    assert_eq!(causes(under(6_000_000)), []);
    assert_eq!(
        causes(vec![round_trips(302_000_000, Some(Load::default()))]),
        []
    );
}

#[test]
fn a_queue_of_a_byte_link_is_not_sought_in_ip() {
    let under = |transport| {
        let load = Load {
            transport,
            ..Load::default()
        };
        let loaded = round_trips(302_000_000, Some(load));
        let found = found(vec![round_trips(2_000_000, None), loaded]);
        found[0].advice.clone()
    };
    assert!(under(Transport::Tcp).contains("tc -s qdisc"));
    for transport in [Transport::LinkStream, Transport::LinkDatagrams] {
        let advice = under(transport);
        assert!(advice.contains("USB-serial"), "{advice}");
        for word in ["TCP", "qdisc", "ethtool", "fq_codel"] {
            assert!(!advice.contains(word), "{word}: {advice}");
        }
    }
}

#[test]
fn this_machine_comes_first() {
    let mut results = vec![
        to([300.0; 3]),
        to([400.0, 400.0, 380.0]),
        to([850.0, 850.0, 100.0]),
    ];
    results.push(load(Direction::FromDevice, [40.0, 40.0, 39.0], Some(100)));
    assert_eq!(
        causes(results),
        [Cause::HostReceiveDrops, Cause::ReceiveLivelock]
    );
}
