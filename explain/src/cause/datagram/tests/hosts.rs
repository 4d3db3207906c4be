//! Requests, refusals, hosts that are absent.

use super::capture::{Capture, End, ICMP, MS, TCP, UDP, US, ip, udp};
use linerate_results::record::Cause;

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

/// A request to port 5683, repeated with these pauses.
fn requests(
    port: u16,
    pauses_ms: &[u64],
    then: impl Fn(&mut Capture, u64, [End; 2], &[u8]),
) -> Vec<Cause> {
    let mut capture = Capture::default();
    let ends = [(CLIENT, 2_000), (SERVER, port)];
    let mut now_ns = 0;
    for pause_ms in pauses_ms {
        capture.udp(now_ns, ends, b"request");
        then(&mut capture, now_ns + MS, ends, b"request");
        now_ns += pause_ms * MS;
    }
    capture.causes()
}

fn refuse(capture: &mut Capture, time_ns: u64, ends: [End; 2], payload: &[u8]) {
    let datagram = ip(ends.map(|end| end.0), 7, UDP, &udp(ends, payload));
    let message = [&[3, 3, 0, 0, 0, 0, 0, 0], &datagram[..28]].concat();
    capture.ip(time_ns, [SERVER, CLIENT], ICMP, &message);
}

#[test]
fn requests_that_nobody_answers_are_named() {
    let silence = |_: &mut Capture, _, _: [End; 2], _: &[u8]| {};
    assert_eq!(
        requests(5_683, &[2_000, 4_000, 8_000], silence),
        [Cause::NoAnswer]
    );
    // Unknown protocols are recognized by their longer and longer pauses.
    assert_eq!(
        requests(999, &[500, 1_000, 2_000, 4_000], silence),
        [Cause::NoAnswer]
    );
    assert_eq!(
        requests(999, &[1_000; 20], silence),
        [],
        "reports at intervals"
    );
    assert_eq!(
        requests(5_353, &[500, 1_000, 2_000, 4_000], silence),
        [],
        "a search for a service"
    );
    assert_eq!(
        requests(5_683, &[2_000, 4_000, 8_000], refuse),
        [Cause::Refused]
    );
    assert_eq!(requests(5_683, &[2_000], refuse), [], "a single request");
    let answer = |capture: &mut Capture, time_ns, [client, server]: [End; 2], _: &[u8]| {
        capture.udp(time_ns, [server, client], b"answer");
    };
    assert_eq!(requests(5_683, &[2_000, 4_000, 8_000], answer), []);
    // A program that has its answer and closes its port refuses what comes later.
    let late = |capture: &mut Capture, time_ns, ends: [End; 2], payload: &[u8]| {
        answer(capture, time_ns, ends, payload);
        refuse(capture, time_ns + MS, ends, payload);
    };
    assert_eq!(requests(5_683, &[2_000; 9], late), []);
}

#[test]
fn checks_whether_a_path_exists_need_no_answer() {
    // A request of STUN with an attribute of 5 octets, and another one.
    let asks = |kind: u8| {
        let mut capture = Capture::default();
        let header = [&[0, 1, 0, 24, 0x21, 0x12, 0xA4, 0x42][..], &[7; 12]].concat();
        let software = [0x80, 0x22, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0];
        let request = [&header[..], &software, &[0, kind, 0, 8], &[65; 8]].concat();
        for at_ms in [0, 500, 1_500, 3_500, 7_500] {
            let ends = [(CLIENT, 2_000), (SERVER, 58_226)];
            capture.udp(at_ms * MS, ends, &request);
        }
        capture.causes()
    };
    assert_eq!(asks(6), [], "a user's name");
    assert_eq!(asks(3), [Cause::NoAnswer]);
}

#[test]
fn ports_that_are_refused_one_after_the_other_count_together() {
    // Each port for 5 s; then a dialogue with another port for the rest of 150 s.
    let refused_ports = |ports: u16| {
        let mut capture = Capture::default();
        let mut now_ns = 0;
        for port in 0..ports {
            for _ in 0..10 {
                let ends = [(CLIENT, 2_000), (SERVER, 30_000 + port)];
                capture.udp(now_ns, ends, b"are you there?");
                refuse(&mut capture, now_ns + MS, ends, b"are you there?");
                now_ns += 500 * MS;
            }
        }
        while now_ns < 150_000 * MS {
            let ends = [(CLIENT, 2_000), (SERVER, 7)];
            capture.udp(now_ns, ends, b"and you?");
            capture.udp(now_ns + MS, [ends[1], ends[0]], b"yes");
            now_ns += 4_000 * MS;
        }
        capture.causes().contains(&Cause::Refused)
    };
    assert!(refused_ports(5));
    assert!(!refused_ports(1), "3% of the time");
}

