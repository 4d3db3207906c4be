//! Links with time set by the test.

use super::*;
use crate::relay::impairment::tests::any_impairment;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns a link with settings in text form.
fn link(settings: &str) -> ImpairedLink {
    let settings = settings.parse().expect("settings");
    ImpairedLink::new(settings, 1).expect("a link")
}

/// Passes in `frames` (arrival time, octets) and takes each frame out when it is due.
fn run(link: &mut ImpairedLink, frames: &[(u64, Vec<u8>)]) -> (Vec<FrameFates>, Vec<Delivered>) {
    let (mut fates, mut out) = (Vec::new(), Vec::new());
    for (now_ns, frame) in frames {
        drain(link, *now_ns, &mut out);
        fates.push(link.push(frame.clone(), *now_ns));
    }
    drain(link, u64::MAX, &mut out);
    (fates, out)
}

fn drain(link: &mut ImpairedLink, until_ns: u64, out: &mut Vec<Delivered>) {
    while let Some(wake_ns) = link.wake_at().filter(|at| *at <= until_ns) {
        out.extend(link.pop(wake_ns));
    }
}

/// Numbered frames, one every `gap_ns`.
fn steady(count: u32, gap_ns: u64, octets: usize) -> Vec<(u64, Vec<u8>)> {
    let frame = |number: u32| {
        let mut frame = vec![0x55; octets];
        frame[..4].copy_from_slice(&number.to_be_bytes());
        (u64::from(number) * gap_ns, frame)
    };
    (0..count).map(frame).collect()
}

/// Indices of the lost frames among 20,000.
fn lost(settings: &str, seed: u64, octets: usize) -> Vec<usize> {
    let mut link = ImpairedLink::new(settings.parse().expect("settings"), seed).expect("a link");
    let (fates, _) = run(&mut link, &steady(20_000, 1_000, octets));
    let is_lost = |fates: &FrameFates| matches!(fates.original, Fate::Lost(_));
    let indexed = fates.iter().enumerate();
    let lost = indexed.filter(|(_, it)| is_lost(it)).map(|(at, _)| at);
    lost.collect()
}

/// Asserts that `count` of `all` is within five standard deviations of `share`.
fn assert_binomial(count: usize, all: usize, share: f64) {
    let mean = all as f64 * share;
    let bound = 5.0 * (mean * (1.0 - share)).sqrt();
    assert!(
        (count as f64 - mean).abs() <= bound,
        "{count} of {all} is not {share}"
    );
}

#[test]
fn without_settings_every_frame_is_sent_at_once() {
    let frames = steady(100, 10, 64);
    let (_, out) = run(&mut link(""), &frames);
    let out: Vec<(u64, Vec<u8>)> = out.into_iter().map(|it| (it.due_ns, it.frame)).collect();
    assert_eq!(out, frames);
}

#[test]
fn delay_is_exact() {
    let (_, out) = run(&mut link("delay=5ms"), &steady(100, 777, 64));
    assert_eq!(out.len(), 100);
    assert!(out.iter().all(|it| it.due_ns - it.arrival_ns == 5_000_000));
}

