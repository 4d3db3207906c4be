//! Timing guarantees of the hart: accesses, interrupts and deadlines to the cycle.

use super::asm::Asm;
use super::bench::{Bench, Event, FLASH, MMIO, PINS, RAM, ROM, esp32c6};
use super::random_programs::{Random, image};
use linerate_sim::rv32::{Cause, Fault, Stop, Timing, csr_number};

/// Runs a program of `steps` with `x5` = [`MMIO`].
fn run(timing: Timing, steps: impl FnOnce(&mut Asm)) -> Bench {
    let mut asm = Asm::new();
    asm.lui(5, MMIO);
    steps(&mut asm);
    asm.wfi();
    let mut bench = Bench::new(&asm.finish(), RAM, timing);
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    bench
}

#[test]
fn accesses_have_the_cycle_of_their_instruction() {
    let timing = Timing {
        mmio_load: 7,
        mmio_store: 4,
        div: 34,
        ..Timing::ideal()
    };
    let bench = run(timing, |a| {
        a.csrsi(PINS, 3); // 1
        a.c_nop();
        a.sw(5, 5, 8); // 3, then 4 more
        a.r(1, 4, 6, 5, 5); // div: 8
        a.lw(7, 5, 4); // 42, then 7 more
        a.csrci(PINS, 1); // 50
        a.csrr(8, PINS); // 51
    });
    assert_eq!(
        bench.chip.events,
        [
            Event::ReadCsr(0x805, 1),
            Event::WriteCsr(0x805, 3, 1),
            Event::Store(MMIO + 8, MMIO, 3),
            Event::Load(MMIO + 4, 42),
            Event::ReadCsr(0x805, 50),
            Event::WriteCsr(0x805, 2, 50),
            Event::ReadCsr(0x805, 51),
        ]
    );
    assert_eq!((bench.hart.cycle(), bench.hart.instret()), (53, 9));
    assert_eq!(bench.hart.regs()[8], 2);
}

#[test]
fn watched_stores_are_reported_after_the_fact() {
    let mut asm = Asm::new();
    let data = RAM + 0x1000;
    asm.li(5, data);
    asm.li(6, 0x1234_5678);
    asm.sw(6, 5, 0); // 4
    asm.sw(6, 5, 4); // 5: beside the range
    asm.store(1, 6, 5, 3); // 6: half of it
    asm.wfi();
    let mut bench = Bench::new(&asm.finish(), RAM, Timing::ideal());
    bench.memory.watch(data..data + 4);
    bench.run_to_end();
    let watched = [
        Event::Watched(data, 0x1234_5678, 4),
        Event::Watched(data + 3, 0x1234_5678, 6),
    ];
    assert_eq!(bench.chip.events, watched);
    assert_eq!(bench.memory.read_u32(data), Some(0x7834_5678));
}

/// A handler that marks its entry on a pin, clears the interrupt and returns.
fn interrupted_program() -> Vec<u8> {
    let mut a = Asm::new();
    let (main, handler) = (a.label(), a.label());
    a.jal(0, main);
    a.align(64);
    // Vector table: line 0 is for exceptions.
    for _ in 0..32 {
        a.jal(0, handler);
    }
    a.bind(handler);
    a.csrsi(PINS, 1);
    a.sw(0, 5, 0);
    a.mret();
    a.bind(main);
    a.lui(5, MMIO);
    a.li(6, RAM + 64 + 1);
    a.csrw(u32::from(csr_number::MTVEC), 6);
    a.csrsi(u32::from(csr_number::MSTATUS), 8);
    // 100 times ten cycles: nine and a division of 1.
    a.addi(7, 0, 100);
    let top = a.here();
    for _ in 0..7 {
        a.c_nop();
    }
    a.r(1, 4, 8, 7, 7);
    a.addi(7, 7, -1);
    a.bne(7, 0, top);
    a.wfi();
    a.finish()
}