#[test]
fn a_stream_of_equal_datagrams_in_one_direction_waits_for_no_answer() {
    let silence = |_: &mut Capture, _, _: [End; 2], _: &[u8]| {};
    // A device reports every 60 ms, now and then late.
    assert_eq!(requests(999, &[105, 1, 74, 60].repeat(100), silence), []);
    assert_eq!(requests(5_683, &[60; 200], silence), []);
    // Two timers of one program.
    assert_eq!(requests(999, &[300, 2_000].repeat(10), silence), []);
    // Requests of several attempts.
    let attempts = [1_000, 2_000, 4_000, 30_000].repeat(3);
    assert_eq!(requests(999, &attempts, silence), [Cause::NoAnswer]);
}

/// A server's flights of two datagrams, none like the other, after these waits; the client's datagrams before, and perhaps after, them.
fn flights(waits_ms: &[u64], is_answered: bool) -> Vec<Cause> {
    let mut capture = Capture::default();
    let (client, server) = ((CLIENT, 50_000), (SERVER, 443));
    capture.udp(0, [client, server], &[1; 1_200]);
    let mut now_ns = 30 * MS;
    for (at, wait_ms) in waits_ms.iter().enumerate() {
        now_ns += wait_ms * MS;
        capture.udp(now_ns, [server, client], &[at as u8 + 9; 1_200]);
        capture.udp(now_ns + 10 * US, [server, client], &[at as u8 + 99; 90]);
    }
    if is_answered {
        capture.udp(now_ns + 30 * MS, [client, server], &[2; 1_200]);
    }
    capture.causes()
}

#[test]
fn datagrams_that_are_sent_again_at_doubling_intervals_get_no_answer() {
    let doubling = [0, 300, 600, 1_200, 2_400, 4_800];
    assert_eq!(flights(&doubling, false), [Cause::NoAnswer]);
    assert_eq!(flights(&doubling, true), []);
    assert_eq!(flights(&[0, 300, 900, 400, 1_200, 2_400], false), []);
    assert_eq!(flights(&[1_000; 9], false), [], "news at intervals");
}

/// A connection that is refused, and another one to the same port after this time.
fn accepted_after(ms: u64) -> Vec<Cause> {
    let mut capture = Capture::default();
    let ends = [(CLIENT, 40_000), (SERVER, 80)];
    capture.tcp(0, ends, 2, (0, 0), 0);
    capture.tcp(MS / 50, [ends[1], ends[0]], 4 | 16, (0, 1), 0);
    capture.download(ms * MS, (CLIENT, 40_001), ends[1], MS);
    capture.causes()
}

#[test]
fn a_program_that_is_started_again_was_not_held_up_by_a_refusal() {
    assert_eq!(accepted_after(5_000), [Cause::Refused]);
    assert_eq!(accepted_after(60_000), []);
}

/// A stream of equal datagrams every 5 to 9 ms to a receiver that is there until the last three, or from the beginning not.
fn stream(refused: std::ops::Range<u64>) -> Vec<Cause> {
    let mut capture = Capture::default();
    let ends = [(CLIENT, 3_000), (SERVER, 5_001)];
    let mut time_ns = 0;
    for number in 0..400 {
        time_ns += 5 * MS + number * 37 % 5 * MS;
        capture.udp(time_ns, ends, &[7; 700]);
        if refused.contains(&number) {
            refuse(&mut capture, time_ns + MS, ends, &[7; 700]);
        }
    }
    capture.causes()
}

#[test]
fn a_stream_is_refused_only_if_nobody_received_it_from_the_beginning_on() {
    assert_eq!(stream(2..8), [Cause::Refused]);
    assert_eq!(stream(397..400), []);
    assert_eq!(stream(0..0), [], "pauses that vary are no requests");
}

