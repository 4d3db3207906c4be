//! Segments that overtake each other.

use super::*;

/// One-way delay beyond the millisecond of a pair.
const ONE_WAY_DELAY: Span = Span::from_ms(9);

#[test]
fn duplicates_reported_make_the_sender_wait_for_late_segments() {
    // 20 ms of round trip, a segment every 4 ms. One is overtaken by its successor, within a quarter
    // of the round trip; then every 20th is overtaken by two, which takes longer than that.
    let mut pair = Pair::new(Config::default(), Config::default());
    let client = pair.connect();
    pair.run_delaying(Span::from_ms(100), |_, _| ONE_WAY_DELAY);
    let server = pair.server.accept(PORT).expect("a connection");
    let octets = octets(300 * 1460);
    let (mut read, mut count) = (Vec::new(), 0);
    for chunk in octets.chunks(1460).chain([&[][..]; 20]) {
        let sender = pair.server.get_mut(server).expect("alive");
        assert_eq!(sender.write(chunk, false), chunk.len());
        pair.run_delaying(Span::from_ms(4), |by_client, segment| {
            if by_client || segment.payload.is_empty() {
                return ONE_WAY_DELAY;
            }
            count += 1;
            match count {
                10 => ONE_WAY_DELAY + Span::from_us(4500),
                _ if count % 20 == 0 => ONE_WAY_DELAY + Span::from_ms(9),
                _ => ONE_WAY_DELAY,
            }
        });
        read.extend(pair.client.get_mut(client).expect("alive").read(usize::MAX));
    }
    assert_eq!(read, octets);
    let statistics = pair.server.get(server).unwrap().statistics();
    let repeated = &statistics.retransmissions;
    assert_eq!(repeated.len(), 1, "{repeated:?}");
    assert_eq!(statistics.undone_recoveries, 1);
}
