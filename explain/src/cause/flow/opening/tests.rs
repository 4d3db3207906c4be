use crate::cause::flow::explain_flows;
use crate::cause::synthetic::{MS, Script};
use linerate_capture::reader::Address;
use linerate_capture::tcp::{End, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;

const RESET: u8 = Segment::RST | Segment::ACK;

/// A connection whose first packet is captured at this time.
fn attempt(start_ms: u64) -> Script {
    Script::late_at(start_ms * MS, End::Second, 60_000)
}

fn syn(script: &mut Script) {
    script.packet(End::First, Segment::SYN, [0, 0], 0, &[]);
}

fn refused(script: &mut Script) {
    syn(script);
    script.after(MS).packet(End::Second, RESET, [0, 1], 0, &[]);
}

fn from_port(script: Script, port: u16) -> Flow {
    let mut flow = script.flow();
    flow.ends[0].1 = port;
    flow
}

/// A dialogue with another host, from the start to this time.
fn healthy(until_ms: u64) -> Flow {
    let mut script = Script::open(End::Second, 10 * MS, 0, 60_000);
    while script.now_ns < until_ms * MS {
        script.after(500 * MS).write(End::First, 80);
        script
            .after(10 * MS)
            .write(End::Second, 80)
            .confirm(End::First);
    }
    let mut flow = script.flow();
    flow.ends[1].0 = Address([3; 16]);
    flow
}

fn found(flows: &[Flow]) -> Vec<(Cause, String, f64)> {
    let (findings, _) = explain_flows(flows);
    let found = findings.into_iter();
    found
        .map(|it| (it.finding.cause, it.finding.summary, it.share_of_time))
        .collect()
}

#[test]
fn a_refused_syn_that_the_stack_repeats_is_a_refusal() {
    let mut script = attempt(0);
    for _ in 0..5 {
        refused(&mut script);
        script.after(500 * MS);
    }
    let found = found(&[script.flow()]);
    assert_eq!(found[0].0, Cause::Refused, "{found:?}");
}

#[test]
fn a_client_that_is_refused_once_and_waits_long_until_it_tries_again_is_named() {
    let after = |ms: u64| {
        let mut first = attempt(0);
        refused(&mut first);
        let mut second = Script::open_at(ms * MS, End::Second, [MS, 0], 60_000);
        for _ in 0..40 {
            second.after(100 * MS).write(End::First, 80);
            second.after(MS).write(End::Second, 3_000);
        }
        found(&[first.flow(), from_port(second, 40_001)])
    };
    let late = after(8_000);
    assert!(late.iter().any(|it| it.0 == Cause::Refused), "{late:?}");
    let soon = after(150);
    assert!(soon.iter().all(|it| it.0 != Cause::Refused), "{soon:?}");
}

#[test]
fn connections_of_one_syn_each_without_an_answer_are_counted_together() {
    let at = |starts_ms: &[u64]| {
        let mut flows: Vec<Flow> = (40_001..)
            .zip(starts_ms)
            .map(|(port, start_ms)| {
                let mut script = attempt(*start_ms);
                syn(&mut script);
                from_port(script, port)
            })
            .collect();
        flows.push(healthy(20_000));
        found(&flows)
    };
    let found = at(&[1_000, 1_000, 7_000, 13_000]);
    assert_eq!(found[0].0, Cause::NoAnswer);
    assert!(found[0].1.contains("none of 4 SYNs"), "{}", found[0].1);
    assert!(found[0].2 >= 0.05, "{}", found[0].2);
    assert!(at(&[1_000]).is_empty());
    // A second try may come as soon as the first has failed (RFC 8305 section 5).
    assert!(at(&[1_000, 1_100]).is_empty());
}

#[test]
fn one_lost_syn_among_connections_that_open_is_no_missing_host() {
    let mut flows = Vec::new();
    for (port, start_ms) in [(40_001, 0), (40_002, 4_000)] {
        let mut script = attempt(start_ms);
        syn(&mut script);
        flows.push(from_port(script, port));
    }
    flows.push(from_port(
        Script::open_at(5_000 * MS, End::Second, [MS, 0], 60_000),
        40_003,
    ));
    assert!(found(&flows).is_empty());
}

#[test]
fn a_client_that_begins_again_from_the_same_port_was_not_answered_before() {
    let opened_after = |pause_ms: u64| {
        let mut script = attempt(0);
        for _ in 0..5 {
            syn(&mut script);
            script.after(3_000 * MS);
        }
        script.after(pause_ms * MS);
        syn(&mut script);
        script
            .after(10 * MS)
            .packet(End::Second, Segment::SYN | Segment::ACK, [0, 1], 0, &[]);
        script.packet(End::First, Segment::ACK, [1, 1], 0, &[]);
        script.write(End::First, 80).after(10 * MS);
        script.write(End::Second, 80);
        found(&[script.flow()])
    };
    let again = opened_after(200_000);
    assert_eq!(again[0].0, Cause::NoAnswer, "{again:?}");
    assert!(
        again[0].1.contains("none of 5 SYNs was answered in 12 s"),
        "{again:?}"
    );
    assert_eq!(opened_after(0)[0].0, Cause::SlowHandshake);
}

#[test]
fn an_answer_that_the_client_never_acknowledges_keeps_nobody_waiting() {
    let opened = |is_acked: bool| {
        let mut script = attempt(0);
        syn(&mut script);
        for ms in [10, 1_000, 2_000, 4_000] {
            script
                .after(ms * MS)
                .packet(End::Second, Segment::SYN | Segment::ACK, [0, 1], 0, &[]);
        }
        if is_acked {
            script.packet(End::First, Segment::ACK, [1, 1], 0, &[]);
            script.write(End::First, 80).after(10 * MS);
            script.write(End::Second, 80).confirm(End::First);
        }
        found(&[script.flow(), healthy(10_000)])
    };
    assert_eq!(opened(true)[0].0, Cause::SlowHandshake);
    assert!(opened(false).is_empty());
}

#[test]
fn connections_that_open_late_at_once_cost_their_time_once() {
    let opened_after = |ms: u64| {
        let flows: Vec<Flow> = (40_001..40_006)
            .map(|port| {
                let mut script = Script::open_at(0, End::Second, [ms * MS, 0], 60_000);
                script.write(End::First, 80).after(MS);
                script.write(End::Second, 80).confirm(End::First);
                from_port(script, port)
            })
            .collect();
        found(&flows)
    };
    assert!(opened_after(36).is_empty());
    assert_eq!(opened_after(60)[0].0, Cause::SlowHandshake);
}

/// `opened` connections that the client opens and closes, and this many attempts without an answer.
fn beside_opened(opened: u16, attempts: u16) -> Vec<Cause> {
    let mut flows: Vec<Flow> = (0..opened)
        .map(|at| {
            let start_ns = u64::from(at) * 300 * MS;
            let mut script = Script::open_at(start_ns, End::Second, [10 * MS, 0], 60_000);
            script.after(MS).write(End::First, 300);
            script.after(10 * MS).write(End::Second, 2_000);
            let mut flow = from_port(script, 40_000 + at);
            flow.ends[1].0 = Address([3; 16]);
            flow
        })
        .collect();
    for at in 0..attempts {
        let mut script = attempt(100);
        for ms in [1_000, 2_000, 4_000, 8_000] {
            syn(&mut script);
            script.after(ms * MS);
        }
        flows.push(from_port(script, 50_000 + at));
    }
    found(&flows).into_iter().map(|it| it.0).collect()
}

#[test]
fn an_attempt_beside_many_connections_that_open_is_one_of_the_background() {
    assert_eq!(beside_opened(5, 1), [Cause::NoAnswer]);
    assert_eq!(beside_opened(11, 1), []);
    assert_eq!(beside_opened(20, 2), [Cause::NoAnswer]);
    assert_eq!(beside_opened(21, 2), []);
    assert_eq!(beside_opened(40, 3), [Cause::NoAnswer]);
}

#[test]
fn attempts_at_once_beside_a_transfer_slow_down_nothing() {
    let attempts = |apart_ms: u64, rounds: u64| {
        let mut transfer = Script::open(End::Second, MS, 0, 60_000);
        for _ in 0..rounds {
            transfer.after(100 * MS).write(End::First, 80);
            transfer.after(MS).write(End::Second, 3_000);
        }
        let mut flow = transfer.flow();
        flow.ends[1].1 = 8_080;
        let mut flows = vec![flow];
        for (port, ms) in [(40_001, 0), (40_002, apart_ms)] {
            let mut script = attempt(1_000 + ms);
            refused(&mut script);
            flows.push(from_port(script, port));
        }
        let causes = found(&flows).into_iter().map(|it| it.0);
        causes.collect::<Vec<_>>().contains(&Cause::Refused)
    };
    assert!(!attempts(1, 40));
    assert!(attempts(1_500, 40), "tried again");
    assert!(attempts(1, 10), "beside little");
}

#[test]
fn resets_that_answer_each_segment_refuse_it() {
    let segments = |is_reset: bool| {
        let mut script = Script::late(End::First, 60_000);
        for _ in 0..30 {
            script.packet(End::First, Segment::ACK, [1, 1], 26, &[]);
            if is_reset {
                script
                    .after(MS)
                    .packet(End::Second, Segment::RST, [1, 0], 0, &[]);
            }
            script.after(300 * MS);
        }
        found(&[script.flow()])
    };
    let refused = segments(true);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].0, Cause::Refused);
    assert!(segments(false).iter().all(|it| it.0 != Cause::Refused));
}

