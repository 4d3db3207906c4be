//! The driver against a model of the chip, built from its data sheet as far as the driver needs it.

extern crate std;

use super::chip::{bank0, bank1, bank2, bank3};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device, InterruptDriven, LinkState, Managed, RxToken, TxToken};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::vec::Vec;

const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// Status of a successfully sent frame.
const SENT: u16 = 1;

#[derive(Default)]
struct State {
    bank: usize,
    /// Number of bank selections.
    choices: usize,
    octets: BTreeMap<(usize, usize), u8>,
    pages: [Vec<u8>; 4],
    is_taken: [bool; 4],
    came: VecDeque<u8>,
    waiting: VecDeque<u8>,
    sent: VecDeque<u8>,
    /// Reads of the completion FIFO until the next waiting frame is on the line; `None`: the line is busy.
    reads_until_sent: Option<u32>,
    phy: Phy,
}

/// Model of the PHY: it answers each read with the same value.
#[derive(Default)]
struct Phy {
    partner: u16,
    received: u64,
    answer: Option<u32>,
    written: Vec<(u8, u16)>,
}

impl Phy {
    /// Rising edge of the clock.
    fn rise(&mut self, driven: Option<bool>) {
        let Some(bit) = driven else {
            self.answer = self.answer.map(|it| it << 1);
            return;
        };
        self.received = self.received << 1 | u64::from(bit);
        if self.received & 0x3FFF_FFFF_FC00 == 0x3FFF_FFFF_D800 {
            self.answer = Some(u32::from(self.partner) << 14);
        }
        if self.received >> 28 == 0xF_FFFF_FFF5 {
            let register = (self.received >> 18 & 0x1F) as u8;
            self.written.push((register, self.received as u16));
        }
    }
}

impl State {
    fn get(&self, bank: usize, offset: u32) -> u8 {
        let at = (bank, offset as usize);
        self.octets.get(&at).copied().unwrap_or_default()
    }

    fn set(&mut self, bank: usize, offset: u32, value: u8) {
        self.octets.insert((bank, offset as usize), value);
    }

    fn word(&self, bank: usize, offset: u32) -> u16 {
        u16::from_le_bytes([self.get(bank, offset), self.get(bank, offset + 1)])
    }

    /// A free page.
    fn page(&mut self) -> Option<u8> {
        let free = self.is_taken.iter().position(|it| !it)?;
        self.is_taken[free] = true;
        self.pages[free].resize(2048, 0);
        Some(free as u8)
    }

    /// A frame arrives, if there is room.
    fn arrive(&mut self, frame: &[u8], state: u16) -> bool {
        let Some(page) = self.page() else {
            let raised = self.get(2, 12) | bank2::IST::RX_OVRN.mask() as u8;
            self.set(2, 12, raised);
            return false;
        };
        let count = (frame.len() / 2 * 2 + 6) as u16;
        let odd = frame.len() % 2 == 1;
        let tail: &[u8] = if odd { &[0x60] } else { &[0, 0x40] };
        let whole = [&state.to_le_bytes()[..], &count.to_le_bytes(), frame, tail].concat();
        self.pages[usize::from(page)][..whole.len()].copy_from_slice(&whole);
        self.came.push_back(page);
        true
    }

    /// Sends the next frame, with this status.
    fn send(&mut self, state: u16) -> Vec<u8> {
        let page = self.waiting.pop_front().expect("a frame to send");
        self.sent.push_back(page);
        let octets = &mut self.pages[usize::from(page)];
        octets[..2].copy_from_slice(&state.to_le_bytes());
        let count = usize::from(u16::from_le_bytes([octets[2], octets[3]]));
        assert_eq!(count % 2, 0);
        let odd = octets[count - 1] & 0x20 != 0;
        octets[4..count - 2 + usize::from(odd)].to_vec()
    }

