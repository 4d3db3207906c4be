//! Segments that overtake each other.

use super::*;

#[test]
fn duplicates_reported_make_the_sender_wait_for_late_segments() {
    // A segment a millisecond over 20 ms of round trip. The least was the handshake's 2 ms, and every
    // 20th segment is 8 ms late: sixteen quarters. That the path reorders, a less late one shows first.
    let (mut pair, client, server) = established(Config::default(), Config::default());
    let octets = octets(600 * 1460);
    let (mut read, mut written, mut count) = (Vec::new(), 0, 0);
    for millisecond in 1..2000 {
        let sender = pair.server.get_mut(server).expect("alive");
        let produced = octets.len().min(millisecond * 1460);
        written += sender.write(&octets[written..produced], false);
        pair.run_delaying(Span::from_ms(1), |by_client, segment| {
            count += u32::from(!by_client && !segment.payload.is_empty());
            let late = match count {
                10 => Span::from_us(1500),
                _ if count % 20 == 0 => Span::from_ms(8),
                _ => Span::ZERO,
            };
            if by_client {
                Span::from_ms(9)
            } else {
                Span::from_ms(9) + late
            }
        });
        read.extend(pair.client.get_mut(client).expect("alive").read(usize::MAX));
    }
    assert_eq!(read, octets);
    let statistics = pair.server.get(server).unwrap().statistics();
    let repeated: Vec<_> = statistics
        .retransmissions
        .iter()
        .map(|event| event.at)
        .collect();
    let learnt = Instant::ZERO + Span::from_ms(200);
    assert!(!repeated.is_empty());
    assert!(repeated.iter().all(|&at| at < learnt), "{repeated:?}");
}
