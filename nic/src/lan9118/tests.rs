//! The driver against a model of the chip, built from its data sheet as far as the driver needs it.

extern crate std;

use super::chip::{csr, mac};
use super::link::{PAUSE_AT, RESUME_AT, hash};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device, InterruptDriven, LinkState, Managed, RxToken, TxToken};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::vec::Vec;

/// Octets of the transmit FIFO.
const TX_DATA: u32 = 4608;
const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

#[derive(Default)]
struct State {
    csr: BTreeMap<usize, u32>,
    mac: BTreeMap<u32, u32>,
    phy: BTreeMap<u32, u32>,
    rx_data: VecDeque<u32>,
    rx_states: VecDeque<(u32, usize)>,
    /// Words of the frame whose status was read last.
    at_head: usize,
    tx_words: Vec<u32>,
    tx_states: VecDeque<u32>,
    skipped: usize,
}

impl State {
    fn put(&mut self, register: RegisterRef, value: u32) {
        self.csr.insert(register.offset as usize, value);
    }

    fn get(&self, register: RegisterRef) -> u32 {
        let at = register.offset as usize;
        self.csr.get(&at).copied().unwrap_or(register.reset)
    }

    fn command_mac(&mut self, command: u32) {
        let number = csr::MAC_CSR_CMD::CSR_ADDR.get(command);
        if csr::MAC_CSR_CMD::R_NOT_W.is_set(command) {
            let value = self.mac.get(&number).copied().unwrap_or_default();
            self.put(csr::MAC_CSR_DATA, value);
            return;
        }
        let value = self.get(csr::MAC_CSR_DATA);
        let before = self.mac.insert(number, value).unwrap_or_default();
        if number == mac::MAC_CR.offset && before & !value & mac::MAC_CR::RXEN.mask() != 0 {
            self.put(csr::INT_STS, csr::INT_STS::RXSTOP_INT.mask());
        }
        if number == mac::MII_ACC.offset {
            let register = mac::MII_ACC::MIIRINDA.get(value);
            if mac::MII_ACC::MII_WRITE.is_set(value) {
                self.phy.insert(register, self.mac[&mac::MII_DATA.offset]);
            } else {
                let value = self.phy.get(&register).copied().unwrap_or_default();
                self.mac.insert(mac::MII_DATA.offset, value);
            }
            *self.mac.get_mut(&number).expect("written") &= !mac::MII_ACC::MII_BUSY.mask();
        }
    }

    /// A frame arrives, with FCS.
    fn arrive(&mut self, frame: &[u8], faults: u32) {
        let octets = [&[0xEE, 0xEE], frame].concat();
        for word in octets.chunks(4) {
            let mut whole = [0xDD; 4];
            whole[..word.len()].copy_from_slice(word);
            self.rx_data.push_back(u32::from_le_bytes(whole));
        }
        let length = csr::RX_STATUS_FIFO::LENGTH.of(frame.len() as u32);
        self.rx_states
            .push_back((length | faults, octets.len().div_ceil(4)));
    }

    /// Sends the written frame and returns it; its status has these bits.
    fn send(&mut self, state: u32) -> Vec<u8> {
        let words: Vec<u32> = self.tx_words.drain(..).collect();
        let [a, b, data @ ..] = &words[..] else {
            panic!("no commands")
        };
        let (start, size) = ((a >> 16 & 0x1F) as usize, (a & 0x7FF) as usize);
        assert_eq!(a & !0x001F_07FF, 0x3000, "one piece");
        assert_eq!(b & 0xFFFF, size as u32);
        assert_eq!(data.len(), (start + size).div_ceil(4));
        self.tx_states.push_back(b & 0xFFFF_0000 | state);
        let octets: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        octets[start..][..size].to_vec()
    }
}

/// Model of the chip.
#[derive(Clone, Default)]
struct Model(Rc<RefCell<State>>);

