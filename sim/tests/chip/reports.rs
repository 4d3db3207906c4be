//! Unsupported accesses are reported by name, never silently wrong.

use linerate_sim::chip::esp32c6::{Report, ReportKind, ResetCause, Stop};

use crate::asm::{A0, Program, T0, T1, ZERO};
use crate::board::{Lines, boot};
use crate::ms;

#[test]
fn registers_without_behaviour_are_reported_once() {
    let mut p = Program::new();
    // PMU_HP_ACTIVE_BIAS twice, then a hole in PMU's block.
    p.li(T0, 0x600b_0000)
        .sw(ZERO, T0, 0x18)
        .lw(A0, T0, 0x18)
        .lw(A0, T0, 0x390)
        .stay();
    let mut chip = boot(&p);
    chip.run(ms(1), &mut Lines::default());
    let text: Vec<_> = chip.reports().iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "register PMU.HP_ACTIVE_BIAS (0x600b0018) is plain storage; first written",
            "unknown register at 0x600b0390 (PMU); first read",
        ]
    );
    assert_eq!(chip.plain_registers(), ["PMU.HP_ACTIVE_BIAS"]);
}

#[test]
fn a_rom_function_that_is_missing_is_named_in_the_fault() {
    let mut p = Program::new();
    p.call(0x4000_00f8).stay();
    let Stop::Fault(fault) = boot(&p).run(ms(1), &mut Lines::default()) else {
        panic!("no fault");
    };
    let text = fault.to_string();
    assert!(
        text.contains("instruction access fault at pc 0x400000f8"),
        "{text}"
    );
    assert!(
        text.contains("ROM function tinfl_decompress (0x400000f8) is not implemented"),
        "{text}"
    );
}

#[test]
fn an_access_to_an_unmapped_address_faults() {
    let mut p = Program::new();
    p.li(T0, 0x7000_0000).lw(A0, T0, 0).stay();
    let mut chip = boot(&p);
    let stop = chip.run(ms(1), &mut Lines::default());
    assert!(matches!(stop, Stop::Fault(_)), "{stop:?}");
    assert_eq!(
        chip.reports()[0].kind,
        ReportKind::NoDevice { write: false }
    );
}

#[test]
fn waiting_for_a_register_that_never_changes_is_reported() {
    let mut p = Program::new();
    // MODEM_SYSCON: no behaviour is modelled.
    p.li(T0, 0x600a_9800);
    let top = p.here();
    p.lw(A0, T0, 4).jump(top);
    let mut chip = boot(&p);
    chip.run(ms(400), &mut Lines::default());
    let polled = chip
        .reports()
        .iter()
        .find(|r| matches!(r.kind, ReportKind::Polled { .. }));
    let text = polled.expect("a report").to_string();
    assert!(
        text.starts_with("polls MODEM_SYSCON.CLK_CONF (0x600a9804)"),
        "{text}"
    );
}

#[test]
fn a_loop_that_reads_a_clock_waits_for_no_other_register() {
    let mut p = Program::new();
    // As esp-hal reads the time: the clock's configuration, then the count, of which the program waits for another one.
    p.li(T0, 0x600b_0400).li(T1, 0x600b_0c00);
    let top = p.here();
    p.lw(A0, T0, 0).lw(A0, T1, 0x14).jump(top);
    let mut chip = boot(&p);
    chip.run(ms(900), &mut Lines::default());
    let text: Vec<_> = chip.reports().iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        ["register LP_CLKRST.LP_CLK_CONF (0x600b0400) is plain storage; first read"]
    );
    let position = chip.position();
    assert!(
        position.contains("; the last register that it read is LP_"),
        "{position}"
    );
}

#[test]
fn equal_reads_at_many_places_are_no_loop() {
    let mut p = Program::new();
    p.li(T0, 0x600a_9800);
    let top = p.here();
    p.lw(A0, T0, 4).lw(A0, T0, 4).nop().lw(A0, T0, 4).jump(top);
    let mut chip = boot(&p);
    chip.run(ms(400), &mut Lines::default());
    let is_poll = |report: &Report| matches!(report.kind, ReportKind::Polled { .. });
    assert!(!chip.reports().iter().any(is_poll));
}

#[test]
fn a_register_that_is_written_between_its_reads_is_not_polled() {
    let mut p = Program::new();
    p.li(T0, 0x600a_9800);
    let top = p.here();
    p.lw(A0, T0, 4).sw(A0, T0, 4).jump(top);
    let mut chip = boot(&p);
    chip.run(ms(400), &mut Lines::default());
    let is_poll = |report: &Report| matches!(report.kind, ReportKind::Polled { .. });
    assert!(!chip.reports().iter().any(is_poll));
}

#[test]
fn a_watchdog_resets_and_the_chip_starts_again() {
    let mut p = Program::new();
    // Ask for the reset reason, print it, then let timer group 0's watchdog run out.
    p.call(0x4000_0018).li(T0, 0x6000_f000).sw(A0, T0, 0);
    p.li(T0, 0x6000_8000).li(A0, 1 << 16 | 1).sw(A0, T0, 0x4c);
    p.li(A0, 40_000)
        .sw(A0, T0, 0x50)
        .li(A0, 1 << 31 | 3 << 29)
        .sw(A0, T0, 0x48)
        .stay();
    let mut chip = boot(&p);
    let mut lines = Lines::default();
    assert_eq!(
        chip.run(ms(10), &mut lines),
        Stop::Reset(ResetCause::TimerGroup0)
    );
    let at = chip.now();
    assert!(at > ms(1) && at < ms(2), "{at:?}");
    chip.reset(ResetCause::TimerGroup0);
    assert_eq!(chip.now(), at);
    assert_eq!(
        chip.run(ms(10), &mut lines),
        Stop::Reset(ResetCause::TimerGroup0)
    );
    // Reports from before the reset are not repeated.
    let names: std::collections::BTreeSet<_> = chip.reports().iter().map(|r| r.addr).collect();
    assert_eq!(names.len(), chip.reports().len());
    let printed: Vec<_> = chip.console().iter().map(|byte| byte.byte).collect();
    assert_eq!(printed, [1, 7]);
}