/// A request of `len` octets, sent `times` times in a connection that was accepted.
fn ignored(len: u32, times: u32, is_answered: bool) -> Vec<Cause> {
    let mut script = Script::open(End::First, 20 * MS, 0, 60_000);
    for at in 0..times {
        script.packet(End::First, Segment::ACK | Segment::PSH, [1, 1], len, &[]);
        script.after((300 << at) * MS);
    }
    if is_answered {
        script.packet(End::Second, Segment::ACK, [1, 1 + len], 0, &[]);
    }
    let causes = found(&[script.flow()]).into_iter().map(|it| it.0);
    causes.collect()
}

#[test]
fn a_request_that_is_not_even_acknowledged_gets_no_answer() {
    assert_eq!(ignored(300, 6, false), [Cause::NoAnswer]);
    assert!(!ignored(300, 6, true).contains(&Cause::NoAnswer));
    assert!(!ignored(300, 3, false).contains(&Cause::NoAnswer), "few");
    // The path may not carry it.
    assert!(!ignored(1_400, 6, false).contains(&Cause::NoAnswer));
}

#[test]
fn a_client_that_is_refused_by_one_version_of_ip_and_accepted_by_the_other_waits_for_nothing() {
    let refusals = |is_v4: bool, later_ms: u64| {
        let mut first = attempt(0);
        for _ in 0..3 {
            refused(&mut first);
            first.after(1_000 * MS);
        }
        let mut second = Script::open_at(later_ms * MS, End::Second, [MS, 0], 60_000);
        for _ in 0..5 {
            second.after(100 * MS).write(End::First, 80);
            second.after(MS).write(End::Second, 3_000);
        }
        let mut second = from_port(second, 40_001);
        let mapped = |host: u8| {
            let mut octets = [0; 16];
            octets[10..].copy_from_slice(&[0xFF, 0xFF, 10, 0, 0, host]);
            Address(octets)
        };
        if is_v4 {
            second.ends[0].0 = mapped(1);
            second.ends[1].0 = mapped(2);
        } else {
            second.ends[1].0 = Address([3; 16]);
        }
        let found = found(&[first.flow(), second]);
        found.iter().any(|it| it.0 == Cause::Refused)
    };
    assert!(!refusals(true, 250));
    assert!(refusals(true, 9_000), "much later");
    assert!(refusals(false, 250), "another host");
}

