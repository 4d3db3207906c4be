//! Conformance cases of a 10BASE-T receiver, as data.
//!
//! A case is a cycle of frames, each with its expected outcome, and the impairments that apply to all
//! of them. A generator sends it ([`super::generator`]); the record of each transmission carries the
//! frame's index in the cycle as its tag.

use linerate_ether::ledger::DropCause;

use super::outgoing::{Framing, TxOptions};
use crate::time::Span;
use crate::wire::config::{Destination, Impairments, Noise};

/// Expected outcome of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The device's stack receives it, octet for octet.
    Received,
    /// The device discards it and counts this cause.
    Discarded(DropCause),
    /// The device discards it for any reason, or does not detect it.
    NotReceived,
}

/// A frame of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Octets between SFD and end of frame, FCS included if there is one.
    pub octets: usize,
    /// Carries a VLAN tag.
    pub tagged: bool,
    /// Destination address.
    pub destination: Destination,
    /// Transmission options.
    pub options: TxOptions,
    /// Expected outcome.
    pub expect: Expect,
}

/// A conformance case.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Name in scenarios and results.
    pub name: &'static str,
    /// What the case tests, for lists.
    pub about: &'static str,
    /// Clause of the standard that requires it.
    pub source: &'static str,
    /// The frames, sent cyclically.
    pub steps: &'static [Step],
    /// Sets the impairments of the wire.
    pub impair: fn(&mut Impairments),
    /// Number of frames at the start that may be lost while the receiver adapts. They are broadcasts,
    /// far apart, sent before all others, like those of a partner whose own link is up.
    pub settling_frames: u64,
}

impl Case {
    /// Minimum number of frames so that each of [`Case::steps`] is sent once after those that may be
    /// lost.
    #[must_use]
    pub const fn min_frames(&self) -> u64 {
        self.settling_frames + self.steps.len() as u64
    }

    /// Expected outcome of the frame whose record carries `tag`.
    #[must_use]
    pub fn expected(&self, tag: u32) -> Expect {
        self.steps
            .get(tag as usize)
            .map_or(Expect::NotReceived, |step| step.expect)
    }
}

