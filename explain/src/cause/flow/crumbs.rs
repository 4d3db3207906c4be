//! A window that only its sender sees: small segments, one by one, of a sender that always has more.

use super::class::{FlowClass, HARDLY_ANY};
use super::facts::{FlowFacts, LEAST_FULL};
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;

/// Fewer segments have no pattern.
const MIN_SEGMENTS: u64 = 20;

/// Segments far below the MSS that end no write, one in a round trip: their sender has more to send, and sees room for no
/// more, although the window in the capture is larger.
pub(super) fn crumbs(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    // Some stacks send no more than they accept themselves.
    let own = facts.connection().mss(model.data_sender);
    let own = own.map_or(LEAST_FULL, u64::from);
    let mss = facts.mss().unwrap_or(LEAST_FULL).min(own).min(1_460);
    let sent: Vec<_> = model.view.sent.iter().filter(|it| it.len > 0).collect();
    let pushed = sent.iter().filter(|it| it.is_pushed).count();
    let most = model.flights().into_iter().max().unwrap_or(0);
    let window = model.largest_window();
    let rtt_ns = model.round_trip_ns();
    // A path with so small an MTU admits several in a round trip.
    let is_crumb = facts.full * 2 <= mss && most <= facts.full + 1 && window >= 3 * facts.full;
    if !is_crumb
        || (sent.len() as u64) < MIN_SEGMENTS
        || pushed * HARDLY_ANY > sent.len()
        || facts.class != FlowClass::Bulk
    {
        return None;
    }
    let waits = [
        Limit::SenderIdle,
        Limit::ReceiveWindow,
        Limit::SlowStart,
        Limit::InFlight,
        Limit::LateAck,
    ];
    let share: f64 = waits.iter().map(|limit| facts.share(*limit)).sum();
    let mut figures = evidence([
        ("segment_bytes", facts.full as f64),
        ("mss_bytes", mss as f64),
        ("segments", sent.len() as f64),
        ("most_window_bytes", window as f64),
    ]);
    if let Some(rtt_ns) = rtt_ns {
        figures.insert("rtt_ns".to_owned(), rtt_ns as f64);
    }
    Some(Rule {
        share: share.min(1.0),
        cause: Cause::SillyWindow,
        confidence: 0.6,
        summary: format!(
            "{} sends {} segments of up to {} one by one, where {} are permitted, and hardly any ends a write: it has more to send and \
             sees no room for it. The window in this capture is larger ({}): something between them makes it smaller, or \
             its own stack does.",
            facts.sender,
            format::count(sent.len() as u64),
            format::bytes(facts.full),
            format::bytes(mss),
            format::bytes(window),
        ),
        evidence: figures,
        advice: "Capture at the sender, and compare the windows of the same acknowledgments: a firewall, proxy or shaper \
                 that rewrites them shows. If they are the same, look at the sender's own limit (its buffer, a window \
                 clamp)."
            .to_owned(),
        limits: &[
            Limit::ReceiveWindow,
            Limit::SenderIdle,
            Limit::SlowStart,
            Limit::InFlight,
            Limit::LateAck,
        ],
        has_gain: false,
    })
}