#[test]
fn a_client_without_an_answer_from_several_hosts_is_one_finding() {
    let attempts = |servers: u8| {
        let flows: Vec<Flow> = (0..servers)
            .map(|host| {
                let mut script = attempt(u64::from(host) * 500);
                for ms in [1_000, 2_000, 4_000] {
                    syn(&mut script);
                    script.after(ms * MS);
                }
                let mut flow = script.flow();
                flow.ends[1].0 = Address([10 + host; 16]);
                flow
            })
            .collect();
        let last = flows.last().map(|it| it.ends[1].0.to_string());
        let (findings, _) = explain_flows(&flows);
        (findings, last.expect("a server"))
    };
    let (findings, _) = attempts(2);
    assert_eq!(findings.len(), 2);
    let (findings, last) = attempts(6);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let found = &findings[0];
    assert_eq!(found.receiver, None);
    assert!(found.finding.summary.contains("none of 18 SYNs"));
    assert!(found.finding.summary.contains(" 6 hosts ("));
    // They waited at the same time.
    assert!((found.finding.evidence["opening_ns"] / 1e9 - 5.5).abs() < 0.1);
    let listed = format!("syns_to_{last}_port_80");
    let figure = found.finding.evidence.get(&listed);
    assert_eq!(figure, Some(&3.0), "{listed} {:?}", found.finding.evidence);
}

