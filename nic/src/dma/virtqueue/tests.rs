//! Program side of a virtqueue against a device model.

extern crate std;

use super::*;
use crate::dma::Coherent;
use proptest::prelude::*;
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

pub(crate) const N: usize = 4;

/// A device that uses the available buffers.
pub(crate) struct Device {
    memory: &'static Memory<N>,
    seen: u16,
}

impl Device {
    /// A device that uses the queue in this memory.
    pub(crate) fn new(memory: &'static Memory<N>) -> Self {
        Self { memory, seen: 0 }
    }

    /// The next available descriptor.
    pub(crate) fn next(&mut self) -> Option<u16> {
        if self.memory.available.written.read() == self.seen {
            return None;
        }
        let entry = &self.memory.available.entries[usize::from(self.seen) % N];
        self.seen = self.seen.wrapping_add(1);
        Some(entry.read())
    }

    /// Reports a descriptor as used, with this many octets written.
    pub(crate) fn used(&self, descriptor: u32, octets: u32) {
        let written = self.memory.used.written.read();
        let entry = &self.memory.used.entries[usize::from(written) % N];
        entry.descriptor.write(descriptor);
        entry.octets.write(octets);
        self.memory.used.written.write(written.wrapping_add(1));
    }

    fn address(&self, descriptor: u16) -> usize {
        let [low, high] = &self.memory.table[usize::from(descriptor)].address;
        (u64::from(high.read()) << 32 | u64::from(low.read())) as usize
    }
}

fn queue() -> (Virtqueue<Coherent, N>, Device) {
    let queue = Virtqueue::new(Box::leak(Box::new(Memory::new())), Coherent);
    let device = Device::new(queue.memory);
    (queue, device)
}

fn buffer(octets: usize) -> Buffer {
    Buffer::new(Vec::leak(vec![0; octets]))
}

#[test]
fn a_full_queue_returns_the_buffer() {
    let (mut queue, _) = queue();
    for _ in 0..N {
        assert_eq!(
            queue.submit(buffer(10), Transfer::FromDevice).ok(),
            Some(true)
        );
    }
    let one_more = queue.submit(buffer(20), Transfer::FromDevice);
    assert_eq!(one_more.map_err(|it| it.len()), Err(20));
    assert_eq!(queue.free_descriptors(), 0);
}

#[test]
fn a_polling_device_is_not_notified() {
    let (mut queue, device) = queue();
    device.memory.used.flags.write(NO_NOTIFY);
    assert_eq!(
        queue.submit(buffer(10), Transfer::FromDevice).ok(),
        Some(false)
    );
}

#[test]
fn a_device_cannot_write_more_than_a_buffer_holds() {
    let (mut queue, mut device) = queue();
    let _ = queue.submit(buffer(10), Transfer::FromDevice);
    let descriptor = device.next().expect("submitted");
    device.used(descriptor.into(), 4_000_000_000);
    let (buffer, octets) = queue.take().expect("its own").expect("used");
    assert_eq!((buffer.len(), octets), (10, 10));
}

#[test]
fn descriptors_that_were_not_lent_are_rejected() {
    let (mut queue, mut device) = queue();
    let _ = queue.submit(buffer(10), Transfer::FromDevice);
    let descriptor = u32::from(device.next().expect("submitted"));
    // Beyond the table, not lent, and twice.
    for wrong in [N as u32, u32::MAX, descriptor ^ 1] {
        device.used(wrong, 1);
        assert_eq!(
            queue.take().map(|_| ()),
            Err(UnexpectedDescriptor { descriptor: wrong })
        );
    }
    device.used(descriptor, 1);
    assert!(queue.take().is_ok_and(|it| it.is_some()));
    device.used(descriptor, 1);
    assert_eq!(
        queue.take().map(|_| ()),
        Err(UnexpectedDescriptor { descriptor })
    );
}

