//! The link integrity test (IEEE 802.3 clause 14.2.1.7) of a device that sends: `station` sends a load
//! while its partner sends only link pulses, and then the cable is unplugged.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::path::Path;

use linerate_ether::ledger::Counter;
use linerate_sim::board::{Board, Config};
use linerate_sim::chip::esp32c6::Port;
use linerate_sim::elf::Elf;
use linerate_sim::peer::kinds::Silent;
use linerate_sim::wire::{self, Flap, Impairments};

use super::ms;

/// Time at which the link is up and the program listens.
const COMMAND_MS: u64 = 2_500;
/// A frame of 0.8 ms every 4.02 ms, almost in step with pulses every 16 ms: once in 0.8 s the frames
/// overlap all pulses of 160 ms.
const EVEN: &[u8] = b"load 20 985\n";
/// Back to back: hardly any time to receive in between.
const FULL: &[u8] = b"load 100 1518\n";
const FULL_FROM: u64 = COMMAND_MS + 1_000;
const PULLED: u64 = FULL_FROM + 500;
/// The longest `link_loss_timer`.
const LOSS: u64 = 150;

#[test]
fn frames_that_overlap_the_partner_s_pulses_do_not_end_the_link_and_an_unplugged_cable_does() {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return;
    };
    let elf = Path::new(&folder).join("station-line-rate.elf");
    let elf = Elf::parse(&std::fs::read(elf).expect("station")).expect("an ELF");
    let config = Config {
        link: wire::Config {
            impairments: Impairments {
                flap: Flap {
                    every_ms: PULLED,
                    down_ms: PULLED / 2,
                },
                ..Impairments::default()
            },
            ..wire::Config::default()
        },
        ..Config::default()
    };
    let mut board = Board::new(config, &elf, Box::new(Silent)).expect("a board");
    let mut run = |typed: &[u8], until| {
        board.console_input(Port::UsbSerial, typed);
        board.run(ms(until));
        let counted = |counter| board.counter(counter);
        (counted(Counter::LinkDowns), counted(Counter::TxFrames))
    };
    let (downs, before) = run(b"", COMMAND_MS);
    assert_eq!(downs, 0);
    let (downs, even) = run(EVEN, FULL_FROM);
    let frames = (FULL_FROM - COMMAND_MS) * 100 / 402;
    assert_eq!(downs, 0);
    assert!(
        (frames - 5..=frames + 1).contains(&u64::from(even - before)),
        "{before} {even}"
    );
    let (downs, full) = run(FULL, PULLED);
    assert_eq!(downs, 0);
    assert!(full - even > 390, "{}", full - even);
    let (downs, _) = run(b"", PULLED + LOSS);
    assert_eq!(downs, 1);
}
