use super::*;
use crate::device::{Device, LinkState, RxToken, TxToken};
use crate::ledger::Ledger;
use core::cell::RefCell;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use std::boxed::Box;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

extern crate std;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

/// The chip as the datasheet describes it, behind a transport.
struct Chip {
    common: [u8; 0x40],
    socket: [u8; 0x30],
    rx: Vec<u8>,
    tx: Vec<u8>,
    /// Pointers: what the program gave back, end of what arrived, end of what was sent.
    read: u16,
    write: u16,
    sent_to: u16,
    sent: Vec<Vec<u8>>,
    transactions: usize,
    is_stuck: bool,
    fails: bool,
}

impl Chip {
    fn new() -> Self {
        let mut common = [0; 0x40];
        (common[0x39], common[0x2e]) = (4, 1);
        Self {
            common,
            socket: [0; 0x30],
            rx: vec![0; 0x4000],
            tx: vec![0; 0x4000],
            read: 0,
            write: 0,
            sent_to: 0,
            sent: Vec::new(),
            transactions: 0,
            is_stuck: false,
            fails: false,
        }
    }

    fn arrive(&mut self, frame: &[u8]) {
        let len = (frame.len() as u16 + 2).to_be_bytes();
        for &octet in len.iter().chain(frame) {
            self.rx[usize::from(self.write % 0x4000)] = octet;
            self.write = self.write.wrapping_add(1);
        }
        self.socket[2] |= 4;
    }

    fn octet(&self, Address(block, at): Address) -> u8 {
        let words = [
            (0x20, 0x4000),
            (0x26, self.write.wrapping_sub(self.read)),
            (0x2a, self.write),
        ];
        let word = words.iter().find(|(word, _)| *word == at & !1);
        match (block, word) {
            (Block::Common, _) => self.common[usize::from(at)],
            (Block::Socket, Some((_, value))) => value.to_be_bytes()[usize::from(at & 1)],
            (Block::Socket, None) => self.socket[usize::from(at)],
            (Block::Receive, _) => self.rx[usize::from(at % 0x4000)],
            (Block::Transmit, _) => 0,
        }
    }

    fn set(&mut self, Address(block, at): Address, octet: u8) {
        let register = usize::from(at);
        match (block, at) {
            (Block::Common, 0) | (Block::Receive, _) => {}
            (Block::Common, _) => self.common[register] = octet,
            (Block::Socket, 1) => self.command(octet),
            (Block::Socket, 2) => self.socket[2] &= !octet,
            (Block::Socket, _) => self.socket[register] = octet,
            (Block::Transmit, _) => self.tx[usize::from(at % 0x4000)] = octet,
        }
    }

    fn command(&mut self, command: u8) {
        let word = |at: usize| u16::from_be_bytes([self.socket[at], self.socket[at + 1]]);
        match command {
            1 if !self.is_stuck => self.socket[3] = 0x42,
            0x20 => {
                let (from, to) = (self.sent_to, word(0x24));
                let len = to.wrapping_sub(from);
                let octet = |n: u16| self.tx[usize::from(from.wrapping_add(n) % 0x4000)];
                let frame = (0..len).map(octet).collect();
                self.sent.push(frame);
                self.sent_to = to;
            }
            0x40 => self.read = word(0x28),
            _ => {}
        }
    }
}

type Shared = Rc<RefCell<Chip>>;

/// Buffers as of [`SpiTransport`].
type Memory = &'static mut [u8; FRAME_BUFFER];

struct Bus {
    chip: Shared,
    read: Option<Finished<Memory, ()>>,
    written: Option<Finished<Memory, ()>>,
}

impl Transport for Bus {
    type Error = ();
    type RxBuffer = Memory;
    type TxBuffer = Memory;

    fn read(&mut self, Address(block, start): Address, to: &mut [u8]) -> Result<(), ()> {
        assert!(self.read.is_none() && self.written.is_none(), "under way");
        let mut chip = self.chip.borrow_mut();
        chip.transactions += 1;
        for (offset, octet) in (0..).zip(to) {
            *octet = chip.octet(Address(block, start.wrapping_add(offset)));
        }
        if chip.fails { Err(()) } else { Ok(()) }
    }

