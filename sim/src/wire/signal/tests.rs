//! Levels, edges, and the line's impairments.

use super::*;
use crate::wire::config::Noise;
use proptest::prelude::*;

fn signal(impairments: Impairments) -> Signal {
    Signal::new(&impairments, 5)
}

fn clean() -> Signal {
    signal(Impairments::default())
}

#[test]
fn half_bits_last_50_ns_and_the_line_is_low_outside() {
    let mut signal = clean();
    signal.send(Instant::from_ns(1000), vec![0b1011], 4);
    let levels: Vec<_> = (0..6)
        .map(|index| signal.level(Instant::from_ns(950 + 50 * index)))
        .collect();
    assert_eq!(levels, [false, true, true, false, true, false]);
    assert!(!signal.level(Instant::from_ns(999_999)));
}

#[test]
fn the_edges_of_the_last_transmission_are_known() {
    let mut signal = clean();
    assert_eq!(signal.last_edges().count(), 0);
    signal.send(Instant::from_ns(1000), vec![0b1101], 4);
    let edges: Vec<_> = signal
        .last_edges()
        .map(|(at, level)| (at.as_ns(), level))
        .collect();
    assert_eq!(
        edges,
        [(1000, true), (1050, false), (1100, true), (1200, false)]
    );
}

#[test]
fn edges_are_found_ahead() {
    let mut signal = clean();
    assert_eq!(signal.next_edge(Instant::ZERO), Instant::NEVER);
    signal.send(Instant::from_ns(1000), vec![0b1100], 4);
    signal.send(Instant::from_ns(5000), vec![0b1], 1);
    let mut at = Instant::ZERO;
    let mut edges = Vec::new();
    while at != Instant::NEVER {
        at = signal.next_edge(at);
        edges.push(at);
    }
    let expected = [1100, 1200, 5000, 5050].map(Instant::from_ns);
    assert_eq!(edges, [&expected[..], &[Instant::NEVER]].concat());
}

#[test]
fn a_tail_can_be_replaced_while_it_is_sent() {
    let mut signal = clean();
    signal.send(Instant::ZERO, vec![u64::MAX], 64);
    assert!(signal.level(Instant::from_ns(120)));
    signal.replace_tail(4, HalfBits::new(&[0b010]).slice(0, 3));
    let levels: Vec<_> = (3..8)
        .map(|index| signal.level(Instant::from_ns(50 * index)))
        .collect();
    assert_eq!(levels, [true, false, true, false, false]);
}

/// Every edge that arrives, with its position on a line without displacement.
fn edges(impairments: Impairments, half_bits: usize) -> Vec<(f64, f64, bool)> {
    let mut random = crate::random::Random::new(11);
    let words: Vec<_> = (0..half_bits.div_ceil(64))
        .map(|_| random.next_u64())
        .collect();
    let mut line = signal(impairments);
    let start = line.send(Instant::from_ns(1000), words.clone(), half_bits);
    let mut plain = clean();
    plain.send(start, words, half_bits);
    let mut at = Instant::ZERO;
    let mut from_reading = Vec::new();
    while line.next_edge(at) != Instant::NEVER {
        at = line.next_edge(at);
        from_reading.push((at, line.level(at)));
    }
    let kept: Vec<_> = line.last_edges().collect();
    assert_eq!(kept, from_reading, "edges as kept and as read");
    let nominal: Vec<_> = plain.last_edges().collect();
    assert_eq!(nominal.len(), kept.len(), "none is lost, none is made up");
    let ns = |at: Instant| at.ticks() as f64 / 12.0;
    core::iter::zip(kept, nominal)
        .map(|((at, level), (place, expected))| {
            assert_eq!(level, expected);
            (ns(at), ns(place), level)
        })
        .collect()
}

