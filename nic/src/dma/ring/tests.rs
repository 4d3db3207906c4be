//! Program side of a ring against a device model.

extern crate std;

use super::*;
use crate::dma::{Coherent, Shared};
use proptest::prelude::*;
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

const N: usize = 4;

const OWN: u32 = 1 << 31;
const WRAP: u32 = 1 << 30;
const LAST: u32 = 1 << 29;
const LEN: u32 = 0xffff;

/// A minimal descriptor.
struct Plain {
    state: Shared<u32>,
    address: Shared<u32>,
    high: Shared<u32>,
}

impl Descriptor for Plain {
    const IDLE: Self = Self {
        state: Shared::new(0),
        address: Shared::new(0),
        high: Shared::new(0),
    };
    type Command = ();
    type Status = u32;

    fn prepare(&self, fields: &DescriptorFields, (): ()) {
        assert!(self.is_done(), "the device's descriptor was written");
        self.address.write(fields.address as u32);
        self.high.write((fields.address as u64 >> 32) as u32);
    }

    fn hand_over(&self, fields: &DescriptorFields, (): ()) {
        let octets = match fields.transfer {
            Transfer::ToDevice(octets) => octets as u32,
            Transfer::FromDevice => 0,
        };
        let wrap = if fields.wraps { WRAP } else { 0 };
        let last = if fields.is_last { LAST } else { 0 };
        self.state.write(OWN | wrap | last | octets);
    }

    fn is_done(&self) -> bool {
        self.state.read() & OWN == 0
    }

    fn release(&self) {
        self.state.write(0);
    }

    fn status(&self) -> (usize, u32) {
        let state = self.state.read();
        ((state & LEN) as usize, state)
    }
}

/// A device that follows the ring by its wrap bit.
struct Device {
    memory: &'static Memory<Plain, N>,
    at: usize,
}

impl Device {
    /// Address and state of the next descriptor, if it belongs to the device.
    fn next(&self) -> Option<(usize, u32)> {
        let descriptor = &self.memory.0[self.at];
        let state = descriptor.state.read();
        let address =
            u64::from(descriptor.high.read()) << 32 | u64::from(descriptor.address.read());
        (state & OWN != 0).then_some((address as usize, state))
    }

    /// Returns the next descriptor with this length.
    fn done(&mut self, octets: u32) {
        let (_, state) = self.next().expect("the device's");
        self.memory.0[self.at].state.write(octets);
        self.at = if state & WRAP == 0 { self.at + 1 } else { 0 };
    }
}

fn ring() -> (Ring<Plain, Coherent, N>, Device) {
    let ring = Ring::new(Box::leak(Box::new(Memory::new())), Coherent);
    let device = Device {
        memory: ring.memory,
        at: 0,
    };
    (ring, device)
}

fn buffer(octets: usize) -> Buffer {
    Buffer::new(Vec::leak(vec![0; octets]))
}

fn empty(octets: usize) -> [(Buffer, Transfer); 1] {
    [(buffer(octets), Transfer::FromDevice)]
}

#[test]
fn a_full_ring_returns_the_buffers() {
    let (mut ring, mut device) = ring();
    for _ in 0..N - 1 {
        assert!(ring.submit(empty(10), ()).is_ok());
    }
    let two = [20, 30].map(|octets| (buffer(octets), Transfer::ToDevice(octets)));
    let [(first, _), (second, _)] = ring.submit(two, ()).expect_err("no room for two");
    assert_eq!(
        (first.len(), second.len(), ring.free_descriptors()),
        (20, 30, 1)
    );
    assert!(ring.submit(empty(10), ()).is_ok());
    assert!(ring.submit(empty(10), ()).is_err());
    device.done(1);
    assert!(ring.take().is_some());
    assert!(ring.submit(empty(10), ()).is_ok());
}

#[test]
fn a_device_cannot_write_more_than_a_buffer_holds() {
    let (mut ring, mut device) = ring();
    let _ = ring.submit(empty(10), ());
    device.done(0xffff);
    let back = ring.take().expect("done");
    assert_eq!((back.buffer.len(), back.octets), (10, 10));
}

#[test]
fn a_device_is_not_asked_to_read_more_than_a_buffer_holds() {
    let (mut ring, device) = ring();
    let _ = ring.submit([(buffer(10), Transfer::ToDevice(60_000))], ());
    assert_eq!(device.next().map(|(_, state)| state & LEN), Some(10));
}