#[test]
fn interrupts_are_taken_at_the_instruction_after_they_are_raised() {
    // With divisions of 5 cycles, so that not every cycle begins an instruction.
    let timing = Timing {
        div: 5,
        interrupt_entry: 13,
        ..Timing::ideal()
    };
    let image = interrupted_program();
    for raised in 30..70 {
        let mut bench = Bench::new(&image, RAM, timing);
        bench.chip.raise.push((raised, 17));
        assert_eq!(bench.run_to_end(), Stop::Wfi);
        let Some(Event::WriteCsr(_, _, entered)) = bench
            .chip
            .events
            .iter()
            .find(|e| matches!(e, Event::WriteCsr(..)))
            .copied()
        else {
            panic!("raised at {raised}: never entered");
        };
        // The main loop begins at 7 and has a period of 14; its division begins at 7 of it.
        let phase = (raised - 7) % 14;
        let begins = if (8..12).contains(&phase) {
            raised - phase + 12
        } else {
            raised
        };
        // The vector contains a jump.
        assert_eq!(entered, begins + 13 + 1, "raised at {raised}");
        assert_eq!(bench.hart.csr(csr_number::MCAUSE), Some(0x8000_0011));
        assert_eq!(bench.hart.csr(csr_number::MSTATUS).unwrap() & 8, 8);
    }
}

#[test]
fn masked_interrupts_wait_until_they_are_enabled() {
    let timing = Timing {
        interrupt_entry: 13,
        ..Timing::ideal()
    };
    let mut bench = Bench::new(&interrupted_program(), RAM, timing);
    bench.chip.raise.push((1, 3));
    bench.run_to_end();
    // jal, lui, lui, addi, csrw, csrrsi: enabled from 6 on.
    assert_eq!(bench.chip.events[0], Event::ReadCsr(0x805, 6 + 13 + 1));
}

#[test]
fn waiting_ends_with_a_pending_interrupt_even_if_masked() {
    let mut a = Asm::new();
    a.wfi();
    a.lui(5, MMIO);
    a.sw(0, 5, 0);
    a.wfi();
    let mut bench = Bench::new(&a.finish(), RAM, Timing::ideal());
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    // Nothing pending: it keeps waiting, regardless of time.
    bench.hart.advance_to(100);
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    assert!(bench.chip.events.is_empty());
    bench.chip.raise.push((1, 5));
    bench.chip.now = 200;
    bench.hart.advance_to(200);
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    assert_eq!(bench.chip.events, [Event::Store(MMIO, 0, 201)]);
}

/// Any sequence of deadlines gives the same accesses at the same cycles, and the same end.
#[test]
fn deadlines_do_not_change_anything() {
    for (seed, at) in (100..124).zip([RAM, FLASH].into_iter().cycle()) {
        let image = image(seed, 3, 150, true);
        let whole = {
            let mut bench = Bench::new(&image, at, esp32c6());
            bench.run_to_end();
            assert!(bench.chip.off);
            assert!(bench.chip.events.len() > 10);
            bench.state()
        };
        let mut random = Random::new(seed);
        for longest in [1, 3, 40, 1000] {
            let mut bench = Bench::new(&image, at, esp32c6());
            let mut until = 0;
            while !bench.chip.off {
                until = until.max(bench.hart.cycle()) + 1 + u64::from(random.below(longest));
                assert_eq!(bench.run_until(until), Stop::Deadline);
                // Not a single instruction began late: the one before took at most a division, an
                // access to the chip, or two cache misses.
                assert!(bench.hart.cycle() < until + 60);
            }
            assert!(
                bench.state() == whole,
                "seed {seed}, deadlines up to {longest} cycles"
            );
        }
    }
}

#[test]
fn nothing_begins_at_the_deadline() {
    let mut a = Asm::new();
    for _ in 0..20 {
        a.c_addi(10, 1);
    }
    a.wfi();
    let image = a.finish();
    for deadline in 0..20 {
        let mut bench = Bench::new(&image, RAM, Timing::ideal());
        assert_eq!(bench.run_until(deadline), Stop::Deadline);
        assert_eq!(
            (bench.hart.cycle(), bench.hart.regs()[10]),
            (deadline, deadline as u32)
        );
    }
}

