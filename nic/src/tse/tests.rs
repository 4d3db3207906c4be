//! The driver against registers and descriptors for which a test emulates the device.

extern crate std;

use super::descriptor::layout;
use super::engine::csr;
use super::mac::{hash_bin, tse};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device, InterruptDriven, LinkState, Managed, RxToken, TxToken};
use crate::dma::{Buffer, Coherent};
use crate::ledger::Ledger;
use crate::mdio::{FlowControl, LinkSettings, MdioBus, Phy, Speed, mii};
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::vec::Vec;

const N: usize = 4;
const OWN: MacAddress = MacAddress([2, 0x11, 0x22, 0x33, 0x44, 0x55]);
const OWNED: u32 = 1 << 31;
const RUN: u32 = 1 << 5;

/// Registers whose writes take effect at once.
#[derive(Default)]
struct Block {
    values: RefCell<BTreeMap<usize, u32>>,
    written: RefCell<Vec<(usize, u32)>>,
    is_dead: Cell<bool>,
}

impl Block {
    fn value(&self, register: RegisterRef) -> u32 {
        let values = self.values.borrow();
        let value = values.get(&(register.offset as usize));
        value.copied().unwrap_or(0)
    }

    fn set(&self, register: RegisterRef, value: u32) {
        let at = register.offset as usize;
        self.values.borrow_mut().insert(at, value);
    }

    /// Writes to this register.
    fn writes(&self, register: RegisterRef) -> Vec<u32> {
        let written = self.written.borrow();
        let here = written.iter().filter(|it| it.0 == register.offset as usize);
        here.map(|it| it.1).collect()
    }
}

impl Registers for &'static Block {
    fn read_at(&self, offset: usize) -> u32 {
        self.values.borrow().get(&offset).copied().unwrap_or(0)
    }

    fn write_at(&self, offset: usize, value: u32) {
        self.written.borrow_mut().push((offset, value));
        let mut value = value;
        if offset == tse::COMMAND_CONFIG.offset as usize && !self.is_dead.get() {
            value = tse::COMMAND_CONFIG::SW_RESET.put(value, 0);
            value = tse::COMMAND_CONFIG::CNT_RESET.put(value, 0);
        }
        self.values.borrow_mut().insert(offset, value);
    }
}

const CONFIG: Config = Config {
    transmit_fifo_words: 2048,
    receive_fifo_words: 2048,
    promiscuous: false,
};

const GIGABIT: LinkSettings = LinkSettings {
    speed: Speed::Mbit1000,
    full_duplex: true,
    flow_control: FlowControl {
        send: true,
        receive: true,
    },
};

/// A buffer with this content: two octets, and then a received frame.
fn buffer(content: &[u8]) -> Buffer {
    let memory: &'static mut [u32] = Box::leak(Box::new([0; BUFFER_LEN / 4]));
    let memory = bytemuck::cast_slice_mut(memory);
    memory[..content.len()].copy_from_slice(content);
    Buffer::new(memory)
}

struct Bench {
    device: Tse<&'static Block, Coherent, N>,
    mac: &'static Block,
    rx: &'static Block,
    tx: &'static Block,
    ledger: &'static Ledger,
    receive: &'static [Descriptor; N],
    transmit: &'static [Descriptor; N],
}

/// A running device whose receive buffers have this content.
fn bench(link: Option<LinkSettings>, content: &[u8]) -> Bench {
    bench_of(CONFIG, link, content)
}

