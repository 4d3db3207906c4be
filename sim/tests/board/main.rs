//! Complete boards with small programs: pads, wire, console, counters and fates of frames.

mod agent;
#[path = "../chip/asm.rs"]
#[allow(dead_code)]
mod asm;
mod image;
mod integrity;
mod jabber;
mod polarity;
mod settings;

use asm::{A0, A1, Program, T0, T1};
use linerate_ether::ledger::{Counter, DropCause};
use linerate_sim::board::{Board, Config, Error, Event, Fate, Stop};
use linerate_sim::peer::host::{self, Host, ping};
use linerate_sim::peer::kinds::Silent;
use linerate_sim::time::{Instant, Span};
use linerate_sim::trace::waveform::Pin;
use linerate_sim::wire;

use image::with_symbol;

const GPIO_OUT_SET: u32 = 0x6009_1008;
const GPIO_OUT_CLEAR: u32 = 0x6009_100c;
const GPIO_ENABLE_SET: u32 = 0x6009_1024;
const GPIO_IN: u32 = 0x6009_103c;
const IO_MUX_GPIO6: u32 = 0x6009_001c;
const GPIO_OUT_SELECT_5: u32 = 0x6009_1568;
const GPIO_OUT_SELECT_10: u32 = 0x6009_157c;
/// `OUT_SEL`: the pad follows the output register.
const SIMPLE: u32 = 128;
const LEDGER: u32 = 0x4081_0000;
const LEDGER_SIZE: u32 = (Counter::COUNT * 4) as u32;

fn store(program: &mut Program, addr: u32, value: u32) {
    program.li(T0, addr).li(T1, value).sw(T1, T0, 0);
}

/// GPIO5 and GPIO10 as outputs, GPIO6 as input.
fn pads() -> Program {
    let mut program = Program::new();
    store(&mut program, GPIO_OUT_SELECT_5, SIMPLE);
    store(&mut program, GPIO_OUT_SELECT_10, SIMPLE);
    store(&mut program, GPIO_ENABLE_SET, 1 << 5 | 1 << 10);
    store(&mut program, IO_MUX_GPIO6, 1 << 9 | 1 << 12);
    program
}

