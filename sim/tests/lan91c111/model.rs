//! The model, whose line is infinitely fast as QEMU's is: what is due has happened before the next access.

use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_sim::device::{Device as _, Lan91c111, Line as _, LineFrame, LinkMode, Partner};
use linerate_sim::time::Instant;

use super::chip::Chip;

const MODE: LinkMode = LinkMode { mbit_per_s: 100 };
/// `BANK`, in every bank, and `IA0` in bank 1.
const BANK: u32 = 14;
const IA0: u32 = 4;

pub struct Model {
    chip: Lan91c111,
    now: Instant,
}

impl Model {
    /// A chip whose EEPROM has this address, with a link partner.
    pub fn new(address: MacAddress) -> Self {
        let mut it = Self {
            chip: Lan91c111::default(),
            now: Instant::ZERO,
        };
        let partner = Partner {
            mbit_per_s: MODE.mbit_per_s,
            pause: false,
        };
        it.chip.connect(Some(partner), it.now);
        it.write(BANK, 2, 1);
        for (offset, octet) in (IA0..).zip(address.0) {
            it.write(offset, 1, octet.into());
        }
        it.write(BANK, 2, 0);
        it
    }

    /// Lets pass the time until nothing is due.
    fn settle(&mut self) {
        while self.chip.next_event() != Instant::NEVER {
            self.now = self.now.max(self.chip.next_event());
            self.chip.advance(self.now);
        }
    }
}

/// The word of an offset, the shift within it, and the byte enables.
fn lanes(offset: u32, octets: u32) -> (u32, u32, u8) {
    let lane = offset & 3;
    (offset & !3, 8 * lane, ((1 << octets) - 1) << lane)
}

impl Chip for Model {
    fn read(&mut self, offset: u32, octets: u32) -> u32 {
        self.settle();
        let (word, shift, enables) = lanes(offset, octets);
        let value = self.chip.read_bytes(word, enables, self.now);
        let mask = u32::MAX >> (32 - 8 * octets);
        value.expect("a register") >> shift & mask
    }

    fn write(&mut self, offset: u32, octets: u32, value: u32) {
        self.settle();
        let (word, shift, enables) = lanes(offset, octets);
        self.chip
            .write_bytes(word, value << shift, enables, self.now);
    }

    fn deliver(&mut self, frame: &[u8]) {
        let mut octets = frame.to_vec();
        octets.resize(frame.len() + fcs::LEN, 0);
        fcs::append(&mut octets, frame.len()).expect("room for it");
        self.chip
            .receive_frame(LineFrame::new(octets, self.now, MODE));
        self.settle();
    }

    fn take_sent(&mut self) -> Vec<u8> {
        self.settle();
        let sent = self.chip.take_frame().expect("a frame was sent").octets;
        assert!(fcs::is_good(&sent), "its FCS");
        sent[..sent.len() - fcs::LEN].to_vec()
    }
}