#[test]
fn no_buffer_is_taken_before_it_is_returned() {
    let (mut ring, mut device) = ring();
    // Nothing was submitted, although no descriptor belongs to the device.
    assert!(!ring.has_completed() && ring.take().is_none());
    let _ = ring.submit(empty(10), ());
    assert!(!ring.has_completed() && ring.take().is_none());
    device.done(1);
    assert!(ring.has_completed() && ring.take().is_some());
    assert!(!ring.has_completed() && ring.take().is_none());
    // A descriptor out of order is not checked before its turn.
    let _ = ring.submit(empty(10), ());
    let _ = ring.submit(empty(10), ());
    device.memory.0[2].state.write(1);
    assert!(!ring.has_completed() && ring.take().is_none());
}

#[test]
fn the_buffers_of_a_frame_wrap_around_the_end() {
    let (mut ring, mut device) = ring();
    for _ in 0..N - 1 {
        let _ = ring.submit(empty(1), ());
        device.done(1);
        let _ = ring.take();
    }
    let buffers =
        [(0x0e, 0x0e), (0x64, 0x3c)].map(|(len, octets)| (buffer(len), Transfer::ToDevice(octets)));
    let at = [buffers[0].0.address(), buffers[1].0.address()];
    assert!(ring.submit(buffers, ()).is_ok());
    assert_eq!(device.next(), Some((at[0], OWN | WRAP | 0x0e)));
    device.done(0);
    assert_eq!(device.next(), Some((at[1], OWN | LAST | 0x3c)));
    device.done(0);
    let back = [(); 2].map(|()| ring.take().map(|it| it.buffer.address()));
    assert_eq!(back, at.map(Some));
}

#[test]
fn a_stopped_device_returns_everything() {
    let (mut ring, mut device) = ring();
    let _ = ring.submit(empty(1), ());
    device.done(1);
    let _ = ring.take();
    let lens = [2, 3, 4];
    for len in lens {
        let _ = ring.submit(empty(len), ());
    }
    device.done(1);
    let mut back = Vec::new();
    ring.reclaim_all(|buffer| back.push(buffer.len()));
    assert_eq!((back.as_slice(), ring.free_descriptors()), (&lens[..], N));
    // A restarted device finds the newly submitted descriptor, and none of the old ones.
    assert!(ring.descriptors().iter().all(Plain::is_done));
    let first = ring.submit(empty(5), ());
    assert!(first.is_ok() && ring.take().is_none());
}

proptest! {
    /// Buffers return in order, each once and with its own memory, wherever the ring wraps and
    /// however many a frame has.
    #[test]
    fn buffers_come_back_in_their_order(picks in prop::collection::vec(0_usize..9, 1..400)) {
        let (mut ring, mut device) = ring();
        let mut submitted = VecDeque::new();
        let mut done = VecDeque::new();
        let mut len = 0;
        for pick in picks {
            match pick {
                0..3 => {
                    len += 3;
                    let frame = [len, len + 1, len + 2].map(buffer);
                    let at = [0, 1, 2].map(|it: usize| frame[it].address());
                    let [a, b, c] = frame.map(|it| (it, Transfer::FromDevice));
                    let room = ring.free_descriptors();
                    let is_ok = match pick {
                        0 => ring.submit([a], ()).is_ok(),
                        1 => ring.submit([a, b], ()).is_ok(),
                        _ => ring.submit([a, b, c], ()).is_ok(),
                    };
                    prop_assert_eq!(is_ok, room > pick);
                    if is_ok {
                        submitted.extend(&at[..=pick]);
                    }
                }
                3..6 => {
                    let next = device.next();
                    prop_assert_eq!(next.map(|(at, _)| at), submitted.front().copied());
                    if next.is_some() {
                        device.done(1);
                        done.extend(submitted.pop_front());
                    }
                }
                _ => {
                    prop_assert_eq!(ring.has_completed(), !done.is_empty());
                    let back = ring.take().map(|it| it.buffer.address());
                    prop_assert_eq!(back, done.pop_front());
                }
            }
            prop_assert_eq!(ring.free_descriptors(), N - submitted.len() - done.len());
        }
    }
}
