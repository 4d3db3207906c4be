//! How Linux cuts its send queue into segments, and when its timers run: each as in the recording that
//! `linerate-bench` replays.

use super::*;
use crate::peer::tcp::timers::kernel_expiry;

/// Lengths of the segments that the server sends at once to a client with `window` octets, of a stream of `len` octets
/// that ends.
fn first_burst(window: usize, len: usize) -> Vec<usize> {
    let small = Config {
        receive_buffer: window,
        window_scale: None,
        ..Config::default()
    };
    let (mut pair, _, server) = established(small, Config::default());
    let connection = pair.server.get_mut(server).unwrap();
    connection.write(&octets(len), false);
    connection.close();
    pair.run(Span::ZERO, |_, _| false);
    let data = pair.sent.iter().filter(|(_, by_client, _)| !by_client);
    data.map(|(.., segment)| segment.payload.len())
        .filter(|&len| len > 0)
        .collect()
}

#[test]
fn full_segments_are_followed_by_a_short_one_up_to_the_edge_of_the_window() {
    // Batches of three segments: half of the window has no more. The seventh segment begins the third batch.
    let mut expected = vec![1460; 7];
    expected.push(20);
    assert_eq!(first_burst(10_240, 100_000), expected);
    // Batches of one: nothing is cut.
    assert_eq!(first_burst(5_000, 100_000), [1460; 3]);
    // The edge of the window is where a batch begins.
    assert_eq!(first_burst(6 * 1460 + 20, 100_000), [1460; 6]);
}

#[test]
fn what_follows_the_cut_ends_with_its_batch() {
    let small = Config {
        receive_buffer: 10_240,
        window_scale: None,
        ..Config::default()
    };
    let (mut pair, client, server) = established(small, Config::default());
    pair.server
        .get_mut(server)
        .unwrap()
        .write(&octets(30_000), false);
    pair.run(Span::from_ms(20), |_, _| false);
    assert_eq!(
        pair.client.get_mut(client).unwrap().read(usize::MAX).len(),
        10_240
    );
    pair.run(Span::from_ms(20), |_, _| false);
    let data = pair.sent.iter().filter(|(_, by_client, _)| !by_client);
    let lens: Vec<usize> = data
        .map(|(.., segment)| segment.payload.len())
        .filter(|&len| len > 0)
        .collect();
    assert_eq!(lens[7..11], [20, 1460, 1440, 1460]);
}

#[test]
fn the_last_segment_with_fin_may_exceed_the_congestion_window() {
    // Ten segments are the initial window; the eleventh is short and carries FIN.
    let lens = first_burst(64_000, 10 * 1460 + 700);
    assert_eq!((lens.len(), lens.last()), (11, Some(&700)));
    assert_eq!(first_burst(64_000, 12 * 1460).len(), 10);
}

#[test]
fn timers_run_at_ticks_and_long_ones_at_multiples_of_more() {
    let ms = |ms| Instant::ZERO + Span::from_ms(ms);
    // At the tick after the whole ticks of the wait, counted from the last tick.
    assert_eq!(kernel_expiry(ms(0), ms(204)), ms(208));
    assert_eq!(kernel_expiry(ms(3), ms(206)), ms(208));
    assert_eq!(kernel_expiry(ms(3), ms(208)), ms(212));
    // From 63 ticks on every eighth tick, from 504 every 64th.
    assert_eq!(kernel_expiry(ms(1), ms(401)), ms(416));
    assert_eq!(kernel_expiry(ms(17), ms(833)), ms(864));
    assert_eq!(kernel_expiry(ms(1), ms(3301)), ms(3328));
}
