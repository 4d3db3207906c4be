//! The time in which the path was busy, whatever the sender waited for meanwhile.

use super::limit::Limit;
use super::rate::Window;
use super::time::Span;

/// Attributes the parts of `spans` in which the path was busy to the path.
pub(super) fn override_busy(spans: &[Span], busy: &[Window], zero_windows: bool) -> Vec<Span> {
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
        let keeps = matches!(
            span.limit,
            Limit::Handshake | Limit::Tail | Limit::ClosedWindow
        );
        let keeps = keeps || zero_windows && span.limit == Limit::ReceiveWindow;
        let mut start_ns = span.start_ns;
        while !keeps && at < busy.len() && busy[at].start_ns < span.end_ns {
            let window = &busy[at];
            if window.end_ns > start_ns {
                let busy_from_ns = window.start_ns.max(start_ns);
                let busy_to_ns = window.end_ns.min(span.end_ns);
                push(Span {
                    start_ns,
                    end_ns: busy_from_ns,
                    ..*span
                });
                push(Span {
                    start_ns: busy_from_ns,
                    end_ns: busy_to_ns,
                    limit: Limit::PathRate,
                    number: span.number,
                });
                start_ns = busy_to_ns;
            }
            if window.end_ns > span.end_ns {
                break;
            }
            at += 1;
        }
        push(Span { start_ns, ..*span });
    }
    result
}