impl Registers for Model {
    fn read_at(&self, offset: usize) -> u32 {
        let it = &mut *self.0.borrow_mut();
        let is = |register: RegisterRef| offset == register.offset as usize;
        if is(csr::RX_DATA_FIFO) {
            it.at_head -= 1;
            return it.rx_data.pop_front().expect("data is there");
        }
        if is(csr::RX_STATUS_FIFO) {
            assert_eq!(it.at_head, 0, "the frame before was read to its end");
            let (state, words) = it.rx_states.pop_front().expect("a state is there");
            it.at_head = words;
            return state;
        }
        if is(csr::TX_STATUS_FIFO) {
            return it.tx_states.pop_front().expect("a state is there");
        }
        if is(csr::RX_FIFO_INF) {
            return csr::RX_FIFO_INF::RXSUSED.of(it.rx_states.len() as u32);
        }
        if is(csr::TX_FIFO_INF) {
            let free = it.csr.get(&offset).copied().unwrap_or(TX_DATA);
            return csr::TX_FIFO_INF::TXSUSED.of(it.tx_states.len() as u32) | free;
        }
        it.csr.get(&offset).copied().unwrap_or_default()
    }

    fn write_at(&self, offset: usize, value: u32) {
        let it = &mut *self.0.borrow_mut();
        let is = |register: RegisterRef| offset == register.offset as usize;
        if is(csr::TX_DATA_FIFO) {
            it.tx_words.push(value);
        } else if is(csr::MAC_CSR_CMD) {
            it.command_mac(value);
        } else if is(csr::RX_DP_CTRL) {
            assert!(it.at_head >= 4, "too short to be skipped");
            it.rx_data.drain(..it.at_head);
            it.skipped += core::mem::take(&mut it.at_head);
        } else if is(csr::INT_STS) {
            *it.csr.entry(offset).or_default() &= !value;
        } else {
            // Self-clearing bits are clear at once.
            let done = if is(csr::HW_CFG) {
                csr::HW_CFG::SRST.mask()
            } else if is(csr::RX_CFG) {
                csr::RX_CFG::RX_DUMP.mask()
            } else if is(csr::TX_CFG) {
                csr::TX_CFG::STOP_TX.mask() | csr::TX_CFG::TXD_DUMP.mask()
            } else {
                0
            };
            it.csr.insert(offset, value & !done);
        }
    }
}

fn chip() -> Model {
    let mut it = State::default();
    it.put(csr::PMT_CTRL, csr::PMT_CTRL::READY.mask());
    it.put(csr::BYTE_TEST, csr::BYTE_TEST.reset);
    it.put(csr::ID_REV, 0x0118_0002);
    it.mac.insert(mac::ADDRH.offset, mac::ADDRH.reset);
    it.mac.insert(mac::ADDRL.offset, mac::ADDRL.reset);
    // Link up, negotiated; the partner supports all modes and PAUSE.
    it.phy.insert(1, 0x7829 | 1 << 2);
    it.phy.extend([(2, 0x0007), (3, 0xC0D1), (5, 0x05E1)]);
    Model(Rc::new(RefCell::new(it)))
}

fn start(model: &Model) -> (Lan9118<Model>, &'static Ledger) {
    let ledger: &'static Ledger = Box::leak(Box::default());
    let frames = Box::leak(Box::default());
    let device = Lan9118::start(model.clone(), IrqPin::ActiveHigh, frames, OWN, ledger);
    (device.expect("it starts"), ledger)
}

/// Octets that depend on their offset.
fn frame(octets: usize) -> Vec<u8> {
    (0..octets).map(|it| (it * 7) as u8).collect()
}

