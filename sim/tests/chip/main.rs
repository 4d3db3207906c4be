//! The ESP32-C6 from a program's view: small programs in machine code, run to a visible effect.

mod asm;
mod board;
mod byte_links;
mod elf;
mod interrupts;
mod profile;
mod reports;

use asm::{A0, A1, A2, Program, T0, ZERO};
use board::{Lines, boot};
use linerate_sim::chip::esp32c6::{Config, Esp32c6, Port, Stop};
use linerate_sim::time::{Instant, Span};

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

#[test]
fn a_byte_on_each_console_takes_its_transmission_time() {
    let mut program = Program::new();
    program
        .li(T0, 0x6000_f000)
        .li(A0, u32::from(b'u'))
        .sw(A0, T0, 0);
    program
        .li(T0, 0x6000_0000)
        .li(A0, u32::from(b's'))
        .sw(A0, T0, 0);
    program.stay();
    let mut chip = boot(&program);
    assert_eq!(chip.run(ms(1), &mut Lines::default()), Stop::Deadline);
    let console = chip.console();
    let text: Vec<_> = console.iter().map(|byte| (byte.port, byte.byte)).collect();
    assert_eq!(text, [(Port::UsbSerial, b'u'), (Port::Uart0, b's')]);
    assert!(console[0].at < console[1].at);
    assert!(chip.console().is_empty());
}

#[test]
fn console_input_is_read_back() {
    let mut program = Program::new();
    program
        .li(T0, 0x6000_f000)
        .lw(A0, T0, 0)
        .sw(A0, T0, 0)
        .stay();
    let mut chip = boot(&program);
    chip.console_input(Port::UsbSerial, b"k");
    chip.run(ms(1), &mut Lines::default());
    assert_eq!(chip.console()[0].byte, b'k');
}

#[test]
fn the_system_timer_runs_at_16_mhz_regardless_of_the_cpu_clock() {
    let mut program = Program::new();
    program.li(T0, 0x6000_a000).li(A2, 1 << 30);
    let top = program.here();
    program.sw(A2, T0, 4).lw(A0, T0, 0x44).jump(top);
    let mut chip = boot(&program);
    chip.run(ms(10), &mut Lines::default());
    let count = chip.hart().regs()[usize::from(A0)];
    assert!((159_950..=160_000).contains(&count), "{count}");
}

#[test]
fn a_rom_delay_takes_its_time_and_returns() {
    let mut program = Program::new();
    program.li(A0, 250).call(0x4000_0040).li(A1, 1).stay();
    let mut chip = boot(&program);
    chip.run(Instant::from_ns(250_000), &mut Lines::default());
    assert_eq!(chip.hart().regs()[usize::from(A1)], 0);
    chip.run(Instant::from_ns(260_000), &mut Lines::default());
    assert_eq!(chip.hart().regs()[usize::from(A1)], 1);
}

#[test]
fn the_cpu_clock_can_be_changed() {
    let mut program = Program::new();
    // PCR_CPU_FREQ_CONF: from 80 MHz to 160 MHz.
    program.li(T0, 0x6009_6118).sw(ZERO, T0, 0).stay();
    let mut chip = boot(&program);
    assert_eq!(chip.cpu_hertz(), 80_000_000);
    chip.run(ms(2), &mut Lines::default());
    assert_eq!(chip.cpu_hertz(), 160_000_000);
    let cycles = chip.stats().cycles;
    assert!((319_900..=320_010).contains(&cycles), "{cycles}");
}

#[test]
fn watched_stores_carry_their_instant_and_value() {
    let mut program = Program::new();
    program
        .li(T0, 0x4080_1000)
        .li(A0, 7)
        .sw(A0, T0, 0)
        .sw(A0, T0, 4)
        .stay();
    let mut chip = boot(&program);
    chip.watch(0x4080_1004..0x4080_1008);
    chip.run(ms(1), &mut Lines::default());
    let events = chip.watch_events();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].addr, events[0].value), (0x4080_1004, 7));
    assert!(events[0].at > Instant::ZERO && events[0].at < Instant::from_ns(10_000));
}

#[test]
fn equal_runs_have_equal_digests_and_different_seeds_different_ones() {
    let mut program = Program::new();
    // The random number generator.
    program.li(T0, 0x600b_2800).lw(A0, T0, 8).stay();
    let run = |seed| {
        let elf = program.elf();
        let mut chip = Esp32c6::new(
            Config {
                seed,
                ..Config::default()
            },
            &elf,
        )
        .unwrap();
        chip.run(ms(1), &mut Lines::default());
        chip.digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_program_that_sleeps_forever_is_distinguished_from_one_that_waits() {
    let mut program = Program::new();
    program.wfi().stay();
    let mut chip = boot(&program);
    assert_eq!(chip.run(ms(5), &mut Lines::default()), Stop::Deadline);
    assert!(chip.stats().idle_cycles > 399_000);
    assert_eq!(
        chip.run(Instant::NEVER, &mut Lines::default()),
        Stop::Asleep
    );
}

#[test]
fn the_pads_deadline_stops_the_chip() {
    let mut program = Program::new();
    program.stay();
    let mut chip = boot(&program);
    let mut lines = Lines {
        deadline: Some(Instant::from_ns(12_345)),
        ..Lines::default()
    };
    assert_eq!(chip.run(ms(5), &mut lines), Stop::Deadline);
    let late = chip.now().since(Instant::from_ns(12_345));
    assert!(late < Span::from_ns(100), "{late:?}");
}
