//! The driver against registers and queues for which a test emulates the device.

extern crate std;

use super::net::BUFFER_LEN;
use super::transport::{VERSION_1, mmio};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device as _, Managed, RxToken, TxToken};
use crate::dma::virtqueue::tests::{Device, N};
use crate::dma::{Buffer, Coherent};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// Octets before each frame.
const PRELUDE: u32 = 12;

/// Registers of a network device without optional features.
#[derive(Default)]
struct Chip(RefCell<BTreeMap<usize, u32>>);

impl Chip {
    fn value(&self, register: RegisterRef) -> u32 {
        let values = self.0.borrow();
        let written = values.get(&(register.offset as usize));
        written.copied().unwrap_or_default()
    }
}

impl Registers for &'static Chip {
    fn read_at(&self, offset: usize) -> u32 {
        let is = |register: RegisterRef| register.offset as usize == offset;
        if is(mmio::MagicValue) {
            mmio::MagicValue.reset
        } else if is(mmio::Version) {
            2
        } else if is(mmio::DeviceID) {
            mmio::DeviceID::ID::NETWORK
        } else if is(mmio::DeviceFeatures) {
            (VERSION_1 >> (32 * self.value(mmio::DeviceFeaturesSel))) as u32
        } else if is(mmio::QueueNumMax) {
            N as u32
        } else if is(mmio::Status) {
            self.value(mmio::Status)
        } else {
            0
        }
    }

    fn write_at(&self, offset: usize, value: u32) {
        self.0.borrow_mut().insert(offset, value);
    }
}

impl Registers<u8> for &'static Chip {
    fn read_at(&self, _: usize) -> u8 {
        0
    }

    fn write_at(&self, _: usize, _: u8) {}
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let chip: &'static Chip = Box::leak(Box::default());
    let ledger: &'static Ledger = Box::leak(Box::default());
    let buffer = || Buffer::new(Vec::leak(vec![0xFF; BUFFER_LEN]));
    let buffers = [0, 1].map(|_| core::array::from_fn(|_| buffer()));
    let queues = Box::leak(Box::new(Queues::<N>::new()));
    let own = MacAddress([2, 0, 0, 0, 0, 2]);
    let mut device =
        VirtioNet::start(chip, Coherent, queues, buffers, own, ledger).expect("starts");
    let [mut rx, mut tx] = device.queues().map(Device::new);
    let mut arrive = |octets| {
        let descriptor = rx.next().expect("a buffer");
        rx.used(descriptor.into(), PRELUDE + octets);
    };
    arrive(13);
    arrive(60);
    device.receive().expect("valid").0.consume(|_| ());
    arrive(60);
    drop(device.receive().expect("valid"));
    arrive(60);
    arrive(60);
    for _ in 0..2 {
        let room = device.transmit().expect("room");
        room.consume(60, |it| it.fill(0xFF)).expect("not too long");
    }
    let sent = tx.next().expect("a frame");
    tx.used(sent.into(), 0);
    device.halt();
    assert_eq!(device.resume(), Ok(()));
    assert_script(ledger, Counter::RxRunts);
}