#[test]
fn other_chips_are_reported() {
    let fails = |change: fn(&mut State)| {
        let model = chip();
        change(&mut model.0.borrow_mut());
        let frames = Box::leak(Box::default());
        let ledger = Box::leak(Box::default());
        Lan9118::start(model, IrqPin::OpenDrain, frames, OWN, ledger).err()
    };
    assert_eq!(fails(|_| ()), None);
    assert_eq!(
        fails(|it| it.put(csr::BYTE_TEST, 0x4321_8765)),
        Some(InitError::ByteOrder(0x4321_8765))
    );
    assert_eq!(
        fails(|it| it.put(csr::ID_REV, 0x9220_0001)),
        Some(InitError::UnsupportedChip(0x9220_0001))
    );
    assert_eq!(
        fails(|it| it.put(csr::PMT_CTRL, 0)),
        Some(InitError::NotReady)
    );
    assert_eq!(
        fails(|it| it.put(csr::E2P_CMD, csr::E2P_CMD::EPC_BUSY.mask())),
        Some(InitError::Eeprom)
    );
}

#[test]
fn the_mac_uses_the_negotiated_mode() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let set = |register: RegisterRef| model.0.borrow().mac[&register.offset];
    assert_eq!(device.mac_address(), OWN);
    assert_eq!(set(mac::ADDRL), 0x0000_0002);
    assert_eq!(set(mac::ADDRH), 0x0000_0200);
    let both = mac::MAC_CR::TXEN.mask() | mac::MAC_CR::RXEN.mask() | mac::MAC_CR::HPFILT.mask();
    assert_eq!(set(mac::MAC_CR), both | mac::MAC_CR::FDPX.mask());
    assert_eq!(set(mac::FLOW), 0xFFFF_0002);
    let pauses = csr::AFC_CFG::FCANY.mask() | PAUSE_AT << 16 | RESUME_AT << 8;
    assert_eq!(model.0.borrow().get(csr::AFC_CFG), pauses);
    assert_eq!(
        (device.link_state(), ledger.get(Counter::LinkUps)),
        (LinkState::Up, 1)
    );

    // The cable is unplugged, then connected to a hub.
    model.0.borrow_mut().phy.insert(1, 0x7809);
    let interrupt = csr::INT_STS::PHY_INT.mask();
    model.0.borrow_mut().put(csr::INT_STS, interrupt);
    device.mask();
    assert_eq!(
        (device.link_state(), ledger.get(Counter::LinkDowns)),
        (LinkState::Down, 1)
    );
    model.0.borrow_mut().phy.extend([(1, 0x782D), (5, 0x0021)]);
    model.0.borrow_mut().put(csr::INT_STS, interrupt);
    device.mask();
    assert_eq!(device.link_state(), LinkState::Up);
    assert_eq!(set(mac::MAC_CR), both | mac::MAC_CR::RCVOWN.mask());
    assert_eq!(set(mac::FLOW), 0xFFFF_0000);
    assert_eq!(
        model.0.borrow().get(csr::AFC_CFG) & csr::AFC_CFG::FCANY.mask(),
        0
    );
}

#[test]
fn frames_of_all_lengths_are_received_and_sent_unchanged() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    for octets in (60..=80).chain([1513, 1514]) {
        let sent = frame(octets);
        let with_fcs = [&sent[..], &[0xF0; 4]].concat();
        model.0.borrow_mut().arrive(&with_fcs, 0);
        let (mut came, room) = device.receive().expect("a frame");
        // The IP header begins at a word.
        assert_eq!(came.peek()[14..].as_ptr() as usize % 4, 0);
        came.consume(|it| assert_eq!(it, sent));
        room.consume(octets, |it| it.copy_from_slice(&sent))
            .expect("not too long");
        assert_eq!(model.0.borrow_mut().send(0), sent);
        assert!(device.receive().is_none());
    }
    assert!(device.unmask());
    assert_eq!(ledger.get(Counter::RxDelivered), 23);
    assert_eq!(ledger.get(Counter::TxFrames), 23);
    assert_eq!(ledger.get(Counter::TxOctets), ledger.get(Counter::RxOctets));
    assert_eq!(
        device.transmit().expect("room").consume(1515, |_| ()),
        Err(crate::device::FrameTooLong {
            len: 1515,
            max: 1514
        })
    );
}