fn events(board: &mut Board) -> Vec<Event> {
    std::iter::from_fn(|| board.poll_event()).collect()
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

/// A host that pings a device at an unresolved address: an ARP request every second.
fn asking() -> Host {
    Host::new(host::Config {
        ping: Some(ping::Config {
            target: [169, 254, 10, 2].into(),
            start: ms(1),
            interval: Span::from_secs(1),
            count: 1,
            octets: 56,
        }),
        ..host::Config::default()
    })
}

#[test]
fn the_program_s_pad_levels_arrive_at_the_peer() {
    let mut program = pads();
    // 80 MHz after the boot loader: a store every few cycles.
    program
        .li(T0, GPIO_OUT_SET)
        .li(T1, GPIO_OUT_CLEAR)
        .li(A0, 1 << 5);
    program
        .sw(A0, T0, 0)
        .nop()
        .nop()
        .nop()
        .nop()
        .sw(A0, T1, 0)
        .stay();
    let mut board = Board::new(Config::default(), &program.elf(), Box::new(Silent)).unwrap();
    assert_eq!(board.run(ms(1)), Stop::Reached);
    let wire = board.wire();
    assert_eq!(wire.link_pulses_received + wire.odd_pulses, 1);
    let (width, _) = wire.pulse_widths.unwrap();
    assert!(
        (Span::from_ns(60)..Span::from_ns(300)).contains(&width),
        "{width:?}"
    );
    assert!(!board.has_ledger());
}

/// Copies the receive pad to the debug pad, forever.
fn mirror() -> Program {
    let mut program = pads();
    program.li(T0, GPIO_IN).li(T1, GPIO_OUT_SET);
    let again = program.here();
    // The pad is low while the line is high: bit 6 inverted goes to bit 10.
    program.lw(A0, T0, 0);
    // slli a0, a0, 4; not a1, a0
    program.word(0x0045_1513).word(0xfff5_4593);
    program.sw(A1, T1, 0).sw(A0, T1, 4).jump(again);
    program
}

#[test]
fn the_peer_s_frames_arrive_at_the_pads_and_are_recorded() {
    let config = Config {
        waveform: Some(Span::from_ms(2)),
        ..Config::default()
    };
    let mut board = Board::new(config, &mirror().elf(), Box::new(asking())).unwrap();
    assert_eq!(board.run(ms(10)), Stop::Reached);
    let pulses = events(&mut board)
        .into_iter()
        .filter(|event| matches!(event, Event::Pulse { .. }))
        .count();
    // The loop takes some 0.5 us, so it sees a few of the frame's levels.
    assert!(pulses > 10, "{pulses}");
    let waveform = board.waveform().expect("recorded");
    let (_, edges) = waveform.excerpt(ms(0), ms(10));
    let receive = edges.iter().filter(|edge| edge.pin == Pin::Receive).count();
    // 72 octets have 8 to 16 edges each; then TP_IDL.
    assert!((72 * 8..=72 * 16 + 2).contains(&receive), "{receive}");
    let first = edges.iter().find(|edge| edge.pin == Pin::Receive).unwrap();
    let debug = edges.iter().find(|edge| edge.pin == Pin::Debug).unwrap();
    let late = debug.at.since(first.at);
    assert!(late > Span::ZERO && late < Span::from_us(5), "{late:?}");
}

#[test]
fn a_frame_that_no_counter_accounts_for_was_unheard() {
    let mut board = Board::new(Config::default(), &mirror().elf(), Box::new(asking())).unwrap();
    board.run(ms(500));
    let fates: Vec<_> = events(&mut board)
        .into_iter()
        .filter_map(|event| match event {
            Event::Sent { octets, fate, .. } => Some((octets.len(), fate)),
            _ => None,
        })
        .collect();
    assert_eq!(fates, [(64, Fate::Lost(DropCause::Unheard))]);
    assert_eq!(board.tally().lost, [(DropCause::Unheard, 1)]);
}

/// Increments the counters in the given order, 2 ms after power-on and later; then idles.
fn counting(counters: &[Counter]) -> Program {
    let mut program = pads();
    // Some 2 ms at 80 MHz: 50,000 rounds of at least three cycles.
    program.li(T0, 50_000);
    // addi t0, t0, -1; bnez t0, -4
    program.addi(T0, T0, -1).word(0xfe02_9ee3);
    for &counter in counters {
        store(&mut program, LEDGER + 4 * counter as u32, 1);
    }
    program.stay();
    program
}

#[test]
fn counts_give_a_frame_its_fate() {
    let deliver = [Counter::RxFrames, Counter::RxValid, Counter::RxDelivered];
    for (counters, fate) in [
        (&deliver[..], Fate::Delivered),
        (&deliver[..1], Fate::Lost(DropCause::LeftInQueue)),
        (
            &[Counter::RxFrames, Counter::RxBadFcs],
            Fate::Lost(DropCause::BadFcs),
        ),
        (&[Counter::RxTruncated], Fate::Lost(DropCause::Truncated)),
        (&[Counter::RxQueueFull], Fate::Lost(DropCause::QueueFull)),
    ] {
        let elf = with_symbol(&counting(counters), "LINERATE_LEDGER", LEDGER, LEDGER_SIZE);
        let mut board = Board::new(Config::default(), &elf, Box::new(asking())).unwrap();
        board.run(ms(500));
        assert!(board.has_ledger());
        assert_eq!(board.counter(counters[0]), 1);
        let tally = board.tally();
        assert_eq!(tally.sent, 1);
        board.finish();
        let last = events(&mut board)
            .into_iter()
            .find_map(|event| match event {
                Event::Sent { fate, .. } => Some(fate),
                _ => None,
            });
        assert_eq!(last, Some(fate), "{counters:?}");
        let lost: u64 = tally.lost.iter().map(|&(_, count)| count).sum();
        assert_eq!(tally.sent, tally.delivered + lost);
    }
}

#[test]
fn counters_of_another_version_are_rejected_with_a_reason() {
    let elf = with_symbol(&mirror(), "LINERATE_LEDGER", LEDGER, LEDGER_SIZE - 4);
    let error = Board::new(Config::default(), &elf, Box::new(Silent)).unwrap_err();
    assert!(matches!(error, Error::Ledger { .. }));
    let text = error.to_string();
    assert!(
        text.contains("LINERATE_LEDGER") && text.contains(&LEDGER_SIZE.to_string()),
        "{text}"
    );
}

#[test]
fn a_run_is_reproducible_independent_of_its_steps_and_differs_with_another_seed() {
    let hash = |seed, portion_us: u64| {
        let link = wire::Config {
            seed,
            impairments: wire::Impairments {
                jitter_ns: 3.0,
                ..wire::Impairments::default()
            },
            ..wire::Config::default()
        };
        let config = Config {
            link,
            ..Config::default()
        };
        let host = Host::new(host::Config {
            seed,
            background_arp: Some(Span::from_ms(2)),
            ..host::Config::default()
        });
        let mut board = Board::new(config, &mirror().elf(), Box::new(host)).unwrap();
        let mut until = Instant::ZERO;
        while until < ms(20) {
            until += Span::from_us(portion_us);
            board.run(until);
        }
        board.trace_hash().value()
    };
    assert_eq!(hash(1, 1000), hash(1, 1000));
    assert_eq!(hash(1, 1000), hash(1, 125));
    assert_ne!(hash(1, 1000), hash(2, 1000));
}

#[test]
fn a_program_that_sleeps_forever_is_detected() {
    let mut program = Program::new();
    program.wfi().stay();
    let link = wire::Config {
        link_pulse_interval: None,
        ..wire::Config::default()
    };
    let config = Config {
        link,
        ..Config::default()
    };
    let mut board = Board::new(config, &program.elf(), Box::new(Silent)).unwrap();
    assert_eq!(board.run(Instant::NEVER), Stop::Asleep);
}