    fn command(&mut self, value: u8) {
        use bank2::MMUCR::COMMAND as it;
        match u32::from(value >> 5) {
            it::ALLOC => {
                let page = self.page();
                self.set(2, bank2::ARR.offset, page.unwrap_or(0x80));
                let done = self.get(2, 12) | bank2::IST::ALLOC.mask() as u8;
                self.set(2, 12, done);
            }
            it::RESET => {
                self.is_taken = [false; 4];
                self.came.clear();
                self.waiting.clear();
                self.sent.clear();
            }
            it::REMOVE_RELEASE => {
                let page = self.came.pop_front().expect("a frame has come");
                self.is_taken[usize::from(page)] = false;
            }
            it::ENQUEUE => {
                let page = self.get(2, bank2::PNR.offset);
                assert!(self.is_taken[usize::from(page)] && !self.waiting.contains(&page));
                self.waiting.push_back(page);
            }
            other => panic!("command {other}"),
        }
    }

    /// The octet of a page at the pointer, which then advances.
    fn pointed(&mut self) -> &mut u8 {
        let pointer = self.word(2, bank2::PTR.offset);
        assert!(pointer & 0x4000 != 0, "auto-increment");
        let page = if pointer & 0x8000 == 0 {
            self.get(2, bank2::PNR.offset)
        } else {
            self.came[0]
        };
        let [low, high] = (pointer + 1).to_le_bytes();
        self.set(2, bank2::PTR.offset, low);
        self.set(2, bank2::PTR.offset + 1, high);
        &mut self.pages[usize::from(page)][usize::from(pointer & 0x7FF)]
    }

    /// The first frame of the completion FIFO; time passes until the next one.
    fn first_sent(&mut self) -> u8 {
        match &mut self.reads_until_sent {
            Some(0) if !self.waiting.is_empty() => drop(self.send(SENT)),
            Some(reads) => *reads = reads.saturating_sub(1),
            None => {}
        }
        self.sent.front().copied().unwrap_or(0x80)
    }

    fn read(&mut self, offset: usize) -> u8 {
        match (self.bank, offset as u32) {
            (_, 14) => self.bank as u8,
            (_, 15) | (3, 11) => 0x33,
            (2, 0 | 1) => 0,
            (2, 4) => self.first_sent(),
            (2, 5) => self.came.front().copied().unwrap_or(0x80),
            (2, 8..12) => *self.pointed(),
            (3, 8) => {
                let bit = self.phy.answer.is_some_and(|it| it >> 31 & 1 == 1);
                u8::from(bit) << 1
            }
            (3, 10) => 0x91,
            (bank, offset) => self.get(bank, offset),
        }
    }

    fn write(&mut self, offset: usize, value: u8) {
        match (self.bank, offset as u32) {
            (_, 14) => {
                self.bank = value.into();
                self.choices += 1;
            }
            (_, 15) | (2, 1) => {}
            (2, 0) => self.command(value),
            (2, 8..12) => *self.pointed() = value,
            (2, 12) => {
                let left = self.get(2, 12) & !value;
                self.set(2, 12, left);
                if u32::from(value) & bank2::IST::TX.mask() != 0 {
                    self.sent.pop_front();
                }
            }
            (3, 8) => {
                let clock = bank3::MGMT::MCLK.mask() as u8;
                if value & clock != 0 && self.get(3, 8) & clock == 0 {
                    let driven = bank3::MGMT::MDOE.is_set(value.into());
                    let bit = bank3::MGMT::MDO.is_set(value.into());
                    self.phy.rise(driven.then_some(bit));
                }
                self.set(3, 8, value);
            }
            (bank, offset) => self.set(bank, offset, value),
        }
    }
}

/// Model of the chip.
#[derive(Clone, Default)]
struct Model(Rc<RefCell<State>>);

