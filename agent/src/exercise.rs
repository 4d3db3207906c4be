//! Entry points for fuzzers: what no [`Service`](crate::Service) shows by itself, on any input.

use crate::iperf3::json::{Event, Scanner};

/// How deep objects and arrays may lie in each other before [`json`] takes a text for none.
pub const DEEPEST: usize = crate::iperf3::json::DEEPEST as usize;

/// Reads `text` as the ends of iperf 3 read JSON, and tells each of its numbers in order, rounded towards
/// zero: `None` for what is negative or takes more than 64 bits. Whether it is JSON (RFC 8259).
pub fn json(text: &[u8], mut number: impl FnMut(Option<u64>)) -> bool {
    let mut scanner = Scanner::<24>::new();
    let mut tell = |_, event: Event<'_>| {
        if let Event::Number(found) = event {
            number(found.scaled(0));
        }
    };
    let whole = text
        .iter()
        .try_for_each(|octet| scanner.push(*octet, &mut tell));
    whole.and_then(|()| scanner.finish(&mut tell)).is_ok()
}
