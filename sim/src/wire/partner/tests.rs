//! Two partners against each other, and the timing of what they send.

use super::*;
use crate::wire::config::{Abilities, Ability, Flap, Impairments};

fn config(advertise: &[Ability]) -> Config {
    Config {
        duplex: Duplex::Auto,
        partner: Partner {
            advertise: Abilities::from(advertise),
            ..Partner::default()
        },
        ..Config::default()
    }
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

/// Two ends of a cable, and the pulses sent by each.
struct Pair {
    ends: [LinkPartner; 2],
    sent: [Vec<Instant>; 2],
    now: Instant,
    cut: bool,
}

impl Pair {
    fn new(left: Config, right: Config) -> Self {
        Self {
            ends: [LinkPartner::new(&left), LinkPartner::new(&right)],
            sent: [Vec::new(), Vec::new()],
            now: Instant::ZERO,
            cut: false,
        }
    }

    fn run(&mut self, until: Instant) {
        loop {
            let next = self.ends.iter().map(|end| end.deadline(false)).min();
            let at = next.unwrap_or(Instant::NEVER).max(self.now);
            if at > until {
                self.now = until;
                return;
            }
            for end in 0..2 {
                if self.ends[end].poll(at, false) {
                    self.sent[end].push(at);
                    if !self.cut {
                        self.ends[1 - end].pulse_received(at + Span::from_ns(50));
                    }
                }
            }
            self.now = at + Span::from_ns(100);
        }
    }

    fn outcome(&self) -> [(bool, Duplex, Resolution); 2] {
        [0, 1].map(|end| {
            let report = self.ends[end].report();
            (report.up, report.duplex, report.resolution)
        })
    }
}

#[test]
fn two_that_negotiate_resolve_to_the_best_common_ability() {
    use Ability::{HundredFull, TenFull, TenHalf};
    for (left, right, duplex) in [
        (&[TenHalf][..], &[TenHalf][..], Duplex::Half),
        (&[TenHalf, TenFull], &[TenHalf], Duplex::Half),
        (
            &[TenHalf, TenFull],
            &[TenFull, TenHalf, HundredFull],
            Duplex::Full,
        ),
        (&[TenFull], &[TenFull], Duplex::Full),
    ] {
        let mut pair = Pair::new(config(left), config(right));
        pair.run(ms(1000));
        let up = (true, duplex, Resolution::AutoNegotiation);
        assert_eq!(pair.outcome(), [up, up], "{left:?} {right:?}");
        let device_word = pair.ends[0].report().device_word.expect("an offer");
        let offered = Abilities::from(right);
        assert_eq!(device_word, LinkCodeWord::base_page(offered.bits()));
    }
}

#[test]
fn with_nothing_in_common_the_link_stays_down_and_both_try_again() {
    let mut pair = Pair::new(
        config(&[Ability::TenHalf]),
        config(&[Ability::HundredHalf, Ability::HundredFull]),
    );
    pair.run(ms(6000));
    for end in &pair.ends {
        let report = end.report();
        assert_eq!((report.up, report.ups), (false, 0));
    }
    let pauses = pair.sent[0].windows(2).map(|pair| pair[1].since(pair[0]));
    let silent = pauses.filter(|pause| *pause >= Span::from_ms(1200)).count();
    assert!(silent >= 2, "{silent}");
}

#[test]
fn a_device_that_sends_only_link_pulses_is_found_by_parallel_detection() {
    let mut pair = Pair::new(config(&[Ability::TenHalf, Ability::TenFull]), config(&[]));
    pair.run(ms(2000));
    let report = pair.ends[0].report();
    let expected = (true, Duplex::Half, Resolution::ParallelDetection);
    assert_eq!((report.up, report.duplex, report.resolution), expected);
    assert_eq!(report.device_word, None);
    let mut hundred = Pair::new(config(&[Ability::HundredFull]), config(&[]));
    hundred.run(ms(5000));
    assert_eq!(hundred.ends[0].report().ups, 0);
}

#[test]
fn a_silent_device_gives_no_link() {
    let mut silent = config(&[]);
    silent.partner.pulses = Some(Pulses::None);
    let mut pair = Pair::new(config(&[Ability::TenHalf]), silent);
    pair.run(ms(3000));
    assert_eq!(pair.sent[1], []);
    assert_eq!(pair.ends[0].report().ups, 0);
}

#[test]
fn a_partner_that_tests_its_link_and_sends_no_pulse_has_no_link() {
    let mut silent = config(&[]);
    silent.partner.pulses = Some(Pulses::None);
    silent.partner.link_test = Some(true);
    let mut pulsing = silent;
    pulsing.partner.pulses = Some(Pulses::Nlp);
    for (end, up) in [(silent, false), (pulsing, true)] {
        let mut pair = Pair::new(config(&[]), end);
        pair.run(ms(1000));
        assert_eq!(pair.ends[1].report().up, up, "{:?}", end.partner.pulses);
    }
}

#[test]
fn a_fault_at_one_end_is_reported_to_the_other() {
    let mut faulty = config(&[Ability::TenHalf]);
    faulty.partner.remote_fault = true;
    let mut pair = Pair::new(config(&[Ability::TenHalf]), faulty);
    pair.run(ms(1000));
    let device_word = pair.ends[0].report().device_word.expect("an offer");
    assert!(device_word.has(LinkCodeWord::REMOTE_FAULT));
    assert!(pair.ends[0].report().up);
}

#[test]
fn an_unplugged_cable_is_detected_in_time_and_the_link_negotiated_again() {
    let both = [Ability::TenHalf, Ability::TenFull];
    let mut pair = Pair::new(config(&both), config(&both));
    pair.run(ms(1000));
    assert!(pair.ends[0].report().up);
    pair.cut = true;
    pair.run(ms(1030));
    assert!(pair.ends[0].report().up, "too early");
    pair.run(ms(1160));
    assert!(!pair.ends[0].report().up && !pair.ends[1].report().up);
    pair.cut = false;
    pair.run(ms(4000));
    let report = pair.ends[0].report();
    assert_eq!((report.up, report.ups, report.downs), (true, 2, 1));
    assert_eq!(report.duplex, Duplex::Full);
}

#[test]
fn a_forced_duplex_mode_is_kept() {
    let mut forced = config(&[Ability::TenHalf]);
    forced.duplex = Duplex::Full;
    let mut pair = Pair::new(forced, config(&[Ability::TenHalf]));
    pair.run(ms(1000));
    let report = pair.ends[0].report();
    assert_eq!((report.up, report.duplex), (true, Duplex::Full));
}

#[test]
fn without_a_link_test_the_link_is_up_from_the_start() {
    let mut partner = LinkPartner::new(&config(&[]));
    partner.poll(ms(500), false);
    assert!(partner.report().up);
    let flapping = Config {
        impairments: Impairments {
            flap: Flap {
                every_ms: 1000,
                down_ms: 200,
            },
            ..Impairments::default()
        },
        ..config(&[])
    };
    let mut partner = LinkPartner::new(&flapping);
    assert!(!partner.report().up);
    partner.frame_received(ms(600));
    assert!(partner.report().up);
    partner.poll(ms(699), false);
    assert!(partner.report().up);
    partner.poll(ms(700), false);
    assert!(!partner.report().up);
}

#[test]
fn bursts_have_the_standard_s_timing() {
    let mut pair = Pair::new(config(&[Ability::TenHalf]), config(&[Ability::TenHalf]));
    pair.run(ms(1000));
    let mut bursts: Vec<Vec<Instant>> = Vec::new();
    for &pulse in &pair.sent[0] {
        match bursts.last_mut() {
            Some(burst) if pulse.since(burst[0]) < Span::from_ms(3) => burst.push(pulse),
            _ => bursts.push(vec![pulse]),
        }
    }
    for pair in bursts.windows(2) {
        let apart = pair[1][0].since(pair[0][0]);
        assert!(
            apart >= Span::from_ms(8) && apart <= Span::from_ms(24),
            "{apart:?}"
        );
    }
    let (flp, nlp): (Vec<_>, Vec<_>) = bursts.into_iter().partition(|burst| burst.len() > 1);
    assert!(nlp.len() > 10);
    let mut acknowledging = 0;
    for burst in &flp {
        let mut receiver = LinkReceiver::new();
        let events: Vec<_> = burst
            .iter()
            .filter_map(|pulse| receiver.on_pulse(pulse.as_ns()))
            .collect();
        let [LinkEvent::Burst(word)] = events[..] else {
            panic!("{events:?}");
        };
        acknowledging += u32::from(word.has(LinkCodeWord::ACKNOWLEDGE));
        assert_eq!(word.0 & !LinkCodeWord::ACKNOWLEDGE, 0x0021);
        assert_eq!(burst.last().unwrap().since(burst[0]), Span::from_ms(2));
    }
    // Until three of the other end were received, then six to eight more.
    assert!((8..=13).contains(&acknowledging), "{acknowledging}");
}
