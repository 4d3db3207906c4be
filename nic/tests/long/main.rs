//! Hundreds of thousands of frames through queue and MAC of every stage, compared with a model that
//! predicts the fate and the counter of each.
//!
//! With `LINERATE_LONG` set (`cargo xtask test --long`) a million frames for each stage, otherwise
//! some thousands, to keep the test itself working.
#![cfg(not(loom))]

mod model;
#[path = "../support/mod.rs"]
mod support;
mod traffic;

use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    Bitwise, IsrAll, MainHalf, MainThread, ReceiveSwitch, Receiver, ReceiverState, Reception,
    Stage, Windowed, ZeroCopy,
};
use model::{Keeps, Model, WORDS};
use std::cell::Cell;
use support::DEVICE;
use traffic::{Arrival, Random, Traffic};

/// Frames after which the main thread's pace changes.
const PACE_FRAMES: u64 = 250;

/// Frames for each stage.
fn frames() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000
    } else {
        20_000
    }
}

#[derive(Default)]
struct Switch {
    off: Cell<bool>,
}

impl ReceiveSwitch for &Switch {
    fn suspend(&self) {
        self.off.set(true);
    }
    fn resume(&self) {
        self.off.set(false);
    }
}

/// Relative speed of wire and main thread, for a while.
#[derive(Clone, Copy)]
struct Pace {
    /// Maximum frames that arrive in a row.
    burst: u64,
    /// Maximum frames that the main thread takes in a row.
    served: u64,
    /// True if the interrupt occurs while reception is disabled.
    ignores_switch: bool,
}

impl Pace {
    fn any(random: &mut Random) -> Self {
        let paces = [(1, 2), (2, 4), (4, 8), (8, 12), (12, 12), (40, 12), (2, 1)];
        let (burst, served) = paces[random.below(paces.len() as u64) as usize];
        Self {
            burst,
            served,
            ignores_switch: random.chance(1, 2),
        }
    }
}

/// The receiver of one stage, and the model to compare with.
struct Bench<'q, S: Stage> {
    interrupt: linerate_nic::mac::InterruptHalf<'q, S, &'q Switch, WORDS>,
    switch: &'q Switch,
    ledger: &'q Ledger,
    model: Model,
    traffic: Traffic,
}

impl<S: Stage> Bench<'_, S> {
    /// One arrival at the receive pin.
    fn arrive(&mut self, ignores_switch: bool) {
        let arrival = self.traffic.next();
        self.model.sent += u64::from(arrival.is_frame);
        if self.switch.off.get() && !ignores_switch {
            self.model.unheard += u64::from(arrival.is_frame);
            return;
        }
        let mut asked = false;
        let outcome = self.interrupt.receive(|buffer| {
            asked = true;
            deliver(&arrival, buffer)
        });
        let room = self.model.arrive(arrival);
        let expected = if room {
            ReceiverState::Listening
        } else {
            ReceiverState::Suspended
        };
        assert_eq!((outcome, asked), (expected, room), "{}", S::NAME);
        self.check();
    }

    /// Turn of the main thread: takes frames, reads most of them, while others arrive.
    fn serve(&mut self, main: &mut MainHalf<'_, S, &Switch, WORDS>, pace: Pace) {
        for _ in 0..=self.traffic.random.below(pace.served) {
            let got = main.receive();
            let expected = self.model.receive();
            self.check();
            let (Some(mut got), Some(expected)) = (got, expected) else {
                assert_eq!(self.model.held(), 0, "{}: a frame is not offered", S::NAME);
                return;
            };
            // The frame stays in place while the interrupt continues.
            if self.traffic.random.chance(1, 4) {
                for _ in 0..self.traffic.random.below(pace.burst) {
                    self.arrive(pace.ignores_switch);
                }
            }
            assert_eq!(got.bytes_mut(), expected, "{}", S::NAME);
            let reads = !self.traffic.random.chance(1, 50);
            if reads {
                got.consume(|bytes| assert_eq!(bytes, expected, "{}", S::NAME));
            } else {
                drop(got);
            }
            self.model.release_front(reads);
            self.check();
        }
    }

    fn check(&self) {
        self.model.check(self.ledger, S::NAME);
        assert_eq!(self.switch.off.get(), self.model.suspended, "{}", S::NAME);
    }
}

/// Result of the PHY for the arrival.
fn deliver(arrival: &Arrival, buffer: &mut [u8]) -> Reception {
    if let Reception::Packet(len) = arrival.reception {
        buffer[..len].copy_from_slice(&arrival.raw);
    } else {
        // Data that it wrote before it aborted.
        buffer[..8].copy_from_slice(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5]);
    }
    arrival.reception
}

/// Runs `frames` frames through a stage.
fn run<S: Stage>(keeps: Keeps, frames: u64) {
    let (ledger, switch) = (Ledger::new(), Switch::default());
    let receiver = Box::new(Receiver::<WORDS>::new());
    let (interrupt, mut main) = receiver.split::<S, _>(&ledger, &switch).unwrap();
    main.set_station_filter(Some(DEVICE.into()));
    let mut bench = Bench {
        interrupt,
        switch: &switch,
        ledger: &ledger,
        model: Model::new(keeps),
        traffic: Traffic::new(0x1005),
    };
    let mut pace = Pace::any(&mut bench.traffic.random);
    let mut next_pace_at = 0;
    while bench.model.sent < frames {
        if bench.model.sent >= next_pace_at {
            pace = Pace::any(&mut bench.traffic.random);
            next_pace_at += PACE_FRAMES;
        }
        for _ in 0..=bench.traffic.random.below(pace.burst) {
            bench.arrive(pace.ignores_switch);
        }
        bench.serve(&mut main, pace);
    }
    let all = Pace {
        served: u64::MAX,
        burst: 1,
        ..pace
    };
    while bench.model.held() > 0 {
        bench.serve(&mut main, all);
    }
    assert_eq!(receiver.queue().used_bytes(), 0, "{}", S::NAME);
    bench.model.check_sums(S::NAME);
    println!("{}: {}", S::NAME, bench.model);
}

#[test]
fn each_frame_is_delivered_or_lost_by_the_counter_that_the_model_names() {
    let frames = frames();
    run::<IsrAll>(Keeps::GoodFrames, frames);
    run::<MainThread>(Keeps::Receptions, frames);
    run::<ZeroCopy>(Keeps::Receptions, frames);
    run::<Windowed>(Keeps::Receptions, frames);
    // The slow method gives the same results; fewer frames show it.
    run::<IsrAll<Bitwise>>(Keeps::GoodFrames, frames / 4);
    run::<MainThread<Bitwise>>(Keeps::Receptions, frames / 4);
    run::<ZeroCopy<Bitwise>>(Keeps::Receptions, frames / 4);
}
