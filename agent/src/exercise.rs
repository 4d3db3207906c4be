//! Entry points for fuzzers: internal parsers that no [`Service`](crate::Service) exposes directly.

use crate::iperf3::json::{Event, Scanner};

/// Maximum nesting depth of objects and arrays that [`json`] accepts.
pub const MAX_DEPTH: usize = crate::iperf3::json::MAX_DEPTH as usize;

/// Parses `text` with iperf 3's JSON scanner and calls `number` for each number in order, rounded towards
/// zero: `None` if it is negative or exceeds 64 bits. Returns true if it is valid JSON (RFC 8259).
pub fn json(text: &[u8], mut number: impl FnMut(Option<u64>)) -> bool {
    let mut scanner = Scanner::<24>::new();
    let mut on_event = |_, event: Event<'_>| {
        if let Event::Number(found) = event {
            number(found.scaled(0));
        }
    };
    let whole = text
        .iter()
        .try_for_each(|octet| scanner.push(*octet, &mut on_event));
    whole.and_then(|()| scanner.finish(&mut on_event)).is_ok()
}
