use super::super::scripted::{Scripted, answered, done};
use super::*;

fn asked() -> RoundTrips {
    RoundTrips {
        count: 100,
        interval: Duration::from_millis(10),
        payload_octets: 44,
        load: None,
    }
}

fn latencies(kept: &[Measurement]) -> Vec<&Record> {
    kept.iter()
        .map(|result| match result {
            Measurement::Latency(it) => it,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn idle_comes_first_and_a_load_outlasts_the_requests() {
    let latency = Latency::idle_and_loaded(asked());
    let mut target = Scripted::new(|trial| match trial {
        Trial::RoundTrips(asked) => {
            let ns = if asked.load.is_some() {
                50_000_000
            } else {
                1_000_000
            };
            Ok(answered(asked, ns))
        }
        _ => Err("asked for something else"),
    });
    let (outcome, kept, notes) = done(&latency, &mut target);
    assert!(outcome.is_ok());
    assert_eq!(
        notes,
        ["Times are those of the simulation: exact, with a noise floor of 0."]
    );
    let measured: Vec<(Option<Direction>, u64)> = latencies(&kept)
        .iter()
        .map(|it| {
            let rtt = it.metrics.rtt.as_ref().expect("answers");
            (it.params.load.map(|load| load.direction), rtt.p50_ns)
        })
        .collect();
    assert_eq!(
        measured,
        [
            (None, 1_000_000),
            (Some(Direction::ToDevice), 50_000_000),
            (Some(Direction::FromDevice), 50_000_000)
        ]
    );
    let spans: Vec<Amount> = target
        .asked
        .iter()
        .filter_map(|trial| match trial {
            Trial::RoundTrips(asked) => match asked.load.as_deref()? {
                Trial::Stream(stream) => Some(stream.amount),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(spans, [Amount::Span(Duration::from_secs(2)); 2]);
}

#[test]
fn a_load_that_silences_the_device_is_a_result() {
    let latency = Latency::over_loads(asked(), &[Direction::ToDevice], &[1_000_000, 9_000_000]);
    let mut target = Scripted::new(|trial| match trial {
        Trial::RoundTrips(asked) => match asked.load.as_deref() {
            Some(Trial::Datagrams(load)) if load.payload_bits_per_s > 5_000_000 => {
                Err("none of 100 packets was answered")
            }
            _ => Ok(answered(asked, 1_000_000)),
        },
        _ => Err("asked for something else"),
    });
    let (outcome, kept, _) = done(&latency, &mut target);
    assert!(outcome.is_ok());
    let failures: Vec<&str> = latencies(&kept)
        .iter()
        .map(|it| it.metrics.failure.as_str())
        .collect();
    assert_eq!(failures, ["", "", "none of 100 packets was answered"]);
}

#[test]
fn the_noise_floor_uses_as_many_round_trips_as_fit_its_time() {
    let fast = RoundTrips {
        count: 1_000_000,
        interval: Duration::from_millis(50),
        ..asked()
    };
    let floor = noise_floor(&fast).expect("a loopback");
    assert!((1..=30).contains(&floor.count), "{}", floor.count);
    assert!(floor.min_ns > 0 && floor.min_ns <= floor.p50_ns && floor.p50_ns <= floor.max_ns);
}