macro_rules! width {
    ($($word:ty),*) => {$(
        impl Registers<$word> for Model {
            fn read_at(&self, offset: usize) -> $word {
                let mut it = self.0.borrow_mut();
                <$word>::from_le_bytes(core::array::from_fn(|n| it.read(offset + n)))
            }

            fn write_at(&self, offset: usize, value: $word) {
                let mut it = self.0.borrow_mut();
                for (n, octet) in value.to_le_bytes().into_iter().enumerate() {
                    it.write(offset + n, octet);
                }
            }
        }
    )*};
}

width!(u8, u16, u32);

fn chip() -> Model {
    let model = Model::default();
    // The link is up.
    model.0.borrow_mut().set(0, bank0::EPHSR.offset + 1, 0x40);
    model.0.borrow_mut().phy.partner = 0x01E1;
    model
}

fn start(model: &Model) -> (Lan91c111<Model>, &'static Ledger) {
    let ledger: &'static Ledger = Box::leak(Box::default());
    let frames = Box::leak(Box::default());
    let device = Lan91c111::start(model.clone(), frames, OWN, ledger);
    (device.expect("it starts"), ledger)
}

/// Octets that depend on their offset.
fn frame(octets: usize) -> Vec<u8> {
    (0..octets).map(|it| (it * 7) as u8).collect()
}

#[test]
fn the_chip_is_set_up() {
    let model = chip();
    let (device, ledger) = start(&model);
    assert_eq!(device.mac_address(), OWN);
    assert_eq!(device.link_state(), LinkState::Up);
    assert_eq!(ledger.get(Counter::LinkUps), 1);
    let it = model.0.borrow();
    let address: Vec<u8> = (4..10).map(|at| it.get(1, at)).collect();
    assert_eq!(address, OWN.0);
    assert_eq!(it.word(0, bank0::RCR.offset), 0x0300);
    // The partner supports full duplex.
    assert_eq!(it.word(0, bank0::TCR.offset), 0x8081);
    // Power-on values, with the link interrupt enabled: no AUTO_RELEASE.
    assert_eq!(it.word(1, bank1::CTR.offset), 0x1290);
    assert_eq!(it.phy.written, [(4, 0x01E1), (0, 0x1200)]);
}

#[test]
fn a_hub_gets_half_duplex() {
    let model = chip();
    model.0.borrow_mut().phy.partner = 0x0021;
    let (mut device, ledger) = start(&model);
    assert_eq!(model.0.borrow().word(0, bank0::TCR.offset), 0x0081);
    model.0.borrow_mut().set(0, bank0::EPHSR.offset + 1, 0);
    let event = bank2::IST::EPH.mask() as u8;
    model.0.borrow_mut().set(2, 12, event);
    device.mask();
    assert_eq!(device.link_state(), LinkState::Down);
    assert_eq!(ledger.get(Counter::LinkDowns), 1);
}

#[test]
fn frames_of_all_lengths_are_received_and_sent_unchanged() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    for octets in (60..=80).chain([1513, 1514]) {
        let sent = frame(octets);
        assert!(model.0.borrow_mut().arrive(&sent, 0));
        let (mut came, room) = device.receive().expect("a frame");
        // The IP header begins at a word.
        assert_eq!(came.peek()[14..].as_ptr() as usize % 4, 0);
        came.consume(|it| assert_eq!(it, sent));
        room.consume(octets, |it| it.copy_from_slice(&sent))
            .expect("not too long");
        assert_eq!(model.0.borrow_mut().send(SENT), sent);
        assert!(device.receive().is_none());
    }
    assert!(device.unmask());
    assert_eq!(ledger.get(Counter::RxDelivered), 23);
    assert_eq!(ledger.get(Counter::TxFrames), 23);
    assert_eq!(ledger.get(Counter::TxOctets), ledger.get(Counter::RxOctets));
    let room = device.transmit().expect("room");
    assert_eq!(
        room.consume(1515, |_| ()),
        Err(crate::device::FrameTooLong {
            len: 1515,
            max: 1514
        })
    );
}

