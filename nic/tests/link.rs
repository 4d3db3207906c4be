//! Two ends of a cable: auto-negotiation and the link integrity test with partners of all kinds.
#![cfg(not(loom))]

use linerate_ether::phy10::link::{LinkCodeWord as Word, LinkEvent};
use linerate_nic::device::LinkState;
use linerate_nic::link::{
    Abilities, Duplex, EstablishedBy, Integrity, Jabber, Link, LinkFault, Mode, Polarity, Pulse,
    Sense, Status,
};
use linerate_nic::mac::BitTimes;

const MS: u32 = 10_000;

/// One end: a link and its pulse timer.
struct End {
    link: Link,
    due: u64,
    /// Time and status of each change.
    changes: Vec<(u64, Status)>,
    sent: Vec<(u64, Pulse)>,
}

impl End {
    fn new(mode: Mode, first_timer: u64) -> Self {
        Self {
            link: Link::new(mode),
            due: first_timer,
            changes: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn status(&self) -> Status {
        self.link.status()
    }

    /// The time, in milliseconds, of the first change to this state.
    fn reached(&self, state: LinkState) -> Option<u64> {
        let change = self
            .changes
            .iter()
            .find(|(_, status)| status.state == state);
        change.map(|&(at, _)| at / u64::from(MS))
    }

    fn note(&mut self, at: u64) {
        if let Some(status) = self.link.take_change() {
            self.changes.push((at, status));
        }
    }

    /// Runs the timer that is due; returns `true` if a pulse is sent.
    fn timer(&mut self) -> bool {
        let now = self.due;
        let due = self.link.on_timer(BitTimes(now as u32), None);
        self.due += u64::from(due.next.0);
        self.note(now);
        self.sent.extend(due.pulse.map(|pulse| (now, pulse)));
        due.pulse.is_some()
    }

    fn receive(&mut self, at: u64) -> Option<LinkEvent> {
        let event = self.link.on_pulse(BitTimes(at as u32));
        self.note(at);
        event
    }
}

/// Runs both ends up to `until` ms; `connected` returns whether the cable is plugged in.
fn run(here: &mut End, there: &mut End, until_ms: u64, connected: impl Fn(u64) -> bool) {
    run_to(here, there, until_ms * u64::from(MS), connected);
}

fn run_to(here: &mut End, there: &mut End, until: u64, connected: impl Fn(u64) -> bool) {
    while here.due.min(there.due) < until {
        let (sender, receiver) = if here.due <= there.due {
            (&mut *here, &mut *there)
        } else {
            (&mut *there, &mut *here)
        };
        let at = sender.due;
        if sender.timer() && connected(at / u64::from(MS)) {
            receiver.receive(at);
        }
    }
}

fn negotiate(ours: u16, theirs: u16) -> (End, End) {
    // The clock of both wraps soon.
    let start = u64::from(u32::MAX) - 8_000_000;
    let mut here = End::new(Mode::Negotiate(ours), start);
    let mut there = End::new(Mode::Negotiate(theirs), start + 3_001_234);
    run(&mut here, &mut there, start / u64::from(MS) + 4_000, |_| {
        true
    });
    (here, there)
}

#[test]
fn two_stations_resolve_their_common_mode() {
    let half = Word::TEN_HALF;
    let full = Word::TEN_FULL;
    let hundred = Word::HUNDRED_HALF | Word::HUNDRED_FULL;
    for (ours, theirs, duplex) in [
        (half, half, Duplex::Half),
        (half, half | full | hundred, Duplex::Half),
        (half | full, half | full | Word::PAUSE, Duplex::Full),
        (half | full, half, Duplex::Half),
    ] {
        let (here, there) = negotiate(ours, theirs);
        for (end, partner) in [(&here, theirs), (&there, ours)] {
            assert_eq!(
                end.status(),
                Status {
                    state: LinkState::Up,
                    duplex,
                    established_by: EstablishedBy::Negotiation,
                    partner: Some(Word::base_page(partner)),
                    fault: None,
                },
                "{ours:#x} {theirs:#x}"
            );
            // Once up, it stays up.
            let ups = end.changes.iter().filter(|(_, s)| s.state == LinkState::Up);
            assert_eq!(ups.count(), 1);
        }
    }
}

#[test]
fn an_established_link_has_plain_link_pulses_every_16_ms() {
    let (here, _) = negotiate(Word::TEN_HALF, Word::TEN_HALF);
    let (up, _) = *here.changes.last().unwrap();
    let after: Vec<_> = here.sent.iter().filter(|&&(at, _)| at > up).collect();
    assert!(after.len() > 20);
    for pair in after.windows(2) {
        assert_eq!(*pair[0], (pair[1].0 - 160_000, Pulse::Normal));
    }
}

#[test]
fn a_burst_is_17_clock_pulses_and_data_pulses_for_ones() {
    let mut end = End::new(Mode::Negotiate(Word::TEN_HALF), 0);
    while end.due < u64::from(1_300 * MS) {
        end.timer();
    }
    let (first, _) = end.sent[0];
    assert!((1_250..1_290).contains(&(first / u64::from(MS))), "{first}");
    let word = Word::base_page(Word::TEN_HALF);
    let expected: Vec<_> = word.pulses_ns().map(|ns| ns / 100).collect();
    let burst: Vec<_> = end.sent.iter().map(|&(at, _)| at - first).collect();
    assert_eq!(burst[..expected.len()], expected);
    assert_eq!(end.sent[expected.len() - 1].1, Pulse::Last);
    assert_eq!(burst[expected.len()], 160_000);
}

#[test]
fn a_delayed_burst_is_aborted() {
    let mut link = Link::new(Mode::Negotiate(Word::TEN_HALF));
    let mut now = 0;
    loop {
        let due = link.on_timer(BitTimes(now), None);
        if due.pulse.is_some() {
            break;
        }
        now += due.next.0;
    }
    let first = now;
    now += 625;
    assert_eq!(link.on_timer(BitTimes(now), None).pulse, Some(Pulse::Burst));
    // The third pulse is due at 1250 bit times, but a frame is being received.
    let due = link.on_timer(BitTimes(first + 9_000), None);
    assert_eq!((due.pulse, due.next.0), (None, 160_000 - 1_250));
    let due = link.on_timer(BitTimes(first + 160_000), None);
    assert_eq!(due.pulse, Some(Pulse::Burst));
}

#[test]
fn a_partner_that_only_sends_link_pulses_gets_half_duplex() {
    let mut here = End::new(Mode::Negotiate(Word::TEN_HALF | Word::TEN_FULL), 0);
    let mut there = End::new(Mode::Forced(Duplex::Half), 50_000);
    run(&mut here, &mut there, 4_000, |_| true);
    let status = here.status();
    assert_eq!(
        (
            status.state,
            status.established_by,
            status.duplex,
            status.partner
        ),
        (
            LinkState::Up,
            EstablishedBy::ParallelDetection,
            Duplex::Half,
            None
        )
    );
    assert_eq!(there.status().state, LinkState::Up);
    // 1.25 s of silence, three pulses, 0.51 s of watching.
    let up = here.reached(LinkState::Up).unwrap();
    assert!((1_760..1_900).contains(&up), "{up}");
}

#[test]
fn without_a_partner_there_is_no_link() {
    for mode in [Mode::Negotiate(Word::TEN_HALF), Mode::Forced(Duplex::Half)] {
        let mut here = End::new(mode, 0);
        while here.due < u64::from(10_000 * MS) {
            here.timer();
        }
        assert_eq!(here.status().state, LinkState::Down);
        assert!(here.changes.is_empty());
    }
}

#[test]
fn a_partner_with_100base_tx_only_leaves_the_link_down_and_is_reported_once() {
    let (here, there) = negotiate(Word::TEN_HALF, Word::HUNDRED_FULL | Word::HUNDRED_HALF);
    for end in [&here, &there] {
        assert_eq!(end.status().state, LinkState::Down);
        assert_eq!(end.status().fault, Some(LinkFault::NothingInCommon));
    }
    let named = here.changes.iter().filter(|(_, s)| s.fault.is_some());
    assert_eq!(named.count(), 1, "{:?}", here.changes);
    let partner = here.status().partner.unwrap();
    let named = format!("{}", Abilities(partner));
    assert_eq!(named, "100BASE-TX half, 100BASE-TX full");
}

#[test]
fn a_remote_fault_is_reported_and_the_link_comes_up() {
    let theirs = Word::TEN_HALF | Word::REMOTE_FAULT;
    let (here, there) = negotiate(Word::TEN_HALF, theirs);
    assert_eq!(here.status().fault, Some(LinkFault::Remote));
    assert_eq!(here.status().state, LinkState::Up);
    assert_eq!(there.status().fault, None);
}

#[test]
fn a_cable_that_is_pulled_brings_the_link_down_and_back_up() {
    let ten = Mode::Negotiate(Word::TEN_HALF);
    for (ours, theirs, by) in [
        (ten, ten, EstablishedBy::Negotiation),
        (
            ten,
            Mode::Forced(Duplex::Half),
            EstablishedBy::ParallelDetection,
        ),
        (Mode::Forced(Duplex::Half), ten, EstablishedBy::Forced),
    ] {
        let mut here = End::new(ours, 0);
        let mut there = End::new(theirs, 77_777);
        run(&mut here, &mut there, 10_000, |ms| {
            !(4_000..4_500).contains(&ms)
        });
        let mut changes: Vec<_> = here
            .changes
            .iter()
            .map(|&(at, status)| (at / u64::from(MS), status.state))
            .collect();
        changes.dedup_by_key(|change| change.1);
        let from = usize::from(changes[0].1 == LinkState::Down);
        let changes = &changes[from..];
        let states: Vec<_> = changes.iter().map(|change| change.1).collect();
        assert_eq!(
            states,
            [LinkState::Up, LinkState::Down, LinkState::Up],
            "{changes:?}"
        );
        let down = changes[1].0;
        assert!((4_030..4_170).contains(&down), "{changes:?}");
        assert_eq!(here.status().established_by, by);
        assert_eq!(there.status().state, LinkState::Up);
    }
}

#[test]
fn a_forced_link_accepts_bursts_as_pulses_and_is_detected_by_the_partner() {
    let mut here = End::new(Mode::Forced(Duplex::Half), 0);
    let mut there = End::new(Mode::Negotiate(Word::TEN_HALF | Word::HUNDRED_FULL), 1_000);
    run(&mut here, &mut there, 4_000, |_| true);
    assert_eq!(here.status().state, LinkState::Up);
    assert_eq!(here.status().established_by, EstablishedBy::Forced);
    assert_eq!(
        there.status().established_by,
        EstablishedBy::ParallelDetection
    );
    assert_eq!(there.status().state, LinkState::Up);
}

#[test]
fn noise_on_the_pair_delays_a_negotiation_but_does_not_break_it() {
    let mut here = End::new(Mode::Negotiate(Word::TEN_HALF), 0);
    let mut there = End::new(Mode::Negotiate(Word::TEN_HALF | Word::TEN_FULL), 3_333);
    let mut noise = 0_u64;
    for step in 0..500 {
        // About one burst in five is affected.
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = step * 100_000 + (noise >> 40) % 100_000;
        run_to(&mut here, &mut there, at, |_| true);
        if at < 40_000_000 {
            here.receive(at);
        }
    }
    assert_eq!(here.status().state, LinkState::Up);
    assert_eq!(here.status().established_by, EstablishedBy::Negotiation);
    assert_eq!(here.status().duplex, Duplex::Half);
}

#[test]
fn a_frame_keeps_a_link_up_without_pulses() {
    let mut link = Link::new(Mode::Forced(Duplex::Full));
    link.on_frame(BitTimes(5));
    assert_eq!(link.state(), LinkState::Up);
    assert_eq!(link.status().duplex, Duplex::Full);
    for n in 1..100 {
        link.on_timer(BitTimes(n * 16 * MS), None);
        if n % 5 == 0 {
            link.on_frame(BitTimes(n * 16 * MS + 1));
        }
        assert_eq!(link.state(), LinkState::Up);
    }
    link.on_timer(BitTimes(2_000 * MS), None);
    assert_eq!(link.state(), LinkState::Down);
}

#[test]
fn pulses_that_all_arrive_while_the_station_sends_keep_a_link_up() {
    // A frame every 4 ms, in step with the partner's pulses every 16 ms.
    for mode in [Mode::Forced(Duplex::Half), Mode::Negotiate(Word::TEN_HALF)] {
        let mut here = End::new(mode, 100);
        let mut there = End::new(mode, 57_321);
        run(&mut here, &mut there, 2_000, |_| true);
        assert_eq!(here.status().state, LinkState::Up);
        let mut received = here.due;
        let pulled = here.due + 10_000 * u64::from(MS);
        while here.status().state == LinkState::Up {
            let now = here.due;
            assert!(now < pulled + 150 * u64::from(MS));
            if received <= now && received < pulled {
                received += 16 * u64::from(MS);
                here.link.on_activity_while_sending(BitTimes(now as u32));
            }
            here.timer();
        }
        // Not before link_loss_timer allows it, 50 to 150 ms.
        assert!(here.due > pulled + 50 * u64::from(MS));
    }
}

#[test]
fn activity_while_the_station_sends_does_not_bring_a_link_up() {
    for mode in [Mode::Forced(Duplex::Half), Mode::Negotiate(Word::TEN_HALF)] {
        let mut link = Link::new(mode);
        for n in 1..1_000 {
            link.on_activity_while_sending(BitTimes(n * 16 * MS));
            link.on_timer(BitTimes(n * 16 * MS), None);
            assert_eq!(link.state(), LinkState::Down, "{n}");
        }
    }
}

#[test]
fn a_packet_replaces_a_link_pulse() {
    let mut link = Link::new(Mode::Forced(Duplex::Half));
    let at = |ms: u32| BitTimes(ms * MS);
    let due = link.on_timer(at(16), Some(at(15)));
    assert_eq!((due.pulse, due.next), (None, at(15)));
    let due = link.on_timer(at(31), Some(at(15)));
    assert_eq!((due.pulse, due.next), (Some(Pulse::Normal), at(16)));
    // At most 24 ms from one to the next, at least 8.
    let due = link.on_timer(at(47), Some(at(39)));
    assert_eq!((due.pulse, due.next), (Some(Pulse::Normal), at(16)));
}

#[test]
fn a_pulse_that_is_complete_when_the_timer_fires_is_reported_once() {
    let mut link = Link::new(Mode::Negotiate(Word::TEN_HALF));
    let at = |ms: u32| BitTimes(ms * MS);
    assert_eq!(link.on_pulse(at(1)), None);
    assert_eq!(
        link.on_timer(at(16), None).completed,
        Some(LinkEvent::NormalPulse)
    );
    assert_eq!(link.on_timer(at(32), None).completed, None);
    assert_eq!(link.on_pulse(at(33)), None);
    assert_eq!(link.handle_silence(at(47)), Some(LinkEvent::NormalPulse));
    assert_eq!(link.on_timer(at(48), None).completed, None);
}

#[test]
fn pulses_at_wrong_intervals_do_not_bring_a_link_up() {
    for (gap_ms, up) in [(1, false), (3, false), (8, true), (24, true), (61, false)] {
        let mut test = Integrity::new();
        for n in 0..5 {
            test.on_pulse(BitTimes(n * gap_ms * MS));
        }
        assert_eq!(test.state() == LinkState::Up, up, "{gap_ms} ms");
    }
}

#[test]
fn a_swapped_pair_is_detected_by_pulses_or_by_frames() {
    let mut polarity = Polarity::new();
    let turned: Vec<_> = (0..5).map(|_| polarity.on_pulse(Sense::Inverted)).collect();
    assert_eq!(turned, [false, false, false, true, false]);
    let mut polarity = Polarity::new();
    let turned: Vec<_> = (0..4).map(|_| polarity.on_frame(Sense::Inverted)).collect();
    assert_eq!(turned, [false, false, true, false]);
    // A correct one in between resets the detector.
    let mut polarity = Polarity::new();
    for _ in 0..100 {
        assert!(!polarity.on_pulse(Sense::Inverted));
        assert!(!polarity.on_pulse(Sense::Normal));
        assert!(!polarity.on_frame(Sense::Inverted));
        assert!(!polarity.on_frame(Sense::Normal));
    }
}

#[test]
fn a_link_whose_pulses_cannot_be_detected_stays_up_until_they_can() {
    let mut link = Link::new(Mode::Forced(Duplex::Half));
    link.set_swapped(true, BitTimes(0));
    assert_eq!(link.state(), LinkState::Down);
    link.on_frame(BitTimes(MS));
    for n in 1..1_000 {
        link.on_timer(BitTimes(n * 16 * MS), None);
        assert_eq!(link.state(), LinkState::Up, "{n}");
    }
    link.set_swapped(false, BitTimes(16_000 * MS));
    link.on_timer(BitTimes(16_090 * MS), None);
    assert_eq!(link.state(), LinkState::Up);
    link.on_timer(BitTimes(16_110 * MS), None);
    assert_eq!(link.state(), LinkState::Down);
}

#[test]
fn a_transmitter_that_sends_too_long_is_cut_off_for_half_a_second() {
    let mut jabber = Jabber::new();
    assert!(!jabber.on_sent(1_530, BitTimes(10)));
    assert!(jabber.poll_enabled(BitTimes(11)));
    // 20 to 150 ms.
    assert!((25_000..187_500).contains(&Jabber::MAX_OCTETS));
    assert!(jabber.on_sent(Jabber::MAX_OCTETS + 1, BitTimes(20)));
    assert!(!jabber.poll_enabled(BitTimes(250 * MS)));
    assert!(jabber.poll_enabled(BitTimes(750 * MS)));
    assert!(jabber.poll_enabled(BitTimes(751 * MS)));
}