#[test]
fn an_absent_host_does_not_answer_arp() {
    let asks = |is_answered: bool, targets: u8| {
        let mut capture = Capture::default();
        for second in 0..5 {
            for target in 100..100 + targets {
                capture.arp(second * 1_000 * MS, [CLIENT, target], false);
                if is_answered {
                    capture.arp(second * 1_000 * MS + MS, [CLIENT, target], true);
                }
            }
        }
        capture.causes()
    };
    assert_eq!(asks(false, 1), [Cause::NoAnswer]);
    assert_eq!(asks(true, 1), []);
    assert_eq!(asks(false, 50), [], "a search of the network");
    // It talks to others meanwhile.
    let mut capture = Capture::default();
    for second in 0..5 {
        let ends = [(CLIENT, 2_000), (SERVER, 5_246)];
        capture.arp(second * 1_000 * MS, [CLIENT, 100], false);
        capture.udp(second * 1_000 * MS, ends, b"request");
        capture.udp(second * 1_000 * MS + MS, [ends[1], ends[0]], b"answer");
    }
    assert_eq!(capture.causes(), []);
}

/// What is found if a host asks five times for the address of another, one second apart, in a capture that has more.
fn asks_in(mut capture: Capture) -> Vec<Cause> {
    for second in 0..5 {
        capture.arp(second * 1_000 * MS, [CLIENT, 100], false);
    }
    capture.causes()
}

#[test]
fn a_few_refused_datagrams_beside_transfers_are_no_cause() {
    let refused_beside = |downloads: u16| {
        let mut capture = Capture::default();
        let ends = [(9, 137), (CLIENT, 137)];
        for second in 0..4 {
            capture.udp(second * 1_000 * MS, ends, b"name query");
            let datagram = ip([9, CLIENT], 7, UDP, &udp(ends, b"name query"));
            let message = [&[3, 3, 0, 0, 0, 0, 0, 0], &datagram[..28]].concat();
            capture.ip(second * 1_000 * MS + MS, [CLIENT, 9], ICMP, &message);
        }
        for at in 0..downloads {
            let start_ns = u64::from(at) * 50 * MS;
            capture.download(start_ns, (CLIENT, 3_000 + at), (SERVER, 80), 10 * MS);
        }
        capture.causes()
    };
    assert_eq!(refused_beside(60), []);
    assert_eq!(refused_beside(2), [Cause::Refused]);
}

#[test]
fn a_third_station_sees_no_reply_of_arp() {
    let padded = || {
        let mut capture = Capture::default();
        capture.is_padded = true;
        capture
    };
    assert_eq!(asks_in(padded()), []);
    // It has another reply to the same host.
    let mut capture = padded();
    capture.arp(0, [CLIENT, 50], false);
    capture.arp(MS, [CLIENT, 50], true);
    assert_eq!(asks_in(capture), [Cause::NoAnswer]);
    // The host that is asked for is there.
    let mut capture = Capture::default();
    capture.udp(5_000 * MS, [(100, 9), (224, 9)], &[7; 40]);
    assert_eq!(asks_in(capture), []);
}

#[test]
fn an_absent_host_beside_the_transfers_of_others_is_no_cause() {
    let mut capture = Capture::default();
    capture.download(0, (8, 3_001), (9, 80), 10 * MS);
    assert_eq!(asks_in(capture), []);
    // It sends elsewhere, though nothing answers.
    let mut capture = Capture::default();
    capture.udp(0, [(CLIENT, 9), (SERVER, 9)], &[7; 40]);
    assert_eq!(asks_in(capture), []);
    // Connections do not open, because nobody answers.
    let mut capture = Capture::default();
    capture.tcp(0, [(SERVER, 3_000), (100, 80)], 2, (0, 0), 0);
    assert_eq!(asks_in(capture), [Cause::NoAnswer]);
}

#[test]
fn a_sender_whose_packets_are_all_there_twice_is_captured_twice() {
    let copies = |every: u16| {
        let mut capture = Capture::default();
        for number in 0..400_u16 {
            let time_ns = u64::from(number) * 20 * MS;
            let payload = number.to_be_bytes();
            capture.udp(time_ns, [(SERVER, 7_000), (CLIENT, 7_000)], &payload);
            capture.udp(time_ns, [(CLIENT, 7_000), (SERVER, 7_000)], &payload);
            if number % every == 0 {
                capture.id -= 1;
                capture.udp(time_ns + MS, [(CLIENT, 7_000), (SERVER, 7_000)], &payload);
            }
        }
        capture.causes()
    };
    assert_eq!(copies(8), [Cause::DuplicateFrames]);
    assert_eq!(copies(1), []);
}

