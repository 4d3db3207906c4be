//! Targets by their URLs.

mod ours;
mod stock;

use std::time::Duration;

use super::*;
use linerate_results::record::Direction;

#[test]
fn an_unknown_kind_names_the_known_ones() {
    let error = |url: &str| match open(url, &Options::default()) {
        Ok(target) => panic!("{url}: {}", target.name()),
        Err(error) => error.to_string(),
    };
    let text = error("iper2://127.0.0.1");
    assert!(
        text.contains("iperf2://, iperf3://") && text.contains("is iperf2:// meant?"),
        "{text}"
    );
    assert!(error("http://127.0.0.1:x/").contains("1 to 65535"));
    assert!(error("iperf2://127.0.0.1?from=x").contains("reverse"));
    assert!(error("stamp://127.0.0.1?x").contains("nothing may follow"));
}

#[test]
fn every_example_is_valid_and_unsupported_trials_have_a_reason() {
    for kind in KINDS {
        assert!(kind.example.starts_with(&format!("{}://", kind.scheme)));
        if kind.scheme == "raw" && cfg!(not(target_os = "linux")) {
            continue;
        }
        let target = open(kind.example, &Options::default()).expect(kind.example);
        let frames = Trial::Frames(Frames {
            octets: 64,
            count: 1,
            interval_ns: 0.0,
            reflected: false,
        });
        if let Err(why) = target.supports(&frames) {
            assert!(!why.is_empty());
        }
    }
}

/// `iperf -r` loads the other direction first: concurrent round trips would be attributed to the
/// wrong load.
#[test]
fn a_device_that_sends_only_afterwards_is_no_load_for_round_trips() {
    let pair = |load: &str| Pair {
        load: open(load, &Options::default()).expect(load),
        probe: open("stamp://127.0.0.1", &Options::default()).expect("a reflector"),
    };
    let under = |direction| {
        Trial::RoundTrips(RoundTrips {
            count: 10,
            interval: Duration::from_millis(100),
            payload_octets: 64,
            load: Some(Box::new(Trial::Stream(Stream::of(
                direction,
                Amount::Span(Duration::from_secs(2)),
            )))),
        })
    };
    let (to, from) = (under(Direction::ToDevice), under(Direction::FromDevice));
    let tradeoff = pair("iperf2://127.0.0.1?from=tradeoff");
    assert_eq!(tradeoff.supports(&to), Ok(()));
    assert!(
        tradeoff
            .supports(&from)
            .is_err_and(|why| why.contains("after"))
    );
    assert_eq!(pair("iperf2://127.0.0.1").supports(&from), Ok(()));
}