    fn write(&mut self, Address(block, start): Address, from: &[u8]) -> Result<(), ()> {
        assert!(self.read.is_none() && self.written.is_none(), "under way");
        let mut chip = self.chip.borrow_mut();
        chip.transactions += 1;
        for (offset, &octet) in (0..).zip(from) {
            chip.set(Address(block, start.wrapping_add(offset)), octet);
        }
        if chip.fails { Err(()) } else { Ok(()) }
    }

    fn start_read(&mut self, at: Address, len: usize, to: Memory) {
        let result = self.read(at, &mut to[..len]);
        self.read = Some((to, result));
    }

    fn finish_read(&mut self) -> Option<Finished<Memory, ()>> {
        self.read.take()
    }

    fn start_write(&mut self, at: Address, len: usize, from: Memory) {
        let result = self.write(at, &from[..len]);
        self.written = Some((from, result));
    }

    fn finish_write(&mut self) -> Option<Finished<Memory, ()>> {
        self.written.take()
    }
}

type Driver = W5500<Bus, Box<dyn FnMut() -> bool>>;

fn start(settings: Settings) -> (Result<Driver, InitError<()>>, Shared, &'static Ledger) {
    start_with(Chip::new(), settings)
}

fn start_with(
    chip: Chip,
    settings: Settings,
) -> (Result<Driver, InitError<()>>, Shared, &'static Ledger) {
    let chip = Rc::new(RefCell::new(chip));
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let memory = || -> Memory { Box::leak(Box::new([0; FRAME_BUFFER])) };
    let pin = chip.clone();
    let bus = Bus {
        chip: chip.clone(),
        read: None,
        written: None,
    };
    let buffers = ([memory(), memory()], [memory(), memory()]);
    let is_interrupted: Box<dyn FnMut() -> bool> =
        Box::new(move || pin.borrow().socket[2] & 4 != 0);
    let driver = W5500::start(bus, is_interrupted, buffers, MAC, settings, ledger);
    (driver, chip, ledger)
}

fn running(settings: Settings) -> (Driver, Shared, &'static Ledger) {
    let (driver, chip, ledger) = start(settings);
    (driver.unwrap(), chip, ledger)
}

fn frame(number: usize) -> Vec<u8> {
    vec![number as u8; 60 + number * 97 % 1_455]
}

fn receive(driver: &mut Driver) -> Option<Vec<u8>> {
    let (rx, _) = driver.receive()?;
    Some(rx.consume(|octets| octets.to_vec()))
}

fn send(driver: &mut Driver, octets: &[u8]) {
    let token = driver.transmit().unwrap();
    let copied = token.consume(octets.len(), |room| room.copy_from_slice(octets));
    copied.unwrap();
}

#[test]
fn a_chip_that_is_missing_or_does_not_open_is_named() {
    let mut chip = Chip::new();
    chip.common[0x39] = 0xff;
    let (driver, ..) = start_with(chip, Settings::default());
    assert_eq!(driver.err(), Some(InitError::Version(0xff)));
    let mut chip = Chip::new();
    chip.is_stuck = true;
    let (driver, ..) = start_with(chip, Settings::default());
    assert_eq!(driver.err(), Some(InitError::Socket(0)));
    let (driver, chip, _) = running(Settings::default());
    assert_eq!(driver.link_state(), LinkState::Up);
    assert_eq!(chip.borrow().common[9..15], MAC.0);
    assert_eq!(chip.borrow().socket[0x1e..0x20], [16, 16]);
}

