//! Tests of both sides, handler and main loop, with a device that is a list.

extern crate std;

use super::*;
use core::cell::Cell;
use linerate_nic::adapter::checksum::SoftwareChecksums;
use linerate_nic::device::{Checksums, Medium};
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

/// Frames to receive, frames sent, number of frames dropped.
#[derive(Default)]
struct Listed {
    coming: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    rejected: usize,
    is_full: bool,
}

struct Came<'a>(Option<Vec<u8>>, &'a mut usize);

impl RxToken for Came<'_> {
    fn peek(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }

    fn consume<R>(mut self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(&mut self.0.take().expect("once"))
    }
}

impl Drop for Came<'_> {
    fn drop(&mut self) {
        *self.1 += usize::from(self.0.is_some());
    }
}

struct Goes<'a>(&'a mut Vec<Vec<u8>>);

impl TxToken for Goes<'_> {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push(frame);
        Ok(result)
    }
}

impl Device for Listed {
    type RxToken<'a> = Came<'a>;
    type TxToken<'a> = Goes<'a>;

    fn receive(&mut self) -> Option<(Came<'_>, Goes<'_>)> {
        let frame = self.coming.pop_front()?;
        Some((Came(Some(frame), &mut self.rejected), Goes(&mut self.sent)))
    }

    fn transmit(&mut self) -> Option<Goes<'_>> {
        (!self.is_full).then_some(Goes(&mut self.sent))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: 1500,
            max_burst_frames: None,
            checksums: Checksums::NONE,
        }
    }

    fn link_state(&self) -> LinkState {
        LinkState::Up
    }

    fn mac_address(&self) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, 2])
    }
}

impl InterruptDriven for Listed {
    fn unmask(&mut self) -> bool {
        self.coming.is_empty()
    }

    fn mask(&mut self) {}
}

type Both = (&'static Shared<Listed>, PerFrame<Listed>);

fn shared(frames: impl IntoIterator<Item = Vec<u8>>) -> Both {
    let shared: &'static Shared<Listed> = Box::leak(Box::new(Shared::new()));
    let device = Listed {
        coming: frames.into_iter().collect(),
        ..Listed::default()
    };
    (shared, shared.share(device).expect("once"))
}

fn inside<R>(shared: &Shared<Listed>, f: impl FnOnce(&mut Listed) -> R) -> R {
    shared.with(|it| f(&mut it.device)).expect("shared")
}

#[test]
fn the_handler_takes_all_in_and_the_main_loop_gets_them_in_order() {
    let (shared, mut device) = shared([vec![1; 60]]);
    inside(shared, |it| it.coming.extend([vec![2; 61], vec![3; 1514]]));
    shared.receive_all();
    for frame in [vec![1; 60], vec![2; 61], vec![3; 1514]] {
        let (came, room) = device.receive().expect("a frame");
        came.consume(|octets| assert_eq!(octets, frame));
        room.consume(1, |octets| octets.fill(frame[0]))
            .expect("short");
    }
    assert!(device.receive().is_none());
    let sent = inside(shared, |it| it.sent.clone());
    assert_eq!(sent, [[1], [2], [3]]);
}

#[test]
fn what_finds_no_room_is_rejected_and_what_follows_is_taken() {
    let (shared, mut device) = shared((0..100).map(|_| vec![0; LONGEST]));
    let rejected = inside(shared, |it| it.rejected);
    assert_eq!(rejected, 100 - WAITING);
    device.receive().expect("a frame").0.consume(|_| ());
    inside(shared, |it| it.coming.push_back(vec![7; LONGEST]));
    shared.receive_all();
    assert_eq!(inside(shared, |it| it.rejected), rejected);
}

#[test]
fn a_frame_waits_until_it_can_be_answered() {
    let (shared, mut device) = shared([vec![1; 60]]);
    inside(shared, |it| it.is_full = true);
    assert!(device.receive().is_none() && device.transmit().is_none());
    inside(shared, |it| it.is_full = false);
    assert!(device.receive().is_some());
}

#[test]
fn it_sleeps_only_with_nothing_to_do_and_takes_in_what_ended_the_sleep() {
    let (shared, device) = shared([vec![1; 60]]);
    // As the main loop has it.
    let mut device = SoftwareChecksums(device);
    let slept = Cell::new(0);
    device.sleep_until_frame(|| slept.set(slept.get() + 1));
    assert_eq!(slept.get(), 0);
    device.receive().expect("a frame").0.consume(|_| ());
    device.sleep_until_frame(|| {
        slept.set(slept.get() + 1);
        inside(shared, |it| it.coming.push_back(vec![2; 60]));
    });
    assert_eq!(slept.get(), 1);
    assert!(device.receive().is_some());
    assert!(shared.share(Listed::default()).is_none(), "it is shared");
}