#[test]
fn each_direction_has_its_pages() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let arrive = || model.0.borrow_mut().arrive(&frame(60), 0);
    let send = |device: &mut Lan91c111<Model>| {
        let room = device.transmit();
        room.map(|it| it.consume(60, |it| it.fill(0xFF)).expect("not too long"))
    };
    // The receiver has two pages, whatever the transmitter uses.
    assert!(send(&mut device).is_some() && send(&mut device).is_some());
    assert!(send(&mut device).is_none(), "both wait to be sent");
    assert!(arrive() && arrive() && !arrive());
    assert!(device.receive().is_none(), "no page for a reply");
    device.mask();
    assert_eq!(ledger.get(Counter::RxFifoOverruns), 1);
    // And the transmitter its own, whatever the receiver uses.
    model.0.borrow_mut().send(SENT);
    let (came, room) = device.receive().expect("a frame, and room");
    room.consume(60, |it| it.fill(1)).expect("not too long");
    drop(came);
    assert!(arrive(), "its page is free again");
    assert_eq!(model.0.borrow().is_taken, [true; 4]);
    assert_eq!(ledger.get(Counter::TxBroadcast), 1);
    assert_eq!(ledger.get(Counter::RxStackRejected), 1);
}

#[test]
fn a_bank_is_selected_only_when_it_changes() {
    let model = chip();
    let (mut device, _) = start(&model);
    device.unmask();
    let before = model.0.borrow().choices;
    for _ in 0..10 {
        model.0.borrow_mut().arrive(&frame(60), 0);
        let (_, room) = device.receive().expect("a frame");
        room.consume(60, |it| it.fill(0)).expect("not too long");
        model.0.borrow_mut().send(SENT);
        device.mask();
        device.unmask();
    }
    assert_eq!(model.0.borrow().choices, before);
}

#[test]
fn faulty_frames_are_counted_and_freed() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    for (octets, state, counter) in [
        (64, 1 << 13, Counter::RxBadFcs),
        (64, 1 << 15 | 1 << 13, Counter::RxAlignmentErrors),
        (1600, 1 << 11, Counter::RxOversize),
        (1600, 0, Counter::RxOversize),
        (40, 1 << 10, Counter::RxRunts),
        (8, 0, Counter::RxRunts),
    ] {
        assert!(model.0.borrow_mut().arrive(&frame(octets), state));
        let before = ledger.get(counter);
        assert!(device.receive().is_none());
        assert_eq!(ledger.get(counter), before + 1, "{counter}");
    }
    assert_eq!(ledger.get(Counter::RxFrames), 6);
}

#[test]
fn the_fate_of_a_frame_is_counted_from_its_status() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let states = [
        (SENT | 1 << 1, Counter::TxSingleCollisions),
        (SENT | 1 << 2, Counter::TxMultipleCollisions),
        (SENT | 1 << 7, Counter::TxDeferred),
        (1 << 9, Counter::TxLateCollisions),
        (1 << 4, Counter::TxExcessiveCollisions),
        (1 << 15, Counter::TxUnderruns),
        (1 << 11, Counter::TxExcessiveDeferrals),
        (1 << 10, Counter::TxCarrierSenseErrors),
    ];
    for (state, counter) in states {
        let room = device.transmit().expect("room");
        room.consume(42, |frame| frame.fill(0))
            .expect("not too long");
        model.0.borrow_mut().send(state);
        if state & SENT == 0 {
            model.0.borrow_mut().set(0, bank0::TCR.offset, 0x80);
        }
        device.unmask();
        assert_eq!(ledger.get(counter), 1, "{counter}");
        // The transmitter is enabled again after an error.
        assert_eq!(model.0.borrow().word(0, bank0::TCR.offset), 0x8081);
    }
    assert_eq!(ledger.get(Counter::TxFrames), 3);
    assert_eq!(ledger.get(Counter::TxOctets), 3 * 64);
}

