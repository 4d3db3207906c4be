//! Times that have another limit than the wait of the sender meanwhile.

use super::Span;
use crate::model::limit::Limit;

/// Attributes the parts of `spans` within `windows` (start and end, ascending) to `limit`, unless a span has one that
/// `keeps` names.
pub(super) fn override_limit(
    spans: &[Span],
    windows: &[(u64, u64)],
    limit: Limit,
    keeps: impl Fn(Limit) -> bool,
) -> Vec<Span> {
    let mut result: Vec<Span> = Vec::new();
    let mut push = |span: Span| {
        if span.end_ns <= span.start_ns {
            return;
        }
        match result.last_mut() {
            Some(last) if last.limit == span.limit && last.end_ns == span.start_ns => {
                last.end_ns = span.end_ns;
                last.number = span.number;
            }
            _ => result.push(span),
        }
    };
    let mut at = 0;
    for span in spans {
        let keeps = keeps(span.limit);
        let mut start_ns = span.start_ns;
        while !keeps && at < windows.len() && windows[at].0 < span.end_ns {
            let (from_ns, until_ns) = windows[at];
            if until_ns > start_ns {
                let from_ns = from_ns.max(start_ns);
                let to_ns = until_ns.min(span.end_ns);
                push(Span {
                    start_ns,
                    end_ns: from_ns,
                    ..*span
                });
                push(Span {
                    start_ns: from_ns,
                    end_ns: to_ns,
                    limit,
                    number: span.number,
                });
                start_ns = to_ns;
            }
            if until_ns > span.end_ns {
                break;
            }
            at += 1;
        }
        push(Span { start_ns, ..*span });
    }
    result
}
