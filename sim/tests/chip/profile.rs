//! Cycles by function: complete, correctly attributed, and without effect on the program.

use linerate_sim::profile::{Profile, Work};
use linerate_sim::time::Instant;

use crate::asm::{A0, CODE, Program};
use crate::board::{Lines, boot};
use crate::interrupts;
use crate::ms;

/// Address of the helper function, on a separate page: this file has no symbols.
const HELPER: u32 = CODE + 0x500;

/// Repeatedly sleeps, waits in the ROM and calls a function; edges interrupt it.
fn program() -> Program {
    interrupts::program(|p| {
        let top = p.here();
        p.wfi().li(A0, 3).call(0x4000_0040).call(HELPER).jump(top);
        while p.here() < HELPER {
            p.nop();
        }
        // Forty cycles and `ret`.
        for _ in 0..40 {
            p.nop();
        }
        p.word(0x0000_8067);
    })
}

fn edges() -> Lines {
    let edges: Vec<u64> = (1..60).map(|i| 20_000 + i * i * 137).collect();
    Lines::input(6, &edges)
}

fn profiled() -> (u64, Profile) {
    let mut chip = boot(&program());
    chip.start_profile();
    chip.run(ms(1), &mut edges());
    let profile = chip.profile().expect("it was started");
    (chip.digest(), profile)
}

fn cycles(profile: &Profile, of: impl Fn(&[String]) -> bool) -> u64 {
    let those = profile.stacks.iter().filter(|stack| of(&stack.functions));
    those.map(|stack| stack.cycles).sum()
}

#[test]
fn profiling_does_not_change_the_program() {
    let mut chip = boot(&program());
    chip.run(ms(1), &mut edges());
    let (digest, profile) = profiled();
    assert_eq!(chip.digest(), digest);
    assert_eq!(
        chip.stats().cycles,
        profile.cycles,
        "every cycle is attributed"
    );
}

#[test]
fn interrupts_sleep_and_callees_are_distinguished() {
    let (_, profile) = profiled();
    let handler = |stack: &[String]| stack == ["0x40800000"];
    assert!(profile.stacks.iter().any(|stack| stack.interrupt));
    for stack in &profile.stacks {
        assert!(!stack.interrupt || handler(&stack.functions), "{stack:?}");
        assert!(stack.functions.len() <= 2, "calls have returned: {stack:?}");
    }
    let rounds = profile
        .stacks
        .iter()
        .find(|s| s.functions.last().is_some_and(|f| f == "0x40800500"));
    let rounds = rounds.expect("the helper was called");
    assert!(rounds.calls > 5);
    // Forty instructions, the return and its misprediction.
    assert!(
        (41..=45).contains(&(rounds.cycles / rounds.calls)),
        "{rounds:?}"
    );
    let delay = |stack: &[String]| stack.last().is_some_and(|f| f == "ets_delay_us (ROM)");
    let expected = 3 * 80 * rounds.calls;
    let delayed = cycles(&profile, delay);
    assert!(
        (expected..expected * 5 / 4).contains(&delayed),
        "{delayed}, not {expected}"
    );
    assert!(cycles(&profile, |stack| stack == ["waits for an interrupt"]) > 0);
}

#[test]
fn activities_are_contiguous() {
    let mut chip = boot(&program());
    chip.start_profile();
    let mut lines = edges();
    let mut all = Vec::new();
    for step in 1..=10 {
        chip.run(Instant::from_ns(step * 100_000), &mut lines);
        all.extend(chip.activities());
    }
    assert_eq!(all.first().map(|first| first.start), Some(Instant::ZERO));
    assert_eq!(all.last().map(|last| last.end), Some(chip.now()));
    for pair in all.windows(2) {
        assert_eq!(pair[0].end, pair[1].start);
    }
    for work in [Work::Asleep, Work::Interrupt, Work::Other] {
        assert!(all.iter().any(|activity| activity.work == work), "{work:?}");
    }
}

#[test]
fn clearing_restarts_the_profile() {
    let mut chip = boot(&program());
    chip.start_profile();
    let mut lines = edges();
    chip.run(ms(1), &mut lines);
    let before = chip.stats().cycles;
    chip.start_profile();
    chip.run(ms(2), &mut lines);
    let profile = chip.profile().expect("started");
    assert_eq!(profile.cycles, chip.stats().cycles - before);
}
