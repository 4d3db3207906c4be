//! Entry points for fuzzers and for tests with mutated inputs: they run any input and assert the invariants.

use crate::traffic::Report;
use linerate_capture::reader::{LinkType, Packet, Reader};
use linerate_capture::traffic::Traffic;

/// Treats `octets` as a capture, and as packets of a link type selected by the first octet.
///
/// # Panics
/// If a report contradicts itself or the packets read.
pub fn capture(octets: &[u8]) {
    if let Ok(mut reader) = Reader::new(octets) {
        let mut traffic = Traffic::with_flags();
        let mut before = 0;
        while let Some(packet) = reader.next() {
            assert!(packet.number == before + 1 && packet.octets.len() <= packet.length as usize);
            before = packet.number;
            traffic.record_packet(&packet);
        }
        if let Some(fault) = reader.error() {
            assert_eq!(fault.packets, before);
        }
        holds(&Report::of(traffic, Vec::new()), before);
    }

    let [link, packets @ ..] = octets else { return };
    let links = [
        LinkType::RAW,
        LinkType::ETHERNET,
        LinkType::LINUX_SLL,
        LinkType::LINUX_SLL2,
        LinkType::NULL,
    ];
    let link = links[usize::from(*link) % links.len()];
    let mut traffic = Traffic::with_flags();
    let (mut rest, mut time_ns, mut number) = (packets, 0_u64, 0);
    while let [len, steps, doublings, packet @ ..] = rest {
        let (octets, behind) = packet.split_at(packet.len().min(usize::from(*len)));
        // From nanoseconds to ages, and back.
        let step_ns = u64::from(*steps) << (doublings % 50);
        time_ns = if *doublings < 250 {
            time_ns.saturating_add(step_ns)
        } else {
            time_ns.saturating_sub(step_ns)
        };
        number += 1;
        traffic.record_packet(&Packet {
            number,
            offset: 0,
            time_ns,
            length: u32::from(*len) + u32::from(*steps),
            link,
            octets,
        });
        rest = behind;
    }
    holds(&Report::of(traffic, Vec::new()), number);
}

/// Invariants of every report.
fn holds(report: &Report, packets: u64) {
    let kinds = &report.packets;
    let ip = kinds.tcp + kinds.udp + kinds.other_ip + kinds.fragments;
    assert_eq!(kinds.packets, packets);
    assert_eq!(ip + kinds.arp + kinds.pauses + kinds.other, packets);
    for connection in &report.connections {
        let sum: f64 = connection.time_share.values().sum();
        assert!(
            (sum - 1.0).abs() < 1e-6 || connection.time_share.is_empty(),
            "{sum}"
        );
        for direction in [&connection.payload, &connection.back] {
            let by_kind = direction.tail_loss_probes
                + direction.fast_retransmits
                + direction.time_outs
                + direction.recovery_retransmits
                + direction.spurious_retransmissions;
            assert_eq!(by_kind, direction.retransmitted_segments);
            assert!(direction.unique_bytes <= direction.payload_bytes);
        }
    }
    for found in &report.findings {
        assert!(
            (0.0..=1.000_001).contains(&found.share_of_time),
            "{found:?}"
        );
    }
    assert!(!report.text().is_empty());
}