/// The case called `name`.
#[must_use]
pub fn case(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

const fn good(octets: usize) -> Step {
    Step {
        octets,
        tagged: false,
        destination: Destination::Device,
        options: TxOptions::STANDARD,
        expect: Expect::Received,
    }
}

const fn tagged(octets: usize) -> Step {
    Step {
        tagged: true,
        ..good(octets)
    }
}

const fn to(destination: Destination, expect: Expect) -> Step {
    Step {
        destination,
        expect,
        ..good(200)
    }
}

/// A step with different transmission options.
macro_rules! sent {
    ($step:expr, $($field:ident: $value:expr),+ $(, expect: $expect:expr)?) => {{
        let mut step = $step;
        $(step.options.$field = $value;)+
        step
    }};
}

const fn expecting(step: Step, expect: Expect) -> Step {
    Step { expect, ..step }
}

const fn discarded(step: Step, cause: DropCause) -> Step {
    expecting(step, Expect::Discarded(cause))
}

const fn after_gap(octets: usize, bits: u64) -> Step {
    sent!(good(octets), gap: Some(Span::from_ns(bits * 100)))
}

const fn unpadded(octets: usize, cause: DropCause) -> Step {
    discarded(sent!(good(octets), framing: Framing::Unpadded), cause)
}

const fn bad_fcs(octets: usize, cause: DropCause) -> Step {
    discarded(sent!(good(octets), framing: Framing::BadFcs), cause)
}

const fn after_pulse(octets: usize, width_ns: u64) -> Step {
    sent!(
        after_gap(octets, 200),
        pulse_before: Some(Span::from_ns(width_ns))
    )
}

/// No impairments.
fn clean(_: &mut Impairments) {}

/// The jitter that a receiver must tolerate, at the limits of the clock offset.
macro_rules! jittered {
    ($($name:ident: $ppm:expr, $jitter:expr, $distortion:expr;)*) => {
        $(fn $name(wire: &mut Impairments) {
            wire.clock_ppm = $ppm;
            wire.jitter_ns = $jitter;
            wire.duty_cycle_distortion_ns = $distortion;
        })*
    };
}

jittered! {
    jitter_slow: -100.0, 13.5, 0.0;
    jitter_even: 0.0, 13.5, 0.0;
    jitter_fast: 100.0, 13.5, 0.0;
    distorted_slow: -100.0, 6.75, 13.5;
    distorted_even: 0.0, 6.75, 13.5;
    distorted_fast: 100.0, 6.75, 13.5;
    narrow_even: 0.0, 6.75, -13.5;
    sender_limits: 100.0, 3.5, 0.0;
}

fn drifting(wire: &mut Impairments) {
    wire.drift_ppm_per_s = 50.0;
    wire.jitter_ns = 13.5;
}

fn swapped(wire: &mut Impairments) {
    wire.swapped_polarity = true;
}

fn noisy(wire: &mut Impairments) {
    wire.noise = Noise {
        pulses_per_s: 100.0,
        width_ns: 15.0,
    };
}

const SWAPPED: Step = sent!(good(200), swapped_polarity: true);
/// The frames from which a receiver detects the polarity.
const UNSEEN: Step = discarded(good(64), DropCause::BadSfd);
const SWAPPED_UNSEEN: Step = discarded(SWAPPED, DropCause::BadSfd);

const MINIMUM: &[Step] = &[good(64)];
const FULL: &[Step] = &[good(1518)];

macro_rules! cases {
    ($($name:literal, $about:literal, $source:literal, $steps:expr, $impair:expr, $settling:expr;)*) => {
        /// Every case.
        pub const CASES: &[Case] = &[
            $(Case {
                name: $name,
                about: $about,
                source: $source,
                steps: $steps,
                impair: $impair,
                settling_frames: $settling,
            },)*
        ];
    };
}

cases! {
    "minimum", "Frames of 64 octets at the standard's gap", "802.3 3.2.8, 4.4.2", MINIMUM, clean, 0;
    "full", "Frames of 1518 octets at the standard's gap", "802.3 3.2.7, 4.4.2", FULL, clean, 0;
    "lengths", "Lengths around word boundaries and limits", "802.3 3.2.7",
        &[good(64), good(65), good(66), good(67), good(68), good(127), good(128), good(129),
            good(1514), good(1515), good(1516), good(1517), good(1518)], clean, 0;
    "vlan", "Tagged frames, one of them 1522 octets", "802.3 3.2.7 (Q-tagged frames)",
        &[tagged(68), tagged(1518), tagged(1522)], clean, 0;
    "gap-47", "Gaps that shrank to 47 bit times", "802.3 4.4.2 note",
        &[after_gap(64, 47), after_gap(1518, 47), after_gap(65, 47), after_gap(300, 47)], clean, 0;
    "gap-47-jitter", "The same with +100 ppm and 13.5 ns of jitter", "802.3 4.4.2 note, 14.3.1.3.1",
        &[after_gap(64, 47), after_gap(1518, 47), after_gap(65, 47), after_gap(300, 47)],
        jitter_fast, 0;
    "bursts", "Eight frames in a row, then a pause", "802.3 4.4.2",
        &[after_gap(1518, 50_000), good(1518), good(64), good(64), good(900), good(64), good(1518),
            good(64)], clean, 0;
    "lost-preamble", "1 to 5 bits of preamble lost", "802.3 14.2.1.2",
        &[sent!(good(64), lost_preamble_bits: 1), sent!(good(200), lost_preamble_bits: 2),
            sent!(good(64), lost_preamble_bits: 3), sent!(good(1518), lost_preamble_bits: 4),
            sent!(good(64), lost_preamble_bits: 5)], clean, 0;
    "lost-preamble-jitter", "5 bits of preamble lost, +100 ppm, 13.5 ns of jitter: the minimum time for a receiver to synchronise", "802.3 14.2.1.2, 14.3.1.3.1",
        &[sent!(good(64), lost_preamble_bits: 5)], jitter_fast, 0;
    "dribble", "1 to 7 bits after a good FCS", "802.3 4.2.4.2.1",
        &[sent!(good(64), dribble_bits: 1), sent!(good(65), dribble_bits: 2),
            sent!(good(66), dribble_bits: 3), sent!(good(67), dribble_bits: 4),
            sent!(good(1518), dribble_bits: 5), sent!(good(128), dribble_bits: 6),
            sent!(good(64), dribble_bits: 7)], clean, 0;
    "runts", "Frames shorter than 64 octets among good ones", "802.3 4.2.4.2.2",
        &[unpadded(63, DropCause::Runt), good(64), unpadded(32, DropCause::Runt), good(200),
            unpadded(18, DropCause::Runt), good(64)], clean, 0;
    "fragments", "Collision fragments among good frames", "802.3 4.2.4.2.2",
        &[bad_fcs(63, DropCause::Collision), good(64), bad_fcs(20, DropCause::Collision), good(200),
            expecting(sent!(good(4), framing: Framing::Raw), Expect::NotReceived), good(64),
            expecting(sent!(good(0), framing: Framing::Raw), Expect::NotReceived), good(64)],
        clean, 0;
    "oversize", "Oversize frames among good ones", "802.3 3.2.7, 4.2.4.2.1",
        &[discarded(good(1519), DropCause::Oversize), good(64), discarded(good(1600), DropCause::Oversize),
            good(1518), discarded(tagged(1523), DropCause::Oversize), good(64),
            discarded(good(9018), DropCause::Oversize), good(64)], clean, 0;
    "bad-fcs", "A wrong FCS every other frame", "802.3 4.2.4.1.2",
        &[bad_fcs(64, DropCause::BadFcs), good(64), bad_fcs(1518, DropCause::BadFcs), good(1518)], clean, 0;
    "alignment", "A wrong FCS and a broken octet every other frame", "802.3 4.2.4.2.1",
        &[discarded(sent!(good(64), framing: Framing::BadFcs, dribble_bits: 3), DropCause::Alignment),
            good(64),
            discarded(sent!(good(1000), framing: Framing::BadFcs, dribble_bits: 7), DropCause::Alignment),
            good(1000)], clean, 0;
    "swapped-polarity", "The receive pair's wires are swapped, also for link pulses",
        "802.3 14.3.1.3 (an option there)", &[good(64), good(1518)], swapped, 60;
    "polarity-changes", "The wires are swapped and swapped back repeatedly",
        "802.3 14.3.1.3 (an option there)",
        &[SWAPPED_UNSEEN, SWAPPED_UNSEEN, SWAPPED_UNSEEN, SWAPPED, SWAPPED, SWAPPED,
            UNSEEN, UNSEEN, UNSEEN, good(64), good(200), good(64)], clean, 0;
    "broadcast", "Broadcast frames", "802.3 3.2.3", &[to(Destination::Broadcast, Expect::Received)],
        clean, 0;
    "multicast", "Frames for a group that the device has not joined, among its own", "802.3 3.2.3",
        &[to(Destination::Multicast, Expect::Discarded(DropCause::Filtered)), good(64)], clean, 0;
    "foreign", "Frames for another station, among its own", "802.3 4.2.4.1.1",
        &[to(Destination::Foreign, Expect::Discarded(DropCause::Filtered)), good(64),
            discarded(Step { destination: Destination::Foreign, ..good(1518) }, DropCause::Filtered),
            after_gap(64, 47)], clean, 0;
    "jitter-slow-full", "-100 ppm, 13.5 ns of jitter, 1518 octets", "802.3 7.3.2, 14.3.1.3.1", FULL, jitter_slow, 0;
    "jitter-even-full", "0 ppm, 13.5 ns of jitter, 1518 octets", "802.3 14.3.1.3.1", FULL, jitter_even, 0;
    "jitter-fast-full", "+100 ppm, 13.5 ns of jitter, 1518 octets", "802.3 7.3.2, 14.3.1.3.1", FULL, jitter_fast, 0;
    "jitter-slow-minimum", "-100 ppm, 13.5 ns of jitter, 64 octets", "802.3 7.3.2, 14.3.1.3.1", MINIMUM, jitter_slow, 0;
    "jitter-even-minimum", "0 ppm, 13.5 ns of jitter, 64 octets", "802.3 14.3.1.3.1", MINIMUM, jitter_even, 0;
    "jitter-fast-minimum", "+100 ppm, 13.5 ns of jitter, 64 octets", "802.3 7.3.2, 14.3.1.3.1", MINIMUM, jitter_fast, 0;
    "distortion-slow-full", "-100 ppm, the 13.5 ns made of distortion and jitter, 1518 octets", "802.3 7.3.2, 14.3.1.3.1", FULL, distorted_slow, 0;
    "distortion-even-full", "0 ppm, the 13.5 ns made of distortion and jitter, 1518 octets", "802.3 14.3.1.3.1", FULL, distorted_even, 0;
    "distortion-fast-full", "+100 ppm, the 13.5 ns made of distortion and jitter, 1518 octets", "802.3 7.3.2, 14.3.1.3.1", FULL, distorted_fast, 0;
    "distortion-slow-minimum", "-100 ppm, the 13.5 ns made of distortion and jitter, 64 octets", "802.3 7.3.2, 14.3.1.3.1", MINIMUM, distorted_slow, 0;
    "distortion-even-minimum", "0 ppm, the 13.5 ns made of distortion and jitter, 64 octets", "802.3 14.3.1.3.1", MINIMUM, distorted_even, 0;
    "distortion-fast-minimum", "+100 ppm, the 13.5 ns made of distortion and jitter, 64 octets", "802.3 7.3.2, 14.3.1.3.1", MINIMUM, distorted_fast, 0;
    "distortion-narrow-full", "The same with short positive half-bits", "802.3 14.3.1.3.1", FULL, narrow_even, 0;
    "sender-limits-full", "+100 ppm and 3.5 ns of jitter: a sender's limits", "802.3 7.3.2, 14.3.1.2.3", FULL, sender_limits, 0;
    "drift", "An offset that moves up and down between -100 and +100 ppm", "802.3 7.3.2", FULL, drifting, 0;
    "noise-between-frames", "A pulse of 20, 50 or 80 ns in each gap", "802.3 14.3.1.3.2",
        &[after_pulse(64, 20), after_pulse(1518, 50), after_pulse(64, 80), after_pulse(300, 20)],
        clean, 0;
    "link-pulses-between-frames", "A link pulse in each gap", "802.3 14.2.1.7",
        &[after_pulse(64, 100), after_pulse(1518, 100), after_pulse(300, 100)], clean, 0;
    "noise", "100 pulses of 15 ns per second at random times", "none: exceeds the standard's requirements", MINIMUM,
        noisy, 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_unique_name_frames_and_a_source() {
        for (index, case) in CASES.iter().enumerate() {
            assert!(!case.steps.is_empty(), "{}", case.name);
            assert!(!case.source.is_empty(), "{}", case.name);
            let first = CASES.iter().position(|other| other.name == case.name);
            assert_eq!(first, Some(index), "{}", case.name);
            let mut wire = Impairments::default();
            (case.impair)(&mut wire);
            assert_eq!(wire.check(), Ok(()), "{}", case.name);
        }
    }

    #[test]
    fn a_record_s_tag_gives_the_expected_outcome_of_the_frame() {
        let runts = case("runts").unwrap();
        assert_eq!(runts.expected(0), Expect::Discarded(DropCause::Runt));
        assert_eq!(runts.expected(1), Expect::Received);
        assert_eq!(runts.expected(99), Expect::NotReceived);
        assert!(case("nonesuch").is_none());
    }
}
