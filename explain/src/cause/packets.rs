//! The packets of a capture in which a finding can be seen.

use crate::cause::scored::PathFinding;
use linerate_capture::tcp::Occurrences;

/// Adds the packets to a finding's evidence, unless it already names them.
pub(super) fn insert(found: &mut PathFinding, marks: Occurrences) {
    let packets = [
        ("first_packet", marks.first),
        ("last_packet", marks.last),
        ("worst_packet", marks.worst),
    ];
    for (name, packet) in packets.into_iter().filter(|(_, packet)| *packet > 0) {
        let figures = &mut found.finding.evidence;
        figures.entry(name.to_owned()).or_insert(packet as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::Report;
    use linerate_capture::reader::{LinkType, Packet};
    use linerate_capture::traffic::Traffic;
    use linerate_results::record::Cause;

    const SYN: u8 = 2;
    const ACK: u8 = 16;
    const PSH: u8 = 8;
    const FIN: u8 = 1;
    const MS: u64 = 1_000_000;
    /// The first payload.
    const OPEN_NS: u64 = 3_000 * MS;
    const WINDOW: u16 = 60_000;

    /// A download on a raw IP link: for each packet, its time, sender, flags, offset and payload length.
    #[derive(Default)]
    struct Download(Vec<(u64, bool, u8, u32, u16)>);

    impl Download {
        /// The server sends `len` octets at offset `at`.
        fn sends(&mut self, time_ns: u64, at: u32, len: u16) {
            let pushed = if len < 1_460 { PSH } else { 0 };
            self.0.push((time_ns, true, ACK | pushed, at, len));
        }

        /// The client acknowledges everything before `at`.
        fn acks(&mut self, time_ns: u64, at: u32) {
            self.0.push((time_ns, false, ACK, at, 0));
        }

        /// The report, with a long silence before and a long tail after, which no rule may blame.
        fn report(mut self) -> (Report, u64) {
            self.0.sort_by_key(|(time_ns, ..)| *time_ns);
            let packets = self.0.len() as u64 + 3;
            let end = self.0.iter().map(|(.., at, len)| at + u32::from(*len));
            let (last_ns, end) = (self.0[self.0.len() - 1].0, end.max().unwrap_or(0));
            let mut all = vec![
                (0, false, SYN, 0, 0),
                (MS, true, SYN | ACK, 0, 0),
                (2 * MS, false, ACK, 0, 0),
            ];
            all.append(&mut self.0);
            all.push((last_ns + 5_000 * MS, false, FIN | ACK, end, 0));
            let mut traffic = Traffic::default();
            for ((time_ns, by_server, flags, at, len), number) in all.into_iter().zip(1..) {
                let octets = packet(by_server, flags, at, len);
                traffic.record_packet(&Packet {
                    number,
                    offset: 0,
                    time_ns,
                    length: octets.len() as u32 + u32::from(len),
                    link: LinkType(101),
                    octets: &octets,
                });
            }
            (Report::of(traffic, Vec::new()), packets)
        }
    }

    /// A segment without its payload; an MSS of 1,460 octets in the SYN.
    fn packet(by_server: bool, flags: u8, at: u32, len: u16) -> Vec<u8> {
        let (mut hosts, mut ports) = ([[192, 0, 2, 1], [192, 0, 2, 2]], [80, 4_096_u16]);
        let (mut seq, mut ack) = (1_001 + at, 501);
        if !by_server {
            hosts.reverse();
            ports.reverse();
            (seq, ack) = (501, 1_001 + at);
        }
        if flags & SYN != 0 {
            seq -= 1;
        }
        let mut octets = vec![0x45, 0];
        octets.extend((44 + len).to_be_bytes());
        octets.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        octets.extend(hosts.concat());
        octets.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        octets.extend([seq, ack].into_iter().flat_map(u32::to_be_bytes));
        octets.extend([0x60, flags]);
        octets.extend(WINDOW.to_be_bytes());
        octets.extend([0, 0, 0, 0]);
        let mss = [2, 4, 5, 0xB4];
        octets.extend(if flags & SYN != 0 { mss } else { [1; 4] });
        octets
    }

    /// The findings include `cause`, and its packets belong neither to the handshake nor to the tail.
    #[track_caller]
    fn is_seen_between(download: Download, cause: Cause) {
        let (report, last_of_it) = download.report();
        let mut findings = report.findings.iter();
        let found = findings.find(|found| found.finding.cause == cause);
        let figures = &found
            .unwrap_or_else(|| panic!("{:?}", report.findings))
            .finding
            .evidence;
        let [first, last, worst] =
            ["first_packet", "last_packet", "worst_packet"].map(|name| figures[name] as u64);
        assert!(
            3 < first && first <= worst && worst <= last && last <= last_of_it,
            "{first} {worst} {last} of {last_of_it}"
        );
    }

    #[test]
    fn pacing_is_seen_at_segments_after_a_pause() {
        let mut download = Download::default();
        for burst in 0..100 {
            let (time_ns, at) = (OPEN_NS + u64::from(burst) * 10 * MS, burst * 2_920);
            download.sends(time_ns, at, 1_460);
            download.sends(time_ns + MS / 10, at + 1_460, 1_460);
            download.acks(time_ns + MS, at + 2_920);
        }
        is_seen_between(download, Cause::HostPacing);
    }

    #[test]
    fn one_in_flight_is_seen_at_the_end_of_its_wait() {
        let mut download = Download::default();
        for segment in 0..40 {
            let (time_ns, at) = (OPEN_NS + u64::from(segment) * 10 * MS, segment * 1_460);
            download.sends(time_ns, at, 1_460);
            download.acks(
                time_ns + 9 * MS + u64::from(segment % 3) * MS / 4,
                at + 1_460,
            );
        }
        is_seen_between(download, Cause::OneInFlight);
    }

    #[test]
    fn small_writes_are_seen_at_small_segments() {
        let mut download = Download::default();
        for write in 0..200 {
            let (time_ns, at) = (OPEN_NS + u64::from(write) * MS, write * 100);
            download.sends(time_ns, at, 100);
            download.acks(time_ns + 9 * MS, at + 100);
        }
        is_seen_between(download, Cause::SmallWrites);
    }

    #[test]
    fn bufferbloat_is_seen_at_segments_that_waited_in_the_queue() {
        let mut download = Download::default();
        for segment in 0..200_u32 {
            // A segment leaves the queue every 24 ms; the queue holds 20 once that many were sent.
            let taken_ns = |segment: u32| OPEN_NS + 2 * MS + u64::from(segment) * 24 * MS;
            let at = segment * 1_460;
            let sent_ns = segment.checked_sub(20).map_or(OPEN_NS, taken_ns);
            download.sends(sent_ns + u64::from(segment) * 1_000, at, 1_460);
            download.acks(taken_ns(segment), at + 1_460);
        }
        is_seen_between(download, Cause::Bufferbloat);
    }
}