fn displacements(impairments: Impairments) -> Vec<(f64, bool)> {
    let edges = edges(impairments, 50_000).into_iter();
    edges
        .map(|(at, place, level)| (at - place, level))
        .collect()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

#[test]
fn jitter_is_uniform_within_its_bound_and_independent_from_edge_to_edge() {
    for bound in [3.5, 13.5, 20.0] {
        let jitter = displacements(Impairments {
            jitter_ns: bound,
            ..Impairments::default()
        });
        let jitter: Vec<_> = jitter.into_iter().map(|(off, _)| off).collect();
        let n = jitter.len() as f64;
        assert!(n > 20_000.0);
        let most = jitter
            .iter()
            .fold(0.0, |most: f64, off| most.max(off.abs()));
        assert!(most <= bound && most > bound - 0.1, "{most} of {bound}");
        assert!(mean(jitter.iter().copied()).abs() < 4.0 * bound / (3.0 * n).sqrt());
        // The variance of a uniform distribution is a third of the square of its half width.
        let variance = mean(jitter.iter().map(|off| off * off)) / (bound * bound);
        assert!((0.32..0.347).contains(&variance), "{variance}");
        let mut bins = [0; 10];
        for off in &jitter {
            bins[((off / bound + 1.0) * 4.9999) as usize] += 1;
        }
        let even = |&count: &i32| (f64::from(count) / n - 0.1).abs() < 0.01;
        assert!(bins.iter().all(even), "{bins:?}");
        for lag in [1, 2, 3, 4, 5, 8] {
            let products = core::iter::zip(&jitter, &jitter[lag..]).map(|(a, b)| a * b);
            let correlation = mean(products) / (bound * bound / 3.0);
            assert!(correlation.abs() < 0.03, "{correlation} at {lag}");
        }
    }
}

#[test]
fn distortion_moves_rising_edges_one_way_and_falling_ones_the_other() {
    for distortion in [13.5, -13.5] {
        let moved = displacements(Impairments {
            duty_cycle_distortion_ns: distortion,
            ..Impairments::default()
        });
        for (off, rising) in moved {
            let expected = if rising { -distortion } else { distortion } / 2.0;
            assert!((off - expected).abs() < 0.1, "{off} is not {expected}");
        }
    }
    let both = displacements(Impairments {
        duty_cycle_distortion_ns: 13.5,
        jitter_ns: 6.75,
        ..Impairments::default()
    });
    let most = both
        .iter()
        .fold(0.0, |most: f64, (off, _)| most.max(off.abs()));
    assert!((13.4..=13.5).contains(&most), "{most}");
}

#[test]
fn a_clock_has_the_configured_offset() {
    for ppm in [-100.0, 100.0, 12.5] {
        let edges = edges(
            Impairments {
                clock_ppm: ppm,
                ..Impairments::default()
            },
            50_000,
        );
        let (first, last) = (edges[0], edges[edges.len() - 1]);
        let took = (last.0 - first.0) / (last.1 - first.1);
        assert!(((1.0 - took) * 1e6 - ppm).abs() < 0.1, "{took} {ppm}");
    }
}

#[test]
fn a_drifting_clock_moves_up_and_down_between_its_bounds() {
    let clock = LineClock::new(&Impairments {
        clock_ppm: 40.0,
        drift_ppm_per_s: 50.0,
        ..Impairments::default()
    });
    let at = |s: f64| clock.offset_ppm(Instant::from_ns((s * 1e9) as u64));
    for (s, ppm) in [
        (0.0, 40.0),
        (1.0, 90.0),
        (1.2, 100.0),
        (2.2, 50.0),
        (5.2, -100.0),
        (6.2, -50.0),
    ] {
        assert!((at(s) - ppm).abs() < 0.01, "{} at {s}", at(s));
    }
}

#[test]
fn the_phase_of_a_transmission_is_uniformly_distributed() {
    let mut line = signal(Impairments {
        jitter_ns: 1.0,
        ..Impairments::default()
    });
    let mut quarters = [0; 4];
    for frame in 1..=4000 {
        let sent = Instant::from_ns(frame * 20_000);
        let start = line.send(sent, vec![1], 1);
        let phase = start.since(sent).ticks();
        assert!((12..12 + 600).contains(&phase), "{phase}");
        quarters[((phase - 12) / 150) as usize] += 1;
    }
    assert!(
        quarters.iter().all(|&count| (900..1100).contains(&count)),
        "{quarters:?}"
    );
}

#[test]
fn noise_pulses_have_their_rate_and_width_on_an_idle_line_and_invert_a_busy_one() {
    let noise = Noise {
        pulses_per_s: 10_000.0,
        width_ns: 20.0,
    };
    let impairments = Impairments {
        noise,
        ..Impairments::default()
    };
    let mut line = signal(impairments);
    let mut at = Instant::ZERO;
    let mut pulses = Vec::new();
    loop {
        let rise = line.next_edge(at);
        assert!(line.level(rise));
        at = line.next_edge(rise);
        assert!(!line.level(at));
        assert_eq!(at.since(rise), Span::from_ns(20));
        if rise > Instant::from_ns(1_000_000_000) {
            break;
        }
        pulses.push(rise);
    }
    assert_eq!(pulses.len(), 10_000);
    let busy = 64 * 2000;
    let mut line = signal(impairments);
    line.send(
        Instant::from_ns(50_000),
        vec![0x5A5A_A5A5_9669_6699; 2000],
        busy,
    );
    let mut quiet = clean();
    quiet.send(
        Instant::from_ns(50_000),
        vec![0x5A5A_A5A5_9669_6699; 2000],
        busy,
    );
    let span = 64 * 2000 * 50 + 100_000;
    let differ = (0..span / 5)
        .map(|step| Instant::from_ns(step * 5))
        .filter(|&at| line.level(at) != quiet.level(at))
        .count() as u64;
    let pulses = pulses.iter().filter(|at| at.as_ns() < span).count() as u64;
    assert_eq!(differ, pulses * 4, "20 ns in steps of 5");
    let (from, to) = (Instant::ZERO, Instant::from_ns(span));
    assert!(line.is_noisy(from, to) && !quiet.is_noisy(from, to));
}

#[test]
fn the_seed_determines_everything() {
    let impairments = Impairments {
        clock_ppm: 50.0,
        jitter_ns: 13.5,
        noise: Noise {
            pulses_per_s: 50_000.0,
            width_ns: 15.0,
        },
        ..Impairments::default()
    };
    let read = |seed| {
        let mut line = Signal::new(&impairments, seed);
        line.send(
            Instant::from_ns(500),
            vec![0x6996_6996_6699_6969; 100],
            6400,
        );
        let mut at = Instant::ZERO;
        (0..3000)
            .map(|_| {
                at = line.next_edge(at);
                at
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(read(1), read(1));
    assert_ne!(read(1), read(2));
}

proptest! {
    /// Reading in any steps, also slightly backwards, gives the level defined by the edges; edges are
    /// where the level changes.
    #[test]
    fn samples_and_edges_agree_with_each_other(
        words in proptest::collection::vec(any::<u64>(), 1..4),
        short in 0..64_usize,
        ppm in -200..200_i32,
        jitter_ns in 0..16_u8,
        distortion_ns in -14..14_i8,
        noisy in any::<bool>(),
        steps in proptest::collection::vec(-200..3000_i64, 1..300),
    ) {
        let impairments = Impairments {
            clock_ppm: ppm.into(),
            jitter_ns: jitter_ns.into(),
            duty_cycle_distortion_ns: distortion_ns.into(),
            noise: Noise { pulses_per_s: if noisy { 300_000.0 } else { 0.0 }, width_ns: 40.0 },
            ..Impairments::default()
        };
        let mut line = signal(impairments);
        let len = words.len() * 64 - short;
        line.send(Instant::from_ticks(7777), words.clone(), len);
        let sent: Vec<_> = line.last_edges().collect();
        line.pulse(Instant::from_ns(13_000), Span::from_ns(30));
        let pulse = 156_000..156_360_u64;
        let noise = NoisePulses::new(&impairments, 5_u64.rotate_left(17));
        let expected = |at: u64| {
            let last = sent.iter().rfind(|(edge, _)| edge.ticks() <= at);
            last.is_some_and(|&(_, level)| level)
                ^ pulse.contains(&at)
                ^ noise.is_some_and(|noise| noise.is_on(at))
        };
        let mut at = 7000_u64;
        for step in steps {
            at = at.saturating_add_signed(step);
            let level = line.level(Instant::from_ticks(at));
            prop_assert_eq!(level, expected(at), "at {}", at);
            let edge = line.next_edge(Instant::from_ticks(at)).ticks();
            if edge == u64::MAX {
                prop_assert!(!level);
            } else {
                prop_assert!(edge > at);
                prop_assert_eq!(expected(edge - 1), level);
                if expected(edge) == level {
                    // Two edges at the same time.
                    prop_assert!(noisy);
                }
            }
        }
    }
}
