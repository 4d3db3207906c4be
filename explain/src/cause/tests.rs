use super::*;
use crate::sample;

fn causes(get: &HttpGet) -> Vec<Cause> {
    explain_http_get(get)
        .into_iter()
        .map(|finding| finding.cause)
        .collect()
}

#[test]
fn first_stage_is_limited_by_its_interrupt() {
    let get = sample::get("isr-all", 100_000);
    assert_eq!(
        causes(&get)[..2],
        [Cause::RetransmissionStalls, Cause::InterruptOverrunsGap][..]
            .iter()
            .copied()
            .rev()
            .collect::<Vec<_>>()[..]
    );
    assert_eq!(
        get.findings[0].summary,
        "After a full frame the receive interrupt runs for 1.05 ms more, but the next frame follows \
         after 9.6 µs: 41% of the peer's frames were missed or received only in part."
    );
}

#[test]
fn post_processing_within_gap_and_preamble_is_not_blamed() {
    let mut get = sample::get("isr-all", 100_000);
    get.metrics.isr_post_processing_ns_p50 = 15_000;
    get.metrics.isr_post_processing_ns_max = 15_250;
    assert!(!causes(&get).contains(&Cause::InterruptOverrunsGap));
    get.metrics.isr_post_processing_ns_max = 15_251;
    assert!(causes(&get).contains(&Cause::InterruptOverrunsGap));
}

#[test]
fn window_larger_than_the_queue_is_named() {
    assert_eq!(
        causes(&sample::get("zero-copy", 1_000_000))[0],
        Cause::QueueOverflow
    );
}

#[test]
fn last_stage_is_bound_by_its_main_thread() {
    let get = sample::get("windowed", 3_000_000);
    assert_eq!(causes(&get), [Cause::MainThreadBound]);
    assert_eq!(
        verdict(&get),
        "5.24 Mbit/s (655 kB/s), 55% of line rate. For 38% of the time the wire is idle while the device processes \
         received data: 865 µs per segment, compared with the 1.23 ms that the segment takes on \
         the wire."
    );
}

#[test]
fn broken_ledger_comes_before_everything_else() {
    let mut get = sample::get("isr-all", 10_000);
    get.ledger.delivered_frames -= 1;
    assert_eq!(causes(&get)[0], Cause::LedgerImbalance);
}

#[test]
fn at_line_rate_is_the_only_finding() {
    let mut get = sample::get("windowed", 3_000_000);
    get.metrics.time_share = linerate_results::record::TimeShare {
        receiving: 1.0,
        ..Default::default()
    };
    get.metrics.goodput_bytes_per_s_p50 = get.limits.line_goodput_bytes_per_s * 0.99;
    let findings = explain_http_get(&get);
    assert_eq!(
        (findings.len(), findings[0].cause, findings[0].confidence),
        (1, Cause::AtLineRate, 1.0)
    );
}

#[test]
fn unfinished_frames_are_no_wire_errors() {
    let mut get = sample::get("windowed", 3_000_000);
    get.ledger.lose(DropCause::InFlight, 1);
    get.ledger.sent_frames += 1;
    assert!(!causes(&get).contains(&Cause::WireErrors));
    get.ledger.lose(DropCause::Collision, 1);
    get.ledger.sent_frames += 1;
    assert!(causes(&get).contains(&Cause::WireErrors));
}

/// Every `const` string of the schema `value`.
fn constants(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if key == "const" => found.push(text.to_owned()),
                    _ => constants(value, found),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|it| constants(it, found)),
        _ => {}
    }
}

#[test]
fn every_cause_has_its_page_and_every_page_its_cause() {
    let schema = schemars::schema_for!(Cause);
    let mut causes = Vec::new();
    constants(schema.as_value(), &mut causes);
    causes.sort();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/causes");
    let mut pages: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .filter_map(|entry| {
            let name = entry.expect("an entry").file_name().into_string().ok()?;
            Some(name.strip_suffix(".md")?.to_owned())
        })
        .filter(|name| name != "README")
        .collect();
    pages.sort();
    assert_eq!(causes, pages);
}
