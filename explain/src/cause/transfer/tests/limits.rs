//! What limits a transfer, from the figures of its sockets alone.

use super::script::{FULL_PATH, Script, WINDOW, link};
use crate::cause::explain_transfer;
use linerate_results::record::{Cause, Direction};

#[test]
fn the_device_s_window_is_named_with_its_product() {
    let answer = WINDOW.answer();
    assert_eq!(answer.findings[0].cause, Cause::ReceiveWindow);
    let summary = &answer.findings[0].summary;
    assert!(
        summary
            .starts_with("To the device: The device's receive window of 8,688 B limits the rate"),
        "{summary}"
    );
    assert!(
        summary
            .contains("3.38 Mbit/s (423 kB/s) at a round trip of 20.15 ms are 8,523 B in flight"),
        "{summary}"
    );
}

#[test]
fn each_kind_of_limit_has_its_cause() {
    let cases: &[(&str, Script, &[Cause])] = &[
        ("window", WINDOW, &[Cause::ReceiveWindow]),
        ("full path", FULL_PATH, &[Cause::PathRate]),
        (
            "full path that the window does not limit",
            Script {
                window_limited: 0.9,
                ..FULL_PATH
            },
            &[Cause::PathRate],
        ),
        (
            "full path from the device",
            Script {
                direction: Direction::FromDevice,
                lost: 0,
                ..FULL_PATH
            },
            &[Cause::PathRate],
        ),
        (
            "random loss of 1%: 1.2 MSS / RTT / sqrt(p) is 1.8 MB/s",
            Script {
                bytes_per_s: 1.5e6,
                swing: 0.4,
                lost: 52,
                ..Script::default()
            },
            &[Cause::RandomLoss],
        ),
        (
            "policer: three times the losses that the rate permits",
            Script {
                bytes_per_s: 1e6,
                rtt_us: 21_000,
                min_rtt_us: 20_000,
                lost: 350,
                ..Script::default()
            },
            &[Cause::Policed],
        ),
        (
            "this machine's buffer",
            Script {
                buffer_limited: 0.9,
                ..Script::default()
            },
            &[Cause::SendBuffer],
        ),
        (
            "slow start",
            Script {
                span_ms: 100,
                is_in_slow_start: true,
                ..Script::default()
            },
            &[Cause::CongestionWindow],
        ),
        (
            "delayed acknowledgment with a window of one segment",
            Script {
                bytes_per_s: 36e3,
                rtt_us: 40_000,
                min_rtt_us: 1_000,
                window: 1_448,
                low_window: 1_448,
                window_limited: 0.98,
                ..Script::default()
            },
            &[Cause::LateAcks],
        ),
        (
            "the receiver's window shrinks",
            Script {
                window: 65_535,
                low_window: 3_000,
                window_limited: 0.8,
                swing: 0.3,
                ..Script::default()
            },
            &[Cause::ReceiverReadsSlowly],
        ),
        (
            "this machine's window",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 0.8e6,
                window: 8_192,
                low_window: 8_192,
                ..Script::default()
            },
            &[Cause::ReceiveWindow],
        ),
        (
            "the device's buffer",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 850e3,
                ..Script::default()
            },
            &[Cause::SendBuffer],
        ),
        (
            "one segment in flight",
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 144.8e3,
                ..Script::default()
            },
            &[Cause::OneInFlight],
        ),
    ];
    for (name, script, expected) in cases {
        assert_eq!(script.causes(), *expected, "{name}: {:?}", script.answer());
    }
}

#[test]
fn where_the_figures_do_not_decide_nothing_is_named() {
    let undecided = [
        // No state of the socket takes the time.
        (Script::default(), "--capture"),
        // Without timestamps the receiver does not know the round trip.
        (
            Script {
                direction: Direction::FromDevice,
                has_timestamps: false,
                bytes_per_s: 423e3,
                min_rtt_us: 20_150,
                ..Script::default()
            },
            "keeps 8,523 B in flight",
        ),
        // A large amount in flight may be the device's congestion window.
        (
            Script {
                direction: Direction::FromDevice,
                bytes_per_s: 10e6,
                ..Script::default()
            },
            "--capture",
        ),
        // A window that waits in a queue whose rate varies.
        (
            Script {
                window_limited: 0.9,
                window: 65_535,
                low_window: 65_535,
                rtt_us: 60_000,
                min_rtt_us: 2_000,
                swing: 0.4,
                ..Script::default()
            },
            "linerate sweep",
        ),
    ];
    for (script, hint) in undecided {
        let answer = script.answer();
        assert!(answer.findings.is_empty(), "{answer:?}");
        assert!(answer.unknown.contains(hint), "{}", answer.unknown);
    }
}

#[test]
fn a_standard_rate_of_the_path_is_named() {
    let script = Script {
        bytes_per_s: 94.15e6 / 8.0,
        ..FULL_PATH
    };
    let answer = script.answer();
    let finding = &answer.findings[0];
    assert_eq!(finding.cause, Cause::PathRate);
    assert!(
        finding.summary.contains("line rate of 100 Mbit/s Ethernet"),
        "{}",
        finding.summary
    );
}

#[test]
fn a_half_duplex_line_is_an_explanation_of_its_rate() {
    let script = Script {
        bytes_per_s: 9.1e6 / 8.0,
        ..FULL_PATH
    };
    let summary = &script.answer().findings[0].summary;
    assert!(
        summary
            .contains("A half-duplex line of 10 Mbit/s carries this beside its acknowledgments.")
            && summary.contains("It is 97% of a full-duplex one"),
        "{summary}"
    );
}

#[test]
fn the_line_of_this_machine_gives_line_rate_and_share() {
    let script = Script {
        bytes_per_s: 94.1e6 / 8.0,
        ..FULL_PATH
    };
    let mut result = script.result();
    result.observation.link = Some(link(100, false));
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::AtLineRate);
    assert!(
        answer.findings[0]
            .summary
            .contains("100 Mbit/s full duplex on eth0"),
        "{}",
        answer.findings[0].summary
    );
    let most = answer.line_bytes_per_s.expect("a line");
    assert!((most * 8.0 / 1e6 - 94.15).abs() < 0.01, "{most}");
    // The nominal rate of a virtual interface is no limit.
    result.observation.link = Some(link(10_000, true));
    let answer = explain_transfer(&result).remove(0);
    assert_eq!(answer.findings[0].cause, Cause::PathRate);
    assert_eq!(answer.line_bytes_per_s, None);
}
