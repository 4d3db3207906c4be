//! The firmware's jabber function (IEEE 802.3 clause 14.2.1.6) on the wire: `station` is commanded to
//! send without end, and then to send normal frames.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::path::Path;

use linerate_ether::ledger::Counter;
use linerate_sim::board::{Board, Config, Event};
use linerate_sim::chip::esp32c6::Port;
use linerate_sim::elf::Elf;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::{Instant, Span};
use linerate_sim::wire::ReceivedFrame;

use super::{events, ms};

/// Time at which the link is negotiated and the program listens.
const COMMAND_MS: u64 = 2_500;
/// Test frames of 64 octets at a tenth of line rate: one every 672 us.
const COMMANDS: &[u8] = b"jabber\nload 10 64\n";
/// Limits of the standard for the jabber time, and for how long the transmitter then stays off.
const SENT_MS: core::ops::RangeInclusive<u64> = 20..=150;
const OFF_MS: core::ops::RangeInclusive<u64> = 250..=750;

/// Transmissions of the device received by the peer up to `until`.
fn received(board: &mut Board, until: Instant) -> Vec<ReceivedFrame> {
    board.run(until);
    let frames = events(board).into_iter().filter_map(|event| match event {
        Event::Received { record, .. } => Some(record),
        _ => None,
    });
    frames.collect()
}

#[test]
fn a_station_that_sends_without_end_is_cut_off_and_comes_back() {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return;
    };
    let elf = Path::new(&folder).join("station-line-rate.elf");
    let elf = Elf::parse(&std::fs::read(elf).expect("station")).expect("an ELF");
    let host = Host::new(host::Config::default());
    let mut board = Board::new(Config::default(), &elf, Box::new(host)).unwrap();
    received(&mut board, ms(COMMAND_MS));
    assert!(board.link().up);
    board.console_input(Port::UsbSerial, COMMANDS);

    // While the transmitter is off, link pulses are sent (clause 14.2.1.6), although a frame is rejected
    // every 672 us.
    let mut records = received(&mut board, ms(COMMAND_MS + 100));
    let pulses = board.wire().link_pulses_received;
    records.extend(received(&mut board, ms(COMMAND_MS + 350)));
    let pulses = board.wire().link_pulses_received - pulses;
    // Every 16 ms +- 8 ms.
    assert!((250 / 24..=250 / 8).contains(&pulses), "{pulses}");
    assert!(board.link().up);

    records.extend(received(&mut board, ms(COMMAND_MS + 2_000)));
    assert!(board.link().up);
    let received = records;
    let [endless, frames @ ..] = &received[..] else {
        panic!("nothing received")
    };
    let sent = endless.end.since(endless.start);
    assert!(
        (Span::from_ms(*SENT_MS.start())..=Span::from_ms(*SENT_MS.end())).contains(&sent),
        "{sent:?}"
    );
    assert!(endless.fault.is_some());
    let off = frames[0].start.since(endless.end);
    assert!(
        (Span::from_ms(*OFF_MS.start())..=Span::from_ms(*OFF_MS.end())).contains(&off),
        "{off:?}"
    );
    // Everything sent afterwards was received without errors.
    assert!(frames.iter().all(|frame| frame.fault.is_none()));
    assert!(frames.len() > 2_000, "{}", frames.len());
    let counted = |counter| board.counter(counter) as usize;
    assert!(counted(Counter::TxFrames) >= frames.len());
    // The endless one, and one for each test frame that was due while the transmitter was off.
    let due = off.as_ns() / 672_000;
    let jabbers = counted(Counter::TxJabbers) as u64;
    assert!((due - 2..=due + 3).contains(&jabbers), "{jabbers} of {due}");
}