#[test]
fn modified_code_is_executed() {
    // Each round adds the immediate operand of an instruction that the same round rewrites, ahead in
    // the same basic block: +1, +2, +3, ...
    let mut a = Asm::new();
    let patch = a.label();
    a.li(5, RAM);
    a.addi(6, 0, 0);
    a.li(7, 0x0000_0513 | 10 << 15); // addi a0, a0, 0
    a.addi(8, 0, 20);
    let top = a.here();
    a.addi(6, 6, 1);
    a.i(0x13, 1, 9, 6, 20); // slli
    a.r(0, 6, 9, 9, 7); // or
    a.sw(9, 5, 40 + 8);
    assert_eq!(a.offset(), 40);
    a.c_nop();
    a.c_nop();
    a.c_nop();
    a.c_nop();
    a.bind(patch);
    assert_eq!(a.offset(), 48);
    a.addi(10, 10, 0);
    a.addi(8, 8, -1);
    a.bne(8, 0, top);
    a.wfi();
    let mut bench = Bench::new(&a.finish(), RAM, esp32c6());
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    assert_eq!(bench.hart.regs()[10], (1..=20).sum::<u32>());
    assert_eq!(bench.hart.instret(), 6 + 20 * 11 + 1);
    // The same applies to writes of the loader.
    bench.hart.set_pc(RAM + 48);
    bench.hart.set_reg(8, 1);
    bench.hart.set_reg(10, 0);
    bench.memory.write_u32(RAM + 48, 0x7d05_0513).unwrap(); // addi a0, a0, 2000
    bench.chip.raise.push((0, 1));
    bench.hart.run(&mut bench.memory, &mut bench.chip);
    assert_eq!(bench.hart.regs()[10], 2000);
}

#[test]
fn rom_calls_return_and_wait() {
    let mut a = Asm::new();
    a.lui(5, ROM);
    a.jalr(1, 5, 0); // 1: 7 cycles
    a.li(10, 500);
    a.jalr(1, 5, 4); // waits until 500
    a.csrsi(PINS, 1);
    a.wfi();
    let mut bench = Bench::new(&a.finish(), RAM, Timing::ideal());
    assert_eq!(bench.run_until(300), Stop::Deadline);
    assert_eq!((bench.hart.cycle(), bench.hart.pc()), (300, ROM + 4));
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    let events = &bench.chip.events;
    assert_eq!(events[0], Event::Rom(ROM, 2));
    assert_eq!(events[1], Event::Rom(ROM + 4, 12));
    assert_eq!(events[events.len() - 2], Event::ReadCsr(0x805, 500));
}

#[test]
fn exceptions_go_to_the_handler_or_stop() {
    // No handler: the exception is reported to the caller.
    for (word, cause, value) in [
        (0xffff_ffff, Cause::IllegalInstruction, 0xffff_ffff),
        (0x0000_2003, Cause::LoadAccess, 0),
        (0x0000_2023, Cause::StoreAccess, 0),
        (0x0010_0073, Cause::Breakpoint, RAM),
        (0x0000_0073, Cause::MachineCall, 0),
        (0x1230_2573, Cause::IllegalInstruction, 0),
    ] {
        let mut a = Asm::new();
        a.word(word);
        let mut bench = Bench::new(&a.finish(), RAM, Timing::ideal());
        assert_eq!(
            bench.run_to_end(),
            Stop::Fault(Fault {
                cause,
                pc: RAM,
                value
            })
        );
        assert_eq!(bench.hart.instret(), 0);
    }
    // A jump to an unmapped address.
    let mut a = Asm::new();
    a.jalr(0, 0, 16);
    let mut bench = Bench::new(&a.finish(), RAM, Timing::ideal());
    let cause = Cause::InstructionAccess;
    assert_eq!(
        bench.run_to_end(),
        Stop::Fault(Fault {
            cause,
            pc: 16,
            value: 16
        })
    );
    // With a handler: cause, address and value are as the manual specifies.
    let mut a = Asm::new();
    let main = a.label();
    a.jal(0, main);
    a.align(64);
    a.csrr(10, u32::from(csr_number::MCAUSE));
    a.csrr(11, u32::from(csr_number::MEPC));
    a.csrr(12, u32::from(csr_number::MTVAL));
    a.wfi();
    a.bind(main);
    a.li(6, RAM + 64 + 1);
    a.csrw(u32::from(csr_number::MTVEC), 6);
    let faulting = a.offset() as u32;
    a.lw(5, 0, 64);
    let timing = Timing {
        exception_entry: 9,
        ..Timing::ideal()
    };
    let mut bench = Bench::new(&a.finish(), RAM, timing);
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    assert_eq!(bench.hart.regs()[10..13], [5, RAM + faulting, 64]);
    assert_eq!(bench.hart.cycle(), 4 + 9 + 4);
}