fn bench_of(config: Config, link: Option<LinkSettings>, content: &[u8]) -> Bench {
    let [mac, rx, tx]: [&'static Block; 3] = core::array::from_fn(|_| &*Box::leak(Box::default()));
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let blocks = Blocks {
        mac,
        receive: rx,
        transmit: tx,
    };
    let started = Mac::reset(blocks, config).expect("out of reset");
    let rings = Box::leak(Box::new(Rings::new()));
    let buffers = [0, 1].map(|_| core::array::from_fn(|_| buffer(content)));
    let device = Tse::start(started, Coherent, rings, buffers, OWN, link, ledger);
    let (receive, transmit) = device.descriptors();
    Bench {
        device,
        mac,
        rx,
        tx,
        ledger,
        receive,
        transmit,
    }
}

/// Address of a descriptor for the device.
fn address(descriptor: &Descriptor) -> u32 {
    core::ptr::from_ref(descriptor).addr() as u32
}

/// The device has received a frame: length with the octets before it, and errors.
fn came(descriptor: &Descriptor, octets: u32, errors: u32) {
    let result = descriptor.word(layout::RESULT);
    assert_ne!(result.read() & OWNED, 0, "not the device's");
    result.write(1 << 23 | errors << 16 | octets);
}

/// The device has sent the frame.
fn went(bench: &Bench, index: usize) {
    bench.transmit[index].word(layout::RESULT).write(0);
    let sent = bench.mac.value(tse::FRAMES_TRANSMITTED_OK);
    bench.mac.set(tse::FRAMES_TRANSMITTED_OK, sent + 1);
}

fn shifted(frame: &[u8]) -> Vec<u8> {
    [&[0, 0], frame].concat()
}

#[test]
fn a_fifo_without_room_for_the_longest_frame_does_not_wait_for_its_end() {
    let thresholds = |words| {
        let config = Config {
            transmit_fifo_words: words,
            receive_fifo_words: words,
            ..CONFIG
        };
        let bench = bench_of(config, Some(GIGABIT), &[]);
        [tse::RX_SECTION_FULL, tse::TX_SECTION_FULL].map(|it| bench.mac.value(it))
    };
    assert_eq!(thresholds(64), [16, 48]);
    assert_eq!(thresholds(256), [16, 240]);
    // 1522 octets and 2 before them are 381 words; 3 stay free when sending, 8 when receiving.
    assert_eq!(thresholds(383), [16, 367]);
    assert_eq!(thresholds(384), [16, 0]);
    assert_eq!(thresholds(388), [16, 0]);
    assert_eq!(thresholds(389), [0, 0]);
    assert_eq!(thresholds(512), [0, 0]);
}

#[test]
fn the_mac_is_set_up_and_the_rings_are_closed() {
    let bench = bench(Some(GIGABIT), &[]);
    let value = |register| bench.mac.value(register);
    assert_eq!([tse::MAC_0, tse::MAC_1].map(value), [0x3322_1102, 0x5544]);
    // 1000 Mbit/s, receiver and transmitter enabled, after everything else.
    assert_eq!(value(tse::COMMAND_CONFIG), 0b1011);
    assert_eq!(value(tse::FRM_LENGTH), 1522);
    // The upper half has room for the frames that still arrive after a request to pause.
    assert_eq!(value(tse::RX_SECTION_EMPTY), 1024);
    let stored = [tse::RX_SECTION_FULL, tse::TX_SECTION_FULL].map(value);
    assert_eq!(stored, [0, 0]);
    assert_eq!(
        [tse::TX_CMD_STAT, tse::RX_CMD_STAT].map(value),
        [1 << 18, 1 << 25]
    );
    for (number, descriptor) in bench.receive.iter().enumerate() {
        let next = &bench.receive[(number + 1) % N];
        assert_eq!(descriptor.word(layout::NEXT).read(), address(next));
        assert_eq!(descriptor.word(layout::LENGTH).read(), BUFFER_LEN as u32);
        assert_eq!(descriptor.word(layout::RESULT).read(), OWNED);
    }
    for (engine, first) in [
        (bench.rx, &bench.receive[0]),
        (bench.tx, &bench.transmit[0]),
    ] {
        assert_eq!(engine.value(csr::NEXT), address(first));
        assert_eq!(engine.writes(csr::CONTROL), [1 << 16, 0, 0, RUN]);
    }
    assert_eq!(bench.device.link_state(), LinkState::Up);
}

#[test]
fn a_mac_without_clock_is_reported() {
    let [mac, rx, tx]: [&'static Block; 3] = core::array::from_fn(|_| &*Box::leak(Box::default()));
    mac.is_dead.set(true);
    let blocks = Blocks {
        mac,
        receive: rx,
        transmit: tx,
    };
    assert_eq!(Mac::reset(blocks, CONFIG).err(), Some(InitError::InReset));
}

#[test]
fn registers_of_the_phy_are_read_and_written() {
    let bench = bench(None, &[]);
    let (mac, _) = bench.device.stop();
    bench.mac.set(
        RegisterRef {
            offset: 0x204,
            ..tse::MAC_0
        },
        0x796d,
    );
    assert_eq!(mac.read(6, mii::BMSR), Ok(0x796d));
    assert_eq!(bench.mac.value(tse::MDIO_ADDR0), 6);
    assert_eq!(mac.write(6, mii::ANAR, 0x1e1), Ok(()));
    assert_eq!(mac.read(6, mii::ANAR), Ok(0x1e1));
}

#[test]
fn a_frame_is_received_without_the_octets_before_it() {
    let frame: Vec<u8> = (0..100).collect();
    let mut bench = bench(Some(GIGABIT), &shifted(&frame));
    assert!(bench.device.receive().is_none());
    came(&bench.receive[0], 102, 0);
    let (token, _) = bench.device.receive().expect("a frame");
    assert_eq!(token.consume(|it| it.to_vec()), frame);
    // Its buffer belongs to the device again.
    assert_eq!(bench.receive[0].word(layout::RESULT).read(), OWNED);
    assert!(bench.device.receive().is_none());
}

#[test]
fn invalid_frames_are_counted_and_dropped() {
    let mut bench = bench(Some(GIGABIT), &[]);
    let cases = [
        (102, 0b101, Counter::RxBadFcs),
        (102, 0b1001, Counter::RxFifoOverruns),
        (102, 0b1_0001, Counter::RxSymbolErrors),
        (1524, 0b11, Counter::RxOversize),
        (40, 0b11, Counter::RxRunts),
        (102, 0b11, Counter::RxLengthErrors),
    ];
    for (number, (octets, errors, counter)) in cases.into_iter().enumerate() {
        came(&bench.receive[number % N], octets, errors);
        assert!(bench.device.receive().is_none());
        assert_eq!(bench.ledger.get(counter), 1, "{counter}");
    }
    assert_eq!(bench.ledger.get(Counter::RxFrames), 6);
    assert_eq!(bench.ledger.get(Counter::RxValid), 0);
    // Those for which there was no room at all are counted by the MAC.
    bench.mac.set(tse::DROP_EVENTS, 3);
    bench.device.mask();
    bench.device.mask();
    assert_eq!(bench.ledger.get(Counter::RxFifoOverruns), 1 + 3);
}

#[test]
fn a_frame_is_sent_and_an_idle_engine_started_there() {
    let mut bench = bench(Some(GIGABIT), &[]);
    let send = |bench: &mut Bench| {
        let room = bench.device.transmit().expect("room");
        room.consume(50, |it| it.fill(7)).expect("not too long");
    };
    send(&mut bench);
    let first = &bench.transmit[0];
    assert_eq!(first.word(layout::LENGTH).read(), 52);
    assert_eq!(first.word(layout::RESULT).read(), OWNED | 1 << 24);
    assert_eq!(bench.tx.value(csr::NEXT), address(first));
    // It is busy: it finds the next one by itself, or stops before it.
    bench.tx.set(csr::STATUS, 1 << 4);
    send(&mut bench);
    assert_eq!(bench.tx.value(csr::NEXT), address(first));
    went(&bench, 0);
    bench.tx.set(csr::STATUS, 1 << 3);
    bench.device.unmask();
    assert_eq!(bench.tx.value(csr::NEXT), address(&bench.transmit[1]));
    // Interrupts: global, end of chain.
    assert_eq!(bench.tx.value(csr::CONTROL), RUN | 1 << 4 | 1 << 3);
    assert_eq!(bench.ledger.get(Counter::TxOctets), 64);
    let room = bench.device.transmit().expect("room");
    assert!(room.consume(1515, |_| ()).is_err());
    assert_eq!(bench.ledger.get(Counter::TxOversize), 1);
}

#[test]
fn a_full_ring_waits() {
    let mut bench = bench(Some(GIGABIT), &[]);
    for _ in 0..N {
        let room = bench.device.transmit().expect("room");
        room.consume(60, |_| ()).expect("not too long");
    }
    assert!(bench.device.transmit().is_none());
    // No frame is taken that could not be answered.
    came(&bench.receive[0], 102, 0);
    assert!(bench.device.receive().is_none());
    went(&bench, 0);
    assert!(bench.device.receive().is_some());
}

#[test]
fn a_receiver_that_has_stopped_is_started_where_it_stopped() {
    let mut bench = bench(Some(GIGABIT), &[]);
    for descriptor in bench.receive {
        came(descriptor, 102, 0);
    }
    bench.rx.written.borrow_mut().clear();
    // All wait for the program: there is nothing to start it for.
    drop(bench.device.receive());
    assert_eq!(bench.rx.writes(csr::NEXT), []);
    drop(bench.device.receive());
    assert_eq!(bench.rx.writes(csr::NEXT), [address(&bench.receive[0])]);
}

#[test]
fn a_waiting_frame_prevents_sleep() {
    let mut bench = bench(Some(GIGABIT), &[]);
    bench.rx.set(csr::STATUS, 1 << 4);
    assert!(bench.device.unmask());
    // Global, each descriptor, end of chain.
    assert_eq!(bench.rx.value(csr::CONTROL), RUN | 1 << 4 | 1 << 3 | 1 << 2);
    bench.device.mask();
    assert_eq!(bench.rx.value(csr::CONTROL), RUN | 1 << 31);
    came(&bench.receive[0], 102, 0);
    assert!(!bench.device.unmask());
}

#[test]
fn the_mac_follows_its_phy() {
    let bench = bench(None, &[]);
    let identity = [(0x208, 0x22), (0x20c, 0x1611)];
    for (offset, value) in identity {
        bench.mac.set(
            RegisterRef {
                offset,
                ..tse::MAC_0
            },
            value,
        );
    }
    let (mac, buffers) = bench.device.stop();
    let phy = Phy::at(&mac, 1).expect("a PHY");
    let rings = Box::leak(Box::new(Rings::new()));
    let buffers = buffers.map(|way| way.map(|it| it.expect("returned")));
    let device = Tse::start(mac, Coherent, rings, buffers, OWN, None, bench.ledger);
    let mut device = device.with_phy(phy);
    assert_eq!(device.poll_link(), LinkState::Down);
    // Up, negotiated: 10 Mbit/s in full duplex.
    for (offset, value) in [(0x204, 0x2c), (0x210, 0x41), (0x214, 0x41)] {
        bench.mac.set(
            RegisterRef {
                offset,
                ..tse::MAC_0
            },
            value,
        );
    }
    assert_eq!(device.poll_link(), LinkState::Up);
    // 10 Mbit/s; the partner's pause frames are not negotiated.
    assert_eq!(
        bench.mac.value(tse::COMMAND_CONFIG),
        1 << 25 | 1 << 8 | 0b11
    );
    assert_eq!(bench.mac.value(tse::RX_SECTION_EMPTY), 0);
    assert_eq!(bench.ledger.get(Counter::LinkUps), 1);
}

#[test]
fn groups_are_found_by_the_parities_of_their_octets() {
    assert_eq!(hash_bin(MacAddress([1, 0, 0x5e, 1, 2, 3])), 0b01_1101);
    let mut bench = bench(None, &[]);
    bench.device.join(MacAddress([1, 0, 0x5e, 1, 2, 3]));
    let entry = |bin: u32| {
        let offset = 0x100 + 4 * bin;
        bench.mac.value(RegisterRef {
            offset,
            ..tse::MAC_0
        })
    };
    let accepted: Vec<u32> = (0..64).filter(|it| entry(*it) == 1).collect();
    assert_eq!(accepted, [0b01_1101]);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let mut bench = bench(Some(GIGABIT), &shifted(&[0xff; 60]));
    let receive = bench.receive;
    let mut number = 0..;
    let mut arrive = |errors| {
        let next: usize = number.next().expect("endless");
        came(&receive[next % N], 62, errors);
    };
    arrive(0b101);
    arrive(0);
    let (token, _) = bench.device.receive().expect("valid");
    token.consume(|_| ());
    arrive(0);
    drop(bench.device.receive().expect("valid"));
    arrive(0);
    arrive(0);
    for _ in 0..2 {
        let room = bench.device.transmit().expect("room");
        assert!(room.consume(60, |it| it.fill(0xff)).is_ok());
    }
    went(&bench, 0);
    bench.device.halt();
    assert!(bench.device.transmit().is_none());
    assert_eq!(bench.device.resume(), Ok(()));
    assert_script(bench.ledger, Counter::RxBadFcs);
}