#[test]
fn a_host_that_refuses_at_many_ports_is_one_finding() {
    let refusals = |ports: u16| {
        let flows: Vec<Flow> = (0..ports)
            .map(|port| {
                let mut script = attempt(u64::from(port) * 1_500);
                refused(&mut script);
                let mut flow = script.flow();
                flow.ends[1].1 = 17_800 + port;
                flow
            })
            .collect();
        found(&flows)
    };
    assert_eq!(refusals(2).len(), 2);
    let many = refusals(30);
    assert_eq!(many.len(), 1, "{many:?}");
    assert_eq!(many[0].0, Cause::Refused);
    assert!(many[0].1.contains("tried 30 times"), "{many:?}");
    assert!(many[0].1.contains("(30 ports)"), "{many:?}");
}

/// A connection to another host over which a few octets pass each 20 s, for 200 s.
fn kept_open(port: u16) -> Flow {
    let mut script = Script::open(End::Second, 10 * MS, 0, 60_000);
    for _ in 0..10 {
        script.after(20_000 * MS).write(End::First, 80);
        script
            .after(10 * MS)
            .write(End::Second, 80)
            .confirm(End::First);
    }
    let mut flow = from_port(script, port);
    flow.ends[1].0 = Address([3; 16]);
    flow
}

#[test]
fn connections_that_are_kept_open_make_no_repeated_syn_cheaper() {
    let mut script = attempt(0);
    for wait_s in [1, 2, 4, 8, 16] {
        syn(&mut script);
        script.after(wait_s * 1_000 * MS);
    }
    let mut flows = vec![script.flow()];
    flows.extend([40_001, 40_002, 40_003].map(kept_open));
    let found = found(&flows);
    assert_eq!(found[0].0, Cause::NoAnswer, "{found:?}");
    assert!(found[0].2 > 0.5, "{found:?}");
}

/// Over a satellite that doubles the SYN: the copy is no repetition, after which the answer would be late.
#[test]
fn a_copy_of_a_syn_makes_no_handshake_slow() {
    let opened = |again_ms: u64| {
        let mut script = attempt(0);
        syn(&mut script);
        script.after(again_ms * MS);
        syn(&mut script);
        let accept = Segment::SYN | Segment::ACK;
        script
            .after(590 * MS)
            .packet(End::Second, accept, [0, 1], 0, &[]);
        script
            .after(MS)
            .packet(End::First, Segment::ACK, [1, 1], 0, &[]);
        for _ in 0..2 {
            script.write(End::First, 80).after(600 * MS);
            script.write(End::Second, 600).after(MS).confirm(End::First);
        }
        let numbers = script.next;
        script.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
        found(&[script.flow()])
    };
    let is_slow =
        |found: &[(Cause, String, f64)]| found.iter().any(|it| it.0 == Cause::SlowHandshake);
    assert!(!is_slow(&opened(10)), "{:?}", opened(10));
    assert!(is_slow(&opened(1_000)), "{:?}", opened(1_000));
}
