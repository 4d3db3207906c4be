//! A sender that was not scheduled for a while.

use crate::load::pace::Deadlines;

const SECOND: u64 = 1_000_000_000;

/// Departure times at `per_s` for a second, if the sender pauses for `pause_ns` before the 100th packet.
fn sent(per_s: u64, pause_ns: u64) -> Vec<u64> {
    let mut deadlines = Deadlines::new(0, per_s);
    let mut times: Vec<u64> = Vec::new();
    let mut now = 0;
    while deadlines.due_ns() < SECOND {
        if times.len() == 100 {
            now += pause_ns;
        }
        now = now.max(deadlines.send_at(SECOND));
        if now >= SECOND {
            break;
        }
        times.push(now);
        deadlines.advance(now);
    }
    times
}

#[test]
fn without_a_pause_each_packet_is_sent_when_due() {
    let times = sent(10_000, 0);
    assert_eq!(times.len(), 10_000);
    assert!(
        times
            .iter()
            .enumerate()
            .all(|(at, time)| *time == at as u64 * 100_000)
    );
}

#[test]
fn after_a_pause_no_packet_is_missing_and_only_one_gap_is_far_off() {
    for (per_s, pause_ns) in [
        (10_000, 4_000_000),
        (50_000, 4_000_000),
        (10_000, 30_000_000),
    ] {
        let times = sent(per_s, pause_ns);
        assert_eq!(times.len() as u64, per_s, "at {per_s}/s");
        let interval = SECOND / per_s;
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        // A gap shrinks by the share of the pause in the catch-up time.
        let least = interval - interval * (pause_ns + 1) / (pause_ns + 100_000_000) - interval / 8;
        let far_off = gaps.filter(|gap| *gap < least || *gap > interval).count();
        assert_eq!(far_off, 1, "at {per_s}/s after {pause_ns} ns");
    }
}

#[test]
fn a_pause_near_the_end_is_caught_up_by_the_end() {
    let mut deadlines = Deadlines::new(0, 1_000);
    // The last packet was 5 ms late, and 10 ms are left for 10.
    let mut last = 989_000_000 + 5_000_000;
    for _ in 0..990 {
        deadlines.advance(last);
    }
    let mut count = 0;
    while deadlines.due_ns() < SECOND {
        let at = deadlines.send_at(SECOND);
        assert!(at >= last);
        if at >= SECOND {
            break;
        }
        last = at;
        count += 1;
        deadlines.advance(at);
    }
    assert!(count >= 9, "{count}");
}
