//! From an edge on a pad to the first instruction of its handler.

use linerate_sim::chip::esp32c6::{Config, Esp32c6, Stop, timing_table};
use linerate_sim::time::{Instant, Span};

use crate::asm::{A0, A1, CODE, Program, T0};
use crate::board::{Lines, boot};
use crate::ms;

const LINE: u32 = 17;

/// Routes rising edges of GPIO6 to interrupt line 17, then waits by `wait`. The handler drives
/// dedicated channel 1 on GPIO10 high and low, clears the status, and returns.
pub fn program(wait: impl Fn(&mut Program)) -> Program {
    let mut p = Program::new();
    // The vector table needs 64 words; the handler is directly at its entry.
    let main = CODE + 0x200;
    p.jump(main);
    while p.here() < CODE + 4 * LINE {
        p.stay();
    }
    p.li(A0, 2).csrw(0x805, A0).csrw(0x805, 0);
    p.li(T0, 0x6009_104c).li(A0, 1 << 6).sw(A0, T0, 0);
    p.addi(A1, A1, 1).mret();
    while p.here() < main {
        p.stay();
    }
    // mtvec: vectored.
    p.li(A0, CODE | 1).csrw(0x305, A0);
    // IO_MUX_GPIO6: input enable. GPIO10 is channel 1, enabled by GPIO_ENABLE.
    p.li(T0, 0x6009_001c).li(A0, 1 << 9 | 1 << 12).sw(A0, T0, 0);
    p.li(T0, 0x6009_157c).li(A0, 0x1d | 1 << 9).sw(A0, T0, 0);
    p.li(T0, 0x6009_1020).li(A0, 1 << 10).sw(A0, T0, 0);
    // INTMTX source 30, PLIC priority and enable.
    p.li(T0, 0x6001_0078).li(A0, LINE).sw(A0, T0, 0);
    p.li(T0, 0x2000_1010 + 4 * LINE).li(A0, 5).sw(A0, T0, 0);
    p.li(T0, 0x2000_1000).li(A0, 1 << LINE).sw(A0, T0, 0);
    // GPIO_PIN6: rising edge, for the CPU.
    p.li(T0, 0x6009_108c).li(A0, 1 << 7 | 1 << 13).sw(A0, T0, 0);
    wait(&mut p);
    p
}

/// Times of rising edges of GPIO10.
fn rises(lines: &Lines) -> Vec<Instant> {
    lines
        .driven
        .iter()
        .filter(|d| d.0 == 10 && d.1)
        .map(|d| d.2)
        .collect()
}

/// Latency by the timing table of an edge while the hart sleeps: pad to line, entry, `li` (two
/// instructions), then the store to the CSR; a clock is 12.5 ns.
fn expected_ns() -> u64 {
    let table = timing_table();
    let entry = u64::from(table.cpu().interrupt_entry);
    table.chip("gpio_interrupt_ns") + (entry + 2) * 25 / 2
}

#[test]
fn each_edge_interrupts_a_sleeping_hart_at_the_right_time() {
    let program = program(|p| {
        let top = p.here();
        p.wfi().jump(top);
    });
    let mut chip = boot(&program);
    let mut lines = Lines::input(6, &[50_000, 60_000, 200_000, 201_000, 333_000]);
    assert_eq!(chip.run(ms(1), &mut lines), Stop::Deadline);
    assert_eq!(chip.hart().regs()[usize::from(A1)], 3);
    let rises = rises(&lines);
    assert_eq!(rises.len(), 3);
    for (rise, edge) in rises.iter().zip([50_000, 200_000, 333_000]) {
        let late = rise.since(Instant::from_ns(edge)).as_ns();
        let expected = expected_ns();
        assert!(
            (expected..expected + 40).contains(&late),
            "{late} ns, expected {expected}"
        );
    }
}

#[test]
fn an_edge_that_is_scheduled_later_is_detected() {
    let program = program(|p| {
        let top = p.here();
        p.wfi().jump(top);
    });
    let mut chip = boot(&program);
    let mut lines = Lines::input(6, &[]);
    chip.run(ms(1), &mut lines);
    lines.edges.push(Instant::from_ns(1_000_100));
    chip.run(ms(2), &mut lines);
    assert_eq!(rises(&lines).len(), 1);
}

#[test]
fn a_run_does_not_depend_on_its_steps() {
    let program = program(|p| {
        let top = p.here();
        p.csrr(A0, 0x804).addi(A0, A0, 1).jump(top);
    });
    let edges: Vec<u64> = (1..60).map(|i| 20_000 + i * i * 137).collect();
    let run = |step: Span| {
        let mut chip = boot(&program);
        let mut lines = Lines::input(6, &edges);
        let mut until = Instant::ZERO;
        while until < ms(1) {
            until = (until + step).min(ms(1));
            chip.run(until, &mut lines);
        }
        (rises(&lines), chip.stats())
    };
    let (rises, stats) = run(Span::from_ms(1));
    assert!(rises.len() > 20, "{}", rises.len());
    for step in [100, 999, 12_345] {
        assert_eq!(
            run(Span::from_ns(step)),
            (rises.clone(), stats),
            "in steps of {step} ns"
        );
    }
}

#[test]
fn interrupts_are_taken_during_a_rom_delay() {
    let program = program(|p| {
        p.li(A0, 500).call(0x4000_0040).stay();
    });
    let mut chip = boot(&program);
    let mut lines = Lines::input(6, &[100_000]);
    chip.run(ms(1), &mut lines);
    let rises = rises(&lines);
    assert_eq!(rises.len(), 1);
    assert!(rises[0] < Instant::from_ns(101_000), "{:?}", rises[0]);
}

#[test]
fn dedicated_inputs_are_seen_two_cycles_late() {
    let mut p = Program::new();
    p.li(T0, 0x6009_001c).li(A0, 1 << 9).sw(A0, T0, 0);
    // Signal 28 from GPIO6, inverted as for the bit-banged receiver.
    p.li(T0, 0x6009_11c4).li(A0, 0xc6).sw(A0, T0, 0);
    let top = p.here();
    p.csrr(A0, 0x804).csrw(0x805, A0).jump(top);
    // Show channel 0 on GPIO5.
    let mut setup = Program::new();
    setup
        .li(T0, 0x6009_1568)
        .li(A0, 0x1c | 1 << 9)
        .sw(A0, T0, 0);
    setup.li(T0, 0x6009_1020).li(A0, 1 << 5).sw(A0, T0, 0);
    // Position-independent but for the last jump, which is relative.
    let program = setup.then(&p);
    let table = timing_table()
        .with("chip.dedicated_input_cycles", 2)
        .unwrap();
    let config = Config {
        timing: table,
        ..Config::default()
    };
    let mut chip = Esp32c6::new(config, &program.elf()).unwrap();
    let mut lines = Lines::input(6, &[30_000]);
    chip.run(Instant::from_ns(60_000), &mut lines);
    let fall = lines.driven.iter().rev().find(|d| d.0 == 5).unwrap();
    assert!(!fall.1, "the inverted line fell");
    // Two cycles, plus up to one iteration of the loop (4 to 5 cycles) and the write.
    let late = fall.2.since(Instant::from_ns(30_000)).as_ns();
    assert!((25..=100).contains(&late), "{late} ns");
}