#[test]
fn the_path_mtu_of_icmp_messages_is_counted() {
    let mut capture = Capture::default();
    for mtu in [1_400_u16, 1_280, 1_500] {
        let [high, low] = mtu.to_be_bytes();
        capture.ip(0, [9, CLIENT], ICMP, &[3, 4, 0, 0, 0, 0, high, low, 0x45]);
    }
    let report = capture.report();
    assert_eq!(
        (report.packets.too_big, report.packets.least_path_mtu),
        (3, 1_280)
    );
}

#[test]
fn any_octets_are_a_packet() {
    let mut state = 1_u64;
    let mut dice = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize
    };
    let mut capture = Capture::default();
    for packet in 0..20_000_u64 {
        let octets: Vec<u8> = (0..dice() % 80).map(|_| dice() as u8 % 16).collect();
        let hosts = [CLIENT, SERVER];
        let ends = [
            (CLIENT, [53, 5_353, 69, 5_683][dice() % 4]),
            (SERVER, 53 + (dice() % 3) as u16),
        ];
        match dice() % 4 {
            0 => capture.ip(packet * US, hosts, [1, 6, 17, 58][dice() % 4], &octets),
            1 => capture.udp(packet * US, ends, &octets),
            2 => capture.frame(packet * US, 0x0806, &octets),
            _ => capture.frame(packet * US, 0x86DD, &[&[0x60][..], &octets].concat()),
        }
    }
    assert!(!capture.report().text().is_empty());
}

/// An attempt to open a connection, which an ICMP message of this code answers, of a router or of the host itself.
fn reject(capture: &mut Capture, time_ns: u64, client: End, server: End, code: u8) {
    capture.tcp(time_ns, [client, server], 2, (0, 0), 0);
    let mut start: Vec<u8> = [client.1, server.1]
        .into_iter()
        .flat_map(u16::to_be_bytes)
        .collect();
    start.extend([0; 4]);
    let packet = ip([client.0, server.0], 1, TCP, &start);
    let message = [&[3, code, 0, 0, 0, 0, 0, 0], &packet[..]].concat();
    capture.ip(time_ns + 3 * MS, [7, client.0], ICMP, &message);
}

#[test]
fn connections_that_icmp_rejects_are_refused_and_absent_hosts_do_not_answer() {
    let causes = |code: u8, attempts: u16| {
        let mut capture = Capture::default();
        for at in 0..attempts {
            let (client, server) = ((CLIENT, 3_000 + at), (SERVER, 8_080));
            reject(&mut capture, u64::from(at) * 700 * MS, client, server, code);
        }
        capture.causes()
    };
    assert_eq!(causes(3, 1), [Cause::Refused], "port unreachable");
    assert_eq!(causes(13, 4), [Cause::Refused], "prohibited");
    assert_eq!(causes(1, 1), [Cause::NoAnswer], "host unreachable");
    // A client that repeats its SYN all the same.
    let mut capture = Capture::default();
    for time_ms in [0, 1_000, 3_000] {
        let (client, server) = ((CLIENT, 3_000), (SERVER, 8_080));
        reject(&mut capture, time_ms * MS, client, server, 10);
    }
    assert_eq!(capture.causes(), [Cause::Refused]);
}

#[test]
fn a_rejected_connection_beside_downloads_is_no_cause() {
    let mut capture = Capture::default();
    reject(&mut capture, 0, (CLIENT, 3_000), (SERVER, 8_080), 3);
    capture.download(50 * MS, (CLIENT, 3_001), (SERVER, 80), 10 * MS);
    assert_eq!(capture.causes(), []);
    // The message is late: the connection was opened meanwhile.
    let mut capture = Capture::default();
    capture.download(0, (CLIENT, 3_000), (SERVER, 8_080), 10 * MS);
    reject(&mut capture, 90_000 * MS, (CLIENT, 3_002), (SERVER, 9), 3);
    assert_eq!(capture.causes(), []);
}

#[test]
fn a_port_that_is_silent_is_named_beside_one_that_icmp_rejects() {
    let mut capture = Capture::default();
    for time_ms in [0, 1_000, 3_000] {
        let client = (CLIENT, 3_000);
        reject(&mut capture, time_ms * MS, client, (SERVER, 8_080), 3);
        let silent = [(CLIENT, 3_001), (SERVER, 8_081)];
        capture.tcp((time_ms + 100) * MS, silent, 2, (0, 0), 0);
    }
    let causes = capture.causes();
    let has_both = [Cause::NoAnswer, Cause::Refused].map(|it| causes.contains(&it));
    assert_eq!((has_both, causes.len()), ([true, true], 2), "{causes:?}");
}