#[test]
fn frames_of_any_length_arrive_whole_around_the_end_of_the_memory() {
    for reads_ahead in [false, true] {
        let settings = Settings { reads_ahead };
        let (mut driver, chip, _) = running(settings);
        for round in 0..40 {
            let frames: Vec<Vec<u8>> = (0..=round % 9).map(|n| frame(round + n)).collect();
            for frame in &frames {
                chip.borrow_mut().arrive(frame);
            }
            for frame in &frames {
                assert_eq!(receive(&mut driver).as_ref(), Some(frame), "{round}");
            }
            assert_eq!(receive(&mut driver), None);
            let chip = chip.borrow();
            assert_eq!(chip.read, chip.write, "everything is given back");
        }
    }
}

#[test]
fn a_burst_takes_one_transaction_a_frame_and_five_for_all() {
    let (mut driver, chip, _) = running(Settings::default());
    for number in 0..8 {
        chip.borrow_mut().arrive(&frame(number));
    }
    chip.borrow_mut().transactions = 0;
    while receive(&mut driver).is_some() {}
    // Interrupt, pointers, first length; pointer and command at the end.
    assert_eq!(chip.borrow().transactions, 8 + 5);
}

#[test]
fn an_idle_chip_is_left_alone() {
    let (mut driver, chip, _) = running(Settings::default());
    chip.borrow_mut().transactions = 0;
    assert!(driver.receive().is_none() && driver.transmit().is_some());
    assert_eq!(chip.borrow().transactions, 0);
}

#[test]
fn a_reply_does_not_disturb_the_frame_that_is_read_ahead() {
    let (mut driver, chip, _) = running(Settings::default());
    for number in 0..3 {
        chip.borrow_mut().arrive(&frame(number));
    }
    for number in 0..3 {
        let (rx, tx) = driver.receive().unwrap();
        let octets = rx.consume(|octets| octets.to_vec());
        assert_eq!(octets, frame(number));
        let copied = tx.consume(octets.len(), |room| room.copy_from_slice(&octets));
        copied.unwrap();
    }
    assert_eq!(receive(&mut driver), None);
    assert_eq!(chip.borrow().sent, [frame(0), frame(1), frame(2)]);
}

#[test]
fn frames_are_sent_whole_around_the_end_of_the_memory() {
    let (mut driver, chip, _) = running(Settings::default());
    let frames: Vec<Vec<u8>> = (0..50).map(frame).collect();
    for frame in &frames {
        send(&mut driver, frame);
    }
    assert!(driver.receive().is_none());
    assert_eq!(chip.borrow().sent, frames);
}

#[test]
fn an_impossible_length_costs_what_the_chip_has_and_nothing_more() {
    let (mut driver, chip, ledger) = running(Settings::default());
    chip.borrow_mut().arrive(&frame(1));
    chip.borrow_mut().rx[..2].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(receive(&mut driver), None);
    assert_eq!(ledger.get(Counter::RxOversize), 1);
    chip.borrow_mut().arrive(&frame(2));
    assert_eq!(receive(&mut driver), Some(frame(2)));
}

#[test]
fn a_failed_transaction_takes_the_link_down() {
    let (mut driver, chip, _) = running(Settings::default());
    chip.borrow_mut().arrive(&frame(1));
    chip.borrow_mut().fails = true;
    assert!(driver.receive().is_none());
    assert!(driver.receive().is_none() && driver.transmit().is_none());
    assert_eq!(driver.poll_link(), LinkState::Down);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let (mut driver, chip, ledger) = running(Settings::default());
    for number in 0..3 {
        chip.borrow_mut().arrive(&frame(number));
    }
    assert!(receive(&mut driver).is_some());
    drop(driver.receive());
    assert!(receive(&mut driver).is_some());
    send(&mut driver, &frame(1));
    let too_long = driver.transmit().unwrap().consume(1_515, |_| ());
    assert!(too_long.is_err());
    assert!(driver.receive().is_none());
    let counts = [
        (Counter::RxFrames, 3),
        (Counter::RxValid, 3),
        (Counter::RxDelivered, 2),
        (Counter::RxStackRejected, 1),
        (Counter::TxFrames, 1),
        (Counter::TxOversize, 1),
    ];
    for (counter, expected) in counts {
        assert_eq!(ledger.get(counter), expected, "{counter:?}");
    }
}
