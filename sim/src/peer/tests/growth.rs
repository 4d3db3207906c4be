//! Growth of the congestion window.

use super::link::{Fate, Link};
use super::station::Smol;
use crate::peer::{Host, host};
use crate::time::{Instant, Span};

/// Segments that the host sends in each round trip.
fn flights(round_trip: Span, rounds: u64) -> Vec<usize> {
    let mut host = Host::new(host::Config::default());
    let mut device = Smol::fetch(2_000_000, 60_000);
    let half = Span::from_ticks(round_trip.ticks() / 2);
    let mut link = Link::new(half, |_| Fate::Arrive);
    link.run(&mut host, &mut device, Instant::ZERO + Span::from_secs(3));
    let data = link.host_data();
    let start = data[0].0;
    (0..rounds)
        .map(|round| {
            let from = start + Span::from_ticks(round_trip.ticks() * round);
            let during = |&&(at, _): &&(Instant, _)| at >= from && at < from + round_trip;
            data.iter().filter(during).count()
        })
        .collect()
}

#[test]
fn the_first_flight_has_ten_segments_and_each_round_trip_doubles_it_up_to_the_window() {
    let flights = flights(Span::from_ms(100), 5);
    // The head and nine segments; then twice as many; then the window of 41 segments.
    assert_eq!(flights[0], 10, "{flights:?}");
    assert!((19..=21).contains(&flights[1]), "{flights:?}");
    assert!((36..=41).contains(&flights[2]), "{flights:?}");
    assert!(
        flights[3..].iter().all(|flight| (38..=42).contains(flight)),
        "{flights:?}"
    );
}
