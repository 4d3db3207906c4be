use super::*;

/// The run in `tests/fixtures`; the tests of `explain` check that this version writes it.
fn sample_run() -> Run {
    Run::from_json(include_str!("../../tests/fixtures/run.json")).expect("the fixture is valid")
}

#[test]
fn a_result_is_written_with_the_name_of_its_kind() {
    for result in sample_run().results {
        let json = serde_json::to_value(&result).expect("serialisable");
        assert_eq!(json["measurement"], result.kind());
        assert!(Measurement::NAMES.contains(&result.kind()));
    }
}

/// Names that the results must have.
#[test]
fn published_names_are_kept() {
    let json: serde_json::Value =
        serde_json::from_str(&sample_run().to_json()).expect("valid JSON");
    for pointer in [
        "/schema",
        "/scenario",
        "/provenance/version",
        "/provenance/git",
        "/provenance/host",
        "/provenance/cpu",
        "/provenance/board",
        "/provenance/timing_table",
        "/provenance/guesses/0",
        "/provenance/seed",
        "/provenance/started",
        "/provenance/duplex",
        "/provenance/elf_sha256/http_get-windowed",
    ] {
        assert!(json.pointer(pointer).is_some(), "{pointer} is missing");
    }
    let of = |kind: &str| {
        let results = json["results"].as_array().expect("results");
        results
            .iter()
            .find(|result| result["measurement"] == kind)
            .expect(kind)
            .clone()
    };
    let ping = of("ping");
    for pointer in [
        "/params/variant",
        "/metrics/rtt_ns/min",
        "/metrics/rtt_ns/p50",
        "/metrics/rtt_ns/p99",
        "/metrics/rtt_ns/max",
        "/metrics/sent",
        "/metrics/received",
        "/ledger",
        "/findings",
    ] {
        assert!(
            ping.pointer(pointer).is_some(),
            "ping: {pointer} is missing"
        );
    }
    let get = of("http_get");
    for pointer in [
        "/params/variant",
        "/params/bytes",
        "/metrics/goodput_bytes_per_s/4",
        "/metrics/goodput_bytes_per_s_p50",
        "/metrics/crc32/4",
        "/metrics/crc32_expected/4",
        "/metrics/sent_frames",
        "/metrics/received_frames",
        "/metrics/frame_loss_rate",
        "/metrics/isr_post_processing_ns_p50",
        "/metrics/isr_post_processing_ns_max",
        "/limits/line_goodput_bytes_per_s",
        "/ledger/sent_frames",
        "/ledger/delivered_frames",
        "/ledger/lost_frames/unheard",
        "/samples",
        "/findings/0/cause",
        "/findings/0/confidence",
        "/findings/0/evidence",
        "/findings/0/advice",
    ] {
        assert!(
            get.pointer(pointer).is_some(),
            "http_get: {pointer} is missing"
        );
    }
    assert_eq!(get["findings"][0]["cause"], "interrupt-overruns-gap");
}

#[test]
fn a_read_error_gives_its_position() {
    let error = Run::from_json("{\n\"schema\": 1,\n!")
        .expect_err("not JSON")
        .to_string();
    assert_eq!(error, "line 3, column 1: key must be a string");
    let error = Run::from_json("{\"schema\": 7}")
        .expect_err("later")
        .to_string();
    assert_eq!(error, "unknown schema 7; this linerate reads schema 1");
    let error = Run::from_json("{\"schema\": 1, \"scenario\": \"x\"}")
        .expect_err("short")
        .to_string();
    assert!(error.contains("missing field `provenance`"), "{error}");
}

#[test]
fn fields_of_a_later_version_are_ignored() {
    let text = sample_run().to_json().replacen(
        "\"scenario\"",
        "\"later\": {\"a\": 1},\n  \"scenario\"",
        1,
    );
    assert_eq!(Run::from_json(&text).expect("still readable"), sample_run());
}

#[test]
fn schema_names_the_fields() {
    let schema: serde_json::Value = serde_json::from_str(&schema_json()).expect("valid JSON");
    assert_eq!(schema["title"], "linerate results");
    assert!(
        schema
            .pointer("/$defs/HttpGetMetrics/properties/goodput_bytes_per_s_p50")
            .is_some()
    );
}

/// `params.duplex` of every kind of result, including those without a sample.
#[test]
fn every_kind_of_result_has_a_duplex_in_its_parameters() {
    let schema: serde_json::Value = serde_json::from_str(&schema_json()).expect("valid JSON");
    let of = |reference: &serde_json::Value| {
        let path = reference["$ref"].as_str().expect("a reference");
        schema.pointer(&path[1..]).expect("defined").clone()
    };
    let kinds = schema.pointer("/$defs/Measurement/oneOf");
    let kinds = kinds.and_then(|kinds| kinds.as_array()).expect("kinds");
    for kind in kinds {
        let params = of(&of(kind)["properties"]["params"]);
        let duplex = of(&params["properties"]["duplex"]);
        assert_eq!(duplex["oneOf"][0]["const"], "half", "{kind}");
    }
    assert!(kinds.len() >= 9, "{}", kinds.len());
}

#[test]
fn round_trips_without_an_answer_fail_and_have_no_median() {
    let mut latency = Latency {
        params: LatencyParams {
            load: Some(Load::default()),
            ..LatencyParams::default()
        },
        metrics: LatencyMetrics {
            sent: 10,
            failure: "none of 10 packets was answered".to_owned(),
            ..LatencyMetrics::default()
        },
        limits: LatencyLimits::default(),
        ledger: Ledger::default(),
    };
    assert_eq!(
        latency.failures(),
        ["round trips, TCP to the device: none of 10 packets was answered"]
    );
    assert!(!latency.one_line().contains("median"));
    latency.metrics.rtt = crate::distribution::of([1_000]);
    assert_eq!(latency.failures(), [""; 0]);
}

#[test]
fn a_step_of_rfc_6349_without_a_result_fails() {
    let mut step = Rfc6349 {
        params: Rfc6349Params::default(),
        metrics: Rfc6349Metrics::default(),
        ledger: Ledger::default(),
    };
    assert_eq!(step.failures(), [""; 0]);
    step.metrics.failure = "it did not answer".to_owned();
    assert_eq!(step.failures(), ["path MTU: it did not answer"]);
}