#[test]
fn jitter_is_uniform_around_the_delay_and_reorders_only_with_overtake() {
    let (_, out) = run(
        &mut link("delay=5ms,jitter=1ms,overtake=yes"),
        &steady(20_000, 1_000, 64),
    );
    let delays: Vec<u64> = out.iter().map(|it| it.due_ns - it.arrival_ns).collect();
    assert!(delays.iter().all(|it| (4_000_000..=6_000_000).contains(it)));
    let quarter = delays.iter().filter(|it| **it < 4_500_000).count();
    assert_binomial(quarter, delays.len(), 0.25);
    assert!(out.windows(2).any(|pair| pair[0].number > pair[1].number));

    let mut keeping = link("delay=5ms,jitter=1ms");
    let (_, out) = run(&mut keeping, &steady(20_000, 1_000, 64));
    assert!(out.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert_eq!(keeping.counts().reordered_frames, 0);
    // Frames that are further apart than the jitter do not wait for each other.
    let (_, apart) = run(
        &mut link("delay=5ms,jitter=1ms"),
        &steady(2_000, 2_000_001, 64),
    );
    let early = apart
        .iter()
        .filter(|it| it.due_ns - it.arrival_ns < 5_000_000);
    assert_binomial(early.count(), 2_000, 0.5);
}

#[test]
fn a_link_of_10_mbit_is_10base_t() {
    // 14,880 frames of 64 octets a second, 812 of 1518; a padded frame takes as long as 64 octets.
    assert_eq!(occupancy_ns(60, 10_000_000), 67_200);
    assert_eq!(occupancy_ns(42, 10_000_000), 67_200);
    assert_eq!(occupancy_ns(1514, 10_000_000), 1_230_400);
    let (_, out) = run(&mut link("rate=10M"), &steady(100, 0, 1514));
    // The gap after the last frame does not count.
    assert_eq!(out[0].due_ns, 1_230_400 - 9_600);
    assert_eq!(out[99].due_ns, 100 * 1_230_400 - 9_600);
}

#[test]
fn a_frame_on_an_idle_link_takes_its_own_time_only() {
    let (_, out) = run(
        &mut link("rate=10M,delay=1ms"),
        &steady(10, 2_000_000, 1514),
    );
    let took: Vec<u64> = out.iter().map(|it| it.due_ns - it.arrival_ns).collect();
    assert_eq!(took, [1_000_000 + 1_230_400 - 9_600; 10]);
}

#[test]
fn a_full_queue_loses_frames() {
    let mut full = link("rate=10M,queue=5");
    let (fates, out) = run(&mut full, &steady(100, 0, 1514));
    // One on the link, five queued.
    assert_eq!((out.len(), full.counts().lost_queue_frames), (6, 94));
    assert_eq!(
        fates[5].original,
        Fate::Passed {
            number: 5,
            corrupted_bits: 0
        }
    );
    assert_eq!(fates[6].original, Fate::Lost(LossReason::Queue));
    // The link takes one from the queue each 1.2 ms.
    let mut later = link("rate=10M,queue=5");
    let (_, out) = run(&mut later, &steady(50, 1_230_400, 1514));
    assert_eq!(out.len(), 50);
    // In octets: three wait, the fourth would exceed the limit.
    let mut octets = link("rate=10M,queue=5kB");
    let (_, out) = run(&mut octets, &steady(100, 0, 1514));
    assert_eq!(out.len(), 4);
    // No queue: only frames that find the link idle are sent.
    let (_, out) = run(&mut link("rate=10M,queue=0"), &steady(10, 615_200, 1514));
    assert_eq!(out.len(), 5);
}

#[test]
fn losses_have_their_share_and_are_independent() {
    let lost = lost("loss=2%", 1, 64);
    assert_binomial(lost.len(), 20_000, 0.02);
    let in_a_row = lost
        .windows(2)
        .filter(|pair| pair[1] == pair[0] + 1)
        .count();
    assert_binomial(in_a_row, lost.len(), 0.02);
}

#[test]
fn bursts_have_their_share_and_their_length() {
    let lost = lost("burst_loss=1%/25%", 1, 64);
    // 1 / 26 of the frames; correlated losses deviate more than a binomial distribution.
    assert!((500..1050).contains(&lost.len()), "{}", lost.len());
    let ends = lost.windows(2).filter(|pair| pair[1] > pair[0] + 1).count() + 1;
    let mean = lost.len() as f64 / ends as f64;
    assert!((3.3..4.8).contains(&mean), "{mean}");
}

#[test]
fn bit_errors_lose_long_frames_more_often() {
    for octets in [64, 1514] {
        let bits = (octets as f64 + 4.0) * 8.0;
        let share = 1.0 - (1.0_f64 - 1e-5).powf(bits);
        assert_binomial(lost("bit_errors=1e-5", 1, octets).len(), 20_000, share);
    }
}

#[test]
fn corrupted_bits_equal_their_counter() {
    let frames = steady(2_000, 1_000, 1000);
    let mut corrupting = link("corrupt=1e-5");
    let (_, out) = run(&mut corrupting, &frames);
    let (mut bits, mut wrong) = (0, 0);
    for (delivered, (_, frame)) in out.iter().zip(&frames) {
        let pairs = delivered.frame.iter().zip(frame);
        let differ: u64 = pairs.map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
        bits += differ;
        wrong += u64::from(differ > 0);
    }
    let counts = corrupting.counts();
    assert_eq!(
        (counts.corrupted_bits, counts.corrupted_frames),
        (bits, wrong)
    );
    assert_binomial(bits as usize, 16_000_000, 1e-5);
    assert_eq!(counts.frames_out, 2_000);
}

#[test]
fn duplicates_follow_their_frames() {
    let mut link = link("duplicate=10%");
    let (fates, out) = run(&mut link, &steady(20_000, 1_000, 64));
    let copies = fates.iter().filter(|it| it.duplicate.is_some()).count();
    assert_binomial(copies, 20_000, 0.1);
    assert_eq!(link.counts().duplicated_frames, copies as u64);
    let twice = out.windows(2).filter(|pair| pair[0].frame == pair[1].frame);
    assert_eq!(twice.count(), copies);
}

#[test]
fn a_frame_is_held_back_until_the_set_number_has_passed() {
    let mut link = link("reorder=1%/3");
    let (_, out) = run(&mut link, &steady(20_000, 1_000_000, 64));
    let counts = link.counts();
    assert_binomial(counts.held_back_frames as usize, 20_000, 0.01);
    let mut extents = BTreeMap::new();
    for (at, late) in out.iter().enumerate() {
        // Reordering extent of RFC 4737: back to the first frame that should have been later.
        let first = out[..at].iter().rev().take(20).rev();
        let passed = first.filter(|it| it.number > late.number).count();
        *extents.entry(passed).or_insert(0_u64) += 1;
    }
    assert_eq!(
        extents.get(&3),
        Some(&counts.reordered_frames),
        "{extents:?}"
    );
    // Held-back frames pass each other, too; no frame passes the last ones.
    let held = counts.held_back_frames;
    assert!(counts.reordered_frames + 3 >= held, "{counts:?}");
    assert_eq!(extents.keys().max(), Some(&3), "{extents:?}");
}

#[test]
fn a_held_back_frame_without_successors_is_sent_after_the_timeout() {
    let mut link = link("reorder=50%/1");
    let (_, out) = run(&mut link, &steady(40, 10 * REORDER_TIMEOUT_NS, 64));
    let took: Vec<u64> = out.iter().map(|it| it.due_ns - it.arrival_ns).collect();
    assert!(
        took.contains(&0) && took.contains(&REORDER_TIMEOUT_NS),
        "{took:?}"
    );
    assert!(took.iter().all(|it| [0, REORDER_TIMEOUT_NS].contains(it)));
    assert_eq!(link.counts().reordered_frames, 0);
}

#[test]
fn an_additional_setting_does_not_change_which_frames_are_lost() {
    let alone = lost("loss=1%", 3, 64);
    assert_eq!(
        lost(
            "loss=1%,delay=1ms,jitter=1ms,reorder=1%,corrupt=1e-4",
            3,
            64
        ),
        alone
    );
    assert_ne!(lost("loss=1%", 4, 64), alone);
}

#[test]
fn the_first_frames_are_exempt_from_all_but_delay_rate_and_queue() {
    let all = "loss=100%,duplicate=100%,delay=1ms";
    let mut sparing = link(&format!("spare=7,{all}"));
    let (_, out) = run(&mut sparing, &steady(10, 1_000, 64));
    assert_eq!(out.len(), 7);
    assert!(out.iter().all(|it| it.due_ns - it.arrival_ns == 1_000_000));
    let counts = sparing.counts();
    assert_eq!(
        (counts.duplicated_frames, counts.lost_random_frames),
        (3, 6)
    );
    let mut sparing = link("spare=9000,corrupt=10%,reorder=50%,bit_errors=10%");
    let frames = steady(9_000, 1_000, 64);
    let (_, out) = run(&mut sparing, &frames);
    assert!(
        out.iter()
            .zip(&frames)
            .all(|(out, (_, frame))| out.frame == *frame)
    );
}

#[test]
fn frames_beyond_the_buffer_limit_are_lost() {
    let mut link = link("delay=60s");
    let octets = 8 << 20;
    let fits = MAX_BUFFERED_OCTETS / octets;
    let fates: Vec<FrameFates> = (0..=fits).map(|_| link.push(vec![0; octets], 0)).collect();
    assert_eq!(fates[fits].original, Fate::Lost(LossReason::BufferLimit));
    assert_eq!(link.counts().held_frames, fits as u64);
    let mut out = Vec::new();
    drain(&mut link, u64::MAX, &mut out);
    assert_eq!(out.len(), fits);
}

#[test]
fn invalid_settings_are_rejected() {
    let impairment = Impairment {
        loss: f64::NAN,
        ..Impairment::default()
    };
    assert!(ImpairedLink::new(impairment, 1).is_err());
}

prop_compose! {
    /// Gaps and octets.
    fn any_traffic()(
        traffic in proptest::collection::vec((0..300_000_u64, 14..1515_usize), 1..300),
    ) -> Vec<(u64, Vec<u8>)> {
        let mut now_ns = 0;
        let frame = |(gap_ns, octets): (u64, usize)| {
            now_ns += gap_ns;
            (now_ns, vec![octets as u8; octets])
        };
        traffic.into_iter().map(frame).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_frame_is_accounted_for(
        impairment in any_impairment(), traffic in any_traffic(), seed: u64, look_ns: u64,
    ) {
        let mut link = ImpairedLink::new(impairment, seed).expect("a link");
        for (now_ns, frame) in &traffic {
            link.push(frame.clone(), *now_ns);
        }
        // At any time, and at the end.
        for until_ns in [look_ns % 100_000_000, u64::MAX] {
            drain(&mut link, until_ns, &mut Vec::new());
            let it = link.counts();
            let in_all = it.frames_in + it.duplicated_frames;
            prop_assert_eq!(in_all, it.frames_out + it.lost_frames() + it.held_frames);
        }
        prop_assert_eq!(link.counts().frames_in, traffic.len() as u64);
        prop_assert_eq!(link.counts().held_frames, 0);
        prop_assert_eq!((link.held_octets, link.wake_at()), (0, None));
    }

    #[test]
    fn the_same_seed_gives_the_same_result(
        impairment in any_impairment(), traffic in any_traffic(), seed: u64,
    ) {
        let mut one = ImpairedLink::new(impairment.clone(), seed).expect("a link");
        let mut other = ImpairedLink::new(impairment, seed).expect("a link");
        prop_assert_eq!(run(&mut one, &traffic), run(&mut other, &traffic));
        prop_assert_eq!(one.counts(), other.counts());
    }

    #[test]
    fn fates_counters_and_output_agree(
        impairment in any_impairment(), traffic in any_traffic(), seed: u64,
    ) {
        let mut link = ImpairedLink::new(impairment, seed).expect("a link");
        let (fates, out) = run(&mut link, &traffic);
        let fates = fates.iter().flat_map(|it| [Some(it.original), it.duplicate]).flatten();
        let (lost, passed): (Vec<Fate>, _) = fates.partition(|it| matches!(it, Fate::Lost(_)));
        prop_assert_eq!(lost.len() as u64, link.counts().lost_frames());
        let mut numbers: Vec<u64> = out.iter().map(|it| it.number).collect();
        let mut newest = None;
        let behind = numbers.iter().filter(|it| {
            let is_behind = newest.is_some_and(|newest| **it < newest);
            newest = newest.max(Some(**it));
            is_behind
        });
        prop_assert_eq!(behind.count() as u64, link.counts().reordered_frames);
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..passed.len() as u64).collect::<Vec<_>>());
        prop_assert!(out.windows(2).all(|pair| pair[0].due_ns <= pair[1].due_ns));
        prop_assert!(out.iter().all(|it| it.due_ns >= it.arrival_ns));
    }

    #[test]
    fn the_rate_is_never_exceeded(
        impairment in any_impairment(), traffic in any_traffic(), rate in 100_000..10_000_000_000_u64,
    ) {
        // Jitter and reordering apply after the link and move frames closer together.
        let impairment = Impairment {
            rate_bits_per_s: Some(rate), jitter_ns: 0, reorder: None, ..impairment
        };
        let mut link = ImpairedLink::new(impairment, 1).expect("a link");
        let (_, out) = run(&mut link, &traffic);
        for pair in out.windows(2) {
            let gap_ns = pair[1].due_ns - pair[0].due_ns;
            // The gap is rounded down to nanoseconds.
            prop_assert!(gap_ns + 1 >= occupancy_ns(pair[1].frame.len(), rate));
        }
    }

    #[test]
    fn order_is_kept_unless_a_setting_changes_it(
        impairment in any_impairment(), traffic in any_traffic(), seed: u64,
    ) {
        let impairment = Impairment { overtake: false, reorder: None, ..impairment };
        let mut link = ImpairedLink::new(impairment, seed).expect("a link");
        let (_, out) = run(&mut link, &traffic);
        prop_assert!(out.windows(2).all(|pair| pair[0].number < pair[1].number));
        prop_assert_eq!(link.counts().reordered_frames, 0);
    }

    #[test]
    fn late_polling_loses_nothing_and_keeps_due_times(
        impairment in any_impairment(), traffic in any_traffic(), seed: u64,
    ) {
        let mut punctual = ImpairedLink::new(impairment.clone(), seed).expect("a link");
        let (_, expected) = run(&mut punctual, &traffic);
        let mut late = ImpairedLink::new(impairment, seed).expect("a link");
        for (now_ns, frame) in &traffic {
            late.push(frame.clone(), *now_ns);
        }
        let out: Vec<Delivered> = std::iter::from_fn(|| late.pop(u64::MAX)).collect();
        prop_assert_eq!(out, expected);
    }
}