#[test]
fn a_recalled_queue_is_as_new() {
    let (mut queue, mut device) = queue();
    let _ = queue.submit(buffer(10), Transfer::FromDevice);
    let used = device.next().expect("submitted");
    device.used(used.into(), 4);
    assert!(queue.take().is_ok_and(|it| it.is_some()));
    let mut lent = Vec::new();
    for octets in 1..=3 {
        let given = buffer(octets);
        lent.push(given.address());
        let _ = queue.submit(given, Transfer::FromDevice);
    }
    // One of them is used, and not taken.
    let used = device.next().expect("submitted");
    device.used(used.into(), 1);
    let mut back = Vec::new();
    queue.reclaim_all(|it| back.push(it.address()));
    lent.sort_unstable();
    back.sort_unstable();
    assert_eq!(back, lent);
    assert!(!queue.has_used() && queue.free_descriptors() == N);
    device.seen = 0;
    assert_eq!(device.next(), None);
    let _ = queue.submit(buffer(10), Transfer::FromDevice);
    device.used(device.memory.available.entries[0].read().into(), 7);
    assert!(
        queue
            .take()
            .is_ok_and(|it| it.is_some_and(|(_, octets)| octets == 7))
    );
}

#[test]
fn descriptors_state_length_and_direction() {
    let (mut queue, device) = queue();
    let given = buffer(100);
    let at = given.address();
    let _ = queue.submit(given, Transfer::ToDevice(60));
    let _ = queue.submit(buffer(100), Transfer::FromDevice);
    let table = &device.memory.table;
    let [first, second] = [0, 1].map(|it| usize::from(device.memory.available.entries[it].read()));
    assert_eq!(device.address(first as u16), at);
    assert_eq!(
        (table[first].octets.read(), table[first].flags.read()),
        (60, 0)
    );
    assert_eq!(
        (table[second].octets.read(), table[second].flags.read()),
        (100, WRITE)
    );
}

#[test]
fn the_rings_are_at_the_reported_addresses() {
    let (queue, _) = queue();
    let [table, available, used] = queue.addresses();
    assert_eq!(table % 16, 0);
    assert_eq!(available, table + 16 * N);
    // Flags, index, entries, event; then aligned to 4 (section 2.7).
    assert_eq!(used, (available + 6 + 2 * N).next_multiple_of(4));
}

proptest! {
    /// Buffers return in the order in which the device uses them, far around the rings, each once
    /// and with its own memory.
    #[test]
    fn buffers_come_back_in_the_order_of_use(picks in prop::collection::vec(0_usize..8, 1..400)) {
        let (mut queue, mut device) = queue();
        // Close to the wrap of the 16-bit indexes.
        let mut one = buffer(1);
        for _ in 0..(1 << 16) - 20 {
            let _ = queue.submit(one, Transfer::FromDevice);
            let descriptor = device.next().expect("submitted");
            device.used(descriptor.into(), 0);
            (one, _) = queue.take().expect("its own").expect("used");
        }
        let mut with_device = Vec::new();
        let mut expected = VecDeque::new();
        let mut len = 0;
        for pick in picks {
            match pick {
                0..4 => {
                    len += 1;
                    let given = buffer(len);
                    let at = given.address();
                    let is_full = queue.free_descriptors() == 0;
                    prop_assert_eq!(queue.submit(given, Transfer::FromDevice).is_err(), is_full);
                    if !is_full {
                        let descriptor = device.next().expect("submitted");
                        prop_assert_eq!(device.address(descriptor), at);
                        with_device.push((descriptor, at));
                    }
                }
                _ if !with_device.is_empty() => {
                    let (descriptor, at) = with_device.remove(pick % with_device.len());
                    device.used(descriptor.into(), 1);
                    expected.push_back(at);
                }
                _ => {}
            }
            if pick % 2 == 0 {
                let taken = queue.take().expect("its own");
                prop_assert_eq!(taken.map(|(it, _)| it.address()), expected.pop_front());
            }
        }
        while let Some((buffer, _)) = queue.take().expect("its own") {
            prop_assert_eq!(Some(buffer.address()), expected.pop_front());
        }
        prop_assert!(expected.is_empty());
        prop_assert_eq!(queue.free_descriptors(), N - with_device.len());
    }
}
