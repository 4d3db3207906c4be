//! The model of the LAN91C111 beside QEMU's: the same driver, with the same frames, makes the same accesses to both and
//! reads the same values.
//!
//! Frames have at least 64 octets without FCS and are addressed to the chip, because QEMU pads to 64 octets without FCS,
//! filters no addresses, and flags no broadcasts. Not compared: reads of `MGMT`, of which QEMU stores no bit.

mod chip;
mod model;
mod qemu;
mod script;

use chip::{Access, Chip, Traced};
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::device::{
    Device as _, InterruptDriven as _, Managed as _, RxToken as _, TxToken as _,
};
use linerate_nic::lan91c111::Lan91c111;
use linerate_nic::ledger::Ledger;
use script::Step;

const OWN: MacAddress = MacAddress([0x52, 0x54, 0, 0x12, 0x34, 0x56]);

/// What a script did.
struct Outcome {
    accesses: Vec<Access>,
    sent: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
    counts: Vec<(Counter, u32)>,
}

fn run(chip: impl Chip + 'static, steps: &[Step]) -> Outcome {
    let chip = Traced::new(chip);
    let ledger: &'static Ledger = Box::leak(Box::default());
    let frames = Box::leak(Box::default());
    let mut driver = Lan91c111::start(chip.clone(), frames, OWN, ledger).expect("it starts");
    assert_eq!(driver.mac_address(), OWN, "the address of the EEPROM");
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Arrive(frame) => chip.deliver(frame),
            Step::Receive => {
                if let Some((frame, _)) = driver.receive() {
                    received.push(frame.consume(|octets| octets.to_vec()));
                }
            }
            Step::Send(frame) => {
                let room = driver.transmit().expect("a page");
                room.consume(frame.len(), |it| it.copy_from_slice(frame))
                    .expect("not too long");
                sent.push(chip.take_sent());
            }
            Step::Unmask => drop(driver.unmask()),
            Step::Mask => driver.mask(),
            Step::Restart => {
                driver.halt();
                driver.resume().expect("it starts again");
            }
        }
    }
    driver.halt();
    let counts = Counter::ALL.into_iter().map(|it| (it, ledger.get(it)));
    Outcome {
        accesses: chip.accesses(),
        sent,
        received,
        counts: counts.collect(),
    }
}

/// Panics at the first access that differs, with those before it.
fn assert_same(ours: &[Access], theirs: &[Access]) {
    let differ = ours.iter().zip(theirs).position(|(a, b)| a != b);
    if let Some(at) = differ {
        let before = &ours[at.saturating_sub(12)..at];
        panic!(
            "after {before:#?}\naccess {at} of the model is {:?}, of QEMU {:?}",
            ours[at], theirs[at]
        );
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn one_driver_makes_the_same_accesses_to_the_model_and_to_qemu() {
    let mut compared = 0;
    for seed in 0..4 {
        let steps = script::random(seed, OWN, 120);
        let Some(qemu) = qemu::Qemu::start(OWN) else {
            return;
        };
        let theirs = run(qemu, &steps);
        let ours = run(model::Model::new(OWN), &steps);
        let (expected_sent, expected_received) = script::frames(&steps);
        assert_eq!(theirs.sent, expected_sent, "seed {seed}: sent by QEMU");
        assert_eq!(ours.sent, expected_sent, "seed {seed}: sent by the model");
        assert_eq!(
            theirs.received, expected_received,
            "seed {seed}: received from QEMU"
        );
        assert_eq!(
            ours.received, expected_received,
            "seed {seed}: received from the model"
        );
        assert_eq!(ours.counts, theirs.counts, "seed {seed}");
        assert_same(&ours.accesses, &theirs.accesses);
        compared += ours.accesses.iter().filter(|it| it.is_read).count();
    }
    // The scripts are no shorter than they look.
    assert!(compared > 10_000, "{compared} reads");
}