#[test]
fn a_frame_with_a_tag_may_be_longer_by_it() {
    let model = chip();
    let (mut device, _) = start(&model);
    assert_eq!(model.0.borrow().mac[&mac::VLAN1.offset], 0x8100);
    model.0.borrow_mut().arrive(&frame(1522), 0);
    let (came, _) = device.receive().expect("a frame");
    came.consume(|it| assert_eq!(it, &frame(1522)[..1518]));
}

#[test]
fn it_is_halted_and_resumes_with_its_settings() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    device.accept_groups(&[MacAddress([1, 0, 0x5e, 0, 0, 1])]);
    let set = |register: RegisterRef| model.0.borrow().mac[&register.offset];
    let registers = [mac::MAC_CR, mac::HASHL, mac::HASHH, mac::ADDRL, mac::ADDRH];
    let before = registers.map(set);
    for _ in 0..2 {
        model.0.borrow_mut().arrive(&frame(64), 0);
    }
    device.halt();
    assert!(device.receive().is_none() && device.transmit().is_none());
    assert_eq!(set(mac::MAC_CR), 0);
    assert_eq!(ledger.get(Counter::RxStackRejected), 2);
    model.0.borrow_mut().put(csr::ID_REV, 0);
    assert_eq!(device.resume(), Err(InitError::UnsupportedChip(0)));
    assert!(device.transmit().is_none());
    {
        let mut it = model.0.borrow_mut();
        it.put(csr::ID_REV, 0x0118_0002);
        it.mac.insert(mac::ADDRH.offset, mac::ADDRH.reset);
        it.mac.insert(mac::ADDRL.offset, mac::ADDRL.reset);
    }
    assert_eq!(device.resume(), Ok(()));
    assert_eq!(registers.map(set), before);
    assert!(device.transmit().is_some());
    model.0.borrow_mut().arrive(&frame(64), 0);
    assert!(device.receive().is_some());
}

#[test]
fn faulty_frames_are_counted_and_skipped() {
    use csr::RX_STATUS_FIFO as it;
    let model = chip();
    let (mut device, ledger) = start(&model);
    let es = it::ES.mask();
    let arrive = |octets, faults| model.0.borrow_mut().arrive(&frame(octets), faults);
    arrive(64, es | it::CRC_ERROR.mask());
    arrive(65, es | it::CRC_ERROR.mask() | it::DRIBBLE.mask());
    arrive(9, es | it::CRC_ERROR.mask() | it::RUNT.mask());
    arrive(2000, es | it::TOO_LONG.mask());
    arrive(1523, 0);
    arrive(10, 0);
    arrive(64, 0);
    device.receive().expect("the last").0.consume(|came| {
        assert_eq!(came, &frame(64)[..60]);
    });
    let expected = [
        (Counter::RxBadFcs, 1),
        (Counter::RxAlignmentErrors, 1),
        (Counter::RxFragments, 1),
        (Counter::RxOversize, 2),
        (Counter::RxRunts, 1),
        (Counter::RxValid, 1),
        (Counter::RxFrames, 7),
    ];
    for (counter, count) in expected {
        assert_eq!(ledger.get(counter), count, "{counter}");
    }
    // Those of three words were read instead.
    let skipped = [66, 67, 2002, 1525].map(|octets: usize| octets.div_ceil(4));
    assert_eq!(model.0.borrow().skipped, skipped.iter().sum());
}

#[test]
fn a_full_fifo_keeps_frames_where_they_are() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let room = |octets| model.0.borrow_mut().put(csr::TX_FIFO_INF, octets);
    // The commands and 379 words.
    room(1523);
    model.0.borrow_mut().arrive(&frame(64), 0);
    assert!(device.receive().is_none() && device.transmit().is_none());
    assert!(!device.unmask(), "a frame waits");
    assert_eq!(ledger.get(Counter::RxFrames), 0);
    room(1524);
    let (_, room) = device.receive().expect("room");
    room.consume(1514, |it| it.fill(1)).expect("not too long");
    assert_eq!(ledger.get(Counter::RxStackRejected), 1);
}

