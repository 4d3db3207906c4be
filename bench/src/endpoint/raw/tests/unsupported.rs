//! Trials that a station does not support.

use std::time::Duration;

use linerate_results::record::Direction;

use crate::endpoint::{
    Amount, Datagrams, Frames, Options, RoundTrips, Stream, Target, Trial, open,
};

/// The target that `url` names.
pub(super) fn opened(url: &str) -> Box<dyn Target> {
    open(url, &Options::default()).expect(url)
}

#[test]
fn unsupported_trials_name_an_alternative() {
    let target = opened("raw://eth0.7/0A-00-00-00-00-FF");
    assert_eq!(target.name(), "station 0a:00:00:00:00:ff at eth0.7");
    let (direction, amount) = (Direction::ToDevice, Amount::Octets(1));
    let stream = Trial::Stream(Stream::of(direction, amount));
    let datagrams = Trial::Datagrams(Datagrams {
        direction,
        amount,
        payload_octets: 100,
        payload_bits_per_s: 0,
    });
    let round_trips = RoundTrips {
        count: 1,
        interval: Duration::ZERO,
        payload_octets: 0,
        load: None,
    };
    let loaded = Trial::RoundTrips(RoundTrips {
        load: Some(Box::new(stream.clone())),
        ..round_trips
    });
    let frames = Frames {
        octets: 64,
        count: 1,
        interval_ns: 0.0,
        reflected: true,
    };
    let counted = Frames {
        reflected: false,
        ..frames
    };
    let long = Frames {
        octets: 1519,
        ..frames
    };
    let many = Frames {
        count: u64::MAX,
        ..frames
    };
    for (trial, part) in [
        (stream, "iperf3://"),
        (datagrams, "iperf2://"),
        (loaded, "name what loads it"),
        (Trial::Frames(counted), "what the device has counted"),
        (Trial::Frames(long), "64 to 1518"),
        (Trial::Frames(many), "a shorter trial"),
    ] {
        let why = target.supports(&trial).expect_err(part);
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(target.supports(&Trial::Frames(frames)), Ok(()));
    assert_eq!(target.supports(&Trial::RoundTrips(round_trips)), Ok(()));
}