#[test]
fn cache_misses_have_the_cost_of_the_timing_table() {
    // 64 instructions of 4 bytes in flash: 8 lines of 32 bytes, twice; then a load from another.
    let mut a = Asm::new();
    a.addi(7, 0, 2);
    let top = a.here();
    for _ in 0..60 {
        a.addi(10, 10, 1);
    }
    a.addi(7, 7, -1);
    a.bne(7, 0, top);
    a.li(8, FLASH + 0x800);
    a.lw(9, 8, 0);
    a.lw(9, 8, 4);
    a.wfi();
    let mut bench = Bench::new(&a.finish(), FLASH, Timing::ideal());
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    let instructions = 1 + 2 * 62 + 2 + 2 + 1;
    assert_eq!(bench.hart.instret(), instructions);
    // Code: 68 instructions in 9 lines, the load one more.
    assert_eq!(bench.memory.cache().misses(), 10);
    assert_eq!(bench.hart.cycle(), instructions + 10 * 20);
}

#[test]
fn performance_counter_counts_the_selected_event() {
    let mut a = Asm::new();
    let (select, enable, count) = (0x7e0, 0x7e1, 0x7e2);
    a.addi(5, 0, 2);
    a.csrw(select, 5); // instructions
    a.csrw(count, 0);
    a.r(1, 4, 6, 5, 5); // div
    a.csrr(10, count);
    a.csr(5, 0, select, 1); // cycles
    a.csrw(count, 0);
    a.r(1, 4, 6, 5, 5);
    a.csrr(11, count);
    a.csr(5, 0, enable, 0);
    a.csrr(12, count);
    a.csrr(13, count);
    a.wfi();
    let timing = Timing {
        div: 34,
        ..Timing::ideal()
    };
    let mut bench = Bench::new(&a.finish(), RAM, timing);
    bench.run_to_end();
    assert_eq!(bench.hart.regs()[10..14], [2, 35, 36, 36]);
}

/// A variable directly after a function's last jump is written frequently: that must not discard the
/// translated code.
#[test]
fn writing_data_after_code_keeps_the_code() {
    let mut a = Asm::new();
    a.lui(5, RAM);
    a.addi(6, 0, 100);
    let top = a.here();
    a.sw(6, 5, 28);
    a.addi(6, 6, -1);
    a.bne(6, 0, top);
    a.csrsi(PINS, 1);
    a.wfi();
    assert_eq!(a.offset(), 28);
    a.word(0);
    let mut bench = Bench::new(&a.finish(), RAM, esp32c6());
    assert_eq!(bench.run_to_end(), Stop::Wfi);
    assert_eq!(bench.memory.read_u32(RAM + 28), Some(1));
    assert_eq!(bench.hart.translations(), 3);
    // One more for the first branch, two for the last.
    assert_eq!(bench.chip.events[0], Event::ReadCsr(0x805, 2 + 300 + 1 + 2));
}
