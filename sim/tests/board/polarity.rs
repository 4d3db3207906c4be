//! The firmware on a swapped receive pair, whose line idles high once the inputs are inverted:
//! fragments that end in their preamble (IEEE 802.3 clause 4.2.4.2.2), among good frames.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::collections::VecDeque;
use std::path::Path;

use linerate_ether::ledger::Counter;
use linerate_ether::preamble::{PREAMBLE_AND_SFD, SFD};
use linerate_sim::board::{Board, Config};
use linerate_sim::elf::Elf;
use linerate_sim::peer::outgoing::Framing;
use linerate_sim::peer::{Outgoing, Peer, Report, Station, TxOptions};
use linerate_sim::time::{Instant, Span};
use linerate_sim::wire::{self, Impairments};

use super::ms;

/// Time at which the PHY listens. On a swapped pair no pulse was detected and the link is down, so
/// the program takes no frame yet: the interrupt counts them.
const FROM_MS: u64 = 2_500;
/// Number of frames after which the inputs are certainly inverted.
const SETTLING: usize = 10;
const FRAGMENTS: usize = 20;

/// A station that sends the given frames in order.
#[derive(Debug)]
struct Sender(VecDeque<Outgoing>);

impl Station for Sender {
    fn receive(&mut self, _frame: &[u8], _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Vec<u8>> {
        None
    }

    fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        (now >= ms(FROM_MS)).then(|| self.0.pop_front()).flatten()
    }

    fn poll_timeout(&self) -> Instant {
        if self.0.is_empty() {
            Instant::NEVER
        } else {
            ms(FROM_MS)
        }
    }
}

impl Peer for Sender {
    fn report(&self) -> Report {
        Report::default()
    }
}

/// A broadcast frame.
fn frame() -> Outgoing {
    let mut octets = vec![0xFF; 60];
    octets[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    octets[12..14].copy_from_slice(&[0x88, 0xB5]);
    Outgoing::frame(octets)
}

/// Preamble only: as octets, because the wire adds an SFD to its own preamble.
fn fragment() -> Outgoing {
    Outgoing {
        octets: vec![PREAMBLE_AND_SFD[0]; 8],
        options: TxOptions {
            framing: Framing::Raw,
            lost_preamble_bits: 8 * PREAMBLE_AND_SFD.len() as u8,
            gap: Some(Span::from_us(500)),
            ..TxOptions::STANDARD
        },
    }
}

#[test]
fn fragments_that_end_in_their_preamble_are_counted_and_cost_no_frame_with_either_polarity() {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return;
    };
    assert_ne!(PREAMBLE_AND_SFD[0], SFD);
    let elf = Path::new(&folder).join("station-line-rate.elf");
    let elf = Elf::parse(&std::fs::read(elf).expect("station")).expect("an ELF");
    for swapped_polarity in [false, true] {
        let mut sent: VecDeque<_> = (0..SETTLING).map(|_| frame()).collect();
        for _ in 0..FRAGMENTS {
            sent.extend([fragment(), frame()]);
        }
        let link = wire::Config {
            impairments: Impairments {
                swapped_polarity,
                ..Impairments::default()
            },
            ..wire::Config::default()
        };
        let config = Config {
            link,
            ..Config::default()
        };
        let mut board = Board::new(config, &elf, Box::new(Sender(sent))).unwrap();
        board.run(ms(FROM_MS + 1));
        let counters = [Counter::RxTruncated, Counter::RxBadSfd, Counter::RxFrames];
        let before = counters.map(|counter| board.counter(counter));
        board.run(ms(FROM_MS + 50));
        let after = counters.map(|counter| board.counter(counter));
        let counted: Vec<_> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        let all = FRAGMENTS as u32;
        assert_eq!(counted, [all, 0, all], "swapped: {swapped_polarity}");
    }
}