#[test]
fn the_fate_of_a_frame_is_counted_from_its_status() {
    use csr::TX_STATUS_FIFO as it;
    let model = chip();
    let (mut device, ledger) = start(&model);
    let es = it::ES.mask();
    let states = [
        (0, Counter::TxBroadcast),
        (it::COLLISIONS.of(1), Counter::TxSingleCollisions),
        (it::COLLISIONS.of(3), Counter::TxMultipleCollisions),
        (it::DEFERRED.mask(), Counter::TxDeferred),
        (es | it::LATE_COLLISION.mask(), Counter::TxLateCollisions),
        (
            es | it::EXCESS_COLLISIONS.mask(),
            Counter::TxExcessiveCollisions,
        ),
        (
            es | it::EXCESS_DEFERRAL.mask(),
            Counter::TxExcessiveDeferrals,
        ),
        (es | it::NO_CARRIER.mask(), Counter::TxCarrierSenseErrors),
        (es | it::LOST_CARRIER.mask(), Counter::TxCarrierSenseErrors),
    ];
    for (state, _) in states {
        let room = device.transmit().expect("room");
        room.consume(42, |frame| frame.fill(0xFF))
            .expect("not too long");
        model.0.borrow_mut().send(state);
    }
    device.unmask();
    for (_, counter) in states {
        assert!(ledger.get(counter) > 0, "{counter}");
    }
    assert_eq!(ledger.get(Counter::TxFrames), 4);
    assert_eq!(ledger.get(Counter::TxOctets), 4 * 64);
}

#[test]
fn lost_frames_are_read_and_counted() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    model.0.borrow_mut().put(csr::RX_DROP, 5);
    device.mask();
    assert_eq!(ledger.get(Counter::RxFifoOverruns), 0);
    let interrupt = csr::INT_STS::RXDF_INT.mask();
    model.0.borrow_mut().put(csr::INT_STS, interrupt);
    device.mask();
    assert_eq!(ledger.get(Counter::RxFifoOverruns), 5);
}

#[test]
fn it_stops_and_starts_again() {
    let model = chip();
    let (device, _) = start(&model);
    let registers = device.stop();
    assert_eq!(model.0.borrow().mac[&mac::MAC_CR.offset], 0);
    assert_eq!(model.0.borrow().get(csr::INT_EN), 0);
    let (mut device, _) = start(&registers);
    model.0.borrow_mut().arrive(&frame(64), 0);
    assert!(device.receive().is_some());
}

#[test]
fn groups_are_hashed_into_the_table() {
    // As in smsc911x of Linux.
    let all_systems = MacAddress([0x01, 0x00, 0x5E, 0x00, 0x00, 0x01]);
    assert_eq!(hash(all_systems), 31);
    let model = chip();
    let (mut device, _) = start(&model);
    device.accept_groups(&[all_systems]);
    assert_eq!(model.0.borrow().mac[&mac::HASHL.offset], 1 << 31);
    assert_eq!(model.0.borrow().mac[&mac::HASHH.offset], 0);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let model = chip();
    let (mut device, ledger) = start(&model);
    let arrive = |faults| model.0.borrow_mut().arrive(&[0xFF; 64], faults);
    let error = csr::RX_STATUS_FIFO::ES.mask() | csr::RX_STATUS_FIFO::CRC_ERROR.mask();
    for faults in [error, 0, 0, 0, 0] {
        arrive(faults);
    }
    device.receive().expect("valid").0.consume(|_| ());
    drop(device.receive().expect("valid"));
    for is_sent in [true, false] {
        let room = device.transmit().expect("room");
        room.consume(60, |it| it.fill(0xFF)).expect("not too long");
        if is_sent {
            model.0.borrow_mut().send(0);
        }
    }
    // Without room for another frame, too.
    model.0.borrow_mut().put(csr::TX_FIFO_INF, 0);
    device.halt();
    assert_eq!(device.resume(), Ok(()));
    assert_script(ledger, Counter::RxBadFcs);
}
