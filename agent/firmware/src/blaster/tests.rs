extern crate std;

use super::*;
use crate::console::Command;
use linerate_agent::frame::Receiver;
use linerate_nic::device::{
    Capabilities, Checksums, FrameTooLong, LinkState, Medium, RxToken, TxToken,
};
use std::string::String;
use std::vec;
use std::vec::Vec;

const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const PEER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// A device with transmit buffers for `room` frames.
struct Queue {
    room: usize,
    sent: Vec<Vec<u8>>,
}

struct Nothing;

impl RxToken for Nothing {
    fn peek(&mut self) -> &mut [u8] {
        &mut []
    }

    fn consume<R>(self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(&mut [])
    }
}

impl TxToken for &mut Queue {
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong> {
        // Stale data.
        let mut frame = vec![0xee; len];
        let result = f(&mut frame);
        self.sent.push(frame);
        Ok(result)
    }
}

impl Device for Queue {
    type RxToken<'a> = Nothing;
    type TxToken<'a> = &'a mut Queue;

    fn receive(&mut self) -> Option<(Nothing, &mut Queue)> {
        None
    }

    fn transmit(&mut self) -> Option<&mut Queue> {
        (self.sent.len() < self.room).then_some(self)
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
        OWN
    }
}

#[test]
fn a_receiver_counts_every_frame_however_often_the_ring_is_full() {
    let command = BlastCommand {
        frames: 150,
        octets: 100,
        to: PEER,
    };
    let mut blaster = Blaster::new(command, OWN, Instant::from_ns(1_000));
    let mut queue = Queue {
        room: 0,
        sent: Vec::new(),
    };
    let mut turns = 0;
    while !blaster.fill(&mut queue, Instant::from_ns(2_000)) {
        turns += 1;
        queue.room += 10;
    }
    assert_eq!(turns, 15);
    let mut receiver = Receiver::new(PEER.0, STREAM);
    for frame in &queue.sent {
        assert_eq!(frame.len(), 100);
        let arrived = receiver.received(frame, Instant::from_ns(3_000));
        assert!(arrived.is_some());
    }
    let sequence = &receiver.sink.sequence;
    assert_eq!((sequence.received(), sequence.lost(Some(150))), (150, 0));
    let mut output = String::new();
    blaster.report(&mut output, Instant::from_ns(5_001_000));
    assert_eq!(
        output,
        "@ {\"event\":\"blasted\",\"stream\":0,\"frames\":150,\"octets\":15000,\"span_us\":5000}\n"
    );
}

#[test]
fn nothing_is_asked_of_a_device_for_no_frames() {
    let command = BlastCommand {
        frames: 0,
        octets: 60,
        to: PEER,
    };
    let mut queue = Queue {
        room: 0,
        sent: Vec::new(),
    };
    assert!(Blaster::new(command, OWN, Instant::from_ns(0)).fill(&mut queue, Instant::from_ns(0)));
}

#[test]
fn the_command_is_read() {
    let blast = |frames, octets, to| Some(Command::Blast(BlastCommand { frames, octets, to }));
    let parsed = Command::parse;
    assert_eq!(parsed("blast 5 60"), blast(5, 60, MacAddress::BROADCAST));
    assert_eq!(
        parsed("blast 1000000000000 1514 02:00:00:00:00:01"),
        blast(1_000_000_000_000, 1_514, PEER)
    );
    for wrong in [
        "blast",
        "blast 5",
        "blast 5 59",
        "blast 5 1515",
        "blast x 60",
        "blast 5 60 02:00",
        "blast 5 60 02:00:00:00:00:01 1",
    ] {
        assert_eq!(parsed(wrong), None, "{wrong}");
    }
}