#[test]
fn a_missing_chip_is_reported() {
    /// A bus without a device.
    struct Nobody;
    macro_rules! silent {
        ($($word:ty),*) => {$(
            impl Registers<$word> for Nobody {
                fn read_at(&self, _: usize) -> $word {
                    <$word>::MAX
                }

                fn write_at(&self, _: usize, _: $word) {}
            }
        )*};
    }
    silent!(u8, u16, u32);
    let frames = Box::leak(Box::default());
    let fault = Lan91c111::start(Nobody, frames, OWN, Box::leak(Box::default())).err();
    assert_eq!(fault, Some(InitError::ChipNotFound(0xFFFF)));
}

#[test]
fn it_stops_and_starts_again() {
    let model = chip();
    let (device, _) = start(&model);
    let registers = device.stop();
    assert_eq!(model.0.borrow().is_taken, [false; 4]);
    assert_eq!(model.0.borrow().word(0, bank0::TCR.offset), 0);
    let (mut device, _) = start(&registers);
    model.0.borrow_mut().arrive(&frame(60), 0);
    assert!(device.receive().is_some());
}

#[test]
fn it_is_stopped_for_a_while() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    for _ in 0..2 {
        model.0.borrow_mut().arrive(&frame(60), 0);
    }
    let room = device.transmit().expect("room");
    room.consume(60, |it| it.fill(0)).expect("not too long");
    model.0.borrow_mut().send(SENT);
    device.halt();
    assert!(device.receive().is_none() && device.transmit().is_none());
    assert_eq!(model.0.borrow().is_taken, [false; 4]);
    assert_eq!(ledger.get(Counter::TxFrames), 1);
    assert_eq!(ledger.get(Counter::RxStackRejected), 2);
    assert_eq!(device.resume(), Ok(()));
    assert_eq!(model.0.borrow().word(0, bank0::RCR.offset), 0x0300);
    model.0.borrow_mut().arrive(&frame(60), 0);
    assert!(device.receive().is_some());
    assert_eq!(model.0.borrow().is_taken, [true, true, false, false]);
}

#[test]
fn a_halt_waits_until_frames_are_sent() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    for _ in 0..2 {
        let room = device.transmit().expect("room");
        room.consume(60, |it| it.fill(0)).expect("not too long");
    }
    model.0.borrow_mut().reads_until_sent = Some(100);
    device.halt();
    assert_eq!(ledger.get(Counter::TxFrames), 2);
    assert_eq!(ledger.get(Counter::TxLinkDown), 0);
}

/// The chip flags every frame of more than 1518 octets as too long.
#[test]
fn a_frame_with_a_tag_may_be_longer_by_it() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let mut longest = frame(1518);
    for (tag, is_taken) in [([0x81, 0], true), ([8, 0], false)] {
        longest[12..14].copy_from_slice(&tag);
        model.0.borrow_mut().arrive(&longest, 1 << 11);
        let came = device.receive().map(|(mut it, _)| it.peek() == longest);
        assert_eq!(came, is_taken.then_some(true));
    }
    assert_eq!(ledger.get(Counter::RxOversize), 1);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let arrive = |state| assert!(model.0.borrow_mut().arrive(&[0xFF; 60], state));
    arrive(1 << 13);
    arrive(0);
    device.receive().expect("valid").0.consume(|_| ());
    arrive(0);
    drop(device.receive().expect("valid"));
    arrive(0);
    arrive(0);
    for is_sent in [true, false] {
        let room = device.transmit().expect("room");
        room.consume(60, |it| it.fill(0xFF)).expect("not too long");
        if is_sent {
            model.0.borrow_mut().send(SENT);
        }
    }
    // The other page waits, too: there is no room to answer a frame.
    assert!(device.transmit().is_some());
    device.halt();
    assert_eq!(device.resume(), Ok(()));
    assert_script(ledger, Counter::RxBadFcs);
}
